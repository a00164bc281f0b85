#include "aim/model_densities.h"
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
    struct domain *d CLEAN(domain_free) = NULL;
    struct model *m CLEAN(model_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    struct densities inside CLEAN(densities_clear) = {0};
    TRY(model_load(&m, &d, path, MODEL_FILE_CELLS, log));
    if (rows == 0)
        rows = (size_t)fmax(1, round(model_total(m)));
    TRY((independent ? sample_independent : sample_rows)(&t, m, rows, seed, log));
    TRY(model_densities(&inside, m, log));
    TRY(table_write_csv(out, t, &inside, seed, log));
    if (strcmp(out, "-") != 0)
        printf("wrote %zu rows of %zu attributes to %s\n", rows, d->attributes, out);
    return ERR_OK;
}

static enum err run(int argc, char **argv, struct log *log)
{
    const char *file = NULL, *out = NULL, *sampling = "rounded";
    int64_t rows = 0, seed = 1;
    const struct command_option options[] = {
        {.name = "out", .value = &out, .needed = "FILE"},
        {.name = "rows", .number = &rows, .least = 1, .most = COMMAND_ROWS_MAX},
        {.name = "seed", .number = &seed, .most = INT64_MAX},
        {.name = "sampling", .value = &sampling},
    };
    bool independent;
    TRY(command_options(argc, argv, options, 4, &file, 1, 1, NULL, log));
    independent = strcmp(sampling, "independent") == 0;
    if (!independent && strcmp(sampling, "rounded") != 0)
        return log_fail(log, ERR_USAGE, "--sampling is rounded or independent, not %s", sampling);
    return execute(file, out, (size_t)rows, (uint64_t)seed, independent, log);
}

const struct command cmd_synth = {"synth", "synthetic rows from a released model", help, run};
