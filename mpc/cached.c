#include "mpc/cached.h"

#include "base/memory.h"
#include "mpc/convert.h"
#include "mpc/ring.h"

#include <string.h>

#define TILE ((size_t)1 << 22) /* lanes whose flags are made at a time */
#define CLASSES 6              /* widths l, l/2, .. 2 */
#define BLOCK 1024             /* lanes whose sums are made at a time */
#define SLICE 512              /* whose bounds are sliced */

/* --- what is kept ----------------------------------------------------------------------------- */

/*
 * Z_b is the AND of the complements of bits b and up: a parallel prefix from the top. View i stands
 * for the bits from the top down to l - 1 - i.
 */
static enum err prefix(struct party *p, struct bits *view, struct bits *spare, unsigned l)
{
    for (unsigned d = 1; d < l; d *= 2) {
        struct move_term terms[CACHED_BITS];
        size_t count = 0;
        for (unsigned i = 0; i < l; i++)
            if (i / d % 2 != 0) {
                terms[count] = bits_product(spare[count], view[i], view[i / d * d - 1]);
                count++;
            }
        TRY(bits_terms(p, terms, count));
        count = 0;
        for (unsigned i = 0; i < l; i++)
            if (i / d % 2 != 0) {
                struct bits old = view[i];
                view[i] = spare[count];
                spare[count++] = old;
            }
    }
    return ERR_OK;
}

static struct bits part_of(const struct planes *x, unsigned plane, size_t from, size_t n)
{
    struct bits all = planes_plane(x, plane);
    return (struct bits){all.a + from / 64, all.b + from / 64, n};
}

static enum err make_flags(struct party *p, struct cached *c, size_t from, size_t n)
{
    const unsigned l = c->bits.width;
    struct bits view[CACHED_BITS], spare[CACHED_BITS];
    struct planes room;
    TRY(party_planes(p, &room, l + l / 2, n));
    for (unsigned i = 0; i < l; i++) {
        view[i] = planes_plane(&room, i);
        bits_not(p, view[i], part_of(&c->bits, l - 1 - i, from, n));
    }
    for (unsigned i = 0; i < l / 2; i++)
        spare[i] = planes_plane(&room, l + i);
    TRY(prefix(p, view, spare, l));
    for (unsigned i = 0; i < l; i++)
        bits_copy(part_of(&c->below, l - 1 - i, from, n), view[i]);
    return convert_bit64(p, share64_view(c->zero, from, n), view[l - 1]);
}

static enum err fill(struct party *p, struct cached *c, struct share64 x)
{
    TRY(planes_new(&c->below, c->bits.width, x.n));
    TRY(share64_new(&c->x, x.n));
    TRY(share64_new(&c->zero, x.n));
    ring64_copy(c->x, x);
    for (size_t from = 0; from < x.n; from += TILE) {
        const struct scratch_mark mark = scratch_mark(p->scratch);
        const size_t n = x.n - from < TILE ? x.n - from : TILE;
        TRY(scratch_done(p->scratch, mark, make_flags(p, c, from, n)));
    }
    return ERR_OK;
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
        c->bits = *bits;
        e = fill(p, c, x);
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
    planes_free(&c->below);
    share64_free(&c->x);
    share64_free(&c->zero);
    memory_free(cached);
}

/* --- which lanes are compared, and at which width --------------------------------------------- */

/* Lanes of one width, in the order of the spans. */
struct lane_class {
    unsigned width;
    size_t lanes;
    uint64_t *mask; /* of the spans' words side by side: which lanes are of this class */
    struct planes g, propagate;
    size_t from; /* its first lane among all that are compared, a multiple of 64 */
};

struct comparing {
    struct party *p;
    const struct cached *x;
    const struct cached_span *spans;
    size_t count, words; /* spans; words of all of them, each starting at a word */
    uint64_t *c;         /* l + 1 planes of C */
    unsigned classes;
    struct lane_class class[CLASSES];
    size_t lanes;          /* compared */
    struct bits less;      /* [x < C] of all classes, each from a word on */
    struct share64 number; /* the same in the ring */
};

/* C of every cell, as planes; 0 in the lanes between spans. */
static void slice_bounds(struct comparing *s)
{
    const unsigned l = s->x->bits.width;
    size_t word = 0;
    for (size_t k = 0; k < s->count; k++) {
        const struct cached_span *span = &s->spans[k];
        for (size_t at = 0; at < span->cells; at += SLICE) {
            uint64_t bound[SLICE];
            size_t n = span->cells - at < SLICE ? span->cells - at : SLICE;
            for (size_t i = 0; i < n; i++)
                bound[i] = (span->c[at + i] + (1 << CACHED_GRID) - 1) >> CACHED_GRID;
            kernel_slice64(s->p->kernel, bound, n, l + 1, s->c + word, s->words);
            word += bits_words(n);
        }
    }
}

/*
 * With t_k = [C >= 2^k]: the class of width w, next below v, has the lanes t_v & ~t_w; the widest
 * takes t_(l/2) alone.
 */
static void sort_lanes(struct comparing *s)
{
    const unsigned l = s->x->bits.width;
    for (unsigned i = 0; i < s->classes; i++)
        s->class[i].lanes = 0;
    for (size_t w = 0; w < s->words; w++) {
        uint64_t at_least = s->c[l * s->words + w], above = 0;
        unsigned k = l;
        for (unsigned i = 0; i < s->classes; i++) {
            struct lane_class *class = &s->class[i];
            unsigned low = i + 1 < s->classes ? s->class[i + 1].width : 1;
            while (k > low)
                at_least |= s->c[--k * s->words + w];
            class->mask[w] = at_least & ~above;
            class->lanes += (size_t)__builtin_popcountll(class->mask[w]);
            above = at_least;
        }
    }
}

static enum err make_classes(struct comparing *s)
{
    struct party *p = s->p;
    for (unsigned width = s->x->bits.width; s->classes < CLASSES && (width > 1 || s->classes == 0);
         width /= 2) {
        struct lane_class *class = &s->class[s->classes++];
        class->width = width;
        class->mask = scratch_take(p->scratch, s->words, sizeof *class->mask);
        if (class->mask == NULL)
            return ERR_NOMEM;
    }
    sort_lanes(s);
    for (unsigned i = 0; i < s->classes; i++) {
        struct lane_class *class = &s->class[i];
        class->from = s->lanes;
        s->lanes += 64 * bits_words(class->lanes);
        TRY(party_planes(p, &class->g, class->width, class->lanes));
        TRY(party_planes(p, &class->propagate, class->width, class->lanes));
    }
    return ERR_OK;
}

/* --- the carry trees -------------------------------------------------------------------------- */

/*
 * One component of up to KERNEL_BLOCK words: each class takes its lanes of its lowest positions,
 * and of the top one.
 */
static void gather_block(const struct comparing *s, bool b, size_t to, size_t from, size_t words,
                         const size_t *filled)
{
    const struct cached *x = s->x;
    const unsigned l = x->bits.width;
    const size_t stride = bits_words(x->bits.n);
    const bool first = s->p->index == (b ? 2 : 0);
    uint64_t g[CACHED_BITS * KERNEL_BLOCK], propagate[CACHED_BITS * KERNEL_BLOCK];
    s->p->kernel->threshold(g, propagate, (b ? x->bits.b : x->bits.a) + from,
                            (b ? x->below.b : x->below.a) + from, stride, s->c + to, s->words, l,
                            words, first);
    for (unsigned i = 0; i < s->classes; i++) {
        const struct lane_class *class = &s->class[i];
        const size_t room = bits_words(class->lanes);
        uint64_t *out_g = b ? class->g.b : class->g.a;
        uint64_t *out_p = b ? class->propagate.b : class->propagate.a;
        const unsigned low = class->width - 1;
        size_t at = filled[i];
        for (size_t w = 0; w < words; w++) {
            const uint64_t mask = class->mask[to + w];
            void (*append)(uint64_t *, size_t, size_t, const uint64_t *, size_t, unsigned,
                           uint64_t) = s->p->kernel->append;
            if (mask == 0)
                continue;
            append(out_g, room, at, g + w, KERNEL_BLOCK, low, mask);
            append(out_p, room, at, propagate + w, KERNEL_BLOCK, low, mask);
            append(out_g + low * room, room, at, g + (l - 1) * KERNEL_BLOCK + w, 0, 1, mask);
            append(out_p + low * room, room, at, propagate + (l - 1) * KERNEL_BLOCK + w, 0, 1,
                   mask);
            at += (size_t)__builtin_popcountll(mask);
        }
    }
}

static void gather(const struct comparing *s)
{
    size_t filled[CLASSES] = {0}, to = 0;
    for (size_t k = 0; k < s->count; k++) {
        const size_t words = bits_words(s->spans[k].cells);
        for (size_t at = 0; at < words; at += KERNEL_BLOCK) {
            size_t n = words - at < KERNEL_BLOCK ? words - at : KERNEL_BLOCK;
            gather_block(s, false, to, s->spans[k].from / 64 + at, n, filled);
            gather_block(s, true, to, s->spans[k].from / 64 + at, n, filled);
            for (unsigned i = 0; i < s->classes; i++)
                for (size_t w = 0; w < n; w++)
                    filled[i] += (size_t)__builtin_popcountll(s->class[i].mask[to + w]);
            to += n;
        }
    }
}

static enum err compare(struct comparing *s)
{
    struct adder_tree trees[CLASSES];
    size_t count = 0;
    TRY(party_bits(s->p, &s->less, s->lanes));
    for (unsigned i = 0; i < s->classes; i++) {
        struct lane_class *class = &s->class[i];
        const size_t word = class->from / 64;
        if (class->lanes > 0)
            trees[count++] = (struct adder_tree){
                {s->less.a + word, s->less.b + word, class->lanes}, &class->g, &class->propagate};
    }
    return adder_carries(s->p, trees, count);
}

static enum err prepare(struct comparing *s)
{
    for (size_t k = 0; k < s->count; k++)
        s->words += bits_words(s->spans[k].cells);
    s->c = scratch_take(s->p->scratch, s->words, (s->x->bits.width + 1) * sizeof *s->c);
    if (s->c == NULL)
        return ERR_NOMEM;
    slice_bounds(s);
    TRY(make_classes(s));
    gather(s);
    return ERR_OK;
}

/* --- sums ------------------------------------------------------------------------------------- */

/*
 * With s = [x < C]: |x - c| = x - c - 2 s x + 2 s c, each times 2^CACHED_GRID. One component of
 * blocks of lanes gets s in the order of the cells, from the classes' numbers and the kept [x = 0].
 */
static void spread(const struct comparing *s, uint64_t *out, const uint64_t *less,
                   const uint64_t *zero, size_t word, size_t words, const size_t *used)
{
    size_t at[CLASSES];
    memcpy(at, used, sizeof at);
    memset(out, 0, BLOCK * sizeof *out);
    for (size_t w = 0; w < words; w++) {
        uint64_t ones = s->c[word + w], compared = 0;
        for (unsigned i = 0; i < s->classes; i++) {
            const struct lane_class *class = &s->class[i];
            const uint64_t mask = class->mask[word + w];
            if (mask != 0)
                at[i] += s->p->kernel->expand64(out + 64 * w, less + class->from + at[i], mask);
            compared |= mask;
        }
        for (ones &= ~compared; ones != 0; ones &= ones - 1) { /* C = 1 */
            size_t lane = 64 * w + (size_t)__builtin_ctzll(ones);
            out[lane] = zero[lane];
        }
    }
}

/* What is local of a span's sum goes to out, the part of the sum of s x to *product. */
static void sum_span(const struct comparing *s, const struct cached_span *span, size_t word,
                     size_t *used, struct share64 out, uint64_t *product)
{
    const struct kernel *k = s->p->kernel;
    const struct cached *x = s->x;
    uint64_t a[BLOCK], b[BLOCK], x_a = 0, x_b = 0, s_a = 0, s_b = 0, all = 0;
    for (size_t at = 0; at < span->cells; at += BLOCK) {
        const size_t n = span->cells - at < BLOCK ? span->cells - at : BLOCK;
        const size_t lane = span->from + at, words = bits_words(n), w = word + at / 64;
        const struct share64 cells = share64_view(x->x, lane, n);
        spread(s, a, s->number.a, x->zero.a + lane, w, words, used);
        spread(s, b, s->number.b, x->zero.b + lane, w, words, used);
        for (unsigned i = 0; i < s->classes; i++)
            for (size_t v = 0; v < words; v++)
                used[i] += (size_t)__builtin_popcountll(s->class[i].mask[w + v]);
        x_a += k->sum64(cells.a, n);
        x_b += k->sum64(cells.b, n);
        s_a += k->dot64(a, span->c + at, n);
        s_b += k->dot64(b, span->c + at, n);
        all += k->sum64(span->c + at, n);
        move_part_inner(s->p, product, (struct share64){a, b, n}, cells);
    }
    out.a[0] = (x_a << CACHED_GRID) + 2 * s_a - (s->p->index == 0 ? all : 0);
    out.b[0] = (x_b << CACHED_GRID) + 2 * s_b - (s->p->index == 2 ? all : 0);
}

static enum err distance(struct comparing *s, struct share64 out)
{
    size_t used[CLASSES] = {0}, word = 0;
    struct share64 product;
    TRY(prepare(s));
    TRY(party_share64(s->p, &s->number, s->lanes));
    TRY(party_share64(s->p, &product, s->count));
    if (s->lanes > 0) {
        TRY(compare(s));
        TRY(convert_bit64(s->p, s->number, s->less));
    }
    memset(product.a, 0, s->count * sizeof *product.a);
    for (size_t k = 0; k < s->count; k++) {
        sum_span(s, &s->spans[k], word, used, share64_view(out, k, 1), &product.a[k]);
        word += bits_words(s->spans[k].cells);
    }
    TRY(move_settle(s->p, RING_64, OPERAND(product), product.a, s->count));
    ring64_add_scaled(out, product, (uint64_t)0 - ((uint64_t)2 << CACHED_GRID));
    return ERR_OK;
}

/* ERR_RANGE, logged, for what the header excludes. */
static enum err check(struct party *p, const struct cached *x, const struct cached_span *spans,
                      size_t count)
{
    const uint64_t limit = (uint64_t)1 << (x->bits.width + CACHED_GRID);
    for (size_t k = 0; k < count; k++) {
        uint64_t high = 0;
        if (spans[k].from % 64 != 0 || spans[k].from > x->bits.n ||
            spans[k].cells > x->bits.n - spans[k].from)
            return ERR_RANGE;
        for (size_t i = 0; i < spans[k].cells; i++)
            high = spans[k].c[i] > high ? spans[k].c[i] : high;
        if (high > limit) {
            log_error(p->log, "distances: a number of span %zu is above 2^%u", k, x->bits.width);
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
