#include "aim/copula_model.h"
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
    "                   if from a population. Of a copula: independent alone\n"
    "\n"
    "example:\n"
    "  trefoil synth result/model --rows 10000 --out rows.csv\n";

struct drawing {
    const char *path, *out;
    size_t rows;
    uint64_t seed;
    bool rounded, independent; /* as asked for */
    struct domain *domain;
    struct table *table;
    struct densities inside;
    struct log *log;
};

static void drawing_clear(struct drawing *w)
{
    densities_clear(&w->inside);
    table_free(&w->table);
    domain_free(&w->domain);
}

static size_t rows_of(const struct drawing *w, double total)
{
    return w->rows != 0 ? w->rows : (size_t)fmax(1, round(total));
}

static enum err draw_copula(struct drawing *w)
{
    struct copula *c CLEAN(copula_free) = NULL;
    if (w->rounded)
        return log_fail(w->log, ERR_USAGE,
                        "%s is a copula, whose rows are drawn by themselves: --sampling rounded "
                        "is for other models",
                        w->path);
    TRY(copula_load(&c, &w->domain, w->path, w->log));
    TRY(copula_rows(&w->table, c, rows_of(w, c->total), w->seed, w->log));
    return copula_densities(&w->inside, c);
}

static enum err draw_model(struct drawing *w)
{
    struct model *m CLEAN(model_free) = NULL;
    TRY(model_load(&m, &w->domain, w->path, MODEL_FILE_CELLS, w->log));
    TRY((w->independent ? sample_independent
                        : sample_rows)(&w->table, m, rows_of(w, model_total(m)), w->seed, w->log));
    return model_densities(&w->inside, m, w->log);
}

static enum err execute(struct drawing *w)
{
    TRY(copula_is_file(w->path) ? draw_copula(w) : draw_model(w));
    TRY(table_write_csv(w->out, w->table, &w->inside, w->seed, w->log));
    if (strcmp(w->out, "-") != 0)
        printf("wrote %zu rows of %zu attributes to %s\n", w->table->rows, w->domain->attributes,
               w->out);
    return ERR_OK;
}

static enum err run(int argc, char **argv, struct log *log)
{
    struct drawing w CLEAN(drawing_clear) = {.log = log};
    const char *sampling = "";
    int64_t rows = 0, seed = 1;
    const struct command_option options[] = {
        {.name = "out", .value = &w.out, .needed = "FILE"},
        {.name = "rows", .number = &rows, .least = 1, .most = COMMAND_ROWS_MAX},
        {.name = "seed", .number = &seed, .most = INT64_MAX},
        {.name = "sampling", .value = &sampling},
    };
    TRY(command_options(argc, argv, options, 4, &w.path, 1, 1, NULL, log));
    w.independent = strcmp(sampling, "independent") == 0;
    w.rounded = strcmp(sampling, "rounded") == 0;
    if (!w.independent && !w.rounded && sampling[0] != '\0')
        return log_fail(log, ERR_USAGE, "--sampling is rounded or independent, not %s", sampling);
    w.rows = (size_t)rows;
    w.seed = (uint64_t)seed;
    return execute(&w);
}

const struct command cmd_synth = {"synth", "synthetic rows from a released model", help, run};
