#include "mpc/open.h"

#include <string.h>

static enum err record(struct party *p, enum open_reason reason, size_t values)
{
    if (p->audit != NULL)
        TRY(p->audit(p->audit_self, reason, values));
    p->opened[reason].calls++;
    p->opened[reason].values += values;
    return ERR_OK;
}

static void have_opened(const struct party *p, const void *words, size_t bytes)
{
    if (p->watch != NULL)
        p->watch->opened(p->watch->self, words, bytes);
}

/* Component a goes to the next server; the one that is lacking comes and joins the two at hand. */
struct opening {
    struct party *p;
    const uint8_t *a, *b;
    uint8_t *out;
    unsigned width; /* of a word, in bits; 0: XOR */
};

static enum err opening_produce(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct opening *o = self;
    memcpy(out, o->a + offset, n);
    return ERR_OK;
}

static enum err opening_consume(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct opening *o = self;
    const struct kernel *k = o->p->kernel;
    void *out = o->out + offset;
    const void *words = in, *a = o->a + offset, *b = o->b + offset;
    if (o->width == 16)
        k->join16(out, words, a, b, n / 2);
    else if (o->width == 32)
        k->join32(out, words, a, b, n / 4);
    else if (o->width == 64)
        k->join64(out, words, a, b, n / 8);
    else
        k->join_bits(out, words, a, b, n / 8);
    return ERR_OK;
}

static enum err run(struct party *p, enum open_reason reason, const void *a, const void *b,
                    void *out, size_t values, size_t bytes, unsigned width)
{
    struct opening o = {p, a, b, out, width};
    const struct net_flow flow = {
        .to = NET_NEXT,
        .from = NET_PREV,
        .send_size = bytes,
        .receive_size = bytes,
        .produce = opening_produce,
        .consume = opening_consume,
        .self = &o,
    };
    TRY(record(p, reason, values));
    TRY(party_stream(p, &flow));
    have_opened(p, out, bytes);
    return ERR_OK;
}

#define DEFINE(bits)                                                                               \
    enum err open_ring##bits(struct party *p, enum open_reason reason, struct share##bits x,       \
                             uint##bits##_t *out)                                                  \
    {                                                                                              \
        return run(p, reason, x.a, x.b, out, x.n, x.n * sizeof *out, bits);                        \
    }

DEFINE(16)
DEFINE(32)
DEFINE(64)

enum err open_bits(struct party *p, enum open_reason reason, struct bits x, uint64_t *out)
{
    size_t words = bits_words(x.n);
    TRY(run(p, reason, x.a, x.b, out, x.n, words * sizeof *out, 0));
    if (x.n % 64 != 0)
        out[words - 1] &= ((uint64_t)1 << (x.n % 64)) - 1;
    return ERR_OK;
}

enum err open_summands(struct party *p, enum open_reason reason, const uint64_t *z, size_t n,
                       uint64_t *out)
{
    size_t bytes = n * sizeof *z;
    struct scratch_mark mark = scratch_mark(p->scratch);
    uint64_t *other = scratch_take(p->scratch, n, sizeof *other);
    enum err e = other == NULL ? ERR_NOMEM : record(p, reason, n);
    if (e == ERR_OK) {
        struct net_round r = {
            .send = {z, z},
            .send_size = {bytes, bytes},
            .receive = {out, other},
            .receive_size = {bytes, bytes},
        };
        e = net_exchange(p->net, &r);
    }
    if (e == ERR_OK) {
        p->kernel->exclusive(out, out, other, n);
        p->kernel->exclusive(out, out, z, n);
        have_opened(p, out, bytes);
    }
    scratch_release(p->scratch, mark);
    return e;
}
