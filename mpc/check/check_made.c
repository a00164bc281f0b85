/* Sides that are made from two factors: the second half of check_matrix.h. */
#include "mpc/check/check_fold.h"
#include "mpc/party/scratch.h"

#include <string.h>

/* The work on a tile, and the part of each factor that is a v. */
struct made_making {
    struct check_folded *s;
    const struct check_tile *tile;
    uint64_t *const *weight; /* of the rows of each factor */
    size_t *part;
    struct prg *weights;
    uint64_t *bits; /* fresh: 64 planes, one lane per column */
};

/* Draws fresh weights for a row of u, and adds the row to g with them. */
static enum err weigh_row(const struct party *p, const struct made_making *m, struct share16 g,
                          const uint16_t *a, const uint16_t *b)
{
    const size_t n = m->tile->n;
    TRY(prg_fill(m->weights, m->bits, KERNEL_ROWS * n / 64 * sizeof *m->bits));
    p->kernel->choose16(g.a, g.b, m->bits, a, b, n);
    return ERR_OK;
}

/* Weighs a side's products: here by columns and rows of u, then by rows of v. */
static enum err weigh_side(struct party *p, const struct made_making *m,
                           const struct check_made *made)
{
    const struct check_plans *plans = m->s->m->plans;
    const size_t rows_u = plans->factor_rows[made->u], rows_v = plans->factor_rows[made->v];
    const size_t n = m->tile->n, words = rows_v * KERNEL_ROWS;
    const struct share16 u = m->tile->factor[made->u], x = m->tile->side[made->side];
    uint16_t *sum[2];
    for (unsigned k = 0; k < 2; k++) {
        TRY(scratch_array(p->scratch, &sum[k], words));
        memset(sum[k], 0, words * sizeof **sum);
    }
    for (size_t i = 0; i + 1 < rows_u; i++) {
        const size_t at = i * rows_v * n;
        TRY(weigh_row(p, m, m->s->g[m->part[made->v]], u.a + i * n, u.b + i * n));
        p->kernel->chosen16(sum[0], x.a + at, rows_v - 1, m->bits, n);
        p->kernel->chosen16(sum[1], x.b + at, rows_v - 1, m->bits, n);
    }
    for (unsigned k = 0; k < 2; k++)
        check_add_weighed(p, m->s->wanted[k], sum[k], m->weight[made->v], rows_v - 1);
    return ERR_OK;
}

static bool is_v(const struct check_plans *plans, size_t factor)
{
    for (size_t k = 0; k < plans->mades; k++)
        if (plans->made[k].v == factor)
            return true;
    return false;
}

static enum err fold_factors(struct party *p, const struct made_making *m)
{
    const struct check_plans *plans = m->s->m->plans;
    for (size_t k = 0; k < plans->factors; k++) {
        m->part[k] = m->s->count;
        if (!is_v(plans, k))
            continue;
        TRY(check_folded_part(p, m->s, m->tile->n));
        check_fold_rows(p, m->s->f[m->part[k]], m->tile->factor[k], plans->factor_rows[k] - 1,
                        m->weight[k], m->tile->n, false);
    }
    return ERR_OK;
}

static enum err weigh_sides(struct party *p, struct made_making *m)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const struct check_plans *plans = m->s->m->plans;
    TRY(scratch_array(p->scratch, &m->bits, KERNEL_ROWS * m->tile->n / 64));
    for (size_t k = 0; k < plans->mades; k++) {
        const struct scratch_mark one CLEAN(scratch_release) = scratch_mark(p->scratch);
        TRY(weigh_side(p, m, &plans->made[k]));
    }
    return ERR_OK;
}

enum err check_fold_made(struct party *p, struct check_folded *s, const struct check_matrices *m,
                         struct prg *weights)
{
    struct made_making k = {.s = s, .weights = weights};
    uint64_t **weight;
    TRY(check_folded_new(p, s, m, m->tiles * m->plans->factors));
    s->bits = 17;
    TRY(check_draw_weights(p, weights, m->plans->factor_rows, m->plans->factors, &weight));
    k.weight = weight;
    TRY(scratch_array(p->scratch, &k.part, m->plans->factors));
    for (size_t tile = 0; tile < m->tiles; tile++) {
        k.tile = &m->tile[tile];
        TRY(fold_factors(p, &k));
        TRY(weigh_sides(p, &k));
    }
    for (unsigned t = 0; t < MATRIX_CLAIMS; t++) /* of 2 sum of f g */
        for (unsigned side = 0; side < 2; side++)
            s->wanted[side][t] *= 2;
    return ERR_OK;
}
