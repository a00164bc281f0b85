#include "mpc/kernel/prime.h"

#define MASK_WORDS 3 /* that become an element */
#define TILE 64

void prime_prepare(struct prime *f, uint64_t p)
{
    f->p = p;
    f->inverse = (uint64_t)(((word128)1 << 64) / p);
    f->reciprocal = (uint64_t)(((word128)1 << 122) / p);
    f->shift = (uint64_t)(((word128)1 << 64) % p);
    f->shift_over = (uint64_t)(((word128)f->shift << 64) / p);
}

/* --- primes: what is public may divide -------------------------------------------------------- */

static uint64_t power(uint64_t x, uint64_t e, uint64_t n)
{
    uint64_t y = 1;
    for (; e > 0; e >>= 1) {
        if (e & 1)
            y = (uint64_t)((word128)y * x % n);
        x = (uint64_t)((word128)x * x % n);
    }
    return y;
}

/* Whether n = 2^twos odd + 1 passes the test of Miller and Rabin with this base. */
static bool stands(uint64_t n, uint64_t odd, unsigned twos, uint64_t base)
{
    uint64_t x = power(base, odd, n);
    if (x == 1 || x == n - 1)
        return true;
    for (unsigned k = 1; k < twos; k++) {
        x = (uint64_t)((word128)x * x % n);
        if (x == n - 1)
            return true;
    }
    return false;
}

/* The first 12 primes suffice as bases below 3.18 10^23 (Sorenson and Webster). */
bool prime_is(uint64_t n)
{
    static const uint8_t bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    unsigned twos = 0;
    if (n < 2)
        return false;
    for (unsigned k = 0; k < sizeof bases; k++)
        if (n % bases[k] == 0)
            return n == bases[k];
    while (((n - 1) >> twos & 1) == 0)
        twos++;
    for (unsigned k = 0; k < sizeof bases; k++)
        if (!stands(n, (n - 1) >> twos, twos, bases[k]))
            return false;
    return true;
}

enum err prime_choose(struct prime *f, struct prg *coin)
{
    uint64_t p;
    do {
        TRY(prg_fill(coin, &p, sizeof p));
        p = p >> (65 - PRIME_BITS) | (uint64_t)1 << (PRIME_BITS - 1) | 1;
    } while (!prime_is(p));
    prime_prepare(f, p);
    return ERR_OK;
}

enum err prime_draw(const struct prime *f, struct prg *coin, uint64_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        do {
            TRY(prg_fill(coin, &x[i], sizeof *x));
            x[i] >>= 64 - PRIME_BITS;
        } while (x[i] >= f->p);
    return ERR_OK;
}

enum err prime_mask(const struct prime *f, struct prg *prg, uint64_t *x, size_t n)
{
    for (size_t i = 0, k; i < n; i += k) {
        uint64_t words[MASK_WORDS * TILE];
        k = n - i < TILE ? n - i : TILE;
        TRY(prg_fill(prg, words, MASK_WORDS * k * sizeof *words));
        for (size_t j = 0; j < k; j++) {
            const uint64_t *w = words + MASK_WORDS * j;
            const uint64_t high = prime_wide(f, (word128)w[2] << 64 | w[1]);
            x[i + j] = prime_wide(f, (word128)high << 64 | w[0]);
        }
    }
    return ERR_OK;
}
