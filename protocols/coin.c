#include "protocols/coin.h"

#include "base/memory.h"
#include "mpc/compare.h"

#include <string.h>

#define BITS 64

/* Lanes are coin-major: coin c of lane i is lane 64 words c + i, so every coin starts at a word. */
static enum err flip(struct party *p, struct planes *out, struct planes *u, struct bits heads,
                     uint64_t *bound, const uint64_t *threshold)
{
    size_t words = bits_words(out->n), lane_words = out->width * words;
    const struct bits all_u = planes_flat(u);
    for (unsigned k = 0; k < BITS; k++)
        for (unsigned c = 0; c < out->width; c++)
            memset(bound + k * lane_words + c * words, threshold[c] >> k & 1 ? 0xff : 0,
                   words * sizeof *bound);
    TRY(party_random_bits(p, &(struct bits){all_u.a, all_u.b, all_u.n}));
    TRY(compare_public(p, heads, u, bound));
    bits_copy(planes_flat(out), heads);
    return ERR_OK;
}

enum err coin_flip(struct party *p, struct planes *out, const uint64_t *threshold)
{
    size_t lanes = 64 * bits_words(out->n) * out->width;
    struct planes u = {0};
    struct bits heads = {0};
    uint64_t *bound = memory_words(BITS * bits_words(lanes), sizeof *bound);
    enum err e = bound == NULL ? ERR_NOMEM : planes_new(&u, BITS, lanes);
    if (e == ERR_OK)
        e = bits_new(&heads, lanes);
    if (e == ERR_OK)
        e = flip(p, out, &u, heads, bound, threshold);
    planes_free(&u);
    bits_free(&heads);
    memory_free(&bound);
    return e;
}
