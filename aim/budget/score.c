#include "aim/budget/score.h"

#include "base/memory.h"

#include <gmp.h>
#include <math.h>

typedef unsigned __int128 u128;

uint64_t score_total(const struct score_bounds *b, uint32_t query)
{
    return b->total != NULL ? b->total[query] : UINT64_C(1) << b->bits;
}

/* Nothing wraps: a cell counts no more than its marginal, whose total is bounded. */
enum err score_merged(struct score_bounds *merged, const struct score_bounds *b,
                      const struct workload *w, const struct merges *m)
{
    uint32_t *largest CLEAN(memory_release) = NULL;
    *merged = *b;
    if (m == NULL)
        return ERR_OK;
    TRY(memory_new(&largest, m->attributes));
    for (size_t i = 0; i < m->attributes; i++)
        largest[i] = merges_largest(m, i);
    for (size_t q = 0; q < w->queries; q++) {
        const struct workload_query *query = &w->query[q];
        uint64_t most = w->query[query->parent].cells / query->cells * b->counts;
        for (unsigned i = 0; i < query->clique.n; i++)
            most *= largest[query->clique.attribute[i]];
        for (most += b->rows; most >> merged->bits != 0;)
            merged->bits++;
    }
    return ERR_OK;
}

/* False if z, which is not negative, needs more than 64 bits. */
static bool get_u64(mpz_srcptr z, uint64_t *v)
{
    *v = 0;
    if (mpz_sizeinbase(z, 2) > 64)
        return false;
    mpz_export(v, NULL, -1, sizeof *v, 0, 0, z);
    return true;
}

/* floor of a fraction that is not negative */
static bool floor_u64(mpq_srcptr q, uint64_t *v)
{
    mpz_t z;
    bool fits;
    mpz_init(z);
    mpz_fdiv_q(z, mpq_numref(q), mpq_denref(q));
    fits = get_u64(z, v);
    mpz_clear(z);
    return fits;
}

uint64_t scores_most(const struct score_bounds *b, uint32_t query)
{
    const uint64_t room = (UINT64_C(1) << 63) - SCORES_NOISE - 1;
    return room / (score_total(b, query) + (UINT64_C(2) << b->bits));
}

static double largest_weight(const struct score_terms *t)
{
    double most = 0;
    for (size_t i = 0; i < t->candidates; i++)
        most = fmax(most, t->workload->query[t->query[i]].weight);
    return most;
}

/* Fraction bits of a score: it is an integer on the grid 2^-this. */
static unsigned score_bits(enum aim_score score)
{
    switch (score) {
    case AIM_L1:
        return AIM_ESTIMATE_BITS;
    case AIM_L2:
        return 0;
    }
    return 0;
}

/* A row changes a score by at most 2^this. */
static unsigned change_bits(const struct score_terms *t)
{
    switch (t->score) {
    case AIM_L1:
        return 0;
    case AIM_L2:
        return t->bounds.bits + 1;
    }
    return 0;
}

/* The amount that noise alone is expected to add to a score for each cell. */
static void expected_score(mpq_ptr q, enum aim_score score, mpq_srcptr sigma)
{
    switch (score) {
    case AIM_L1: /* sqrt(2/pi) sigma, the constant to 128 bits */
        mpz_set_str(mpq_numref(q), "cc42299ea1b284687e59e2805d5c7180", 16);
        mpq_div_2exp(q, q, 128);
        mpq_mul(q, q, sigma);
        break;
    case AIM_L2:
        mpq_mul(q, sigma, sigma);
        break;
    }
    mpq_mul_2exp(q, q, score_bits(score));
}

static bool penalty_of(const struct score_terms *t, uint64_t cells, uint64_t *penalty)
{
    mpq_t q, s;
    bool fits;
    mpq_inits(q, s, (mpq_ptr)NULL);
    mpq_set_d(s, t->sigma);
    expected_score(q, t->score, s);
    mpz_import(mpq_numref(s), 1, -1, sizeof cells, 0, 0, &cells);
    mpz_set_ui(mpq_denref(s), 1);
    mpq_mul(q, q, s);
    mpq_set_ui(s, 1, 2);
    mpq_add(q, q, s);
    fits = floor_u64(q, penalty) && *penalty < SCORE_TOTAL_MAX;
    mpq_clears(q, s, (mpq_ptr)NULL);
    return fits;
}

/* floor(2^SCORE_SHIFT_MAX eps w / (2 Delta)), with Delta on the score's grid */
static bool multiplier_of(const struct score_terms *t, double weight, double most,
                          uint64_t *multiplier)
{
    mpq_t q, s;
    bool fits;
    mpq_inits(q, s, (mpq_ptr)NULL);
    mpq_set_d(q, t->epsilon);
    mpq_set_d(s, weight);
    mpq_mul(q, q, s);
    mpq_set_d(s, most);
    mpq_div(q, q, s);
    mpq_mul_2exp(q, q, SCORE_SHIFT_MAX);
    mpq_div_2exp(q, q, score_bits(t->score) + change_bits(t) + 1);
    fits = floor_u64(q, multiplier) && *multiplier < UINT64_C(1) << 60;
    mpq_clears(q, s, (mpq_ptr)NULL);
    return fits;
}

/* The largest score of a marginal. */
static u128 range_of(const struct score_terms *t, uint32_t query)
{
    u128 l1 = (u128)score_total(&t->bounds, query) + (UINT64_C(2) << t->bounds.bits);
    switch (t->score) {
    case AIM_L1:
        return l1 << AIM_ESTIMATE_BITS;
    case AIM_L2:
        return (l1 + merges_query_cells(t->merges, &t->workload->query[query])) << t->bounds.bits;
    }
    return 0;
}

/* No Gumbel of the lattice is larger; where two are added, no sum of them. */
static unsigned gumbel_most(const struct score_terms *t)
{
    switch (t->bounds.noise_by) {
    case NOISE_BY_ALL:
    case NOISE_BY_OWNER:
        return 96;
    case NOISE_BY_BOTH:
    case NOISE_BY_JOINT: /* of Gaussians alone */
        return 192;
    }
    return 96;
}

/*
 * 1 + ceil(log2(max_q(...) + 2^f gumbel_most())), with the multipliers of f = 40 shifted down to f.
 */
static unsigned width_of(const struct score_terms *t, const uint64_t *top, const uint64_t *penalty,
                         unsigned shift)
{
    u128 most = 0;
    unsigned width = 1;
    for (size_t i = 0; i < t->candidates; i++) {
        u128 scale = top[i] >> (SCORE_SHIFT_MAX - shift), range = range_of(t, t->query[i]);
        u128 value = range >> 64 != 0 ? (u128)1 << 127 : scale * (range + penalty[i]);
        most = value > most ? value : most;
    }
    most += (u128)gumbel_most(t) << shift;
    while (width < 128 && ((u128)1 << (width - 1)) < most)
        width++;
    return width;
}

/* The least f at which all multipliers are fine, or a number above 40; `top` has those of 40. */
static unsigned finest_needed(const struct score_terms *t, const uint64_t *top)
{
    uint64_t least = UINT64_MAX;
    unsigned shift = SCORE_SHIFT_MIN;
    for (size_t i = 0; i < t->candidates; i++)
        least = top[i] < least ? top[i] : least;
    while (shift <= SCORE_SHIFT_MAX && least >> (SCORE_SHIFT_MAX - shift) < SCORE_MULTIPLIER_FINE)
        shift++;
    return shift;
}

/* f and w as the header says; f is below SCORE_SHIFT_MIN if nothing fits. */
static void choose_shift(const struct score_terms *t, const uint64_t *top, const uint64_t *penalty,
                         struct score_plan *plan)
{
    plan->shift = finest_needed(t, top);
    if (plan->shift <= SCORE_SHIFT_MAX) {
        plan->width = width_of(t, top, penalty, plan->shift);
        if (plan->width <= SCORE_WIDTH_MAX)
            return;
    }
    for (plan->shift = SCORE_SHIFT_MAX; plan->shift >= SCORE_SHIFT_MIN; plan->shift--) {
        plan->width = width_of(t, top, penalty, plan->shift);
        if (plan->width <= SCORE_WIDTH_MAX)
            return;
    }
}

static enum err check_terms(const struct score_terms *t, struct log *log)
{
    bool bounded = t->bounds.bits >= 1 && t->bounds.bits <= SCORE_BITS_MAX;
    for (size_t i = 0; i < t->candidates; i++)
        if (t->query[i] >= t->workload->queries) {
            return log_fail(log, ERR_REFUSED,
                            "select: candidate %zu is not a marginal of the workload's closure", i);
        } else if (bounded && score_total(&t->bounds, t->query[i]) > SCORE_TOTAL_MAX) {
            bounded = false;
        }
    if (t->candidates == 0)
        return log_fail(log, ERR_RANGE, "select: there is no candidate; allow a larger model");
    if (!bounded)
        return log_fail(log, ERR_RANGE,
                        "select: counts of up to 2^%u are more than this program handles (2^%d)",
                        t->bounds.bits, SCORE_BITS_MAX);
    if (!isfinite(t->epsilon) || t->epsilon <= 0 || t->epsilon > 0x1p20 || !isfinite(t->sigma) ||
        t->sigma <= 0)
        return log_fail(log, ERR_RANGE,
                        "select: epsilon %g or sigma %g of the round is out of range", t->epsilon,
                        t->sigma);
    return ERR_OK;
}

static enum err too_small(const struct score_terms *t, size_t candidate, struct log *log)
{
    return log_fail(
        log, ERR_RANGE,
        "select: an epsilon of %g a round is too small to weigh %s with counts of up to 2^%u; "
        "raise epsilon, use fewer rounds, lower the bound on rows, or make weights more even",
        t->epsilon, clique_name(&t->workload->query[t->query[candidate]].clique, t->domain).text,
        t->bounds.bits);
}

enum err score_plan(const struct score_terms *t, uint64_t *multiplier, uint64_t *penalty,
                    struct score_plan *plan, struct log *log)
{
    *plan = (struct score_plan){0};
    double most;
    TRY(check_terms(t, log));
    most = largest_weight(t);
    plan->sensitivity = ldexp(most, (int)change_bits(t));
    for (size_t i = 0; i < t->candidates; i++) {
        const struct workload_query *q = &t->workload->query[t->query[i]];
        if (!multiplier_of(t, q->weight, most, &multiplier[i]) ||
            !penalty_of(t, merges_query_cells(t->merges, q), &penalty[i]))
            return log_fail(log, ERR_RANGE,
                            "select: epsilon %g or sigma %g of the round is out of range",
                            t->epsilon, t->sigma);
    }
    choose_shift(t, multiplier, penalty, plan);
    if (plan->shift < SCORE_SHIFT_MIN)
        return log_fail(
            log, ERR_RANGE,
            "select: scores need %u bits even at the coarsest grid; lower the bound on rows "
            "(2^%u) or the number of cells",
            plan->width, t->bounds.bits);
    for (size_t i = 0; i < t->candidates; i++) {
        multiplier[i] >>= SCORE_SHIFT_MAX - plan->shift; /* floors compose */
        if (multiplier[i] < SCORE_MULTIPLIER_MIN)
            return too_small(t, i, log);
    }
    return ERR_OK;
}

/*
 * The epsilon up to which every plan of some of the candidates, as select_room() says, has a width
 * that fits; 0 if this is not certain even at the terms' epsilon.
 */
static double epsilon_with_room(const struct score_terms *t, const uint64_t *penalty)
{
    const int grid = (int)(score_bits(t->score) + change_bits(t)) + 1;
    const double limit = 0x1.fffp61; /* 2^62 less the noise of any shift, and less rounding */
    double least = INFINITY, most = INFINITY;
    for (size_t i = 0; i < t->candidates; i++)
        least = fmin(least, t->workload->query[t->query[i]].weight);
    if (ldexp(t->epsilon, SCORE_SHIFT_MAX - grid) * least <
        SCORE_MULTIPLIER_MIN * largest_weight(t))
        return 0;
    for (size_t i = 0; i < t->candidates; i++) {
        const double weight = t->workload->query[t->query[i]].weight,
                     multiplier = limit / ((double)range_of(t, t->query[i]) + (double)penalty[i]);
        if (multiplier < 2 * SCORE_MULTIPLIER_MIN * weight / least)
            return 0;
        most = fmin(most, ldexp(multiplier, grid - SCORE_SHIFT_MIN));
    }
    return most >= t->epsilon ? most : 0;
}

enum err select_room(const struct score_terms *terms, double *most, unsigned *room, struct log *log)
{
    uint64_t *multiplier CLEAN(memory_release) = NULL, *penalty CLEAN(memory_release) = NULL;
    struct score_terms t = *terms;
    struct score_plan first;
    double fits;
    TRY(memory_new(&multiplier, t.candidates));
    TRY(memory_new(&penalty, t.candidates));
    TRY(score_plan(&t, multiplier, penalty, &first, log));
    t.bounds.bits = SCORE_BITS_MAX;
    while ((fits = epsilon_with_room(&t, penalty)) < *most && t.bounds.bits > terms->bounds.bits)
        t.bounds.bits--;
    if (fits == 0)
        return log_fail(log, ERR_RANGE,
                        "select: scores of counts of up to 2^%u could need more than %d bits; "
                        "lower the bound on rows or the number of cells, or make weights more even",
                        terms->bounds.bits, SCORE_WIDTH_MAX);
    *most = fmin(*most, fits);
    *room = t.bounds.bits;
    return ERR_OK;
}

enum err select_check_estimates(const struct score_terms *t, uint32_t query, uint64_t unit,
                                const uint64_t *estimate, struct log *log)
{
    const uint64_t one = unit << t->bounds.bits;
    uint64_t cells, sum = 0, cell = 0;
    if (query >= t->workload->queries)
        return log_fail(log, ERR_REFUSED,
                        "select: query %u is not a marginal of the workload's closure", query);
    cells = merges_query_cells(t->merges, &t->workload->query[query]);
    while (cell < cells && estimate[cell] <= one && sum <= 2 * one)
        sum += estimate[cell++];
    if (cell == cells && sum <= 2 * one)
        return ERR_OK;
    return log_fail(
        log, ERR_REFUSED,
        "select: the estimates of %s are out of bounds at cell %llu (each at most 2^%u, in "
        "sum at most 2^%u)",
        clique_name(&t->workload->query[query].clique, t->domain).text, (unsigned long long)cell,
        t->bounds.bits, t->bounds.bits + 1);
}

uint64_t score_distance(uint64_t unit, size_t cells, const int64_t *counts,
                        const uint64_t *estimate)
{
    uint64_t sum = 0;
    for (size_t j = 0; j < cells; j++) {
        uint64_t x = (uint64_t)counts[j] * unit;
        sum += x > estimate[j] ? x - estimate[j] : estimate[j] - x;
    }
    return sum;
}

static uint64_t sum_l2(size_t cells, const int64_t *counts, const uint64_t *estimate)
{
    const uint64_t half = UINT64_C(1) << (AIM_ESTIMATE_BITS - 1);
    uint64_t sum = 0;
    for (size_t j = 0; j < cells; j++) {
        uint64_t d = (uint64_t)counts[j] - ((estimate[j] + half) >> AIM_ESTIMATE_BITS);
        sum += d * d;
    }
    return sum;
}

uint64_t select_score(enum aim_score score, size_t cells, const int64_t *counts,
                      const uint64_t *estimate)
{
    switch (score) {
    case AIM_L1:
        return score_distance(1 << AIM_ESTIMATE_BITS, cells, counts, estimate);
    case AIM_L2:
        return sum_l2(cells, counts, estimate);
    }
    return 0;
}
