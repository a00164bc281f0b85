/*
 * What columns lose between owners and synthetic rows:
 *
 *   bench_data [--json FILE] [--runs N] [--smoke]
 *
 * UCI Adult as it comes (raw/adult.raw.csv.gz in the folder of the tables, unpacked by gzip), in
 * the bins of the study below, central AIM at (1, 1e-5). Then the mean and the deviation of each
 * column of numbers, in the synthetic rows against the real ones: the mean over the runs of the
 * size of the relative error. --smoke invents the table.
 */
#include "aim/run/loop.h"
#include "aim/table/csv.h"
#include "base/memory.h"
#include "base/secret.h"
#include "bench/data.h"
#include "bench/data_sql.h"
#include "bench/figures.h"
#include "harness/study.h"
#include "parties/analyst/release.h"
#include "parties/command/methods.h"
#include "parties/exchange/price.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RUNS_FULL 5
#define ROWS_INVENTED 3000

/* Age by 5, hours by 10. It is known that most in the census work 40 hours, and where gains end. */
static const char domain[] =
    "domain:\n"
    "  - {name: age, kind: integer, edges: [15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75,\n"
    "     80, 85, 90, 95]}\n"
    "  - {name: workclass, kind: categorical, missing: \"?\", values: [Federal-gov, Local-gov,\n"
    "     Never-worked, Private, Self-emp-inc, Self-emp-not-inc, State-gov, Without-pay]}\n"
    "  - {name: education-num, kind: integer, min: 1, max: 16}\n"
    "  - {name: marital-status, kind: categorical, values: [Divorced, Married-AF-spouse,\n"
    "     Married-civ-spouse, Married-spouse-absent, Never-married, Separated, Widowed]}\n"
    "  - {name: relationship, kind: categorical, values: [Husband, Not-in-family,\n"
    "     Other-relative, Own-child, Unmarried, Wife]}\n"
    "  - {name: race, kind: categorical, values: [Amer-Indian-Eskimo, Asian-Pac-Islander, Black,\n"
    "     Other, White]}\n"
    "  - {name: sex, kind: categorical, values: [Female, Male]}\n"
    "  - {name: capital-gain, kind: integer, edges: [0, 5000, 10000, 20000, 50000, 99999],\n"
    "     spikes: [0, 99999]}\n"
    "  - {name: hours-per-week, kind: integer, edges: [0, 10, 20, 30, 40, 50, 60, 70, 80, 90,\n"
    "     99], spikes: [40]}\n"
    "  - {name: income>50K, kind: categorical, values: [<=50K, \">50K\"]}\n";

static const char *const columns[] = {"age", "hours-per-week", "capital-gain"};
#define COLUMNS (sizeof columns / sizeof columns[0])

struct l1_errors {
    double mean[COLUMNS], deviation[COLUMNS];
};

struct data_bench {
    struct support_study s;
    struct table *real;
    struct rows_moments *moments; /* of the real rows */
    struct log *log;
    bool smoke;
};

static enum err read_table(struct data_bench *b, const char *path, struct table **t,
                           struct rows_moments **moments)
{
    const struct table_csv_options options = {
        .rows.moments = *moments = memory_array(b->s.study->domain->attributes, sizeof **moments)};
    if (*moments == NULL)
        return ERR_NOMEM;
    return table_read_csv(t, b->s.study->domain, path, &options, b->log);
}

static enum err unpack(struct data_bench *b, const char *to)
{
    char command[4 * SUPPORT_PATH];
    snprintf(command, sizeof command, "gzip -dc '%s/raw/adult.raw.csv.gz' >'%s'", data_folder(),
             to);
    if (system(command) == 0)
        return ERR_OK;
    return log_fail(b->log, ERR_SYSTEM, "there is no %s/raw/adult.raw.csv.gz; set TREFOIL_DATA",
                    data_folder());
}

static enum err prepare(struct data_bench *b)
{
    static const char *const owner[] = {"    max_rows: 50000\n"};
    const struct study_options o = {.owners = 1,
                                    .domain = domain,
                                    .workload = "{all: 2}",
                                    .rounds = b->smoke ? 2 : 10,
                                    .epsilon = 1,
                                    .delta = 1e-5,
                                    .accounting = ACCOUNTING_GAUSSIAN,
                                    .part = owner};
    const char *real;
    TRY(support_study_new(&b->s, &o, b->log));
    real = support_path(&b->s, "real.csv");
    TRY(b->smoke ? support_csv(real, b->s.study->domain, ROWS_INVENTED, 1) : unpack(b, real));
    return read_table(b, real, &b->real, &b->moments);
}

static double deviation_of(const struct rows_moments *m)
{
    return sqrt(m->squares / (double)m->count);
}

static enum err run_once(struct data_bench *b, uint64_t seed, struct l1_errors *sum)
{
    struct methods_made made CLEAN(methods_clear) = {0};
    struct table *rows CLEAN(table_free) = NULL;
    struct rows_moments *m CLEAN(memory_release) = NULL;
    struct ledger_limits limits = {0};
    TRY(price_limits(b->s.study, &limits, b->log));
    TRY(methods_central(&made, b->s.study, b->real, NULL, NULL, b->log));
    TRY(methods_release(
        &made, &(struct release_terms){b->s.folder, b->s.study, limits.rho, 0, seed, b->log}));
    TRY(read_table(b, support_path(&b->s, "synthetic.csv"), &rows, &m));
    for (size_t i = 0; i < COLUMNS; i++) {
        uint32_t a = domain_find(b->s.study->domain, columns[i]);
        double mean = m[a].mean / b->moments[a].mean - 1;
        double deviation = deviation_of(&m[a]) / deviation_of(&b->moments[a]) - 1;
        printf("  %-16s %+7.2f %% %+7.2f %%\n", columns[i], 100 * mean, 100 * deviation);
        sum->mean[i] += fabs(mean);
        sum->deviation[i] += fabs(deviation);
    }
    return ERR_OK;
}

static void put_errors(json_t *o, const double *sum, unsigned runs)
{
    for (size_t i = 0; i < COLUMNS; i++)
        figures_put(o, sum[i] / runs, "%s", columns[i]);
}

static enum err measure(struct data_bench *b, unsigned runs, json_t *out)
{
    struct l1_errors sum = {0};
    TRY(prepare(b));
    puts("  column              mean  deviation, relative errors run by run");
    for (unsigned i = 0; i < runs; i++)
        TRY(run_once(b, i + 1, &sum));
    puts("  mean of their sizes:");
    for (size_t i = 0; i < COLUMNS; i++)
        printf("  %-16s %7.2f %% %7.2f %%\n", columns[i], 100 * sum.mean[i] / runs,
               100 * sum.deviation[i] / runs);
    figures_put(out, runs, "runs");
    put_errors(figures_object(out, "mean_error"), sum.mean, runs);
    put_errors(figures_object(out, "deviation_error"), sum.deviation, runs);
    return data_sql(b->smoke, out, b->log);
}

int main(int argc, char **argv)
{
    struct figures f;
    struct log log = {.file = stderr, .level = LOG_ERROR};
    struct data_bench b = {.log = &log};
    unsigned runs = RUNS_FULL;
    const struct figures_option options[] = {{.name = "runs", .count = &runs}};
    enum err e;
    figures_begin(&f, argc, argv, options, 1);
    b.smoke = f.smoke;
    e = secret_start();
    if (e == ERR_OK)
        e = measure(&b, f.smoke ? 1 : runs, f.out);
    table_free(&b.real);
    memory_free(&b.moments);
    support_study_free(&b.s);
    if (e != ERR_OK)
        fprintf(stderr, "bench_data: %s\n", error_text(e));
    return figures_end(&f, e != ERR_OK);
}
