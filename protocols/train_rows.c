#include "protocols/train_rows.h"

#include "base/memory.h"
#include "mpc/circuits/below.h"
#include "mpc/circuits/convert.h"
#include "mpc/move/crew.h"
#include "protocols/records_load.h"
#include "protocols/train_sums.h"

#include <string.h>

/* Memory for what a block's numbers are made of. */
#define LOAD_BYTES ((size_t)64 << 20)

size_t train_outputs(const struct train_shape *shape)
{
    return shape->classes == 2 ? 1 : shape->classes;
}

size_t train_features(const struct train_shape *shape)
{
    size_t count = 1;
    for (size_t k = 0; k < shape->columns; k++)
        count += shape->norm2 > 0 ? 1 : shape->records.size[shape->column[k]];
    return count;
}

/* Memory of features of so many lanes, at each server. */
static uint64_t bytes_of(const struct train_shape *shape, uint64_t lanes)
{
    return 2 * sizeof(uint16_t) * train_features(shape) * lanes;
}

void train_rows_start(struct train_rows *rows, const struct train_shape *shape)
{
    *rows = (struct train_rows){
        .shape = shape, .outputs = train_outputs(shape), .features = train_features(shape)};
}

void train_rows_free(struct train_rows *rows)
{
    for (size_t k = 0; k < rows->blocks; k++) {
        share16_free(&rows->block[k].u);
        share16_free(&rows->block[k].y);
        planes_free(&rows->block[k].own);
        planes_free(&rows->block[k].test);
    }
    memory_free(&rows->block);
    share64_free(&rows->labels);
    *rows = (struct train_rows){0};
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Lanes of records on their way to features. */
struct train_making {
    const struct train_rows *rows;
    struct records_block *loaded;
    struct planes own;     /* v; then v [y = k] */
    struct planes test;    /* the same of rows that are kept back; no planes: none are */
    struct share16 number; /* of `own`; v of both */
    struct share16 u, n2;  /* columns that are numbers; the sums of their squares, by part */
    size_t parts;
};

static unsigned bits_of(const struct train_shape *shape, size_t k)
{
    return records_code_bits(shape->records.size[shape->column[k]]);
}

/* The planes of columns first .. end - 1 as numbers, one after the other. */
static enum err plane_numbers(struct party *p, const struct train_making *m, size_t first,
                              size_t end, struct share16 *out)
{
    const struct train_shape *shape = m->rows->shape;
    const struct records_block *b = m->loaded;
    unsigned width = 0;
    struct planes planes;
    for (size_t k = first; k < end; k++)
        width += bits_of(shape, k);
    TRY(party_planes(p, &planes, width, b->n));
    TRY(party_share16(p, out, width * b->n));
    width = 0;
    for (size_t k = first; k < end; k++)
        for (unsigned a = bits_of(shape, k), plane = b->plane[shape->column[k]]; a-- > 0; plane++)
            bits_copy(planes_plane(&planes, width++), planes_plane(&b->code, plane));
    return width > 0 ? convert_bit16(p, *out, planes_flat(&planes)) : ERR_OK;
}

/* u = the sum of 2^a plane_a; planes come from the highest down. */
static void add_planes(const struct party *p, struct share16 u, struct share16 plane,
                       unsigned width)
{
    memset(u.a, 0, u.n * sizeof *u.a);
    memset(u.b, 0, u.n * sizeof *u.b);
    for (unsigned a = 0; a < width; a++) {
        p->kernel->linear16(u.a, 2, u.a, 1, plane.a + a * u.n, u.n);
        p->kernel->linear16(u.b, 2, u.b, 1, plane.b + a * u.n, u.n);
    }
}

/* n2 = the sum of u^2 over columns first .. end - 1 */
static enum err sum_squares(struct party *p, const struct train_making *m, size_t first, size_t end,
                            struct share16 n2)
{
    struct move_term *terms;
    TRY(scratch_array(p->scratch, &terms, end - first));
    for (size_t k = first; k < end; k++) {
        const struct share16 u = share16_view(m->u, k * n2.n, n2.n);
        terms[k - first] = (struct move_term){
            .out = OPERAND(n2), .x = OPERAND(u), .y = OPERAND(u), .words = n2.n};
    }
    return move_sums(p, &(const struct move_sums){.ring = RING_16,
                                                  .terms = terms,
                                                  .count = 1,
                                                  .products = (unsigned)(end - first),
                                                  .apart = true});
}

/* A lane has some of the columns. */
static enum err make_part(void *self, struct party *lane, size_t part)
{
    const struct train_making *m = self;
    const size_t n = m->loaded->n, columns = m->rows->shape->columns,
                 first = columns * part / m->parts, end = columns * (part + 1) / m->parts;
    struct share16 planes;
    size_t at = 0;
    TRY(plane_numbers(lane, m, first, end, &planes));
    for (size_t k = first; k < end; k++) {
        const unsigned width = bits_of(m->rows->shape, k);
        add_planes(lane, share16_view(m->u, k * n, n), share16_view(planes, at * n, width * n),
                   width);
        at += width;
    }
    return sum_squares(lane, m, first, end, share16_view(m->n2, part * n, n));
}

/* fits = [n2 <= norm^2] */
static enum err compare_norm(struct party *p, const struct train_making *m, struct bits fits)
{
    const uint64_t most = m->rows->shape->norm2 + 1;
    const unsigned first = 16 - below_positions(most, 16);
    struct share64 n2;
    struct planes bits, out = {fits.a, fits.b, fits.n, 1};
    TRY(party_share64(p, &n2, fits.n));
    TRY(party_planes(p, &bits, 16, fits.n));
    for (size_t i = 0; i < n2.n; i++) {
        n2.a[i] = n2.b[i] = 0; /* only the low 16 bits count */
        for (size_t k = 0; k < m->parts; k++) {
            n2.a[i] += m->n2.a[k * n2.n + i];
            n2.b[i] += m->n2.b[k * n2.n + i];
        }
    }
    TRY(convert_to_bits(p, &bits, n2));
    for (unsigned k = first; k < 16; k++)
        bits_not(p, planes_plane(&bits, k), planes_plane(&bits, k));
    bits = planes_view(&bits, first, 16 - first);
    return below_constants(p, &out, &bits, 16, &most);
}

/* Rows that are too long take no part. */
static enum err drop_long(struct party *p, const struct train_making *m)
{
    struct move_term *terms;
    struct planes kept;
    struct bits fits;
    TRY(party_bits(p, &fits, m->own.n));
    TRY(party_planes(p, &kept, m->own.width, m->own.n));
    TRY(scratch_array(p->scratch, &terms, m->own.width));
    TRY(compare_norm(p, m, fits));
    for (unsigned k = 0; k < m->own.width; k++)
        terms[k] = bits_product(planes_plane(&kept, k), planes_plane(&m->own, k), fits);
    TRY(bits_terms(p, terms, m->own.width));
    bits_copy(planes_flat(&m->own), planes_flat(&kept));
    return ERR_OK;
}

static enum err make_numbers(struct party *p, struct train_making *m)
{
    const size_t n = m->loaded->n, columns = m->rows->shape->columns, lanes = crew_lanes(p);
    m->parts = lanes < columns ? lanes : columns;
    TRY(party_share16(p, &m->u, columns * n));
    TRY(party_share16(p, &m->n2, m->parts * n));
    return crew_run(p, m->parts, make_part, m);
}

/* --- who takes part --------------------------------------------------------------------------- */

/* The plane of an attribute's code: the last one's is what the others leave of validity. */
static void code_plane(const struct train_making *m, const struct planes *hot, uint32_t k,
                       struct bits out)
{
    if (k < hot->width) {
        bits_copy(out, planes_plane(hot, k));
        return;
    }
    bits_copy(out, planes_plane(&m->loaded->code, 0));
    for (unsigned c = 0; c < hot->width; c++)
        bits_xor(out, out, planes_plane(hot, c));
}

static enum err take_part(struct party *p, const struct train_making *m)
{
    const struct train_shape *shape = m->rows->shape;
    const struct bits v = planes_plane(&m->own, 0);
    struct planes hot;
    struct bits one;
    TRY(party_bits(p, &one, m->own.n));
    TRY(records_hot(p, m->loaded, shape->target, &hot));
    bits_zero(v);
    for (uint32_t k = 0; k < shape->classes; k++) {
        code_plane(m, &hot, k, one);
        bits_xor(v, v, one);
        if (shape->classes != 2 || k == 1)
            bits_copy(planes_plane(&m->own, shape->classes == 2 ? 1 : k + 1), one);
    }
    return shape->norm2 > 0 ? drop_long(p, m) : ERR_OK;
}

/* The rows that are kept back take part in the test alone; v is still that of both. */
static enum err keep_back(struct party *p, struct train_making *m)
{
    const struct train_shape *shape = m->rows->shape;
    struct move_term *terms;
    struct planes hot;
    struct bits kept;
    TRY(party_bits(p, &kept, m->own.n));
    TRY(party_planes(p, &m->test, m->own.width, m->own.n));
    TRY(scratch_array(p->scratch, &terms, m->own.width));
    TRY(records_hot(p, m->loaded, shape->test, &hot));
    code_plane(m, &hot, shape->test_code, kept);
    for (unsigned k = 0; k < m->own.width; k++)
        terms[k] = bits_product(planes_plane(&m->test, k), planes_plane(&m->own, k), kept);
    TRY(bits_terms(p, terms, m->own.width));
    for (unsigned k = 1; k < m->own.width; k++)
        bits_xor(planes_plane(&m->own, k), planes_plane(&m->own, k), planes_plane(&m->test, k));
    return ERR_OK;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void put_row(struct share16 rows, size_t *at, struct share16 row)
{
    memcpy(rows.a + *at * row.n, row.a, row.n * sizeof *row.a);
    memcpy(rows.b + *at * row.n, row.b, row.n * sizeof *row.b);
    ++*at;
}

/* The features of b->n lanes from `from` on, in order. */
static void put_features(const struct train_making *m, const struct train_block *b, size_t from)
{
    const struct train_shape *shape = m->rows->shape;
    size_t at = 0;
    for (size_t k = 0; k < shape->columns; k++) {
        const uint16_t a = shape->column[k];
        if (shape->norm2 > 0)
            put_row(b->u, &at, share16_view(m->u, k * m->loaded->n + from, b->n));
        for (size_t value = 0; shape->norm2 == 0 && value < shape->records.size[a]; value++)
            put_row(b->u, &at, records_row(m->loaded, a, value, from, b->n));
    }
    put_row(b->u, &at, share16_view(m->number, from, b->n));
}

static enum err put_planes(struct planes *out, const struct planes *x, size_t from, size_t n)
{
    TRY(planes_new(out, x->width, n));
    for (unsigned k = 0; k < x->width; k++) {
        const struct bits of = planes_plane(x, k);
        bits_copy(planes_plane(out, k), (struct bits){of.a + from / 64, of.b + from / 64, n});
    }
    return ERR_OK;
}

static enum err put_block(struct train_rows *rows, const struct train_making *m, size_t from,
                          size_t n)
{
    struct train_block *b;
    size_t at = 0;
    TRY(memory_extend(&rows->block, rows->blocks + 1));
    b = &rows->block[rows->blocks++];
    *b = (struct train_block){.from = rows->lanes, .n = n};
    TRY(share16_new(&b->u, rows->features * n));
    TRY(share16_new(&b->y, rows->outputs * n));
    TRY(put_planes(&b->own, &m->own, from, n));
    if (rows->shape->tests)
        TRY(put_planes(&b->test, &m->test, from, n));
    put_features(m, b, from);
    for (size_t k = 0; k < rows->outputs; k++)
        put_row(b->y, &at, share16_view(m->number, (k + 1) * m->loaded->n + from, n));
    rows->lanes += n;
    return ERR_OK;
}

static size_t block_length(const struct train_shape *shape)
{
    return shape->norm2 > 0 ? TRAIN_NUMBERS : TRAIN_BLOCK;
}

static enum err make_rows(struct party *p, struct records_block *loaded, void *self)
{
    struct train_rows *rows = self;
    const size_t most = block_length(rows->shape), planes = rows->outputs + 1;
    struct train_making m = {.rows = rows, .loaded = loaded};
    if (rows->lanes + loaded->used > TRAIN_LANES_MAX ||
        bytes_of(rows->shape, rows->lanes + loaded->used) > TRAIN_BYTES_MAX)
        return ERR_RANGE;
    TRY(party_planes(p, &m.own, (unsigned)planes, loaded->n));
    TRY(party_share16(p, &m.number, planes * loaded->n));
    TRY(bits_and_all(p, planes_plane(&loaded->code, 0), &loaded->valid));
    TRY(rows->shape->norm2 > 0 ? make_numbers(p, &m) : records_one_hot(p, loaded));
    TRY(take_part(p, &m));
    if (rows->shape->tests)
        TRY(keep_back(p, &m));
    TRY(convert_bit16(p, m.number, planes_flat(&m.own)));
    if (rows->shape->tests)
        bits_xor(planes_plane(&m.own, 0), planes_plane(&m.own, 0), planes_plane(&m.test, 0));
    for (size_t from = 0; from < loaded->used; from += most)
        TRY(put_block(rows, &m, from, loaded->used - from < most ? loaded->used - from : most));
    return ERR_OK;
}

/* Lanes that are loaded at a time: whole blocks of features. */
static size_t load_length(const struct train_shape *shape)
{
    const size_t block = block_length(shape);
    size_t planes = 0, n;
    for (size_t k = 0; shape->norm2 > 0 && k < shape->columns; k++)
        planes += bits_of(shape, k);
    n = LOAD_BYTES / (2 * sizeof(uint16_t) * (planes + train_features(shape))) / block * block;
    return n < block ? block : n < TRAIN_BLOCK ? n : TRAIN_BLOCK;
}

enum err train_rows_add(struct party *p, struct train_rows *rows,
                        const struct records_batch *batches, size_t count)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    const struct train_shape *shape = rows->shape;
    struct records_block b;
    for (size_t k = 0; shape->norm2 > 0 && k < shape->columns; k++)
        if (k == TRAIN_COLUMNS_MAX || 1u << bits_of(shape, k) > TRAIN_NUMBER_MAX + 1)
            return ERR_RANGE;
    TRY(records_block_for(p, &b, &shape->records, NULL, batches, count, load_length(shape)));
    return records_each_block(p, &b, batches, count, make_rows, rows);
}

/* --- labels ----------------------------------------------------------------------------------- */

/* Blocks whose sums go together. */
struct train_labels {
    const struct train_sums *sums;
    const struct share16 *y; /* of each */
    size_t first;
    uint16_t *parts;
};

static enum err label_block(void *self, struct party *lane, size_t k)
{
    const struct train_labels *l = self;
    return train_sums_part(lane, l->sums, l->first + k, l->y[k],
                           l->parts + k * train_sums_cells(l->sums));
}

static enum err label_blocks(struct party *p, struct train_sums *s, size_t first, size_t count)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share16 *y;
    struct train_labels l = {.sums = s, .first = first};
    TRY(scratch_array(p->scratch, &y, count));
    TRY(scratch_array(p->scratch, &l.parts, count * train_sums_cells(s)));
    memset(l.parts, 0, count * train_sums_cells(s) * sizeof *l.parts);
    for (size_t k = 0; k < count; k++)
        y[k] = s->rows->block[first + k].y;
    l.y = y;
    TRY(crew_run(p, count, label_block, &l));
    return train_sums_add(p, s, first, count, y, l.parts);
}

enum err train_rows_end(struct party *p, struct train_rows *rows)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct train_sums s;
    TRY(train_sums_new(p, &s, rows, rows->outputs));
    share64_free(&rows->labels);
    TRY(share64_new(&rows->labels, train_sums_cells(&s)));
    for (size_t first = 0, most = train_sums_together(&s), n; first < rows->blocks; first += n) {
        n = rows->blocks - first < most ? rows->blocks - first : most;
        TRY(label_blocks(p, &s, first, n));
    }
    return train_sums_end(p, &s, rows->labels);
}
