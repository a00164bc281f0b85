#include "protocols/answers.h"

#include "base/memory.h"
#include "mpc/adder.h"
#include "mpc/convert.h"

#include <string.h>

/* Cells summed at a time: bounds memory to uploads * bits * TILE / 4 bytes. A multiple of 64. */
#define TILE ((size_t)16384)

size_t answers_bytes(uint64_t cells, unsigned bits)
{
    return (size_t)((cells * bits + 7) / 8);
}

enum err answers_mask(const uint8_t seed[2][ANSWERS_SEED_SIZE], uint8_t *vector, size_t bytes)
{
    uint8_t *stream = memory_array(bytes, 1);
    enum err e = stream == NULL ? ERR_NOMEM : ERR_OK;
    for (unsigned c = 0; e == ERR_OK && c < 2; c++) {
        struct prg *prg = NULL;
        e = prg_new(&prg, seed[c]);
        if (e == ERR_OK)
            e = prg_fill(prg, stream, bytes);
        for (size_t i = 0; e == ERR_OK && i < bytes; i++)
            vector[i] ^= stream[i];
        prg_free(&prg);
    }
    memory_wipe_free(&stream, bytes);
    return e;
}

enum err answers_pack(const int64_t *counts, uint64_t cells, unsigned bits, uint8_t *vector)
{
    memset(vector, 0, answers_bytes(cells, bits));
    for (uint64_t i = 0; i < cells; i++) {
        if (counts[i] < 0 || counts[i] >> bits != 0)
            return ERR_DATA;
        for (unsigned k = 0; k < bits; k++)
            vector[(i * bits + k) / 8] |= (uint8_t)((counts[i] >> k & 1) << ((i * bits + k) % 8));
    }
    return ERR_OK;
}

/* Cells [from, from + n) of a packed vector as planes. */
static void unpack(const uint8_t *packed, size_t from, size_t n, unsigned bits, uint64_t *planes)
{
    size_t words = bits_words(n);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < bits; k++) {
            size_t at = (from + i) * bits + k;
            planes[k * words + i / 64] |= (uint64_t)(packed[at / 8] >> (at % 8) & 1) << (i % 64);
        }
}

/* The whole of each component, expanded once. */
struct expanded {
    uint8_t **stream; /* two an upload, where the component is a seed; NULL where it is a vector */
    const struct answers_upload *uploads;
    size_t count;
    size_t cells;
};

static void expanded_free(struct expanded *x)
{
    for (size_t i = 0; x->stream != NULL && i < 2 * x->count; i++)
        memory_wipe_free(&x->stream[i], answers_bytes(x->cells, x->uploads[i / 2].bits));
    memory_free(&x->stream);
}

static enum err expand(struct expanded *x, const struct answers_upload *uploads, size_t count,
                       size_t cells)
{
    enum err e = ERR_OK;
    *x = (struct expanded){.uploads = uploads, .count = count, .cells = cells};
    x->stream = memory_array(2 * count, sizeof *x->stream);
    if (x->stream == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; e == ERR_OK && i < 2 * count; i++) {
        const uint8_t *seed = uploads[i / 2].seed[i % 2];
        struct prg *prg = NULL;
        size_t bytes = answers_bytes(cells, uploads[i / 2].bits);
        if (seed == NULL)
            continue;
        x->stream[i] = memory_array(bytes, 1);
        e = x->stream[i] == NULL ? ERR_NOMEM : prg_new(&prg, seed);
        if (e == ERR_OK)
            e = prg_fill(prg, x->stream[i], bytes);
        prg_free(&prg);
    }
    return e;
}

static void load(const struct expanded *x, size_t upload, size_t from, struct planes *out)
{
    const struct answers_upload *u = &x->uploads[upload];
    const uint8_t *a = x->stream[2 * upload] != NULL ? x->stream[2 * upload] : u->vector;
    const uint8_t *b = x->stream[2 * upload + 1] != NULL ? x->stream[2 * upload + 1] : u->vector;
    unpack(a, from, out->n, u->bits, out->a);
    unpack(b, from, out->n, u->bits, out->b);
}

/* Adds numbers[0 .. count), three into two until two are left, then into numbers[0]. */
static enum err add_all(struct party *p, struct planes *numbers, size_t count)
{
    while (count > 2) {
        size_t kept = 0, i = 0;
        for (; i + 3 <= count; i += 3) {
            struct planes sum = {0}, carry = {0};
            enum err e = planes_new(&sum, numbers[i].width, numbers[i].n);
            if (e == ERR_OK)
                e = planes_new(&carry, numbers[i].width, numbers[i].n);
            if (e == ERR_OK)
                e = adder_save(p, &sum, &carry, &numbers[i], &numbers[i + 1], &numbers[i + 2]);
            if (e != ERR_OK) {
                planes_free(&sum);
                planes_free(&carry);
                return e;
            }
            for (size_t k = 0; k < 3; k++)
                planes_free(&numbers[i + k]);
            numbers[kept++] = sum;
            numbers[kept++] = carry;
        }
        for (; i < count; i++) {
            struct planes moved = numbers[i];
            numbers[i] = (struct planes){0};
            numbers[kept++] = moved;
        }
        count = kept;
    }
    return count == 2 ? adder_add(p, numbers[0], &numbers[0], &numbers[1], false) : ERR_OK;
}

static enum err sum_tile(struct party *p, struct share64 out, const struct expanded *x, size_t from,
                         unsigned bits)
{
    struct planes *numbers = memory_array(x->count, sizeof *numbers);
    enum err e = numbers == NULL ? ERR_NOMEM : ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < x->count; i++) {
        e = planes_new(&numbers[i], bits, out.n);
        if (e == ERR_OK)
            load(x, i, from, &numbers[i]);
    }
    if (e == ERR_OK)
        e = add_all(p, numbers, x->count);
    if (e == ERR_OK)
        e = convert_to_ring64(p, out, &numbers[0]);
    for (size_t i = 0; numbers != NULL && i < x->count; i++)
        planes_free(&numbers[i]);
    memory_free(&numbers);
    return e;
}

enum err answers_sum(struct party *p, struct share64 out, const struct answers_upload *uploads,
                     size_t count, unsigned bits)
{
    struct expanded x = {0};
    uint64_t largest = 0;
    enum err e;
    for (size_t i = 0; i < count; i++) {
        if (uploads[i].bits == 0 || uploads[i].bits >= 63 || uploads[i].bits > bits)
            return ERR_RANGE;
        largest += ((uint64_t)1 << uploads[i].bits) - 1;
    }
    if (count == 0 || bits >= 63 || largest >> bits != 0) {
        log_error(p->log, "answers: %zu uploads could sum to %llu, which needs more than %u bits",
                  count, (unsigned long long)largest, bits);
        return ERR_RANGE;
    }
    e = expand(&x, uploads, count, out.n);
    for (size_t from = 0; e == ERR_OK && from < out.n; from += TILE) {
        size_t n = out.n - from < TILE ? out.n - from : TILE;
        e = sum_tile(p, share64_view(out, from, n), &x, from, bits);
    }
    expanded_free(&x);
    return e;
}
