#include "mpc/check_matrix.h"

#include "mpc/scratch.h"

#include <string.h>

/* --- which sides are left --------------------------------------------------------------------- */

static bool same_sides(const struct check_pair *a, const struct check_pair *b)
{
    return (a->left == b->left && a->right == b->right) ||
           (a->left == b->right && a->right == b->left);
}

/* Errors of two pairs of the same sides could cancel out. */
static enum err check_pairs(struct check_plans *m)
{
    m->cells = 0;
    for (size_t k = 0; k < m->pairs; k++) {
        const struct check_pair *pair = &m->pair[k];
        if (pair->left >= m->sides || pair->right >= m->sides || pair->left == pair->right)
            return ERR_MISUSE;
        for (size_t i = 0; i < k; i++)
            if (same_sides(&m->pair[i], pair))
                return ERR_MISUSE;
        m->cells += m->rows[pair->left] * m->rows[pair->right];
    }
    return ERR_OK;
}

/* The pairs that have the side, of those that have no left one yet. */
static size_t uncovered(const struct check_plans *m, const bool *covered, size_t side)
{
    size_t count = 0;
    for (size_t k = 0; k < m->pairs; k++)
        count += !covered[k] && (m->pair[k].left == side || m->pair[k].right == side);
    return count;
}

/* The side that most of those have. */
static size_t best_side(const struct check_plans *m, const bool *covered)
{
    size_t best = 0, most = 0;
    for (size_t side = 0; side < m->sides; side++) {
        const size_t count = uncovered(m, covered, side);
        if (count > most) {
            most = count;
            best = side;
        }
    }
    return best;
}

enum err check_plans(struct party *p, struct check_plans *m)
{
    bool *covered = scratch_take(p->scratch, m->pairs, sizeof *covered);
    m->left = scratch_take(p->scratch, m->sides, sizeof *m->left);
    m->from = scratch_take(p->scratch, m->pairs, sizeof *m->from);
    m->to = scratch_take(p->scratch, m->pairs, sizeof *m->to);
    m->lefts = 0;
    if (covered == NULL || m->left == NULL || m->from == NULL || m->to == NULL)
        return ERR_NOMEM;
    TRY(check_pairs(m));
    memset(covered, 0, m->pairs * sizeof *covered);
    for (size_t rest = m->pairs; rest > 0; m->lefts++) {
        const size_t best = m->left[m->lefts] = best_side(m, covered);
        for (size_t k = 0; k < m->pairs; k++) {
            const struct check_pair *pair = &m->pair[k];
            if (covered[k] || (pair->left != best && pair->right != best))
                continue;
            covered[k] = true;
            m->from[k] = m->lefts;
            m->to[k] = pair->left == best ? pair->right : pair->left;
            rest--;
        }
    }
    return ERR_OK;
}

size_t check_plans_bytes(const struct check_plans *m)
{
    size_t rows = 0;
    for (size_t k = 0; k < m->sides; k++)
        rows += m->rows[k];
    return 2 * sizeof(uint16_t) * (rows + m->lefts * 2 * KERNEL_ROWS) +
           4 * sizeof(uint64_t) * m->lefts;
}

enum err check_matrix_weigh(struct party *p, struct check_folded *s, const struct check_matrices *m,
                            struct prg *weights)
{
    const size_t *rows = m->plans->rows;
    *s = (struct check_folded){
        .m = m, .weight = scratch_take(p->scratch, m->plans->sides, sizeof *s->weight)};
    if (s->weight == NULL)
        return ERR_NOMEM;
    for (size_t k = 0; k < m->plans->sides; k++) {
        s->weight[k] = scratch_take(p->scratch, rows[k], sizeof **s->weight);
        if (s->weight[k] == NULL)
            return ERR_NOMEM;
        TRY(prg_fill(weights, s->weight[k], rows[k] * sizeof **s->weight));
    }
    return ERR_OK;
}

/* --- claims ----------------------------------------------------------------------------------- */

/* x += the weighed rows of a side of a tile */
static void fold(const struct party *p, const struct check_folded *s, const struct check_tile *tile,
                 size_t side, struct share16 x)
{
    const struct share16 rows = tile->side[side];
    p->kernel->fold16(x.a, rows.a, s->m->plans->rows[side], s->weight[side], tile->n);
    p->kernel->fold16(x.b, rows.b, s->m->plans->rows[side], s->weight[side], tile->n);
}

static enum err take_rows(struct party *p, struct share16 *x, size_t n)
{
    TRY(party_share16(p, x, KERNEL_ROWS * n));
    memset(x->a, 0, x->n * sizeof *x->a);
    memset(x->b, 0, x->n * sizeof *x->b);
    return ERR_OK;
}

/* f and g of the k-th left side in a tile. */
static enum err fold_left(struct party *p, const struct check_folded *s,
                          const struct check_tile *tile, size_t left, struct share16 *f,
                          struct share16 *g)
{
    const struct check_plans *m = s->m->plans;
    TRY(take_rows(p, f, tile->n));
    TRY(take_rows(p, g, tile->n));
    fold(p, s, tile, m->left[left], *f);
    for (size_t k = 0; k < m->pairs; k++)
        if (m->from[k] == left)
            fold(p, s, tile, m->to[k], *g);
    return ERR_OK;
}

enum err check_matrix_claims(struct party *p, struct check_folded *s, word128 claim[MATRIX_CLAIMS])
{
    /* as move_part_side() and move_part_matrix(), in whole numbers */
    static const int of_a[3] = {2, 1, 1}, of_b[3] = {1, 2, -1}, factor[3] = {1, 1, -2};
    const unsigned i = p->index;
    const size_t lefts = s->m->plans->lefts, count = s->m->tiles * lefts;
    s->f = scratch_take(p->scratch, count, sizeof *s->f);
    s->g = scratch_take(p->scratch, count, sizeof *s->g);
    if (s->f == NULL || s->g == NULL)
        return ERR_NOMEM;
    memset(claim, 0, MATRIX_CLAIMS * sizeof *claim);
    for (size_t k = 0; k < count; k++) {
        const struct check_tile *tile = &s->m->tile[k / lefts];
        struct share16 *f = &s->f[k], *g = &s->g[k];
        int64_t sums[MATRIX_CLAIMS] = {0};
        TRY(fold_left(p, s, tile, k % lefts, f, g));
        p->kernel->cross16(sums, f->a, f->b, g->a, g->b, of_a[i], of_b[i], tile->n);
        for (unsigned t = 0; t < MATRIX_CLAIMS; t++)
            claim[t] += (word128)sums[t] * (word128)factor[i];
    }
    return ERR_OK;
}

/* --- what they have to be --------------------------------------------------------------------- */

/* 64 rows of 0 and 1: the coefficients of the weights. */
static enum err spread(struct party *p, const uint64_t *weight, size_t rows, uint16_t **out)
{
    *out = scratch_take(p->scratch, KERNEL_ROWS * rows, sizeof **out);
    if (*out == NULL)
        return ERR_NOMEM;
    for (unsigned t = 0; t < KERNEL_ROWS; t++)
        for (size_t v = 0; v < rows; v++)
            (*out)[t * rows + v] = weight[v] >> t & 1;
    return ERR_OK;
}

/* sum += the cells of a pair, weighed by columns, then by rows */
static enum err add_cells(struct party *p, const struct check_folded *s,
                          const struct check_pair *pair, const uint16_t *z,
                          uint16_t sum[MATRIX_CLAIMS])
{
    const size_t rows = s->m->plans->rows[pair->left], columns = s->m->plans->rows[pair->right];
    uint16_t *weight, *row = scratch_take(p->scratch, rows * KERNEL_ROWS, sizeof *row);
    if (row == NULL)
        return ERR_NOMEM;
    memset(row, 0, rows * KERNEL_ROWS * sizeof *row);
    TRY(spread(p, s->weight[pair->right], columns, &weight));
    p->kernel->matrix16(row, 1, z, weight, rows, KERNEL_ROWS, columns);
    for (size_t v = 0; v < rows; v++)
        for (unsigned t = 0; t < KERNEL_ROWS; t++) {
            const uint16_t chosen = (uint16_t)(0 - (s->weight[pair->left][v] >> t & 1));
            for (unsigned u = 0; u < KERNEL_ROWS; u++)
                sum[t + u] = (uint16_t)(sum[t + u] + (row[v * KERNEL_ROWS + u] & chosen));
        }
    return ERR_OK;
}

enum err check_matrix_wanted(struct party *p, const struct check_folded *s,
                             uint16_t wanted[2][MATRIX_CLAIMS])
{
    const uint16_t *const z[2] = {s->m->z.a, s->m->z.b};
    const struct check_plans *m = s->m->plans;
    memset(wanted, 0, 2 * sizeof *wanted);
    for (unsigned side = 0; side < 2; side++)
        for (size_t k = 0, at = 0; k < m->pairs; k++) {
            const struct check_pair *pair = &m->pair[k];
            const struct scratch_mark mark = scratch_mark(p->scratch);
            TRY(scratch_done(p->scratch, mark, add_cells(p, s, pair, z[side] + at, wanted[side])));
            at += m->rows[pair->left] * m->rows[pair->right];
        }
    return ERR_OK;
}
