#include "mpc/pair/labels.h"

#include "mpc/party/scratch.h"

#include <string.h>

size_t labels_rounded(size_t n)
{
    return (n + LABELS_BITS - 1) / LABELS_BITS * LABELS_BITS;
}

size_t labels_matrix(size_t n)
{
    return labels_rounded(n) * (LABELS_BITS / 8);
}

/* Rows of 128 columns of `words` words each. */
static void rows(const struct kernel *k, const uint64_t *column, size_t words,
                 struct pair_wire *row)
{
    uint64_t m[LABELS_BITS] __attribute__((aligned(64)));
    for (size_t w = 0; w < words; w++) {
        for (unsigned j = 0; j < LABELS_BITS; j++)
            m[j] = column[j * words + w];
        k->transpose(m, 2);
        for (unsigned i = 0; i < 64; i++)
            row[64 * w + i] = (struct pair_wire){m[i], m[64 + i]};
    }
}

enum err labels_of_bits(struct pair *keeper, const uint64_t *bits, size_t n, uint8_t *matrix,
                        struct pair_wire *active)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(keeper->scratch);
    const size_t words = labels_rounded(n) / 64, size = words * sizeof(uint64_t);
    uint64_t *t, *u;
    if (keeper->end != PAIR_KEEPER || !keeper->ready)
        return ERR_MISUSE;
    TRY(scratch_array(keeper->scratch, &t, LABELS_BITS * words));
    TRY(scratch_array(keeper->scratch, &u, words));
    for (unsigned j = 0; j < LABELS_BITS; j++) {
        uint64_t *column = t + j * words;
        TRY(prg_fill(keeper->stream[0][j], column, size));
        TRY(prg_fill(keeper->stream[1][j], u, size));
        for (size_t w = 0; w < words; w++)
            u[w] ^= column[w] ^ bits[w];
        memcpy(matrix + j * size, u, size);
    }
    rows(keeper->kernel, t, words, active);
    return ERR_OK;
}

enum err labels_of_matrix(struct pair *provider, const uint8_t *matrix, size_t n,
                          struct pair_wire *zero)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(provider->scratch);
    const size_t words = labels_rounded(n) / 64, size = words * sizeof(uint64_t);
    uint64_t *q, *u;
    if (provider->end != PAIR_PROVIDER || !provider->ready)
        return ERR_MISUSE;
    TRY(scratch_array(provider->scratch, &q, LABELS_BITS * words));
    TRY(scratch_array(provider->scratch, &u, words));
    for (unsigned j = 0; j < LABELS_BITS; j++) {
        const uint64_t half = j < 64 ? provider->delta.low : provider->delta.high,
                       mask = 0 - (half >> (j % 64) & 1);
        uint64_t *column = q + j * words;
        TRY(prg_fill(provider->stream[0][j], column, size));
        memcpy(u, matrix + j * size, size);
        for (size_t w = 0; w < words; w++)
            column[w] ^= mask & u[w];
    }
    rows(provider->kernel, q, words, zero);
    return ERR_OK;
}

enum err labels_of_seed(const uint8_t seed[16], struct pair_wire *active, size_t n)
{
    struct prg *prg CLEAN(prg_free) = NULL;
    TRY(prg_new(&prg, seed));
    return prg_fill(prg, active, n * sizeof *active);
}
