/* protocols/records_private.h - what the pieces of records.h share. */
#ifndef TREFOIL_PROTOCOLS_RECORDS_PRIVATE_H
#define TREFOIL_PROTOCOLS_RECORDS_PRIVATE_H

#include "protocols/records.h"

/*
 * --- records_tile.c: so many records at a time, and their one-hot matrices
 * -------------------------
 */

/* Row v of attribute a's matrix stands at row[a] + v in `hot`. */
struct records_tile {
    const struct records_shape *shape;
    size_t n; /* records, a multiple of 64 */
    size_t *row, rows;
    unsigned *plane;     /* of each attribute: its first in `code` */
    struct planes *node; /* of each attribute: the tree's nodes of one level */
    struct planes *next; /* and the ANDs of the level below */
    struct planes code;  /* validity and code planes */
    struct planes valid; /* of each part of a batch */
    size_t used;         /* records loaded so far, a multiple of 64 */
    struct planes hot;
    struct share16 number; /* the same as `hot` in Z_2^16 */
};

/* From the party's scratch, empty. `parts`: the most of a batch. */
enum err records_tile_take(struct party *p, struct records_tile *t,
                           const struct records_shape *shape, size_t n, size_t parts) MUST_CHECK;
/* What is not loaded is invalid. */
void records_tile_empty(struct records_tile *t);

/* Makes `hot` and `number` from the codes. */
enum err records_one_hot(struct party *p, struct records_tile *t) MUST_CHECK;

/*
 * --- records_load.c: a batch's vectors into tiles
 * ---------------------------------------------------
 */

struct records_source {
    const struct records_batch *batch;
    struct records_stream *stream; /* of each part */
    size_t taken;                  /* records loaded */
};

/* In the party's scratch. ERR_RANGE as of records_count(). */
enum err records_source_open(struct party *p, struct records_source *s,
                             const struct records_shape *shape,
                             const struct records_batch *b) MUST_CHECK;

/*
 * Loads what fits behind what the tile holds. Each batch begins at a multiple of 64, so small ones
 * share a tile.
 */
void records_load(const struct party *p, struct records_tile *t, struct records_source *s);

/*
 * --- records_plan.c: which products make a marginal; public
 * -----------------------------------------
 */

/* One or two attributes as a one-hot matrix: rows values (or pairs of them), n columns. */
struct records_side {
    size_t n;
    uint16_t attribute[2];
};

/* How a query is computed: the two sides' product, whose order may differ from the query's. */
struct records_plan {
    struct records_query *query;
    struct records_side left, right;
    uint16_t *part; /* this server's part of the group's sum, in the product's order */
    size_t cells;
};

size_t records_side_rows(const struct records_shape *shape, const struct records_side *s);

/*
 * In order of their left sides. `total` is the cells of all plans. ERR_RANGE as of records_count().
 */
enum err records_plans(const struct records_shape *shape, struct records_query *queries,
                       size_t count, struct records_plan *plans, size_t *total) MUST_CHECK;

/* Where cell i of the product's order stands in the query's order. */
size_t records_place(const struct records_shape *shape, const struct records_plan *plan, size_t i);

#endif
