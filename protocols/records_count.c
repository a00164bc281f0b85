#include "protocols/records_private.h"

#include "mpc/bits.h"
#include "mpc/ring.h"
#include "mpc/truncate.h"

#include <string.h>

/*
 * Records handled at a time. Rounds are a tile's, so long tiles make few; but memory is a tile's
 * too: as many records as the widest matrix has cells for, within bounds.
 */
#define TILE_LEAST ((size_t)2048)
#define TILE_MOST ((size_t)8192)
#define TILE_CELLS ((size_t)4 << 20)
/* Sums of so many records stay below 2^15, so that widening is exact. */
#define GROUP ((size_t)32767)

/*
 * --- products
 * --------------------------------------------------------------------------------------
 */

static bool same_side(const struct records_side *a, const struct records_side *b)
{
    return a->n == b->n && memcmp(a->attribute, b->attribute, a->n * sizeof *a->attribute) == 0;
}

static struct share16 matrix_of(const struct records_tile *t, uint16_t attribute)
{
    return share16_view(t->number, t->row[attribute] * t->n, t->shape->size[attribute] * t->n);
}

static void copy(struct share16 out, struct share16 x)
{
    memcpy(out.a, x.a, out.n * sizeof *out.a);
    memcpy(out.b, x.b, out.n * sizeof *out.b);
}

/* Element by element, all pairs of rows: row (i, j) = row i of a times row j of b. */
static enum err multiply_rows(struct party *p, const struct records_tile *t,
                              const struct records_side *s, struct share16 out)
{
    const struct share16 a = matrix_of(t, s->attribute[0]), b = matrix_of(t, s->attribute[1]);
    const size_t rows_a = a.n / t->n, rows_b = b.n / t->n;
    struct share16 x, y;
    TRY(party_share16(p, &x, out.n));
    TRY(party_share16(p, &y, out.n));
    for (size_t i = 0; i < rows_a; i++) {
        for (size_t j = 0; j < rows_b; j++)
            copy(share16_view(x, (i * rows_b + j) * t->n, t->n), share16_view(a, i * t->n, t->n));
        copy(share16_view(y, i * b.n, b.n), b);
    }
    return ring16_multiply(p, out, x, y);
}

/* The matrix of a side, in scratch that the caller releases where it has to be made. */
static enum err side_matrix(struct party *p, const struct records_tile *t,
                            const struct records_side *s, struct share16 *matrix)
{
    struct scratch_mark mark;
    if (s->n == 1) {
        *matrix = matrix_of(t, s->attribute[0]);
        return ERR_OK;
    }
    TRY(party_share16(p, matrix, records_side_rows(t->shape, s) * t->n));
    mark = scratch_mark(p->scratch);
    return scratch_done(p->scratch, mark, multiply_rows(p, t, s, *matrix));
}

static void transpose(struct share16 out, struct share16 in, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            out.a[j * rows + i] = in.a[i * columns + j];
            out.b[j * rows + i] = in.b[i * columns + j];
        }
}

static void add_row_sums(const struct records_plan *plan, struct share16 matrix, size_t n)
{
    for (size_t i = 0; i < plan->cells; i++)
        for (size_t j = 0; j < n; j++)
            plan->part[i] = (uint16_t)(plan->part[i] + matrix.a[i * n + j]);
}

/* Adds left times right, transposed. */
static enum err add_product(struct party *p, const struct records_tile *t,
                            const struct records_plan *plan, struct share16 left)
{
    const size_t m = records_side_rows(t->shape, &plan->left),
                 k = records_side_rows(t->shape, &plan->right);
    struct share16 right, turned;
    TRY(side_matrix(p, t, &plan->right, &right));
    TRY(party_share16(p, &turned, right.n));
    transpose(turned, right, k, t->n);
    return move_part_matrix(p, plan->part, left, turned, m, t->n, k);
}

/* The first plans, up to `count`, that have the same left side, which is made once. */
static enum err count_left(struct party *p, const struct records_tile *t,
                           const struct records_plan *plans, size_t count)
{
    struct share16 left;
    TRY(side_matrix(p, t, &plans->left, &left));
    for (size_t k = 0; k < count; k++) {
        const struct scratch_mark mark = scratch_mark(p->scratch);
        if (plans[k].right.n == 0)
            add_row_sums(&plans[k], left, t->n);
        else
            TRY(scratch_done(p->scratch, mark, add_product(p, t, &plans[k], left)));
    }
    return ERR_OK;
}

/* All queries of a tile. Plans stand in order of their left sides. */
static enum err count_tile(struct party *p, struct records_tile *t,
                           const struct records_plan *plans, size_t count)
{
    TRY(records_one_hot(p, t));
    for (size_t k = 0, same; k < count; k += same) {
        const struct scratch_mark mark = scratch_mark(p->scratch);
        for (same = 1; k + same < count && same_side(&plans[k].left, &plans[k + same].left);)
            same++;
        TRY(scratch_done(p->scratch, mark, count_left(p, t, plans + k, same)));
    }
    return ERR_OK;
}

/*
 * --- groups of tiles
 * -------------------------------------------------------------------------------
 */

/* The sums of a group of tiles, which all plans point into. */
struct group {
    struct records_plan *plan;
    size_t plans;
    struct share16 parts; /* a: this server's parts, which flush() makes shares of */
    size_t records;       /* counted there so far */
    uint64_t done, all;   /* records of all groups */
};

static enum err group_take(struct party *p, struct group *g, const struct records_shape *shape,
                           struct records_query *queries, size_t count)
{
    size_t cells = 0;
    *g = (struct group){.plan = scratch_take(p->scratch, count, sizeof *g->plan), .plans = count};
    if (g->plan == NULL)
        return ERR_NOMEM;
    TRY(records_plans(shape, queries, count, g->plan, &cells));
    TRY(party_share16(p, &g->parts, cells));
    memset(g->parts.a, 0, cells * sizeof *g->parts.a);
    cells = 0;
    for (size_t k = 0; k < count; cells += g->plan[k++].cells)
        g->plan[k].part = g->parts.a + cells;
    return ERR_OK;
}

/* Adds wide sums to the results, each cell where its query has it. */
static void add_to_queries(const struct records_shape *shape, const struct group *g,
                           struct share64 sums)
{
    size_t at = 0;
    for (size_t k = 0; k < g->plans; at += g->plan[k++].cells)
        for (size_t i = 0; i < g->plan[k].cells; i++) {
            size_t to = records_place(shape, &g->plan[k], i);
            g->plan[k].query->out.a[to] += sums.a[at + i];
            g->plan[k].query->out.b[to] += sums.b[at + i];
        }
}

/* Shares the group's sums, widens them and adds them to the results. */
static enum err settle(struct party *p, const struct records_shape *shape, const struct group *g)
{
    const size_t cells = g->parts.n;
    struct share32 wide;
    struct share64 wider;
    TRY(party_share32(p, &wide, cells));
    TRY(party_share64(p, &wider, cells));
    TRY(move_settle(p, RING_16, OPERAND(g->parts), g->parts.a, cells));
    TRY(truncate_widen16(p, wide, g->parts));
    TRY(truncate_widen32(p, wider, wide));
    add_to_queries(shape, g, wider);
    return ERR_OK;
}

/* And begins the next group. */
static enum err flush(struct party *p, const struct records_shape *shape, struct group *g)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    TRY(scratch_done(p->scratch, mark, settle(p, shape, g)));
    memset(g->parts.a, 0, g->parts.n * sizeof *g->parts.a);
    g->records = 0;
    return ERR_OK;
}

/*
 * --- batches
 * ---------------------------------------------------------------------------------------
 */

/* Counts what is loaded and empties the tile. */
static enum err count_loaded(struct party *p, struct records_tile *t, struct group *g)
{
    if (t->used == 0)
        return ERR_OK;
    if (g->records + t->used > GROUP)
        TRY(flush(p, t->shape, g));
    TRY(bits_and_all(p, planes_plane(&t->code, 0), &t->valid));
    TRY(count_tile(p, t, g->plan, g->plans));
    g->records += t->used;
    g->done += t->used;
    if (p->progress != NULL)
        p->progress(p->progress_self, g->done < g->all ? g->done : g->all, g->all);
    records_tile_empty(t);
    return ERR_OK;
}

static enum err count_batch(struct party *p, struct records_tile *t, const struct records_batch *b,
                            struct group *g)
{
    struct records_source s;
    TRY(records_source_open(p, &s, t->shape, b));
    while (s.taken < b->records) {
        records_load(p, t, &s);
        if (t->used == t->n)
            TRY(count_loaded(p, t, g));
    }
    return ERR_OK;
}

/* Rows of the widest matrix: the one-hot one of all attributes, or a pair's. */
static size_t widest(const struct records_shape *shape, const struct group *g)
{
    size_t rows = 1;
    for (size_t a = 0; a < shape->attributes; a++)
        rows += shape->size[a];
    for (size_t k = 0; k < g->plans; k++) {
        size_t left = records_side_rows(shape, &g->plan[k].left),
               right = records_side_rows(shape, &g->plan[k].right);
        rows = left > rows ? left : rows;
        rows = right > rows ? right : rows;
    }
    return rows;
}

/* A tile for these batches, no longer than they need. */
static enum err tile_for(struct party *p, struct records_tile *t, const struct records_shape *shape,
                         const struct records_batch *batches, size_t count, const struct group *g)
{
    size_t parts = 1, records = 0, n = TILE_CELLS / widest(shape, g) / 64 * 64;
    n = n < TILE_LEAST ? TILE_LEAST : n > TILE_MOST ? TILE_MOST : n;
    for (size_t i = 0; i < count; i++) {
        parts = batches[i].parts > parts ? batches[i].parts : parts;
        if (records < n)
            records += (batches[i].records + 63) / 64 * 64;
    }
    return records_tile_take(p, t, shape, records < n ? records : n, parts);
}

static enum err count_all(struct party *p, const struct records_shape *shape,
                          const struct records_batch *batches, size_t count,
                          struct records_query *queries, size_t query_count)
{
    struct records_tile t;
    struct group g;
    TRY(group_take(p, &g, shape, queries, query_count));
    TRY(tile_for(p, &t, shape, batches, count, &g));
    for (size_t i = 0; i < count; i++)
        g.all += batches[i].records;
    for (size_t i = 0; i < count; i++) {
        const struct scratch_mark mark = scratch_mark(p->scratch);
        TRY(scratch_wiped(p->scratch, mark, count_batch(p, &t, &batches[i], &g)));
    }
    TRY(count_loaded(p, &t, &g));
    return g.records > 0 ? flush(p, shape, &g) : ERR_OK;
}

enum err records_count(struct party *p, const struct records_shape *shape,
                       const struct records_batch *batches, size_t count,
                       struct records_query *queries, size_t query_count)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_wiped(p->scratch, mark,
                         count_all(p, shape, batches, count, queries, query_count));
}
