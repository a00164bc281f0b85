/* The courier of somebody else's parcel (parties/owner/courier.h). */
#include "base/clock.h"
#include "parties/owner/courier_private.h"
#include "parties/owner/parcel.h"

#define BUSY_MS 200

struct carriage {
    const struct parcel *parcel;
    struct parcel_answers *answers;
};

/*
 * Brings block k. A server that has much to do lets strangers wait, and says so without a payload:
 * that is no failure, so the same block is brought again, for as long as a round may take.
 */
static enum err bring(struct courier *c, unsigned server, struct carriage *g, size_t k,
                      struct reply *reply, struct bytes *answer)
{
    const int64_t end = clock_now_ms() + 1000 * (int64_t)c->o.study->round_s;
    size_t n;
    const uint8_t *block = parcel_block(g->parcel, server, k, &n);
    for (;;) {
        enum err e;
        answer->size = 0;
        bytes_put_u8(answer, MESSAGE_PARCEL);
        bytes_put(answer, block, n);
        TRY(bytes_ok(answer));
        e = courier_ask(c, server, answer, reply);
        if (e != ERR_AGAIN || reply->size > 0 || clock_now_ms() > end)
            return e;
        clock_pause(BUSY_MS);
    }
}

/* How far the vector is at the server that is given it: the block that follows. */
static enum err read_held(struct courier *c, const struct reply *reply, bool *complete, size_t *k)
{
    struct reader in = reader_of(reply->payload, reply->size);
    *complete = reader_u8(&in) == 1;
    *k = PARCEL_PARTS + (size_t)(reader_u64(&in) / MESSAGE_PART_MAX);
    return in.failed ? courier_misfit(c) : ERR_OK;
}

/* The blocks with parts, from where the server has the vector on; `reply`: to the upload. */
static enum err bring_parts(struct courier *c, unsigned server, struct carriage *g,
                            struct reply *reply, struct bytes *answer, size_t *block)
{
    const size_t blocks = g->parcel->blocks[server];
    unsigned misses = 0;
    bool complete;
    size_t k;
    TRY(read_held(c, reply, &complete, &k));
    while (!complete) {
        enum err e;
        if (k >= blocks)
            return courier_misfit(c);
        courier_show(c, server, (k - PARCEL_PARTS) * MESSAGE_PART_MAX,
                     (blocks - PARCEL_PARTS) * MESSAGE_PART_MAX);
        *block = k;
        e = bring(c, server, g, k, reply, answer);
        if (e == ERR_AGAIN && reply->size > 0 && ++misses < COURIER_MISSES)
            e = ERR_OK; /* the answer says where to go on */
        TRY(e);
        TRY(read_held(c, reply, &complete, &k));
    }
    return ERR_OK;
}

static enum err carry(struct courier *c, unsigned server, void *self)
{
    struct carriage *g = self;
    struct bytes head CLEAN(bytes_clear) = {0}, act CLEAN(bytes_clear) = {0};
    struct parcel_answers *a = g->answers;
    struct reply reply;
    size_t block = PARCEL_ACT;
    TRY(bring(c, server, g, PARCEL_HEAD, &reply, &head));
    TRY(bring(c, server, g, PARCEL_ACT, &reply, &act));
    if (g->parcel->blocks[server] > PARCEL_PARTS)
        TRY(bring_parts(c, server, g, &reply, &act, &block));
    bytes_set(&a->of[server].head, head.data, head.size);
    bytes_set(&a->of[server].act, act.data, act.size);
    a->of[server].block = (uint32_t)block;
    TRY(bytes_ok(&a->of[server].head));
    return bytes_ok(&a->of[server].act);
}

enum err courier_carry(struct courier *c, const struct parcel *parcel, unsigned server,
                       struct parcel_answers *answers)
{
    struct carriage g = {.parcel = parcel, .answers = answers};
    return courier_persist(c, server, carry, &g);
}
