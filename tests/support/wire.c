#include "tests/support/wire.h"

#include "base/memory.h"
#include "harness/session.h"
#include "netio/frame.h"
#include "netio/seal.h"

#include <sodium.h>
#include <string.h>

/* What one server sends to one neighbour. */
struct channel {
    struct seal *seal;
    uint64_t frames, round; /* so far; the last one's */
    crypto_hash_sha256_state hash;
    enum err failed;
};

/* A transport that listens. Each server's own thread uses its two channels. */
struct wire_tap {
    struct transport *inner;
    struct channel channel[2];
};
static struct wire_tap taps[3];
static unsigned tapped;

static void hear(struct channel *c, const uint8_t *frame, size_t size)
{
    struct frame_header h;
    c->failed = frame_parse(&h, frame, size);
    if (c->failed != ERR_OK || h.kind != FRAME_DATA || h.sequence < c->frames)
        return; /* a frame that did not fit comes again */
    uint8_t *plain = memory_array(h.length + 1, 1);
    if (plain == NULL) {
        c->failed = ERR_NOMEM;
        return;
    }
    if (c->frames == 0 || h.exchange != c->round)
        crypto_hash_sha256_update(&c->hash, (const uint8_t *)&h.exchange, sizeof h.exchange);
    c->failed = seal_open(c->seal, h.sequence, frame, FRAME_HEADER, frame + FRAME_HEADER, h.length,
                          plain);
    crypto_hash_sha256_update(&c->hash, plain, h.length);
    c->frames = h.sequence + 1;
    c->round = h.exchange;
    memory_wipe_free(&plain, h.length + 1);
}

static enum err tap_make(void *self, size_t size, struct transport_message *m)
{
    struct transport *inner = ((struct wire_tap *)self)->inner;
    return inner->ops->make(inner->self, size, m);
}

static enum err tap_send(void *self, enum net_peer to, struct transport_message *m)
{
    struct wire_tap *t = self;
    hear(&t->channel[to], m->data, m->size);
    return t->channel[to].failed != ERR_OK ? t->channel[to].failed
                                           : t->inner->ops->send(t->inner->self, to, m);
}

static enum err tap_receive(void *self, enum net_peer from, struct transport_message *m)
{
    struct transport *inner = ((struct wire_tap *)self)->inner;
    return inner->ops->receive(inner->self, from, m);
}

static void tap_drop(void *self, struct transport_message *m)
{
    struct transport *inner = ((struct wire_tap *)self)->inner;
    inner->ops->drop(inner->self, m);
}

static enum err tap_wait(void *self, unsigned readable, unsigned writable, int64_t deadline)
{
    struct transport *inner = ((struct wire_tap *)self)->inner;
    return inner->ops->wait(inner->self, readable, writable, deadline);
}

static void tap_free(void *self)
{
}

static const struct transport_ops tap_ops = {
    .make = tap_make,
    .send = tap_send,
    .receive = tap_receive,
    .drop = tap_drop,
    .wait = tap_wait,
    .free = tap_free,
};

/* Server 0's transport comes first. */
static struct transport tap(struct transport *inner)
{
    taps[tapped].inner = inner;
    return (struct transport){.ops = &tap_ops, .self = &taps[tapped++]};
}

/* The links' own keys, as a receiver has them. */
static enum err open_taps(uint64_t seed)
{
    for (unsigned i = 0; i < 3; i++)
        for (unsigned p = 0; p < 2; p++) {
            struct channel *c = &taps[i].channel[p];
            struct session *session = NULL;
            uint8_t key[SEAL_KEY];
            enum err e = session_for_test(&session, i, seed);
            if (e == ERR_OK)
                e = session_bulk_key(session, (enum net_peer)p, true, 0, key);
            if (e == ERR_OK)
                e = seal_new(&c->seal, SEAL_RECEIVER, key, 0);
            session_free(&session);
            TRY(e);
            crypto_hash_sha256_init(&c->hash);
        }
    return ERR_OK;
}

static uint32_t close_tap(struct wire_tap *t)
{
    uint8_t both[2][32], digest[32];
    uint32_t start;
    for (unsigned p = 0; p < 2; p++) {
        crypto_hash_sha256_final(&t->channel[p].hash, both[p]);
        seal_free(&t->channel[p].seal);
    }
    crypto_hash_sha256(digest, both[0], sizeof both);
    memcpy(&start, digest, sizeof start);
    return start;
}

enum err wire_run(uint64_t seed, three_job job, void *shared, uint32_t digest[3])
{
    memset(taps, 0, sizeof taps);
    tapped = 0;
    TRY(open_taps(seed));
    TRY(three_run_wrapped(seed, job, shared, NULL, tap));
    for (unsigned i = 0; i < 3; i++)
        digest[i] = close_tap(&taps[i]);
    return ERR_OK;
}
