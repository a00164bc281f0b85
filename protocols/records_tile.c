#include "protocols/records_private.h"

#include "base/memory.h"
#include "mpc/bits.h"
#include "mpc/convert.h"

void records_tile_free(struct records_tile *t)
{
    for (size_t a = 0; a < t->shape->attributes; a++) {
        if (t->node != NULL)
            planes_free(&t->node[a]);
        if (t->next != NULL)
            planes_free(&t->next[a]);
    }
    memory_free(&t->row);
    memory_free(&t->plane);
    memory_free(&t->node);
    memory_free(&t->next);
    planes_free(&t->code);
    planes_free(&t->valid);
    planes_free(&t->hot);
    share16_free(&t->number);
}

enum err records_tile_new(struct records_tile *t, const struct records_shape *shape, size_t n,
                          size_t parts)
{
    unsigned plane = 1; /* the first is validity */
    *t = (struct records_tile){.shape = shape, .n = n};
    t->row = memory_array(shape->attributes, sizeof *t->row);
    t->plane = memory_array(shape->attributes, sizeof *t->plane);
    t->node = memory_array(shape->attributes, sizeof *t->node);
    t->next = memory_array(shape->attributes, sizeof *t->next);
    if (t->row == NULL || t->plane == NULL || t->node == NULL || t->next == NULL)
        return ERR_NOMEM;
    for (size_t a = 0; a < shape->attributes; a++) {
        t->row[a] = t->rows;
        t->plane[a] = plane;
        plane += records_code_bits(shape->size[a]);
        t->rows += shape->size[a];
        TRY(planes_new(&t->node[a], shape->size[a], n));
        TRY(planes_new(&t->next[a], shape->size[a], n));
    }
    TRY(planes_new(&t->code, plane, n));
    TRY(planes_new(&t->valid, (unsigned)parts, n));
    TRY(planes_new(&t->hot, (unsigned)t->rows, n));
    return share16_new(&t->number, t->rows * n);
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

enum err records_one_hot(struct party *p, struct records_tile *t)
{
    struct move_term *terms = memory_array(t->rows, sizeof *terms);
    enum err e = terms == NULL ? ERR_NOMEM : grow_trees(p, t, terms);
    for (size_t a = 0; e == ERR_OK && a < t->shape->attributes; a++) {
        struct planes rows = planes_view(&t->hot, (unsigned)t->row[a], t->shape->size[a]);
        bits_copy(planes_flat(&rows), planes_flat(&t->node[a]));
    }
    if (e == ERR_OK)
        e = convert_bit16(p, t->number, planes_flat(&t->hot));
    memory_free(&terms);
    return e;
}
