/*
 * How a component reaches the server that lacks it, where there is a check: from one holder whole,
 * from the other as a digest, in the same exchange; the two are compared before use. Lanes past a
 * vector's end are cleared first: nothing vouches for what they hold.
 */
#include "mpc/move/move_private.h"
#include "mpc/move/record.h"

#include <openssl/evp.h>
#include <string.h>

/* A component that arrives, its size, and the digest that it must match. */
struct checked_arrival {
    uint64_t *words;
    size_t bytes;
    uint8_t digest[MOVE_DIGEST];
};

enum err move_digest(const void *p, size_t bytes, uint8_t digest[MOVE_DIGEST])
{
    return EVP_Digest(p, bytes, digest, NULL, EVP_sha256(), NULL) == 1 ? ERR_OK : ERR_CRYPTO;
}

static enum err accept(struct party *p, struct checked_arrival *a, const char *what)
{
    uint8_t own[MOVE_DIGEST];
    TRY(move_digest(a->words, a->bytes, own));
    party_opened(p, own, sizeof own);
    party_opened(p, a->digest, sizeof a->digest);
    return memcmp(own, a->digest, sizeof own) == 0 ? ERR_OK : p->recorder->calls->failed(p, what);
}

/* A copy of one component of planes, lanes past the end cleared. */
static enum err clear_lanes(struct party *p, const uint64_t *from, size_t n, unsigned width,
                            uint64_t **to)
{
    const size_t words = bits_words(n);
    TRY(scratch_array(p->scratch, to, width * words));
    memcpy(*to, from, width * words * sizeof **to);
    for (unsigned k = 0; k < width && n % 64 != 0; k++)
        (*to)[(k + 1) * words - 1] &= ((uint64_t)1 << (n % 64)) - 1;
    return ERR_OK;
}

/* --- open ------------------------------------------------------------------------------------- */

enum err move_third_checked(struct party *p, struct move_operand x, size_t words, uint64_t *third)
{
    const size_t bytes = words * sizeof *third;
    struct checked_arrival in = {.words = third, .bytes = bytes};
    uint8_t digest[MOVE_DIGEST];
    TRY(move_digest(x.b, bytes, digest));
    const struct move_exchange exchange = {
        .send = {[NET_NEXT] = {move_whole(x.a, bytes)},
                 [NET_PREV] = {move_whole(digest, sizeof digest)}},
        .receive = {[NET_PREV] = {move_kept(in.words, bytes)},
                    [NET_NEXT] = {move_kept(in.digest, sizeof in.digest)}},
    };
    TRY(move_exchange(p, &exchange));
    return accept(p, &in, "an opening");
}

enum err move_opened(struct party *p, uint64_t *out, size_t words)
{
    party_opened(p, out, words * sizeof *out);
    return p->recorder->calls->opened(p, out, words * sizeof *out);
}

static enum err open_cleared(struct party *p, enum share_ring ring, struct move_operand x,
                             size_t words, uint64_t *out)
{
    uint64_t *third;
    TRY(scratch_array(p->scratch, &third, words));
    TRY(move_third_checked(p, x, words, third));
    if (ring == RING_64)
        p->kernel->join64(out, third, x.a, x.b, words);
    else
        p->kernel->join_bits(out, third, x.a, x.b, words);
    return move_opened(p, out, words);
}

static enum err open_bits_cleared(struct party *p, struct move_operand x, size_t n, uint64_t *out)
{
    uint64_t *a, *b;
    TRY(clear_lanes(p, x.a, n, 1, &a));
    TRY(clear_lanes(p, x.b, n, 1, &b));
    return open_cleared(p, RING_BITS, (struct move_operand){a, b}, bits_words(n), out);
}

enum err move_open_checked(struct party *p, enum share_ring ring, struct move_operand x, size_t n,
                           uint64_t *out)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    TRY(p->recorder->calls->say(p, RECORD_OPEN, ring, n, 0));
    return ring == RING_BITS ? open_bits_cleared(p, x, n, out) : open_cleared(p, ring, x, n, out);
}

/* --- reveal ----------------------------------------------------------------------------------- */

/*
 * Each of the two servers that get a component holds the one that the other gets, and sends its
 * digest.
 */
enum err move_reveal_checked(struct party *p, unsigned from, const struct planes *y, uint64_t *out)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    const size_t words = y->width * bits_words(y->n), bytes = words * sizeof *out;
    const bool first = p->index == (from + 1) % 3;
    const enum net_peer giver = first ? NET_PREV : NET_NEXT, other = first ? NET_NEXT : NET_PREV;
    struct checked_arrival in = {.bytes = bytes};
    uint8_t digest[MOVE_DIGEST];
    uint64_t *a, *b;
    struct move_exchange exchange = {0};
    TRY(p->recorder->calls->say(p, RECORD_REVEAL, from, y->n, y->width));
    TRY(clear_lanes(p, y->a, y->n, y->width, &a));
    TRY(clear_lanes(p, y->b, y->n, y->width, &b));
    if (p->index == from) {
        exchange.send[NET_NEXT][0] = move_whole(a, bytes);
        exchange.send[NET_PREV][0] = move_whole(b, bytes);
        return move_exchange(p, &exchange);
    }
    TRY(scratch_array(p->scratch, &in.words, words));
    TRY(move_digest(first ? a : b, bytes, digest));
    exchange.receive[giver][0] = move_kept(in.words, bytes);
    exchange.send[other][0] = move_whole(digest, sizeof digest);
    exchange.receive[other][0] = move_kept(in.digest, sizeof in.digest);
    TRY(move_exchange(p, &exchange));
    TRY(accept(p, &in, "a reveal"));
    p->kernel->join_bits(out, in.words, a, b, words);
    return ERR_OK;
}
