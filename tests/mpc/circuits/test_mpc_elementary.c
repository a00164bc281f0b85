/*
 * mpc/: points of the circle, leading ones, roots and elementary functions. Constants are computed
 * anew at 320 bits, and errors are measured against them: a long double is too short to tell 2^-60.
 */
#include "tests/support/call.h"

#include "mpc/circuits/convert.h"
#include "mpc/circuits/elementary.h"
#include "mpc/circuits/leading.h"
#include "mpc/circuits/point.h"

#include <gmp.h>

/* --- at 320 bits ------------------------------------------------------------------------------ */

static mpf_t pi; /* set by main() */

/* out += factor atan(1 / x) */
static void add_arctangent(mpf_t out, long factor, unsigned long x)
{
    mpf_t power, term;
    mpf_inits(power, term, NULL);
    mpf_set_si(power, factor);
    mpf_div_ui(power, power, x);
    for (unsigned long k = 1; k < 150; k += 2) {
        mpf_div_ui(term, power, k);
        if (k % 4 == 1)
            mpf_add(out, out, term);
        else
            mpf_sub(out, out, term);
        mpf_div_ui(power, power, x * x);
    }
    mpf_clears(power, term, NULL);
}

/* cosine, or sine, of an angle of at most a turn */
static void set_circle(mpf_t out, bool sine, const mpf_t angle)
{
    mpf_t term;
    mpf_init(term);
    mpf_set_ui(out, 0);
    mpf_set_ui(term, 1);
    for (unsigned long k = 0; k < 120; k++) {
        if (k % 2 == (sine ? 1 : 0)) {
            if (k / 2 % 2 == 0)
                mpf_add(out, out, term);
            else
                mpf_sub(out, out, term);
        }
        mpf_mul(term, term, angle);
        mpf_div_ui(term, term, k + 1);
    }
    mpf_clear(term);
}

/* 2 pi (arcs + halves / 2) / 2^64 */
static void set_angle(mpf_t out, uint64_t arcs, unsigned halves)
{
    mpf_set_ui(out, arcs);
    mpf_mul_2exp(out, out, 1);
    mpf_add_ui(out, out, halves);
    mpf_mul(out, out, pi);
    mpf_div_2exp(out, out, 64);
}

/* `value` / 2^bits - exact */
static double off_by(__int128 value, unsigned bits, const mpf_t exact)
{
    const bool negative = value < 0;
    const word128 size = negative ? 0 - (word128)value : (word128)value;
    mpf_t v;
    mpf_init(v);
    mpf_set_ui(v, (uint64_t)(size >> 64));
    mpf_mul_2exp(v, v, 64);
    mpf_add_ui(v, v, (uint64_t)size);
    mpf_div_2exp(v, v, bits);
    if (negative)
        mpf_neg(v, v);
    mpf_sub(v, v, exact);
    double error = mpf_get_d(v);
    mpf_clear(v);
    return error;
}

/* The constant is `exact` 2^bits rounded to nearest; if it is not, prints what it should be. */
static void assert_rounded(int64_t constant, unsigned bits, const mpf_t exact)
{
    if (fabs(ldexp(off_by(constant, bits, exact), (int)bits)) > 0.5) {
        mpf_t v;
        mpf_init(v);
        mpf_mul_2exp(v, exact, bits);
        gmp_printf("%lld should be %.3Ff\n", (long long)constant, v);
        mpf_clear(v);
        fail();
    }
}

/* --- points ----------------------------------------------------------------------------------- */

/* (pi/4)^k / k! */
static void set_term(mpf_t out, unsigned k)
{
    mpf_set_ui(out, 1);
    for (unsigned i = 1; i <= k; i++) {
        mpf_mul(out, out, pi);
        mpf_div_ui(out, out, 4 * i);
    }
}

TEST(terms_of_the_circle_are_rounded_to_nearest)
{
    mpf_t term;
    mpf_init(term);
    for (unsigned k = 0; k < POINT_TERMS; k++) {
        set_term(term, 2 * k + 2);
        assert_rounded((int64_t)point_cosine[k], 64, term);
        set_term(term, 2 * k + 1);
        if (k > 0)
            assert_rounded((int64_t)point_sine[k], 64, term);
        else /* too large for a sign bit: half of it, and the last bit */
            assert_true(point_sine[0] % 2 == 1 &&
                        fabs(off_by((int64_t)(point_sine[0] / 2), 63, term)) <= 0x1.8p-64);
    }
    /* where the series end: POINT_ERROR allows 1.6 units of 2^-64 for it */
    set_term(term, 2 * POINT_TERMS + 1);
    assert_true(mpf_get_d(term) < 1.6 * 0x1p-64);
    set_term(term, 2 * POINT_TERMS + 2);
    assert_true(mpf_get_d(term) < 1.6 * 0x1p-64);
    mpf_clear(term);
}

/* Near the edges of eighths of the circle, and anywhere. */
static uint64_t some_arc(unsigned i, uint64_t *random)
{
    return i < 80 ? ((uint64_t)(i % 16) << 60) + i / 16 - 2 : three_random(random);
}

TEST(points_are_right_to_their_stated_error)
{
    uint64_t random = 1;
    double worst = 0;
    mpf_t angle, exact;
    mpf_inits(angle, exact, NULL);
    for (unsigned i = 0; i < 600; i++) {
        const uint64_t arc = some_arc(i, &random);
        const struct point at = point_at(arc);
        set_angle(angle, arc, 1);
        set_circle(exact, false, angle);
        worst = fmax(worst, fabs(off_by(at.x, POINT_BITS, exact)));
        set_circle(exact, true, angle);
        worst = fmax(worst, fabs(off_by(at.y, POINT_BITS, exact)));
    }
    print_message("# points: off by %.2f of the stated bound\n", worst / POINT_ERROR);
    assert_true(worst <= POINT_ERROR);
    mpf_clears(angle, exact, NULL);
}

TEST(points_turn_by_floors_of_products)
{
    uint64_t random = 2;
    for (unsigned i = 0; i < 300; i++) {
        const struct point x = point_at(some_arc(i, &random)),
                           y = point_at(some_arc(i * 7 % 90, &random)), z = point_turned(x, y);
        const __int128 unit = (__int128)1 << POINT_BITS,
                       left[2] = {(__int128)x.x * y.x - (__int128)x.y * y.y - unit * z.x,
                                  (__int128)x.x * y.y + (__int128)x.y * y.x - unit * z.y};
        for (unsigned k = 0; k < 2; k++)
            assert_true(left[k] >= 0 && left[k] < unit);
    }
}

/* --- the circle on shares --------------------------------------------------------------------- */

/* Component 0 of lane i is x[i], 1 is y[i], 2 is below wide[i]. */
static enum err run_circle(struct party *p, struct call *c)
{
    struct share64 u CLEAN(share64_free) = {0};
    struct share128 cosine CLEAN(share128_free) = {0}, sine CLEAN(share128_free) = {0};
    TRY(share64_new(&u, c->n));
    TRY(share128_new(&cosine, c->n));
    TRY(share128_new(&sine, c->n));
    for (size_t i = 0; i < c->n; i++) {
        const uint64_t component[3] = {c->x[i], c->y[i], (uint64_t)c->wide[i]};
        u.a[i] = component[p->index];
        u.b[i] = component[(p->index + 1) % 3];
    }
    TRY(elementary_circle(p, cosine, sine, u));
    three_put128(&c->out, p, c->width == 0 ? cosine : sine);
    return ERR_OK;
}

/* Exactly what the definition of points gives, and as close to the circle as it promises. */
TEST(the_circle_is_the_product_of_three_points)
{
    double worst = 0;
    mpf_t angle, exact;
    mpf_inits(angle, exact, NULL);
    for (unsigned which = 0; which < 2; which++) {
        struct call *c CLEAN(finish) = fresh(300, 6);
        uint64_t random = 3;
        c->width = which;
        for (unsigned i = 0; i < c->n; i++) {
            c->x[i] = some_arc(i, &random);
            c->y[i] = some_arc(i * 7 % 90, &random);
            c->wide[i] = some_arc(i * 11 % 90, &random);
        }
        execute(c, run_circle);
        assert_true(three_replicated(&c->out, 128));
        assert_int_equal(c->costs.rounds, 2);
        for (unsigned s = 0; s < 3; s++)
            assert_int_equal(c->costs.sent[s], 4 * 16 * c->n);
        for (size_t i = 0; i < c->n; i++) {
            const struct point a = point_turned(point_at(c->x[i]), point_at(c->y[i])),
                               b = point_at((uint64_t)c->wide[i]);
            const __int128 got = (__int128)three_sum128(&c->out, i);
            assert_true(got == (which == 0 ? (__int128)a.x * b.x - (__int128)a.y * b.y
                                           : (__int128)a.x * b.y + (__int128)a.y * b.x));
            set_angle(angle, c->x[i] + c->y[i] + (uint64_t)c->wide[i], 3);
            set_circle(exact, which == 1, angle);
            worst = fmax(worst, fabs(off_by(got, ELEMENTARY_CIRCLE_BITS, exact)));
        }
    }
    print_message("# circle: off by %.2f of the stated bound\n", worst / ELEMENTARY_CIRCLE_ERROR);
    assert_true(worst <= ELEMENTARY_CIRCLE_ERROR);
    mpf_clears(angle, exact, NULL);
}

/* --- the root --------------------------------------------------------------------------------- */

#define NODES (ELEMENTARY_ROOT_DEGREE + 1)

/* 1 + s/8 + 1/16 + x */
static void set_argument(mpf_t out, unsigned s, const mpf_t x)
{
    mpf_set_ui(out, 16 + 2 * s + 1);
    mpf_div_2exp(out, out, 4);
    mpf_add(out, out, x);
}

/* Chebyshev's nodes in [-1/16, 1/16] */
static void set_nodes(mpf_t node[NODES])
{
    mpf_t angle;
    mpf_init(angle);
    for (unsigned i = 0; i < NODES; i++) {
        mpf_mul_ui(angle, pi, 2 * i + 1);
        mpf_div_ui(angle, angle, 2 * NODES);
        set_circle(node[i], false, angle);
        mpf_div_2exp(node[i], node[i], 4);
    }
    mpf_clear(angle);
}

/*
 * The coefficients of the polynomial through the root at the nodes: Newton's differences, then
 * multiplied out.
 */
static void set_interpolant(mpf_t c[NODES], mpf_t node[NODES], unsigned s)
{
    mpf_t d[NODES], t;
    mpf_init(t);
    for (unsigned i = 0; i < NODES; i++) {
        mpf_init(d[i]);
        set_argument(d[i], s, node[i]);
        mpf_sqrt(d[i], d[i]);
        mpf_set_ui(c[i], 0);
    }
    for (unsigned j = 1; j < NODES; j++)
        for (unsigned i = NODES; i-- > j;) {
            mpf_sub(d[i], d[i], d[i - 1]);
            mpf_sub(t, node[i], node[i - j]);
            mpf_div(d[i], d[i], t);
        }
    for (unsigned i = NODES; i-- > 0;) { /* c = c (x - node) + d */
        for (unsigned k = NODES; k-- > 0;) {
            mpf_mul(t, c[k], node[i]);
            mpf_neg(c[k], t);
            if (k > 0)
                mpf_add(c[k], c[k], c[k - 1]);
        }
        mpf_add(c[0], c[0], d[i]);
    }
    for (unsigned i = 0; i < NODES; i++)
        mpf_clear(d[i]);
    mpf_clear(t);
}

TEST(coefficients_of_the_root_are_rounded_to_nearest)
{
    mpf_t node[NODES], c[NODES];
    for (unsigned i = 0; i < NODES; i++)
        mpf_inits(node[i], c[i], NULL);
    set_nodes(node);
    for (unsigned s = 0; s < ELEMENTARY_ROOT_SEGMENTS; s++) {
        double weight = 0, binomial = 1, remainder;
        set_interpolant(c, node, s);
        for (unsigned k = 0; k < NODES; k++) {
            assert_rounded(elementary_root_of[s][k], ELEMENTARY_ROOT_BITS, c[k]);
            binomial *= (0.5 - k) / (k + 1);
            /* power k >= 2 is off by less than 1.2 units */
            weight += k < 2 ? 0 : 1.2 * fabs(mpf_get_d(c[k]));
        }
        /*
         * the ninth derivative over 9! where it is largest, times what nodes leave of a ninth power
         */
        remainder = fabs(binomial) * pow(1 + s / 8.0, 0.5 - NODES) * 0x1p-36 * 0x1p-8;
        assert_true(remainder <= 2.8 * 0x1p-52 && weight <= 0.33);
    }
    for (unsigned i = 0; i < NODES; i++)
        mpf_clears(node[i], c[i], NULL);
}

/* Lane i is segment y[i] and the fraction x[i], in units of 2^-60. */
static enum err run_root(struct party *p, struct call *c)
{
    struct planes segment CLEAN(planes_free) = {0};
    struct share128 x CLEAN(share128_free) = {0}, out CLEAN(share128_free) = {0};
    TRY(three_share_planes(p, &segment, c->y, c->n, 3, 1));
    TRY(three_share128(p, &x, c->wide, c->n, 2));
    TRY(share128_new(&out, c->n));
    TRY(elementary_root(p, out, x, &segment));
    three_put128(&c->out, p, out);
    return ERR_OK;
}

TEST(a_root_is_right_to_its_stated_error)
{
    const int64_t end = (int64_t)1 << (ELEMENTARY_ROOT_BITS - 4);
    struct call *c CLEAN(finish) = fresh(1000, 7);
    double worst = 0;
    mpf_t x, exact;
    mpf_inits(x, exact, NULL);
    for (size_t i = 0; i < c->n; i++) {
        const int64_t at[] = {-end, end, 0, (int64_t)(c->x[i] % (2 * (uint64_t)end)) - end};
        c->y[i] = i % 8;
        c->wide[i] = (word128)at[i < 24 ? i / 8 : 3];
    }
    execute(c, run_root);
    assert_true(three_replicated(&c->out, 128));
    for (size_t i = 0; i < c->n; i++) {
        mpf_set_si(x, (long)(int64_t)c->wide[i]);
        mpf_div_2exp(x, x, ELEMENTARY_ROOT_BITS);
        set_argument(exact, (unsigned)c->y[i], x);
        mpf_sqrt(exact, exact);
        worst = fmax(worst,
                     fabs(off_by((__int128)three_sum128(&c->out, i), ELEMENTARY_ROOT_BITS, exact)));
    }
    print_message("# root: off by %.2f of the stated bound\n", worst / ELEMENTARY_ROOT_ERROR);
    assert_true(worst <= ELEMENTARY_ROOT_ERROR);
    mpf_clears(x, exact, NULL);
}

/* --- the logarithm ---------------------------------------------------------------------------- */

static enum err run_logarithm(struct party *p, struct call *c)
{
    struct share64 t CLEAN(share64_free) = {0}, out CLEAN(share64_free) = {0};
    TRY(three_share64(p, &t, c->x, c->n, 1));
    TRY(share64_new(&out, c->n));
    TRY(elementary_logarithm(p, out, t));
    three_put64(&c->out, p, out);
    return ERR_OK;
}

TEST(a_logarithm_is_right_to_its_stated_error)
{
    struct call *c CLEAN(finish) = fresh(1000, 7);
    long double worst = 0;
    for (size_t i = 0; i < c->n; i++)
        c->x[i] = i < 2 ? i : i == 2 ? (1 << 30) - 1 : c->x[i] >> 34;
    execute(c, run_logarithm);
    for (size_t i = 0; i < c->n; i++) {
        long double exact = log1pl((long double)c->x[i] * 0x1p-30L);
        long double got = (long double)(int64_t)three_sum64(&c->out, i) * 0x1p-36L;
        worst = fmaxl(worst, fabsl(got - exact));
    }
    assert_true(worst <= ELEMENTARY_LOGARITHM_ERROR);
}

/* --- leading ones ----------------------------------------------------------------------------- */

/*
 * x has c->width digits; c->start[0] chooses the output: places, or the c->start[1] digits below.
 */
static enum err run_leading(struct party *p, struct call *c)
{
    struct planes x CLEAN(planes_free) = {0}, place CLEAN(planes_free) = {0};
    struct planes below CLEAN(planes_free) = {0};
    TRY(three_share_planes(p, &x, c->x, c->n, c->width, 1));
    TRY(planes_new(&place, c->width + 1, c->n));
    TRY(planes_new(&below, (unsigned)c->start[1], c->n));
    TRY(leading_places(p, &place, &x));
    if (c->start[0] == 1)
        TRY(leading_digits(p, &below, &place, &x));
    if (c->start[0] == 2) { /* constants that depend on the place */
        uint64_t constant[65];
        for (unsigned i = 0; i <= c->width; i++)
            constant[i] = c->y[i];
        leading_choose(&below, &place, constant);
    }
    three_put_planes(&c->out, p, c->start[0] == 0 ? &place : &below);
    return ERR_OK;
}

static unsigned leading_of(uint64_t x, unsigned width)
{
    unsigned at = width;
    for (unsigned k = 0; k < width; k++)
        if (x >> k & 1)
            at = k;
    return at;
}

/* The digits after the leading one, as a number of this many digits. */
static uint64_t digits_after(uint64_t x, unsigned width, unsigned digits)
{
    uint64_t out = 0;
    for (unsigned j = 1, lead = leading_of(x, width); j <= digits; j++)
        out = 2 * out + (lead < width && lead >= j ? x >> (lead - j) & 1 : 0);
    return out;
}

TEST(a_leading_one_is_found_and_what_follows_it)
{
    for (unsigned width = 2; width <= 64; width += width < 5 ? 1 : 12)
        for (size_t what = 0; what < 3; what++) {
            struct call *c CLEAN(finish) = fresh(width < 10 ? (size_t)1 << width : 1000, width);
            unsigned layers = 0;
            c->width = width;
            c->start[0] = what;
            c->start[1] = width / 2 + 1 < width ? width / 2 + 1 : 1;
            for (size_t i = 0; i < c->n; i++)
                c->x[i] = width < 10 ? i : (c->x[i] & mask_of(width)) >> i % width;
            execute(c, run_leading);
            while (1u << layers < width)
                layers++;
            assert_int_equal(c->costs.rounds, layers + (what == 1 ? 2 : 0));
            for (size_t i = 0; i < c->n; i++) {
                const unsigned lead = leading_of(c->x[i], width), digits = (unsigned)c->start[1];
                const word128 expected = what == 0   ? (word128)1 << lead
                                         : what == 1 ? digits_after(c->x[i], width, digits)
                                                     : c->y[lead] & mask_of(digits);
                assert_true(three_xor(&c->out, i) == expected);
            }
        }
}

/* 309 ANDs for the 98 digits of an exponential variable; two for each digit that follows, and 7. */
static enum err cost_of_leading(struct party *p, struct call *c)
{
    struct planes x CLEAN(planes_free) = {0}, place CLEAN(planes_free) = {0};
    struct planes below CLEAN(planes_free) = {0};
    TRY(planes_new(&x, 98, c->n));
    TRY(planes_new(&place, 99, c->n));
    TRY(planes_new(&below, 48, c->n));
    TRY(leading_places(p, &place, &x));
    TRY(leading_digits(p, &below, &place, &x));
    return ERR_OK;
}

TEST(a_leading_one_costs_what_it_says)
{
    struct call *c CLEAN(finish) = fresh(64, 1);
    execute(c, cost_of_leading);
    assert_int_equal(c->costs.rounds, 7 + 2);
    assert_int_equal(c->costs.sent[1], (309 + 2 * 48 + 7) * 8);
}

/* --- two numbers to the ring ------------------------------------------------------------------ */

static enum err run_two_to_ring(struct party *p, struct call *c)
{
    const size_t lanes = 64 * bits_words(c->n / 2);
    struct planes x CLEAN(planes_free) = {0}, y CLEAN(planes_free) = {0};
    struct share64 out CLEAN(share64_free) = {0}, packed CLEAN(share64_free) = {0};
    TRY(three_share_planes(p, &x, c->x, c->n / 2, c->width, 1));
    TRY(three_share_planes(p, &y, c->y, c->n / 2, 60 - c->width, 2));
    TRY(share64_new(&out, 2 * lanes));
    TRY(share64_new(&packed, c->n));
    TRY(convert_two_to_ring64(p, out, &x, &y));
    for (size_t i = 0; i < c->n; i++) {
        packed.a[i] = out.a[i / 2 + i % 2 * lanes];
        packed.b[i] = out.b[i / 2 + i % 2 * lanes];
    }
    three_put64(&c->out, p, packed);
    return ERR_OK;
}

TEST(two_numbers_go_to_the_ring_in_one_call)
{
    for (unsigned width = 10; width <= 50; width += 20) {
        struct call *c CLEAN(finish) = fresh(2 * (50 + width), width);
        c->width = width;
        execute(c, run_two_to_ring);
        assert_int_equal(c->costs.rounds, 9);
        for (size_t i = 0; i < c->n; i++)
            assert_true(
                three_sum64(&c->out, i) ==
                (i % 2 == 0 ? c->x[i / 2] & mask_of(width) : c->y[i / 2] & mask_of(60 - width)));
    }
}

int main(void)
{
    mpf_set_default_prec(320);
    mpf_init(pi);
    add_arctangent(pi, 16, 5);
    add_arctangent(pi, -4, 239);
    return three_each_kernel();
}
