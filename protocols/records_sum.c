#include "protocols/records_sum.h"

#include "mpc/circuits/bits.h"
#include "mpc/circuits/truncate.h"
#include "mpc/move/crew.h"
#include "protocols/records_load.h"

#include <string.h>

/* Twice the sums of this many records are below 2^31. */
#define SUMS_MOST (((uint64_t)1 << 30) - 1)
_Static_assert(2 * RECORDS_BLOCK < (size_t)1 << 15 && 2 * SUMS_MOST < (uint64_t)1 << 31,
               "what is widened has a top bit of 0");
/* Bounds the memory of widening. */
#define CELLS_AT_ONCE ((size_t)1 << 20)

/* What is summed, and the sums of the blocks so far. */
struct records_summing {
    const struct records_sums *of;
    struct share32 sums; /* twice the sums */
    uint64_t records;    /* in these */
    uint64_t done, all;
};

static void zero(struct share32 x)
{
    memset(x.a, 0, x.n * sizeof *x.a);
    memset(x.b, 0, x.n * sizeof *x.b);
}

static void tell(const struct party *p, const struct records_summing *c, uint64_t done)
{
    if (p->progress != NULL)
        p->progress(p->progress_self, done < c->all ? done : c->all, c->all);
}

/* --- a block ---------------------------------------------------------------------------------- */

/* The tiles of a block, and where each lane adds up its own. */
struct records_adding {
    const struct records_summing *c;
    const struct records_block *b;
    uint16_t *parts; /* of each lane, `stride` apart */
    size_t stride, tile, lanes;
};

/* Words of a lane's parts, so that each lane's are aligned for vectors. */
static size_t stride_of(const struct records_summing *c)
{
    return (c->of->parts + 31) / 32 * 32;
}

/* Adds this server's parts of a tile's sums. */
static enum err add_tile(void *self, struct party *lane, size_t tile)
{
    const struct records_adding *s = self;
    const struct records_summing *c = s->c;
    const size_t from = tile * s->tile, left = s->b->used - from,
                 n = left < s->tile ? left : s->tile;
    TRY(c->of->add(lane, c->of, s->b, from, n, s->parts + tile % s->lanes * s->stride));
    tell(lane, c, c->done + from + n);
    return ERR_OK;
}

/* Adds up what all lanes have, in the first lane's parts. */
static enum err add_tiles(struct party *p, const struct records_summing *c,
                          const struct records_block *b, uint16_t *parts)
{
    const size_t stride = stride_of(c), lanes = crew_lanes(p);
    struct records_adding s = {.c = c,
                               .b = b,
                               .parts = parts,
                               .stride = stride,
                               .tile = crew_tile(p, b->used, c->of->tile, 64),
                               .lanes = lanes};
    memset(parts, 0, lanes * stride * sizeof *parts);
    TRY(crew_run(p, (b->used + s.tile - 1) / s.tile, add_tile, &s));
    for (size_t k = 1; k < lanes; k++)
        p->kernel->linear16(parts, 1, parts, 1, parts + k * stride, stride);
    return ERR_OK;
}

/* cells = twice the sums of a block */
static enum err sum_block(struct party *p, const struct records_summing *c,
                          const struct records_block *b, struct share16 cells)
{
    uint16_t *parts;
    if (party_proves(p) && c->of->checked != NULL)
        return c->of->checked(p, c->of, b, cells);
    TRY(scratch_array(p->scratch, &parts, crew_lanes(p) * stride_of(c)));
    TRY(add_tiles(p, c, b, parts));
    return c->of->settle(p, c->of, b, parts, cells);
}

static enum err add_block(struct party *p, struct records_summing *c, struct records_block *b)
{
    struct share16 cells;
    struct share32 wide;
    TRY(party_share16(p, &cells, c->of->cells));
    TRY(party_share32(p, &wide, c->of->cells));
    TRY(bits_and_all(p, planes_plane(&b->code, 0), &b->valid));
    TRY(records_one_hot(p, b));
    TRY(sum_block(p, c, b, cells));
    TRY(truncate_widen16(p, wide, cells));
    for (size_t i = 0; i < wide.n; i++) {
        c->sums.a[i] += wide.a[i];
        c->sums.b[i] += wide.b[i];
    }
    c->done += b->used;
    tell(p, c, c->done);
    return ERR_OK;
}

/* --- all batches ------------------------------------------------------------------------------ */

/* Adds half of the sums to the results, and begins new ones. */
static enum err flush(struct party *p, struct records_summing *c)
{
    for (size_t at = 0, n; c->records > 0 && at < c->sums.n; at += n) {
        const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
        struct share64 wide;
        n = c->sums.n - at < CELLS_AT_ONCE ? c->sums.n - at : CELLS_AT_ONCE;
        TRY(party_share64(p, &wide, n));
        TRY(truncate_half32(p, wide, share32_view(c->sums, at, n)));
        c->of->take(c->of, at, wide);
    }
    zero(c->sums);
    c->records = 0;
    return ERR_OK;
}

/* Sums up what is loaded. */
static enum err sum_loaded(struct party *p, struct records_block *b, void *self)
{
    struct records_summing *c = self;
    if (c->records + b->records > SUMS_MOST)
        TRY(flush(p, c));
    TRY(add_block(p, c, b));
    c->records += b->records;
    return ERR_OK;
}

enum err records_sum(struct party *p, const struct records_sums *s,
                     const struct records_batch *batches, size_t count)
{
    struct records_summing c = {.of = s};
    struct records_block b;
    TRY(party_share32(p, &c.sums, s->cells));
    zero(c.sums);
    TRY(records_block_for(p, &b, s->shape, s->scores, batches, count,
                          records_block_length(s->shape, s->scores)));
    for (size_t i = 0; i < count; i++)
        c.all += batches[i].records;
    TRY(records_each_block(p, &b, batches, count, sum_loaded, &c));
    return flush(p, &c);
}
