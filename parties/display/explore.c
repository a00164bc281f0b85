#include "parties/display/explore.h"

#include "base/embed.h"
#include "parties/display/app.h"

extern const char explore_script[], explore_body[];
EMBED_TEXT(explore_script, "parties/display/explore.js");
EMBED_TEXT(explore_body, "parties/display/explore.html");

/* The module of tools/small.sh, if it was there when this was built. */
#ifdef EXPLORE_READER
extern const char explore_reader[], explore_reader_end[];
EMBED_BYTES(explore_reader, explore_reader_end, EXPLORE_READER);
#else
#define explore_reader explore_body
#define explore_reader_end explore_body
#endif

enum err explore_page(struct bytes *out, const char *title, const struct explore_files *files,
                      struct log *log)
{
    const struct app app = {.title = title,
                            .script = explore_script,
                            .body = explore_body,
                            .connect = "'none'",
                            .module = explore_reader,
                            .module_end = explore_reader_end};
    const struct app_part part[] = {
        {"model", files->model.data, files->model.size},
        {"errors", files->errors.data, files->errors.size},
        {"measurements", files->measurements.data, files->measurements.size}};
    return app_page(&app, part, sizeof part / sizeof *part, out, log);
}
