#include "protocols/train_sums.h"

#include "mpc/circuits/truncate.h"
#include "mpc/move/record.h"

#include <string.h>

enum err train_sums_new(struct party *p, struct train_sums *s, const struct train_rows *rows,
                        size_t x)
{
    static const struct check_pair pair = {0, 1};
    *s = (struct train_sums){.rows = rows, .side = {x, rows->features}};
    s->checks = (struct check_plans){.rows = s->side, .sides = 2, .pair = &pair, .pairs = 1};
    TRY(party_share32(p, &s->twice, train_sums_cells(s)));
    memset(s->twice.a, 0, s->twice.n * sizeof *s->twice.a);
    memset(s->twice.b, 0, s->twice.n * sizeof *s->twice.b);
    return party_proves(p) ? check_plans(p, &s->checks) : ERR_OK;
}

size_t train_sums_together(const struct train_sums *s)
{
    const size_t blocks = TRAIN_CELLS / train_sums_cells(s);
    return blocks > 0 ? blocks : 1;
}

enum err train_sums_part(struct party *lane, const struct train_sums *s, size_t block,
                         struct share16 x, uint16_t *parts)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(lane->scratch);
    const struct train_block *b = &s->rows->block[block];
    uint16_t *left, *right;
    TRY(scratch_array(lane->scratch, &left, s->side[0] * b->n));
    TRY(scratch_array(lane->scratch, &right, s->side[1] * b->n));
    move_part_side(lane, left, x);
    move_part_side(lane, right, b->u);
    move_part_matrix(lane, parts, left, right, s->side[0], s->side[1], b->n);
    return ERR_OK;
}

/* z = twice the sums of each block */
static enum err settle(struct party *p, const struct train_sums *s, size_t first, size_t count,
                       const struct share16 *x, uint16_t *parts, struct share16 z)
{
    struct check_matrices of = {.plans = &s->checks, .tiles = count, .z = z, .apart = true};
    struct check_tile *tile;
    struct share16 *side;
    TRY(scratch_array(p->scratch, &tile, count));
    TRY(scratch_array(p->scratch, &side, 2 * count));
    for (size_t k = 0; k < count; k++) {
        const struct train_block *b = &s->rows->block[first + k];
        side[2 * k] = x[k];
        side[2 * k + 1] = b->u;
        tile[k] = (struct check_tile){.n = b->n, .side = &side[2 * k]};
    }
    of.tile = tile;
    return move_settle(p, RING_16, OPERAND(z), parts, z.n, &(struct record_sums){.matrices = &of});
}

enum err train_sums_add(struct party *p, struct train_sums *s, size_t first, size_t count,
                        const struct share16 *x, uint16_t *parts)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const size_t cells = train_sums_cells(s);
    struct share16 z;
    struct share32 wide;
    TRY(party_share16(p, &z, count * cells));
    TRY(party_share32(p, &wide, count * cells));
    TRY(settle(p, s, first, count, x, parts, z));
    TRY(truncate_widen16(p, wide, z));
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < cells; i++) {
            s->twice.a[i] += wide.a[k * cells + i];
            s->twice.b[i] += wide.b[k * cells + i];
        }
    return ERR_OK;
}

enum err train_sums_end(struct party *p, const struct train_sums *s, struct share64 out)
{
    return truncate_half32(p, out, s->twice);
}
