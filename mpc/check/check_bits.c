/* What a flush does with bits: weighed sums of words, and then elements in their place. */
#include "mpc/check/check_flush.h"

#include <string.h>

/* x_i (y_i + y_(i+1)) + x_(i+1) y_i for what rides along */
static enum err make_ride(const struct flush *f)
{
    const struct record_ride *ride = f->ride;
    const struct kernel *k = f->p->kernel;
    if (ride == NULL)
        return ERR_OK;
    uint64_t *y;
    TRY(scratch_array(f->p->scratch, &y, ride->y.n));
    k->xor_bits(y, ride->y.a, ride->y.b, ride->y.n);
    memset(ride->z.a, 0, ride->z.n * sizeof *y);
    k->field(ride->z.a, ride->x.a, y, ride->x.n);
    k->field(ride->z.a, ride->x.b, ride->y.a, ride->x.n);
    return ERR_OK;
}

/* Draws 8 weights from a coin for each group of the log, one list after the other. */
static enum err weigh(struct flush *f)
{
    size_t groups = 0, chunks = 0;
    struct prg *weights CLEAN(prg_free) = NULL;
    uint64_t rho[CHECK_DIGITS];
    for (unsigned l = 1; l <= RECORD_PRODUCTS; l++) {
        const size_t n = check_bit_log_groups(&f->c->bits, l);
        groups += n;
        f->groups += l * n;
        chunks += f->c->bits.list[l].chunks;
    }
    TRY(scratch_array(f->p->scratch, &f->sigma, groups * KERNEL_COLUMNS));
    TRY(scratch_array(f->p->scratch, &f->stretch, chunks));
    TRY(check_coin(f->p, &weights));
    TRY(prg_fill(weights, rho, sizeof rho));
    TRY(prg_fill(weights, f->sigma, groups * KERNEL_COLUMNS * sizeof *f->sigma));
    check_row_weights(f->tau, rho);
    return check_prime_claim(&f->numbers, weights, &f->beside);
}

/* What a chunk's z adds to the remainder, weighed by rows, then by columns. */
static void add_z(struct flush *f, const struct check_part *part, const uint64_t *sigma,
                  uint64_t sum[2][KERNEL_COLUMNS])
{
    for (size_t g = 0; g < part->groups; g++)
        for (unsigned v = 0; v < 2; v++) {
            uint64_t row[KERNEL_COLUMNS];
            f->p->kernel->field_rows(row, part->z + (2 * g + v) * KERNEL_GROUP, f->tau);
            f->p->kernel->field(sum[v], row, sigma + g * KERNEL_COLUMNS, KERNEL_COLUMNS);
        }
}

/* Calls `call` for each chunk of the log, with the weights of its columns. */
static void each_chunk(struct flush *f,
                       void (*call)(struct flush *f, const struct check_part *part,
                                    unsigned products, const uint64_t *sigma, void *arg),
                       void *arg)
{
    const uint64_t *sigma = f->sigma;
    for (unsigned l = 1; l <= RECORD_PRODUCTS; l++)
        for (size_t k = 0; k < f->c->bits.list[l].chunks; k++) {
            const struct check_part part = check_bit_log_part(&f->c->bits, l, k);
            call(f, &part, l, sigma, arg);
            sigma += part.groups * KERNEL_COLUMNS;
        }
}

static void sum_chunk(struct flush *f, const struct check_part *part, unsigned products,
                      const uint64_t *sigma, void *sums)
{
    const size_t most = FLUSH_CACHED / products > 0 ? FLUSH_CACHED / products : 1;
    for (size_t g = 0, n; g < part->groups; g += n) {
        n = part->groups - g < most ? part->groups - g : most;
        f->p->kernel->bits_points(sums, part->products + 4 * g * products * KERNEL_GROUP, products,
                                  n, sigma + g * KERNEL_COLUMNS);
    }
}

struct folding_bits {
    uint64_t weight[KERNEL_ROWS], sum[2][KERNEL_COLUMNS];
    struct flush_sums *own;
};

/* A few groups at a time: every row's bits times its weight, in place, and their sums. */
static void fold_chunk(struct flush *f, const struct check_part *part, unsigned products,
                       const uint64_t *sigma, void *arg)
{
    const size_t most = FLUSH_CACHED / products > 0 ? FLUSH_CACHED / products : 1;
    struct folding_bits *b = arg;
    add_z(f, part, sigma, b->sum);
    for (size_t g = 0, n; g < part->groups; g += n) {
        uint64_t *x = part->products + 4 * g * products * KERNEL_GROUP;
        n = part->groups - g < most ? part->groups - g : most;
        f->p->kernel->bits_rows(x, x, 4 * products * n, b->weight);
        flush_sum(f, &(struct flush_stretch){x, products * n, sigma + g * KERNEL_COLUMNS, products},
                  b->own);
    }
    f->stretch[f->stretches++] = (struct flush_stretch){part->products, products * part->groups,
                                                        sigma, products};
}

enum err flush_bits(struct flush *f, struct flush_sums sums[2])
{
    struct folding_bits b = {.sum = {{0}}, .own = sums};
    uint64_t r[CHECK_DIGITS];
    struct flush_pair d;
    TRY(weigh(f));
    TRY(make_ride(f));
    memset(sums, 0, 2 * sizeof *sums);
    each_chunk(f, sum_chunk, sums[0].point);
    TRY(flush_reshare(f, sums[0].point, sums[1].point, KERNEL_POINTS, f->ride));
    TRY(flush_draw_point(f, r, b.weight));
    d = flush_sum_of_rows(sums, f->tau);
    f->z = flush_value_at(sums, r);
    TRY(flush_begin_sums(f, sums));
    each_chunk(f, fold_chunk, &b);
    flush_end_sums(f, sums);
    d.a ^= flush_total(b.sum[0], KERNEL_COLUMNS);
    d.b ^= flush_total(b.sum[1], KERNEL_COLUMNS);
    f->remainder[f->remainders++] = d;
    /* row b of the elements stands for lane b, whose weight is X^b */
    for (unsigned lane = 0; lane < KERNEL_ROWS; lane++)
        f->row_weight[lane] = (uint64_t)1 << lane;
    return ERR_OK;
}
