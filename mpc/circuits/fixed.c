#include "mpc/circuits/fixed.h"

#include "mpc/circuits/ring.h"
#include "mpc/circuits/truncate.h"
#include "mpc/kernel/width.h"

#define WIDTH 64
#include "mpc/circuits/fixed_body.inc"

#define WIDTH 128
#include "mpc/circuits/fixed_body.inc"

enum err fixed_polynomial64(struct party *p, struct share64 out, struct share64 x, unsigned f,
                            const int64_t *c, unsigned degree)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 power;
    TRY(powers64(p, &power, x, f, degree));
    ring64_scale(out, share64_view(power, 0, out.n), (uint64_t)c[1]);
    for (unsigned k = 2; k <= degree; k++)
        ring64_add_scaled(out, share64_view(power, (k - 1) * out.n, out.n), (uint64_t)c[k]);
    ring64_add_public(p, out, (uint64_t)c[0] << f);
    return ERR_OK;
}

/* Coefficient k of lane i at k n + i, of one component. */
static void choose(word128 *out, size_t n, const int64_t *coefficient, unsigned degree,
                   const word128 *chosen, size_t rows)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k <= degree; k++) {
            word128 sum = 0;
            for (size_t s = 0; s < rows; s++) {
                const word128 c = (word128)coefficient[s * (degree + 1) + k];
                sum += chosen[s * n + i] * c;
            }
            out[k * n + i] = sum;
        }
}

enum err fixed_chosen_polynomial128(struct party *p, struct share128 out, struct share128 x,
                                    unsigned f, const int64_t *coefficient, unsigned degree,
                                    struct share128 chosen)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const size_t n = x.n;
    struct move_term terms[FIXED_DEGREE_MAX];
    struct share128 power, c;
    TRY(powers128(p, &power, x, f, degree));
    TRY(party_share128(p, &c, (degree + 1) * n));
    choose(c.a, n, coefficient, degree, chosen.a, chosen.n / n);
    choose(c.b, n, coefficient, degree, chosen.b, chosen.n / n);
    for (unsigned k = 1; k <= degree; k++)
        terms[k - 1] = ring128_product(out, share128_view(c, k * n, n),
                                       share128_view(power, (k - 1) * n, n));
    TRY(ring128_sums(p, terms, 1, degree));
    ring128_add_scaled(out, share128_view(c, 0, n), (word128)1 << f);
    return ERR_OK;
}
