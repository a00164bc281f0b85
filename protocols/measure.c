#include "protocols/measure.h"

#include "mpc/open.h"
#include "mpc/ring.h"

#define MULTIPLIER_MIN 256
#define MULTIPLIER_MAX ((uint64_t)1 << 40)

enum err measure_open(struct party *p, const struct counts *counts, struct tape *tape,
                      const uint32_t *queries, size_t count, uint64_t m, int64_t *values)
{
    struct share64 noisy = {0};
    size_t n = 0, at = 0;
    enum err e;
    if (m < MULTIPLIER_MIN || m > MULTIPLIER_MAX || m >> (62 - counts->bits.width) != 0)
        return ERR_REFUSED;
    for (size_t k = 0; k < count; k++) {
        if (queries[k] >= counts->queries)
            return ERR_REFUSED;
        n += counts->cells[queries[k]];
    }
    e = share64_new(&noisy, n);
    if (e == ERR_OK)
        e = tape_take(tape, TAPE_GAUSS, noisy);
    for (size_t k = 0; e == ERR_OK && k < count; k++) {
        struct share64 x = counts_query(counts, queries[k]);
        ring64_add_scaled(share64_view(noisy, at, x.n), x, m);
        at += x.n;
    }
    if (e == ERR_OK)
        e = open_ring64(p, OPEN_NOISY_MARGINAL, noisy, (uint64_t *)values);
    share64_free(&noisy);
    return e;
}
