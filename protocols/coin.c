#include "protocols/coin.h"

#include "base/memory.h"
#include "mpc/compare.h"
#include "mpc/convert.h"
#include "mpc/open.h"
#include "mpc/ring.h"

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

/* --- uniform numbers ------------------------------------------------------------------------------- */

/* Candidates of one batch. */
struct candidates {
    struct planes number;
    struct planes below; /* one plane */
    struct share64 value;
    uint64_t *limit, *accepted;
};

static void candidates_free(struct candidates *c)
{
    planes_free(&c->number);
    planes_free(&c->below);
    share64_free(&c->value);
    memory_free(&c->limit);
    memory_free(&c->accepted);
}

static enum err candidates_new(struct candidates *c, unsigned width, size_t n)
{
    *c = (struct candidates){
        .limit = memory_words(width * bits_words(n), sizeof *c->limit),
        .accepted = memory_words(bits_words(n), sizeof *c->accepted),
    };
    if (c->limit == NULL || c->accepted == NULL)
        return ERR_NOMEM;
    TRY(planes_new(&c->number, width, n));
    TRY(planes_new(&c->below, 1, n));
    return share64_new(&c->value, n);
}

static enum err try_candidates(struct party *p, struct candidates *c, uint64_t bound)
{
    struct bits all = planes_flat(&c->number);
    size_t words = bits_words(c->number.n);
    TRY(party_random_bits(p, &all));
    for (unsigned k = 0; k < c->number.width; k++)
        memset(c->limit + k * words, bound >> k & 1 ? 0xff : 0, words * sizeof *c->limit);
    TRY(compare_public(p, planes_plane(&c->below, 0), &c->number, c->limit));
    TRY(convert_to_ring64(p, c->value, &c->number));
    return open_bits(p, OPEN_REJECT_BIT, planes_plane(&c->below, 0), c->accepted);
}

enum err coin_uniform(struct party *p, struct share64 out, uint64_t bound)
{
    unsigned width = 0;
    size_t made = 0;
    enum err e = bound == 0 || bound >> 62 != 0 ? ERR_RANGE : ERR_OK;
    while (e == ERR_OK && bound >> width != 0)
        width++;
    while (e == ERR_OK && made < out.n) {
        /* at least half of all candidates are below the bound, unless it is a power of two: half */
        size_t n = (2 * (out.n - made) + 127) / 64 * 64;
        struct candidates c;
        e = candidates_new(&c, width, n);
        if (e == ERR_OK)
            e = try_candidates(p, &c, bound);
        for (size_t i = 0; e == ERR_OK && i < n && made < out.n; i++)
            if (c.accepted[i / 64] >> (i % 64) & 1)
                ring64_copy(share64_view(out, made++, 1), share64_view(c.value, i, 1));
        candidates_free(&c);
    }
    return e;
}
