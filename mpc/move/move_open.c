#include "mpc/move/move_private.h"
#include "mpc/move/record.h"

#include <string.h>

/* --- reveal ----------------------------------------------------------------------------------- */

/* What arrives is combined with the two components at hand. */
struct open_joining {
    const struct kernel *kernel;
    enum share_ring ring;
    struct move_operand x;
    uint8_t *out;
};

static enum err join(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct open_joining *j = self;
    const void *words = in, *a = (const uint8_t *)j->x.a + offset,
               *b = (const uint8_t *)j->x.b + offset;
    void *out = j->out + offset;
    if (j->ring == RING_64)
        j->kernel->join64(out, words, a, b, n / 8);
    else
        j->kernel->join_bits(out, words, a, b, n / 8);
    return ERR_OK;
}

enum err move_reveal(struct party *p, unsigned from, const struct planes *y, uint64_t *out)
{
    const size_t bytes = y->width * bits_words(y->n) * sizeof *out;
    struct open_joining j = {p->kernel, RING_BITS, {y->a, y->b}, (uint8_t *)out};
    const struct move_message in = {.bytes = bytes, .take = join, .self = &j};
    struct move_exchange exchange = {0};
    TRY(record_agree(p));
    if (party_proves(p))
        return move_reveal_checked(p, from, y, out);
    if (p->index == from) { /* the next server lacks this one's a, the one before it its b */
        exchange.send[NET_NEXT][0] = move_whole(y->a, bytes);
        exchange.send[NET_PREV][0] = move_whole(y->b, bytes);
    } else {
        exchange.receive[p->index == (from + 1) % 3 ? NET_PREV : NET_NEXT][0] = in;
    }
    return move_exchange(p, &exchange);
}

/* --- open ------------------------------------------------------------------------------------- */

static enum err report(struct party *p, enum party_reason reason, size_t values)
{
    if (p->audit != NULL)
        TRY(p->audit(p->audit_self, reason, values));
    p->opened[reason].calls++;
    p->opened[reason].values += values;
    return ERR_OK;
}

static enum err open_exchange(struct party *p, const struct move_exchange *exchange,
                              const void *out, size_t bytes)
{
    TRY(move_exchange(p, exchange));
    party_opened(p, out, bytes);
    return ERR_OK;
}

enum err move_open(struct party *p, enum party_reason reason, enum share_ring ring,
                   struct move_operand x, size_t n, uint64_t *out)
{
    const size_t words = ring == RING_BITS ? bits_words(n) : n, bytes = words * sizeof *out;
    struct open_joining j = {p->kernel, ring, x, (uint8_t *)out};
    const struct move_exchange exchange = {
        .send[NET_NEXT] = {move_whole(x.a, bytes)},
        .receive[NET_PREV] = {{.bytes = bytes, .take = join, .self = &j}}};
    TRY(record_prove(p));
    TRY(report(p, reason, n));
    if (party_proves(p))
        return move_open_checked(p, ring, x, n, out);
    TRY(open_exchange(p, &exchange, out, bytes));
    if (ring == RING_BITS && n % 64 != 0)
        out[words - 1] &= ((uint64_t)1 << (n % 64)) - 1;
    return ERR_OK;
}

/* --- products, opened ------------------------------------------------------------------------- */

struct open_adding {
    const struct kernel *kernel;
    uint64_t *sum;
};

static enum err add_summand(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct open_adding *s = self;
    const void *words = in;
    s->kernel->xor_bits(s->sum + offset / 8, s->sum + offset / 8, words, n / 8);
    return ERR_OK;
}

static enum err open_products(struct party *p, struct share64 x, struct share64 y, uint64_t *out)
{
    const struct kernel *k = p->kernel;
    const size_t bytes = x.n * sizeof *out;
    uint64_t *z, *y_ab;
    struct open_adding s = {k, out};
    const struct move_message in = {.bytes = bytes, .take = add_summand, .self = &s};
    TRY(scratch_array(p->scratch, &z, x.n));
    TRY(scratch_array(p->scratch, &y_ab, x.n));
    const struct move_exchange exchange = {.send = {{move_whole(z, bytes)}, {move_whole(z, bytes)}},
                                           .receive = {{in}, {in}}};
    TRY(prg_fill(p->prg[0][PRG_ZERO], z, bytes));
    TRY(prg_xor(p->prg[1][PRG_ZERO], z, bytes));
    k->xor_bits(y_ab, y.a, y.b, x.n);
    k->field(z, x.a, y_ab, x.n);
    k->field(z, x.b, y.a, x.n);
    memcpy(out, z, bytes);
    return open_exchange(p, &exchange, out, bytes);
}

/* With a check: makes shares of the products, which travel with its flush, and then opens them. */
static enum err open_checked_products(struct party *p, enum party_reason reason, struct share64 x,
                                      struct share64 y, uint64_t *out)
{
    struct record_ride ride = {.x = x, .y = y};
    TRY(party_share64(p, &ride.z, x.n));
    TRY(p->recorder->calls->prove(p, &ride));
    TRY(report(p, reason, x.n));
    return move_open_checked(p, RING_BITS, OPERAND(ride.z), 64 * x.n, out);
}

enum err move_open_products(struct party *p, enum party_reason reason, struct share64 x,
                            struct share64 y, uint64_t *out)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    if (party_proves(p))
        return open_checked_products(p, reason, x, y, out);
    TRY(report(p, reason, x.n));
    return open_products(p, x, y, out);
}
