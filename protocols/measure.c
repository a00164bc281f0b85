#include "protocols/measure.h"

#include "mpc/circuits/ring.h"
#include "mpc/move/open.h"

static bool is_permitted(const struct counts *counts, uint64_t m)
{
    return m >= MEASURE_MULTIPLIER_MIN && m <= MEASURE_MULTIPLIER_MAX &&
           m >> (62 - counts->bits) == 0;
}

enum err measure_open(struct party *p, const struct counts *counts, struct tape *tape,
                      const uint32_t *queries, size_t count, const uint64_t *m, int64_t *values)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct share64 noisy;
    size_t at = 0, n = 0;
    for (size_t k = 0; k < count; k++) {
        if (queries[k] >= counts->queries || !is_permitted(counts, m[k]))
            return ERR_REFUSED;
        n += counts->cells[queries[k]];
    }
    TRY(party_share64(p, &noisy, n));
    TRY(tape_take(tape, NOISE_GAUSS, noisy));
    for (size_t k = 0; k < count; k++) {
        struct share64 x = counts_query(counts, queries[k]);
        ring64_add_scaled(share64_view(noisy, at, x.n), x, m[k]);
        at += x.n;
    }
    return open_ring64(p, OPEN_NOISY_MARGINAL, noisy, (uint64_t *)values);
}

enum err measure_open_sums(struct party *p, enum party_reason reason, struct share64 sums,
                           struct tape *tape, uint64_t m, int64_t *values)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct share64 noisy;
    TRY(party_share64(p, &noisy, sums.n));
    TRY(tape_take(tape, NOISE_GAUSS, noisy));
    ring64_add_scaled(noisy, sums, m);
    return open_ring64(p, reason, noisy, (uint64_t *)values);
}
