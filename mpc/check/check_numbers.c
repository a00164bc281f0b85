#include "mpc/check/check_numbers.h"

#include "base/memory.h"
#include "mpc/kernel/words.h"
#include "mpc/move/move_private.h"

#include <string.h>

#define ALIGNED ((size_t)16)
#define TILE ((size_t)64) /* words; records are cut at a multiple of it */
#define STREAMED ((size_t)16 << 10)

/*
 * A record begins with this. Then come, for each product, its factor if it has bits, and those of
 * x.a, x.b, y.a, y.b that are there. z comes last.
 */
struct header {
    uint64_t relation, words;
    uint32_t present; /* bit 4 l + v: vector v of product l */
    uint8_t ring, one, products, has_z;
    uint8_t form[NUMBERS_PRODUCTS], narrow[NUMBERS_PRODUCTS];
};
_Static_assert(sizeof(struct header) % ALIGNED == 8, "records are filled up by 8 bytes");
#define HEADER (sizeof(struct header) + 8)

void check_numbers_free(struct check_numbers *log)
{
    check_numbers_clear(log);
    memory_free(&log->chunk);
}

void check_numbers_clear(struct check_numbers *log)
{
    while (log->chunks > 0)
        check_chunks_give(log->from, log->chunk[--log->chunks].bytes);
    *log = (struct check_numbers){
        .chunk = log->chunk, .room = log->room, .from = log->from, .kernel = log->kernel};
}

bool check_numbers_empty(const struct check_numbers *log)
{
    size_t relations = 0;
    for (unsigned ring = 0; ring < NUMBERS_RINGS; ring++)
        relations += log->relations[ring];
    return relations == 0;
}

/* --- records ---------------------------------------------------------------------------------- */

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/* Vector v of product l: x.a, x.b, y.a or y.b. */
static size_t vector_bytes(const struct header *h, unsigned l, unsigned v, size_t words)
{
    switch ((enum record_form)h->form[l]) {
    case RECORD_WORDS:
        return aligned(words * ring_size((enum share_ring)h->ring));
    case RECORD_CHOICE:
        if (v >= 2)
            return aligned(words * ring_size((enum share_ring)h->narrow[l]));
        break;
    case RECORD_BOTH:
        break;
    }
    return aligned(bits_words(words) * sizeof(uint64_t));
}

static size_t record_bytes(const struct header *h, size_t words)
{
    size_t bytes = HEADER +
                   (h->has_z ? 2 * aligned(words * ring_size((enum share_ring)h->ring)) : 0);
    for (unsigned l = 0; l < h->products; l++) {
        bytes += h->form[l] == RECORD_WORDS ? 0 : ALIGNED;
        for (unsigned v = 0; v < 4; v++)
            if ((h->present >> (4 * l + v) & 1) != 0)
                bytes += vector_bytes(h, l, v, words);
    }
    return bytes;
}

static enum err add_chunk(struct check_numbers *log)
{
    void *fresh;
    TRY(memory_room(&log->chunk, &log->room, log->chunks + 1));
    TRY(check_chunks_take(log->from, &fresh));
    log->chunk[log->chunks++] = (struct check_chunk){fresh, 0};
    return ERR_OK;
}

static struct check_chunk *last_chunk(const struct check_numbers *log)
{
    return &log->chunk[log->chunks - 1];
}

/* Makes room in the last chunk for the next record; n is how many words fit there, at least one. */
static enum err room_for(struct check_numbers *log, const struct header *h, size_t words, size_t *n)
{
    const size_t fewest = record_bytes(h, words < TILE ? words : TILE), none = record_bytes(h, 0);
    size_t left;
    if (log->chunks == 0 || last_chunk(log)->used + fewest > CHECK_CHUNK)
        TRY(add_chunk(log));
    left = CHECK_CHUNK - last_chunk(log)->used;
    *n = record_bytes(h, words) <= left ? words
                                        : (left - none) / (record_bytes(h, TILE) - none) * TILE;
    return ERR_OK;
}

/* Large copies bypass the caches: they are not read again until the log is full. */
static void copy(const struct kernel *k, uint8_t *to, const uint8_t *from, size_t bytes)
{
    const size_t streamed = bytes < STREAMED ? 0 : bytes / sizeof(uint64_t) * sizeof(uint64_t);
    if (streamed > 0)
        k->stream((uint64_t *)(void *)to, (const uint64_t *)(const void *)from,
                  streamed / sizeof(uint64_t));
    memcpy(to + streamed, from + streamed, bytes - streamed);
}

static void put_words(const struct kernel *k, enum share_ring ring, uint8_t *to, const void *from,
                      size_t at, size_t n, int64_t factor)
{
    const void *words = (const uint8_t *)from + at * ring_size(ring);
    if (factor == 1)
        copy(k, to, words, n * ring_size(ring));
    else
        words_scale(ring, to, words, (word128)factor, n);
}

/* Vector k of a product. */
static void put_vector(const struct kernel *kernel, const struct header *h, uint8_t *to,
                       const struct record_product *product, const void *from, unsigned k,
                       size_t at)
{
    if (product->form == RECORD_WORDS)
        put_words(kernel, (enum share_ring)h->ring, to, from, at, h->words, k < 2 ? product->c : 1);
    else if (product->form == RECORD_CHOICE && k >= 2)
        put_words(kernel, product->narrow, to, from, at, h->words, 1);
    else
        memcpy(to, (const uint64_t *)from + at / 64, bits_words(h->words) * sizeof(uint64_t));
}

static void put_products(const struct kernel *kernel, uint8_t *to, const struct header *h,
                         const struct record_product *products, size_t at)
{
    for (unsigned l = 0; l < h->products; l++) {
        const struct record_product *of = &products[l];
        const void *v[4] = {of->x.a, of->x.b, of->y.a, of->y.b};
        if (of->form != RECORD_WORDS) {
            const word128 factor = (word128)of->c << of->shift;
            memcpy(to, &factor, sizeof factor);
            to += ALIGNED;
        }
        for (unsigned k = 0; k < 4; k++) {
            if (v[k] == NULL)
                continue;
            put_vector(kernel, h, to, of, v[k], k, at);
            to += vector_bytes(h, l, k, h->words);
        }
    }
}

static uint32_t present(const struct record_product *products, unsigned count)
{
    uint32_t bits = 0;
    for (unsigned l = 0; l < count; l++)
        bits |= ((products[l].x.a != NULL ? 1u : 0u) | (products[l].x.b != NULL ? 2u : 0u) |
                 (products[l].y.a != NULL ? 4u : 0u) | (products[l].y.b != NULL ? 8u : 0u))
                << 4 * l;
    return bits;
}

/* Words [from, to) of at most NUMBERS_PRODUCTS products, of which the first is of `relation`. */
static enum err put(struct check_numbers *log, struct header h,
                    const struct record_product *products, size_t from, size_t to)
{
    h.present = present(products, h.products);
    for (unsigned l = 0; l < h.products; l++) {
        h.form[l] = (uint8_t)products[l].form;
        h.narrow[l] = (uint8_t)products[l].narrow;
    }
    for (size_t n; from < to; from += n) {
        struct check_chunk *chunk;
        uint8_t *at;
        TRY(room_for(log, &h, to - from, &n));
        h.words = n;
        chunk = last_chunk(log);
        at = chunk->bytes + chunk->used;
        memcpy(at, &h, sizeof h);
        put_products(log->kernel, at + HEADER, &h, products, from);
        chunk->used += record_bytes(&h, n);
        h.relation += h.one ? 0 : n;
    }
    return ERR_OK;
}

/* --- relations -------------------------------------------------------------------------------- */

/* Records in a row: z stands with the first products. */
static enum err add_row(struct check_numbers *log, struct header h,
                        const struct record_product *products, unsigned count, size_t n)
{
    unsigned l = 0;
    do {
        h.products = (uint8_t)(count - l < NUMBERS_PRODUCTS ? count - l : NUMBERS_PRODUCTS);
        h.has_z = l == 0;
        TRY(put(log, h, products + l, 0, n));
        l += h.products;
    } while (l < count);
    return ERR_OK;
}

static enum err add_spans(struct check_numbers *log, struct header h,
                          const struct record_product *products, unsigned count,
                          const size_t *start, size_t n)
{
    for (size_t q = 0; q < n; q++)
        for (unsigned l = 0; l < count; l += h.products) {
            h.relation = log->relations[h.ring] + q;
            h.one = true;
            h.products = (uint8_t)(count - l < NUMBERS_PRODUCTS ? count - l : NUMBERS_PRODUCTS);
            TRY(put(log, h, products + l, start[q], start[q + 1]));
        }
    return ERR_OK;
}

/* The bytes that n words of a product take if no component is zero. */
static size_t product_bytes(enum share_ring ring, const struct record_product *product, size_t n)
{
    switch (product->form) {
    case RECORD_WORDS:
        return 4 * n * ring_size(ring);
    case RECORD_CHOICE:
        return n / 4 + 2 * n * ring_size(product->narrow);
    case RECORD_BOTH:
        return n / 2;
    }
    return 0;
}

enum err check_numbers_add(struct check_numbers *log, enum share_ring ring,
                           const struct record_product *products, unsigned count,
                           const size_t *start, size_t n, struct check_place *place)
{
    const struct header h = {.ring = (uint8_t)ring, .relation = log->relations[ring]};
    const size_t words = start == NULL ? n : start[n] - start[0];
    if (ring == RING_BITS)
        return ERR_MISUSE;
    for (unsigned l = 0; l < count; l++)
        if (products[l].form != RECORD_WORDS && (start != NULL || products[l].narrow > ring))
            return ERR_MISUSE;
    if (n > NUMBERS_MOST - log->relations[ring] ||
        (count != 0 && words > (NUMBERS_MOST - log->products) / count))
        return ERR_RANGE;
    if (start != NULL)
        TRY(add_spans(log, h, products, count, start, n));
    *place = log->chunks == 0 ? (struct check_place){0, 0}
                              : (struct check_place){log->chunks - 1, last_chunk(log)->used};
    TRY(add_row(log, h, products, start == NULL ? count : 0, n));
    log->relations[ring] += n;
    log->products += words * count;
    log->bytes += n * (2 * ring_size(ring) + sizeof(uint64_t));
    for (unsigned l = 0; l < count; l++)
        log->bytes += product_bytes(ring, &products[l], words);
    return ERR_OK;
}

static void fill(enum share_ring ring, void *to, const void *z, size_t at, size_t n)
{
    const void *from = (const uint8_t *)z + at * ring_size(ring);
    if (z == NULL)
        memset(to, 0, n * ring_size(ring));
    else
        words_add_bits(ring, to, NULL, NULL, from, n);
}

void check_numbers_fill(struct check_numbers *log, struct check_place *place, struct move_operand z,
                        size_t n)
{
    struct check_record r;
    for (size_t at = 0; at < n && check_numbers_next(log, place, &r);) {
        if (!r.has_z)
            continue;
        fill(r.ring, r.minus_z[0], z.a, at, r.words);
        fill(r.ring, r.minus_z[1], z.b, at, r.words);
        at += r.words;
    }
}

/* The next vector of a record if it is there. */
static void *take(uint8_t **at, bool there, size_t bytes)
{
    void *v = there ? *at : NULL;
    *at += there ? bytes : 0;
    return v;
}

static void take_product(struct check_record *r, const struct header *h, unsigned l, uint8_t **at)
{
    r->form[l] = (enum record_form)h->form[l];
    r->narrow[l] = (enum share_ring)h->narrow[l];
    if (r->form[l] != RECORD_WORDS)
        memcpy(&r->factor[l], take(at, true, ALIGNED), sizeof r->factor[l]);
    if (r->form[l] != RECORD_WORDS && r->ring != RING_128)
        r->factor[l] &= ((word128)1 << 8 * ring_size(r->ring)) - 1;
    for (unsigned v = 0; v < 4; v++)
        *(v < 2 ? &r->x[l][v] : &r->y[l][v - 2]) = take(at, h->present >> (4 * l + v) & 1,
                                                        vector_bytes(h, l, v, h->words));
}

bool check_numbers_next(const struct check_numbers *log, struct check_place *place,
                        struct check_record *record)
{
    struct header h;
    uint8_t *at;
    if (place->chunk < log->chunks && place->at == log->chunk[place->chunk].used)
        *place = (struct check_place){place->chunk + 1, 0};
    if (place->chunk >= log->chunks || log->chunk[place->chunk].used == 0)
        return false;
    at = log->chunk[place->chunk].bytes + place->at;
    memcpy(&h, at, sizeof h);
    place->at += record_bytes(&h, h.words);
    at += HEADER;
    *record = (struct check_record){.ring = (enum share_ring)h.ring,
                                    .one = h.one,
                                    .products = h.products,
                                    .relation = h.relation,
                                    .words = h.words,
                                    .has_z = h.has_z};
    for (unsigned l = 0; l < h.products; l++)
        take_product(record, &h, l, &at);
    record->minus_z[0] = take(&at, h.has_z, aligned(h.words * ring_size(record->ring)));
    record->minus_z[1] = take(&at, h.has_z, aligned(h.words * ring_size(record->ring)));
    return true;
}

const uint64_t *check_numbers_words(enum share_ring ring, const void *v, size_t at, size_t n,
                                    uint64_t room[NUMBERS_TILE])
{
    static const uint64_t zeros[NUMBERS_TILE];
    if (v == NULL)
        return zeros;
    if (ring == RING_64)
        return (const uint64_t *)v + at;
    for (size_t i = 0; i < n; i++)
        room[i] = ring == RING_16 ? ((const uint16_t *)v)[at + i] : ((const uint32_t *)v)[at + i];
    return room;
}
