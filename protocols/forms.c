#include "protocols/forms.h"

#include "mpc/open.h"
#include "protocols/discrete.h"
#include "protocols/gauss.h"

_Static_assert(FORMS_NOISE_BITS >= GAUSS_BITS + 4, "a Gaussian is below 2^4 deviations");
_Static_assert(FORMS_NOISE_BITS >= DISCRETE_DIGITS, "and a discrete one below its digits");

/* Whether the query is there and nothing wraps. */
static bool permitted(const struct counts *counts, const struct form *form, const uint64_t *total)
{
    uint64_t largest = 0, most;
    if (form->query >= counts->queries)
        return false;
    for (size_t i = 0; i < counts->cells[form->query]; i++) {
        const int64_t v = form->weight[i];
        const uint64_t size = v < 0 ? -(uint64_t)v : (uint64_t)v;
        largest = size > largest ? size : largest;
    }
    return !__builtin_mul_overflow(largest, total[form->query], &most) &&
           most <= (uint64_t)INT64_MAX - ((uint64_t)1 << FORMS_NOISE_BITS);
}

/* Adds <v, x> to word k of y. */
static void add_form(const struct party *p, struct share64 y, size_t k, struct share64 x,
                     const int64_t *weight)
{
    const uint64_t *v = (const uint64_t *)weight;
    y.a[k] += p->kernel->dot64(x.a, v, x.n);
    y.b[k] += p->kernel->dot64(x.b, v, x.n);
}

enum err forms_open(struct party *p, const struct counts *counts, struct tape *tape,
                    const struct form *form, size_t count, const uint64_t *total, int64_t *values)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct share64 noisy;
    for (size_t k = 0; k < count; k++)
        if (!permitted(counts, &form[k], total))
            return ERR_REFUSED;
    TRY(party_share64(p, &noisy, count));
    TRY(tape_take(tape, TAPE_GAUSS, noisy));
    for (size_t k = 0; k < count; k++)
        add_form(p, noisy, k, counts_query(counts, form[k].query), form[k].weight);
    return open_ring64(p, OPEN_NOISY_FORM, noisy, (uint64_t *)values);
}
