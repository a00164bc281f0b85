/*
 * mpc/check/check_matrix.h - the check of products of shared matrices over Z_2^16, all at once.
 *
 * Matrices have a column for each record. Sides are paired, x with y, and z is claimed to be
 *
 *   2 sum over columns of x_v y_w = z[v,w]   mod 2^16        for all rows v of x and w of y
 *
 * Each row v has the weight rho_v(Y), 32 coefficients 0 or 1, from a coin that comes after z. For a
 * column, let f be the sum of rho_v x_v, and g that of all sides that are paired with this one. The
 * relations add up to 2 sum of f g = sum of rho_v rho_w z[v,w]: 63 coefficients, and a product for
 * each column and each side on the left. All this is done twice, with weights of their own:
 * together a row has 64 bits, and f and g have 64 rows of coefficients, of which the upper 32
 * meet.
 *
 * Where each tile of columns has a z of its own, rows of the sides on the left have other weights
 * in each: so no two cells share a product of weights, and no two errors can cancel out.
 *
 * A side may itself be made of two factors, rows u of one by rows v of the other:
 *
 *   u_i v_j = x_ij   mod 2^16                                except for the last i and the last j
 *
 * That is proved in the same way. Row v_j has the same weight in all columns, and row u_i another
 * in each, so the errors of no two products cancel out. docs/protocols.md has the rest.
 */
#pragma once

#include "mpc/party/party.h"

#define MATRIX_CLAIMS (2 * KERNEL_CROSS)

/* Sides, of so many rows each, and plans: pairs of different sides, none twice in either order. */
struct check_plans {
    const size_t *rows;
    size_t sides;
    const struct check_pair {
        size_t left, right;
    } * pair;
    size_t pairs;
    const size_t *factor_rows;
    size_t factors;
    const struct check_made {
        size_t u, v, side; /* row (i, j) of the side is at i times the rows of v, + j */
    } * made;
    size_t mades;
    /* made by check_plans(): */
    size_t cells; /* of all pairs */
    size_t *left; /* a few sides, so that each pair has one of them */
    size_t lefts;
    size_t *from; /* of each pair: which of these, and the side that it meets */
    size_t *to;
};

/* In the party's scratch. ERR_MISUSE where the pairs are not different ones. */
enum err check_plans(struct party *p, struct check_plans *plans) MUST_CHECK;

/* Memory that a column takes while it is checked, including its sides. */
size_t check_plans_bytes(const struct check_plans *plans);

/* n columns, a multiple of 64: of each side and factor, rows of n words, one after the other. */
struct check_tile {
    size_t n;
    const struct share16 *side, *factor;
};

/*
 * The sums are over all tiles or, `apart`, over each, one after the other. z has a pair's cells row
 * by row, pair after pair.
 */
struct check_matrices {
    const struct check_plans *plans;
    const struct check_tile *tile;
    size_t tiles;
    struct share16 z;
    bool apart;
};

static inline size_t check_matrices_cells(const struct check_matrices *m)
{
    return m->plans->cells * (m->apart ? m->tiles : 1);
}

/*
 * In a flush, of pairs or of sides that are made: f and g of each of `count` parts, which are
 * columns of one tile.
 */
struct check_folded {
    const struct check_matrices *m;
    size_t count;
    struct share16 *f, *g;
    unsigned bits;                     /* modulo 2^bits the claims are known: */
    uint32_t wanted[2][MATRIX_CLAIMS]; /* what they have to be, by component */
};

/* Draw the weights. In the party's scratch. */
enum err check_fold_pairs(struct party *p, struct check_folded *s, const struct check_matrices *m,
                          struct prg *weights) MUST_CHECK;
enum err check_fold_made(struct party *p, struct check_folded *s, const struct check_matrices *m,
                         struct prg *weights) MUST_CHECK;

/* This server's summands of 2 sum of f g, in whole numbers. */
void check_matrix_claims(const struct party *p, const struct check_folded *s,
                         word128 claim[MATRIX_CLAIMS]);
