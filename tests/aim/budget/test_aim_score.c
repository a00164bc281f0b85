/* aim/score: integers against wider arithmetic, and widths against the extremes. */
#include "harness/cmocka.h"
#include "tests/support/domain.h"

#include "aim/budget/score.h"

TEST(multipliers_are_floors)
{
    uint64_t m;
    OK(measure_multiplier(20.889, &m, NULL));
    assert_int_equal(m, 50197);
    OK(measure_multiplier(4096, &m, NULL));
    assert_int_equal(m, 256);
    assert_int_equal(measure_multiplier(nextafter(4096, 5000), &m, NULL), ERR_RANGE);
    OK(measure_multiplier(0x1p-10, &m, NULL));
    assert_int_equal(m, 1 << 30);
    assert_int_equal(measure_multiplier(0, &m, NULL), ERR_RANGE);
    assert_int_equal(measure_multiplier(NAN, &m, NULL), ERR_RANGE);
    assert_int_equal(measure_multiplier(-1, &m, NULL), ERR_RANGE);
    /* 2^20 / sigma rounds up to a whole number in doubles, but is less */
    for (uint64_t whole = 300; whole < 100000; whole += 77) {
        double sigma = nextafter(1048576.0 / (double)whole, INFINITY);
        OK(measure_multiplier(sigma, &m, NULL));
        assert_true((long double)sigma * (long double)m <= 1048576.0L);
        assert_true((long double)sigma * (long double)(m + 1) > 1048576.0L);
        assert_true(measure_sigma(m, NOISE_BY_ALL) >= sigma);
    }
}

static double largest_weight(const struct score_terms *t)
{
    double most = 0;
    for (size_t i = 0; i < t->candidates; i++)
        most = fmax(most, t->workload->query[t->query[i]].weight);
    return most;
}

/* No sum of one Gumbel, or of those of two servers, is larger. */
static __int128 noise_of(const struct score_terms *t)
{
    return t->bounds.noise_by == NOISE_BY_BOTH || t->bounds.noise_by == NOISE_BY_JOINT ? 2 * 96
                                                                                       : 96;
}

static __int128 largest_l1(const struct score_terms *t, uint32_t query)
{
    return (__int128)score_total(&t->bounds, query) + ((__int128)2 << t->bounds.bits);
}

/* Whether f is the largest possible: with the next one the scores would need too many bits. */
static bool finer_would_not_fit(const struct score_terms *t, const struct score_plan *plan,
                                const uint64_t *m, const uint64_t *p)
{
    __int128 bound = 0;
    for (size_t i = 0; i < t->candidates; i++) {
        __int128 v = 2 * (__int128)m[i] * (1024 * largest_l1(t, t->query[i]) + p[i]);
        bound = v > bound ? v : bound;
    }
    for (size_t i = 0; i < t->candidates; i++) /* m may be one more at the finer grid */
        bound += 1024 * largest_l1(t, t->query[i]) + p[i];
    return bound + (2 * noise_of(t) << plan->shift) > (__int128)1 << 62;
}

static uint64_t least_of(const uint64_t *m, size_t n)
{
    uint64_t least = m[0];
    for (size_t i = 1; i < n; i++)
        least = m[i] < least ? m[i] : least;
    return least;
}

TEST(plans_cover_their_extremes)
{
    static const uint32_t size[] = {2, 7, 32, 100};
    struct domain *d CLEAN(domain_free) = support_domain(size, 4);
    struct random r = random_of(11);
    unsigned planned = 0, narrow = 0, wide = 0;
    struct workload *w CLEAN(workload_free) = MADE(workload, workload_all, d, 3, NULL);
    for (int run = 0; run < 2000; run++) {
        uint32_t query[14];
        uint64_t m[14], p[14], total[14];
        struct score_plan plan;
        struct score_terms t = {.domain = d, .workload = w, .query = query, .candidates = 0};
        __int128 most = 0, least = 0, room;
        t.bounds.bits = 4 + (unsigned)random_below(&r, 33);
        t.bounds.total = random_u64(&r) & 1 ? total : NULL;
        t.bounds.noise_by = (enum noise_by)random_below(&r, 4);
        t.epsilon = exp(-8 + 10 * random_double(&r));
        t.sigma = exp(10 * random_double(&r));
        for (uint32_t q = 0; q < w->queries; q++) {
            total[q] = random_below(&r, w->query[q].cells << t.bounds.bits) % SCORE_TOTAL_MAX;
            if (random_u64(&r) & 1)
                query[t.candidates++] = q;
        }
        if (score_plan(&t, m, p, &plan, NULL) != ERR_OK)
            continue;
        planned++;
        assert_true(plan.sensitivity == largest_weight(&t));
        assert_in_range(plan.shift, SCORE_SHIFT_MIN, SCORE_SHIFT_MAX);
        assert_true(plan.width <= SCORE_WIDTH_MAX);
        for (size_t i = 0; i < t.candidates; i++) {
            const struct workload_query *q = &w->query[query[i]];
            __int128 l1 = largest_l1(&t, query[i]);
            __int128 noise = noise_of(&t) << plan.shift;
            __int128 high = (__int128)m[i] * (1024 * l1 - (__int128)p[i]) + noise;
            __int128 low = -(__int128)m[i] * p[i] - noise;
            long double exact = ldexpl((long double)t.epsilon * (long double)q->weight /
                                           (2 * (long double)plan.sensitivity),
                                       (int)plan.shift - 10);
            long double pen = 0.79788456080286535588L * t.sigma * (long double)q->cells * 1024;
            most = high > most ? high : most;
            least = low < least ? low : least;
            assert_true(m[i] >= 256 && fabsl((long double)m[i] + 0.5L - exact) <= 0.5001L);
            assert_true(fabsl((long double)p[i] - pen) <= 0.5001L);
        }
        room = (__int128)1 << (plan.width - 1);
        assert_true(most < room && least >= -room);
        assert_true(most - least < (__int128)1 << 63); /* a difference fits a word */
        if (least_of(m, t.candidates) >= SCORE_MULTIPLIER_FINE) {
            assert_true(plan.shift == SCORE_SHIFT_MIN ||
                        least_of(m, t.candidates) / 2 < SCORE_MULTIPLIER_FINE);
            narrow++;
        } else if (plan.shift < SCORE_SHIFT_MAX) {
            assert_true(finer_would_not_fit(&t, &plan, m, p));
            wide++;
        }
    }
    assert_true(planned > 500 && narrow > 100 && wide > 20);
}

/* The same for squares: what the ring, the width and the multipliers must hold. */
TEST(plans_of_squares_cover_their_extremes)
{
    static const uint32_t size[] = {2, 7, 32, 100};
    struct domain *d CLEAN(domain_free) = support_domain(size, 4);
    struct random r = random_of(12);
    unsigned planned = 0;
    struct workload *w CLEAN(workload_free) = MADE(workload, workload_all, d, 3, NULL);
    for (int run = 0; run < 2000; run++) {
        uint32_t query[14];
        uint64_t m[14], p[14];
        struct score_plan plan;
        struct score_terms t = {.domain = d, .workload = w, .query = query, .score = AIM_L2};
        __int128 most = 0, least = 0;
        t.bounds.bits = 4 + (unsigned)random_below(&r, 33);
        t.bounds.noise_by = (enum noise_by)random_below(&r, 4);
        t.epsilon = exp(-4 + 6 * random_double(&r));
        t.sigma = exp(7 * random_double(&r));
        for (uint32_t q = 0; q < w->queries; q++)
            if (random_u64(&r) & 1)
                query[t.candidates++] = q;
        if (score_plan(&t, m, p, &plan, NULL) != ERR_OK)
            continue;
        planned++;
        assert_true(plan.sensitivity == ldexp(largest_weight(&t), (int)t.bounds.bits + 1));
        for (size_t i = 0; i < t.candidates; i++) {
            const struct workload_query *q = &w->query[query[i]];
            /*
             * cells of at most 2^l, sums of x at most 2^l, of rounded estimates 2^(l+1), and half a
             * unit a cell
             */
            const __int128 each = (__int128)1 << t.bounds.bits;
            const __int128 score = each * (3 * each + (__int128)q->cells);
            const __int128 noise = noise_of(&t) << plan.shift;
            const long double exact = ldexpl((long double)t.epsilon * (long double)q->weight /
                                                 (2 * (long double)plan.sensitivity),
                                             (int)plan.shift);
            const long double penalty = (long double)t.sigma * t.sigma * (long double)q->cells;
            const __int128 high = (__int128)m[i] * score + noise;
            const __int128 low = -(__int128)m[i] * p[i] - noise;
            assert_true(score < (__int128)1 << 63);
            assert_true(m[i] >= 256 && fabsl((long double)m[i] + 0.5L - exact) <= 0.5001L);
            assert_true(fabsl((long double)p[i] - penalty) <= 0.5001L + penalty * 1e-15L);
            most = high > most ? high : most;
            least = low < least ? low : least;
        }
        assert_true(most < (__int128)1 << (plan.width - 1));
        assert_true(most - least < (__int128)1 << 63);
    }
    assert_true(planned > 200);
}

static double between(struct random *r, double low, double high)
{
    return low * pow(high / low, random_double(r));
}

/*
 * If a study has room, every selection of a run has a plan: with any candidates, at any epsilon
 * that is left, and with counts as large as merges may make them. Far beyond that there is none.
 */
TEST(every_selection_has_a_plan_where_there_is_room)
{
    static const uint32_t size[] = {2, 7, 32, 100};
    struct domain *d CLEAN(domain_free) = support_domain(size, 4);
    struct random r = random_of(13);
    unsigned roomy = 0, tight = 0, refused = 0, beyond = 0, less = 0;
    for (int run = 0; run < 600; run++) {
        static const struct clique given[] = {{2, {0, 1}}, {2, {1, 2}}, {2, {2, 3}}, {1, {3}}};
        const double weight[] = {1, between(&r, 0.1, 10), between(&r, 1, 5), 1};
        struct workload *w CLEAN(workload_free) = NULL;
        uint32_t query[8];
        uint64_t m[8], p[8], total[8];
        unsigned room;
        struct score_plan plan;
        struct score_terms t = {.domain = d, .query = query}, one;
        OK(workload_new(&w, d, given, weight, 4, NULL));
        assert_in_range(w->queries, 1, 8);
        t.workload = w;
        t.score = run % 3 == 2 ? AIM_L2 : AIM_L1;
        t.bounds = (struct score_bounds){.bits = 8 + (unsigned)random_below(&r, 32)};
        if (t.score == AIM_L1)
            t.bounds.total = total;
        t.epsilon = between(&r, 1e-3, 1);
        t.sigma = between(&r, 1, 4096);
        double most = between(&r, t.epsilon, 8);
        for (t.candidates = 0; t.candidates < w->queries; t.candidates++) {
            query[t.candidates] = (uint32_t)t.candidates;
            total[t.candidates] = random_below(&r, UINT64_C(1) << (10 + random_below(&r, 34)));
        }
        double asked = most;
        if (select_room(&t, &most, &room, NULL) != ERR_OK) {
            refused++;
            continue;
        }
        assert_in_range(room, t.bounds.bits, SCORE_BITS_MAX);
        assert_true(most == asked || (most >= t.epsilon && most < asked && room == t.bounds.bits));
        less += most < asked;
        *(room > t.bounds.bits ? &roomy : &tight) += 1;
        for (int k = 0; k < 30; k++) {
            one = t;
            one.candidates = 0;
            for (uint32_t q = 0; q < w->queries; q++)
                if (random_below(&r, 3) > 0 || (one.candidates == 0 && q + 1 == w->queries))
                    query[one.candidates++] = q;
            one.bounds.bits += (unsigned)random_below(&r, room - t.bounds.bits + 1);
            one.epsilon = k == 0 ? t.epsilon : k == 1 ? most : between(&r, t.epsilon, most);
            one.sigma = between(&r, 1e-3, t.sigma);
            OK(score_plan(&one, m, p, &plan, NULL));
        }
        if (room + 3 <= SCORE_BITS_MAX) { /* three more bits, and all candidates */
            one = t;
            for (one.candidates = 0; one.candidates < w->queries; one.candidates++)
                query[one.candidates] = (uint32_t)one.candidates;
            one.bounds.bits = room + 3;
            beyond += score_plan(&one, m, p, &plan, NULL) != ERR_OK;
            one.epsilon = most;
            beyond += score_plan(&one, m, p, &plan, NULL) != ERR_OK;
        }
    }
    assert_true(roomy > 100 && tight > 5 && refused > 50 && beyond > 50 && less > 5);
}

/*
 * With every count and estimate within the bound, a row changes a score by no more than the small
 * amount it is charged for.
 */
TEST(a_row_changes_a_score_by_no_more_than_its_sensitivity)
{
    enum { BITS = 4 };
    int64_t worst[2] = {0};
    for (int64_t x = 0; x + 1 < 1 << BITS; x++)
        for (uint64_t c = 0; c <= UINT64_C(1) << (BITS + AIM_ESTIMATE_BITS); c += 64) {
            const int64_t before[] = {x, 3}, after[] = {x + 1, 3};
            const uint64_t estimate[] = {c, 1000};
            int64_t l1 = (int64_t)(select_score(AIM_L1, 2, after, estimate) -
                                   select_score(AIM_L1, 2, before, estimate));
            for (uint64_t unit = 1; unit < 5000; unit = 7 * unit + 3) {
                const int64_t moved = (int64_t)(score_distance(unit, 2, after, estimate) -
                                                score_distance(unit, 2, before, estimate));
                assert_true(llabs(moved) <= (int64_t)unit);
            }
            int64_t l2 = (int64_t)(select_score(AIM_L2, 2, after, estimate) -
                                   select_score(AIM_L2, 2, before, estimate));
            worst[AIM_L1] = llabs(l1) > worst[AIM_L1] ? llabs(l1) : worst[AIM_L1];
            worst[AIM_L2] = llabs(l2) > worst[AIM_L2] ? llabs(l2) : worst[AIM_L2];
        }
    assert_int_equal(worst[AIM_L1], 1 << AIM_ESTIMATE_BITS);
    assert_int_equal(worst[AIM_L2], (1 << (BITS + 1)) - 1); /* charged as one more */
}

TEST(hopeless_plans_are_refused)
{
    static const uint32_t size[] = {2, 3};
    static const struct clique given[] = {{1, {0}}, {1, {1}}};
    static const double weight[] = {1, 1e-9};
    struct domain *d CLEAN(domain_free) = support_domain(size, 2);
    struct workload *w CLEAN(workload_free) = NULL;
    uint32_t query[] = {0, 1};
    uint64_t m[2], p[2];
    struct score_plan plan;
    LOG_INTO(log, sink, LOG_ERROR);
    OK(workload_new(&w, d, given, weight, 2, NULL));
    struct score_terms t = {.domain = d,
                            .workload = w,
                            .query = query,
                            .candidates = 2,
                            .epsilon = 0.05,
                            .sigma = 20,
                            .bounds = {.bits = 17}};
    GIVES(score_plan(&t, m, p, &plan, &log), ERR_RANGE, sink, "too small to weigh a1");
    t.candidates = 1;
    OK(score_plan(&t, m, p, &plan, NULL));
    assert_int_equal(plan.shift, 26); /* m = floor(2^16 x 0.05 / 2) = 1638 */
    t.bounds.bits = 41;
    assert_int_equal(score_plan(&t, m, p, &plan, NULL), ERR_RANGE);
    t.bounds.bits = 40;
    t.epsilon = 1e5;
    assert_int_equal(score_plan(&t, m, p, &plan, NULL), ERR_RANGE);
    t.epsilon = NAN;
    assert_int_equal(score_plan(&t, m, p, &plan, NULL), ERR_RANGE);
    t.epsilon = 1;
    query[0] = 2;
    assert_int_equal(score_plan(&t, m, p, &plan, NULL), ERR_REFUSED);
    t.candidates = 0;
    assert_int_equal(score_plan(&t, m, p, &plan, NULL), ERR_RANGE);
}

TEST(estimates_are_held_to_their_bounds)
{
    static const uint32_t size[] = {2, 2};
    struct domain *d CLEAN(domain_free) = support_domain(size, 2);
    struct score_terms t = {.domain = d, .bounds = {.bits = 5}};
    LOG_INTO(log, sink, LOG_ERROR);
    uint64_t c[4] = {32 << 10, 32 << 10, 0, 0};
    struct workload *w CLEAN(workload_free) = MADE(workload, workload_all, d, 2, NULL);
    t.workload = w;
    OK(select_check_estimates(&t, 2, 1 << AIM_ESTIMATE_BITS, c, &log));
    c[3] = 1;
    assert_int_equal(select_check_estimates(&t, 2, 1 << AIM_ESTIMATE_BITS, c, &log), ERR_REFUSED);
    support_says(sink, "a0 x a1");
    c[0] = (32 << 10) + 1;
    c[1] = 0;
    assert_int_equal(select_check_estimates(&t, 2, 1 << AIM_ESTIMATE_BITS, c, NULL), ERR_REFUSED);
    c[0] = UINT64_MAX;
    assert_int_equal(select_check_estimates(&t, 2, 1 << AIM_ESTIMATE_BITS, c, NULL), ERR_REFUSED);
    assert_int_equal(select_check_estimates(&t, 3, 1 << AIM_ESTIMATE_BITS, c, NULL), ERR_REFUSED);
}

/* The servers' formula in Z_2^64. */
static uint64_t shared_score(size_t n, const int64_t *x, const uint64_t *c)
{
    uint64_t sx = 0, sc = 0, ssx = 0, ssc = 0;
    for (size_t j = 0; j < n; j++) {
        uint64_t s = (uint64_t)x[j] < (c[j] + 1023) >> 10;
        sx += (uint64_t)x[j];
        sc += c[j];
        ssx += s * (uint64_t)x[j];
        ssc += s * c[j];
    }
    return 1024 * sx - sc - 2048 * ssx + 2 * ssc;
}

TEST(both_formulas_of_the_score_agree)
{
    struct random r = random_of(2);
    for (int run = 0; run < 5000; run++) {
        int64_t x[16];
        uint64_t c[16];
        for (int j = 0; j < 16; j++) {
            x[j] = (int64_t)random_below(&r, 1u << random_below(&r, 18));
            switch (random_below(&r, 3)) {
            case 0:
                c[j] = (uint64_t)x[j] << 10;
                break;
            case 1:
                c[j] = ((uint64_t)x[j] << 10) + random_below(&r, 3);
                break;
            default:
                c[j] = random_below(&r, UINT64_C(1) << random_below(&r, 28));
            }
        }
        assert_true(select_score(AIM_L1, 16, x, c) == shared_score(16, x, c));
    }
}
