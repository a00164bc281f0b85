#include "protocols/records_block.h"

#include "mpc/circuits/bits.h"
#include "mpc/circuits/convert.h"
#include "mpc/move/crew.h"

#include <string.h>

/* Memory for a block's numbers, if that allows more than BLOCK_LEAST lanes. */
#define BLOCK_BYTES ((size_t)64 << 20)
#define BLOCK_LEAST ((size_t)2048)

size_t records_block_length(const struct records_shape *shape, const struct records_scores *scores)
{
    const size_t most = (RECORDS_BLOCK + 63) / 64 * 64;
    size_t values = 1, n, bytes;
    for (size_t a = 0; a < shape->attributes; a++)
        values += shape->size[a];
    bytes = 2 * sizeof(uint16_t) * (scores != NULL ? scores->row[shape->attributes] : values) +
            (scores != NULL ? values / 2 : 0); /* planes of values are bits, twice two components */
    n = BLOCK_BYTES / bytes / 64 * 64;
    return n < BLOCK_LEAST ? BLOCK_LEAST : n < most ? n : most;
}

/* All values but the last: its row is what is left of validity. */
static unsigned leaves(const struct records_block *b, size_t attribute)
{
    return b->shape->size[attribute] - 1;
}

enum err records_block_take(struct party *p, struct records_block *b,
                            const struct records_shape *shape, const struct records_scores *scores,
                            size_t n, size_t parts)
{
    unsigned plane = 1; /* the first is validity, as is the first row */
    *b = (struct records_block){.shape = shape, .scores = scores, .n = n, .rows = 1};
    TRY(scratch_array(p->scratch, &b->row, shape->attributes));
    TRY(scratch_array(p->scratch, &b->plane, shape->attributes));
    for (size_t a = 0; a < shape->attributes; a++) {
        b->row[a] = b->rows;
        b->rows += leaves(b, a);
        b->plane[a] = plane;
        plane += records_code_bits(shape->size[a]);
    }
    TRY(party_planes(p, &b->code, plane, n));
    TRY(party_planes(p, &b->valid, (unsigned)parts, n));
    records_block_empty(b);
    return ERR_OK;
}

void records_block_empty(struct records_block *b)
{
    b->used = b->records = 0;
    bits_zero(planes_flat(&b->code));
    bits_zero(planes_flat(&b->valid));
}

struct share16 records_row(const struct records_block *b, uint16_t attribute, size_t value,
                           size_t from, size_t n)
{
    const size_t row = value < leaves(b, attribute) ? b->row[attribute] + value
                                                    : b->rows + attribute;
    return share16_view(b->number, row * b->n + from, n);
}

/* --- one-hot planes --------------------------------------------------------------------------- */

/*
 * Trees of attributes first .. end - 1: nodes of one level, in `hot` from row[a] - row on, and ANDs
 * of the next.
 */
struct trees {
    const struct records_block *b;
    size_t first, end;
    size_t row, rows; /* of these attributes; those of the first also have validity's */
    struct planes hot, next;
    struct move_term *terms;
};

static unsigned node_of(const struct trees *t, size_t attribute)
{
    return (unsigned)(t->b->row[attribute] - t->row);
}

/* How many nodes of a level lead to a leaf; `left` bits are still to come. */
static uint32_t nodes_at(uint32_t leaves, unsigned left)
{
    return (leaves + ((uint32_t)1 << left) - 1) >> left;
}

/* The children of a level's nodes: 2i + 1 is the AND, 2i what is left of the parent. */
static void step_down(struct planes *node, const struct planes *next, uint32_t parents,
                      uint32_t children)
{
    for (uint32_t i = parents; i-- > 0;) {
        struct bits parent = planes_plane(node, i), one = planes_plane(next, i);
        if (2 * i + 1 < children)
            bits_copy(planes_plane(node, 2 * i + 1), one);
        bits_xor(planes_plane(node, 2 * i), parent, one);
    }
}

/* A level of all trees: one exchange. */
static enum err grow(struct party *p, const struct trees *t, unsigned level)
{
    const struct records_block *b = t->b;
    size_t count = 0;
    for (size_t a = t->first; a < t->end; a++) {
        const unsigned k = records_code_bits(b->shape->size[a]);
        for (unsigned i = 0; level < k && i < nodes_at(leaves(b, a), k - level); i++)
            t->terms[count++] = bits_product(planes_plane(&t->next, node_of(t, a) + i),
                                             planes_plane(&t->hot, node_of(t, a) + i),
                                             planes_plane(&b->code, b->plane[a] + level));
    }
    TRY(bits_terms(p, t->terms, count));
    for (size_t a = t->first; a < t->end; a++) {
        const unsigned k = records_code_bits(b->shape->size[a]);
        struct planes node = planes_view(&t->hot, node_of(t, a), leaves(b, a));
        const struct planes next = planes_view(&t->next, node_of(t, a), leaves(b, a));
        if (level < k)
            step_down(&node, &next, nodes_at(leaves(b, a), k - level),
                      nodes_at(leaves(b, a), k - level - 1));
    }
    return ERR_OK;
}

/* What is left of validity: the row of an attribute's last value. */
static enum err derive_last(void *self, struct party *lane, size_t attribute)
{
    const struct records_block *b = self;
    const uint16_t a = (uint16_t)attribute;
    const struct share16 last = records_row(b, a, leaves(b, a), 0, b->n),
                         valid = share16_view(b->number, 0, b->n);
    memcpy(last.a, valid.a, b->n * sizeof *last.a);
    memcpy(last.b, valid.b, b->n * sizeof *last.b);
    for (size_t v = 0; v < leaves(b, a); v++) {
        const struct share16 x = records_row(b, a, v, 0, b->n);
        lane->kernel->linear16(last.a, 1, last.a, UINT16_MAX, x.a, b->n);
        lane->kernel->linear16(last.b, 1, last.b, UINT16_MAX, x.b, b->n);
    }
    return ERR_OK;
}

/*
 * A plane of scores is the XOR of the planes of the values that have it. The last value's plane is
 * what is left of validity: if that value has it, the XOR of validity and the planes of those that
 * do not.
 */
static void score_plane(const struct trees *t, size_t attribute, size_t plane, struct bits out)
{
    const struct records_block *b = t->b;
    const unsigned last = leaves(b, attribute);
    const bool complement = records_scores_have(b->scores, attribute, plane, last);
    if (complement)
        bits_copy(out, planes_plane(&b->code, 0));
    else
        bits_zero(out);
    for (unsigned v = 0; v < last; v++)
        if (records_scores_have(b->scores, attribute, plane, v) != complement)
            bits_xor(out, out, planes_plane(&t->hot, node_of(t, attribute) + v));
}

/* The scores' planes of these attributes, as numbers. */
static enum err score_numbers(struct party *p, const struct trees *t)
{
    const struct records_block *b = t->b;
    const size_t *row = b->scores->row, from = row[t->first], rows = row[t->end] - from;
    struct planes scores;
    if (rows == 0)
        return ERR_OK;
    TRY(party_planes(p, &scores, (unsigned)rows, b->n));
    for (size_t a = t->first; a < t->end; a++)
        for (size_t k = row[a]; k < row[a + 1]; k++)
            score_plane(t, a, k - row[a], planes_plane(&scores, (unsigned)(k - from)));
    return convert_bit16(p, share16_view(b->number, from * b->n, rows * b->n),
                         planes_flat(&scores));
}

/* The trees of a lane. */
static enum err grow_all(struct party *p, struct trees *t)
{
    const struct records_block *b = t->b;
    unsigned deepest = 0;
    TRY(scratch_array(p->scratch, &t->terms, t->rows));
    TRY(party_planes(p, &t->hot, (unsigned)t->rows, b->n));
    TRY(party_planes(p, &t->next, (unsigned)t->rows, b->n));
    if (t->row == 0)
        bits_copy(planes_plane(&t->hot, 0), planes_plane(&b->code, 0));
    for (size_t a = t->first; a < t->end; a++) {
        const unsigned k = records_code_bits(b->shape->size[a]);
        deepest = k > deepest ? k : deepest;
        if (leaves(b, a) > 0)
            bits_copy(planes_plane(&t->hot, node_of(t, a)), planes_plane(&b->code, 0));
    }
    for (unsigned level = 0; level < deepest; level++)
        TRY(grow(p, t, level));
    return ERR_OK;
}

enum err records_hot(struct party *p, const struct records_block *b, uint16_t attribute,
                     struct planes *hot)
{
    struct trees t = {.b = b, .first = attribute, .end = attribute + 1u, .row = b->row[attribute]};
    t.rows = leaves(b, attribute);
    TRY(grow_all(p, &t));
    *hot = t.hot;
    return ERR_OK;
}

/* Their leaves as numbers, too. */
static enum err one_hot(struct party *p, struct trees *t)
{
    const struct records_block *b = t->b;
    TRY(grow_all(p, t));
    return b->scores != NULL
               ? score_numbers(p, t)
               : convert_bit16(p, share16_view(b->number, t->row * b->n, t->rows * b->n),
                               planes_flat(&t->hot));
}

/* The attributes of a part: those whose middle is in it, where rows are shared out evenly. */
struct part_of_block {
    const struct records_block *b;
    size_t parts;
};

static size_t first_attribute(const struct part_of_block *s, size_t part)
{
    const struct records_block *b = s->b;
    size_t a = 0;
    while (a < b->shape->attributes && b->row[a] + leaves(b, a) / 2 < b->rows * part / s->parts)
        a++;
    return part == 0 ? 0 : part == s->parts ? b->shape->attributes : a;
}

static enum err one_hot_part(void *self, struct party *lane, size_t part)
{
    const struct part_of_block *s = self;
    const struct records_block *b = s->b;
    struct trees t = {
        .b = b, .first = first_attribute(s, part), .end = first_attribute(s, part + 1)};
    t.row = part == 0 ? 0 : t.first < b->shape->attributes ? b->row[t.first] : b->rows;
    t.rows = (t.end < b->shape->attributes ? b->row[t.end] : b->rows) - t.row;
    /* an attribute of one value has no tree, but may have a score */
    return t.rows > 0 || (b->scores != NULL && t.first < t.end) ? one_hot(lane, &t) : ERR_OK;
}

enum err records_one_hot(struct party *p, struct records_block *b)
{
    struct part_of_block s = {b, crew_lanes(p)};
    const size_t rows = b->scores != NULL ? b->scores->row[b->shape->attributes]
                                          : b->rows + b->shape->attributes;
    TRY(party_share16(p, &b->number, rows * b->n));
    TRY(crew_run(p, s.parts, one_hot_part, &s));
    return b->scores != NULL ? ERR_OK : crew_run(p, b->shape->attributes, derive_last, b);
}
