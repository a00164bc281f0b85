#include "mpc/check_matrix.h"

#include "mpc/scratch.h"

#include <string.h>

/* --- which sides are left --------------------------------------------------------------------- */

static bool same_sides(const struct check_plan *a, const struct check_plan *b)
{
    return (a->left == b->left && a->right == b->right) ||
           (a->left == b->right && a->right == b->left);
}

/* Errors of two plans with the same sides could cancel out. */
static enum err check_plans(const struct check_matrices *m)
{
    size_t cells = 0;
    for (size_t k = 0; k < m->plans; k++) {
        const struct check_plan *plan = &m->plan[k];
        if (plan->left >= m->sides || plan->right >= m->sides || plan->left == plan->right)
            return ERR_MISUSE;
        for (size_t i = 0; i < k; i++)
            if (same_sides(&m->plan[i], plan))
                return ERR_MISUSE;
        cells += m->rows[plan->left] * m->rows[plan->right];
    }
    return cells == m->z.n ? ERR_OK : ERR_MISUSE;
}

/* Plans that have the side and no left one yet. */
static size_t uncovered(const struct check_matrices *m, const bool *covered, size_t side)
{
    size_t count = 0;
    for (size_t k = 0; k < m->plans; k++)
        count += !covered[k] && (m->plan[k].left == side || m->plan[k].right == side);
    return count;
}

/* The side that most of the plans that are left over have. */
static size_t best_side(const struct check_matrices *m, const bool *covered)
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

/* Few sides, one of which each plan has. */
static enum err choose_lefts(struct party *p, struct matrix_sums *s)
{
    const struct check_matrices *m = s->m;
    bool *covered = scratch_take(p->scratch, m->plans, sizeof *covered);
    if (covered == NULL)
        return ERR_NOMEM;
    memset(covered, 0, m->plans * sizeof *covered);
    for (size_t left = m->plans; left > 0;) {
        const size_t best = s->left[s->lefts++] = best_side(m, covered);
        for (size_t k = 0; k < m->plans; k++)
            if (!covered[k] && (m->plan[k].left == best || m->plan[k].right == best)) {
                covered[k] = true;
                s->turned[k] = m->plan[k].left != best;
                left--;
            }
    }
    return ERR_OK;
}

enum err matrix_begin(struct party *p, struct matrix_sums *s, const struct check_matrices *m)
{
    *s = (struct matrix_sums){
        .m = m,
        .weight = scratch_take(p->scratch, m->sides, sizeof *s->weight),
        .left = scratch_take(p->scratch, m->sides, sizeof *s->left),
        .turned = scratch_take(p->scratch, m->plans, sizeof *s->turned),
    };
    if (s->weight == NULL || s->left == NULL || s->turned == NULL)
        return ERR_NOMEM;
    for (size_t k = 0; k < m->sides; k++)
        if ((s->weight[k] = scratch_take(p->scratch, m->rows[k], sizeof **s->weight)) == NULL)
            return ERR_NOMEM;
    TRY(check_plans(m));
    return choose_lefts(p, s);
}

enum err matrix_weigh(const struct matrix_sums *s, struct prg *weights)
{
    for (size_t k = 0; k < s->m->sides; k++)
        TRY(prg_fill(weights, s->weight[k], s->m->rows[k] * sizeof **s->weight));
    return ERR_OK;
}

/* --- claims ----------------------------------------------------------------------------------- */

/* x += the weighed rows of a side of a tile */
static void fold(const struct party *p, const struct matrix_sums *s, const struct check_tile *tile,
                 size_t side, struct share16 x)
{
    const struct share16 rows = tile->side[side];
    p->kernel->fold16(x.a, rows.a, s->m->rows[side], s->weight[side], tile->n);
    p->kernel->fold16(x.b, rows.b, s->m->rows[side], s->weight[side], tile->n);
}

static enum err take_rows(struct party *p, struct share16 *x, size_t n)
{
    TRY(party_share16(p, x, KERNEL_ROWS * n));
    memset(x->a, 0, x->n * sizeof *x->a);
    memset(x->b, 0, x->n * sizeof *x->b);
    return ERR_OK;
}

/* f and g of a left side in a tile. */
static enum err fold_left(struct party *p, const struct matrix_sums *s,
                          const struct check_tile *tile, size_t left, struct share16 *f,
                          struct share16 *g)
{
    TRY(take_rows(p, f, tile->n));
    TRY(take_rows(p, g, tile->n));
    fold(p, s, tile, left, *f);
    for (size_t k = 0; k < s->m->plans; k++) {
        const struct check_plan *plan = &s->m->plan[k];
        if ((s->turned[k] ? plan->right : plan->left) == left)
            fold(p, s, tile, s->turned[k] ? plan->left : plan->right, *g);
    }
    return ERR_OK;
}

size_t matrix_count(const struct matrix_sums *s)
{
    return s->m->tiles * s->lefts;
}

size_t matrix_columns(const struct matrix_sums *s, size_t k)
{
    return s->m->tile[k / s->lefts].n;
}

enum err matrix_claims(struct party *p, struct matrix_sums *s, word128 claim[MATRIX_CLAIMS])
{
    /* as move_part_side() and move_part_matrix(), in whole numbers */
    static const int of_a[3] = {2, 1, 1}, of_b[3] = {1, 2, -1}, factor[3] = {1, 1, -2};
    const unsigned i = p->index;
    s->f = scratch_take(p->scratch, matrix_count(s), sizeof *s->f);
    s->g = scratch_take(p->scratch, matrix_count(s), sizeof *s->g);
    if (s->f == NULL || s->g == NULL)
        return ERR_NOMEM;
    memset(claim, 0, MATRIX_CLAIMS * sizeof *claim);
    for (size_t k = 0; k < matrix_count(s); k++) {
        struct share16 *f = &s->f[k], *g = &s->g[k];
        int64_t sums[MATRIX_CLAIMS] = {0};
        TRY(fold_left(p, s, &s->m->tile[k / s->lefts], s->left[k % s->lefts], f, g));
        p->kernel->cross16(sums, f->a, f->b, g->a, g->b, of_a[i], of_b[i], matrix_columns(s, k));
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

/* sum += the cells of a plan, weighed by columns, then by rows */
static enum err add_cells(struct party *p, const struct matrix_sums *s,
                          const struct check_plan *plan, const uint16_t *z,
                          uint16_t sum[MATRIX_CLAIMS])
{
    const size_t rows = s->m->rows[plan->left], columns = s->m->rows[plan->right];
    uint16_t *weight, *row = scratch_take(p->scratch, rows * KERNEL_ROWS, sizeof *row);
    if (row == NULL)
        return ERR_NOMEM;
    memset(row, 0, rows * KERNEL_ROWS * sizeof *row);
    TRY(spread(p, s->weight[plan->right], columns, &weight));
    p->kernel->matrix16(row, 1, z, weight, rows, KERNEL_ROWS, columns);
    for (size_t v = 0; v < rows; v++)
        for (unsigned t = 0; t < KERNEL_ROWS; t++) {
            const uint16_t chosen = (uint16_t)(0 - (s->weight[plan->left][v] >> t & 1));
            for (unsigned u = 0; u < KERNEL_ROWS; u++)
                sum[t + u] = (uint16_t)(sum[t + u] + (row[v * KERNEL_ROWS + u] & chosen));
        }
    return ERR_OK;
}

enum err matrix_wanted(struct party *p, const struct matrix_sums *s,
                       uint16_t wanted[2][MATRIX_CLAIMS])
{
    const uint16_t *const z[2] = {s->m->z.a, s->m->z.b};
    memset(wanted, 0, 2 * sizeof *wanted);
    for (unsigned side = 0; side < 2; side++)
        for (size_t k = 0, at = 0; k < s->m->plans; k++) {
            const struct check_plan *plan = &s->m->plan[k];
            const struct scratch_mark mark = scratch_mark(p->scratch);
            TRY(scratch_done(p->scratch, mark, add_cells(p, s, plan, z[side] + at, wanted[side])));
            at += s->m->rows[plan->left] * s->m->rows[plan->right];
        }
    return ERR_OK;
}
