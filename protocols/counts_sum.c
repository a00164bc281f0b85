#include "protocols/counts_sum.h"

#include "mpc/circuits/adder.h"
#include "mpc/circuits/convert.h"
#include "mpc/move/crew.h"

#include <string.h>

/*
 * Cells summed at a time, by all lanes together: bounds memory to uploads * bits * TILE / 4 bytes.
 * No lane has fewer at a time than LEAST. Multiples of 64.
 */
#define TILE ((size_t)16384)
#define LEAST ((size_t)256)

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

/* What is added: both components of each upload, whole; seeds are expanded once. */
struct addends {
    const struct counts_upload *uploads;
    const uint8_t **component; /* two per upload */
    uint8_t **expanded;        /* the same, where they are made from seeds */
    size_t count;
    unsigned bits; /* of the sum */
    struct share64 out;
    size_t tile;
};

/* A lane writes into memory that lane 0 has given. */
static enum err expand_one(void *self, struct party *lane, size_t upload)
{
    const struct addends *x = self;
    const struct counts_upload *u = &x->uploads[upload];
    (void)lane;
    for (unsigned k = 0; k < 2; k++)
        if (u->seed[k] != NULL)
            TRY(prg_xor_from(u->seed[k], u->skip, x->expanded[2 * upload + k],
                             counts_bytes(x->out.n, u->bits)));
    return ERR_OK;
}

static enum err expand(struct party *p, struct addends *x)
{
    TRY(scratch_array(p->scratch, &x->component, 2 * x->count));
    TRY(scratch_array(p->scratch, &x->expanded, 2 * x->count));
    for (size_t i = 0; i < 2 * x->count; i++) {
        const struct counts_upload *u = &x->uploads[i / 2];
        const size_t bytes = counts_bytes(x->out.n, u->bits);
        x->component[i] = u->vector;
        if (u->seed[i % 2] == NULL)
            continue;
        TRY(scratch_array(p->scratch, &x->expanded[i], bytes));
        x->component[i] = memset(x->expanded[i], 0, bytes);
    }
    return crew_run(p, x->count, expand_one, x);
}

static void load(const struct addends *x, size_t upload, size_t from, const struct planes *out)
{
    const unsigned bits = x->uploads[upload].bits;
    bits_zero(planes_flat(out));
    unpack(x->component[2 * upload], from, out->n, bits, out->a);
    unpack(x->component[2 * upload + 1], from, out->n, bits, out->b);
}

/*
 * Adds numbers[0 .. count), three into two until two are left, then into numbers[0]. Two of each
 * three then give their memory to the next two results.
 */
static enum err add_all(struct party *p, struct planes *numbers, size_t count)
{
    struct planes spare[2];
    for (unsigned k = 0; k < 2 && count > 2; k++)
        TRY(party_planes(p, &spare[k], numbers[0].width, numbers[0].n));
    while (count > 2) {
        size_t kept = 0, i = 0;
        for (; i + 3 <= count; i += 3) {
            const struct planes used[2] = {numbers[i], numbers[i + 1]};
            TRY(adder_save(p, &spare[0], &spare[1], &used[0], &used[1], &numbers[i + 2]));
            for (unsigned k = 0; k < 2; k++) {
                numbers[kept++] = spare[k];
                spare[k] = used[k];
            }
        }
        while (i < count)
            numbers[kept++] = numbers[i++];
        count = kept;
    }
    return count == 2 ? adder_add(p, numbers[0], &numbers[0], &numbers[1], false) : ERR_OK;
}

static enum err sum_tile(void *self, struct party *lane, size_t tile)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(lane->scratch);
    const struct addends *x = self;
    const size_t from = tile * x->tile, left = x->out.n - from, n = left < x->tile ? left : x->tile;
    struct planes *numbers;
    TRY(scratch_array(lane->scratch, &numbers, x->count));
    for (size_t i = 0; i < x->count; i++) {
        TRY(party_planes(lane, &numbers[i], x->bits, n));
        load(x, i, from, &numbers[i]);
    }
    TRY(add_all(lane, numbers, x->count));
    return convert_to_ring64(lane, share64_view(x->out, from, n), &numbers[0]);
}

enum err counts_sum(struct party *p, struct share64 out, const struct counts_upload *uploads,
                    size_t count, unsigned bits)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(p->scratch);
    struct addends x = {.uploads = uploads,
                        .count = count,
                        .bits = bits,
                        .out = out,
                        .tile = crew_tile(p, out.n, TILE, LEAST)};
    uint64_t largest = 0;
    for (size_t i = 0; i < count && bits < 63 && largest >> bits == 0; i++) { /* no sum wraps */
        if (uploads[i].bits == 0 || uploads[i].bits >= 63 || uploads[i].bits > bits)
            return ERR_RANGE;
        largest += ((uint64_t)1 << uploads[i].bits) - 1;
    }
    if (count == 0 || bits >= 63 || largest >> bits != 0)
        return log_fail(
            p->log, ERR_RANGE,
            "counts: %zu uploads could sum to %llu or more, which needs more than %u bits", count,
            (unsigned long long)largest, bits);
    TRY(expand(p, &x));
    return crew_run(p, (out.n + x.tile - 1) / x.tile, sum_tile, &x);
}
