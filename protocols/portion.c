#include "protocols/portion.h"

#include "base/memory.h"
#include "mpc/circuits/ring.h"
#include "protocols/mask.h"

/* Cells of a portion where counts are cut by cells: fewer are not worth its exchanges. */
#define CELLS_LEAST ((size_t)512)
#define WORD ((size_t)64) /* cuts fall between words */
#define MOST ((uint64_t)1 << 32)

enum portion_kind { NOTHING, COUNTS, RECORDS };

/* --- cutting ---------------------------------------------------------------------------------- */

struct range {
    size_t from, n;
};

/* Part k of n things, in whole words except the last. */
static struct range cut(size_t n, size_t k, size_t parts)
{
    const size_t words = n / WORD + (n % WORD != 0);
    const size_t from = words * k / parts * WORD, end = words * (k + 1) / parts * WORD;
    return (struct range){from < n ? from : n, (end < n ? end : n) - (from < n ? from : n)};
}

static void put_seeds(struct bytes *b, const uint8_t *const seed[2])
{
    bytes_put_u8(b, (uint8_t)((seed[0] != NULL) | (seed[1] != NULL) << 1));
    for (unsigned c = 0; c < 2; c++)
        if (seed[c] != NULL)
            bytes_put(b, seed[c], MASK_SEED_SIZE);
}

static bool has_vector(const uint8_t *const seed[2])
{
    return seed[0] == NULL || seed[1] == NULL;
}

static void put_counts(const struct portion_whole *w, size_t k, size_t portions, struct bytes *b)
{
    const bool by_cells = w->cells >= portions * CELLS_LEAST;
    const struct range cells = by_cells ? cut(w->cells, k, portions) : (struct range){0, w->cells};
    const size_t first = by_cells ? 0 : w->uploads * k / portions,
                 end = by_cells ? w->uploads : w->uploads * (k + 1) / portions;
    bytes_put_u8(b, COUNTS);
    bytes_put_u8(b, (uint8_t)w->bits);
    bytes_put_u64(b, cells.from);
    bytes_put_u64(b, cells.n);
    bytes_put_u64(b, end - first);
    for (size_t i = first; i < end; i++) {
        const struct counts_upload *u = &w->upload[i];
        const uint64_t skip = cells.from * u->bits / 8;
        bytes_put_u8(b, (uint8_t)u->bits);
        put_seeds(b, u->seed);
        bytes_put_u64(b, u->skip + skip);
        if (has_vector(u->seed))
            bytes_put(b, u->vector + skip, counts_bytes(cells.n, u->bits));
    }
}

static void put_part(const struct portion_whole *w, const struct records_part *part, size_t of,
                     struct range rows, struct bytes *b)
{
    const size_t whole = records_plane_bytes(of), bytes = records_plane_bytes(rows.n);
    bytes_put_u32(b, (uint32_t)part->attributes);
    for (size_t k = 0; k < part->attributes; k++)
        bytes_put_u16(b, part->attribute[k]);
    put_seeds(b, part->seed);
    for (unsigned k = 0; has_vector(part->seed) && k < records_part_bits(&w->shape, part); k++)
        bytes_put(b, part->vector + k * whole + rows.from / 8, bytes);
}

static void put_shape(const struct portion_whole *w, struct bytes *b)
{
    bytes_put_u32(b, (uint32_t)w->shape.attributes);
    for (size_t a = 0; a < w->shape.attributes; a++)
        bytes_put_u32(b, w->shape.size[a]);
    bytes_put_u32(b, (uint32_t)w->queries);
    for (size_t q = 0; q < w->queries; q++) {
        bytes_put_u8(b, (uint8_t)w->query[q].n);
        for (size_t i = 0; i < w->query[q].n; i++)
            bytes_put_u16(b, w->query[q].attribute[i]);
        bytes_put_u64(b, w->query[q].out.n);
    }
}

/* Takes all batches as one, each in whole words: the part of this batch that is in [from, end). */
static struct range within(const struct records_batch *batch, size_t at, size_t from, size_t end)
{
    const size_t begin = from > at ? from - at : 0, stop = end > at ? end - at : 0;
    const size_t last = stop < batch->records ? stop : batch->records;
    return begin < last ? (struct range){begin, last - begin} : (struct range){0, 0};
}

static enum err put_records(const struct portion_whole *w, size_t k, size_t portions,
                            struct bytes *b)
{
    size_t words = 0, at = 0;
    bytes_put_u8(b, RECORDS);
    put_shape(w, b);
    for (size_t i = 0; i < w->batches; i++)
        words += w->batch[i].records / WORD + (w->batch[i].records % WORD != 0);
    for (size_t i = 0; i < w->batches; i++) {
        const struct records_batch *batch = &w->batch[i];
        const struct range rows = within(batch, at, words * k / portions * WORD,
                                         words * (k + 1) / portions * WORD);
        at += (batch->records + WORD - 1) / WORD * WORD;
        if (rows.n == 0)
            continue;
        bytes_put_u64(b, rows.n);
        bytes_put_u64(b, rows.from);
        bytes_put_u64(b, batch->records);
        bytes_put_u32(b, (uint32_t)batch->parts);
        for (size_t i_part = 0; i_part < batch->parts; i_part++) {
            if (batch->part[i_part].made != NULL || batch->of > 0)
                return ERR_MISUSE;
            put_part(w, &batch->part[i_part], batch->records, rows, b);
        }
    }
    bytes_put_u64(b, 0);
    return ERR_OK;
}

enum err portion_put(const struct portion_whole *w, size_t k, size_t portions, struct bytes *b)
{
    bytes_put_u64(b, w->cells);
    if (w->uploads > 0)
        put_counts(w, k, portions, b);
    if (w->batches > 0)
        TRY(put_records(w, k, portions, b));
    bytes_put_u8(b, NOTHING);
    return bytes_ok(b);
}

/* --- counting --------------------------------------------------------------------------------- */

void portion_sums_new(struct portion_sums *s)
{
    *s = (struct portion_sums){0};
    pthread_mutex_init(&s->lock, NULL); /* which cannot fail */
}

void portion_sums_free(struct portion_sums *s)
{
    share64_free(&s->sums);
    pthread_mutex_destroy(&s->lock);
}

static enum err make_sums(struct portion_sums *s, uint64_t cells)
{
    enum err e = cells > MOST ? ERR_FORMAT : ERR_OK;
    pthread_mutex_lock(&s->lock);
    if (e == ERR_OK && s->sums.a == NULL)
        e = share64_new(&s->sums, cells);
    else if (e == ERR_OK && s->sums.n != cells)
        e = ERR_FORMAT;
    pthread_mutex_unlock(&s->lock);
    return e;
}

static void add(struct portion_sums *s, size_t from, struct share64 more)
{
    const struct share64 to = share64_view(s->sums, from, more.n);
    pthread_mutex_lock(&s->lock);
    ring64_add(to, to, more);
    pthread_mutex_unlock(&s->lock);
}

static void read_seeds(struct reader *r, const uint8_t *seed[2])
{
    const uint8_t which = reader_u8(r);
    for (unsigned c = 0; c < 2; c++)
        seed[c] = which >> c & 1 ? reader_bytes(r, MASK_SEED_SIZE) : NULL;
    if (which > 3)
        r->failed = true;
}

/* A count of things of at least `least` bytes each: no more than the rest can hold. */
static size_t read_count(struct reader *r, uint64_t count, size_t least)
{
    if (count > r->left / least)
        r->failed = true;
    return r->failed ? 0 : (size_t)count;
}

static enum err count_uploads(struct party *p, struct reader *r, struct portion_sums *sums)
{
    struct counts_upload *upload CLEAN(memory_release) = NULL;
    struct share64 more CLEAN(share64_free) = {0};
    const unsigned bits = reader_u8(r);
    const uint64_t from = reader_u64(r), n = reader_u64(r);
    const size_t count = read_count(r, reader_u64(r), 10);
    if (r->failed || from > sums->sums.n || n > sums->sums.n - from || bits >= 63)
        return ERR_FORMAT;
    TRY(memory_new(&upload, count));
    for (size_t i = 0; i < count; i++) {
        struct counts_upload *u = &upload[i];
        u->bits = reader_u8(r);
        read_seeds(r, u->seed);
        u->skip = reader_u64(r);
        if (u->bits >= 63)
            return ERR_FORMAT;
        if (has_vector(u->seed))
            u->vector = reader_bytes(r, counts_bytes(n, u->bits));
    }
    if (r->failed)
        return ERR_FORMAT;
    if (count == 0 || n == 0)
        return ERR_OK;
    TRY(share64_new(&more, n));
    TRY(counts_sum(p, more, upload, count, bits));
    add(sums, from, more);
    return ERR_OK;
}

/* Batches as they are read; their parts, and these parts' attributes. */
struct batches {
    uint32_t *size;
    struct records_query *query;
    struct records_batch *batch;
    struct records_part *part;
    uint16_t *attribute;
    size_t queries, count, room, parts, part_room, attributes, attribute_room;
};

static void batches_clear(struct batches *b)
{
    memory_free_all(&b->size, &b->query, &b->batch, &b->part, &b->attribute);
}

static enum err read_shape(struct reader *r, struct batches *b, struct records_shape *shape,
                           struct share64 sums)
{
    uint64_t at = 0;
    shape->attributes = read_count(r, reader_u32(r), sizeof *b->size);
    TRY(memory_new(&b->size, shape->attributes));
    shape->size = b->size;
    for (size_t a = 0; a < shape->attributes; a++)
        b->size[a] = reader_u32(r);
    b->queries = read_count(r, reader_u32(r), 9);
    TRY(memory_new(&b->query, b->queries));
    for (size_t q = 0; q < b->queries && !r->failed; q++) {
        struct records_query *query = &b->query[q];
        uint64_t cells;
        query->n = reader_u8(r);
        for (size_t i = 0; i < query->n && i < RECORDS_ORDER_MAX; i++)
            query->attribute[i] = reader_u16(r);
        cells = reader_u64(r);
        if (query->n > RECORDS_ORDER_MAX || cells > sums.n - at)
            return ERR_FORMAT;
        query->out = share64_view(sums, at, cells);
        at += cells;
    }
    return r->failed ? ERR_FORMAT : ERR_OK;
}

/* Its attributes are set once all are read: until then their place may move. */
static enum err read_part(struct reader *r, struct batches *b, const struct records_shape *shape,
                          size_t records)
{
    struct records_part *part;
    size_t bytes = records_plane_bytes(records);
    TRY(memory_room(&b->part, &b->part_room, b->parts + 1));
    part = &b->part[b->parts++];
    *part = (struct records_part){.attributes = read_count(r, reader_u32(r), 2)};
    TRY(memory_room(&b->attribute, &b->attribute_room, b->attributes + part->attributes));
    for (size_t k = 0; k < part->attributes; k++) {
        const uint16_t a = reader_u16(r);
        b->attribute[b->attributes++] = a;
        if (a >= shape->attributes)
            return ERR_FORMAT;
    }
    read_seeds(r, part->seed);
    if (r->failed)
        return ERR_FORMAT;
    part->attribute = b->attribute + b->attributes - part->attributes;
    bytes *= records_part_bits(shape, part);
    if (has_vector(part->seed))
        part->vector = reader_bytes(r, bytes);
    return r->failed ? ERR_FORMAT : ERR_OK;
}

static enum err read_batches(struct reader *r, struct batches *b, const struct records_shape *shape)
{
    for (uint64_t rows = reader_u64(r); rows > 0; rows = reader_u64(r)) {
        struct records_batch *batch;
        if (rows > MOST)
            return ERR_FORMAT;
        TRY(memory_room(&b->batch, &b->room, b->count + 1));
        batch = &b->batch[b->count++];
        *batch = (struct records_batch){.records = rows};
        batch->first = reader_u64(r);
        batch->of = reader_u64(r);
        batch->parts = read_count(r, reader_u32(r), 5);
        for (size_t i = 0; i < batch->parts; i++)
            TRY(read_part(r, b, shape, rows));
    }
    return r->failed ? ERR_FORMAT : ERR_OK;
}

/* Where parts and attributes have come to stand. */
static void settle(struct batches *b)
{
    const struct records_part *part = b->part;
    const uint16_t *attribute = b->attribute;
    for (size_t i = 0; i < b->parts; i++) {
        b->part[i].attribute = attribute;
        attribute += b->part[i].attributes;
    }
    for (size_t i = 0; i < b->count; i++) {
        b->batch[i].part = part;
        part += b->batch[i].parts;
    }
}

static enum err count_records(struct party *p, struct reader *r, struct portion_sums *sums)
{
    struct batches b CLEAN(batches_clear) = {0};
    struct share64 more CLEAN(share64_free) = {0};
    struct records_shape shape;
    TRY(share64_new(&more, sums->sums.n));
    TRY(read_shape(r, &b, &shape, more));
    TRY(read_batches(r, &b, &shape));
    settle(&b);
    if (b.count == 0)
        return ERR_OK;
    TRY(records_count(p, &shape, b.batch, b.count, b.query, b.queries));
    add(sums, 0, more);
    return ERR_OK;
}

enum err portion_count(struct party *lane, struct reader *r, struct portion_sums *sums)
{
    TRY(make_sums(sums, reader_u64(r)));
    for (unsigned kind = reader_u8(r); kind != NOTHING; kind = reader_u8(r)) {
        if (kind > RECORDS || r->failed)
            return ERR_FORMAT;
        TRY(kind == COUNTS ? count_uploads(lane, r, sums) : count_records(lane, r, sums));
    }
    return reader_done(r);
}
