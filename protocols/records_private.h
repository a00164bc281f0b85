/* protocols/records_private.h - what the pieces of records.h share. */
#ifndef TREFOIL_PROTOCOLS_RECORDS_PRIVATE_H
#define TREFOIL_PROTOCOLS_RECORDS_PRIVATE_H

#include "mpc/check_matrix.h"
#include "protocols/records.h"

/* Sums of so many records are below 2^14, so that twice a sum is below 2^15. */
#define RECORDS_BLOCK ((size_t)16383)

/* --- records_plan.c, records_place.c: which products make which marginal; public -------------- */

/* An attribute's values, or one of the two digits of value = high * base + low. */
enum records_digit { RECORDS_WHOLE, RECORDS_HIGH, RECORDS_LOW };
struct records_factor {
    uint16_t attribute;
    enum records_digit digit;
    uint32_t base; /* 0 where whole */
};
size_t records_factor_rows(const struct records_shape *shape, const struct records_factor *f);

/* A matrix with a column a record: the rows of no factor (one row of ones), one, or all pairs. */
struct records_side {
    unsigned factors;
    struct records_factor factor[2];
    size_t rows;
    size_t made;      /* rows that are products of shares; the others follow from them */
    size_t number[2]; /* of two factors: which of the plans' these are */
};

/* A marginal is the product of two sides, whose cells may be more than the marginal's. */
struct records_plan {
    struct records_query *query;
    size_t left, right; /* sides */
    size_t parts;       /* where its cells begin among those of all plans */
    size_t cells;       /* where its marginal begins among all */
};

struct records_plans {
    struct records_side *side;
    struct records_plan *plan;
    struct records_factor *factor; /* of sides of two, each once */
    size_t sides, plans, factors;
    size_t rows, made;   /* of all sides */
    size_t parts, cells; /* of all plans */
};

/*
 * From the party's scratch. The same for the same shape and queries, in whatever order. ERR_RANGE
 * as of records_count().
 */
enum err records_plans_new(struct party *p, struct records_plans *plans,
                           const struct records_shape *shape, struct records_query *queries,
                           size_t count) MUST_CHECK;

/* Cells of a plan's product to those of its marginal, in the query's order. */
enum err records_place(struct party *p, const struct records_shape *shape,
                       const struct records_plans *plans, const struct records_plan *plan,
                       const uint16_t *parts, uint16_t *cells) MUST_CHECK;

/* --- records_scores.c: which values' planes make up a score; public --------------------------- */

/*
 * A score is a sum of weights, of the planes that its value has: the bits of a number of two's
 * complement; or, where they are no more than these, one plane a value. Where an attribute's values
 * are in several groups a plane belongs to one: there is one for each group, if all its values have
 * one score, or one a value.
 */
enum records_planes { RECORDS_OF_BITS, RECORDS_OF_VALUES, RECORDS_OF_GROUPS };
struct records_scores {
    const int64_t *const *score; /* score[attribute][value] */
    const int64_t *const *group; /* group[attribute][value], or NULL */
    size_t *groups;              /* of each attribute */
    enum records_planes *kind;   /* what its planes are of */
    size_t *row;                 /* of each attribute: its first plane; and how many there are */
    size_t *of, *in;             /* of each plane: its attribute, and its group of that */
    int64_t *weight;             /* of each plane */
};

/* From the party's scratch. ERR_RANGE: a score is above RECORDS_SCORE_MAX, or a group too high. */
enum err records_scores_new(struct party *p, struct records_scores *s,
                            const struct records_shape *shape, const int64_t *const *score,
                            const int64_t *const *group) MUST_CHECK;

/* Whether a value has an attribute's plane. */
bool records_scores_have(const struct records_scores *s, size_t attribute, size_t plane,
                         size_t value);

/* --- records_block.c: up to RECORDS_BLOCK records, their one-hot planes as numbers ------------ */

struct records_block {
    const struct records_shape *shape;
    const struct records_scores *scores; /* or NULL: numbers are those of values */
    size_t n;                            /* lanes, a multiple of 64 */
    size_t used, records;                /* lanes taken so far, a multiple of 64; records in them */
    unsigned *plane;                     /* of each attribute: its first in `code` */
    struct planes code;                  /* validity and code planes */
    struct planes valid;                 /* of each part of a batch */
    size_t *row, rows; /* of each attribute: its first in `number`; where the last values' begin */
    struct share16 number; /* rows of n words: validity, all values but the last ones, the last;
                              or the scores' planes */
};

/* The most lanes of a block: as many as there is memory for. */
size_t records_block_length(const struct records_shape *shape, const struct records_scores *scores);
/* From the party's scratch, empty. `parts`: the most of a batch. */
enum err records_block_take(struct party *p, struct records_block *b,
                            const struct records_shape *shape, const struct records_scores *scores,
                            size_t n, size_t parts) MUST_CHECK;
/* What is not loaded is invalid. */
void records_block_empty(struct records_block *b);

/* Makes `number` from the codes. */
enum err records_one_hot(struct party *p, struct records_block *b) MUST_CHECK;

/* The row of an attribute's value, `n` records from `from` on. */
struct share16 records_row(const struct records_block *b, uint16_t attribute, size_t value,
                           size_t from, size_t n);

/* --- records_load.c: a batch's vectors into blocks -------------------------------------------- */

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
 * Loads what fits behind what the block holds; false if nothing does. Each batch begins at a
 * multiple of 64, so small ones share a block.
 */
bool records_load(const struct party *p, struct records_block *b, struct records_source *s);

/* --- records_sum.c: what is summed over all records, block by block --------------------------- */

/*
 * Numbers that a block's records add up to, of which each record adds 0 or 1 to any. `add` adds
 * this server's parts of them, of `n` records of a block from `from` on; `settle` makes shares of
 * twice the sums, given the parts of a whole block; `take` adds sums of all blocks to the results,
 * those from the `from`-th on.
 */
struct records_sums {
    const struct records_shape *shape;
    const struct records_scores *scores; /* or NULL */
    size_t parts, cells, tile;
    enum err (*add)(struct party *lane, const struct records_sums *s, const struct records_block *b,
                    size_t from, size_t n, uint16_t *parts);
    enum err (*settle)(struct party *p, const struct records_sums *s, const struct records_block *b,
                       uint16_t *parts, struct share16 cells);
    void (*take)(const struct records_sums *s, size_t from, struct share64 sums);
    /* in the place of `add` and `settle` under a check, or NULL */
    enum err (*checked)(struct party *p, const struct records_sums *s,
                        const struct records_block *b, struct share16 cells);
    const void *self;
};
enum err records_sum(struct party *p, const struct records_sums *s,
                     const struct records_batch *batches, size_t count) MUST_CHECK;

/* --- records_sides.c: the sides of a tile of a block ------------------------------------------ */

/*
 * What each side brings to the parts of matrix products (move_part_side()), row after row; and the
 * sides themselves and their factors where they are kept, to be checked.
 */
struct records_tile {
    size_t from, n; /* records of the block */
    uint16_t **side;
    struct share16 *kept, *factor; /* or NULL: of each side, and of each factor of two */
};

/* Records of a tile: as many as there is memory for. */
size_t records_tile_length(const struct records_plans *plans);
/* Room for the sides of a tile, which records_tile_sides() then keeps. */
enum err records_tile_keep(struct party *p, struct records_tile *t,
                           const struct records_plans *plans,
                           const struct records_shape *shape) MUST_CHECK;
/* In the party's scratch; one round. */
enum err records_tile_sides(struct party *p, struct records_tile *t,
                            const struct records_plans *plans,
                            const struct records_block *b) MUST_CHECK;
/* Adds this server's parts of the sums of all plans. */
void records_tile_add(struct party *p, const struct records_tile *t,
                      const struct records_plans *plans, uint16_t *parts);

/* --- records_checked.c: the sums of a block under a check ------------------------------------- */

struct records_checked {
    const struct records_plans *plans;
    const struct check_plans *checks;
    size_t tile;
};

/* The plans as a check sees them, in the party's scratch. */
enum err records_checks_new(struct party *p, struct check_plans *checks,
                            const struct records_plans *plans,
                            const struct records_shape *shape) MUST_CHECK;
/* cells = twice the counts, which are proved. */
enum err records_block_checked(struct party *p, const struct records_checked *c,
                               const struct records_block *b, struct share16 cells) MUST_CHECK;

#endif
