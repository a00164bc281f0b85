/*
 * An audit of the promised privacy: runs of a small study on two tables that differ in one row,
 * what the servers open, and how well it tells the tables apart. The loss that can be shown with
 * near certainty must stay below the promise; with half the noise, with noise used twice, and with
 * estimates above their bound it must not, or the audit would see nothing. The same for a copula,
 * whose promise is what the engine charges; and for tables that differ in a person, who has 50 rows
 * at 10 owners: with the bound they must look like one row, and without it they must not.
 * TREFOIL_LONG=1 takes ten times the runs.
 */
#include "harness/cmocka.h"

#include "aim/budget/budget.h"
#include "aim/budget/schedule.h"
#include "aim/run/copula_run.h"
#include "aim/workload/tabulate.h"
#include "harness/study.h"
#include "harness/three.h"
#include "mpc/circuits/ring.h"
#include "parties/exchange/price.h"
#include "parties/owner/pack.h"
#include "parties/settings/three/engine.h"
#include "parties/settings/three/split.h"

#define CANDIDATES 3
#define CELLS 4    /* of the largest marginal */
#define DELTA 0.05 /* at which losses are compared: enough for so few runs to see */
#define THRESHOLDS 40

/* Two columns of two values. The row that only one table has is (0, 1). */
static const char domain[] = "domain:\n"
                             "  - {name: a, kind: integer, min: 0, max: 1}\n"
                             "  - {name: b, kind: integer, min: 0, max: 1}\n";

#define OWNERS 10   /* that a person has rows at, */
#define ROWS_EACH 5 /* so many at each */

enum flaw { NONE, HALF_NOISE, TENTH_LESS_NOISE, USED_TWICE, UNCLAMPED, UNBOUNDED };

/* What a run opened, in counts: the one-ways, the index of the selected marginal, its counts. */
struct outcome {
    /* of a copula the form only, in deviations of noise; of a sweep the scores */
    double a[2], b[2], selected[CELLS];
    size_t index;
};

struct audit_running {
    struct support_study s;
    struct bounds *bounds;
    struct schedule schedule;
    uint64_t alone, multiplier; /* m, which is charged for: of the one-ways; of the round */
    double rho;                 /* of a run */
    int64_t factor[4];          /* of a copula */
    double shift;               /* how far the row moves the form, in deviations of noise */
    double charged;             /* by the engine, in total */
    enum flaw flaw;
    size_t runs;
    int64_t *counts;                /* of the closure of the table in hand; or, of a person, */
    struct upload parts[OWNERS][3]; /* what owners send */
    struct outcome *outcome;        /* of server 0 */
    struct outcome *both[2];
};

/* --- runs ------------------------------------------------------------------------------------- */

/* One server's place: its engine, and the noise that it could reuse. */
struct audit_seat {
    struct audit_running *a;
    struct three *engine;
    struct share64 kept;
};

/* The engine's counts are those of the uploads, as servers make them. */
static enum err count_uploads(const struct audit_running *a, struct three *g)
{
    struct upload held[OWNERS];
    for (unsigned o = 0; o < OWNERS; o++)
        held[o] = a->parts[o][g->party->index];
    TRY(tally_add(g->party, &g->tally, held, OWNERS));
    return three_finish(g);
}

/* Or of the table in hand. */
static enum err share_counts(const struct audit_running *a, struct three *g)
{
    const struct workload *w = a->s.study->workload;
    struct party *p = g->party;
    uint64_t cells[CANDIDATES];
    for (size_t q = 0; q < CANDIDATES; q++)
        cells[q] = w->query[q].cells;
    TRY(counts_new(&g->counts, cells, CANDIDATES, a->bounds->counts.bits));
    for (size_t q = 0; q < CANDIDATES; q++) {
        struct share64 x CLEAN(share64_free) = {0};
        TRY(three_share64(p, &x, (const uint64_t *)a->counts + w->query[q].offset, cells[q], q));
        ring64_copy(counts_query(g->counts, q), x);
    }
    return a->s.study->score == AIM_L2 ? counts_finish_squares(p, g->counts)
                                       : counts_finish(p, g->counts);
}

static enum err engine_of(struct audit_running *a, struct party *p, struct three **engine)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    TRY(three_new(engine, p, a->s.study, a->bounds, id, p->log));
    struct three *g = *engine;
    tape_plan(&g->tape, NOISE_GAUSS, a->runs * (4 + CELLS));
    tape_plan(&g->tape, NOISE_GUMBEL, a->runs * CANDIDATES);
    return a->s.owners == OWNERS ? count_uploads(a, g) : share_counts(a, g);
}

/* As a server treats a request that all three agreed on; `out` is in counts. */
static enum err perform(struct audit_seat *s, struct engine_step *step, struct share64 *noise,
                        size_t *index, double *out)
{
    static const uint8_t seed[32] = {5};
    struct tape range CLEAN(tape_free) = {0};
    int64_t values[CELLS];
    size_t measured = 0;
    TRY(three_reserve(s->engine, step));
    TRY(range_cut(&s->engine->tape, three_step(step)->noise, &range));
    if (noise != NULL && noise->n > 0)
        ring64_copy(range.reel[NOISE_GAUSS].samples, *noise);
    else if (noise != NULL) {
        TRY(share64_new(noise, range.reel[NOISE_GAUSS].samples.n));
        ring64_copy(*noise, range.reel[NOISE_GAUSS].samples);
    }
    if (step->ask->kind == ASK_SELECT)
        TRY(three_select(s->engine, step, &range, seed, index));
    TRY(three_measure(s->engine, step, &range, index != NULL ? *index : 0, values, &measured));
    for (size_t i = 0; i < measured; i++)
        out[i] = (double)values[i] / (double)step->ask->multiplier;
    if (s->engine->party->index == 0)
        s->a->charged += mpq_get_d(step->price.cost);
    return ERR_OK;
}

static enum err ask(struct audit_seat *s, struct ask *r, struct share64 *noise, size_t *index,
                    double *out)
{
    struct engine_step step CLEAN(three_step_clear) = {0};
    uint64_t estimate[CELLS * CANDIDATES];
    const bool unclamped = s->a->flaw == UNCLAMPED && r->kind == ASK_SELECT;
    if (unclamped) { /* checks one thing and uses another */
        memcpy(estimate, r->estimate, r->estimates * sizeof *estimate);
        memset(r->estimate, 0, r->estimates * sizeof *r->estimate);
    }
    TRY(three_prepare(s->engine, r, &step));
    if (unclamped) {
        memcpy(r->estimate, estimate, r->estimates * sizeof *estimate);
        s->engine->counts->bits = 20;
    }
    if (s->a->flaw == HALF_NOISE && r->kind != ASK_FORMS) /* more than what was charged */
        r->multiplier *= 2;
    if (s->a->flaw == TENTH_LESS_NOISE && r->kind == ASK_SCORES)
        r->multiplier += r->multiplier / 9;
    for (uint32_t k = 0; s->a->flaw == HALF_NOISE && r->kind == ASK_MEASURE && k < r->queries; k++)
        three_step(&step)->multiplier[k] *= 2;
    for (size_t k = 0; s->a->flaw == HALF_NOISE && k < r->weights / 2; k++)
        r->weight[k] *= 2;
    return perform(s, &step, noise, index, out);
}

/* One one-way after the other; the second with the first's noise, if that is the flaw. */
static enum err measure_one_ways(struct audit_seat *s, struct outcome *o)
{
    enum err e = ERR_OK;
    share64_free(&s->kept);
    for (uint32_t q = 0; e == ERR_OK && q < 2; q++) {
        struct ask r = {.kind = ASK_MEASURE, .queries = 1, .query = &q, .multiplier = s->a->alone};
        e = ask(s, &r, s->a->flaw == USED_TWICE ? &s->kept : NULL, NULL, q == 0 ? o->a : o->b);
    }
    return e;
}

/*
 * Estimates at their bound in a cell of each one-way, where squares change most; or far above the
 * bound.
 */
static enum err select_one(struct audit_seat *s, struct outcome *o)
{
    const struct audit_running *a = s->a;
    uint32_t query[CANDIDATES] = {0, 1, 2};
    const uint64_t most = (uint64_t)1 << (a->bounds->counts.bits + AIM_ESTIMATE_BITS);
    uint64_t estimate[] = {a->flaw == UNCLAMPED ? 64 * most : most, 0, 0, 0, 0, 0, 0, 0};
    struct ask r = {.kind = ASK_SELECT,
                    .queries = CANDIDATES,
                    .query = query,
                    .multiplier = a->multiplier,
                    .epsilon = a->schedule.epsilon - price_slack(a->s.study).select,
                    .sigma = a->schedule.sigma,
                    .estimate = estimate,
                    .estimates = 8};
    estimate[2] = estimate[0]; /* b is just as far off, in a cell that the row is not in */
    return ask(s, &r, NULL, &o->index, o->selected);
}

/* How far every marginal is from nothing: the row moves each of these by one. */
static enum err open_scores(struct audit_seat *s, struct outcome *o)
{
    uint32_t query[CANDIDATES] = {0, 1, 2};
    uint64_t estimate[8] = {0};
    struct ask r = {.kind = ASK_SCORES,
                    .queries = CANDIDATES,
                    .query = query,
                    .multiplier = s->a->multiplier,
                    .estimate = estimate,
                    .estimates = 8};
    return ask(s, &r, NULL, NULL, o->selected);
}

/* One form of the two columns. */
static enum err open_form(struct audit_seat *s, struct outcome *o)
{
    int64_t factor[8] = {0}; /* and groups */
    struct ask r = {
        .kind = ASK_FORMS, .weight = factor, .weights = 8, .multiplier = 1 << AIM_GAUSS_BITS};
    memcpy(factor, s->a->factor, sizeof s->a->factor);
    return ask(s, &r, NULL, NULL, o->selected);
}

static enum err run_all(struct party *p, void *shared)
{
    struct audit_seat s = {.a = shared};
    enum err e = engine_of(s.a, p, &s.engine);
    for (size_t i = 0; e == ERR_OK && i < s.a->runs; i++) {
        struct outcome o = {.index = 0};
        e = measure_one_ways(&s, &o);
        if (e == ERR_OK)
            e = s.a->shift > 0             ? open_form(&s, &o)
                : s.a->s.study->sweeps > 0 ? open_scores(&s, &o)
                                           : select_one(&s, &o);
        if (p->index == 0)
            s.a->outcome[i] = o;
    }
    share64_free(&s.kept);
    three_free(&s.engine);
    return e;
}

/* --- what outcomes tell ----------------------------------------------------------------------- */

/* The largest or smallest p for which k of n would still come with probability 1e-6 (Chernoff). */
static double bound(double k, double n, bool upper)
{
    double q = k / n, low = upper ? q : 0, high = upper ? 1 : q;
    for (int i = 0; i < 60; i++) {
        double p = (low + high) / 2;
        double kl = (q > 0 ? q * log(q / p) : 0) + (q < 1 ? (1 - q) * log((1 - q) / (1 - p)) : 0);
        bool inside = n * kl < log(1e6);
        if (inside == upper)
            low = p;
        else
            high = p;
    }
    return upper ? high : low;
}

/* The loss that an event shows, whichever table it favours. */
static double loss_of(double in_first, double in_second, double n)
{
    double loss = 0;
    for (int way = 0; way < 2; way++) {
        double likely = bound(way == 0 ? in_first : in_second, n, false);
        double unlikely = bound(way == 0 ? in_second : in_first, n, true);
        if (likely > DELTA)
            loss = fmax(loss, log((likely - DELTA) / unlikely));
    }
    return loss;
}

/*
 * How much more likely an outcome is with the row, up to a constant and a factor: everything
 * measured, over its squared noise.
 */
static double likelihood(const struct audit_running *a, const struct outcome *o)
{
    static const size_t with_row[CANDIDATES] = {0, 1, 1}; /* a = 0, b = 1, (a, b) = (0, 1) */
    const double ratio = (double)a->alone / (double)a->multiplier;
    const double later = a->s.study->sweeps > 0 ? o->selected[0] + o->selected[1] + o->selected[2]
                                                : o->selected[with_row[o->index]];
    return (o->a[0] + o->b[1]) * ratio * ratio + later;
}

/*
 * The same for a copula, up to a factor: each by how far the row moves it, over its squared noise.
 */
static double likelihood_of_form(const struct audit_running *a, const struct outcome *o)
{
    const double sigma = measure_sigma(a->alone, NOISE_BY_ALL);
    return o->a[0] + o->b[1] + o->selected[0] * a->shift * sigma * sigma;
}

/* Where noise was used twice, this part has none. */
static double statistic(const struct audit_running *a, size_t s, const struct outcome *o)
{
    if (s == 0)
        return a->shift > 0 ? likelihood_of_form(a, o) : likelihood(a, o);
    return s == 1 ? o->a[0] - o->b[0] : o->index == 0;
}

static double shown_loss(const struct audit_running *a)
{
    double loss = 0;
    for (size_t s = 0; s < 3; s++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t t = 0; t < 2; t++)
            for (size_t i = 0; i < a->runs; i++) {
                low = fmin(low, statistic(a, s, &a->both[t][i]));
                high = fmax(high, statistic(a, s, &a->both[t][i]));
            }
        for (int k = 1; k < THRESHOLDS; k++) {
            const double threshold = low + (high - low) * k / THRESHOLDS;
            double above[2] = {0};
            for (size_t t = 0; t < 2; t++)
                for (size_t i = 0; i < a->runs; i++)
                    above[t] += statistic(a, s, &a->both[t][i]) > threshold;
            loss = fmax(loss, loss_of(above[0], above[1], (double)a->runs));
            loss = fmax(loss, loss_of((double)a->runs - above[0], (double)a->runs - above[1],
                                      (double)a->runs));
        }
    }
    return loss;
}

/* --- audits ----------------------------------------------------------------------------------- */

static enum err count_rows(struct audit_running *a, bool with_row)
{
    struct table *t CLEAN(table_free) = NULL;
    TRY(table_new(&t, a->s.study->domain, 0));
    for (unsigned i = 0; i < 9; i++)
        TRY(table_append(t, (const uint16_t[]){(uint16_t)(i % 2), (uint16_t)(i / 2 % 2)}));
    if (with_row)
        TRY(table_append(t, (const uint16_t[]){0, 1}));
    return tabulate_closure(t, a->s.study->workload, a->counts);
}

/* An owner's table: one row of its own, and with the person five of theirs; all (0, 1). */
static enum err rows_of(const struct audit_running *a, unsigned owner, bool with_person,
                        struct table **t)
{
    size_t surplus;
    TRY(table_new(t, a->s.study->domain, 0));
    TRY(table_keep_keys(*t));
    for (unsigned i = 0; i <= (with_person ? ROWS_EACH : 0); i++) {
        const uint16_t own[] = {(uint16_t)(owner % 2), (uint16_t)(owner / 2 % 2)};
        TRY(table_append(*t, i == 0 ? own : (const uint16_t[]){0, 1}));
        (*t)->key[i] = i == 0 ? 1000 + 7 * owner : 1030;
    }
    return table_sort(*t, 1, &surplus);
}

static enum err share_rows(struct audit_running *a, bool with_person)
{
    const uint8_t secret[UPLOAD_SECRET_SIZE] = {1};
    for (unsigned o = 0; o < OWNERS; o++) {
        struct table *t CLEAN(table_free) = NULL;
        struct identity *me CLEAN(identity_free) = NULL;
        struct bytes packed CLEAN(bytes_clear) = {0};
        TRY(rows_of(a, o, with_person, &t));
        TRY(identity_load(&me, support_path(&a->s, "o%u.key", o), NULL));
        TRY(pack_table(a->s.study, o, UPLOAD_RECORDS, t, &packed));
        TRY(upload_make(a->parts[o], &three_split, me, o, secret, a->s.study, UPLOAD_RECORDS,
                        &packed));
    }
    return ERR_OK;
}

static void forget_uploads(struct audit_running *a)
{
    for (unsigned o = 0; o < OWNERS; o++)
        for (unsigned i = 0; i < 3; i++)
            upload_clear(&a->parts[o][i]);
}

/* A run's price under the ledger's own rules, and the multipliers that its budget gives. */
static void price(struct audit_running *a, struct log *log)
{
    const bool sweeps = a->s.study->sweeps > 0;
    struct ledger_limits limits;
    mpq_t cost, one;
    mpq_inits(cost, one, NULL);
    OK(price_limits(a->s.study, &limits, log));
    OK(price_schedule(a->s.study, &a->schedule));
    OK(measure_multiplier(a->schedule.alone, &a->alone, log));
    if (sweeps) /* all the rest for one request of scores */
        a->schedule.sigma = sqrt(CANDIDATES / (2 * 0.84 * limits.rho));
    OK(measure_multiplier(a->schedule.sigma, &a->multiplier, log));
    ledger_measure_cost(cost, a->alone, 2);
    ledger_measure_cost(one, a->multiplier, sweeps ? CANDIDATES : 1);
    mpq_add(cost, cost, one);
    mpq_set_ui(one, 0, 1);
    if (!sweeps)
        OK(ledger_select_cost(one, a->s.study->accounting,
                              a->schedule.epsilon - price_slack(a->s.study).select,
                              price_slack(a->s.study).select, a->multiplier));
    mpq_add(cost, cost, one);
    a->rho = mpq_get_d(cost);
    assert_true(a->rho <= limits.rho && a->rho > 0.9 * limits.rho);
    mpq_clears(cost, one, NULL);
}

/*
 * One row can have the largest factor of either column. The cost of its form is not computed here:
 * the engine gives it.
 */
static void plan_form(struct audit_running *a, struct log *log)
{
    struct ledger_limits limits;
    OK(price_limits(a->s.study, &limits, log));
    OK(measure_multiplier(ledger_deviation(2, limits.rho / 2), &a->alone, log));
    double most = floor(sqrt(0x1p20 * sqrt(limits.rho)));
    a->factor[0] = (int64_t)most; /* a = 0 */
    a->factor[1] = -(int64_t)most / 3;
    a->factor[2] = -(int64_t)most / 2;
    a->factor[3] = (int64_t)most; /* b = 1 */
    a->shift = most * most * 0x1p-20;
}

static size_t runs(void)
{
    const char *wanted = getenv("TREFOIL_LONG");
    return wanted != NULL && strcmp(wanted, "1") == 0 ? 30000 : 3000;
}

/* The smallest epsilon that rho gives at DELTA. */
static double epsilon_of(enum ledger_accounting accounting, double rho)
{
    double low = 0, high = 100;
    while (high - low > 1e-6) {
        double middle = (low + high) / 2;
        if (budget_rho(accounting, middle, DELTA) >= rho)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The deviation of opened scores, over that of what was charged. */
static double noise_of_scores(const struct audit_running *a)
{
    double sum = 0;
    for (size_t t = 0; t < 2; t++)
        for (size_t k = 0; k < CANDIDATES; k++) {
            double mean = 0, square = 0;
            for (size_t i = 0; i < a->runs; i++) {
                mean += a->both[t][i].selected[k] / (double)a->runs;
                square += pow(a->both[t][i].selected[k], 2) / (double)a->runs;
            }
            sum += (square - mean * mean) / (2 * CANDIDATES);
        }
    return sqrt(sum) / a->schedule.sigma;
}

/* The loss shown, divided by the promise at the same delta. */
static double audit_of(const struct study_options *o, enum flaw flaw)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    struct audit_running *a CLEAN(memory_release) = memory_array(1, sizeof *a);
    a->flaw = flaw;
    a->runs = flaw == NONE || flaw == HALF_NOISE ? runs()
                                                 : runs() / 2; /* the others show clearly */
    a->s = support_study_of(o, &log);
    OK(bounds_new(&a->bounds, a->s.study, &log));
    a->counts = memory_array(a->s.study->workload->cells, sizeof *a->counts);
    if (o->copula != NULL)
        plan_form(a, &log);
    else
        price(a, &log);
    for (unsigned t = 0; t < 2; t++) {
        a->outcome = a->both[t] = memory_array(a->runs, sizeof *a->outcome);
        OK(o->owners == OWNERS ? share_rows(a, t == 1) : count_rows(a, t == 1));
        OK(three_run(40 + t, run_all, a, NULL));
        forget_uploads(a);
    }
    if (o->copula != NULL)
        a->rho = a->charged / (2 * (double)a->runs);
    assert_true(fabs(a->charged / (2 * (double)a->runs) / a->rho - 1) < 1e-9);
    double promise = epsilon_of(a->s.study->accounting, a->rho) +
                     3 * price_slack(a->s.study).marginal;
    double loss = shown_loss(a);
    if (o->sweeps > 0 && noise_of_scores(a) < 0.96) /* five deviations of 9,000 scores below 1 */
        loss = INFINITY;
    print_message("# promised: epsilon %.2f at delta %g; shown: %.2f\n", promise, DELTA, loss);
    memory_free_all(&a->both[0], &a->both[1], &a->counts);
    bounds_free(&a->bounds);
    support_study_free(&a->s);
    return loss / promise;
}

static double audit(const char *score, const char *noise, enum ledger_accounting accounting,
                    enum flaw flaw)
{
    return audit_of(OPTIONS(.owners = 1, .rounds = 1, .epsilon = 6, .accounting = accounting,
                            .domain = domain, .more = score, .noise = noise),
                    flaw);
}

static double audit_copula(const char *noise, enum flaw flaw)
{
    return audit_of(OPTIONS(.owners = 1, .copula = "method: copula\n", .epsilon = 6,
                            .accounting = ACCOUNTING_GAUSSIAN, .domain = domain, .noise = noise),
                    flaw);
}

static double audit_scores(const char *noise, enum flaw flaw)
{
    return audit_of(OPTIONS(.owners = 1, .sweeps = 1, .epsilon = 6,
                            .accounting = ACCOUNTING_GAUSSIAN, .domain = domain, .noise = noise),
                    flaw);
}

TEST(the_promise_is_kept_by_scores)
{
    for (size_t k = 0; k < NOISE_KINDS; k++) {
        assert_non_null(noise_words[k]);
        double share = audit_scores(noise_words[k], NONE);
        assert_true(share <= 1);
        assert_true(share > 0.35);
    }
}

/* As if only some of them were charged. */
TEST(scores_with_half_the_noise_break_it)
{
    assert_true(audit_scores("box-muller", HALF_NOISE) > 1);
}

/* A price that is a tenth too small shows no loss in so few runs, but in the noise itself. */
TEST(scores_with_a_tenth_less_noise_break_it)
{
    for (size_t k = 0; k < NOISE_KINDS; k++)
        assert_true(audit_scores(noise_words[k], TENTH_LESS_NOISE) > 1);
}

/* And some loss is shown, as it must be when the whole budget is spent. */
TEST(the_promise_is_kept)
{
    static const struct {
        const char *score, *noise;
        enum ledger_accounting accounting;
    } of[] = {{"score: l1\n", "box-muller", ACCOUNTING_GAUSSIAN},
              {"score: l2\n", "box-muller", ACCOUNTING_ZCDP},
              {"score: l2\n", "discrete", ACCOUNTING_GAUSSIAN}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        const double share = audit(of[k].score, of[k].noise, of[k].accounting, NONE);
        assert_true(share <= 1);
        assert_true(share > 0.35);
    }
}

TEST(half_the_noise_breaks_it)
{
    assert_true(audit("score: l2\n", "box-muller", ACCOUNTING_GAUSSIAN, HALF_NOISE) > 1);
}

TEST(noise_used_twice_breaks_it)
{
    assert_true(audit("score: l2\n", "box-muller", ACCOUNTING_GAUSSIAN, USED_TWICE) > 1);
}

TEST(estimates_above_their_bound_break_it)
{
    assert_true(audit("score: l2\n", "box-muller", ACCOUNTING_ZCDP, UNCLAMPED) > 1);
}

static double audit_person(enum flaw flaw)
{
    static const char rows[] = "    max_rows: 7\n    as: records\n";
    static const char *const part[OWNERS] = {rows, rows, rows, rows, rows,
                                             rows, rows, rows, rows, rows};
    return audit_of(OPTIONS(.owners = OWNERS, .rounds = 1, .epsilon = 6,
                            .accounting = ACCOUNTING_GAUSSIAN, .domain = domain,
                            .more = "score: l2\n", .enforce = flaw == UNBOUNDED ? 0 : 1,
                            .part = part),
                    flaw);
}

/* Of 50 rows at 10 owners, one counts. */
TEST(the_promise_to_a_person_is_kept)
{
    const double share = audit_person(NONE);
    assert_true(share <= 1);
    assert_true(share > 0.35);
}

TEST(a_person_whose_rows_are_not_bounded_breaks_it)
{
    assert_true(audit_person(UNBOUNDED) > 1);
}

TEST(the_promise_of_a_copula_is_kept)
{
    static const char *const noise[] = {"box-muller", "discrete"};
    for (size_t k = 0; k < 2; k++) {
        const double share = audit_copula(noise[k], NONE);
        assert_true(share <= 1);
        assert_true(share > 0.5);
    }
}

/* A sensitivity that is too small by as much would do the same. */
TEST(larger_factors_than_were_charged_break_it)
{
    assert_true(audit_copula("box-muller", HALF_NOISE) > 1);
}
