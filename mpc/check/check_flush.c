/*
 * The flush: all relations of the log at once, in GF(2^64). Sums at points, masked, become shares.
 * Then each side of the products is folded by a coin, 64 values to one. This repeats until the last
 * fold's columns, masked by random ones, are opened and multiplied in the clear.
 */
#include "mpc/check/check_flush.h"

#include <string.h>

/* --- elements --------------------------------------------------------------------------------- */

static enum err sum_elements(struct flush *f, struct flush_sums sums[2])
{
    TRY(flush_begin_sums(f, sums));
    for (size_t s = 0; s < f->stretches; s++)
        flush_sum(f, &f->stretch[s], sums);
    flush_end_sums(f, sums);
    return ERR_OK;
}

/* The sums have come: keeps by how much they are off z. From here on every row weighs 1. */
static void take_sums(struct flush *f, const struct flush_sums sums[2])
{
    struct flush_pair d = flush_sum_of_rows(sums, f->row_weight);
    d.a ^= f->z.a;
    d.b ^= f->z.b;
    f->remainder[f->remainders++] = d;
    for (unsigned a = 0; a < KERNEL_ROWS; a++)
        f->row_weight[a] = 1;
}

/* out += the rows of one group, weighed; rows of U also times their columns' weights. */
static void add_rows(const struct flush *f, const struct flush_stretch *elements, size_t g,
                     const uint64_t weight[KERNEL_ROWS], uint64_t *out)
{
    const struct kernel *k = f->p->kernel;
    const uint64_t *columns = elements->weight + g / 4 / elements->alike * KERNEL_COLUMNS;
    uint64_t row[KERNEL_COLUMNS];
    k->field_rows(row, elements->x + g * KERNEL_GROUP, weight);
    if (g % 4 < 2)
        k->field(out, row, columns, KERNEL_COLUMNS);
    else
        k->xor_bits(out, out, row, KERNEL_COLUMNS);
}

/* 64 groups become one, whose row k is the fold of the k-th. */
static void fold_groups(struct flush *f, const uint64_t weight[KERNEL_ROWS], uint64_t *out)
{
    size_t at = 0;
    for (size_t s = 0; s < f->stretches; s++)
        for (size_t g = 0; g < 4 * f->stretch[s].groups; g++, at++)
            add_rows(f, &f->stretch[s], g, weight,
                     out + (at / 4 / KERNEL_ROWS * 4 + at % 4) * KERNEL_GROUP +
                         at / 4 % KERNEL_ROWS * KERNEL_COLUMNS);
}

static enum err fold_bits(struct flush *f, const uint64_t weight[KERNEL_ROWS],
                          struct flush_sums sums[2])
{
    static const uint64_t ones[KERNEL_COLUMNS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const size_t groups = f->groups / KERNEL_ROWS + (f->groups % KERNEL_ROWS != 0);
    uint64_t *out;
    TRY(scratch_array(f->p->scratch, &out, 4 * groups * KERNEL_GROUP));
    memset(out, 0, 4 * groups * KERNEL_GROUP * sizeof *out);
    fold_groups(f, weight, out);
    f->stretch[0] = (struct flush_stretch){out, groups, ones, groups};
    f->stretches = 1;
    f->groups = groups;
    return sum_elements(f, sums);
}

/* Folds bits, numbers or both: whichever are too many for the last fold. */
static enum err fold_plainly(struct flush *f, struct flush_sums sums[2], bool bits, bool numbers)
{
    uint64_t r[CHECK_DIGITS], weight[KERNEL_ROWS];
    if (bits && f->remainders + 1 == FLUSH_REMAINDERS)
        return ERR_RANGE;
    if (numbers)
        TRY(check_prime_sum(&f->numbers, false, &f->beside));
    TRY(flush_reshare(f, sums[0].point, sums[1].point, bits ? KERNEL_POINTS : 0, NULL));
    TRY(flush_draw_point(f, r, weight));
    if (numbers)
        TRY(check_prime_fold(&f->numbers));
    if (!bits)
        return ERR_OK;
    take_sums(f, sums);
    f->z = flush_value_at(sums, r);
    return fold_bits(f, weight, sums);
}

static enum err fold_to_few(struct flush *f, struct flush_sums sums[2])
{
    const size_t groups = f->c->limits.groups, blocks = groups * KERNEL_GROUP / PRIME_BLOCK;
    for (;;) {
        const bool bits = f->groups > groups, numbers = f->numbers.blocks > blocks;
        if (!bits && !numbers)
            return ERR_OK;
        TRY(fold_plainly(f, sums, bits, numbers));
    }
}

/* --- the last fold ---------------------------------------------------------------------------- */

/* What is opened of a component: U*, V*, Z*, remainders. */
static size_t opened_words(const struct flush *f, const struct flush_columns *m)
{
    return 2 * m->n + 1 + f->remainders;
}

/* Component `side`: the columns folded by `weight`, and zeta times the masks. */
static void star(const struct flush *f, unsigned side, const uint64_t weight[KERNEL_ROWS],
                 uint64_t zeta, const struct flush_columns *m, uint64_t *out)
{
    const struct kernel *k = f->p->kernel;
    uint64_t *u = out, *v = out + m->n;
    memset(out, 0, 2 * m->n * sizeof *out);
    for (size_t i = 0; i < m->n; i += KERNEL_COLUMNS) {
        uint64_t same[KERNEL_COLUMNS];
        for (unsigned s = 0; s < KERNEL_COLUMNS; s++)
            same[s] = zeta;
        k->field(u + i, (side == 0 ? m->r.a : m->r.b) + i, same, KERNEL_COLUMNS);
        k->field(v + i, (side == 0 ? m->s.a : m->s.b) + i, same, KERNEL_COLUMNS);
    }
    for (size_t s = 0; s < f->stretches; s++)
        for (size_t g = 0; g < f->stretch[s].groups;
             g++, u += KERNEL_COLUMNS, v += KERNEL_COLUMNS) {
            add_rows(f, &f->stretch[s], 4 * g + side, weight, u);
            add_rows(f, &f->stretch[s], 4 * g + 2 + side, weight, v);
        }
}

/* Z* of one component: z + zeta sum weight[a] E[a] + zeta^2 e. */
static uint64_t star_z(const struct flush_sums *s, uint64_t z, const uint64_t weight[KERNEL_ROWS],
                       uint64_t zeta)
{
    uint64_t sum = kernel_field_product(s->square, zeta);
    for (unsigned a = 0; a < KERNEL_ROWS; a++)
        sum ^= kernel_field_product(s->cross[a], weight[a]);
    return z ^ kernel_field_product(sum, zeta);
}

static bool holds(const struct flush *f, const uint64_t *opened, const struct flush_columns *m,
                  uint64_t *product)
{
    const uint64_t *z = opened + 2 * m->n;
    memset(product, 0, m->n * sizeof *product);
    f->p->kernel->field(product, opened, opened + m->n, m->n);
    if (flush_total(product, m->n) != *z)
        return false;
    for (unsigned k = 0; k < f->remainders; k++)
        if (z[1 + k] != 0)
            return false;
    return check_prime_hold(&f->numbers, opened + opened_words(f, m));
}

static enum err draw_last(struct flush *f, uint64_t r[CHECK_DIGITS], uint64_t weight[KERNEL_ROWS],
                          uint64_t *zeta)
{
    struct prg *weights CLEAN(prg_free) = NULL;
    TRY(check_coin(f->p, &weights));
    TRY(prg_fill(weights, r, CHECK_DIGITS * sizeof *r));
    do
        TRY(prg_fill(weights, zeta, sizeof *zeta));
    while (*zeta == 0);
    check_row_weights(weight, r);
    return check_prime_coin(&f->numbers, weights);
}

/* What is opened for bits, in both components; what is opened for numbers follows it. */
static void make_opened(const struct flush *f, const struct flush_columns *m,
                        const struct flush_sums sums[2], const uint64_t weight[KERNEL_ROWS],
                        uint64_t zeta, struct share64 x)
{
    for (unsigned side = 0; side < 2; side++) {
        uint64_t *to = side == 0 ? x.a : x.b, *z = to + 2 * m->n;
        star(f, side, weight, zeta, m, to);
        *z = star_z(&sums[side], side == 0 ? f->z.a : f->z.b, weight, zeta);
        for (unsigned k = 0; k < f->remainders; k++)
            z[1 + k] = side == 0 ? f->remainder[k].a : f->remainder[k].b;
    }
}

static enum err open_and_judge(struct flush *f, const struct flush_sums sums[2])
{
    const struct flush_columns *m = &f->mask;
    const size_t bits = opened_words(f, m), words = bits + check_prime_opened(&f->numbers);
    uint64_t r[CHECK_DIGITS], weight[KERNEL_ROWS], zeta, *third, *out;
    struct share64 x;
    TRY(scratch_array(f->p->scratch, &third, words));
    TRY(scratch_array(f->p->scratch, &out, words));
    TRY(party_share64(f->p, &x, words));
    TRY(draw_last(f, r, weight, &zeta));
    f->z = flush_value_at(sums, r);
    make_opened(f, m, sums, weight, zeta, x);
    check_prime_put(&f->numbers, x.a + bits, x.b + bits);
    TRY(move_third_checked(f->p, OPERAND(x), words, third));
    f->p->kernel->join_bits(out, third, x.a, x.b, bits);
    check_prime_join(&f->numbers, x.a + bits, x.b + bits, third + bits, out + bits);
    TRY(move_opened(f->p, out, words));
    if (!holds(f, out, m, x.a))
        return check_fail(f->p, "a relation");
    return ERR_OK;
}

static enum err prove(struct flush *f)
{
    struct flush_sums *sums;
    TRY(scratch_array(f->p->scratch, &sums, 2));
    TRY(scratch_array(f->p->scratch, &f->sides, 2 * FLUSH_CACHED * KERNEL_GROUP));
    TRY(flush_bits(f, sums));
    TRY(fold_to_few(f, sums));
    TRY(check_prime_sum(&f->numbers, true, &f->beside));
    TRY(flush_reshare(f, sums[0].point, sums[1].point, sizeof *sums / sizeof(uint64_t), NULL));
    take_sums(f, sums);
    return open_and_judge(f, sums);
}

/* Says what is proved: the same at all three. */
static enum err say(const struct flush *f)
{
    const struct check_matrices *m = f->numbers.matrices;
    const struct check_numbers *numbers = &f->c->numbers;
    for (unsigned l = 1; l <= RECORD_PRODUCTS; l++)
        TRY(check_say(f->p, RECORD_FLUSH, l, f->c->bits.list[l].words,
                      f->ride != NULL ? f->ride->z.n : 0));
    for (unsigned ring = 0; ring < NUMBERS_RINGS; ring++)
        TRY(check_say(f->p, RECORD_FLUSH, ring, numbers->relations[ring], numbers->products));
    for (size_t k = 0; m != NULL && k < m->tiles; k++)
        TRY(check_say(f->p, RECORD_FLUSH, m->tile[k].n, m->z.n, m->plans->lefts));
    return ERR_OK;
}

enum err check_flush_lane(struct party *p, const struct record_ride *ride,
                          const struct check_matrices *matrices)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct check *c = check_of(p);
    const struct check_guard *guard = &c->limits.guard;
    struct flush f = {.p = p, .c = c, .ride = ride};
    f.numbers = (struct check_prime){.p = p, .log = &c->numbers, .matrices = matrices};
    if (f.c->owed && (matrices == NULL || matrices->plans->mades == 0))
        return ERR_MISUSE;
    f.c->flushes++;
    TRY(check_guard(guard, guard->begin));
    TRY(say(&f));
    TRY(prove(&f));
    check_bit_log_clear(&f.c->bits);
    check_numbers_clear(&f.c->numbers);
    f.c->owed = false;
    f.c->rode = ride != NULL;
    return ride == NULL ? check_guard(guard, guard->end) : ERR_OK;
}
