#include "aim/answer/released.h"
#include "aim/model/series_draw.h"
#include "aim/table/series.h"
#include "base/file.h"
#include "parties/command/command.h"

#include <math.h>
#include <string.h>

static const char help[] =
    "usage: trefoil synth MODEL --out FILE [--rows N] [--seed N]\n"
    "                     [--sampling rounded|independent]\n"
    "                     [--delimiter C] [--decimal C] [--bom]\n"
    "\n"
    "Draws synthetic rows from a released model, as many and as often as you like:\n"
    "what was protected stays protected, and nothing is charged to the budget.\n"
    "\n"
    "  --out FILE       the CSV file to write; - is standard output. For a model of\n"
    "                   persons and their events: a folder for both tables\n"
    "  --rows N         rows, or persons, instead of the model's noisy total\n"
    "  --seed N         the same seed gives the same rows; default 1\n"
    "  --sampling HOW   rounded (default): marginals as near to the model's as that\n"
    "                   many rows allow; independent: each row drawn by itself, as\n"
    "                   if from a population. A copula has only independent\n"
    "  --delimiter C, --decimal C, --bom    instead of a comma, a point and no mark\n"
    "                   of UTF-8, which Excel wants; a delimiter may be the word tab\n"
    "\n"
    "example:\n"
    "  trefoil synth result/model --rows 10000 --out rows.csv\n";

/* Two tables in a folder. */
static enum err draw_persons(const struct released *model, const char *out, size_t persons,
                             uint64_t seed, enum released_sampling how, const struct csv_form *form,
                             struct log *log)
{
    struct series_drawn drawn CLEAN(series_drawn_clear) = {0};
    const char *name = model->domain->series->name;
    if (how == SAMPLING_INDEPENDENT || strcmp(out, "-") == 0)
        return log_fail(log, ERR_USAGE,
                        "this model is of persons and their events: leave --sampling out, and name "
                        "a folder with --out, for persons.csv and %s.csv",
                        name);
    if (persons == 0)
        persons = (size_t)fmax(1, round(released_total(model)));
    TRY(series_draw(&drawn, model->model, &model->inside, persons, seed, log));
    TRY(file_folder(out, log));
    TRY(series_write_csv(out, &drawn, name, seed, form, log));
    printf("wrote %zu persons with %zu %s to %s/persons.csv and %s/%s.csv\n", drawn.persons->rows,
           drawn.events->rows, name, out, out, name);
    return ERR_OK;
}

static enum err execute(const char *path, const char *out, size_t rows, uint64_t seed,
                        enum released_sampling how, const struct csv_form *form, struct log *log)
{
    struct released model CLEAN(released_clear) = {0};
    struct table *t CLEAN(table_free) = NULL;
    TRY(released_load(&model, path, log));
    if (model.domain->series != NULL)
        return draw_persons(&model, out, rows, seed, how, form, log);
    TRY(released_rows(&t, &model, rows, seed, how, log));
    TRY(table_write_csv_form(out, t, &model.inside, seed, form, log));
    if (strcmp(out, "-") != 0)
        printf("wrote %zu rows of %zu attributes to %s\n", t->rows, t->domain->attributes, out);
    return ERR_OK;
}

static enum err run_synth(int argc, char **argv, struct log *log)
{
    const char *path, *out = NULL, *sampling = NULL, *delimiter = NULL, *decimal = NULL;
    struct csv_form form = {.bom = false};
    enum released_sampling how = SAMPLING_ANY;
    int64_t rows = 0, seed = 1;
    const struct command_option options[] = {
        {.name = "out", .value = &out, .needed = "FILE"},
        {.name = "rows", .number = &rows, .least = 1, .most = COMMAND_ROWS_MAX},
        {.name = "seed", .number = &seed, .most = INT64_MAX},
        {.name = "sampling", .value = &sampling},
        {.name = "delimiter", .value = &delimiter},
        {.name = "decimal", .value = &decimal},
        {.name = "bom", .flag = &form.bom},
    };
    TRY(command_options(argc, argv, COUNTED(options), &path, 1, 1, NULL, log));
    TRY(command_csv_form(delimiter, decimal, &form, log));
    if (sampling != NULL && strcmp(sampling, "independent") == 0)
        how = SAMPLING_INDEPENDENT;
    else if (sampling != NULL && strcmp(sampling, "rounded") == 0)
        how = SAMPLING_ROUNDED;
    else if (sampling != NULL)
        return log_fail(log, ERR_USAGE, "--sampling is rounded or independent, not %s", sampling);
    return execute(path, out, (size_t)rows, (uint64_t)seed, how, &form, log);
}

const struct command cmd_synth = {.name = "synth",
                                  .summary = "draw synthetic rows from a released model",
                                  .help = help,
                                  .run = run_synth};
