#include "protocols/records_load.h"

#include "protocols/mask.h"

#include <string.h>

unsigned records_part_bits(const struct records_shape *shape, const struct records_part *part)
{
    unsigned bits = 1;
    for (size_t k = 0; k < part->attributes; k++)
        bits += records_code_bits(shape->size[part->attribute[k]]);
    return bits;
}

static enum err check_batch(const struct records_shape *shape, const struct records_batch *b)
{
    size_t held = 0;
    for (size_t i = 0; i < b->parts; i++) {
        const struct planes *made = b->part[i].made;
        held += b->part[i].attributes;
        if (made != NULL && (made->n != b->records || made->n % 64 != 0 ||
                             made->width != records_part_bits(shape, &b->part[i])))
            return ERR_RANGE;
    }
    if (b->of > 0 && (b->first % 64 != 0 || b->first > b->of || b->records > b->of - b->first))
        return ERR_RANGE;
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

/* The two components of a part, whole. */
struct records_stream {
    const uint8_t *component[2];
};

struct records_source {
    const struct records_batch *batch;
    struct records_stream *stream; /* of each part */
    size_t taken;                  /* records loaded */
};

/* Where `n` records of a batch, from `from` on, go in the block: at its lane `at`. */
struct load_span {
    size_t from, n, at;
};

/* Loads `count` of a component's planes, from plane `first` on. */
static void load_planes(const uint8_t *stream, size_t first, unsigned count, size_t records,
                        const struct load_span *s, uint64_t *planes, size_t plane_words)
{
    size_t plane_bytes = records_plane_bytes(records), bytes = s->n / 8 + (s->n % 8 != 0);
    for (unsigned k = 0; k < count; k++) {
        uint8_t *to = (uint8_t *)(planes + k * plane_words + s->at / 64);
        memcpy(to, stream + (first + k) * plane_bytes + s->from / 8, bytes);
        if (s->n % 8 != 0)
            to[bytes - 1] &= (uint8_t)((1u << (s->n % 8)) - 1);
    }
}

/* Loads a part's validity to `valid`, and its codes to their attributes' places in the block. */
static void load_part(struct records_block *b, const struct records_part *part,
                      const struct records_stream *stream, size_t records,
                      const struct load_span *s, struct bits valid)
{
    size_t plane = 1, words = b->n / 64;
    load_planes(stream->component[0], 0, 1, records, s, valid.a, words);
    load_planes(stream->component[1], 0, 1, records, s, valid.b, words);
    for (size_t k = 0; k < part->attributes; k++) {
        unsigned bits = records_code_bits(b->shape->size[part->attribute[k]]);
        struct planes code = planes_view(&b->code, b->plane[part->attribute[k]], bits);
        load_planes(stream->component[0], plane, bits, records, s, code.a, words);
        load_planes(stream->component[1], plane, bits, records, s, code.b, words);
        plane += bits;
    }
}

/* A part that this batch lacks and another has is valid: component 0 carries the ones. */
static void load_ones(const struct party *p, const struct load_span *s, struct bits valid)
{
    size_t bytes = (s->n / 64 + (s->n % 64 != 0)) * sizeof *valid.a;
    if (p->index == 0)
        memset(valid.a + s->at / 64, 0xff, bytes);
    if (p->index == 2)
        memset(valid.b + s->at / 64, 0xff, bytes);
}

/* The planes of a window on a component, from its seed. */
static enum err expand_window(struct party *p, const uint8_t *seed, unsigned planes,
                              const struct records_batch *b, const uint8_t **component)
{
    const size_t bytes = records_plane_bytes(b->records), whole = records_plane_bytes(b->of);
    uint8_t *made;
    TRY(scratch_array(p->scratch, &made, planes * bytes));
    memset(made, 0, planes * bytes);
    for (unsigned k = 0; k < planes; k++)
        TRY(prg_xor_from(seed, k * whole + b->first / 8, made + k * bytes, bytes));
    *component = made;
    return ERR_OK;
}

static enum err open_source(struct party *p, struct records_source *s,
                            const struct records_shape *shape, const struct records_batch *b)
{
    *s = (struct records_source){.batch = b};
    TRY(check_batch(shape, b));
    TRY(scratch_array(p->scratch, &s->stream, b->parts));
    for (size_t i = 0; i < b->parts; i++) {
        const struct records_part *part = &b->part[i];
        const size_t bytes = records_part_bits(shape, part) * records_plane_bytes(b->records);
        const uint8_t **component = s->stream[i].component;
        if (part->made != NULL) {
            component[0] = (const uint8_t *)part->made->a;
            component[1] = (const uint8_t *)part->made->b;
            continue;
        }
        for (unsigned k = 0; k < 2; k++)
            TRY(b->of > 0 && part->seed[k] != NULL
                    ? expand_window(p, part->seed[k], records_part_bits(shape, part), b,
                                    &component[k])
                    : mask_component(p, part->seed[k], part->vector, bytes, &component[k]));
    }
    return ERR_OK;
}

/* Loads what fits after what the block holds; false if nothing does. */
static bool load(const struct party *p, struct records_block *b, struct records_source *s)
{
    const struct records_batch *batch = s->batch;
    const size_t left = batch->records - s->taken, lanes = b->n - b->used,
                 most = RECORDS_BLOCK - b->records, room = lanes < most ? lanes : most;
    const struct load_span span = {s->taken, left <= room ? left : room / 64 * 64, b->used};
    if (span.n == 0)
        return false;
    for (size_t i = 0; i < b->valid.width; i++) {
        struct bits valid = planes_plane(&b->valid, (unsigned)i);
        if (i < batch->parts)
            load_part(b, &batch->part[i], &s->stream[i], batch->records, &span, valid);
        else
            load_ones(p, &span, valid);
    }
    s->taken += span.n;
    b->records += span.n;
    b->used += (span.n + 63) / 64 * 64;
    return true;
}

/* --- all batches ------------------------------------------------------------------------------ */

enum err records_block_for(struct party *p, struct records_block *b,
                           const struct records_shape *shape, const struct records_scores *scores,
                           const struct records_batch *batches, size_t count, size_t most)
{
    size_t parts = 1, lanes = 0;
    for (size_t i = 0; i < count; i++) {
        parts = batches[i].parts > parts ? batches[i].parts : parts;
        if (lanes < most)
            lanes += (batches[i].records + 63) / 64 * 64;
    }
    return records_block_take(p, b, shape, scores, lanes < most ? lanes : most, parts);
}

/* What is loaded. */
struct records_taking {
    enum err (*take)(struct party *p, struct records_block *b, void *self);
    void *self;
};

static enum err take_loaded(struct party *p, struct records_block *b,
                            const struct records_taking *t)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    if (b->used == 0)
        return ERR_OK;
    TRY(t->take(p, b, t->self));
    records_block_empty(b);
    return ERR_OK;
}

static enum err load_batch(struct party *p, struct records_block *b,
                           const struct records_batch *batch, const struct records_taking *t)
{
    struct records_source s;
    TRY(open_source(p, &s, b->shape, batch));
    while (s.taken < batch->records)
        if (!load(p, b, &s))
            TRY(take_loaded(p, b, t));
    return ERR_OK;
}

enum err records_each_block(struct party *p, struct records_block *b,
                            const struct records_batch *batches, size_t count,
                            enum err (*take)(struct party *p, struct records_block *b, void *self),
                            void *self)
{
    const struct records_taking t = {take, self};
    for (size_t i = 0; i < count; i++) {
        const struct scratch_mark one CLEAN(scratch_wipe) = scratch_mark(p->scratch);
        TRY(load_batch(p, b, &batches[i], &t));
    }
    return take_loaded(p, b, &t);
}
