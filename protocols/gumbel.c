#include "protocols/gumbel.h"

#include "mpc/circuits/convert.h"
#include "mpc/circuits/elementary.h"
#include "mpc/circuits/leading.h"
#include "mpc/circuits/ring.h"
#include "mpc/circuits/truncate.h"

#include <math.h>

#define INNER_BITS ELEMENTARY_LOGARITHM_BITS /* of g before the last rounding */
#define PLACE_BITS 7                         /* of k */

/* round(ln 2 * 2^40) */
#define LN2_40 UINT64_C(762123384786)

/*
 * k ln 2 at INNER_BITS for each place of the leading one, k places below the top: the sum over the
 * bits of k. Without any digit, k is all ones.
 */
static void multiples_of_ln2(uint64_t multiple[EXPONENTIAL_DIGITS + 1])
{
    for (unsigned i = 0; i <= EXPONENTIAL_DIGITS; i++) {
        const unsigned k = i < EXPONENTIAL_DIGITS ? EXPONENTIAL_DIGITS - 1 - i
                                                  : (1 << PLACE_BITS) - 1;
        multiple[i] = 0;
        for (unsigned b = 0; b < PLACE_BITS; b++)
            if (k >> b & 1)
                multiple[i] += ((LN2_40 << b) + 8) >> (40 - INNER_BITS);
    }
}

/* E = 2^(5 - k) (1 + t): t and, at INNER_BITS, k ln 2, as numbers in the halves of `numbers`. */
static enum err take_apart(struct party *p, struct share64 numbers, const struct planes *e)
{
    uint64_t multiple[EXPONENTIAL_DIGITS + 1];
    struct planes place, t, k_ln2;
    TRY(party_planes(p, &place, EXPONENTIAL_DIGITS + 1, e->n));
    TRY(party_planes(p, &t, ELEMENTARY_ARGUMENT_BITS, e->n));
    TRY(party_planes(p, &k_ln2, PLACE_BITS + INNER_BITS, e->n));
    TRY(leading_places(p, &place, e));
    multiples_of_ln2(multiple);
    leading_choose(&k_ln2, &place, multiple);
    TRY(leading_digits(p, &t, &place, e));
    return convert_two_to_ring64(p, numbers, &t, &k_ln2);
}

enum err gumbel_evaluate(struct party *p, struct share64 out, const struct planes *e)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    const size_t lanes = 64 * bits_words(out.n);
    struct share64 numbers, ln;
    TRY(party_share64(p, &numbers, 2 * lanes));
    TRY(party_share64(p, &ln, out.n));
    TRY(take_apart(p, numbers, e));
    TRY(elementary_logarithm(p, ln, share64_view(numbers, 0, out.n)));
    ring64_copy(out, share64_view(numbers, lanes, out.n));
    ring64_add_scaled(out, ln, (uint64_t)0 - 1);
    ring64_add_public(p, out, (uint64_t)0 - ((EXPONENTIAL_TOP * LN2_40 + 8) >> (40 - INNER_BITS)));
    return truncate_signed_ring64(p, out, out, INNER_BITS - GUMBEL_BITS);
}

enum err gumbel_sample(struct party *p, struct share64 out)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct planes e;
    TRY(party_planes(p, &e, EXPONENTIAL_DIGITS, out.n));
    TRY(exponential_sample(p, &e));
    return gumbel_evaluate(p, out, &e);
}

double gumbel_error(void)
{
    const double digits = ldexp(1, GUMBEL_LEAST - EXPONENTIAL_LOWEST),
                 rounding = ldexp(1, -GUMBEL_BITS);
    const double argument = ldexp(1, -ELEMENTARY_ARGUMENT_BITS);
    /*
     * half a unit for each place of k whose multiple of ln 2 is rounded, and for the constant; the
     * error of ln 2 itself, k + 5 times
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
 * docs/proofs.md, "The selection, as ratios": its c, and by how much ln p~ may differ from
 * ln p besides 2 eta.
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
