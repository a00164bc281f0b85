#include "protocols/train_gradient.h"

#include "mpc/circuits/bits.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/crew.h"
#include "mpc/move/record.h"
#include "protocols/train_sums.h"

#include <string.h>

/* --- the clamp -------------------------------------------------------------------------------- */

/* A layer of ANDs, whose outputs are planes of `made`. */
struct clamp {
    struct planes made;
    unsigned used;
    struct move_term term[8];
    size_t terms;
};

/* The next product of a layer. */
static struct bits product(struct clamp *c, struct bits x, struct bits y)
{
    const struct bits out = planes_plane(&c->made, c->used++);
    c->term[c->terms++] = bits_product(out, x, y);
    return out;
}

static enum err end_layer(struct party *p, struct clamp *c)
{
    const size_t terms = c->terms;
    c->terms = 0;
    return bits_terms(p, c->term, terms);
}

/* What the layers of a clamp share. */
struct clamping {
    struct planes a; /* the complements of z's bits */
    struct bits v, y, w;
    unsigned j;
    struct bits low, high, top, valid, own, ninth;
    struct bits small, others, bit[TRAIN_PLANES];
};

static struct bits a_of(const struct clamping *s, unsigned bit)
{
    return planes_plane(&s->a, bit);
}

/* Products of inputs: those that B is made of, too, of at most three bits and w. */
static enum err first_layer(struct party *p, struct clamp *c, struct clamping *s)
{
    s->low = product(c, a_of(s, 10), a_of(s, 11));
    s->high = product(c, a_of(s, 12), a_of(s, 13));
    s->top = product(c, a_of(s, 14), a_of(s, 15));
    s->valid = product(c, s->v, a_of(s, 15));
    if (s->j < TRAIN_PLANES)
        s->own = product(c, s->y, a_of(s, 15));
    if (s->j == 4)
        s->others = product(c, a_of(s, 9), s->w);
    if (s->j == 3)
        s->ninth = product(c, a_of(s, 8), a_of(s, 9));
    if (s->j == 2) {
        s->small = product(c, a_of(s, 7), a_of(s, 8));
        s->ninth = product(c, a_of(s, 9), s->w);
    }
    return end_layer(p, c);
}

static enum err second_layer(struct party *p, struct clamp *c, struct clamping *s)
{
    s->low = product(c, s->low, s->high);
    for (unsigned i = 0; i < TRAIN_PLANES; i++)
        s->bit[i] = product(c, a_of(s, TRAIN_SHIFT + i), s->top);
    if (s->j < 4)
        s->others = product(c, s->j == 3 ? s->w : s->small, s->ninth);
    return end_layer(p, c);
}

enum err train_clamp(struct party *p, const struct planes *e, struct planes *z, struct bits v,
                     struct bits y, unsigned j)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct clamping s = {.a = *z, .v = v, .y = y, .j = j};
    struct clamp c = {.used = 0};
    struct bits below, above = {0};
    if (j < 2 || j > TRAIN_PLANES || z->width != TRAIN_BITS || e->width != TRAIN_PLANES)
        return ERR_RANGE;
    TRY(party_planes(p, &c.made, 17, v.n));
    TRY(party_bits(p, &s.w, v.n));
    for (unsigned bit = TRAIN_SHIFT; bit < TRAIN_BITS; bit++)
        bits_not(p, a_of(&s, bit), a_of(&s, bit));
    if (j < TRAIN_PLANES)
        bits_xor(s.w, v, y);
    TRY(first_layer(p, &c, &s));
    TRY(second_layer(p, &c, &s));
    if (j < TRAIN_PLANES) {
        bits_xor(s.w, y, s.others);
        above = product(&c, s.low, y);
    }
    below = product(&c, s.low, j < TRAIN_PLANES ? s.w : v);
    TRY(end_layer(p, &c));
    for (unsigned i = 0; i < TRAIN_PLANES; i++)
        c.term[i] = bits_product_plus(planes_plane(e, i), s.bit[i], i < j ? below : above,
                                      i < j ? s.valid : s.own);
    return bits_terms(p, c.term, TRAIN_PLANES);
}

/* --- blocks ----------------------------------------------------------------------------------- */

#define TILE_LANES ((size_t)1 << 20)
#define NOTED 160          /* bytes that a check notes of a lane */
#define ROWS ((size_t)512) /* whose features stay in the second-level cache */

/* Blocks that go together; a lane of a crew has `each` of them. */
struct train_wave {
    const struct train_rows *rows;
    const struct train_sums *sums;
    const uint16_t *weight;
    size_t first, count, each;
    struct share16 e; /* of each block, 5 C rows of n words: block after block */
    uint16_t *parts;
};

/* Blocks first .. first + count - 1 of a wave, and their rows. */
struct train_tile {
    const struct train_rows *all;
    const uint16_t *weight;
    const struct train_block *block;
    size_t count, lanes; /* of outputs and rows */
    bool tests;          /* it is about the rows that are kept back */
};

/* z0 + the weighed features, in the low 16 bits; the others are 0. */
static void add_up(const struct party *p, const struct train_tile *t, const struct train_block *b,
                   size_t output, struct share64 z)
{
    const size_t features = t->all->features;
    const uint16_t *weight = t->weight + output * features;
    const uint16_t start = t->all->shape->classes == 2 ? 512 : 128;
    for (unsigned side = 0; side < 2; side++) {
        const bool first = side == 0 ? p->index == 0 : p->index == 2; /* component 0 */
        const uint16_t *u = side == 0 ? b->u.a : b->u.b;
        uint64_t *to = side == 0 ? z.a : z.b;
        for (size_t at = 0, n; at < b->n; at += n) {
            uint16_t sum[ROWS];
            n = b->n - at < ROWS ? b->n - at : ROWS;
            for (size_t i = 0; i < n; i++)
                sum[i] = first ? start : 0;
            p->kernel->axpy16(sum, weight, u + at, features, b->n, n);
            for (size_t i = 0; i < n; i++)
                to[at + i] = sum[i];
        }
    }
}

static void copy_lanes(struct bits out, size_t to, struct bits x, size_t from, size_t n)
{
    bits_copy((struct bits){out.a + to / 64, out.b + to / 64, n},
              (struct bits){x.a + from / 64, x.b + from / 64, n});
}

/* z, v and v [y = k] of all lanes: of a block, output after output. */
static void make_lanes(const struct party *p, const struct train_tile *t, struct share64 z,
                       struct bits v, struct bits y)
{
    size_t at = 0;
    for (const struct train_block *b = t->block; b < t->block + t->count; b++)
        for (size_t k = 0; k < t->all->outputs; k++, at += b->n) {
            const struct planes *own = t->tests ? &b->test : &b->own;
            add_up(p, t, b, k, share64_view(z, at, b->n));
            copy_lanes(v, at, planes_plane(own, 0), 0, b->n);
            copy_lanes(y, at, planes_plane(own, (unsigned)k + 1), 0, b->n);
        }
}

/* The lanes of a block that stand one after another in each plane of e: plane after plane. */
static void by_block(const struct train_tile *t, const struct planes *e, struct bits out)
{
    size_t from = 0, to = 0;
    for (size_t k = 0; k < t->count; k++) {
        const size_t n = t->all->outputs * t->block[k].n;
        for (unsigned i = 0; i < TRAIN_PLANES; i++, to += n)
            copy_lanes(out, to, planes_plane(e, i), from, n);
        from += n;
    }
}

/* Steps 1 to 3 of a tile; e is in the party's scratch, as are v and v [y = k]. */
static enum err clamp_scores(struct party *p, const struct train_tile *t, struct planes *e,
                             struct bits *v, struct bits *y)
{
    struct share64 z;
    struct planes bits;
    TRY(party_share64(p, &z, t->lanes));
    TRY(party_bits(p, v, t->lanes));
    TRY(party_bits(p, y, t->lanes));
    TRY(party_planes(p, &bits, TRAIN_BITS, t->lanes));
    TRY(party_planes(p, e, TRAIN_PLANES, t->lanes));
    make_lanes(p, t, z, *v, *y);
    TRY(convert_to_bits(p, &bits, z));
    return train_clamp(p, e, &bits, *v, *y, t->tests ? TRAIN_PLANES : t->all->shape->bits);
}

/* Steps 1 to 4 of a tile. */
static enum err make_planes(struct party *p, const struct train_tile *t, struct share16 out)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct planes e;
    struct bits v, y, flat;
    TRY(clamp_scores(p, t, &e, &v, &y));
    TRY(party_bits(p, &flat, TRAIN_PLANES * t->lanes));
    by_block(t, &e, flat);
    return convert_bit16(p, out, flat);
}

static struct share16 planes_of(const struct train_wave *w, size_t block)
{
    const struct train_block *b = w->rows->block;
    const size_t each = TRAIN_PLANES * w->rows->outputs;
    return share16_view(w->e, each * (b[w->first + block].from - b[w->first].from),
                        each * b[w->first + block].n);
}

static enum err make_tile(void *self, struct party *lane, size_t tile)
{
    const struct train_wave *w = self;
    const size_t first = tile * w->each, cells = train_sums_cells(w->sums);
    struct train_tile t = {
        .all = w->rows, .weight = w->weight, .block = &w->rows->block[w->first + first]};
    struct share16 e;
    t.count = w->count - first < w->each ? w->count - first : w->each;
    for (size_t k = 0; k < t.count; k++)
        t.lanes += t.block[k].n * w->rows->outputs;
    e = planes_of(w, first);
    e.n = TRAIN_PLANES * t.lanes;
    TRY(make_planes(lane, &t, e));
    for (size_t k = first; k < first + t.count; k++)
        TRY(train_sums_part(lane, w->sums, w->first + k, planes_of(w, k), w->parts + k * cells));
    return ERR_OK;
}

static enum err sum_wave(struct party *p, struct train_wave *w, struct train_sums *sums)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const size_t cells = w->count * train_sums_cells(sums);
    const struct train_block *last = &w->rows->block[w->first + w->count - 1];
    struct share16 *e;
    TRY(party_share16(p, &w->e,
                      TRAIN_PLANES * w->rows->outputs *
                          (last->from + last->n - w->rows->block[w->first].from)));
    TRY(scratch_array(p->scratch, &w->parts, cells));
    TRY(scratch_array(p->scratch, &e, w->count));
    memset(w->parts, 0, cells * sizeof *w->parts);
    for (size_t k = 0; k < w->count; k++)
        e[k] = planes_of(w, k);
    w->each = (w->count + crew_lanes(p) - 1) / crew_lanes(p);
    TRY(crew_run(p, (w->count + w->each - 1) / w->each, make_tile, w));
    return train_sums_add(p, sums, w->first, w->count, e, w->parts);
}

/* How many blocks from `first` on go together: at most `cells`, and the lanes of so many tiles. */
static size_t together(const struct party *p, const struct train_rows *rows, size_t cells,
                       size_t tiles, size_t first)
{
    const size_t noted = record_most(p, NOTED), most = noted < TILE_LANES ? noted : TILE_LANES,
                 lanes = tiles * most, outputs = rows->outputs;
    size_t count = 1;
    for (size_t all = outputs * rows->block[first].n; first + count < rows->blocks; count++) {
        all += outputs * rows->block[first + count].n;
        if (count == cells || all > lanes)
            break;
    }
    return count;
}

/* out = the sum of 2^i times the sums of e_i, less 31 times the labels' */
static void put_together(const struct train_rows *rows, struct share64 sums, struct share64 out)
{
    ring64_copy(out, share64_view(sums, 0, out.n));
    for (unsigned i = 1; i < TRAIN_PLANES; i++)
        ring64_add_scaled(out, share64_view(sums, i * out.n, out.n), UINT64_C(1) << i);
    ring64_add_scaled(out, rows->labels, 0 - (uint64_t)TRAIN_TOP);
}

static enum err low_words(struct party *p, const int64_t *weight, size_t n, uint16_t **words)
{
    TRY(scratch_array(p->scratch, words, n));
    for (size_t k = 0; k < n; k++)
        (*words)[k] = (uint16_t)weight[k];
    return ERR_OK;
}

enum err train_gradient(struct party *p, const struct train_rows *rows, const int64_t *weight,
                        struct share64 out)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    const size_t weights = rows->outputs * rows->features;
    struct train_wave w = {.rows = rows};
    struct share64 all;
    struct train_sums sums;
    uint16_t *words;
    if (out.n != weights || rows->labels.n != weights)
        return ERR_MISUSE;
    TRY(low_words(p, weight, weights, &words));
    TRY(train_sums_new(p, &sums, rows, TRAIN_PLANES * rows->outputs));
    w.weight = words;
    w.sums = &sums;
    for (; w.first < rows->blocks; w.first += w.count) {
        w.count = together(p, rows, train_sums_together(&sums), crew_lanes(p), w.first);
        TRY(sum_wave(p, &w, &sums));
    }
    TRY(party_share64(p, &all, TRAIN_PLANES * weights));
    TRY(train_sums_end(p, &sums, all));
    put_together(rows, all, out);
    return ERR_OK;
}

/* --- a test ----------------------------------------------------------------------------------- */

/* Adds a tile's rows to the table of an output. */
static enum err count_scores(struct party *p, const struct train_tile *t, const struct planes *e,
                             struct bits v, struct bits y, size_t output, struct share64 out)
{
    static const uint32_t size[] = {TRAIN_CELLS_TEST / 2, 2};
    static const uint16_t attribute[] = {0, 1};
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct bits plane[] = {v, planes_plane(e, 4), planes_plane(e, 3), planes_plane(e, 2), y};
    const struct records_shape shape = {2, size};
    struct planes made;
    const struct records_part part = {.attributes = 2, .attribute = attribute, .made = &made};
    const struct records_batch batch = {
        .records = t->lanes / t->all->outputs, .parts = 1, .part = &part};
    struct records_query query = {.n = 2, .attribute = {0, 1}, .out = out};
    size_t from = 0, to = 0;
    TRY(party_planes(p, &made, sizeof plane / sizeof *plane, batch.records));
    for (const struct train_block *b = t->block; b < t->block + t->count; b++) {
        for (unsigned k = 0; k < made.width; k++)
            copy_lanes(planes_plane(&made, k), to, plane[k], from + output * b->n, b->n);
        from += t->all->outputs * b->n;
        to += b->n;
    }
    return records_count(p, &shape, &batch, 1, &query, 1);
}

static enum err test_tile(struct party *p, const struct train_tile *t, struct share64 out)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct planes e;
    struct bits v, y;
    TRY(clamp_scores(p, t, &e, &v, &y));
    for (size_t k = 0; k < t->all->outputs; k++)
        TRY(count_scores(p, t, &e, v, y, k,
                         share64_view(out, TRAIN_CELLS_TEST * k, TRAIN_CELLS_TEST)));
    return ERR_OK;
}

enum err train_test(struct party *p, const struct train_rows *rows, const int64_t *weight,
                    struct share64 out)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct train_tile t = {.all = rows, .tests = true};
    uint16_t *words;
    if (!rows->shape->tests || out.n != TRAIN_CELLS_TEST * rows->outputs)
        return ERR_MISUSE;
    TRY(low_words(p, weight, rows->outputs * rows->features, &words));
    t.weight = words;
    for (size_t first = 0; first < rows->blocks; first += t.count) {
        t.block = &rows->block[first];
        t.count = together(p, rows, SIZE_MAX, 1, first);
        t.lanes = 0;
        for (size_t k = 0; k < t.count; k++)
            t.lanes += t.block[k].n * rows->outputs;
        TRY(test_tile(p, &t, out));
    }
    return ERR_OK;
}
