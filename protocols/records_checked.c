#include "protocols/records_checked.h"

#include "mpc/check/check.h"
#include "mpc/check/check_matrix.h"
#include "protocols/records_tile.h"

#include <string.h>

/*
 * The sides of a group of tiles are kept until its sums are proved. Cells whose digits make no
 * value are shared too, though they are 0: otherwise a wrong side would make them something that
 * nobody knows.
 */

/* Memory for a group's sides and what a check makes of them; but no fewer records than this. */
#define GROUP_BYTES ((size_t)96 << 20)
#define GROUP_LEAST ((size_t)2048)
static void list_made(struct check_made *made, size_t *count, const struct records_plans *plans)
{
    for (size_t k = 0; k < plans->sides; k++) {
        const struct records_side *s = &plans->side[k];
        if (s->factors == 2)
            made[(*count)++] = (struct check_made){s->number[0], s->number[1], k};
    }
}

enum err records_checks_new(struct party *p, struct check_plans *checks,
                            const struct records_plans *plans, const struct records_shape *shape)
{
    size_t *rows, *factor_rows;
    struct check_pair *pair;
    struct check_made *made;
    TRY(scratch_array(p->scratch, &rows, plans->sides));
    TRY(scratch_array(p->scratch, &factor_rows, plans->factors));
    TRY(scratch_array(p->scratch, &pair, plans->plans));
    TRY(scratch_array(p->scratch, &made, plans->sides));
    for (size_t k = 0; k < plans->sides; k++)
        rows[k] = plans->side[k].rows;
    for (size_t k = 0; k < plans->factors; k++)
        factor_rows[k] = records_factor_rows(shape, &plans->factor[k]);
    for (size_t k = 0; k < plans->plans; k++)
        pair[k] = (struct check_pair){plans->plan[k].left, plans->plan[k].right};
    *checks = (struct check_plans){
        .rows = rows,
        .sides = plans->sides,
        .pair = pair,
        .pairs = plans->plans,
        .factor_rows = factor_rows,
        .factors = plans->factors,
        .made = made,
    };
    list_made(made, &checks->mades, plans);
    return check_plans(p, checks);
}

/* `n` lanes of the block from `from` on, in tiles. */
struct checked_group {
    const struct records_checked *c;
    const struct records_block *b;
    size_t from, n, tile;
};

static enum err add_tile(struct party *p, const struct checked_group *g, struct records_tile *t,
                         uint16_t *parts)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    TRY(records_tile_sides(p, t, g->c->plans, g->b));
    records_tile_add(p, t, g->c->plans, parts);
    return ERR_OK;
}

/* Adds this server's parts of all tiles, whose sides stay. */
static enum err add_tiles(struct party *p, const struct checked_group *g, struct check_tile *kept,
                          uint16_t *parts)
{
    for (size_t at = 0; at < g->n; at += g->tile, kept++) {
        struct records_tile t = {.from = g->from + at,
                                 .n = g->n - at < g->tile ? g->n - at : g->tile};
        TRY(records_tile_keep(p, &t, g->c->plans, g->b->shape));
        TRY(add_tile(p, g, &t, parts));
        *kept = (struct check_tile){t.n, t.kept, t.factor};
    }
    return ERR_OK;
}

/* cells += a component of the sums of all plans, where the marginals have them */
static enum err place(struct party *p, const struct checked_group *g, const uint16_t *sums,
                      uint16_t *cells)
{
    const struct records_plans *plans = g->c->plans;
    uint16_t *placed;
    TRY(scratch_array(p->scratch, &placed, plans->cells));
    for (size_t k = 0; k < plans->plans; k++)
        TRY(records_place(p, g->b->shape, plans, &plans->plan[k], sums + plans->plan[k].parts,
                          placed + plans->plan[k].cells));
    p->kernel->linear16(cells, 1, cells, 1, placed, plans->cells);
    return ERR_OK;
}

static enum err count_group(struct party *p, const struct checked_group *g, struct share16 cells)
{
    const size_t tiles = (g->n + g->tile - 1) / g->tile, parts = g->c->plans->parts;
    struct check_tile *tile;
    uint16_t *own;
    TRY(scratch_array(p->scratch, &tile, tiles));
    TRY(scratch_array(p->scratch, &own, parts));
    struct check_matrices m = {.plans = g->c->checks, .tile = tile, .tiles = tiles};
    TRY(party_share16(p, &m.z, parts));
    memset(own, 0, parts * sizeof *own);
    TRY(add_tiles(p, g, tile, own));
    TRY(move_settle(p, RING_16, OPERAND(m.z), own, parts, &(struct record_sums){.matrices = &m}));
    TRY(place(p, g, m.z.a, cells.a));
    return place(p, g, m.z.b, cells.b);
}

enum err records_block_checked(struct party *p, const struct records_checked *c,
                               const struct records_block *b, struct share16 cells)
{
    const size_t most = GROUP_BYTES / check_plans_bytes(c->checks) / 64 * 64,
                 group = most < GROUP_LEAST ? GROUP_LEAST : most;
    struct checked_group g = {.c = c, .b = b};
    memset(cells.a, 0, cells.n * sizeof *cells.a);
    memset(cells.b, 0, cells.n * sizeof *cells.b);
    for (; g.from < b->used; g.from += g.n) {
        const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
        g.n = b->used - g.from < group ? b->used - g.from : group;
        g.tile = g.n < 2 * c->tile ? g.n : c->tile; /* a short second one costs as much as a long */
        TRY(count_group(p, &g, cells));
    }
    return ERR_OK;
}
