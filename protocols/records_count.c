#include "protocols/records_private.h"

#include "base/memory.h"
#include "mpc/bits.h"
#include "mpc/ring.h"
#include "mpc/truncate.h"

#include <string.h>

/*
 * Records handled at a time. Rounds are a tile's, so long tiles make few; but memory is a tile's too: as many
 * records as the widest matrix has cells for, within bounds.
 */
#define TILE_LEAST ((size_t)2048)
#define TILE_MOST ((size_t)8192)
#define TILE_CELLS ((size_t)4 << 20)
/* Sums of so many records stay below 2^15, so that widening is exact. */
#define GROUP ((size_t)32767)

/* --- products -------------------------------------------------------------------------------------- */

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
    struct share16 a = matrix_of(t, s->attribute[0]), b = matrix_of(t, s->attribute[1]), x = {0},
                   y = {0};
    size_t rows_a = a.n / t->n, rows_b = b.n / t->n;
    enum err e = share16_new(&x, out.n);
    if (e == ERR_OK)
        e = share16_new(&y, out.n);
    for (size_t i = 0; e == ERR_OK && i < rows_a; i++) {
        for (size_t j = 0; j < rows_b; j++)
            copy(share16_view(x, (i * rows_b + j) * t->n, t->n), share16_view(a, i * t->n, t->n));
        copy(share16_view(y, i * b.n, b.n), b);
    }
    if (e == ERR_OK)
        e = ring16_multiply(p, out, x, y);
    share16_free(&x);
    share16_free(&y);
    return e;
}

/* The matrix of a side; *made is what the caller frees. */
static enum err side_matrix(struct party *p, const struct records_tile *t,
                            const struct records_side *s, struct share16 *made,
                            struct share16 *matrix)
{
    if (s->n == 1) {
        *matrix = matrix_of(t, s->attribute[0]);
        return ERR_OK;
    }
    TRY(share16_new(made, records_side_rows(t->shape, s) * t->n));
    *matrix = *made;
    return multiply_rows(p, t, s, *made);
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
    size_t m = records_side_rows(t->shape, &plan->left),
           k = records_side_rows(t->shape, &plan->right);
    struct share16 made = {0}, right = {0}, turned = {0};
    enum err e = side_matrix(p, t, &plan->right, &made, &right);
    if (e == ERR_OK)
        e = share16_new(&turned, right.n);
    if (e == ERR_OK) {
        transpose(turned, right, k, t->n);
        e = move_part_matrix(p, plan->part, left, turned, m, t->n, k);
    }
    share16_free(&made);
    share16_free(&turned);
    return e;
}

/* All queries of a tile. Plans stand in order of their left sides, each of which is made once. */
static enum err count_tile(struct party *p, struct records_tile *t, struct records_plan *plans,
                           size_t count)
{
    struct share16 made = {0}, left = {0};
    enum err e = records_one_hot(p, t);
    for (size_t k = 0; e == ERR_OK && k < count; k++) {
        if (k == 0 || !same_side(&plans[k].left, &plans[k - 1].left)) {
            share16_free(&made);
            e = side_matrix(p, t, &plans[k].left, &made, &left);
        }
        if (e == ERR_OK && plans[k].right.n == 0)
            add_row_sums(&plans[k], left, t->n);
        else if (e == ERR_OK)
            e = add_product(p, t, &plans[k], left);
    }
    share16_free(&made);
    return e;
}

/* --- groups of tiles ------------------------------------------------------------------------------- */

/* The sums of a group of tiles, which all plans point into. */
struct group {
    struct records_plan *plan;
    size_t plans;
    struct share16 parts; /* a: this server's parts, which flush() makes shares of */
    size_t records;       /* counted there so far */
};

static void group_free(struct group *g)
{
    memory_free(&g->plan);
    share16_free(&g->parts);
}

static enum err group_new(struct group *g, const struct records_shape *shape,
                          struct records_query *queries, size_t count)
{
    size_t cells = 0;
    *g = (struct group){.plan = memory_array(count, sizeof *g->plan), .plans = count};
    if (g->plan == NULL)
        return ERR_NOMEM;
    TRY(records_plans(shape, queries, count, g->plan, &cells));
    TRY(share16_new(&g->parts, cells));
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

/* Shares the group's sums, widens them, adds them to the results and begins the next group. */
static enum err flush(struct party *p, const struct records_shape *shape, struct group *g)
{
    size_t cells = g->parts.n;
    struct share32 wide = {0};
    struct share64 wider = {0};
    enum err e = share32_new(&wide, cells);
    if (e == ERR_OK)
        e = share64_new(&wider, cells);
    if (e == ERR_OK)
        e = move_settle(p, RING_16, operand_16(g->parts), g->parts.a, cells);
    if (e == ERR_OK)
        e = truncate_widen16(p, wide, g->parts);
    if (e == ERR_OK)
        e = truncate_widen32(p, wider, wide);
    if (e == ERR_OK)
        add_to_queries(shape, g, wider);
    memset(g->parts.a, 0, cells * sizeof *g->parts.a);
    g->records = 0;
    share32_free(&wide);
    share64_free(&wider);
    return e;
}

/* --- batches --------------------------------------------------------------------------------------- */

/* Counts what is loaded and empties the tile: what is not loaded is invalid. */
static enum err count_loaded(struct party *p, struct records_tile *t, struct group *g)
{
    enum err e = ERR_OK;
    if (t->used == 0)
        return ERR_OK;
    if (g->records + t->used > GROUP)
        e = flush(p, t->shape, g);
    if (e == ERR_OK)
        e = bits_and_all(p, planes_plane(&t->code, 0), &t->valid);
    if (e == ERR_OK)
        e = count_tile(p, t, g->plan, g->plans);
    g->records += t->used;
    t->used = 0;
    bits_zero(planes_flat(&t->code));
    bits_zero(planes_flat(&t->valid));
    return e;
}

static enum err count_batch(struct party *p, struct records_tile *t, const struct records_batch *b,
                            struct group *g)
{
    struct records_source s;
    enum err e = records_source_open(&s, t->shape, b);
    while (e == ERR_OK && s.taken < b->records) {
        records_load(p, t, &s);
        if (t->used == t->n)
            e = count_loaded(p, t, g);
    }
    records_source_close(&s);
    return e;
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
static enum err tile_for(struct records_tile *t, const struct records_shape *shape,
                         const struct records_batch *batches, size_t count, const struct group *g)
{
    size_t parts = 1, records = 0, n = TILE_CELLS / widest(shape, g) / 64 * 64;
    n = n < TILE_LEAST ? TILE_LEAST : n > TILE_MOST ? TILE_MOST : n;
    for (size_t i = 0; i < count; i++) {
        parts = batches[i].parts > parts ? batches[i].parts : parts;
        if (records < n)
            records += (batches[i].records + 63) / 64 * 64;
    }
    return records_tile_new(t, shape, records < n ? records : n, parts);
}

enum err records_count(struct party *p, const struct records_shape *shape,
                       const struct records_batch *batches, size_t count,
                       struct records_query *queries, size_t query_count)
{
    struct records_tile t = {.shape = shape};
    struct group g;
    enum err e = group_new(&g, shape, queries, query_count);
    if (e == ERR_OK)
        e = tile_for(&t, shape, batches, count, &g);
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        e = count_batch(p, &t, &batches[i], &g);
    if (e == ERR_OK)
        e = count_loaded(p, &t, &g);
    if (e == ERR_OK && g.records > 0)
        e = flush(p, shape, &g);
    records_tile_free(&t);
    group_free(&g);
    return e;
}
