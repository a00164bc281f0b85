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
    struct planes complement;
    TRY(party_planes(p, &complement, s, e->n));
    bits_not(p, planes_flat(&complement), planes_flat(&top));
    return bits_and_all(p, zero, &complement);
}

/* e = zero ? e << s : e, with zeros coming in; in one layer */
static enum err shift_if(struct party *p, struct planes *e, struct bits zero, unsigned s)
{
    struct move_term terms[EXPONENTIAL_DIGITS];
    struct planes change;
    TRY(party_planes(p, &change, e->width, e->n));
    for (unsigned k = 0; k < e->width; k++) {
        struct bits d = planes_plane(&change, k);
        bits_copy(d, planes_plane(e, k));
        if (k >= s)
            bits_xor(d, d, planes_plane(e, k - s));
        terms[k] = bits_product(d, d, zero);
    }
    TRY(bits_and_layer(p, terms, e->width));
    bits_xor(planes_flat(e), planes_flat(e), planes_flat(&change));
    return ERR_OK;
}

/*
 * Shifts E until its leading one is on top, by places whose bits are `places`: plane i weighs 2^i.
 */
static enum err normalise(struct party *p, struct planes *e, const struct planes *places)
{
    for (unsigned i = STEPS; i-- > 0;) {
        const struct scratch_mark mark = scratch_mark(p->scratch);
        struct bits zero = planes_plane(places, i);
        TRY(scratch_wiped(p->scratch, mark, top_is_zero(p, zero, e, 1u << i)));
        TRY(scratch_wiped(p->scratch, mark, shift_if(p, e, zero, 1u << i)));
    }
    return ERR_OK;
}

/* out = out + k ln 2 at INNER_BITS, from the bits of k */
static enum err add_times_ln2(struct party *p, struct share64 out, const struct planes *places)
{
    struct share64 bit;
    TRY(party_share64(p, &bit, out.n));
    for (unsigned i = 0; i < STEPS; i++) {
        TRY(convert_bit64(p, bit, planes_plane(places, i)));
        ring64_add_scaled(out, bit, ((LN2_40 << i) + 8) >> (40 - INNER_BITS));
    }
    return ERR_OK;
}

static enum err evaluate(struct party *p, struct share64 out, struct planes *e)
{
    const struct planes mantissa = planes_view(e, e->width - 1 - ELEMENTARY_ARGUMENT_BITS,
                                               ELEMENTARY_ARGUMENT_BITS);
    struct planes places;
    struct share64 t, ln;
    TRY(party_planes(p, &places, STEPS, out.n));
    TRY(party_share64(p, &t, out.n));
    TRY(party_share64(p, &ln, out.n));
    TRY(normalise(p, e, &places));
    TRY(convert_to_ring64(p, t, &mantissa));
    TRY(elementary_logarithm(p, ln, t));
    ring64_scale(out, ln, (uint64_t)0 - 1);
    TRY(add_times_ln2(p, out, &places));
    ring64_add_public(p, out, (uint64_t)0 - ((EXPONENTIAL_TOP * LN2_40 + 8) >> (40 - INNER_BITS)));
    return truncate_signed_ring64(p, out, out, INNER_BITS - GUMBEL_BITS);
}

enum err gumbel_evaluate(struct party *p, struct share64 out, struct planes *e)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_wiped(p->scratch, mark, evaluate(p, out, e));
}

static enum err sample(struct party *p, struct share64 out)
{
    struct planes e;
    TRY(party_planes(p, &e, EXPONENTIAL_DIGITS, out.n));
    TRY(exponential_sample(p, &e));
    return gumbel_evaluate(p, out, &e);
}

enum err gumbel_sample(struct party *p, struct share64 out)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_wiped(p->scratch, mark, sample(p, out));
}

double gumbel_error(void)
{
    const double digits = ldexp(1, GUMBEL_LEAST - EXPONENTIAL_LOWEST),
                 rounding = ldexp(1, -GUMBEL_BITS);
    const double argument = ldexp(1, -ELEMENTARY_ARGUMENT_BITS);
    /*
     * half a unit for each place of k whose multiple of ln 2 is rounded and for the constant; ln
     * 2's own, k + 5 times
     */
    const double ln2 = (40 - INNER_BITS + 1) * ldexp(1, -INNER_BITS - 1) +
                       (EXPONENTIAL_TOP + GUMBEL_LEAST + EXPONENTIAL_TOP) * 0x1p-41;
    return digits + rounding + argument + ELEMENTARY_LOGARITHM_ERROR + ln2;
}

double gumbel_epsilon(void)
{
    return 8 * gumbel_error();
}

/*
 * docs/protocols.md, "The selection, as ratios": its c, and what ln p~ may differ by from ln p
 * beside 2 eta.
 */
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
