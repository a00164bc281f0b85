#include "aim/answer/released.h"
#include "aim/table/series.h"
#include "base/file.h"
#include "parties/command/command.h"
#include "parties/display/explore.h"

#include <sys/stat.h>

#define PART_MAX (UINT64_C(256) << 20) /* of a page that a browser should open */

static const char help[] =
    "usage: trefoil explore RESULT --out FILE [--title TEXT]\n"
    "\n"
    "Writes a page with which anybody explores a result in a browser: charts with\n"
    "intervals, two columns at a time, filters, questions in SQL, synthetic rows. It\n"
    "is one file that works from a disk or a mail; it holds the released model, and\n"
    "sends and fetches nothing. Its answers are those of trefoil query.\n"
    "\n"
    "RESULT is the folder that run, aim or refit wrote.\n"
    "\n"
    "  --out FILE     the page\n"
    "  --title TEXT   its heading; default: the name of the folder\n"
    "\n"
    "example:\n"
    "  trefoil explore result --out explore.html\n";

static void files_clear(struct explore_files *f)
{
    bytes_clear(&f->model);
    bytes_clear(&f->errors);
    bytes_clear(&f->measurements);
}

static enum err read_part(const char *folder, const char *name, struct bytes *to, struct log *log)
{
    char path[FILE_PATH];
    TRY(file_path(path, log, "%s/%s", folder, name));
    return file_read(path, PART_MAX, to, log);
}

static enum err read_files(struct explore_files *f, const char *folder, struct log *log)
{
    struct released model CLEAN(released_clear) = {0};
    char path[FILE_PATH];
    struct stat there;
    TRY(file_path(path, log, "%s/model", folder));
    TRY(released_load(&model, path, log)); /* whether it is whole */
    if (model.domain->series != NULL)
        return log_fail(log, ERR_DATA,
                        "%s is of persons and their events, which a page of one table cannot show",
                        path);
    TRY(read_part(folder, "model", &f->model, log));
    TRY(read_part(folder, "measurements.json", &f->measurements, log));
    TRY(file_path(path, log, "%s/errors", folder));
    if (stat(path, &there) != 0) {
        if (model.copula != NULL)
            log_warn(log, "no intervals: %s is a copula, whose errors are not known", folder);
        else
            log_warn(log, "no intervals: there is no %s; trefoil refit makes a result with one",
                     path);
        return ERR_OK;
    }
    return read_part(folder, "errors", &f->errors, log);
}

static enum err run_explore(int argc, char **argv, struct log *log)
{
    const char *folder, *out = NULL, *title = NULL;
    struct explore_files files CLEAN(files_clear) = {0};
    struct bytes page CLEAN(bytes_clear) = {0};
    const struct command_option options[] = {
        {.name = "out", .value = &out, .needed = "FILE"},
        {.name = "title", .value = &title},
    };
    TRY(command_options(argc, argv, COUNTED(options), &folder, 1, 1, NULL, log));
    TRY(read_files(&files, folder, log));
    TRY(explore_page(&page, title != NULL ? title : folder, &files, log));
    TRY(file_write(out, 0644, page.data, page.size, log));
    printf("wrote %s, %zu kB: open it in a browser\n", out, page.size / 1000);
    return ERR_OK;
}

DEFINE_COMMAND(explore, help, "write a page that explores a result in a browser");
