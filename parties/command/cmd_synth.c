#include "aim/model_file.h"
#include "aim/sample.h"
#include "aim/table/csv.h"
#include "parties/command/command.h"

#include <math.h>
#include <string.h>

static const char help[] =
    "usage: trefoil synth MODEL --out FILE [--rows N] [--seed N]\n"
    "                     [--sampling rounded|independent]\n"
    "\n"
    "Draws synthetic rows from a released model, as often and as many as you like:\n"
    "what was protected stays protected, and nothing is charged to the budget.\n"
    "\n"
    "  --out FILE       the CSV file to write; - is the standard output\n"
    "  --rows N         instead of the model's noisy total\n"
    "  --seed N         the same seed gives the same rows; default 1\n"
    "  --sampling HOW   rounded (default): marginals as near to the model's as so\n"
    "                   many rows can be; independent: each row drawn by itself, as\n"
    "                   if from a population\n"
    "\n"
    "example:\n"
    "  trefoil synth result/model --rows 10000 --out rows.csv\n";

static enum err execute(const char *path, const char *out, size_t rows, uint64_t seed,
                        bool independent, struct log *log)
{
    struct model *m = NULL;
    struct domain *d = NULL;
    struct table *t = NULL;
    enum err e = model_load(&m, &d, path, MODEL_FILE_CELLS, log);
    if (e == ERR_OK) {
        if (rows == 0)
            rows = (size_t)fmax(1, round(model_total(m)));
        e = independent ? sample_independent(&t, m, rows, seed, log)
                        : sample_rows(&t, m, rows, seed, log);
    }
    if (e == ERR_OK)
        e = table_write_csv(out, t, seed, log);
    if (e == ERR_OK && strcmp(out, "-") != 0)
        printf("wrote %zu rows of %zu attributes to %s\n", rows, d->attributes, out);
    table_free(&t);
    model_free(&m);
    domain_free(&d);
    return e;
}

static int run(int argc, char **argv, struct log *log)
{
    const char *file = NULL, *out = NULL, *rows = NULL, *seed = "1", *sampling = "rounded";
    struct command_sampling s;
    size_t given = 0;
    const struct command_option options[] = {
        {.name = "out", .value = &out, .needed = "FILE"},
        {.name = "rows", .value = &rows},
        {.name = "seed", .value = &seed},
        {.name = "sampling", .value = &sampling},
    };
    enum err e = command_options(argc, argv, options, 4, &file, 1, 1, &given, log);
    bool independent = strcmp(sampling, "independent") == 0;
    if (e == ERR_OK && !independent && strcmp(sampling, "rounded") != 0) {
        log_error(log, "--sampling is rounded or independent, not %s", sampling);
        e = ERR_USAGE;
    }
    if (e == ERR_OK)
        e = command_sampling(rows, seed, &s, log);
    if (e == ERR_OK)
        e = execute(file, out, s.rows, s.seed, independent, log);
    return command_end(e, log);
}

const struct command cmd_synth = {
    .name = "synth",
    .summary = "synthetic rows from a released model",
    .help = help,
    .run = run,
};
