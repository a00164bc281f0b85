#include "parties/command/plan.h"

#include "aim/answer/errors.h"
#include "aim/model/model_jobs.h"
#include "aim/table/series.h"
#include "base/memory.h"
#include "base/words.h"
#include "parties/analyst/release.h"
#include "parties/exchange/price.h"
#include "parties/study/expect.h"
#include "parties/study/method.h"
#include "parties/study/method_advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUND_EXCHANGES 9 /* of a selection and its measurement, about */
/* Of a sweep's scores and its set; and of what scores are made from, once. */
#define SCORES_EXCHANGES 6
#define FINISH_EXCHANGES 13
#define SET_EXCHANGES 3
#define SCORE_BYTES 11   /* that a server sends for a cell */
#define ESTIMATE_BYTES 2 /* that the analyst's program does */

/* --- what it takes --------------------------------------------------------------------------- */

/* Estimates have some 2 bytes a cell; a score takes 11 bytes of each server for a cell. */
static void print_sweeps(const struct plan_asked *p)
{
    const struct workload *w = p->study->workload;
    struct price_sweep sweep;
    if (price_sweep(p->study, &sweep) != ERR_OK)
        return;
    printf("sweeps: the one-ways; then %u %s: how far the model is from each of %zu\n"
           "  marginals, with noise of at most %.0f %s (or from each pair of columns alone,\n"
           "  where noise would hide the others),\n"
           "  in ",
           p->study->sweeps, p->study->sweeps == 1 ? "time" : "times", w->queries,
           measure_spread(p->study->noise_by) * sweep.most_sigma / series_units(p->study->domain),
           series_counted(p->study->domain));
    if (p->study->servers == 2)
        printf("%u exchanges between the servers; then a set of\n"
               "  them, in %u. ",
               PLAN_TWO_SCORES, PLAN_TWO_MEASURE);
    else
        printf("about %u exchanges between the servers (%u more the first time) and\n"
               "  %s from each; then a set of them, in %u; and 6 more each with\n"
               "  security: abort. ",
               SCORES_EXCHANGES, FINISH_EXCHANGES, words_bytes(SCORE_BYTES * w->cells).text,
               SET_EXCHANGES);
    printf("The analyst's program sends about %s a time\n",
           words_bytes(ESTIMATE_BYTES * w->cells).text);
}

static void print_kind(const struct plan_asked *p)
{
    const struct rounds_choice c = method_choose_rounds(p->study);
    printf("kind of rounds expected to do better for this study: %s%s, since\n"
           "  %s%s\n"
           "  (noise of the first scores of sweeps: %.2g %% of the rows)\n",
           rounds_word(&c).text, p->study->rounds_auto ? " (auto)" : "", c.cause,
           c.sweeps > 0 ? ",\n  unless most columns depend strongly on each other" : "",
           100 * c.noise);
}

/* Half of the reserve is for the model, half for independent columns. */
static void print_assess(const struct plan_asked *p)
{
    const double k = p->study->rows_per_person, rows = fmax(1, (double)p->rows),
                 error = ASSESS_BAND * assess_deviation(p->options.assess / (k * k)) / rows;
    if (p->study->assess > 0)
        printf("assessment: %g of the budget shows how far the model is from all %zu\n"
               "  pairs of attributes on average to within %.2g (95 %%), 0 alike and 2 nothing\n"
               "  in common; of n of these pairs, to sqrt(%zu / n) times that\n",
               p->study->assess, assess_pairs(p->study->workload), error,
               assess_pairs(p->study->workload));
}

static void print_domain(const struct plan_asked *p)
{
    const struct workload *w = p->study->workload;
    plan_study(p);
    printf("workload: %zu marginals; %zu with the smaller ones they contain, %" PRIu64 " cells\n",
           w->cliques, w->queries, w->cells);
    printf("largest marginal: %s, %" PRIu64 " cells\n",
           clique_name(&w->query[p->largest_query].clique, p->study->domain).text, p->largest);
    if (p->study->sweeps > 0)
        print_sweeps(p);
    else if (p->study->servers == 2)
        printf("rounds: the one-ways, then %u; each %u exchanges between the servers\n",
               p->study->rounds, PLAN_TWO_SELECT);
    else
        printf("rounds: the one-ways, then %u; each about %u exchanges between the servers,\n"
               "  and 6 more with security: abort\n",
               p->study->rounds, ROUND_EXCHANGES);
    print_kind(p);
    print_assess(p);
}

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/*
 * *cells: of the one-ways, and of as many of the largest marginals as there are rounds; of sweeps,
 * what their noise is planned for. *asked: of all marginals that a selection may ask about.
 */
static enum err count_measured(const struct plan_asked *p, const struct domain *d, uint64_t *cells,
                               uint64_t *asked)
{
    const struct workload *w = p->study->workload;
    size_t n = w->queries - w->one_ways;
    uint64_t *size = memory_array(n, sizeof *size);
    if (size == NULL)
        return ERR_NOMEM;
    *asked = p->one_way_cells;
    for (size_t i = 0; i < n; i++)
        *asked += size[i] = clique_cells(&w->query[w->one_ways + i].clique, d);
    qsort(size, n, sizeof *size, by_size);
    *cells = p->one_way_cells;
    for (size_t i = 0; i < n && i < p->study->rounds; i++)
        *cells += size[i];
    *cells += p->study->sweeps * (*asked < PRICE_SET * *cells ? *asked : PRICE_SET * *cells);
    memory_free(&size);
    return ERR_OK;
}

/* Cells of the whole domain, or as many as the model may have. */
static uint64_t most_cells(const struct study *s)
{
    const uint64_t limit = ((uint64_t)s->max_mib << 20) / sizeof(double);
    uint64_t cells = 1;
    for (size_t i = 0; i < s->domain->attributes; i++)
        if (__builtin_mul_overflow(cells, s->domain->attribute[i].size, &cells) || cells > limit)
            return limit;
    return cells;
}

/*
 * The memory that the analyst's program takes, as measured (test_plan_memory.c): itself and
 * its libraries, and the most that one of these takes:
 *   asking    each candidate's estimates, from the model to the wire
 *   fitting   a cell's potential, belief and numbers for the fit; the memory of its steps is
 *             another 80 bytes a cell up to 64 MiB, or 16 above that; a measured cell
 *   errors    besides the model, copies that are each fitted to their own measurements, and what
 *             is kept of all refits
 *   drawing   a row's codes, its place and a value
 */
static double analyst_bytes(const struct plan_asked *p, uint64_t asked, uint64_t cells,
                            uint64_t measured)
{
    const double asking = 56.0 * (double)asked;
    const double steps = fmax(16.0 * (double)cells, fmin(80.0 * (double)cells, 0x1p26));
    const double fitting = 72.0 * (double)cells + steps + 24.0 * (double)measured;
    const double copies = 2 * cells < MODEL_JOBS_CELLS ? MODEL_JOBS_THREADS : 1;
    const double errors = 72.0 * (double)cells + (double)errors_bytes(measured) +
                          24.0 * (double)measured +
                          copies * (72.0 * (double)cells + steps + 8.0 * (double)measured);
    const double drawing = (double)(p->rows / series_units(p->study->domain)) *
                           (sizeof(uint16_t) * ((double)p->study->domain->attributes + 1) +
                            sizeof(uint32_t));
    return 15e6 + fmax(asking, fmax(fmax(fitting, errors), drawing + 16.0 * (double)cells));
}

static enum err print_model(const struct plan_asked *p)
{
    const uint64_t most = most_cells(p->study);
    uint64_t measured, cells, asked, unmerged, all;
    TRY(count_measured(p, &p->grouped, &measured, &asked));
    TRY(count_measured(p, p->study->domain, &unmerged, &all));
    cells = measured < most ? measured : most;
    printf("model: about %s (%" PRIu64 " cells); the analyst's program about %s\n",
           words_bytes(cells * sizeof(double)).text, cells,
           words_bytes((uint64_t)analyst_bytes(p, asked, cells, measured)).text);
    if (p->merges)
        printf("  (values with few rows taken as merged, with rows spread evenly)\n");
    if (most > cells)
        printf("  marginals that overlap%s may need more, up to %s;\n"
               "  the program then takes %s\n",
               p->merges ? ", or less merged," : "", words_bytes(most * sizeof(double)).text,
               words_bytes((uint64_t)analyst_bytes(p, all, most, unmerged)).text);
    printf("  error bars: %zu refits, %s in the result's file errors (at most %s)\n",
           errors_refits(measured), words_bytes(errors_bytes(measured)).text,
           words_bytes(ERRORS_FILE_MAX).text);
    return ERR_OK;
}

/* --- what comes out -------------------------------------------------------------------------- */

static enum err print_questions(const struct plan_asked *p)
{
    struct expect *list CLEAN(memory_release) = NULL;
    uint64_t multiplier;
    size_t count;
    if (p->study->questions == NULL)
        return ERR_OK;
    TRY(measure_multiplier(aim_sigma_later(&p->options), &multiplier, p->log));
    TRY(expect_questions(&list, &count, p->study, measure_sigma(multiplier, p->study->noise_by),
                         p->log));
    expect_table(stdout, p->study, list, count);
    return ERR_OK;
}

/* --- what cannot work ------------------------------------------------------------------------ */

static enum err check_plan(const struct plan_asked *p)
{
    const uint64_t limit = ((uint64_t)p->study->max_mib << 20) / sizeof(double);
    if (p->one_way_cells <= limit)
        return ERR_OK;
    return log_fail(p->log, ERR_RANGE,
                    "the one-ways alone take %" PRIu64 " cells, the model may have %" PRIu64
                    "; raise model: max_mib, or use fewer or coarser attributes",
                    p->one_way_cells, limit);
}

enum err plan_aim(struct plan_asked *p, double rho)
{
    TRY(release_loop_options(p->study, p->bounds, &p->options, p->log));
    TRY(check_plan(p));
    TRY(aim_expect_groups(&p->grouped, &p->options, (double)p->rows,
                          aim_sigma(&p->options) * measure_spread(p->options.noise_by)));
    for (size_t i = 0; i < p->grouped.attributes; i++)
        p->merges |= p->grouped.attribute[i].size < p->study->domain->attribute[i].size;
    TRY(plan_verdict(p, rho));
    print_domain(p);
    TRY(method_print(stdout, p->study, (double)p->rows, rho));
    TRY(print_model(p));
    plan_uploads(p);
    TRY(plan_servers(p));
    plan_noise(p);
    return print_questions(p);
}
