#include "mpc/party.h"

#include "base/memory.h"
#include "base/secret.h"

#include <string.h>

const char *open_reason_name(enum open_reason reason)
{
    static const char *const names[OPEN_REASONS] = {
        [OPEN_SELECTED_INDEX] = "SELECTED_INDEX",
        [OPEN_NOISY_MARGINAL] = "NOISY_MARGINAL",
        [OPEN_REJECT_BIT] = "REJECT_BIT",
        [OPEN_CHECK_ZERO] = "CHECK_ZERO",
        [OPEN_MASKED] = "MASKED",
    };
    return (unsigned)reason < OPEN_REASONS ? names[reason] : "?";
}

enum err party_new(struct party **party, struct net *net, const struct session *session,
                   uint32_t lane, struct log *log)
{
    static const char *const purposes[PRG_PURPOSES] = {"zero", "random", "input", "mask"};
    struct party *p = memory_array(1, sizeof *p);
    enum err e = ERR_OK;
    *party = p;
    if (p == NULL)
        return ERR_NOMEM;
    p->index = net_index(net);
    p->net = net;
    p->log = log;
    p->kernel = kernel_best(NULL);
    p->scratch = scratch_new();
    if (p->scratch == NULL)
        e = ERR_NOMEM;
    for (unsigned side = 0; side < 2; side++)
        for (unsigned purpose = 0; purpose < PRG_PURPOSES && e == ERR_OK; purpose++) {
            uint8_t key[16];
            e = session_prg_key(session, (p->index + side) % 3, lane, purposes[purpose], key);
            if (e == ERR_OK)
                e = prg_new(&p->prg[side][purpose], key);
            secret_wipe(key, sizeof key);
        }
    if (e != ERR_OK)
        party_free(party);
    return e;
}

void party_free(struct party **party)
{
    if (*party == NULL)
        return;
    for (unsigned side = 0; side < 2; side++)
        for (unsigned purpose = 0; purpose < PRG_PURPOSES; purpose++)
            prg_free(&(*party)->prg[side][purpose]);
    scratch_free(&(*party)->scratch);
    memory_free(party);
}

enum err party_exchange(struct party *p, enum net_peer to, const void *send, size_t send_size,
                        enum net_peer from, void *receive, size_t receive_size)
{
    struct net_round r = {0};
    r.send[to] = send;
    r.send_size[to] = send_size;
    r.receive[from] = receive;
    r.receive_size[from] = receive_size;
    TRY(net_exchange(p->net, &r));
    party_secret(p, receive, receive_size);
    return ERR_OK;
}

/* --- streams ---------------------------------------------------------------------------------- */

/* A flow whose incoming bytes are reported before they are used. */
struct watched {
    struct party *p;
    const struct net_flow *flow;
};

static enum err watched_produce(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct watched *w = self;
    return w->flow->produce(w->flow->self, offset, out, n);
}

static enum err watched_consume(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct watched *w = self;
    party_secret(w->p, in, n);
    return w->flow->consume(w->flow->self, offset, in, n);
}

enum err party_stream(struct party *p, const struct net_flow *flow)
{
    struct watched watched = {p, flow};
    struct net_flow f = *flow;
    f.tile = PARTY_TILE;
    if (p->watch != NULL) {
        f.produce = watched_produce;
        f.consume = watched_consume;
        f.self = &watched;
    }
    return net_stream(p->net, &f, 1);
}

#define STEP ((size_t)16 << 10) /* bytes made at a time, in the first-level cache */

/* Made step by step; `whole`, if not NULL, holds all of z already. */
struct resharing {
    const struct party_reshare *r;
    const uint8_t *whole;
};

static enum err reshare_produce(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct resharing *s = self;
    const struct party_reshare *r = s->r;
    if (s->whole != NULL) {
        memcpy(out, s->whole + offset, n);
        return ERR_OK;
    }
    for (size_t at = 0; at < n; at += STEP) {
        size_t k = n - at < STEP ? n - at : STEP;
        TRY(r->make(r->self, offset + at, out + at, k));
        r->keep(r->self, offset + at, out + at, k);
    }
    return ERR_OK;
}

static enum err reshare_consume(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct resharing *s = self;
    s->r->take(s->r->self, offset, in, n);
    return ERR_OK;
}

static enum err make_whole(const struct party_reshare *r, uint8_t *z)
{
    for (size_t at = 0; at < r->bytes; at += STEP)
        TRY(r->make(r->self, at, z + at, r->bytes - at < STEP ? r->bytes - at : STEP));
    r->keep(r->self, 0, z, r->bytes);
    return ERR_OK;
}

enum err party_reshare(const struct party_reshare *r)
{
    struct resharing s = {.r = r};
    const struct net_flow flow = {
        .to = NET_PREV,
        .from = NET_NEXT,
        .send_size = r->bytes,
        .receive_size = r->bytes,
        .produce = reshare_produce,
        .consume = reshare_consume,
        .self = &s,
    };
    struct scratch_mark mark = scratch_mark(r->p->scratch);
    enum err e = ERR_OK;
    if (!r->apart) {
        uint8_t *z = scratch_take(r->p->scratch, r->bytes, 1);
        s.whole = z;
        e = z == NULL ? ERR_NOMEM : make_whole(r, z);
    }
    if (e == ERR_OK)
        e = party_stream(r->p, &flow);
    scratch_release(r->p->scratch, mark);
    return e;
}

/* --- shares of zero and of random values ------------------------------------------------------ */

#define CHUNK 512 /* words drawn at a time of the second key */

/* Draws the same length from both keys and combines them: the base of all zero sharings. */
#define DEFINE_ZERO(name, word)                                                                    \
    enum err name(struct party *p, word *mask, size_t n)                                           \
    {                                                                                              \
        word chunk[CHUNK];                                                                         \
        TRY(prg_fill(p->prg[0][PRG_ZERO], mask, n * sizeof *mask));                                \
        for (size_t at = 0; at < n; at += CHUNK) {                                                 \
            size_t k = n - at < CHUNK ? n - at : CHUNK;                                            \
            TRY(prg_fill(p->prg[1][PRG_ZERO], chunk, k * sizeof *chunk));                          \
            for (size_t i = 0; i < k; i++)                                                         \
                mask[at + i] = (word)(mask[at + i] - chunk[i]);                                    \
        }                                                                                          \
        secret_wipe(chunk, sizeof chunk);                                                          \
        return ERR_OK;                                                                             \
    }

DEFINE_ZERO(party_zero16, uint16_t)
DEFINE_ZERO(party_zero32, uint32_t)
DEFINE_ZERO(party_zero64, uint64_t)
DEFINE_ZERO(party_zero128, word128)

enum err party_zero_bits(struct party *p, uint64_t *mask, size_t words)
{
    TRY(prg_fill(p->prg[0][PRG_ZERO], mask, words * sizeof *mask));
    return prg_xor(p->prg[1][PRG_ZERO], mask, words * sizeof *mask);
}

enum err party_random64(struct party *p, struct share64 *x)
{
    TRY(prg_fill(p->prg[0][PRG_RANDOM], x->a, x->n * sizeof *x->a));
    return prg_fill(p->prg[1][PRG_RANDOM], x->b, x->n * sizeof *x->b);
}

enum err party_random_bits(struct party *p, struct bits *x)
{
    struct share64 words = {x->a, x->b, bits_words(x->n)};
    return party_random64(p, &words);
}

/* --- vectors from the scratch ----------------------------------------------------------------- */

#define DEFINE_VECTOR(name, type, word)                                                            \
    enum err name(struct party *p, struct type *x, size_t n)                                       \
    {                                                                                              \
        x->a = scratch_take(p->scratch, n, sizeof(word));                                          \
        x->b = scratch_take(p->scratch, n, sizeof(word));                                          \
        x->n = n;                                                                                  \
        return x->a == NULL || x->b == NULL ? ERR_NOMEM : ERR_OK;                                  \
    }

DEFINE_VECTOR(party_share32, share32, uint32_t)
DEFINE_VECTOR(party_share64, share64, uint64_t)
DEFINE_VECTOR(party_share128, share128, word128)

enum err party_planes(struct party *p, struct planes *x, unsigned width, size_t n)
{
    x->a = scratch_take(p->scratch, bits_words(n), width * sizeof *x->a);
    x->b = scratch_take(p->scratch, bits_words(n), width * sizeof *x->b);
    x->n = n;
    x->width = width;
    return x->a == NULL || x->b == NULL ? ERR_NOMEM : ERR_OK;
}

enum err party_bits(struct party *p, struct bits *x, size_t n)
{
    struct planes one;
    enum err e = party_planes(p, &one, 1, n);
    *x = (struct bits){one.a, one.b, n};
    return e;
}
