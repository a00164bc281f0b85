#include "mpc/circuits/cached.h"

#include "base/memory.h"
#include "mpc/circuits/convert.h"
#include "mpc/move/crew.h"

#include <string.h>

#define TILE_BITS ((size_t)1 << 26)       /* kept bits made at a time */
#define BLOCK ((size_t)64 * KERNEL_BLOCK) /* lanes whose planes stand together */

/* --- what is kept ----------------------------------------------------------------------------- */

/* Consecutive bits: [their value < v] for v = 1 .. 2^width - 1. */
struct cached_group {
    unsigned width;
    struct bits less[CACHED_KEPT];
};

/* Joins two groups of a digit: products for each value of the high group except the last. */
struct joint {
    struct cached_group *to;
    struct cached_group low, high, out;
};

struct digits {
    unsigned groups[CACHED_DIGITS];
    struct cached_group group[CACHED_DIGITS][5];
};

static unsigned values(const struct cached_group *g)
{
    return 1u << g->width;
}

/*
 * [value < v] of low and high together, v = vh 2^low + vl:  [high < vh] ^ [high = vh] [low < vl].
 * The last vh needs no product, since the [high = vh] add up to 1.
 */
static enum err join_terms(struct party *p, struct joint *j, size_t n, struct move_term *terms,
                           size_t *count)
{
    const unsigned lows = values(&j->low), highs = values(&j->high);
    struct planes room, equal;
    TRY(party_planes(p, &room, (lows - 1) * highs, n));
    TRY(party_planes(p, &equal, highs - 2, n));
    j->out.width = j->low.width + j->high.width;
    for (unsigned vh = 0, k = 0; vh < highs; vh++) {
        const bool last = vh + 1 == highs;
        const struct bits hot = vh == 0 || last ? j->high.less[1] : planes_plane(&equal, vh - 1);
        j->out.less[vh * lows] = j->high.less[vh];
        if (vh > 0 && !last)
            bits_xor(hot, j->high.less[vh], j->high.less[vh + 1]);
        for (unsigned vl = 1; vl < lows; vl++, k++) {
            const struct bits out = planes_plane(&room, k);
            j->out.less[vh * lows + vl] = out;
            if (!last)
                terms[(*count)++] = vh == 0 ? bits_product(out, hot, j->low.less[vl])
                                            : bits_product_plus(out, hot, j->low.less[vl],
                                                                j->high.less[vh]);
        }
    }
    return ERR_OK;
}

/* For the last vh: [high < vh] ^ [low < vl] minus the products of all others. */
static void join_last(const struct joint *j)
{
    const unsigned lows = values(&j->low), highs = values(&j->high);
    for (unsigned vl = 1; vl < lows; vl++) {
        const struct bits out = j->out.less[(highs - 1) * lows + vl];
        bits_xor(out, j->low.less[vl], j->high.less[highs - 1]);
        for (unsigned vh = 0; vh + 1 < highs; vh++) {
            bits_xor(out, out, j->out.less[vh * lows + vl]);
            if (vh > 0)
                bits_xor(out, out, j->high.less[vh]);
        }
    }
    *j->to = j->out;
}

/* Joins neighbours in all digits, in one exchange; says whether there were any. */
static enum err join_all(struct party *p, struct digits *d, unsigned digits, size_t n, bool *joined)
{
    struct joint *joints;
    struct move_term *terms;
    size_t count = 0, joins = 0;
    TRY(scratch_array(p->scratch, &joints, 2 * CACHED_DIGITS));
    TRY(scratch_array(p->scratch, &terms, (size_t)CACHED_KEPT * CACHED_DIGITS));
    for (unsigned k = 0; k < digits; k++) {
        struct cached_group *g = d->group[k];
        unsigned left = 0;
        for (unsigned i = 0; i < d->groups[k]; i += 2, left++) {
            if (i + 1 == d->groups[k]) {
                g[left] = g[i];
                continue;
            }
            joints[joins] = (struct joint){&g[left], g[i], g[i + 1], {0}};
            TRY(join_terms(p, &joints[joins++], n, terms, &count));
        }
        d->groups[k] = left;
    }
    *joined = joins > 0;
    if (joins > 0)
        TRY(bits_terms(p, terms, count));
    for (size_t i = 0; i < joins; i++)
        join_last(&joints[i]);
    return ERR_OK;
}

/* Z of digit i is the AND of all [digit = 0] from i up: a parallel prefix from the top. */
static enum err prefix(struct party *p, struct bits *view, struct bits *spare, unsigned digits)
{
    for (unsigned d = 1; d < digits; d *= 2) {
        struct move_term terms[CACHED_DIGITS];
        size_t count = 0;
        for (unsigned i = 0; i < digits; i++)
            if (i / d % 2 != 0) {
                terms[count] = bits_product(spare[count], view[i], view[i / d * d - 1]);
                count++;
            }
        TRY(bits_terms(p, terms, count));
        count = 0;
        for (unsigned i = 0; i < digits; i++)
            if (i / d % 2 != 0) {
                const struct bits old = view[i];
                view[i] = spare[count];
                spare[count++] = old;
            }
    }
    return ERR_OK;
}

static enum err make_zeros(struct party *p, const struct cached *c, struct digits *d, size_t n)
{
    struct bits view[CACHED_DIGITS], spare[CACHED_DIGITS];
    struct planes room;
    TRY(party_planes(p, &room, c->digits + c->digits / 2, n));
    for (unsigned i = 0; i < c->digits + c->digits / 2; i++)
        *(i < c->digits ? &view[i] : &spare[i - c->digits]) = planes_plane(&room, i);
    for (unsigned i = 0; i < c->digits; i++)
        bits_copy(view[i], d->group[c->digits - 1 - i][0].less[1]);
    TRY(prefix(p, view, spare, c->digits));
    for (unsigned i = 0; i < c->digits; i++)
        d->group[c->digits - 1 - i][0].less[0] = view[i];
    return ERR_OK;
}

/* Copies a plane of the lanes from `from` on to its place in the blocks. */
static void keep(const struct cached *c, unsigned plane, struct bits x, size_t from)
{
    const size_t words = bits_words(x.n);
    for (size_t w = 0; w < words; w += KERNEL_BLOCK) {
        const size_t at = ((from / 64 + w) * c->kept.width) + (size_t)plane * KERNEL_BLOCK;
        const size_t n = words - w < KERNEL_BLOCK ? words - w : KERNEL_BLOCK;
        memcpy(c->kept.a + at, x.a + w, n * sizeof *x.a);
        memcpy(c->kept.b + at, x.b + w, n * sizeof *x.b);
    }
}

/* Makes what is kept of n lanes. */
static enum err make_tile(struct party *p, struct cached *c, const struct planes *bits, size_t from,
                          size_t n)
{
    struct digits *d;
    struct planes not_bits;
    bool joined = true;
    TRY(party_planes(p, &not_bits, c->bits, n));
    TRY(scratch_array(p->scratch, &d, 1));
    for (unsigned k = 0, b = 0; k < c->digits; k++) {
        d->groups[k] = c->width[k];
        for (unsigned i = 0; i < c->width[k]; i++, b++) {
            const struct bits all = planes_plane(bits, b), to = planes_plane(&not_bits, b);
            bits_not(p, to, (struct bits){all.a + from / 64, all.b + from / 64, n});
            d->group[k][i] = (struct cached_group){.width = 1, .less[1] = to};
        }
    }
    while (joined)
        TRY(join_all(p, d, c->digits, n, &joined));
    TRY(make_zeros(p, c, d, n));
    for (unsigned k = 0, plane = 0; k < c->digits; k++)
        for (unsigned v = 0; v < 1u << c->width[k]; v++)
            keep(c, plane++, d->group[k][0].less[v], from);
    return convert_bit64(p, share64_view(c->zero, from, n), d->group[0][0].less[0]);
}

struct cached_filling {
    struct cached *c;
    const struct planes *bits;
    size_t tile; /* lanes, whole blocks */
};

static enum err fill_tile(void *self, struct party *lane, size_t tile)
{
    const struct cached_filling *f = self;
    const size_t from = tile * f->tile, left = f->bits->n - from;
    return make_tile(lane, f->c, f->bits, from, left < f->tile ? left : f->tile);
}

static enum err fill(struct party *p, struct cached *c, const struct planes *bits)
{
    const size_t most = TILE_BITS / c->kept.width / BLOCK * BLOCK;
    struct cached_filling f = {c, bits, crew_tile(p, bits->n, most, BLOCK)};
    TRY(planes_new(&c->kept, c->kept.width, (bits->n + BLOCK - 1) / BLOCK * BLOCK));
    TRY(share64_new(&c->zero, bits->n));
    return crew_run(p, (bits->n + f.tile - 1) / f.tile, fill_tile, &f);
}

/* D digits; the remainder of l goes to the lowest, one bit each. */
static void cut(struct cached *c, unsigned bits)
{
    c->bits = bits;
    c->digits = bits < 4 ? bits : bits <= 20 ? 4 : bits <= 40 ? 8 : (bits + 4) / 5;
    for (unsigned k = 0; k < c->digits; k++) {
        c->width[k] = (uint8_t)(bits / c->digits + (k < bits % c->digits));
        c->kept.width += 1u << c->width[k];
    }
}

enum err cached_new(struct party *p, struct cached **cached, struct share64 x,
                    const struct planes *bits)
{
    struct cached *c CLEAN(cached_free) = NULL;
    *cached = NULL;
    if (bits->width == 0 || bits->width > CACHED_BITS || bits->n != x.n)
        return ERR_RANGE;
    TRY(memory_new(&c, 1));
    c->x = x;
    cut(c, bits->width);
    TRY(fill(p, c, bits));
    return memory_hand_over(cached, &c);
}

void cached_free(struct cached **cached)
{
    struct cached *c = *cached;
    if (c == NULL)
        return;
    planes_free(&c->kept);
    share64_free(&c->zero);
    memory_free(cached);
}
