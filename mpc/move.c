#include "mpc/move_private.h"

#include <string.h>

size_t ring_size(enum ring ring)
{
    static const size_t size[] = {
        [RING_BITS] = 8, [RING_16] = 2,   [RING_32] = 4,
        [RING_64] = 8,   [RING_128] = 16, [RING_FIELD] = 8,
    };
    return size[ring];
}

/* --- a round ---------------------------------------------------------------------------------- */

/* What goes to one neighbour and comes from the other. */
struct current {
    struct party *p;
    const struct round *round;
    enum net_peer to, from;
};

/* The message at *offset of those end to end; *offset is then within it, and *n no more than it has. */
static size_t message_at(const struct message *all, size_t *offset, size_t *n)
{
    size_t m = 0;
    for (; *offset >= all[m].bytes; m++)
        *offset -= all[m].bytes;
    *n = all[m].bytes - *offset < *n ? all[m].bytes - *offset : *n;
    return m;
}

static enum err produce(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct current *c = self;
    const struct message *all = c->round->send[c->to];
    const struct party_tamper *tamper = c->p->tamper;
    for (size_t end = offset + n, k; offset < end; offset += k, out += k) {
        size_t at = offset, m = message_at(all, &at, (k = end - offset, &k));
        const struct party_sent sent = {net_rounds(c->p->net), c->to, m, at};
        TRY(all[m].make(c->round->move, at, out, k));
        if (tamper != NULL)
            tamper->alter(tamper->self, &sent, out, k);
    }
    return ERR_OK;
}

static enum err consume(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct current *c = self;
    const struct message *all = c->round->receive[c->from];
    const struct party_watch *watch = c->p->watch;
    if (watch != NULL)
        watch->secret(watch->self, in, n);
    for (size_t end = offset + n, k; offset < end; offset += k, in += k) {
        size_t at = offset, m = message_at(all, &at, (k = end - offset, &k));
        all[m].take(c->round->move, at, in, k);
    }
    return ERR_OK;
}

static size_t total(const struct message *all)
{
    size_t bytes = 0;
    for (unsigned m = 0; m < MOVE_MESSAGES; m++)
        bytes += all[m].bytes;
    return bytes;
}

enum err move_round(struct party *p, const struct round *round)
{
    struct current current[2];
    struct net_flow flows[2];
    for (unsigned k = 0; k < 2; k++) {
        const enum net_peer to = k == 0 ? NET_PREV : NET_NEXT, from = k == 0 ? NET_NEXT : NET_PREV;
        current[k] = (struct current){p, round, to, from};
        flows[k] = (struct net_flow){
            .to = to,
            .from = from,
            .send_size = total(round->send[to]),
            .receive_size = total(round->receive[from]),
            .tile = MOVE_TILE,
            .produce = produce,
            .consume = consume,
            .self = &current[k],
        };
    }
    return net_stream(p->net, flows, 2);
}

/* --- reveal and open: whole vectors ------------------------------------------------------------ */

/* Component a or b goes as it is; what comes joins the two at hand in `out`. */
struct showing {
    struct party *p;
    enum ring ring;
    const uint8_t *a, *b;
    uint8_t *out;
};

static enum err show_a(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct showing *s = self;
    memcpy(out, s->a + offset, n);
    return ERR_OK;
}

static enum err show_b(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct showing *s = self;
    memcpy(out, s->b + offset, n);
    return ERR_OK;
}

static void join(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct showing *s = self;
    const struct kernel *k = s->p->kernel;
    const void *words = in, *a = s->a + offset, *b = s->b + offset;
    if (s->ring == RING_64)
        k->join64((uint64_t *)(void *)(s->out + offset), words, a, b, n / 8);
    else
        k->join_bits((uint64_t *)(void *)(s->out + offset), words, a, b, n / 8);
}

enum err move_reveal(struct party *p, unsigned from, const struct planes *y, uint64_t *out)
{
    const size_t bytes = y->width * bits_words(y->n) * sizeof *out;
    struct showing s = {p, RING_BITS, (const uint8_t *)y->a, (const uint8_t *)y->b, (uint8_t *)out};
    struct round round = {.move = &s};
    const struct message in = {.bytes = bytes, .take = join};
    if (p->index == from) { /* the next server lacks this one's a, the one before it its b */
        round.send[NET_NEXT][0] = (struct message){.bytes = bytes, .make = show_a};
        round.send[NET_PREV][0] = (struct message){.bytes = bytes, .make = show_b};
    } else if (p->index == (from + 1) % 3) {
        round.receive[NET_PREV][0] = in;
    } else {
        round.receive[NET_NEXT][0] = in;
    }
    return move_round(p, &round);
}

static enum err report(struct party *p, enum open_reason reason, size_t values)
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

enum err move_open(struct party *p, enum open_reason reason, enum ring ring, struct operand x,
                   size_t n, size_t values, void *out)
{
    const size_t bytes = n * ring_size(ring);
    struct showing s = {p, ring, x.a, x.b, out};
    struct round round = {.move = &s};
    round.send[NET_NEXT][0] = (struct message){.bytes = bytes, .make = show_a};
    round.receive[NET_PREV][0] = (struct message){.bytes = bytes, .take = join};
    TRY(report(p, reason, values));
    TRY(move_round(p, &round));
    have_opened(p, out, bytes);
    return ERR_OK;
}

/* --- products, opened -------------------------------------------------------------------------- */

struct summands {
    const uint8_t *own;
    uint64_t *sum; /* of what came */
    const struct kernel *kernel;
};

static enum err summands_make(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct summands *s = self;
    memcpy(out, s->own + offset, n);
    return ERR_OK;
}

static void summands_take(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct summands *s = self;
    uint64_t *sum = s->sum + offset / 8;
    s->kernel->xor_bits(sum, sum, (const uint64_t *)(const void *)in, n / 8);
}

static enum err open_products(struct party *p, enum open_reason reason, struct share64 x,
                              struct share64 y, uint64_t *out)
{
    const struct kernel *k = p->kernel;
    const size_t bytes = x.n * sizeof *out;
    uint64_t *z = scratch_take(p->scratch, x.n, sizeof *z);
    uint64_t *y_ab = scratch_take(p->scratch, x.n, sizeof *y_ab);
    struct summands s = {(const uint8_t *)z, out, k};
    struct round round = {.move = &s};
    if (z == NULL || y_ab == NULL)
        return ERR_NOMEM;
    TRY(prg_fill(p->prg[0][PRG_ZERO], z, bytes));
    TRY(prg_xor(p->prg[1][PRG_ZERO], z, bytes));
    k->xor_bits(y_ab, y.a, y.b, x.n);
    k->field(z, x.a, y_ab, x.n);
    k->field(z, x.b, y.a, x.n);
    memcpy(out, z, bytes);
    for (unsigned to = 0; to < 2; to++) {
        round.send[to][0] = (struct message){.bytes = bytes, .make = summands_make};
        round.receive[to][0] = (struct message){.bytes = bytes, .take = summands_take};
    }
    TRY(report(p, reason, x.n));
    TRY(move_round(p, &round));
    have_opened(p, out, bytes);
    return ERR_OK;
}

enum err move_open_products(struct party *p, enum open_reason reason, struct share64 x,
                            struct share64 y, uint64_t *out)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_done(p->scratch, mark, open_products(p, reason, x, y, out));
}
