/* aim/table/density and step, against sums over every number and against drawn numbers. */
#include "harness/cmocka.h"

#include "aim/table/density.h"
#include "aim/table/number.h"
#include "aim/table/step.h"

/* A column of every kind of bin: a spike, narrow and wide ones, a spike at the end. */
static const double edges[] = {0, 0, 1, 2, 5, 10, 40, 99, 99};
static const double counts[] = {900, 50, 60, 120, 100, 300, 100, 5};
#define BINS 8

struct density_column {
    struct domain *d;
    struct density *density;
};

static void column_free(struct density_column *c)
{
    density_free(&c->density);
    domain_free(&c->d);
}

static struct density_column column_new(double step, enum domain_tail tail, const double *rows)
{
    struct density_column c = {0};
    OK(domain_new(&c.d));
    OK(domain_add_numeric(c.d, "x", edges, BINS + 1, NULL, DOMAIN_CLIP, NULL));
    if (step > 0)
        OK(domain_set_step(c.d, step, false, NULL));
    OK(domain_set_tail(c.d, tail, 55, NULL));
    OK(density_new(&c.density, c.d->attribute, rows));
    return c;
}

TEST(multiples_read_as_they_are_written)
{
    static const struct {
        double step;
        int decimals;
    } good[] = {{1, 0}, {5, 0}, {0.1, 1}, {0.25, 2}, {2.5, 1}, {1e6, 0}, {0.001, 3}, {0.3, 1}};
    static const double bad[] = {0, -1, 1e-13, 1.0 / 3, NAN, INFINITY};
    struct step s;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(step_of(good[i].step, &s));
        assert_int_equal(s.decimals, good[i].decimals);
        for (int64_t k = -5000; k < 5000; k++) {
            char text[64];
            double v = 0;
            number_print(text, sizeof text, step_value(&s, k), s.decimals);
            assert_true(number_double(text, &v) && v == step_value(&s, k));
            assert_int_equal(step_above(&s, v), k);
            assert_int_equal(step_above(&s, nextafter(v, INFINITY)), k + 1);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(step_of(bad[i], &s));
    assert_true(step_of(0.1, &s) && step_value(&s, 3) == 0.3);
    assert_true(step_reaches(&s, 1e14) && !step_reaches(&s, 1e15));
}

TEST(bins_hold_their_numbers)
{
    struct density_column c CLEAN(column_free) = column_new(0.5, DOMAIN_TAIL_TREND, counts);
    const struct domain_attribute *a = c.d->attribute;
    static const struct {
        double x;
        uint32_t bin;
    } places[] = {{0, 0}, {0.001, 1}, {1, 2}, {1.999, 2}, {2, 3}, {5, 4}, {98.99, 6}, {99, 7}};
    static const uint64_t multiples[] = {1, 1, 2, 6, 10, 60, 118, 1};
    static const double first[] = {0, 0.5, 1, 2, 5, 10, 40, 99};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        assert_int_equal(domain_bin(a, places[i].x), places[i].bin);
    assert_int_equal(domain_bin(a, -0.001), DOMAIN_NO_CODE);
    assert_int_equal(domain_bin(a, 99.1), DOMAIN_NO_CODE);
    for (uint32_t code = 0; code < BINS; code++) {
        uint64_t n;
        assert_true((double)domain_multiples(a, code, &n) * 0.5 == first[code]);
        assert_int_equal(n, multiples[code]);
        assert_true(density_quantile(c.density, code, -INFINITY, INFINITY, 0) == first[code]);
        assert_int_equal(domain_spike(a, code), code == 0 || code == 7);
    }
    assert_int_equal(domain_tail_bin(a), 6);
}

/* The header's definitions, number by number. */
static struct density_part twin(const struct density_column *c, double step, uint32_t code,
                                double low, double high)
{
    const struct domain_attribute *a = c->d->attribute;
    struct density_part part = {0};
    double all = 0;
    uint64_t n;
    int64_t first = domain_multiples(a, code, &n);
    for (uint64_t j = 0; j < n; j++) {
        double x = (double)(first + (int64_t)j) * step;
        double weight = exp(density_tilt(c->density, code) * ((double)j / (double)n - 1));
        assert_int_equal(domain_bin(a, x), code);
        all += weight;
        if (x < low || x >= high)
            continue;
        part.share += weight;
        part.mean += weight * x;
        part.square += weight * x * x;
    }
    part.mean /= part.share > 0 ? part.share : 1;
    part.square /= part.share > 0 ? part.share : 1;
    part.share /= all;
    return part;
}

static void near(double a, double b, double scale)
{
    if (!(fabs(a - b) <= 1e-10 * scale))
        fail_msg("%.17g and %.17g differ", a, b);
}

static const enum domain_tail tails[] = {DOMAIN_TAIL_TREND, DOMAIN_TAIL_EXPONENTIAL,
                                         DOMAIN_TAIL_TYPICAL};

TEST(parts_are_sums_over_their_numbers)
{
    static const double steps[] = {0.5, 0.125, 1.0 / 1024};
    struct random r = random_of(1);
    for (size_t s = 0; s < 3; s++)
        for (size_t t = 0; t < 3; t++) {
            struct density_column c CLEAN(column_free) = column_new(steps[s], tails[t], counts);
            for (int trial = 0; trial < 60; trial++) {
                uint32_t code = (uint32_t)random_below(&r, BINS);
                double low = trial % 5 == 0 ? -INFINITY : 110 * random_double(&r) - 5;
                double high = trial % 7 == 0 ? INFINITY : low + 40 * random_double(&r);
                struct density_part p, q = twin(&c, steps[s], code, low, high);
                if (trial % 3 == 0) /* one number */
                    low = rint(low), high = nextafter(low, INFINITY),
                    q = twin(&c, steps[s], code, low, high);
                p = density_part(c.density, code, low, high);
                near(p.share, q.share, 1);
                near(p.mean, q.mean, 100);
                near(p.square, q.square, 10000);
            }
        }
}

/* Bins of intervals against a fine sum; tilts from almost none to all mass at one end. */
TEST(intervals_agree_with_fine_sums)
{
    static const double ratio[] = {1, 1.0000001, 1.2, 1.29, 1.3, 3, 50, 1e6};
    for (size_t i = 0; i < 16; i++) {
        double rows[BINS] = {0, 100, 100, 100, 100, 1e4, 1e4 * ratio[i / 2], 0};
        struct density_column c CLEAN(column_free) = column_new(
            0, DOMAIN_TAIL_TREND, (rows[5] *= i % 2 == 0 ? 1 : ratio[i / 2], rows));
        const double low = 45, high = 80, tilt = density_tilt(c.density, 6);
        struct density_part p = density_part(c.density, 6, low, high), q = {0};
        double all = 0;
        for (int k = 0; k < 59 * 4000; k++) {
            double x = 40 + (k + 0.5) / 4000, w = exp(tilt * ((x - 40) / 59 - 1));
            all += w;
            if (x > low && x < high)
                q.share += w, q.mean += w * x, q.square += w * x * x;
        }
        assert_true(fabs(p.share - q.share / all) < 1e-6);
        assert_true(fabs(p.mean - q.mean / q.share) < 1e-4);
        assert_true(fabs(p.square - q.square / q.share) < 1e-2);
    }
}

TEST(parts_of_a_bin_add_up_to_it)
{
    static const double steps[] = {0, 0.5, 0.1};
    for (size_t s = 0; s < 3; s++) {
        struct density_column c CLEAN(column_free) = column_new(steps[s], tails[s], counts);
        for (uint32_t code = 0; code < BINS; code++) {
            struct density_part sum = {0}, all;
            all = density_whole(c.density, code);
            for (double x = -3; x < 103; x += 0.7) {
                struct density_part p = density_part(c.density, code, x, x + 0.7);
                assert_true(p.share >= 0);
                sum.share += p.share;
                sum.mean += p.share * p.mean;
                sum.square += p.share * p.square;
            }
            assert_true(all.share == 1);
            near(sum.share, 1, 100);
            near(sum.mean, all.mean, 1e4);
            near(sum.square, all.square, 1e6);
        }
    }
}

TEST(what_is_drawn_has_the_moments)
{
    struct random r = random_of(7);
    for (int stepped = 0; stepped < 2; stepped++) {
        struct density_column c CLEAN(column_free) = column_new(stepped != 0 ? 0.1 : 0,
                                                                DOMAIN_TAIL_TYPICAL, counts);
        for (uint32_t code = 0; code < BINS; code++) {
            struct density_part all = density_whole(c.density, code);
            double sum = 0, square = 0, below = 0, middle = 0;
            const int n = 40000;
            middle = density_quantile(c.density, code, -INFINITY, INFINITY, 0.3);
            for (int i = 0; i < n; i++) {
                double x = density_draw(c.density, code, random_double(&r));
                assert_int_equal(domain_bin(c.d->attribute, x), code);
                sum += x;
                square += x * x;
                below += x <= middle;
            }
            double variance = fmax(all.square - all.mean * all.mean, 0);
            assert_true(fabs(sum / n - all.mean) <= 5 * sqrt(variance / n) + 1e-9);
            assert_true(fabs(square / n - all.square) <= 0.03 * all.square + 1e-9);
            below /= n;
            assert_true(below > 0.28); /* with multiples, all that equal it are below */
            assert_true(stepped != 0 || domain_spike(c.d->attribute, code) || below < 0.32);
        }
        assert_true(fabs(density_whole(c.density, 6).mean - 55) < 1e-9);
    }
}

TEST(quantiles_invert_shares)
{
    struct density_column c CLEAN(column_free) = column_new(0, DOMAIN_TAIL_EXPONENTIAL, counts);
    struct density_column w CLEAN(column_free) = column_new(0.5, DOMAIN_TAIL_EXPONENTIAL, counts);
    for (double p = 0; p <= 1; p += 0.01) {
        double x = density_quantile(c.density, 6, 50, 90, p);
        double part = density_part(c.density, 6, 50, 90).share;
        near(density_part(c.density, 6, 50, x).share, p * part, 1);
        x = density_quantile(w.density, 6, 50, 90, p);
        part = density_part(w.density, 6, 50, 90).share;
        assert_true(x >= 50 && x < 90);
        assert_true(density_part(w.density, 6, 50, x).share <= p * part + 1e-12);
        assert_true(density_part(w.density, 6, 50, nextafter(x, INFINITY)).share >=
                    p * part - 1e-12);
    }
    assert_true(density_quantile(w.density, 6, 50, 90, 1) == 89.5);
}

/* Rounding moves no number out of its bin, at either end, however steep the density is. */
TEST(the_ends_of_a_bin_are_its_least_and_largest)
{
    for (double ratio = 1e-6; ratio < 1e7; ratio *= 1.37) {
        double rows[BINS] = {0, 1e3, 1e3 * ratio, 1e3, 1e3 * ratio, 1e4, 1e4 * ratio, 0};
        struct density_column c CLEAN(column_free) = column_new(0, DOMAIN_TAIL_TREND, rows);
        for (uint32_t code = 0; code < BINS; code++) {
            double low = density_quantile(c.density, code, -INFINITY, INFINITY, 0);
            double high = density_quantile(c.density, code, -INFINITY, INFINITY, 1);
            assert_true(low >= edges[code] && low - edges[code] < 1e-12);
            assert_true(high <= edges[code + 1] && edges[code + 1] - high < 1e-12);
        }
    }
}

/* Rows that fall off exponentially: the mean of every bin follows from the counts alone. */
TEST(an_exponential_column_keeps_its_mean)
{
    static const double ends[] = {0, 2, 4, 6, 8, 10, 60};
    static const double rate = 0.25;
    struct density_column c CLEAN(column_free) = {0};
    double rows[6];
    for (int i = 0; i < 6; i++)
        rows[i] = 1e9 * (exp(-rate * ends[i]) - exp(-rate * ends[i + 1]));
    OK(domain_new(&c.d));
    OK(domain_add_numeric(c.d, "stay", ends, 7, NULL, DOMAIN_CLIP, NULL));
    OK(domain_set_tail(c.d, DOMAIN_TAIL_EXPONENTIAL, 0, NULL));
    OK(density_new(&c.density, c.d->attribute, rows));
    for (uint32_t i = 0; i < 4; i++) {
        double true_mean = (ends[i] + 1 / rate - (ends[i + 1] + 1 / rate) * exp(-rate * 2)) /
                           (1 - exp(-rate * 2));
        assert_true(fabs(density_whole(c.density, i).mean - true_mean) < 1e-6);
    }
    assert_true(fabs(density_whole(c.density, 5).mean - 14) < 0.01);
}

/* A peak stays even, a slope tilts, a spike next to a bin does not tilt it. */
TEST(tilts_follow_neighbours)
{
    static const double rows[] = {1e6, 100, 100, 300, 500, 30, 59, 0};
    static const double peak[] = {0, 100, 100, 120, 500, 30, 900, 0};
    struct density_column c CLEAN(column_free) = column_new(0, DOMAIN_TAIL_TREND, rows);
    assert_true(density_tilt(c.density, 0) == 0);
    assert_true(density_tilt(c.density, 1) == 0); /* as dense as its neighbour beyond the spike */
    assert_true(density_tilt(c.density, 4) < 0);
    assert_true(density_tilt(c.density, 5) == 0 || density_tilt(c.density, 5) < 0);
    assert_true(density_tilt(c.density, 7) == 0);
    density_free(&c.density); /* a peak, then a valley */
    OK(density_new(&c.density, c.d->attribute, peak));
    assert_true(density_tilt(c.density, 4) == 0);
    assert_true(density_tilt(c.density, 5) == 0);
    density_free(&c.density);
    OK(density_new(&c.density, c.d->attribute, NULL));
    for (uint32_t i = 0; i < BINS; i++)
        assert_true(density_tilt(c.density, i) == 0);
}

TEST(steps_and_tails_that_cannot_be_are_refused)
{
    static const double one[] = {0, 1, 2}, fine[] = {0, 1e15};
    struct domain *d CLEAN(domain_free) = MADE(domain, domain_new);
    OK(domain_add_numeric(d, "x", one, 3, NULL, DOMAIN_CLIP, NULL));
    assert_int_equal(domain_set_step(d, 0, false, NULL), ERR_STUDY);
    assert_int_equal(domain_set_step(d, 3, false, NULL), ERR_STUDY);
    OK(domain_set_step(d, 0.5, false, NULL));
    assert_int_equal(domain_set_tail(d, DOMAIN_TAIL_TYPICAL, 1, NULL), ERR_STUDY);
    assert_int_equal(domain_set_tail(d, DOMAIN_TAIL_TYPICAL, 2, NULL), ERR_STUDY);
    OK(domain_set_tail(d, DOMAIN_TAIL_TYPICAL, 1.2, NULL));
    OK(domain_add_numeric(d, "y", one, 2, NULL, DOMAIN_CLIP, NULL));
    OK(domain_set_step(d, 2, true, NULL)); /* 0 alone */
    assert_int_equal(domain_set_tail(d, DOMAIN_TAIL_EXPONENTIAL, 0, NULL), ERR_STUDY);
    assert_int_equal(domain_code(&d->attribute[1], "0.5"), DOMAIN_NO_CODE);
    assert_int_equal(domain_code(&d->attribute[1], "1.0"), 0);
    OK(domain_add_numeric(d, "z", fine, 2, NULL, DOMAIN_CLIP, NULL));
    assert_int_equal(domain_set_step(d, 0.01, false, NULL), ERR_STUDY);
}
