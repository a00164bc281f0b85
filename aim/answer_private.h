/*
 * aim/answer_private.h - one column's answers while they are computed; shared by answer.c and
 * aggregate.c.
 */
#ifndef TREFOIL_AIM_ANSWER_PRIVATE_H
#define TREFOIL_AIM_ANSWER_PRIVATE_H

#include "aim/answer.h"

#define ANSWER_ROWS UINT16_MAX /* in the place of y: rows, whatever they hold */

struct answering {
    const struct question *question;
    const struct densities *inside;
    uint16_t y;
    uint32_t codes, known;         /* of y; the known ones come first */
    const struct density *density; /* of y, or NULL: it has labels */
    struct clique asked;           /* groups and y */
    uint64_t cells;                /* of these */
    size_t stride;                 /* of y */
    double *mass;                  /* of each case: rows in each cell, y not yet looked at */
    struct density_part *part;     /* of each case: what it leaves of each code of y */
};

/* The cells of a line: first + stride * code, for from <= code < below. */
struct answer_line {
    size_t first;
    uint32_t from, below;
};

/* What a set has of a code, below a bound. */
struct density_part answer_part(const struct answering *w, uint16_t column, struct values v,
                                uint32_t code, double below);

struct answer_sums {
    double rows, mean, variance; /* of rows that have y */
};
struct answer_sums answer_sums(const struct answering *w, const struct answer_line *l);

/* The code of most rows. */
double answer_mode(const struct answering *w, const struct answer_line *l);
/* The number at or below which so many rows lie; there must be some. */
double answer_quantile(const struct answering *w, const struct answer_line *l, double rows);
/* SQL's PERCENTILE_CONT of so many rows. */
double answer_percentile(const struct answering *w, const struct answer_line *l, double rows,
                         double p);

#endif
