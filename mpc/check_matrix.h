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

/* Sides, of so many rows each, and plans: pairs of different sides, no pair twice in any order. */
struct check_plans {
    const size_t *rows;
    size_t sides;
    const struct check_pair {
        size_t left, right;
    } * pair;
    size_t pairs;
    /* made by check_plans(): */
    size_t cells; /* of all pairs */
    size_t *left; /* few sides, of which each pair has one */
    size_t lefts;
    size_t *from; /* of each pair: which of these; what they meet are the others */
    size_t *to;
};

/* In the party's scratch. ERR_MISUSE where the pairs are not different ones. */
enum err check_plans(struct party *p, struct check_plans *plans) MUST_CHECK;

/* Memory that a column takes while it is checked, its sides included. */
size_t check_plans_bytes(const struct check_plans *plans);

/* n columns: of each side, rows of n words, one after the other. */
struct check_tile {
    size_t n;
    const struct share16 *side;
};

/* What stands in several tiles is added up. z has a pair's cells row by row, pair after pair. */
struct check_matrices {
    const struct check_plans *plans;
    const struct check_tile *tile;
    size_t tiles;
    struct share16 z;
};

/* On its way through a flush: weights, and f and g of each left side of each tile. */
struct check_folded {
    const struct check_matrices *m;
    uint64_t **weight; /* of each side: of its rows */
    struct share16 *f, *g;
};

/* Draws the weights. In the party's scratch, as all that follows. */
enum err check_matrix_weigh(struct party *p, struct check_folded *s, const struct check_matrices *m,
                            struct prg *weights) MUST_CHECK;

/* This server's summands of the claims, whole numbers: the three's add up to 2 sum of f g. */
enum err check_matrix_claims(struct party *p, struct check_folded *s,
                             word128 claim[MATRIX_CLAIMS]) MUST_CHECK;

/* What the claims have to be, modulo 2^16, by component: the sum of rho_v rho_w z[v,w]. */
enum err check_matrix_wanted(struct party *p, const struct check_folded *s,
                             uint16_t wanted[2][MATRIX_CLAIMS]) MUST_CHECK;

#endif
