/*
 * `trefoil plan --simulate`: the study played by one program, on rows that nobody needs to protect,
 * and how far its synthetic rows are from them.
 */
#include "aim/copula/copula_model.h"
#include "aim/table/csv.h"
#include "aim/table/series.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "parties/command/evaluating.h"
#include "parties/command/methods.h"

#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAUSES 3       /* that columns share */
#define LOAD_LEAST 0.3 /* how much of a column they make, squared: from 0.09 to 0.81 */
#define LOAD_MOST 0.9
#define MISSING 0.03 /* of the rows, in columns that may have missing values */
#define WIDTH 0.2    /* of a column's range: the deviation of its numbers */
#define ROWS_MOST 1000000

/* --- invented rows ---------------------------------------------------------------------------- */

/* Numbers are bell shaped, of labels the first are the most frequent. */
static void invent_shares(double *share, const struct domain_attribute *a, struct random *r)
{
    const double middle = (0.3 + 0.4 * random_double(r)) * a->values, width = WIDTH * a->values;
    double sum = 0;
    for (uint32_t k = 0; k < a->values; k++) {
        const double x = (k + 0.5 - middle) / width;
        share[k] = domain_has_order(a) ? exp(-x * x / 2) : 1.0 / (k + 1);
        sum += share[k];
    }
    for (uint32_t k = 0; k < a->values; k++)
        share[k] *= (a->size > a->values ? 1 - MISSING : 1) / sum;
    if (a->size > a->values)
        share[a->values] = MISSING;
}

/* How the causes make a column. */
static void invent_loads(double load[CAUSES], struct random *r)
{
    const double length = LOAD_LEAST + (LOAD_MOST - LOAD_LEAST) * random_double(r);
    double squares = 0;
    random_normals(r, load, CAUSES);
    for (size_t k = 0; k < CAUSES; k++)
        squares += load[k] * load[k];
    for (size_t k = 0; k < CAUSES; k++)
        load[k] *= length / sqrt(squares);
}

static enum err invent(struct table **rows, const struct domain *d, size_t count, uint64_t seed,
                       struct log *log)
{
    struct copula *c CLEAN(copula_free) = NULL;
    double(*load)[CAUSES] CLEAN(memory_release) = NULL;
    struct random r = random_of(seed);
    TRY(copula_new(&c, d));
    TRY(memory_new(&load, d->attributes));
    c->total = (double)count;
    for (size_t i = 0; i < d->attributes; i++) {
        invent_shares(c->share[i], &d->attribute[i], &r);
        invent_loads(load[i], &r);
        c->correlation[i * d->attributes + i] = 1;
        for (size_t j = 0; j < i; j++) {
            double sum = 0;
            for (size_t k = 0; k < CAUSES; k++)
                sum += load[i][k] * load[j][k];
            c->correlation[i * d->attributes + j] = c->correlation[j * d->attributes + i] = sum;
        }
    }
    return copula_rows(rows, c, count, seed, log);
}

/* --- the run ---------------------------------------------------------------------------------- */

struct simulating {
    const struct plan_asked *asked;
    struct study alone; /* whose rows are one of a person, so that they need no columns of it */
    char folder[64];    /* of its own; empty: not made */
    char rows[FILE_PATH], synthetic[FILE_PATH];
};

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    (void)s;
    (void)kind;
    (void)where;
    return remove(path);
}

static void simulating_clear(struct simulating *s)
{
    if (s->folder[0] != '\0')
        (void)nftw(s->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static enum err make_folder(struct simulating *s)
{
    const char *place = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%s/trefoil-plan-XXXXXX",
             place != NULL && strlen(place) < 40 ? place : "/tmp");
    if (mkdtemp(s->folder) != NULL)
        return ERR_OK;
    s->folder[0] = '\0';
    return log_fail(s->asked->log, ERR_SYSTEM, "cannot make a folder in %s",
                    place != NULL ? place : "/tmp");
}

/* Reads the public rows, or invents some, which are written for the comparison. */
static enum err find_rows(struct simulating *s, struct table **rows)
{
    const struct plan_asked *p = s->asked;
    const uint64_t most = study_rows(p->study, false);
    if (p->like == NULL) {
        if (p->rows > ROWS_MOST)
            return log_fail(p->log, ERR_RANGE,
                            "%" PRIu64 " rows are more than this invents, %d; give --like FILE",
                            p->rows, ROWS_MOST);
        printf("simulation on %" PRIu64 " invented rows, whose columns share %d causes:\n", p->rows,
               CAUSES);
        TRY(file_path(s->rows, p->log, "%s/rows.csv", s->folder));
        TRY(invent(rows, p->study->domain, (size_t)p->rows, (uint64_t)p->seed, p->log));
        return table_write_csv(s->rows, *rows, NULL, (uint64_t)p->seed, NULL, p->log);
    }
    TRY(file_path(s->rows, p->log, "%s", p->like));
    TRY(table_read_csv(rows, p->study->domain, p->like, NULL, p->log));
    if ((*rows)->rows > most)
        return log_fail(p->log, ERR_DATA,
                        "%s has %zu rows; the study's owners may have %" PRIu64 " (max_rows)",
                        p->like, (*rows)->rows, most);
    printf("simulation on the %zu rows of %s:\n", (*rows)->rows, p->like);
    return ERR_OK;
}

static enum err simulate(struct simulating *s, double rho)
{
    const struct plan_asked *p = s->asked;
    struct table *rows CLEAN(table_free) = NULL;
    struct methods_made made CLEAN(methods_clear) = {0};
    struct random r = random_of((uint64_t)p->seed);
    const struct plaintext_noise noise = noise_from_random(&r);
    struct progress progress;
    TRY(find_rows(s, &rows));
    progress = progress_start(stdout, &s->alone, rho);
    TRY(methods_central(&made, &s->alone, rows, &noise, &progress, p->log));
    progress_end(&progress);
    return methods_release(&made, &(struct release_terms){.folder = s->folder,
                                                          .study = &s->alone,
                                                          .rho = rho,
                                                          .rows = rows->rows,
                                                          .seed = (uint64_t)p->seed,
                                                          .log = p->log});
}

enum err plan_simulate(const struct plan_asked *p, double rho)
{
    struct simulating s CLEAN(simulating_clear) = {.asked = p, .alone = *p->study};
    struct evaluating e CLEAN(evaluating_clear) = {.study = &s.alone,
                                                   .real = s.rows,
                                                   .synthetic = s.synthetic,
                                                   .worst = p->worst,
                                                   .log = p->log};
    if (p->study->domain->series != NULL)
        return log_fail(p->log, ERR_USAGE,
                        "no persons with events are invented yet: try trefoil aim on tables of "
                        "your own");
    s.alone.enforce_person = false;
    TRY(make_folder(&s));
    TRY(simulate(&s, rho));
    TRY(file_path(s.synthetic, p->log, "%s/synthetic.csv", s.folder));
    if (!file_is_there(s.synthetic)) {
        printf("\nThis method makes no rows that could be compared.\n");
        return ERR_OK;
    }
    if (measure_spread(p->study->noise_by) > 1)
        printf("\nThe noise was that of one curator; the servers' is %.2g times as large.\n",
               measure_spread(p->study->noise_by));
    printf("\nThe rows above stand for the real ones here.\n");
    TRY(evaluating_run(&e));
    if (p->like == NULL)
        printf("Invented rows depend on each other as a normal distribution has it, which\n"
               "flatters method: copula. Real ones differ; --like takes public rows. Another\n"
               "--seed gives other rows and other noise.\n");
    return ERR_OK;
}
