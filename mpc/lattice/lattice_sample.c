#include "mpc/lattice/lattice_sample.h"

#include "base/secret.h"

#define FLOOD_BITS 210
#define BUFFER 1024

enum err lattice_ternary(struct prg *prg, int8_t x[LATTICE_N])
{
    uint8_t bytes[BUFFER];
    for (size_t i = 0, at = BUFFER; i < LATTICE_N; at++) {
        if (at >= BUFFER) {
            TRY(prg_fill(prg, bytes, BUFFER));
            at = 0;
        }
        if (bytes[at] < 255)
            x[i++] = (int8_t)(bytes[at] % 3 - 1);
    }
    secret_wipe(bytes, sizeof bytes);
    return ERR_OK;
}

static int8_t heads(uint64_t coins)
{
    return (int8_t)__builtin_popcountll(coins & (((uint64_t)1 << LATTICE_COINS) - 1));
}

enum err lattice_errors(struct prg *prg, int8_t x[LATTICE_N])
{
    uint64_t coins[BUFFER / 8];
    for (size_t i = 0; i < LATTICE_N; i++) {
        const size_t at = i % (BUFFER / 8);
        if (at == 0)
            TRY(prg_fill(prg, coins, sizeof coins));
        x[i] = (int8_t)(heads(coins[at]) - heads(coins[at] >> 32));
    }
    secret_wipe(coins, sizeof coins);
    return ERR_OK;
}

enum err lattice_uniform(const struct lattice_ring *ring, struct prg *prg, struct lattice_poly *x)
{
    for (unsigned k = 0; k < LATTICE_PRIMES; k++) {
        const uint64_t p = lattice_prime(ring, k)->p;
        TRY(prg_fill(prg, x->w[k], sizeof x->w[k]));
        for (size_t i = 0; i < LATTICE_N; i++) {
            x->w[k][i] >>= 64 - LATTICE_BITS;
            while (x->w[k][i] >= p) {
                TRY(prg_fill(prg, &x->w[k][i], sizeof x->w[k][i]));
                x->w[k][i] >>= 64 - LATTICE_BITS;
            }
        }
    }
    return ERR_OK;
}

/* 210 bits in four words, the top one of 18: their number less 2^209, modulo a prime. */
static uint64_t flood_residue(const struct prime *f, const uint64_t word[4])
{
    uint64_t x = word[3], half = (uint64_t)1 << (FLOOD_BITS - 1 - 192);
    for (unsigned k = 3; k-- > 0;) {
        x = prime_wide(f, (word128)x << 64 | word[k]);
        half = prime_wide(f, (word128)half << 64);
    }
    return prime_less(f, x, half);
}

enum err lattice_flood(const struct lattice_ring *ring, struct prg *prg, struct lattice_poly *x,
                       uint64_t low[LATTICE_N])
{
    uint64_t words[BUFFER / 8];
    for (size_t i = 0; i < LATTICE_N; i++) {
        uint64_t *word = words + 4 * i % (BUFFER / 8);
        if (word == words)
            TRY(prg_fill(prg, words, sizeof words));
        word[3] >>= 256 - FLOOD_BITS;
        low[i] = word[0];
        for (unsigned k = 0; k < LATTICE_PRIMES; k++)
            x->w[k][i] = flood_residue(lattice_prime(ring, k), word);
    }
    secret_wipe(words, sizeof words);
    return ERR_OK;
}
