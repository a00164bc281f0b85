/*
 * bench/bench_events.c - persons with events: how far synthetic ones are from real ones.
 *
 *   bench_events [--json FILE] [--smoke] [--seeds N]
 *
 * Invented patients with up to 10 visits, 1.75 on average: a department is likely to be that of the
 * visit before, a diagnosis belongs to a department, severity goes on from visit to visit. Epsilon
 * 1 and delta 1e-6, all pairs, 24 rounds for 20,000 persons and 36 for 80,000. Mean L1 errors as
 * `trefoil eval --events` has them, over seeds. The JSON is a list of
 *   persons, method (events; flat; resample), events, inter, order, person, number, seeds
 * flat is a table of visits alone, in which a person has at most five rows: it knows neither
 * persons nor order. resample is as many of the real persons, drawn once more.
 */
#include "bench/figures.h"
#include "harness/study.h"

#include "aim/answer/evaluate.h"
#include "aim/model/sample.h"
#include "aim/table/series.h"
#include "base/memory.h"
#include "base/random.h"
#include "parties/analyst/release.h"
#include "parties/command/evaluating_events.h"
#include "parties/command/methods.h"
#include "parties/exchange/price.h"

#include <math.h>
#include <stdio.h>

#define DEPARTMENTS 5
#define VISITS_MOST 10
#define FLAT_ROWS 5 /* of a person */

static const char domain[] = "domain:\n"
                             "  - {name: age, kind: integer, min: 0, max: 99, bins: 10}\n"
                             "  - {name: sex, kind: categorical, values: [f, m]}\n"
                             "  - {name: region, kind: integer, min: 0, max: 4}\n"
                             "%s"
                             "  - {name: department, kind: integer, min: 0, max: 4}\n"
                             "  - {name: diagnosis, kind: integer, min: 0, max: 11}\n"
                             "  - {name: severity, kind: integer, min: 0, max: 3}\n"
                             "  - {name: outcome, kind: integer, min: 0, max: 2}\n"
                             "%s";
static const char number[] = "  - {name: visits, kind: integer, min: 0, max: 10}\n";
static const char events[] =
    "events: {name: visits, by: patient, number: visits, previous: [department, severity],\n"
    "         columns: [department, diagnosis, severity, outcome]}\n";

struct events_bench {
    bool smoke;
    unsigned seeds;
    json_t *out;
    struct log log;
};

/* A study of this many persons: of events, or of a flat table. */
static enum err study_of(struct support_study *s, unsigned persons, bool flat, struct log *log)
{
    char text[2000], part[64];
    const char *const parts[] = {part};
    snprintf(part, sizeof part, "    max_rows: %u\n    as: counts\n",
             flat ? persons * FLAT_ROWS : persons);
    snprintf(text, sizeof text, domain, flat ? "" : number, flat ? "" : events);
    TRY(support_study_new(s,
                          OPTIONS(.owners = 1, .domain = text, .part = parts, .epsilon = 1,
                                  .delta = 1e-6, .accounting = ACCOUNTING_GAUSSIAN,
                                  .rounds = persons < 50000 ? 24 : 36),
                          log));
    if (flat)
        s->study->rows_per_person = FLAT_ROWS;
    return ERR_OK;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The visits of a person; the first severity depends on age. */
static void invent_visits(FILE *visits, struct random *r, unsigned person, unsigned age,
                          unsigned region)
{
    unsigned severity = age > 55, department = 0, n = 0;
    const double mean = 0.75 + age / 45.0;
    while (n < VISITS_MOST && random_double(r) < mean / (1 + mean))
        n++;
    for (unsigned k = 0; k < n; k++) {
        const bool stays = k > 0 && random_double(r) < 0.6;
        const double u = random_double(r);
        if (!stays)
            department = (unsigned)(DEPARTMENTS * pow(u, age > 50 ? 1.7 : 1));
        severity = least(3, severity + (unsigned)random_below(r, 3));
        severity -= severity > 0 && random_double(r) < 0.7;
        fprintf(visits, "%u,%u,%u,%u,%u\n", person, department,
                random_double(r) < 0.7 ? 2 * department + (unsigned)random_below(r, 2)
                                       : (unsigned)random_below(r, 12),
                severity,
                random_double(r) < 0.1 * severity              ? 1
                : random_double(r) < 0.1 + 0.1 * (region == 2) ? 2
                                                               : 0);
    }
}

/* Writes both files, and reads them as an owner would. */
static enum err invent(const struct support_study *s, unsigned persons, uint64_t seed,
                       struct source *real, struct log *log)
{
    const struct source_options o = {.csv = support_path(s, "p.csv"),
                                     .events = support_path(s, "v.csv")};
    FILE *p = fopen(o.csv, "w"), *v = fopen(o.events, "w");
    struct random r = random_of(1000 + seed);
    if (p == NULL || v == NULL)
        return ERR_SYSTEM;
    fputs("patient,age,sex,region\n", p);
    fputs("patient,department,diagnosis,severity,outcome\n", v);
    for (unsigned i = 0; i < persons; i++) {
        const unsigned age = (unsigned)(100 * pow(random_double(&r), 0.9)),
                       region = (unsigned)(5 * pow(random_double(&r), age > 60 ? 1.5 : 1));
        fprintf(p, "%u,%u,%s,%u\n", i, age, random_below(&r, 2) == 0 ? "f" : "m", region);
        invent_visits(v, &r, i, age, region);
    }
    fclose(p);
    fclose(v);
    return source_load_events(real, s->study, &o, log);
}

/* A run of one curator, its persons and their events drawn and compared. */
static enum err run_events(const struct support_study *s, const struct source *real, uint64_t seed,
                           struct events_compared *c, struct log *log)
{
    const struct source_options o = {.csv = support_path(s, "persons.csv"),
                                     .events = support_path(s, "visits.csv")};
    struct methods_made run CLEAN(methods_clear) = {0};
    struct source made CLEAN(source_clear) = {0};
    struct ledger_limits limits = {0};
    TRY(price_limits(s->study, &limits, log));
    TRY(methods_central(&run, s->study, real->table, NULL, NULL, log));
    TRY(methods_release(&run,
                        &(struct release_terms){s->folder, s->study, limits.rho, 0, seed, log}));
    TRY(source_load_events(&made, s->study, &o, log));
    return events_compare(c, real->table, made.table);
}

/* All visits in the columns of a flat study, or at most so many of a person. */
static enum err flatten(const struct support_study *flat, const struct table *real, unsigned most,
                        struct table **out)
{
    const struct domain *d = flat->study->domain;
    const uint16_t stage = real->domain->series->stage;
    unsigned rank = 0;
    TRY(table_new(out, d, real->rows));
    for (size_t row = 0; row < real->rows; row++) {
        uint16_t code[DOMAIN_ATTRIBUTES_MAX];
        rank = row > 0 && real->key[row] == real->key[row - 1] ? rank + 1 : 0;
        for (size_t a = 0; a < d->attributes; a++)
            code[a] = real->column[domain_find(real->domain, d->attribute[a].name)][row];
        if (real->column[stage][row] != SERIES_NONE && rank < most)
            TRY(table_append(*out, code));
    }
    return ERR_OK;
}

/* Errors of pairs of columns of events, and of one of persons with one of events. */
static enum err run_flat(const struct support_study *flat, const struct source *real, uint64_t seed,
                         double *of_events, double *inter, struct log *log)
{
    const struct workload *w = flat->study->workload;
    struct methods_made run CLEAN(methods_clear) = {0};
    struct table *all CLEAN(table_free) = NULL, *bound CLEAN(table_free) = NULL,
                      *made CLEAN(table_free) = NULL;
    double *each CLEAN(memory_release) = NULL, mean;
    size_t pairs[2] = {0};
    TRY(flatten(flat, real->table, VISITS_MOST, &all));
    TRY(flatten(flat, real->table, FLAT_ROWS, &bound));
    TRY(methods_central(&run, flat->study, bound, NULL, NULL, log));
    TRY(sample_rows(&made, run.model->model, all->rows, seed, log));
    TRY(memory_new(&each, w->cliques));
    TRY(evaluate_tables(w, all, made, each, &mean));
    *of_events = *inter = 0;
    for (size_t k = 0; k < w->cliques; k++) {
        const uint16_t *a = w->clique[k].attribute; /* the first three are of persons */
        const bool both = a[0] >= 3, one = !both && a[1] >= 3;
        *of_events += both ? each[k] : 0;
        *inter += one ? each[k] : 0;
        pairs[0] += both;
        pairs[1] += one;
    }
    *of_events /= (double)pairs[0];
    *inter /= (double)pairs[1];
    return ERR_OK;
}

static void put(struct events_bench *b, unsigned persons, const char *method, const double *error)
{
    json_t *o = json_object();
    json_array_append_new(figures_list(b->out, "events"), o);
    figures_put(o, persons, "persons");
    json_object_set_new(o, "method", json_string(method));
    printf("%u persons, %-8s", persons, method);
    for (size_t k = 0; k < EVENTS_KINDS; k++)
        if (!isnan(error[k])) {
            figures_put(o, error[k] / b->seeds, "%s", events_kinds[k]);
            printf("  %s %.4f", events_kinds[k], error[k] / b->seeds);
        }
    putchar('\n');
    figures_put(o, b->seeds, "seeds");
}

static enum err measure(struct events_bench *b, unsigned persons)
{
    struct support_study s, flat;
    double sum[EVENTS_SIDES][EVENTS_KINDS] = {{0}};
    TRY(study_of(&s, persons, false, &b->log));
    TRY(study_of(&flat, persons, true, &b->log));
    for (unsigned k = 0; k < EVENTS_KINDS; k++)
        sum[2][k] = NAN; /* of flat tables most is not known */
    sum[2][2] = sum[2][3] = 0;
    for (unsigned seed = 1; seed <= b->seeds; seed++) {
        struct source real CLEAN(source_clear) = {0};
        struct events_compared c;
        double of_events, inter;
        TRY(invent(&s, persons, seed, &real, &b->log));
        TRY(run_events(&s, &real, seed, &c, &b->log));
        TRY(run_flat(&flat, &real, seed, &of_events, &inter, &b->log));
        for (unsigned k = 0; k < EVENTS_KINDS; k++)
            for (unsigned i = 0; i < 2; i++)
                sum[i][k] += c.error[k][i];
        sum[2][2] += of_events;
        sum[2][3] += inter;
    }
    put(b, persons, "events", sum[0]);
    put(b, persons, "flat", sum[2]);
    put(b, persons, "resample", sum[1]);
    support_study_free(&s);
    support_study_free(&flat);
    return ERR_OK;
}

int main(int argc, char **argv)
{
    struct events_bench b = {.seeds = 5,
                             .log = {.file = stderr, .level = LOG_WARN, .prefix = "# "}};
    struct figures f = {0};
    enum err e;
    figures_begin(&f, argc, argv,
                  (const struct figures_option[]){{.name = "seeds", .count = &b.seeds}}, 1);
    b.smoke = f.smoke;
    b.out = f.out;
    b.seeds = b.smoke ? 1 : b.seeds;
    e = measure(&b, b.smoke ? 2000 : 20000);
    if (e == ERR_OK && !b.smoke)
        e = measure(&b, 80000);
    return figures_end(&f, e != ERR_OK);
}
