#include "protocols/coin.h"

#include "base/memory.h"
#include "mpc/below.h"
#include "mpc/convert.h"
#include "mpc/open.h"
#include "mpc/ring.h"

#define BITS 64

enum err coin_flip(struct party *p, struct planes *out, const uint64_t *threshold)
{
    struct scratch_mark mark = scratch_mark(p->scratch);
    struct planes digits; /* complements of random digits: random digits */
    struct bits all;
    unsigned positions = 0;
    enum err e;
    for (unsigned c = 0; c < out->width; c++)
        positions += below_positions(threshold[c], BITS);
    e = party_planes(p, &digits, positions, out->n);
    all = planes_flat(&digits);
    if (e == ERR_OK)
        e = party_random_bits(p, &all);
    if (e == ERR_OK)
        e = below_constants(p, out, &digits, BITS, threshold);
    scratch_release(p->scratch, mark);
    return e;
}

/* --- uniform numbers ------------------------------------------------------------------------------- */

/* Candidates of one batch. */
struct candidates {
    struct planes number;
    struct planes complement;
    struct planes below; /* one plane */
    struct share64 value;
    uint64_t *accepted;
};

static void candidates_free(struct candidates *c)
{
    planes_free(&c->number);
    planes_free(&c->complement);
    planes_free(&c->below);
    share64_free(&c->value);
    memory_free(&c->accepted);
}

static enum err candidates_new(struct candidates *c, unsigned width, size_t n)
{
    *c = (struct candidates){.accepted = memory_words(bits_words(n), sizeof *c->accepted)};
    if (c->accepted == NULL)
        return ERR_NOMEM;
    TRY(planes_new(&c->number, width, n));
    TRY(planes_new(&c->complement, width, n));
    TRY(planes_new(&c->below, 1, n));
    return share64_new(&c->value, n);
}

static enum err try_candidates(struct party *p, struct candidates *c, uint64_t bound)
{
    struct bits all = planes_flat(&c->number);
    const unsigned width = c->number.width, unseen = width - below_positions(bound, width);
    const struct planes seen = planes_view(&c->complement, unseen, width - unseen);
    TRY(party_random_bits(p, &all));
    bits_not(p, planes_flat(&c->complement), all);
    TRY(below_constants(p, &c->below, &seen, width, &bound));
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
