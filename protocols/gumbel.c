#include "protocols/gumbel.h"

#include "mpc/convert.h"
#include "mpc/elementary.h"
#include "mpc/ring.h"
#include "mpc/truncate.h"

#include <math.h>

#define INNER_BITS ELEMENTARY_LOGARITHM_BITS /* of g before the last rounding */
#define STEPS 7

/* round(ln 2 * 2^40) */
#define LN2_40 UINT64_C(762123384786)

/* zero = whether the top `s` planes are all 0 */
static enum err top_is_zero(struct party *p, struct bits zero, const struct planes *e, unsigned s)
{
    const struct planes top = planes_view(e, e->width - s, s);
    struct planes complement = {0};
    TRY(planes_new(&complement, s, e->n));
    bits_not(p, planes_flat(&complement), planes_flat(&top));
    enum err result = bits_and_all(p, zero, &complement);
    planes_free(&complement);
    return result;
}

/* e = zero ? e << s : e, with zeros coming in; in one layer */
static enum err shift_if(struct party *p, struct planes *e, struct bits zero, unsigned s)
{
    struct move_term terms[EXPONENTIAL_DIGITS];
    struct planes change = {0};
    enum err result;
    TRY(planes_new(&change, e->width, e->n));
    for (unsigned k = 0; k < e->width; k++) {
        struct bits d = planes_plane(&change, k);
        bits_copy(d, planes_plane(e, k));
        if (k >= s)
            bits_xor(d, d, planes_plane(e, k - s));
        terms[k] = bits_product(d, d, zero);
    }
    result = bits_and_layer(p, terms, e->width);
    bits_xor(planes_flat(e), planes_flat(e), planes_flat(&change));
    planes_free(&change);
    return result;
}

/* out = k ln 2 at INNER_BITS, from the bits of k: places[i] has weight 2^i */
static enum err shift_times_ln2(struct party *p, struct share64 out, const struct planes *places)
{
    struct share64 bit = {0};
    enum err e = share64_new(&bit, STEPS * out.n);
    for (unsigned i = 0; e == ERR_OK && i < STEPS; i++) {
        struct share64 b = share64_view(bit, i * out.n, out.n);
        e = convert_bit64(p, b, planes_plane(places, i));
        if (e == ERR_OK)
            ring64_add_scaled(out, b, ((LN2_40 << i) + 8) >> (40 - INNER_BITS));
    }
    share64_free(&bit);
    return e;
}

static enum err evaluate(struct party *p, struct share64 out, struct planes *e,
                         struct planes *places, struct share64 t, struct share64 ln)
{
    const struct planes mantissa = planes_view(e, e->width - 1 - ELEMENTARY_ARGUMENT_BITS,
                                               ELEMENTARY_ARGUMENT_BITS);
    for (unsigned i = STEPS; i-- > 0;) {
        TRY(top_is_zero(p, planes_plane(places, i), e, 1u << i));
        TRY(shift_if(p, e, planes_plane(places, i), 1u << i));
    }
    TRY(convert_to_ring64(p, t, &mantissa));
    TRY(elementary_logarithm(p, ln, t));
    ring64_scale(out, ln, (uint64_t)0 - 1);
    TRY(shift_times_ln2(p, out, places));
    ring64_add_public(p, out, (uint64_t)0 - ((EXPONENTIAL_TOP * LN2_40 + 8) >> (40 - INNER_BITS)));
    return truncate_signed_ring64(p, out, out, INNER_BITS - GUMBEL_BITS);
}

enum err gumbel_evaluate(struct party *p, struct share64 out, struct planes *e)
{
    struct planes places = {0};
    struct share64 t = {0}, ln = {0};
    enum err result = planes_new(&places, STEPS, out.n);
    if (result == ERR_OK)
        result = share64_new(&t, out.n);
    if (result == ERR_OK)
        result = share64_new(&ln, out.n);
    if (result == ERR_OK)
        result = evaluate(p, out, e, &places, t, ln);
    planes_free(&places);
    share64_free(&t);
    share64_free(&ln);
    return result;
}

enum err gumbel_sample(struct party *p, struct share64 out)
{
    struct planes e = {0};
    enum err result = planes_new(&e, EXPONENTIAL_DIGITS, out.n);
    if (result == ERR_OK)
        result = exponential_sample(p, &e);
    if (result == ERR_OK)
        result = gumbel_evaluate(p, out, &e);
    planes_free(&e);
    return result;
}

double gumbel_error(void)
{
    const double digits = ldexp(1, GUMBEL_LEAST - EXPONENTIAL_LOWEST),
                 rounding = ldexp(1, -GUMBEL_BITS);
    const double argument = ldexp(1, -ELEMENTARY_ARGUMENT_BITS);
    /* half a unit for each place of k whose multiple of ln 2 is rounded and for the constant; ln 2's own, k + 5 times */
    const double ln2 = (40 - INNER_BITS + 1) * ldexp(1, -INNER_BITS - 1) +
                       (EXPONENTIAL_TOP + GUMBEL_LEAST + EXPONENTIAL_TOP) * 0x1p-41;
    return digits + rounding + argument + ELEMENTARY_LOGARITHM_ERROR + ln2;
}

double gumbel_epsilon(void)
{
    return 8 * gumbel_error();
}

/* docs/protocols.md, "The selection, as ratios": its c, and what ln p~ may differ by from ln p beside 2 eta. */
double gumbel_ratio(double candidates)
{
    const double low = exponential_ratio(EXPONENTIAL_TOP - 1),
                 all = exponential_ratio(EXPONENTIAL_TOP);
    const double c = 1.01 * (low + all * exp(-14) + exp(-46) + 0x1p-90);
    return (candidates + 1) * c + 1.01 * exp(candidates * all - 18) + 1.1 * 0x1p-14 +
           candidates * 0x1p-62;
}

double gumbel_missed(double candidates, double epsilon)
{
    if (candidates > GUMBEL_CANDIDATES_MAX)
        return INFINITY;
    return exp(candidates * exponential_ratio(EXPONENTIAL_TOP) + epsilon) * 0x1p-77;
}

double gumbel_tau(void)
{
    return exponential_tau() + ldexp(1, -GUMBEL_LEAST);
}
