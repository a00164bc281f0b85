/*
 * protocols/: exponential, Gaussian and Gumbel samples. The coins are reconstructed in the harness,
 * so that the circuits' error is checked against long double on every sample, and the distributions
 * by tests/support/statistics.h, on 2^18 samples of each kind with fixed seeds; TREFOIL_LONG=1
 * takes more than a million.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "protocols/discrete.h"
#include "protocols/exponential.h"
#include "protocols/gauss.h"
#include "protocols/gumbel.h"
#include "tests/support/statistics.h"

/* --- running ---------------------------------------------------------------------------------- */

struct noise_batch {
    size_t pairs;
    struct three_result low, high, u, z, rounded, gumbel;
};

static enum err make_gauss(struct party *p, void *shared)
{
    struct noise_batch *b = shared;
    struct gauss_coins coins;
    struct share128 z CLEAN(share128_free) = {0};
    struct share64 rounded CLEAN(share64_free) = {0};
    TRY(gauss_draw(p, &coins, b->pairs));
    struct planes low = planes_view(&coins.e, 0, 64);
    struct planes high = planes_view(&coins.e, 64, EXPONENTIAL_DIGITS - 64);
    three_put_planes(&b->low, p, &low);
    three_put_planes(&b->high, p, &high);
    three_put64(&b->u, p, coins.u);
    TRY(share128_new(&z, 2 * b->pairs));
    TRY(share64_new(&rounded, 2 * b->pairs));
    TRY(gauss_evaluate(p, z, &coins));
    three_put128(&b->z, p, z);
    TRY(gauss_round(p, rounded, z));
    three_put64(&b->rounded, p, rounded);
    return ERR_OK;
}

static enum err make_gumbel(struct party *p, void *shared)
{
    struct noise_batch *b = shared;
    struct planes e CLEAN(planes_free) = {0};
    struct share64 g CLEAN(share64_free) = {0};
    TRY(planes_new(&e, EXPONENTIAL_DIGITS, b->pairs));
    TRY(share64_new(&g, b->pairs));
    TRY(exponential_sample(p, &e));
    struct planes low = planes_view(&e, 0, 64);
    struct planes high = planes_view(&e, 64, EXPONENTIAL_DIGITS - 64);
    three_put_planes(&b->low, p, &low);
    three_put_planes(&b->high, p, &high);
    TRY(gumbel_evaluate(p, g, &e));
    three_put64(&b->gumbel, p, g);
    return ERR_OK;
}

static struct noise_batch batch_new(size_t pairs)
{
    struct noise_batch b = {0};
    b.pairs = pairs;
    OK(three_result_new(&b.low, pairs));
    OK(three_result_new(&b.high, pairs));
    OK(three_result_new(&b.u, pairs));
    OK(three_result_new(&b.z, 2 * pairs));
    OK(three_result_new(&b.rounded, 2 * pairs));
    OK(three_result_new(&b.gumbel, pairs));
    return b;
}

static void batch_free(struct noise_batch *b)
{
    struct three_result *all[] = {&b->low, &b->high, &b->u, &b->z, &b->rounded, &b->gumbel};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        three_result_free(all[i]);
}

/* Batches of PAIRS pairs: 2^18 Gaussians, or slightly more than a million. */
static size_t batches(void)
{
    const char *wanted = getenv("TREFOIL_LONG");
    return wanted != NULL && strcmp(wanted, "1") == 0 ? 8 : 2;
}

#define PAIRS ((size_t)65536)

/* a statistic within 5 of its standard deviations */
static void assert_close(double observed, double expected, double deviation)
{
    if (!(fabs(observed - expected) <= 5 * deviation))
        print_error("observed %g, expected %g +- %g\n", observed, expected, deviation);
    assert_true(fabs(observed - expected) <= 5 * deviation);
}

static void assert_passes(const char *what, struct statistics_verdict v)
{
    print_message("# %s: least p = %.2g (%s)\n", what, v.p, v.statistic);
    assert_true(v.p >= VERDICT_LEAST);
}

/* All samples of a test, in the order in which a tape would give them. */
struct samples {
    double *x;
    size_t n;
    double low_bits[256]; /* of the integers: every integer occurs, not a coarser lattice */
};

static struct samples samples_new(size_t n)
{
    struct samples s = {.x = memory_array(n, sizeof *s.x)};
    assert_non_null(s.x);
    return s;
}

static void add(struct samples *s, uint64_t integer, int bits)
{
    s->x[s->n++] = ldexp((double)(int64_t)integer, -bits);
    s->low_bits[integer & 255]++;
}

static void assert_distribution(const char *what, const struct statistics_distribution *d,
                                struct samples *s)
{
    struct statistics_verdict v = {.p = 1};
    double chi = 0, mean = (double)s->n / 256;
    statistics_shape(&v, d, s->x, s->n);
    statistics_pairs(&v, d, s->x, s->n);
    assert_passes(what, v);
    for (int k = 0; k < 256; k++)
        chi += (s->low_bits[k] - mean) * (s->low_bits[k] - mean) / mean;
    assert_close(chi, 255, sqrt(2 * 255));
    memory_free(&s->x);
}

/*
 * Compares the digits of all exponential variables with the coins' constants, and below them with
 * 1/2.
 */
struct noise_digits {
    double ones[EXPONENTIAL_DIGITS], n;
};

static void assert_digits(const struct noise_digits *e)
{
    double p[EXPONENTIAL_DIGITS];
    struct statistics_verdict v = {.p = 1};
    for (int k = 0; k < EXPONENTIAL_DIGITS; k++)
        p[k] = 1 / (1 + exp(ldexp(1, k - EXPONENTIAL_LOWEST)));
    statistics_digits(&v, e->ones, p, EXPONENTIAL_DIGITS, e->n);
    assert_passes("digits of exponential variables", v);
}

/* E from its digits; 64 of the 98 digits fit in a long double, the leading ones by construction */
static long double exponential_of(const struct noise_batch *b, size_t i, struct noise_digits *count)
{
    word128 digits = three_xor(&b->high, i) << 64 | three_xor(&b->low, i);
    for (unsigned k = 0; count != NULL && k < EXPONENTIAL_DIGITS; k++)
        count->ones[k] += (double)(digits >> k & 1);
    return ldexpl((long double)(uint64_t)(digits >> 64), 64 - EXPONENTIAL_LOWEST) +
           ldexpl((long double)(uint64_t)digits, -EXPONENTIAL_LOWEST);
}

/* --- chosen digits ---------------------------------------------------------------------------- */

/* Lane i is 1 in digit k where `digit` says so. */
static enum err choose_digits(struct party *p, struct noise_batch *b, struct planes *e,
                              bool (*digit)(size_t lane, unsigned k))
{
    TRY(planes_new(e, EXPONENTIAL_DIGITS, b->pairs));
    for (size_t i = 0; i < b->pairs; i++)
        for (unsigned k = 0; k < EXPONENTIAL_DIGITS; k++) {
            struct planes lane = planes_view(e, k, 1);
            if (p->index == 0)
                lane.a[i / 64] |= (uint64_t)digit(i, k) << (i % 64);
            if (p->index == 2)
                lane.b[i / 64] |= (uint64_t)digit(i, k) << (i % 64);
        }
    if (p->index == 0) {
        struct planes low = planes_view(e, 0, 64),
                      high = planes_view(e, 64, EXPONENTIAL_DIGITS - 64);
        three_put_planes(&b->low, p, &low);
        three_put_planes(&b->high, p, &high);
    }
    return ERR_OK;
}

/* Three lanes of each leading one from `first` on: below it no digit, all, or every other. */
static bool led_by(unsigned first, size_t i, unsigned k)
{
    unsigned lead = (unsigned)(i / 3) + first;
    return k == lead || (k < lead && (i % 3 == 1 || (i % 3 == 2 && k % 2)));
}

/* --- Gaussians -------------------------------------------------------------------------------- */

static long double gauss_got(const struct noise_batch *b, size_t at)
{
    return ldexpl((long double)(__int128)three_sum128(&b->z, at), -GAUSS_PRODUCT_BITS);
}

/* The error of both samples of pair i. */
static long double gauss_off_by(const struct noise_batch *b, size_t i, struct noise_digits *count)
{
    const long double pi = acosl(-1.0L), r = sqrtl(2 * exponential_of(b, i, count));
    /* three middles of arcs, of equal sign and size, so that no precision is lost */
    const int64_t arcs = (int64_t)(three_sum64(&b->u, i) + 1);
    const long double angle = pi * ldexpl((long double)arcs + 0.5L, -63);
    long double worst = 0;
    for (unsigned k = 0; k < 2; k++) {
        const long double exact = r * (k == 0 ? cosl(angle) : sinl(angle)),
                          got = gauss_got(b, i + k * b->pairs);
        worst = fmaxl(worst, fabsl(got - exact));
    }
    return worst;
}

TEST(gaussians_are_right_to_their_stated_error)
{
    struct samples z = samples_new(2 * PAIRS * batches());
    struct noise_digits digits = {.n = (double)(PAIRS * batches())};
    double worst = 0;
    for (size_t round = 0; round < batches(); round++) {
        struct noise_batch b CLEAN(batch_free) = batch_new(PAIRS);
        OK(three_run(1000 + round, make_gauss, &b, NULL));
        assert_true(three_replicated(&b.z, 128) && three_replicated(&b.rounded, 64));
        for (size_t i = 0; i < PAIRS; i++) {
            worst = fmax(worst, (double)gauss_off_by(&b, i, &digits));
            for (size_t at = i; at < 2 * PAIRS; at += PAIRS) {
                add(&z, three_sum64(&b.rounded, at), GAUSS_BITS);
                /* one floor, one unit */
                assert_true(fabsl((long double)z.x[z.n - 1] - gauss_got(&b, at)) <= 0x1p-20L);
            }
        }
    }
    print_message("# worst error of %zu Gaussians: 2^%.2f (stated 2^%.2f)\n", z.n, log2(worst),
                  log2(gauss_error()));
    assert_true(worst < gauss_error());
    assert_digits(&digits);
    assert_distribution("Gaussians by Box-Muller", &statistics_gaussian, &z);
}

/* All places of the leading one; the last lane has no digit at all. */
#define EDGES (3 * EXPONENTIAL_DIGITS + 1)
static bool any_lead(size_t i, unsigned k)
{
    return i < EDGES - 1 && led_by(0, i, k);
}

static enum err edge_gauss(struct party *p, void *shared)
{
    struct noise_batch *b = shared;
    struct gauss_coins coins;
    struct planes e CLEAN(planes_free) = {0};
    struct share128 z CLEAN(share128_free) = {0};
    TRY(choose_digits(p, b, &e, any_lead));
    TRY(gauss_draw(p, &coins, b->pairs));
    coins.e = e;
    three_put64(&b->u, p, coins.u);
    TRY(share128_new(&z, 2 * b->pairs));
    TRY(gauss_evaluate(p, z, &coins));
    three_put128(&b->z, p, z);
    return ERR_OK;
}

/* The proven bound for the Gaussian of this lane: no digit is left out, and its scale is known. */
static double edge_error(size_t i)
{
    const double lead = (double)(i / 3) + 1 - EXPONENTIAL_LOWEST,
                 scale = i < EDGES - 1 ? exp2(lead / 2) : 0;
    const double circle = ELEMENTARY_CIRCLE_ERROR + 0x1p-60 + M_PI * 0x1p-64;
    return scale * (ELEMENTARY_ROOT_ERROR + ldexp(1, -GAUSS_FRACTION_BITS - 2) + sqrt(2) * circle) +
           2.5 * ldexp(1, -GAUSS_RADIUS_BITS);
}

TEST(gaussians_hold_over_the_whole_range)
{
    struct noise_batch b CLEAN(batch_free) = batch_new(EDGES);
    OK(three_run(1, edge_gauss, &b, NULL));
    for (size_t i = 0; i < b.pairs; i++)
        assert_true((double)gauss_off_by(&b, i, NULL) < edge_error(i));
}

/* The same streams through gauss_sample: partners are next to each other. */
static enum err make_sample(struct party *p, void *shared)
{
    struct noise_batch *b = shared;
    struct share64 out CLEAN(share64_free) = {0};
    TRY(share64_new(&out, 2 * b->pairs));
    TRY(gauss_sample(p, out));
    three_put64(&b->z, p, out);
    return ERR_OK;
}

TEST(partners_stand_side_by_side)
{
    struct noise_batch b CLEAN(batch_free) = batch_new(100);
    OK(three_run(5, make_gauss, &b, NULL));
    OK(three_run(5, make_sample, &b, NULL));
    for (size_t i = 0; i < b.pairs; i++)
        for (size_t k = 0; k < 2; k++)
            assert_true(three_sum64(&b.z, 2 * i + k) == three_sum64(&b.rounded, k * b.pairs + i));
}

/* --- discrete Gaussians ----------------------------------------------------------------------- */

static enum err make_discrete(struct party *p, void *shared)
{
    struct noise_batch *b = shared;
    struct share64 out CLEAN(share64_free) = {0};
    TRY(share64_new(&out, 2 * b->pairs));
    enum err e = discrete_sample(p, out);
    three_put64(&b->rounded, p, out);
    return e;
}

TEST(discrete_gaussians_have_their_distribution)
{
    struct samples z = samples_new(2 * PAIRS * batches());
    double candidates = 0;
    for (size_t round = 0; round < batches(); round++) {
        struct noise_batch b CLEAN(batch_free) = batch_new(PAIRS);
        struct three_costs costs;
        OK(three_run(3000 + round, make_discrete, &b, &costs));
        assert_true(three_replicated(&b.rounded, 64));
        candidates += (double)costs.opened_values[OPEN_REJECT_BIT];
        for (size_t i = 0; i < 2 * PAIRS; i++)
            add(&z, three_sum64(&b.rounded, i), 20);
    }
    assert_true(candidates < (double)z.n / 0.70 && candidates > (double)z.n / 0.80);
    assert_distribution("discrete Gaussians", &statistics_gaussian, &z);
}

/* The values that decide on a candidate, in the clear. */
#define CANDIDATES ((size_t)1000)

struct judged {
    uint64_t coins[CANDIDATES], digits[CANDIDATES], sign[CANDIDATES], square[CANDIDATES];
    struct three_result accept;
};

static enum err run_judge(struct party *p, void *shared)
{
    struct judged *j = shared;
    struct planes coins CLEAN(planes_free) = {0}, digits CLEAN(planes_free) = {0};
    struct planes sign CLEAN(planes_free) = {0}, square CLEAN(planes_free) = {0};
    struct planes accept CLEAN(planes_free) = {0};
    TRY(three_share_planes(p, &coins, j->coins, CANDIDATES, DISCRETE_SQUARE_COINS, 1));
    TRY(three_share_planes(p, &digits, j->digits, CANDIDATES, DISCRETE_DIGITS, 2));
    TRY(three_share_planes(p, &sign, j->sign, CANDIDATES, 1, 3));
    TRY(three_share_planes(p, &square, j->square, CANDIDATES, DISCRETE_SQUARE_BITS, 4));
    TRY(planes_new(&accept, 1, CANDIDATES));
    TRY(discrete_judge(p, planes_plane(&accept, 0), &coins, &digits, planes_plane(&sign, 0),
                       &square));
    three_put_planes(&j->accept, p, &accept);
    return ERR_OK;
}

/* Every bit of the square alone, with and without its coin; both zeros; and random values. */
static void choose_candidate(struct judged *j, size_t i, uint64_t *random)
{
    const uint64_t coins = ((uint64_t)1 << DISCRETE_SQUARE_COINS) - 1,
                   bit = (uint64_t)1 << i % DISCRETE_SQUARE_BITS;
    j->coins[i] = coins;
    j->digits[i] = three_random(random) & (((uint64_t)1 << DISCRETE_DIGITS) - 1);
    j->sign[i] = i / 2 % 2;
    j->square[i] = three_random(random) & coins;
    if (i < 3 * DISCRETE_SQUARE_BITS)
        j->square[i] = bit;
    if (i < 2 * DISCRETE_SQUARE_BITS)
        j->coins[i] = i < DISCRETE_SQUARE_BITS ? coins & ~bit : bit & coins;
    if (i % 5 == 0)
        j->digits[i] = i % 3 == 0 ? 0 : (uint64_t)1 << i % DISCRETE_DIGITS;
    if (i % 7 == 0)
        j->coins[i] &= three_random(random) | three_random(random);
}

TEST(candidates_are_accepted_by_their_coins_and_but_one_zero)
{
    const uint64_t ands = 2 * DISCRETE_SQUARE_COINS + 30;
    struct judged *j CLEAN(memory_release) = memory_array(1, sizeof *j);
    struct three_costs costs;
    uint64_t random = 8;
    unsigned accepted = 0;
    for (size_t i = 0; i < CANDIDATES; i++)
        choose_candidate(j, i, &random);
    OK(three_result_new(&j->accept, CANDIDATES));
    OK(three_run(8, run_judge, j, &costs));
    for (size_t i = 0; i < CANDIDATES; i++) {
        const bool fails = (j->square[i] & ~j->coins[i]) != 0,
                   second_zero = j->sign[i] == 1 && j->digits[i] == 0;
        assert_true(three_xor(&j->accept, i) == (!fails && !second_zero));
        accepted += !fails && !second_zero;
    }
    assert_true(accepted > 400 && accepted < 900);
    assert_int_equal(costs.rounds, 7);
    assert_int_equal(costs.sent[0], ands * 8 * bits_words(CANDIDATES));
    three_result_free(&j->accept);
}

/* --- Gumbel ----------------------------------------------------------------------------------- */

TEST(gumbels_are_right_to_their_stated_error)
{
    struct samples g = samples_new(2 * PAIRS * batches());
    struct noise_digits digits = {.n = (double)(2 * PAIRS * batches())};
    double worst = 0;
    for (size_t round = 0; round < 2 * batches(); round++) {
        struct noise_batch b CLEAN(batch_free) = batch_new(PAIRS);
        OK(three_run(2000 + round, make_gumbel, &b, NULL));
        assert_true(three_replicated(&b.gumbel, 64));
        for (size_t i = 0; i < PAIRS; i++) {
            long double exact = -logl(exponential_of(&b, i, &digits));
            add(&g, three_sum64(&b.gumbel, i), GUMBEL_BITS);
            worst = fmax(worst, (double)fabsl((long double)g.x[g.n - 1] - exact));
        }
    }
    print_message("# worst error of %zu Gumbels: %.3f of the stated bound\n", g.n,
                  worst / gumbel_error());
    assert_true(worst < gumbel_error());
    assert_digits(&digits);
    assert_distribution("Gumbels", &statistics_gumbel, &g);
}

static enum err chosen_gumbels(struct party *p, struct noise_batch *b,
                               bool (*digit)(size_t lane, unsigned k))
{
    struct planes e CLEAN(planes_free) = {0};
    struct share64 g CLEAN(share64_free) = {0};
    TRY(choose_digits(p, b, &e, digit));
    TRY(share64_new(&g, b->pairs));
    TRY(gumbel_evaluate(p, g, &e));
    three_put64(&b->gumbel, p, g);
    return ERR_OK;
}

static bool edge_digit(size_t i, unsigned k)
{
    return led_by(EXPONENTIAL_LOWEST - 68, i, k);
}

/* The last lane has no digit at all. */
#define SMALLEST (3 * (EXPONENTIAL_LOWEST - 68) + 1)
static bool smallest_digit(size_t i, unsigned k)
{
    return i < SMALLEST - 1 && led_by(0, i, k);
}

static enum err edge_gumbels(struct party *p, void *shared)
{
    return chosen_gumbels(p, shared, edge_digit);
}

static enum err smallest_gumbels(struct party *p, void *shared)
{
    return chosen_gumbels(p, shared, smallest_digit);
}

/*
 * Where E is so small that digits which are not drawn matter, g is right for those that are drawn;
 * with none it is 122 ln 2.
 */
TEST(gumbels_of_the_smallest)
{
    struct noise_batch b CLEAN(batch_free) = batch_new(SMALLEST);
    OK(three_run(1, smallest_gumbels, &b, NULL));
    for (size_t i = 0; i < b.pairs; i++) {
        long double e = exponential_of(&b, i, NULL);
        double g = (double)(int64_t)three_sum64(&b.gumbel, i) * 0x1p-24;
        assert_true(fabsl(g - (e > 0 ? -logl(e) : 122 * logl(2.0L))) < gumbel_error());
        assert_true(g < 96);
    }
}

TEST(gumbels_hold_over_the_whole_range)
{
    struct noise_batch b CLEAN(batch_free) = batch_new(3 * (68 + EXPONENTIAL_TOP + 1));
    double worst = 0;
    OK(three_run(1, edge_gumbels, &b, NULL));
    for (size_t i = 0; i < b.pairs; i++) {
        double g = (double)(int64_t)three_sum64(&b.gumbel, i) * 0x1p-24;
        worst = fmax(worst, (double)fabsl(g + logl(exponential_of(&b, i, NULL))));
        assert_true(fabs(g) < GUMBEL_MAX);
    }
    /* no digit is left out of these: the whole error except that part */
    assert_true(worst < gumbel_error() - ldexp(1, GUMBEL_LEAST - EXPONENTIAL_LOWEST));
}
