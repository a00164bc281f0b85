#include "mpc/check/check_fold.h"

#include "mpc/party/scratch.h"

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

static enum err check_factors(const struct check_plans *m)
{
    for (size_t k = 0; k < m->mades; k++) {
        const struct check_made *made = &m->made[k];
        if (made->u >= m->factors || made->v >= m->factors || made->side >= m->sides ||
            m->rows[made->side] != m->factor_rows[made->u] * m->factor_rows[made->v])
            return ERR_MISUSE;
    }
    return ERR_OK;
}

/* How many of the pairs that have no left side yet have this side. */
static size_t uncovered(const struct check_plans *m, const bool *covered, size_t side)
{
    size_t count = 0;
    for (size_t k = 0; k < m->pairs; k++)
        count += !covered[k] && (m->pair[k].left == side || m->pair[k].right == side);
    return count;
}

/* The side that most of those pairs have. */
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
    bool *covered;
    TRY(scratch_array(p->scratch, &covered, m->pairs));
    TRY(scratch_array(p->scratch, &m->left, m->sides));
    TRY(scratch_array(p->scratch, &m->from, m->pairs));
    TRY(scratch_array(p->scratch, &m->to, m->pairs));
    m->lefts = 0;
    TRY(check_pairs(m));
    TRY(check_factors(m));
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
    const size_t folded = m->lefts + m->factors;
    size_t rows = 2 * KERNEL_ROWS * folded;
    for (size_t k = 0; k < m->sides; k++)
        rows += m->rows[k];
    for (size_t k = 0; k < m->factors; k++)
        rows += m->factor_rows[k];
    return 2 * sizeof(uint16_t) * rows;
}

/* --- folds ------------------------------------------------------------------------------------ */

enum err check_folded_new(struct party *p, struct check_folded *s, const struct check_matrices *m,
                          size_t most)
{
    *s = (struct check_folded){.m = m};
    TRY(scratch_array(p->scratch, &s->f, most));
    return scratch_array(p->scratch, &s->g, most);
}

enum err check_folded_part(struct party *p, struct check_folded *s, size_t n)
{
    const struct share16 *g = &s->g[s->count];
    TRY(party_share16(p, &s->f[s->count], KERNEL_ROWS * n));
    TRY(party_share16(p, &s->g[s->count], KERNEL_ROWS * n));
    memset(g->a, 0, g->n * sizeof *g->a);
    memset(g->b, 0, g->n * sizeof *g->b);
    s->count++;
    return ERR_OK;
}

enum err check_draw_weights(struct party *p, struct prg *weights, const size_t *rows,
                            size_t matrices, uint64_t ***weight)
{
    TRY(scratch_array(p->scratch, weight, matrices));
    for (size_t k = 0; k < matrices; k++) {
        TRY(scratch_array(p->scratch, &(*weight)[k], rows[k]));
        TRY(prg_fill(weights, (*weight)[k], rows[k] * sizeof ***weight));
    }
    return ERR_OK;
}

void check_fold_rows(const struct party *p, struct share16 out, struct share16 x, size_t rows,
                     const uint64_t *weight, size_t n, bool add)
{
    p->kernel->fold16(out.a, x.a, rows, weight, n, add);
    p->kernel->fold16(out.b, x.b, rows, weight, n, add);
}

void check_add_weighed(const struct party *p, uint32_t sum[MATRIX_CLAIMS],
                       const uint16_t *coefficients, const uint64_t *weight, size_t rows)
{
    uint16_t weighed[KERNEL_ROWS][KERNEL_STRIP];
    p->kernel->fold16(weighed[0], coefficients, rows, weight, KERNEL_STRIP, false);
    for (size_t s = 0; s < KERNEL_ROWS; s++)
        for (size_t t = 0, half = s / KERNEL_HALF; t < KERNEL_HALF; t++)
            sum[half * KERNEL_CROSS + s % KERNEL_HALF + t] += weighed[s][half * KERNEL_HALF + t];
}

/* --- pairs ------------------------------------------------------------------------------------ */

static void add_rows(const struct party *p, struct share16 out, struct share16 x)
{
    p->kernel->linear16(out.a, 1, out.a, 1, x.a, x.n);
    p->kernel->linear16(out.b, 1, out.b, 1, x.b, x.n);
}

/*
 * The sums that a side of a tile adds to: f where it is on the left, and g of the sides it meets.
 */
static size_t sums_of(const struct check_folded *s, size_t side, size_t first, struct share16 *sum,
                      bool *is_left)
{
    const struct check_plans *m = s->m->plans;
    size_t count = 0;
    for (size_t left = 0; left < m->lefts; left++)
        if (m->left[left] == side)
            sum[count++] = s->f[first + left];
    *is_left = count > 0;
    for (size_t k = 0; k < m->pairs; k++)
        if (m->to[k] == side)
            sum[count++] = s->g[first + m->from[k]];
    return count;
}

/* A side is weighed once, whatever it adds to; one that is on the left makes an f, which comes
 * first. */
static enum err fold_side(struct party *p, struct check_folded *s, const struct check_tile *tile,
                          size_t side, const uint64_t *weight, size_t first)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct check_plans *m = s->m->plans;
    struct share16 *sum, folded;
    size_t count;
    bool left;
    TRY(scratch_array(p->scratch, &sum, m->pairs + 1));
    count = sums_of(s, side, first, sum, &left);
    if (left || count == 1) {
        check_fold_rows(p, sum[0], tile->side[side], m->rows[side], weight, tile->n, !left);
        folded = sum[0];
    } else {
        TRY(party_share16(p, &folded, KERNEL_ROWS * tile->n));
        check_fold_rows(p, folded, tile->side[side], m->rows[side], weight, tile->n, false);
    }
    for (size_t k = left || count == 1; k < count; k++)
        add_rows(p, sum[k], folded);
    return ERR_OK;
}

static enum err fold_tile(struct party *p, struct check_folded *s, const struct check_tile *tile,
                          uint64_t *const *weight)
{
    const struct check_plans *m = s->m->plans;
    const size_t first = s->count;
    for (size_t left = 0; left < m->lefts; left++)
        TRY(check_folded_part(p, s, tile->n));
    for (size_t side = 0; side < m->sides; side++)
        TRY(fold_side(p, s, tile, side, weight[side], first));
    return ERR_OK;
}

/* Plane t has bit t of every weight, of `wide` lanes, some of which may be past the end. */
static enum err spread(struct party *p, const uint64_t *weight, size_t rows, size_t wide,
                       uint64_t **planes)
{
    TRY(scratch_array(p->scratch, planes, wide));
    for (size_t at = 0; at < wide; at += 64) {
        uint64_t block[64] = {0};
        memcpy(block, weight + at, (rows - at < 64 ? rows - at : 64) * sizeof *block);
        p->kernel->transpose(block, 1);
        for (size_t t = 0; t < KERNEL_ROWS; t++)
            (*planes)[t * (wide / 64) + at / 64] = block[t];
    }
    return ERR_OK;
}

/* The cells of a pair, weighed by columns, then by rows. */
static enum err add_cells(struct party *p, const struct check_plans *m,
                          const struct check_pair *pair, uint64_t *const *weight, const uint16_t *z,
                          uint32_t sum[MATRIX_CLAIMS])
{
    const size_t rows = m->rows[pair->left], columns = m->rows[pair->right];
    const size_t wide = (columns + KERNEL_STRIP - 1) / KERNEL_STRIP * KERNEL_STRIP;
    uint16_t *cells, *row;
    uint64_t *planes;
    TRY(scratch_array(p->scratch, &cells, rows * wide));
    TRY(scratch_array(p->scratch, &row, rows * KERNEL_ROWS));
    memset(cells, 0, rows * wide * sizeof *cells);
    memset(row, 0, rows * KERNEL_ROWS * sizeof *row);
    for (size_t v = 0; v < rows; v++)
        memcpy(cells + v * wide, z + v * columns, columns * sizeof *cells);
    TRY(spread(p, weight[pair->right], columns, wide, &planes));
    p->kernel->chosen16(row, cells, rows, planes, wide);
    check_add_weighed(p, sum, row, weight[pair->left], rows);
    return ERR_OK;
}

/* The cells of all pairs, from cell `at` of z on. */
static enum err weigh_cells(struct party *p, struct check_folded *s, uint64_t *const *weight,
                            size_t at)
{
    const uint16_t *const z[2] = {s->m->z.a, s->m->z.b};
    const struct check_plans *m = s->m->plans;
    for (size_t k = 0; k < m->pairs; k++) {
        const struct check_pair *pair = &m->pair[k];
        for (unsigned side = 0; side < 2; side++) {
            const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
            TRY(add_cells(p, m, pair, weight, z[side] + at, s->wanted[side]));
        }
        at += m->rows[pair->left] * m->rows[pair->right];
    }
    return ERR_OK;
}

/* Fresh weights for the rows on the left: those of another tile have other ones. */
static enum err draw_lefts(const struct check_plans *m, struct prg *weights, uint64_t **weight)
{
    for (size_t k = 0; k < m->lefts; k++) {
        const size_t side = m->left[k];
        TRY(prg_fill(weights, weight[side], m->rows[side] * sizeof **weight));
    }
    return ERR_OK;
}

enum err check_fold_pairs(struct party *p, struct check_folded *s, const struct check_matrices *m,
                          struct prg *weights)
{
    const size_t lefts = m->plans->lefts;
    uint64_t **weight;
    TRY(check_folded_new(p, s, m, m->tiles * lefts));
    s->bits = 16;
    TRY(check_draw_weights(p, weights, m->plans->rows, m->plans->sides, &weight));
    for (size_t k = 0; k < m->tiles; k++) {
        if (m->apart && k > 0)
            TRY(draw_lefts(m->plans, weights, weight));
        TRY(fold_tile(p, s, &m->tile[k], weight));
        if (m->apart)
            TRY(weigh_cells(p, s, weight, k * m->plans->cells));
    }
    return m->apart ? ERR_OK : weigh_cells(p, s, weight, 0);
}

/* --- claims ----------------------------------------------------------------------------------- */

void check_matrix_claims(const struct party *p, const struct check_folded *s,
                         word128 claim[MATRIX_CLAIMS])
{
    /* like move_part_side() and move_part_matrix(), in whole numbers */
    static const int of_a[3] = {2, 1, 1}, of_b[3] = {1, 2, -1}, factor[3] = {1, 1, -2};
    const unsigned i = p->index;
    memset(claim, 0, MATRIX_CLAIMS * sizeof *claim);
    for (size_t k = 0; k < s->count; k++) {
        const struct share16 *f = &s->f[k], *g = &s->g[k];
        int64_t sums[MATRIX_CLAIMS] = {0};
        p->kernel->cross16(sums, f->a, f->b, g->a, g->b, of_a[i], of_b[i], f->n / KERNEL_ROWS);
        for (unsigned t = 0; t < MATRIX_CLAIMS; t++)
            claim[t] += (word128)sums[t] * (word128)factor[i];
    }
}
