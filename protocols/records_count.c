#include "protocols/records.h"

#include "mpc/move/move.h"
#include "protocols/records_checked.h"
#include "protocols/records_sum.h"
#include "protocols/records_tile.h"

/* What is counted: the marginals of the plans. */
struct records_counting {
    struct records_plans plans;
    struct check_plans checks; /* where there is a check */
};

static enum err add_tile(struct party *lane, const struct records_sums *s,
                         const struct records_block *b, size_t from, size_t n, uint16_t *parts)
{
    const struct records_counting *c = s->self;
    struct records_tile t = {.from = from, .n = n};
    TRY(records_tile_sides(lane, &t, &c->plans, b));
    records_tile_add(lane, &t, &c->plans, parts);
    return ERR_OK;
}

static enum err settle(struct party *p, const struct records_sums *s, const struct records_block *b,
                       uint16_t *parts, struct share16 cells)
{
    const struct records_counting *c = s->self;
    (void)b;
    for (size_t k = 0; k < c->plans.plans; k++) {
        const struct records_plan *plan = &c->plans.plan[k];
        TRY(records_place(p, s->shape, &c->plans, plan, parts + plan->parts,
                          cells.a + plan->cells));
    }
    return move_settle(p, RING_16, OPERAND(cells), cells.a, cells.n, NULL);
}

static enum err checked(struct party *p, const struct records_sums *s,
                        const struct records_block *b, struct share16 cells)
{
    const struct records_counting *c = s->self;
    return records_block_checked(p, &(const struct records_checked){&c->plans, &c->checks, s->tile},
                                 b, cells);
}

/* Adds the sums of cells from `from` on to the marginals that have them. */
static void take(const struct records_sums *s, size_t from, struct share64 sums)
{
    const struct records_counting *c = s->self;
    for (size_t k = 0; k < c->plans.plans; k++) {
        const struct records_plan *plan = &c->plans.plan[k];
        const struct share64 out = plan->query->out;
        const size_t begin = plan->cells > from ? plan->cells : from,
                     end = plan->cells + out.n < from + sums.n ? plan->cells + out.n
                                                               : from + sums.n;
        for (size_t i = begin; i < end; i++) {
            out.a[i - plan->cells] += sums.a[i - from];
            out.b[i - plan->cells] += sums.b[i - from];
        }
    }
}

enum err records_count(struct party *p, const struct records_shape *shape,
                       const struct records_batch *batches, size_t count,
                       struct records_query *queries, size_t query_count)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct records_counting c = {0};
    TRY(records_plans_new(p, &c.plans, shape, queries, query_count));
    if (party_proves(p))
        TRY(records_checks_new(p, &c.checks, &c.plans, shape));
    return records_sum(p,
                       &(const struct records_sums){.shape = shape,
                                                    .parts = c.plans.parts,
                                                    .cells = c.plans.cells,
                                                    .tile = records_tile_length(&c.plans),
                                                    .add = add_tile,
                                                    .settle = settle,
                                                    .take = take,
                                                    .checked = checked,
                                                    .self = &c},
                       batches, count);
}
