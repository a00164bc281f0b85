/*
 * mpc/check_matrix.h - the check of products of shared matrices over Z_2^16, all plans at once.
 *
 * Sides are matrices of a column for each record. A plan says that two of them, x and y, and its
 * part of z fit:
 *
 *   2 sum over columns of x_v y_w = z[v,w]   mod 2^16        for all rows v of x and w of y
 *
 * Each row v weighs rho_v(Y), 64 coefficients 0 or 1, of a coin that comes after z. Of a column,
 * with f the sum of rho_v x_v and g that of all sides that meet this one in a plan, the relations
 * add up to 2 sum of f g = sum of rho_v rho_w z[v,w]: 127 coefficients, and a product for each
 * column and each side on the left. docs/protocols.md has the rest, and why it suffices.
 */
#ifndef TREFOIL_MPC_CHECK_MATRIX_H
#define TREFOIL_MPC_CHECK_MATRIX_H

#include "mpc/party.h"

#define MATRIX_CLAIMS (2 * KERNEL_ROWS - 1)

/* n columns: of each side, rows of n words, one after the other. */
struct check_tile {
    size_t n;
    const struct share16 *side;
};

/* Two sides, no two of them twice, in whatever order. */
struct check_plan {
    size_t left, right;
};

/* What stands in several tiles is added up. z has a plan's cells row by row, plan after plan. */
struct check_matrices {
    const struct check_tile *tile;
    size_t tiles;
    const size_t *rows; /* of each side */
    size_t sides;
    const struct check_plan *plan;
    size_t plans;
    struct share16 z;
};

/* On its way through a flush: weights, and f and g of each tile and left side. */
struct matrix_sums {
    const struct check_matrices *m;
    uint64_t **weight; /* of each side: of its rows */
    size_t *left;      /* sides that are left */
    size_t lefts;
    bool *turned;          /* of each plan: its right side is left */
    struct share16 *f, *g; /* of each tile, of each left side: 64 rows */
};

/* From the party's scratch. ERR_MISUSE where two plans have the same sides, or one side twice. */
enum err matrix_begin(struct party *p, struct matrix_sums *s,
                      const struct check_matrices *m) MUST_CHECK;

/* Draws the weights. */
enum err matrix_weigh(const struct matrix_sums *s, struct prg *weights) MUST_CHECK;

/* This server's summands of the claims, whole numbers: the three's add up to 2 sum of f g. */
enum err matrix_claims(struct party *p, struct matrix_sums *s,
                       word128 claim[MATRIX_CLAIMS]) MUST_CHECK;

/* What the claims have to be, modulo 2^16, by component: the sum of rho_v rho_w z[v,w]. */
enum err matrix_wanted(struct party *p, const struct matrix_sums *s,
                       uint16_t wanted[2][MATRIX_CLAIMS]) MUST_CHECK;

/*
 * The products whose sums the claims are, in parts, one for each left side of each tile: f and g
 * of its columns.
 */
size_t matrix_count(const struct matrix_sums *s);
size_t matrix_columns(const struct matrix_sums *s, size_t k);

#endif
