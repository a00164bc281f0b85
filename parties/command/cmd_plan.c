#include "aim/answer/errors.h"
#include "aim/model/model_jobs.h"
#include "aim/run/loop.h"
#include "base/memory.h"
#include "base/words.h"
#include "netio/session.h"
#include "parties/analyst/release.h"
#include "parties/command/command.h"
#include "parties/command/methods.h"
#include "parties/command/plan.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/price.h"
#include "parties/study/expect.h"
#include "parties/study/method.h"
#include "parties/study/rounds.h"
#include "parties/study/study_ports.h"
#include "parties/study/study_text.h"
#include "parties/study/study_uploads.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: trefoil plan STUDY [--left RHO] [--ranks R [--lanes N]]\n"
    "\n"
    "Says what a study will take, before anybody sends anything: cells, memory,\n"
    "uploads, rounds, noise, disk; what error to expect at several epsilons and\n"
    "numbers of rounds, and in the answers to the questions that the study is made\n"
    "for; which columns have more bins than the noise lets one see; and which method\n"
    "is expected to do better, AIM or a copula.\n"
    "Reads only the study file, in which keys may be absent. Takes owners to bring as\n"
    "many rows as their expected_rows say, or else max_rows. Refuses a study that\n"
    "cannot work, and says what to change.\n"
    "\n"
    "  --left RHO         plan a run that begins with what earlier runs left of the\n"
    "                     budget; trefoil run and servers' status say how much\n"
    "  --ranks R          also say how long servers of R ranks each take, what passes\n"
    "                     between ranks, and how much memory each needs\n"
    "  --lanes N          the number of threads of each rank; default 1\n"
    "\n"
    "example:\n"
    "  trefoil plan study.yaml\n";

#define ROUND_EXCHANGES 9 /* of a selection and its measurement, about */
/* Of a sweep's scores and its set; and of what scores are made from, once. */
#define SCORES_EXCHANGES 6
#define FINISH_EXCHANGES 13
#define SET_EXCHANGES 3
#define SCORE_BYTES 11   /* that a server sends for a cell */
#define ESTIMATE_BYTES 2 /* that the analyst's program does */

static void count(struct plan_asked *p)
{
    const struct workload *w = p->study->workload;
    p->rows = study_rows(p->study, true);
    for (uint32_t q = 0; q < w->queries; q++) {
        if (q < w->one_ways)
            p->one_way_cells += w->query[q].cells;
        if (w->query[q].cells > p->largest) {
            p->largest = w->query[q].cells;
            p->largest_query = q;
        }
    }
}

/* --- what it takes --------------------------------------------------------------------------- */

/* Estimates have some 2 bytes a cell; a score takes 11 bytes of each server for a cell. */
static void print_sweeps(const struct plan_asked *p)
{
    const struct workload *w = p->study->workload;
    struct price_sweep sweep;
    if (price_sweep(p->study, &sweep) != ERR_OK)
        return;
    printf("sweeps: the one-ways; then %u %s: how far the model is from each of %zu marginals,\n"
           "  with noise of at most %.0f rows, in about %u exchanges between the servers (%u more\n"
           "  the first time) and %s from each; then a set of them, in %u; and 6 more each\n"
           "  with security: abort. The analyst's program sends about %s a time\n",
           p->study->sweeps, p->study->sweeps == 1 ? "time" : "times", w->queries, sweep.most_sigma,
           SCORES_EXCHANGES, FINISH_EXCHANGES, words_bytes(SCORE_BYTES * w->cells).text,
           SET_EXCHANGES, words_bytes(ESTIMATE_BYTES * w->cells).text);
}

static void print_kind(const struct plan_asked *p)
{
    const struct study *s = p->study;
    const double rho = p->options.limits.rho / pow(s->rows_per_person, 2);
    const bool sweeps = s->score == AIM_L1 &&
                        rounds_sweeps_better(s->workload, (double)p->rows, rho);
    printf("kind of rounds expected to do better for this study: %s\n",
           sweeps ? "sweeps,\n  unless most columns depend strongly on each other" : "annealed");
}

static void print_domain(const struct plan_asked *p)
{
    const struct workload *w = p->study->workload;
    printf("study %s: %zu attributes, %s %" PRIu64 " rows from %zu owners\n", p->study->name,
           p->study->domain->attributes,
           p->rows < study_rows(p->study, false) ? "about" : "at most", p->rows,
           study_owners_most(p->study));
    printf("workload: %zu marginals; %zu with the smaller ones they contain, %" PRIu64 " cells\n",
           w->cliques, w->queries, w->cells);
    printf("largest marginal: %s, %" PRIu64 " cells\n",
           clique_name(&w->query[p->largest_query].clique, p->study->domain).text, p->largest);
    if (p->study->sweeps > 0)
        print_sweeps(p);
    else
        printf("rounds: the one-ways, then %u; each about %u exchanges between the servers,\n"
               "  and 6 more with security: abort\n",
               p->study->rounds, ROUND_EXCHANGES);
    print_kind(p);
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
    const double drawing = (double)p->rows *
                           (sizeof(uint16_t) * ((double)p->study->domain->attributes + 1) +
                            sizeof(uint32_t));
    return 15e6 + fmax(asking, fmax(fmax(fitting, errors), drawing + 16.0 * (double)cells));
}

static bool merges(const struct plan_asked *p)
{
    for (size_t i = 0; i < p->grouped.attributes; i++)
        if (p->grouped.attribute[i].size < p->study->domain->attribute[i].size)
            return true;
    return false;
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
    if (merges(p))
        printf("  (values with few rows taken as merged, with rows spread evenly)\n");
    if (most > cells)
        printf("  marginals that overlap%s may need more, up to %s;\n"
               "  the program then takes %s\n",
               merges(p) ? ", or less merged," : "", words_bytes(most * sizeof(double)).text,
               words_bytes((uint64_t)analyst_bytes(p, all, most, unmerged)).text);
    printf("  error bars: %zu refits, %s in the result's file errors (at most %s)\n",
           errors_refits(measured), words_bytes(errors_bytes(measured)).text,
           words_bytes(ERRORS_FILE_MAX).text);
    return ERR_OK;
}

static void print_upload(const struct study *s, size_t i)
{
    uint64_t codes = study_records_bytes(s, i);
    const struct words_text records = words_bytes(codes);
    if (s->owner[i].columns < s->domain->attributes)
        printf("  %-20s %12s as records (%u bits a row) of its %zu columns\n", s->owner[i].name,
               records.text, study_record_bits(s, i), s->owner[i].columns);
    else
        printf("  %-20s %12s as counts (%u bits a cell),\n"
               "  %-20s %12s as records (%u bits a row): sends %s\n",
               s->owner[i].name, words_bytes(study_counts_bytes(s, i)).text, s->owner[i].bits, "",
               codes == UINT64_MAX ? "not possible" : records.text, study_record_bits(s, i),
               s->owner[i].records ? "records" : "counts");
}

void plan_uploads(const struct plan_asked *p)
{
    const struct study *s = p->study;
    uint64_t all = 0;
    printf("uploads, from public bounds alone (each owner sends the same whatever its data):\n");
    for (size_t i = 0; i < s->owners; i++) {
        all += study_upload_bytes(s, i);
        if (i < 10)
            print_upload(s, i);
    }
    if (s->owners > 10)
        printf("  ...     and %zu more %s\n", s->owners - 10, s->owners == 11 ? "owner" : "owners");
    if (s->open.most > 0) {
        all += s->open.most * study_upload_bytes(s, s->owners);
        printf("  %-20s %12s each, as %s, of at most %zu\n", "others",
               words_bytes(study_upload_bytes(s, s->owners)).text,
               s->open.each.records ? "records" : "counts", s->open.most);
    }
    printf("  disk: servers 1 and 2 keep %s of them, server 0 only seeds; a ledger\n"
           "  grows by 1 kB a round\n",
           words_bytes(all).text);
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
    TRY(expect_questions(&list, &count, p->study, measure_sigma(multiplier), p->log));
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

static void clear(struct plan_asked *p)
{
    memory_free(&p->grouped.attribute);
    bounds_free(&p->bounds);
    study_free(&p->study);
}

enum err plan_all_servers(const struct plan_asked *p)
{
    TRY(plan_servers(p->study));
    if (p->ranks == 0)
        return ERR_OK;
    return plan_ranks(p->study, (unsigned)p->ranks, p->lanes > 0 ? (unsigned)p->lanes : 1, p->log);
}

enum err plan_aim(struct plan_asked *p, double rho)
{
    TRY(release_loop_options(p->study, p->bounds, &p->options, p->log));
    TRY(check_plan(p));
    TRY(aim_expect_groups(&p->grouped, &p->options, (double)p->rows, aim_sigma(&p->options)));
    print_domain(p);
    TRY(method_print(stdout, p->study, (double)p->rows, rho));
    TRY(print_model(p));
    plan_uploads(p);
    TRY(plan_all_servers(p));
    plan_noise(&(struct plan_noise){.study = p->study,
                                    .options = &p->options,
                                    .rows = p->rows,
                                    .merges = merges(p),
                                    .grouped = &p->grouped});
    return print_questions(p);
}

/* Reads --left. */
static enum err take_left(struct plan_asked *p)
{
    struct ledger_limits limits;
    char *end;
    if (p->left == NULL)
        return ERR_OK;
    TRY(price_limits(p->study, &limits, p->log));
    p->study->left = strtod(p->left, &end);
    if (*end != '\0' || !(p->study->left > 0 && p->study->left <= limits.rho))
        return log_fail(p->log, ERR_USAGE,
                        "--left needs a rho above 0 and at most the study's, %.4g", limits.rho);
    printf("for a run to which earlier ones left a rho of %.4g of the study's %.4g\n",
           p->study->left, limits.rho);
    return ERR_OK;
}

static enum err plan(struct plan_asked *p, const char *path)
{
    struct ledger_limits limits;
    TRY(study_load_draft(&p->study, path, p->log));
    if (p->study->keyless > 0)
        printf("%s\n", study_not_yet(p->study).text);
    TRY(take_left(p));
    TRY(bounds_new(&p->bounds, p->study, p->log));
    TRY(price_check_noise(p->study, p->log));
    TRY(price_limits(p->study, &limits, p->log));
    count(p);
    TRY(methods_of(p->study)->plan(p, limits.rho));
    if (p->study->accounting == ACCOUNTING_GAUSSIAN)
        printf("The study's own rho, %.4g, is as private as one count with Gaussian noise of\n"
               "standard deviation %.3g: all that is opened together, and nothing else.\n",
               limits.rho, ledger_deviation(1, limits.rho));
    return ERR_OK;
}

static enum err run_plan(int argc, char **argv, struct log *log)
{
    const char *file = NULL;
    struct plan_asked p CLEAN(clear) = {.log = log};
    const struct command_option options[] = {
        {.name = "left", .value = &p.left},
        {.name = "ranks", .number = &p.ranks, .least = 2, .most = SESSION_ALL_MAX},
        {.name = "lanes", .number = &p.lanes, .least = 1, .most = STUDY_LANES_MAX},
    };
    TRY(command_options(argc, argv, COUNTED(options), &file, 1, 1, NULL, log));
    if (p.lanes > 0 && p.ranks == 0)
        return log_fail(log, ERR_USAGE, "--lanes says how many lanes each rank has; give --ranks");
    return plan(&p, file);
}

const struct command cmd_plan = {.name = "plan",
                                 .summary = "say what a study will take and what error to expect",
                                 .help = help,
                                 .run = run_plan};
