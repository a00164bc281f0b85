#include "aim/evaluate.h"
#include "aim/model_file.h"
#include "aim/sql/database.h"
#include "aim/table/csv.h"
#include "base/memory.h"
#include "parties/command/command.h"
#include "parties/display/progress.h"
#include "parties/study/study.h"

#include <math.h>
#include <stdlib.h>

static const char help[] =
    "usage: trefoil eval STUDY REAL.csv SYNTHETIC.csv [--model FILE] [--worst N]\n"
    "       trefoil eval STUDY SYNTHETIC.csv --sql CONNECTION\n"
    "                    (--table T | --query Q) [--model FILE] [--worst N]\n"
    "\n"
    "Says how far synthetic rows are from real ones: for each marginal of the\n"
    "workload the sum over its cells of |share in one - share in the other|. It is 0\n"
    "if they agree and 2 if they have nothing in common. And for each column of\n"
    "numbers how far its mean and its standard deviation are from the real ones.\n"
    "\n"
    "THE OUTPUT IS NOT PRIVATE: it is computed from the real rows without any noise.\n"
    "Whoever may not see those may not see it either. Publishing it, or using it to\n"
    "choose which of several tables to publish, gives away what the budget was spent\n"
    "to protect.\n"
    "\n"
    "  --model FILE   also the mean of -ln p(real row) under this model. It says how\n"
    "                 well the model describes the population only if REAL.csv was\n"
    "                 not in the study: hold rows out\n"
    "  --sql CONNECTION, --table T, --query Q    the real rows are in a database, as\n"
    "                 trefoil share takes them\n"
    "  --worst N      print so many marginals, the worst first; default 20, 0 for all\n"
    "\n"
    "example:\n"
    "  trefoil eval study.yaml held-out.csv result/synthetic.csv --model result/model\n";

struct entry {
    double error;
    size_t clique;
};

static int by_error(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->error != y->error)
        return x->error > y->error ? -1 : 1;
    return x->clique < y->clique ? -1 : 1;
}

static enum err print_errors(const struct study *study, const double *each, size_t worst)
{
    const struct workload *w = study->workload;
    struct entry *order CLEAN(memory_release) = NULL;
    TRY(memory_new(&order, w->cliques));
    for (size_t i = 0; i < w->cliques; i++)
        order[i] = (struct entry){each[i], i};
    qsort(order, w->cliques, sizeof *order, by_error);
    for (size_t i = 0; i < w->cliques && (worst == 0 || i < worst); i++) {
        printf("  %.4f  %s\n", order[i].error,
               clique_name(&w->clique[order[i].clique], study->domain).text);
    }
    if (worst != 0 && worst < w->cliques)
        printf("  ...     and %zu more (--worst 0 for all)\n", w->cliques - worst);
    return ERR_OK;
}

static void print_relative(double is, double should_be)
{
    if (should_be != 0 && isfinite(is) && isfinite(should_be))
        printf("  %+7.2f %%", 100 * (is / should_be - 1));
    else
        printf("  %9s", "-");
}

/* Numbers as they are written, so that what binning costs is counted too. */
static void print_numbers(const struct domain *d, const struct rows_moments *real,
                          const struct rows_moments *synthetic)
{
    bool first = true;
    for (size_t i = 0; i < d->attributes; i++) {
        if (d->attribute[i].kind == DOMAIN_CATEGORICAL)
            continue;
        if (first)
            puts("relative error of\n       mean  deviation");
        first = false;
        print_relative(synthetic[i].count > 0 ? synthetic[i].mean : NAN, real[i].mean);
        print_relative(rows_deviation(&synthetic[i]), rows_deviation(&real[i]));
        printf("  %s\n", d->attribute[i].name);
    }
}

static enum err print_likelihood(const struct study *study, const struct table *real,
                                 const char *path, struct log *log)
{
    struct domain *d CLEAN(domain_free) = NULL;
    struct model *m CLEAN(model_free) = NULL;
    bool same = false;
    double mean = 0;
    size_t impossible = 0;
    TRY(model_load(&m, &d, path, MODEL_FILE_CELLS, log));
    TRY(domain_compare(d, study->domain, &same));
    if (!same)
        return log_fail(log, ERR_MISMATCH, "%s is a model of another domain than the study's",
                        path);
    TRY(evaluate_likelihood(m, real, &mean, &impossible));
    printf("negative log-likelihood of a real row under the model: %.4f\n", mean);
    if (impossible > 0)
        printf("  (%zu rows are impossible under the model, and count as %g each)\n", impossible,
               EVALUATE_IMPOSSIBLE);
    return ERR_OK;
}

/* Rows of a database, or of a file. */
static enum err read_rows(struct table **t, struct rows_moments *moments, const struct study *study,
                          const struct database_source *sql, const char *path, struct log *log)
{
    struct table_csv_options options = {.rows.moments = moments};
    struct progress_reading reading CLEAN(progress_read) = {0};
    struct database *database CLEAN(database_close) = NULL;
    progress_read_on(&reading, &options.rows, log);
    if (sql == NULL)
        return table_read_csv(t, study->domain, path, &options, log);
    TRY(database_open(&database, study->domain, sql, &options.rows, log));
    return database_read(database, t);
}

static enum err evaluate_files(const char *const *files, size_t count,
                               const struct database_source *sql, const char *model, size_t worst,
                               struct log *log)
{
    struct study *study CLEAN(study_free) = NULL;
    struct table *real CLEAN(table_free) = NULL;
    struct table *synthetic CLEAN(table_free) = NULL;
    struct rows_moments *in_real CLEAN(memory_release) = NULL;
    struct rows_moments *in_synthetic CLEAN(memory_release) = NULL;
    double *each CLEAN(memory_release) = NULL;
    double mean = 0;
    TRY(study_load(&study, files[0], log));
    log_warn(log, "THE OUTPUT BELOW IS NOT PRIVATE: it is computed from real rows without noise. "
                  "Keep it where the real rows are.");
    TRY(memory_new(&in_real, study->domain->attributes));
    TRY(memory_new(&in_synthetic, study->domain->attributes));
    TRY(read_rows(&real, in_real, study, sql->connection != NULL ? sql : NULL, files[1], log));
    TRY(read_rows(&synthetic, in_synthetic, study, NULL, files[count - 1], log));
    TRY(memory_new(&each, study->workload->cliques));
    TRY(evaluate_tables(study->workload, real, synthetic, each, &mean));
    printf("%zu real rows, %zu synthetic rows, %zu marginals\n", real->rows, synthetic->rows,
           study->workload->cliques);
    printf("mean L1 error of a marginal: %.4f\n", mean);
    TRY(print_errors(study, each, worst));
    print_numbers(study->domain, in_real, in_synthetic);
    return model != NULL ? print_likelihood(study, real, model, log) : ERR_OK;
}

static enum err run(int argc, char **argv, struct log *log)
{
    const char *files[3] = {NULL, NULL, NULL}, *model = NULL;
    struct database_source sql = {0};
    int64_t worst = 20;
    size_t count = 0;
    const struct command_option options[] = {
        {.name = "model", .value = &model},
        {.name = "worst", .number = &worst, .most = INT32_MAX},
        {.name = "sql", .value = &sql.connection},
        {.name = "table", .value = &sql.table},
        {.name = "query", .value = &sql.query},
    };
    TRY(command_options(argc, argv, options, sizeof options / sizeof *options, files, 2, 3, &count,
                        log));
    TRY(command_sql(&sql, log));
    if (count != (sql.connection != NULL ? 2 : 3))
        return log_fail(log, ERR_USAGE,
                        "eval compares real rows, of a CSV file or by --sql, with those of a "
                        "synthetic CSV file");
    return evaluate_files(files, count, &sql, model, (size_t)worst, log);
}

const struct command cmd_eval = {"eval", "how far synthetic rows are from real ones (not private)",
                                 help, run};
