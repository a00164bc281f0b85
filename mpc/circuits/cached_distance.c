#include "mpc/circuits/adder.h"
#include "mpc/circuits/cached.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/record.h"

#include <string.h>

#define SLICE 512           /* lanes whose bounds are sliced */
#define NOTED ((size_t)160) /* bytes of a cell in a check's log */

/* --- [x < C] of the cells that are compared --------------------------------------------------- */

struct comparing {
    struct party *p;
    const struct cached *x;
    const struct cached_span *spans;
    uint64_t unit;
    size_t count, words; /* spans; the words of all spans, each starting at a word */
    uint64_t *c;         /* l + 1 planes of C */
    uint64_t *mask;      /* of the spans' words side by side: which lanes are compared */
    size_t lanes;        /* compared, in the order of the spans */
    size_t *start;       /* of each span among them */
    struct planes g, propagate;
    struct bits less; /* [x < C] */
    struct share64 v; /* unit (c - x) */
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
                bound[i] = (span->c[at + i] + s->unit - 1) / s->unit;
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
    TRY(scratch_array(p->scratch, &s->c, s->words * (s->x->bits + 1)));
    TRY(scratch_array(p->scratch, &s->mask, s->words));
    TRY(scratch_array(p->scratch, &s->start, s->count + 1));
    slice_bounds(s);
    choose_lanes(s);
    TRY(party_planes(p, &s->g, s->x->digits, s->lanes));
    TRY(party_planes(p, &s->propagate, s->x->digits, s->lanes));
    TRY(party_bits(p, &s->less, s->lanes));
    return party_share64(p, &s->v, s->lanes);
}

/*
 * A_k = [C has a digit from k up that is not 0], from the lowest digit on. Lanes that are compared
 * have A_0 = 1.
 */
static void top_digits(const struct comparing *s, size_t word, size_t words, uint64_t *above)
{
    const struct cached *x = s->x;
    unsigned plane = x->bits;
    for (size_t w = 0; w < words; w++)
        above[x->digits * KERNEL_BLOCK + w] = s->c[plane * s->words + word + w];
    for (unsigned k = x->digits; k-- > 0;) {
        uint64_t *a = above + (size_t)k * KERNEL_BLOCK;
        memcpy(a, a + KERNEL_BLOCK, words * sizeof *a);
        for (unsigned b = 0; b < x->width[k]; b++) {
            plane--;
            for (size_t w = 0; w < words; w++)
                a[w] |= s->c[plane * s->words + word + w];
        }
    }
}

/*
 * Digits above C's highest: the lowest of them asks whether x is below its weight, which is the
 * first bit kept of it; the others pass on. C = 2^l is above them all.
 */
static void pass_on(const struct cached *x, const uint64_t *kept, const uint64_t *above,
                    size_t words, bool first, uint64_t *g, uint64_t *propagate)
{
    const uint64_t one = first ? UINT64_MAX : 0;
    for (unsigned k = 0; k < x->digits; kept += KERNEL_BLOCK << x->width[k++])
        for (size_t w = 0; k > 0 && w < words; w++) {
            const size_t at = k * KERNEL_BLOCK + w;
            const uint64_t here = above[at], below = above[at - KERNEL_BLOCK];
            propagate[at] = (here & propagate[at]) ^ (below & ~here & kept[w]) ^ (~below & one);
        }
    for (size_t w = 0; w < words; w++)
        g[(x->digits - 1) * KERNEL_BLOCK + w] ^= above[x->digits * KERNEL_BLOCK + w] & one;
}

/*
 * One component of up to KERNEL_BLOCK words, from `from` on in the cache and `word` on in the
 * spans.
 */
static void gather_digits(const struct comparing *s, bool b, const uint64_t *above, size_t from,
                          size_t word, size_t words, size_t at)
{
    const struct cached *x = s->x;
    const uint64_t *kept = (b ? x->kept.b : x->kept.a) +
                           from / KERNEL_BLOCK * KERNEL_BLOCK * x->kept.width + from % KERNEL_BLOCK;
    const struct kernel *kernel = s->p->kernel;
    const bool first = s->p->index == (b ? 2 : 0);
    const size_t room = bits_words(s->lanes);
    uint64_t g[CACHED_DIGITS * KERNEL_BLOCK], propagate[CACHED_DIGITS * KERNEL_BLOCK];
    const uint64_t *y = kept + KERNEL_BLOCK, *c = s->c + word;
    for (unsigned k = 0; k < x->digits; k++) {
        const size_t to = (size_t)k * KERNEL_BLOCK;
        kernel->digit(g + to, propagate + to, y, KERNEL_BLOCK, x->width[k], c, s->words, words,
                      first);
        y += KERNEL_BLOCK << x->width[k];
        c += x->width[k] * s->words;
    }
    pass_on(x, kept, above, words, first, g, propagate);
    for (size_t w = 0; w < words; w++) {
        const uint64_t mask = s->mask[word + w];
        kernel->append(b ? s->g.b : s->g.a, room, at, g + w, KERNEL_BLOCK, x->digits, mask);
        kernel->append(b ? s->propagate.b : s->propagate.a, room, at, propagate + w, KERNEL_BLOCK,
                       x->digits, mask);
        at += (size_t)__builtin_popcountll(mask);
    }
}

/* c - x of those cells of one word that are compared, to lanes from `at` on. */
static void gather_numbers(const struct comparing *s, const struct cached_span *span, size_t cell,
                           uint64_t mask, size_t at)
{
    const struct kernel *k = s->p->kernel;
    const size_t n = span->cells - cell < 64 ? span->cells - cell : 64;
    const uint64_t *x_a = s->x->x.a + span->from + cell, *x_b = s->x->x.b + span->from + cell;
    uint64_t a[64], b[64];
    for (size_t i = 0; i < n; i++) {
        const uint64_t c = span->c[cell + i];
        a[i] = (s->p->index == 0 ? c : 0) - x_a[i] * s->unit;
        b[i] = (s->p->index == 2 ? c : 0) - x_b[i] * s->unit;
    }
    k->compress64(s->v.a + at, a, mask);
    k->compress64(s->v.b + at, b, mask);
}

static void gather(const struct comparing *s)
{
    uint64_t above[(CACHED_DIGITS + 1) * KERNEL_BLOCK];
    size_t word = 0;
    for (size_t k = 0; k < s->count; k++) {
        const struct cached_span *span = &s->spans[k];
        const size_t words = bits_words(span->cells), from = span->from / 64;
        size_t lane = s->start[k];
        for (size_t at = 0, n; at < words; at += n, word += n) {
            n = KERNEL_BLOCK - (from + at) % KERNEL_BLOCK;
            n = words - at < n ? words - at : n;
            top_digits(s, word, n, above);
            gather_digits(s, false, above, from + at, word, n, lane);
            gather_digits(s, true, above, from + at, word, n, lane);
            for (size_t w = 0; w < n; w++) {
                gather_numbers(s, span, 64 * (at + w), s->mask[word + w], lane);
                lane += (size_t)__builtin_popcountll(s->mask[word + w]);
            }
        }
    }
}

/* --- sums ------------------------------------------------------------------------------------- */

/* sum (x - c) + 2 sum s (c - x), where s (c - x) is s c if C is 1, and 0 if C is 0 */
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
    out.a[0] = 2 * (out.a[0] + s_a) + k->sum64(x->x.a + span->from, span->cells) * s->unit -
               (s->p->index == 0 ? all : 0);
    out.b[0] = 2 * (out.b[0] + s_b) + k->sum64(x->x.b + span->from, span->cells) * s->unit -
               (s->p->index == 2 ? all : 0);
}

/* All at once. */
static enum err distances(struct party *p, struct share64 out, const struct cached *x,
                          const struct cached_span *spans, uint64_t unit)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct comparing s = {.p = p, .x = x, .spans = spans, .unit = unit, .count = out.n};
    size_t word = 0;
    TRY(prepare(&s));
    memset(out.a, 0, out.n * sizeof *out.a);
    memset(out.b, 0, out.n * sizeof *out.b);
    if (s.lanes > 0) {
        gather(&s);
        TRY(adder_carry(p, s.less, &s.g, &s.propagate));
        TRY(move_choose(p, out, s.less, s.v, s.start));
    }
    for (size_t k = 0; k < s.count; k++) {
        add_local(&s, &spans[k], word, share64_view(out, k, 1));
        word += bits_words(spans[k].cells);
    }
    return ERR_OK;
}

/* ERR_RANGE, logged, for what the header excludes. */
static enum err check_spans(struct party *p, const struct cached *x,
                            const struct cached_span *spans, uint64_t unit, size_t count)
{
    const uint64_t limit = unit << x->bits;
    if (unit == 0 || unit > (UINT64_C(1) << 62) >> x->bits)
        return ERR_RANGE;
    for (size_t k = 0; k < count; k++) {
        uint64_t high = 0;
        if (spans[k].from % 64 != 0 || spans[k].from > x->x.n ||
            spans[k].cells > x->x.n - spans[k].from)
            return ERR_RANGE;
        for (size_t i = 0; i < spans[k].cells; i++)
            high = spans[k].c[i] > high ? spans[k].c[i] : high;
        if (high > limit)
            return log_fail(p->log, ERR_RANGE, "distances: a number of span %zu is above 2^%u", k,
                            x->bits);
    }
    return ERR_OK;
}

/*
 * The next spans from *k on, whole or in parts, that fill `room`; *at cells of the first are done.
 */
static size_t next_pieces(const struct cached_span *spans, size_t count, size_t room, size_t *k,
                          size_t *at, struct cached_span *piece)
{
    size_t n = 0;
    for (; *k < count && room > 0; n++) {
        const struct cached_span *span = &spans[*k];
        const size_t left = span->cells - *at, cells = left < room ? left : room;
        piece[n] = (struct cached_span){span->from + *at, cells, span->c + *at};
        room -= cells < room ? 64 * bits_words(cells) : room;
        *at = cells < left ? *at + cells : 0;
        *k += cells == left;
    }
    return n;
}

/* Limits the cells taken at a time: a check must have room for what their moves note. */
static enum err distances_in_turn(struct party *p, struct share64 out, const struct cached *x,
                                  const struct cached_span *spans, uint64_t unit)
{
    struct cached_span *piece;
    struct share64 sums;
    TRY(party_share64(p, &sums, out.n));
    TRY(scratch_array(p->scratch, &piece, out.n));
    memset(out.a, 0, out.n * sizeof *out.a);
    memset(out.b, 0, out.n * sizeof *out.b);
    for (size_t k = 0, at = 0; k < out.n;) {
        const size_t first = k;
        const size_t n = next_pieces(spans, out.n, record_most(p, NOTED), &k, &at, piece);
        const struct share64 to = share64_view(out, first, n);
        sums.n = n;
        TRY(distances(p, sums, x, piece, unit));
        ring64_add(to, to, sums);
    }
    return ERR_OK;
}

enum err cached_distance(struct party *p, struct share64 out, const struct cached *x,
                         const struct cached_span *spans, uint64_t unit)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    TRY(check_spans(p, x, spans, unit, out.n));
    return party_proves(p) ? distances_in_turn(p, out, x, spans, unit)
                           : distances(p, out, x, spans, unit);
}
