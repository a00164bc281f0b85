#include "mpc/cached.h"

#include "base/memory.h"
#include "mpc/adder.h"
#include "mpc/convert.h"
#include "mpc/crew.h"
#include "mpc/ring.h"

#include <string.h>

#define TILE_BITS ((size_t)1 << 26)       /* kept bits that are made at a time */
#define BLOCK ((size_t)64 * KERNEL_BLOCK) /* lanes whose planes stand together */
#define SLICE 512                         /* lanes whose bounds are sliced */

/* --- what is kept ----------------------------------------------------------------------------- */

/* Bits that follow one another: [their value < v] for v = 1 .. 2^width - 1. */
struct group {
    unsigned width;
    struct bits less[KERNEL_KEPT];
};

/* What joins two groups of a digit: the products, by value of the high group but its last. */
struct joint {
    struct group *to;
    struct group low, high, out;
};

struct digits {
    unsigned groups[KERNEL_DIGITS];
    struct group group[KERNEL_DIGITS][5];
};

static unsigned values(const struct group *g)
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

/* Of the last vh: [high < vh] ^ [low < vl] less the products of all others. */
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

/* Joins neighbours of all digits, in one round; whether there were any. */
static enum err join_all(struct party *p, struct digits *d, unsigned digits, size_t n, bool *joined)
{
    struct joint *joints = scratch_take(p->scratch, 2 * KERNEL_DIGITS, sizeof *joints);
    struct move_term *terms = scratch_take(p->scratch, (size_t)KERNEL_KEPT * KERNEL_DIGITS,
                                           sizeof *terms);
    size_t count = 0, joins = 0;
    if (joints == NULL || terms == NULL)
        return ERR_NOMEM;
    for (unsigned k = 0; k < digits; k++) {
        struct group *g = d->group[k];
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
        struct move_term terms[KERNEL_DIGITS];
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
    struct bits view[KERNEL_DIGITS], spare[KERNEL_DIGITS];
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

/* A plane of lanes from `from` on takes its place in the blocks. */
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

/* What is kept of n lanes. */
static enum err make_tile(struct party *p, struct cached *c, const struct planes *bits, size_t from,
                          size_t n)
{
    struct digits *d = scratch_take(p->scratch, 1, sizeof *d);
    struct planes not_bits;
    bool joined = true;
    TRY(party_planes(p, &not_bits, c->bits, n));
    if (d == NULL)
        return ERR_NOMEM;
    for (unsigned k = 0, b = 0; k < c->digits; k++) {
        d->groups[k] = c->width[k];
        for (unsigned i = 0; i < c->width[k]; i++, b++) {
            const struct bits all = planes_plane(bits, b), to = planes_plane(&not_bits, b);
            bits_not(p, to, (struct bits){all.a + from / 64, all.b + from / 64, n});
            d->group[k][i] = (struct group){.width = 1, .less[1] = to};
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

struct filling {
    struct cached *c;
    const struct planes *bits;
    size_t tile; /* lanes, whole blocks */
};

static enum err fill_tile(void *self, struct party *lane, size_t tile)
{
    const struct filling *f = self;
    const size_t from = tile * f->tile, left = f->bits->n - from;
    return make_tile(lane, f->c, f->bits, from, left < f->tile ? left : f->tile);
}

static enum err fill(struct party *p, struct cached *c, const struct planes *bits)
{
    const size_t most = TILE_BITS / c->kept.width / BLOCK * BLOCK;
    struct filling f = {c, bits, crew_tile(p, bits->n, most, BLOCK)};
    TRY(planes_new(&c->kept, c->kept.width, (bits->n + BLOCK - 1) / BLOCK * BLOCK));
    TRY(share64_new(&c->zero, bits->n));
    return crew_run(p, (bits->n + f.tile - 1) / f.tile, fill_tile, &f);
}

/* D digits, of which the lowest take what l leaves over. */
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
    struct cached *c = memory_array(1, sizeof *c);
    enum err e = c == NULL ? ERR_NOMEM : ERR_OK;
    *cached = c;
    if (bits->width == 0 || bits->width > CACHED_BITS || bits->n != x.n)
        e = ERR_RANGE;
    if (e == ERR_OK) {
        c->x = x;
        cut(c, bits->width);
        e = fill(p, c, bits);
    }
    if (e != ERR_OK)
        cached_free(cached);
    return e;
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

/* --- [x < C] of the cells that are compared --------------------------------------------------- */

struct comparing {
    struct party *p;
    const struct cached *x;
    const struct cached_span *spans;
    size_t count, words; /* spans; words of all of them, each starting at a word */
    uint64_t *c;         /* l + 1 planes of C */
    uint64_t *mask;      /* of the spans' words side by side: which lanes are compared */
    size_t lanes;        /* that are, in the order of the spans */
    size_t *start;       /* of each span among them */
    struct planes g, propagate;
    struct bits less; /* [x < C] */
    struct share64 v; /* 2^CACHED_GRID (c - x) */
};

/* C of every cell, as planes; 0 in the lanes between spans. */
static void slice_bounds(struct comparing *s)
{
    size_t word = 0;
    for (size_t k = 0; k < s->count; k++) {
        const struct cached_span *span = &s->spans[k];
        for (size_t at = 0; at < span->cells; at += SLICE) {
            uint64_t bound[SLICE];
            size_t n = span->cells - at < SLICE ? span->cells - at : SLICE;
            for (size_t i = 0; i < n; i++)
                bound[i] = (span->c[at + i] + (1 << CACHED_GRID) - 1) >> CACHED_GRID;
            kernel_slice64(s->p->kernel, bound, n, s->x->bits + 1, s->c + word, s->words);
            word += bits_words(n);
        }
    }
}

/* C >= 2 */
static void choose_lanes(struct comparing *s)
{
    size_t word = 0;
    for (size_t k = 0; k < s->count; k++) {
        s->start[k] = s->lanes;
        for (size_t end = word + bits_words(s->spans[k].cells); word < end; word++) {
            uint64_t mask = 0;
            for (unsigned b = 1; b <= s->x->bits; b++)
                mask |= s->c[b * s->words + word];
            s->mask[word] = mask;
            s->lanes += (size_t)__builtin_popcountll(mask);
        }
    }
    s->start[s->count] = s->lanes;
}

static enum err prepare(struct comparing *s)
{
    struct party *p = s->p;
    for (size_t k = 0; k < s->count; k++)
        s->words += bits_words(s->spans[k].cells);
    s->c = scratch_take(p->scratch, s->words, (s->x->bits + 1) * sizeof *s->c);
    s->mask = scratch_take(p->scratch, s->words, sizeof *s->mask);
    s->start = scratch_take(p->scratch, s->count + 1, sizeof *s->start);
    if (s->c == NULL || s->mask == NULL || s->start == NULL)
        return ERR_NOMEM;
    slice_bounds(s);
    choose_lanes(s);
    TRY(party_planes(p, &s->g, s->x->digits, s->lanes));
    TRY(party_planes(p, &s->propagate, s->x->digits, s->lanes));
    TRY(party_bits(p, &s->less, s->lanes));
    return party_share64(p, &s->v, s->lanes);
}

/* One component of up to KERNEL_BLOCK words, `from` on in the cache, `word` on among the spans'. */
static void gather_digits(const struct comparing *s, bool b, size_t from, size_t word, size_t words,
                          size_t at)
{
    const struct cached *x = s->x;
    const uint64_t *kept = (b ? x->kept.b : x->kept.a) +
                           from / KERNEL_BLOCK * KERNEL_BLOCK * x->kept.width + from % KERNEL_BLOCK;
    const bool first = s->p->index == (b ? 2 : 0);
    const size_t room = bits_words(s->lanes);
    uint64_t g[KERNEL_DIGITS * KERNEL_BLOCK], propagate[KERNEL_DIGITS * KERNEL_BLOCK];
    const struct kernel *k = s->p->kernel;
    k->digits(g, propagate, kept, x->width, x->digits, x->bits, s->c + word, s->words, words,
              first);
    for (size_t w = 0; w < words; w++) {
        const uint64_t mask = s->mask[word + w];
        k->append(b ? s->g.b : s->g.a, room, at, g + w, KERNEL_BLOCK, x->digits, mask);
        k->append(b ? s->propagate.b : s->propagate.a, room, at, propagate + w, KERNEL_BLOCK,
                  x->digits, mask);
        at += (size_t)__builtin_popcountll(mask);
    }
}

/* c - x of one word's cells, those that are compared to lanes from `at` on. */
static void gather_numbers(const struct comparing *s, const struct cached_span *span, size_t cell,
                           uint64_t mask, size_t at)
{
    const struct kernel *k = s->p->kernel;
    const size_t n = span->cells - cell < 64 ? span->cells - cell : 64;
    const uint64_t *x_a = s->x->x.a + span->from + cell, *x_b = s->x->x.b + span->from + cell;
    uint64_t a[64], b[64];
    for (size_t i = 0; i < n; i++) {
        const uint64_t c = span->c[cell + i];
        a[i] = (s->p->index == 0 ? c : 0) - (x_a[i] << CACHED_GRID);
        b[i] = (s->p->index == 2 ? c : 0) - (x_b[i] << CACHED_GRID);
    }
    k->compress64(s->v.a + at, a, mask);
    k->compress64(s->v.b + at, b, mask);
}

static void gather(const struct comparing *s)
{
    size_t word = 0;
    for (size_t k = 0; k < s->count; k++) {
        const struct cached_span *span = &s->spans[k];
        const size_t words = bits_words(span->cells), from = span->from / 64;
        size_t lane = s->start[k];
        for (size_t at = 0, n; at < words; at += n, word += n) {
            n = KERNEL_BLOCK - (from + at) % KERNEL_BLOCK;
            n = words - at < n ? words - at : n;
            gather_digits(s, false, from + at, word, n, lane);
            gather_digits(s, true, from + at, word, n, lane);
            for (size_t w = 0; w < n; w++) {
                gather_numbers(s, span, 64 * (at + w), s->mask[word + w], lane);
                lane += (size_t)__builtin_popcountll(s->mask[word + w]);
            }
        }
    }
}

/* --- sums ------------------------------------------------------------------------------------- */

/* sum (x - c) + 2 sum s (c - x), of which s (c - x) is s c where C is 1, and 0 where it is 0 */
static void add_local(const struct comparing *s, const struct cached_span *span, size_t word,
                      struct share64 out)
{
    const struct kernel *k = s->p->kernel;
    const struct cached *x = s->x;
    uint64_t all = 0, s_a = 0, s_b = 0;
    for (size_t cell = 0; cell < span->cells; cell += 64, word++)
        for (uint64_t ones = s->c[word] & ~s->mask[word]; ones != 0; ones &= ones - 1) {
            const size_t i = cell + (size_t)__builtin_ctzll(ones);
            s_a += x->zero.a[span->from + i] * span->c[i];
            s_b += x->zero.b[span->from + i] * span->c[i];
        }
    for (size_t i = 0; i < span->cells; i++)
        all += span->c[i];
    out.a[0] = 2 * (out.a[0] + s_a) + (k->sum64(x->x.a + span->from, span->cells) << CACHED_GRID) -
               (s->p->index == 0 ? all : 0);
    out.b[0] = 2 * (out.b[0] + s_b) + (k->sum64(x->x.b + span->from, span->cells) << CACHED_GRID) -
               (s->p->index == 2 ? all : 0);
}

static enum err distance(struct comparing *s, struct share64 out)
{
    size_t word = 0;
    TRY(prepare(s));
    memset(out.a, 0, out.n * sizeof *out.a);
    memset(out.b, 0, out.n * sizeof *out.b);
    if (s->lanes > 0) {
        gather(s);
        TRY(adder_carry(s->p, s->less, &s->g, &s->propagate));
        TRY(move_choose(s->p, out, s->less, s->v, s->start));
    }
    for (size_t k = 0; k < s->count; k++) {
        add_local(s, &s->spans[k], word, share64_view(out, k, 1));
        word += bits_words(s->spans[k].cells);
    }
    return ERR_OK;
}

/* ERR_RANGE, logged, for what the header excludes. */
static enum err check(struct party *p, const struct cached *x, const struct cached_span *spans,
                      size_t count)
{
    const uint64_t limit = (uint64_t)1 << (x->bits + CACHED_GRID);
    for (size_t k = 0; k < count; k++) {
        uint64_t high = 0;
        if (spans[k].from % 64 != 0 || spans[k].from > x->x.n ||
            spans[k].cells > x->x.n - spans[k].from)
            return ERR_RANGE;
        for (size_t i = 0; i < spans[k].cells; i++)
            high = spans[k].c[i] > high ? spans[k].c[i] : high;
        if (high > limit) {
            log_error(p->log, "distances: a number of span %zu is above 2^%u", k, x->bits);
            return ERR_RANGE;
        }
    }
    return ERR_OK;
}

enum err cached_distance(struct party *p, struct share64 out, const struct cached *x,
                         const struct cached_span *spans)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    struct comparing s = {.p = p, .x = x, .spans = spans, .count = out.n};
    TRY(check(p, x, spans, out.n));
    return scratch_done(p->scratch, mark, distance(&s, out));
}
