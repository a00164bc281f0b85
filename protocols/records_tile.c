#include "protocols/records_private.h"

#include "mpc/bits.h"
#include "mpc/convert.h"

enum err records_tile_take(struct party *p, struct records_tile *t,
                           const struct records_shape *shape, size_t n, size_t parts)
{
    unsigned plane = 1; /* the first is validity */
    *t = (struct records_tile){.shape = shape, .n = n};
    t->row = scratch_take(p->scratch, shape->attributes, sizeof *t->row);
    t->plane = scratch_take(p->scratch, shape->attributes, sizeof *t->plane);
    t->node = scratch_take(p->scratch, shape->attributes, sizeof *t->node);
    t->next = scratch_take(p->scratch, shape->attributes, sizeof *t->next);
    if (t->row == NULL || t->plane == NULL || t->node == NULL || t->next == NULL)
        return ERR_NOMEM;
    for (size_t a = 0; a < shape->attributes; a++) {
        t->row[a] = t->rows;
        t->plane[a] = plane;
        plane += records_code_bits(shape->size[a]);
        t->rows += shape->size[a];
        TRY(party_planes(p, &t->node[a], shape->size[a], n));
        TRY(party_planes(p, &t->next[a], shape->size[a], n));
    }
    TRY(party_planes(p, &t->code, plane, n));
    TRY(party_planes(p, &t->valid, (unsigned)parts, n));
    TRY(party_planes(p, &t->hot, (unsigned)t->rows, n));
    TRY(party_share16(p, &t->number, t->rows * n));
    records_tile_empty(t);
    return ERR_OK;
}

void records_tile_empty(struct records_tile *t)
{
    t->used = 0;
    bits_zero(planes_flat(&t->code));
    bits_zero(planes_flat(&t->valid));
}

/* How many nodes of a level lead to a code in range; `left` bits are still to come. */
static uint32_t nodes_at(uint32_t size, unsigned left)
{
    return (size + ((uint32_t)1 << left) - 1) >> left;
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

/* Level by level, for all attributes at once: one round a level. */
static enum err grow_trees(struct party *p, struct records_tile *t, struct move_term *terms)
{
    const struct records_shape *shape = t->shape;
    unsigned deepest = 0;
    for (size_t a = 0; a < shape->attributes; a++) {
        unsigned k = records_code_bits(shape->size[a]);
        deepest = k > deepest ? k : deepest;
        bits_copy(planes_plane(&t->node[a], 0), planes_plane(&t->code, 0));
    }
    for (unsigned level = 0; level < deepest; level++) {
        size_t count = 0;
        for (size_t a = 0; a < shape->attributes; a++) {
            unsigned k = records_code_bits(shape->size[a]);
            for (uint32_t i = 0; level < k && i < nodes_at(shape->size[a], k - level); i++)
                terms[count++] = bits_product(planes_plane(&t->next[a], i),
                                              planes_plane(&t->node[a], i),
                                              planes_plane(&t->code, t->plane[a] + level));
        }
        TRY(bits_and_layer(p, terms, count));
        for (size_t a = 0; a < shape->attributes; a++) {
            unsigned k = records_code_bits(shape->size[a]);
            if (level < k)
                step_down(&t->node[a], &t->next[a], nodes_at(shape->size[a], k - level),
                          nodes_at(shape->size[a], k - level - 1));
        }
    }
    return ERR_OK;
}

static enum err one_hot(struct party *p, struct records_tile *t)
{
    struct move_term *terms = scratch_take(p->scratch, t->rows, sizeof *terms);
    if (terms == NULL)
        return ERR_NOMEM;
    TRY(grow_trees(p, t, terms));
    for (size_t a = 0; a < t->shape->attributes; a++) {
        struct planes rows = planes_view(&t->hot, (unsigned)t->row[a], t->shape->size[a]);
        bits_copy(planes_flat(&rows), planes_flat(&t->node[a]));
    }
    return convert_bit16(p, t->number, planes_flat(&t->hot));
}

enum err records_one_hot(struct party *p, struct records_tile *t)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_done(p->scratch, mark, one_hot(p, t));
}
