#include "protocols/records.h"

#include "base/memory.h"
#include "mpc/bits.h"
#include "mpc/convert.h"
#include "mpc/ring.h"
#include "mpc/truncate.h"

#include <stdlib.h>
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

static unsigned code_bits(uint32_t size)
{
    unsigned k = 0;
    while ((uint32_t)1 << k < size)
        k++;
    return k;
}

unsigned records_bits(const struct records_shape *shape)
{
    unsigned bits = 1;
    for (size_t a = 0; a < shape->attributes; a++)
        bits += code_bits(shape->size[a]);
    return bits;
}

size_t records_bytes(const struct records_shape *shape, size_t records)
{
    return records_bits(shape) * (records / 8 + (records % 8 != 0));
}

/* --- the owner's side ------------------------------------------------------------------------------ */

/* Planes in order: validity, then each attribute's code from the highest bit down. */
enum err records_pack(const struct records_shape *shape, uint16_t *const *column, size_t rows,
                      size_t records, uint8_t *vector)
{
    size_t plane_bytes = records / 8 + (records % 8 != 0), plane = 1;
    memset(vector, 0, records_bytes(shape, records));
    if (rows > records)
        return ERR_DATA;
    for (size_t i = 0; i < rows; i++)
        vector[i / 8] |= (uint8_t)(1u << (i % 8));
    for (size_t a = 0; a < shape->attributes; a++) {
        unsigned bits = code_bits(shape->size[a]);
        for (size_t i = 0; i < rows; i++) {
            if (column[a][i] >= shape->size[a])
                return ERR_DATA;
            for (unsigned k = 0; k < bits; k++)
                vector[(plane + k) * plane_bytes + i / 8] |=
                    (uint8_t)((column[a][i] >> (bits - 1 - k) & 1u) << (i % 8));
        }
        plane += bits;
    }
    return ERR_OK;
}

/* --- one-hot matrices ------------------------------------------------------------------------------ */

/* A tile's state. Row v of attribute a's matrix stands at row[a] + v in `hot`. */
struct tile {
    const struct records_shape *shape;
    size_t n; /* records, a multiple of 64 */
    size_t *row, rows;
    unsigned *plane;     /* of each attribute: its first in `code` */
    struct planes *node; /* of each attribute: the tree's nodes of one level */
    struct planes *next; /* and the ANDs of the level below */
    struct planes code;  /* validity and code planes */
    struct planes valid; /* of each part of a batch */
    size_t used;         /* records loaded so far, a multiple of 64 */
    struct planes hot;
    struct share16 number;
};

static void tile_free(struct tile *t)
{
    for (size_t a = 0; a < t->shape->attributes; a++) {
        if (t->node != NULL)
            planes_free(&t->node[a]);
        if (t->next != NULL)
            planes_free(&t->next[a]);
    }
    memory_free(&t->row);
    memory_free(&t->plane);
    memory_free(&t->node);
    memory_free(&t->next);
    planes_free(&t->code);
    planes_free(&t->valid);
    planes_free(&t->hot);
    share16_free(&t->number);
}

/* `parts`: the most of a batch. */
static enum err tile_new(struct tile *t, const struct records_shape *shape, size_t n, size_t parts)
{
    unsigned plane = 1; /* the first is validity */
    *t = (struct tile){.shape = shape, .n = n};
    t->row = memory_array(shape->attributes, sizeof *t->row);
    t->plane = memory_array(shape->attributes, sizeof *t->plane);
    t->node = memory_array(shape->attributes, sizeof *t->node);
    t->next = memory_array(shape->attributes, sizeof *t->next);
    if (t->row == NULL || t->plane == NULL || t->node == NULL || t->next == NULL)
        return ERR_NOMEM;
    for (size_t a = 0; a < shape->attributes; a++) {
        t->row[a] = t->rows;
        t->plane[a] = plane;
        plane += code_bits(shape->size[a]);
        t->rows += shape->size[a];
        TRY(planes_new(&t->node[a], shape->size[a], n));
        TRY(planes_new(&t->next[a], shape->size[a], n));
    }
    TRY(planes_new(&t->code, plane, n));
    TRY(planes_new(&t->valid, (unsigned)parts, n));
    TRY(planes_new(&t->hot, (unsigned)t->rows, n));
    return share16_new(&t->number, t->rows * n);
}

/* How many nodes of a level lead to a code in range; `left` bits are still to come. */
static uint32_t nodes_at(uint32_t size, unsigned left)
{
    return (size + ((uint32_t)1 << left) - 1) >> left;
}

/* The children of a level's nodes: 2i + 1 is the AND, 2i what is left of the parent. */
static void step_down(struct planes *node, const struct planes *next, uint32_t parents,
                      uint32_t children)
{
    for (uint32_t i = parents; i-- > 0;) {
        struct bits parent = planes_plane(node, i), one = planes_plane(next, i);
        if (2 * i + 1 < children)
            bits_copy(planes_plane(node, 2 * i + 1), one);
        bits_xor(planes_plane(node, 2 * i), parent, one);
    }
}

/* Level by level, for all attributes at once: one round a level. */
static enum err grow_trees(struct party *p, struct tile *t, struct bits_gate *gates)
{
    const struct records_shape *shape = t->shape;
    unsigned deepest = 0;
    for (size_t a = 0; a < shape->attributes; a++) {
        unsigned k = code_bits(shape->size[a]);
        deepest = k > deepest ? k : deepest;
        bits_copy(planes_plane(&t->node[a], 0), planes_plane(&t->code, 0));
    }
    for (unsigned level = 0; level < deepest; level++) {
        size_t count = 0;
        for (size_t a = 0; a < shape->attributes; a++) {
            unsigned k = code_bits(shape->size[a]);
            for (uint32_t i = 0; level < k && i < nodes_at(shape->size[a], k - level); i++)
                gates[count++] = (struct bits_gate){planes_plane(&t->next[a], i),
                                                    planes_plane(&t->node[a], i),
                                                    planes_plane(&t->code, t->plane[a] + level)};
        }
        TRY(bits_and_layer(p, gates, count));
        for (size_t a = 0; a < shape->attributes; a++) {
            unsigned k = code_bits(shape->size[a]);
            if (level < k)
                step_down(&t->node[a], &t->next[a], nodes_at(shape->size[a], k - level),
                          nodes_at(shape->size[a], k - level - 1));
        }
    }
    return ERR_OK;
}

static enum err one_hot(struct party *p, struct tile *t)
{
    struct bits_gate *gates = memory_array(t->rows, sizeof *gates);
    enum err e = gates == NULL ? ERR_NOMEM : grow_trees(p, t, gates);
    for (size_t a = 0; e == ERR_OK && a < t->shape->attributes; a++) {
        struct planes rows = planes_view(&t->hot, (unsigned)t->row[a], t->shape->size[a]);
        bits_copy(planes_flat(&rows), planes_flat(&t->node[a]));
    }
    if (e == ERR_OK)
        e = convert_bit16(p, t->number, planes_flat(&t->hot));
    memory_free(&gates);
    return e;
}

/* --- products -------------------------------------------------------------------------------------- */

/* One or two attributes as a one-hot matrix: rows values (or pairs of them), n columns. */
struct side {
    size_t n;
    uint16_t attribute[2];
};

/* How a query is computed: the two sides' product, whose order may differ from the query's. */
struct plan {
    struct records_query *query;
    struct side left, right;
    uint16_t *part; /* this server's part of the group's sum, in the product's order */
    size_t cells;
};

static size_t side_rows(const struct records_shape *shape, const struct side *s)
{
    size_t rows = 1;
    for (size_t k = 0; k < s->n; k++)
        rows *= shape->size[s->attribute[k]];
    return rows;
}

static bool same_side(const struct side *a, const struct side *b)
{
    return a->n == b->n && memcmp(a->attribute, b->attribute, a->n * sizeof *a->attribute) == 0;
}

static struct share16 view16(struct share16 x, size_t from, size_t n)
{
    return (struct share16){x.a + from, x.b + from, n};
}

static struct share16 matrix_of(const struct tile *t, uint16_t attribute)
{
    return view16(t->number, t->row[attribute] * t->n, t->shape->size[attribute] * t->n);
}

/* Element by element, all pairs of rows: row (i, j) = row i of a times row j of b. */
static enum err multiply_rows(struct party *p, const struct tile *t, const struct side *s,
                              struct share16 out)
{
    struct share16 a = matrix_of(t, s->attribute[0]), b = matrix_of(t, s->attribute[1]), x = {0},
                   y = {0};
    size_t rows_a = a.n / t->n, rows_b = b.n / t->n;
    enum err e = share16_new(&x, out.n);
    if (e == ERR_OK)
        e = share16_new(&y, out.n);
    for (size_t i = 0; e == ERR_OK && i < rows_a; i++) {
        for (size_t j = 0; j < rows_b; j++)
            ring16_copy(view16(x, (i * rows_b + j) * t->n, t->n), view16(a, i * t->n, t->n));
        ring16_copy(view16(y, i * b.n, b.n), b);
    }
    if (e == ERR_OK)
        e = ring16_multiply(p, out, x, y);
    share16_free(&x);
    share16_free(&y);
    return e;
}

/* The matrix of a side; *made is what the caller frees. */
static enum err side_matrix(struct party *p, const struct tile *t, const struct side *s,
                            struct share16 *made, struct share16 *matrix)
{
    if (s->n == 1) {
        *matrix = matrix_of(t, s->attribute[0]);
        return ERR_OK;
    }
    TRY(share16_new(made, side_rows(t->shape, s) * t->n));
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

static void add_row_sums(const struct plan *plan, struct share16 matrix, size_t n)
{
    for (size_t i = 0; i < plan->cells; i++)
        for (size_t j = 0; j < n; j++)
            plan->part[i] = (uint16_t)(plan->part[i] + matrix.a[i * n + j]);
}

/* Adds left times right, transposed. */
static enum err add_product(struct party *p, const struct tile *t, const struct plan *plan,
                            struct share16 left)
{
    size_t m = side_rows(t->shape, &plan->left), k = side_rows(t->shape, &plan->right);
    struct share16 made = {0}, right = {0}, turned = {0};
    enum err e = side_matrix(p, t, &plan->right, &made, &right);
    if (e == ERR_OK)
        e = share16_new(&turned, right.n);
    if (e == ERR_OK) {
        transpose(turned, right, k, t->n);
        e = ring16_matrix_part(p, plan->part, left, turned, m, t->n, k);
    }
    share16_free(&made);
    share16_free(&turned);
    return e;
}

/* All queries of a tile. Plans stand in order of their left sides, each of which is made once. */
static enum err count_tile(struct party *p, struct tile *t, struct plan *plans, size_t count)
{
    struct share16 made = {0}, left = {0};
    enum err e = one_hot(p, t);
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

/* --- planning -------------------------------------------------------------------------------------- */

/* How many queries of three or more attributes contain both. */
static size_t uses_of_pair(const struct records_query *queries, size_t count, uint16_t a,
                           uint16_t b)
{
    size_t uses = 0;
    for (size_t q = 0; q < count; q++) {
        bool has_a = false, has_b = false;
        for (size_t k = 0; k < queries[q].n; k++) {
            has_a = has_a || queries[q].attribute[k] == a;
            has_b = has_b || queries[q].attribute[k] == b;
        }
        uses += queries[q].n > 2 && has_a && has_b;
    }
    return uses;
}

static void split_query(const struct records_shape *shape, const struct records_query *queries,
                        size_t count, struct plan *plan)
{
    const struct records_query *q = plan->query;
    size_t best[2] = {0, 1};
    double cheapest = 0;
    plan->left = (struct side){1, {q->attribute[0]}};
    if (q->n == 2)
        plan->right = (struct side){1, {q->attribute[1]}};
    if (q->n < 3)
        return;
    /* the pair that is cheapest for each marginal that may use it */
    for (size_t i = 0; i < q->n; i++)
        for (size_t j = i + 1; j < q->n; j++) {
            uint16_t a = q->attribute[i], b = q->attribute[j];
            double cost = (double)shape->size[a] * shape->size[b] /
                          (double)uses_of_pair(queries, count, a, b);
            if ((i == 0 && j == 1) || cost < cheapest) {
                cheapest = cost;
                best[0] = i;
                best[1] = j;
            }
        }
    plan->left = (struct side){2, {q->attribute[best[0]], q->attribute[best[1]]}};
    for (size_t k = 0; k < q->n; k++)
        if (k != best[0] && k != best[1])
            plan->right.attribute[plan->right.n++] = q->attribute[k];
}

static int by_left_side(const void *x, const void *y)
{
    const struct plan *a = x, *b = y;
    if (a->left.n != b->left.n)
        return a->left.n < b->left.n ? -1 : 1;
    for (size_t k = 0; k < a->left.n; k++)
        if (a->left.attribute[k] != b->left.attribute[k])
            return a->left.attribute[k] < b->left.attribute[k] ? -1 : 1;
    return a->query < b->query ? -1 : a->query > b->query;
}

/* `total` is the cells of all plans. */
static enum err make_plans(const struct records_shape *shape, struct records_query *queries,
                           size_t count, struct plan *plans, size_t *total)
{
    *total = 0;
    for (size_t q = 0; q < count; q++) {
        size_t cells = 1;
        if (queries[q].n == 0 || queries[q].n > RECORDS_ORDER_MAX)
            return ERR_RANGE;
        for (size_t k = 0; k < queries[q].n; k++)
            cells *= shape->size[queries[q].attribute[k]];
        if (cells != queries[q].out.n)
            return ERR_RANGE;
        plans[q].query = &queries[q];
        plans[q].cells = cells;
        split_query(shape, queries, count, &plans[q]);
        *total += cells;
    }
    qsort(plans, count, sizeof *plans, by_left_side);
    return ERR_OK;
}

/* --- groups of tiles ------------------------------------------------------------------------------- */

/* Where cell i of the product's order stands in the query's order. */
static size_t place(const struct records_shape *shape, const struct plan *plan, size_t i)
{
    uint16_t order[RECORDS_ORDER_MAX];
    size_t code[RECORDS_ORDER_MAX], n = 0, at = 0;
    for (size_t k = 0; k < plan->left.n; k++)
        order[n++] = plan->left.attribute[k];
    for (size_t k = 0; k < plan->right.n; k++)
        order[n++] = plan->right.attribute[k];
    for (size_t k = n; k-- > 0;) {
        code[k] = i % shape->size[order[k]];
        i /= shape->size[order[k]];
    }
    for (size_t k = 0; k < n; k++) { /* the query's attributes, ascending */
        size_t from = 0;
        while (order[from] != plan->query->attribute[k])
            from++;
        /* cppcheck-suppress uninitvar ; set above for all n */
        at = at * shape->size[order[from]] + code[from];
    }
    return at;
}

/* The sums of a group of tiles, which all plans point into. */
struct group {
    struct plan *plan;
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
    TRY(make_plans(shape, queries, count, g->plan, &cells));
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
            size_t to = place(shape, &g->plan[k], i);
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
        e = ring16_settle(p, g->parts);
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

static unsigned part_bits(const struct records_shape *shape, const struct records_part *part)
{
    unsigned bits = 1;
    for (size_t k = 0; k < part->attributes; k++)
        bits += code_bits(shape->size[part->attribute[k]]);
    return bits;
}

static enum err check_batch(const struct records_shape *shape, const struct records_batch *b)
{
    size_t held = 0;
    for (size_t i = 0; i < b->parts; i++)
        held += b->part[i].attributes;
    if (b->parts == 0 || held != shape->attributes)
        return ERR_RANGE;
    for (size_t a = 0; a < shape->attributes; a++) {
        bool found = false;
        for (size_t i = 0; i < b->parts; i++)
            for (size_t k = 0; k < b->part[i].attributes; k++)
                found = found || b->part[i].attribute[k] == a;
        if (!found)
            return ERR_RANGE;
    }
    return ERR_OK;
}

/* The two components of a part, expanded. */
struct stream {
    uint8_t *made[2]; /* from a seed */
    const uint8_t *at[2];
    size_t bytes;
};

static void stream_free(struct stream *s)
{
    for (unsigned slot = 0; slot < 2; slot++)
        memory_wipe_free(&s->made[slot], s->bytes);
}

static enum err expand(const struct records_shape *shape, const struct records_part *part,
                       size_t records, struct stream *s)
{
    s->bytes = part_bits(shape, part) * (records / 8 + (records % 8 != 0));
    for (unsigned slot = 0; slot < 2; slot++) {
        struct prg *prg = NULL;
        enum err e;
        if (part->seed[slot] == NULL) {
            s->at[slot] = part->vector;
            continue;
        }
        s->at[slot] = s->made[slot] = memory_array(s->bytes, 1);
        e = s->made[slot] == NULL ? ERR_NOMEM : prg_new(&prg, part->seed[slot]);
        if (e == ERR_OK)
            e = prg_fill(prg, s->made[slot], s->bytes);
        prg_free(&prg);
        TRY(e);
    }
    return ERR_OK;
}

/* Where `n` records of a batch, from `from` on, go in the tile: at its record `at`. */
struct span {
    size_t from, n, at;
};

/* A component's planes, so many from the first on. */
static void load_planes(const uint8_t *stream, size_t first, unsigned count, size_t records,
                        const struct span *s, uint64_t *planes, size_t plane_words)
{
    size_t plane_bytes = records / 8 + (records % 8 != 0), bytes = s->n / 8 + (s->n % 8 != 0);
    for (unsigned k = 0; k < count; k++) {
        uint8_t *to = (uint8_t *)(planes + k * plane_words + s->at / 64);
        memcpy(to, stream + (first + k) * plane_bytes + s->from / 8, bytes);
        if (s->n % 8 != 0)
            to[bytes - 1] &= (uint8_t)((1u << (s->n % 8)) - 1);
    }
}

/* A part's validity to `valid`, its codes to where their attributes stand in the tile. */
static void load_part(struct tile *t, const struct records_part *part, const struct stream *stream,
                      size_t records, const struct span *s, struct bits valid)
{
    size_t plane = 1, words = t->n / 64;
    load_planes(stream->at[0], 0, 1, records, s, valid.a, words);
    load_planes(stream->at[1], 0, 1, records, s, valid.b, words);
    for (size_t k = 0; k < part->attributes; k++) {
        unsigned bits = code_bits(t->shape->size[part->attribute[k]]);
        struct planes code = planes_view(&t->code, t->plane[part->attribute[k]], bits);
        load_planes(stream->at[0], plane, bits, records, s, code.a, words);
        load_planes(stream->at[1], plane, bits, records, s, code.b, words);
        plane += bits;
    }
}

/* What a batch of fewer parts than another has in place of theirs: valid, component 0 carries it. */
static void load_ones(const struct party *p, const struct span *s, struct bits valid)
{
    size_t bytes = (s->n / 64 + (s->n % 64 != 0)) * sizeof *valid.a;
    if (p->index == 0)
        memset(valid.a + s->at / 64, 0xff, bytes);
    if (p->index == 2)
        memset(valid.b + s->at / 64, 0xff, bytes);
}

static void load(const struct party *p, struct tile *t, const struct records_batch *b,
                 const struct stream *streams, const struct span *s)
{
    for (size_t i = 0; i < t->valid.width; i++) {
        struct bits valid = planes_plane(&t->valid, (unsigned)i);
        if (i < b->parts)
            load_part(t, &b->part[i], &streams[i], b->records, s, valid);
        else
            load_ones(p, s, valid);
    }
}

static void clear(const struct planes *x)
{
    bits_xor(planes_flat(x), planes_flat(x), planes_flat(x));
}

/* Counts what is loaded and empties the tile: what is not loaded is invalid. */
static enum err count_loaded(struct party *p, struct tile *t, struct group *g)
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
    clear(&t->code);
    clear(&t->valid);
    return e;
}

/* Batches stand in the tile one after another, each from a multiple of 64 on: small ones share it. */
static enum err count_batch(struct party *p, struct tile *t, const struct records_batch *b,
                            struct group *g)
{
    struct stream *streams = memory_array(b->parts, sizeof *streams);
    enum err e = streams == NULL ? ERR_NOMEM : check_batch(t->shape, b);
    for (size_t i = 0; e == ERR_OK && i < b->parts; i++)
        e = expand(t->shape, &b->part[i], b->records, &streams[i]);
    for (size_t from = 0; e == ERR_OK && from < b->records;) {
        size_t left = b->records - from, room = t->n - t->used;
        const struct span s = {.from = from, .n = left < room ? left : room, .at = t->used};
        load(p, t, b, streams, &s);
        t->used += (s.n + 63) / 64 * 64;
        from += s.n;
        if (t->used == t->n)
            e = count_loaded(p, t, g);
    }
    for (size_t i = 0; streams != NULL && i < b->parts; i++)
        stream_free(&streams[i]);
    memory_free(&streams);
    return e;
}

/* Rows of the widest matrix: the one-hot one of all attributes, or a pair's. */
static size_t widest(const struct records_shape *shape, const struct group *g)
{
    size_t rows = 1;
    for (size_t a = 0; a < shape->attributes; a++)
        rows += shape->size[a];
    for (size_t k = 0; k < g->plans; k++) {
        size_t left = side_rows(shape, &g->plan[k].left),
               right = side_rows(shape, &g->plan[k].right);
        rows = left > rows ? left : rows;
        rows = right > rows ? right : rows;
    }
    return rows;
}

/* A tile for these batches, no longer than they need. */
static enum err tile_for(struct tile *t, const struct records_shape *shape,
                         const struct records_batch *batches, size_t count, const struct group *g)
{
    size_t parts = 1, records = 0, n = TILE_CELLS / widest(shape, g) / 64 * 64;
    n = n < TILE_LEAST ? TILE_LEAST : n > TILE_MOST ? TILE_MOST : n;
    for (size_t i = 0; i < count; i++) {
        parts = batches[i].parts > parts ? batches[i].parts : parts;
        if (records < n)
            records += (batches[i].records + 63) / 64 * 64;
    }
    return tile_new(t, shape, records < n ? records : n, parts);
}

enum err records_count(struct party *p, const struct records_shape *shape,
                       const struct records_batch *batches, size_t count,
                       struct records_query *queries, size_t query_count)
{
    struct tile t = {.shape = shape};
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
    tile_free(&t);
    group_free(&g);
    return e;
}
