/*
 * protocols/train_sums.h - sums over rows of x_a u_f, for shared bits x_a of each row and its
 * features u_f.
 *
 *   1  each server adds up its own parts of the matrix products of a block (move_part_matrix())
 *   2  twice the sums of a block are below 2^15, since it has at most 1088 rows of numbers, which
 *      are at most 15, or 16320 of bits: shared, 2 bytes a server and cell, 1 exchange; with a
 *      check, the proof of all blocks at once (mpc/check/check_matrix.h)
 *   3  widened to 32 bits, 4 bytes, 1 exchange, and added up; at the end widened to 64 and halved,
 *      40/3 bytes, 1 exchange
 *
 * Blocks of step 2 and 3 go together, up to TRAIN_CELLS cells. LEAKS: nothing but sizes.
 */
#pragma once

#include "mpc/check/check_matrix.h"
#include "protocols/train_rows.h"

#define TRAIN_CELLS ((size_t)1 << 20)
#define TRAIN_BLOCK ((size_t)16320)  /* the most lanes of a block: sums of bits are below 2^14 */
#define TRAIN_NUMBERS ((size_t)1088) /* the same, of numbers up to 15 */
_Static_assert(TRAIN_BLOCK % TRAIN_NUMBERS == 0 && TRAIN_NUMBERS % 64 == 0 &&
                   TRAIN_NUMBERS * TRAIN_NUMBER_MAX < 1 << 14 && TRAIN_BLOCK < 1 << 14,
               "twice a block's sums are below 2^15");
_Static_assert(2 * TRAIN_NUMBER_MAX * TRAIN_LANES_MAX < (uint64_t)1 << 31,
               "twice all sums are below 2^31");

struct train_sums {
    const struct train_rows *rows;
    size_t side[2]; /* rows of x and of u */
    struct check_plans checks;
    struct share32 twice; /* the sums so far */
};

/* For x of so many rows; in the party's scratch. */
enum err train_sums_new(struct party *p, struct train_sums *s, const struct train_rows *rows,
                        size_t x) MUST_CHECK;
static inline size_t train_sums_cells(const struct train_sums *s)
{
    return s->side[0] * s->side[1];
}

/* How many blocks go together. */
size_t train_sums_together(const struct train_sums *s);

/* Adds this server's parts of a block's sums; x has rows of the block's n words. */
enum err train_sums_part(struct party *lane, const struct train_sums *s, size_t block,
                         struct share16 x, uint16_t *parts) MUST_CHECK;
/* Adds what `count` blocks have; x of each, and parts, one block after the other. */
enum err train_sums_add(struct party *p, struct train_sums *s, size_t first, size_t count,
                        const struct share16 *x, uint16_t *parts) MUST_CHECK;
/* out = the sums, row by row of x. */
enum err train_sums_end(struct party *p, const struct train_sums *s, struct share64 out) MUST_CHECK;
