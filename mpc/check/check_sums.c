/* The sums of a fold: at points, for one side of products after another; how they are shared. */
#include "mpc/check/check_flush.h"

#include <string.h>

static enum err mask(struct party *p, uint64_t *z, size_t n)
{
    TRY(prg_xor(p->prg[0][PRG_CHECK], z, n * sizeof *z));
    return prg_xor(p->prg[1][PRG_CHECK], z, n * sizeof *z);
}

enum err flush_reshare(struct flush *f, uint64_t *a, uint64_t *b, size_t n,
                       const struct record_ride *more)
{
    const size_t bytes = n * sizeof *a, rides = more != NULL ? more->z.n * sizeof *a : 0;
    const struct move_exchange exchange = {
        .send[NET_PREV] = {move_whole(a, bytes), move_whole(rides ? more->z.a : a, rides),
                           move_whole(f->beside.out, f->beside.bytes)},
        .receive[NET_NEXT] = {move_kept(b, bytes), move_kept(rides ? more->z.b : b, rides),
                              move_kept(f->beside.in, f->beside.bytes)},
    };
    f->beside.bytes = 0;
    TRY(mask(f->p, a, n));
    if (rides > 0)
        TRY(mask(f->p, more->z.a, more->z.n));
    return move_exchange(f->p, &exchange);
}

uint64_t flush_total(const uint64_t *x, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum ^= x[i];
    return sum;
}

struct flush_pair flush_value_at(const struct flush_sums sums[2], const uint64_t r[CHECK_DIGITS])
{
    return (struct flush_pair){check_value_at(sums[0].point, r), check_value_at(sums[1].point, r)};
}

struct flush_pair flush_sum_of_rows(const struct flush_sums sums[2],
                                    const uint64_t weight[KERNEL_ROWS])
{
    return (struct flush_pair){check_sum_of_rows(sums[0].point, weight),
                               check_sum_of_rows(sums[1].point, weight)};
}

enum err flush_draw_point(struct flush *f, uint64_t r[CHECK_DIGITS], uint64_t weight[KERNEL_ROWS])
{
    struct prg *weights CLEAN(prg_free) = NULL;
    TRY(check_coin(f->p, &weights));
    TRY(prg_fill(weights, r, CHECK_DIGITS * sizeof *r));
    check_row_weights(weight, r);
    return check_prime_coin(&f->numbers, weights);
}

/* --- elements --------------------------------------------------------------------------------- */

static enum err draw_columns(struct flush *f, struct flush_columns *m)
{
    struct party *p = f->p;
    const size_t bytes = (m->n = f->groups * KERNEL_COLUMNS) * sizeof(uint64_t);
    TRY(party_share64(p, &m->r, m->n));
    TRY(party_share64(p, &m->s, m->n));
    TRY(scratch_array(p->scratch, &m->sides, 2 * m->n));
    TRY(prg_fill(p->prg[0][PRG_CHECK], m->r.a, bytes));
    TRY(prg_fill(p->prg[0][PRG_CHECK], m->s.a, bytes));
    TRY(prg_fill(p->prg[1][PRG_CHECK], m->r.b, bytes));
    TRY(prg_fill(p->prg[1][PRG_CHECK], m->s.b, bytes));
    for (size_t i = 0; i < m->n; i += KERNEL_COLUMNS) {
        uint64_t *side = m->sides + 2 * i;
        p->kernel->field_side(side, m->s.a + i, m->s.b + i, KERNEL_COLUMNS, p->index);
        p->kernel->field_side(side + KERNEL_COLUMNS, m->r.a + i, m->r.b + i, KERNEL_COLUMNS,
                              p->index);
    }
    return ERR_OK;
}

enum err flush_begin_sums(struct flush *f, struct flush_sums sums[2])
{
    memset(sums, 0, 2 * sizeof *sums);
    return f->groups <= f->c->limits.groups ? draw_columns(f, &f->mask) : ERR_OK;
}

/* The sides of a few products: U's, which is weighed, and V's. */
static void make_sides(const struct flush *f, const struct flush_stretch *elements, size_t from,
                       size_t n)
{
    const struct kernel *k = f->p->kernel;
    for (size_t g = from; g < from + n; g++) {
        const uint64_t *x = elements->x + 4 * g * KERNEL_GROUP;
        uint64_t *side = f->sides + 2 * (g - from) * KERNEL_GROUP;
        k->field_side(side, x, x + KERNEL_GROUP, KERNEL_GROUP, f->p->index);
        k->field_side(side + KERNEL_GROUP, x + 2 * KERNEL_GROUP, x + 3 * KERNEL_GROUP, KERNEL_GROUP,
                      f->p->index);
        k->field_scale(side, elements->weight + g / elements->alike * KERNEL_COLUMNS);
    }
}

void flush_sum(struct flush *f, const struct flush_stretch *elements, struct flush_sums *own)
{
    const struct kernel *k = f->p->kernel;
    struct flush_columns *m = &f->mask;
    for (size_t g = 0, n; g < elements->groups; g += n) {
        n = elements->groups - g < FLUSH_CACHED ? elements->groups - g : FLUSH_CACHED;
        make_sides(f, elements, g, n);
        k->field_points(own->point, f->sides, n);
        if (m->n > 0) {
            k->field_columns(own->cross, f->sides, m->sides + 2 * m->done, 2 * n);
            m->done += n * KERNEL_COLUMNS;
        }
    }
}

/* Adds the sums of the masks R and S; all sums get the factor that products of sides lack. */
void flush_end_sums(struct flush *f, struct flush_sums *own)
{
    enum { WORDS = sizeof *own / sizeof(uint64_t) };
    const struct flush_columns *m = &f->mask;
    uint64_t sum[WORDS] = {0}, factor[WORDS], square[KERNEL_COLUMNS] = {0};
    for (size_t i = 0; i < m->n; i += KERNEL_COLUMNS)
        f->p->kernel->field(square, m->sides + 2 * i, m->sides + 2 * i + KERNEL_COLUMNS,
                            KERNEL_COLUMNS);
    own->square = flush_total(square, KERNEL_COLUMNS);
    for (unsigned k = 0; k < WORDS; k++)
        factor[k] = kernel_side[f->p->index];
    f->p->kernel->field(sum, own->point, factor, WORDS);
    memcpy(own, sum, sizeof sum);
}
