/* protocols/records_block.h - up to RECORDS_BLOCK records, their one-hot planes as numbers. */
#pragma once

#include "protocols/records_scores.h"

/* Sums of so many records are below 2^14, so that twice a sum is below 2^15. */
#define RECORDS_BLOCK ((size_t)16383)

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
/* From the party's scratch, empty. `parts`: the most that a batch has. */
enum err records_block_take(struct party *p, struct records_block *b,
                            const struct records_shape *shape, const struct records_scores *scores,
                            size_t n, size_t parts) MUST_CHECK;
/* Empties it: records that are not loaded are invalid. */
void records_block_empty(struct records_block *b);

/* Makes `number` from the codes, in the party's scratch. */
enum err records_one_hot(struct party *p, struct records_block *b) MUST_CHECK;

/* The planes of an attribute's values but the last, in the party's scratch. */
enum err records_hot(struct party *p, const struct records_block *b, uint16_t attribute,
                     struct planes *hot) MUST_CHECK;

/* The row of an attribute's value, `n` records from `from` on. */
struct share16 records_row(const struct records_block *b, uint16_t attribute, size_t value,
                           size_t from, size_t n);
