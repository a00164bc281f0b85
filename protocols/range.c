#include "protocols/range.h"

#include "base/hash.h"

#include <sodium.h>
#include <string.h>

bool range_is_made(const struct tape *tape, const size_t count[NOISE_LAWS])
{
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        size_t from = tape_position(tape, (enum noise_law)k), made = tape->reel[k].made;
        if (count[k] > 0 && (from > made || count[k] > made - from))
            return false;
    }
    return true;
}

/* Room for n samples, all counted as made. */
static enum err make_reel(struct tape *range, unsigned kind, size_t n)
{
    range->reel[kind].made = n;
    return n > 0 ? share64_new(&range->reel[kind].samples, n) : ERR_OK;
}

static enum err hand_over(struct tape *to, struct tape *from)
{
    *to = *from;
    *from = (struct tape){0};
    return ERR_OK;
}

enum err range_cut(struct tape *tape, const size_t count[NOISE_LAWS], struct tape *range)
{
    struct tape cut CLEAN(tape_free);
    *range = (struct tape){0};
    tape_start(&cut, tape->id, tape->noise);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        TRY(make_reel(&cut, k, count[k]));
        if (count[k] > 0)
            TRY(tape_take(tape, (enum noise_law)k, cut.reel[k].samples));
    }
    return hand_over(range, &cut);
}

enum err range_return(struct tape *tape, struct tape *range)
{
    if (memcmp(tape->id, range->id, TAPE_ID_SIZE) != 0)
        return ERR_MISUSE;
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        const size_t from = tape_position(range, (enum noise_law)k), made = range->reel[k].made;
        size_t n = made > from ? made - from : 0;
        if (k == NOISE_GAUSS)
            n -= n % 2; /* an odd end's partner was left behind when the range was cut */
        if (n > 0)
            TRY(tape_append(tape, (enum noise_law)k,
                            share64_view(range->reel[k].samples, from, n)));
        range->reel[k].next = made;
    }
    return ERR_OK;
}

enum err range_write(const struct tape *range, struct bytes *out)
{
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        const struct share64 *s = &range->reel[k].samples;
        if (range->reel[k].next != 0)
            return ERR_MISUSE;
        bytes_put_u64(out, s->n);
        bytes_put(out, s->a, s->n * sizeof *s->a);
        bytes_put(out, s->b, s->n * sizeof *s->b);
    }
    return bytes_ok(out);
}

enum err range_read(struct tape *range, const uint8_t id[TAPE_ID_SIZE],
                    const uint64_t count[NOISE_LAWS], enum noise_kind noise, const struct bytes *in)
{
    struct reader r = reader_of(in->data, in->size);
    struct tape read CLEAN(tape_free);
    *range = (struct tape){0};
    tape_start(&read, id, noise);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        const uint64_t n = reader_u64(&r);
        if (r.failed || n != count[k] || n > r.left / (2 * sizeof(uint64_t)))
            return ERR_FORMAT;
        TRY(make_reel(&read, k, (size_t)n));
        reader_copy(&r, read.reel[k].samples.a, (size_t)n * sizeof(uint64_t));
        reader_copy(&r, read.reel[k].samples.b, (size_t)n * sizeof(uint64_t));
    }
    TRY(reader_done(&r));
    return hand_over(range, &read);
}

void range_digest(const struct tape *range, unsigned component, const uint8_t key[RANGE_KEY_SIZE],
                  uint8_t digest[32])
{
    crypto_auth_hmacsha256_state hmac;
    crypto_auth_hmacsha256_init(&hmac, key, RANGE_KEY_SIZE);
    crypto_auth_hmacsha256_update(&hmac, range->id, sizeof range->id);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        const struct share64 *s = &range->reel[k].samples;
        const uint64_t *words = component == 0 ? s->a : s->b;
        uint64_t n = s->n;
        crypto_auth_hmacsha256_update(&hmac, (const uint8_t *)&n, sizeof n);
        if (n > 0) {
            hash_bytes(words, n * sizeof *words, digest);
            crypto_auth_hmacsha256_update(&hmac, digest, 32);
        }
    }
    crypto_auth_hmacsha256_final(&hmac, digest);
}
