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
        if (e != ERR_AGAIN || reply->size > 0)
            return e;
        if (clock_now_ms() > end)
            return ERR_TIMEOUT;
        clock_pause(BUSY_MS);
    }
}

/* Which block follows the upload or part that was answered; *complete: none, all is there. */
static enum err find_next(struct courier *c, unsigned server, const struct reply *reply,
                          size_t blocks, size_t *k, bool *complete)
{
    struct reader in = reader_of(reply->payload, reply->size);
    const size_t parts = blocks - PARCEL_PARTS;
    size_t held;
    *complete = reader_u8(&in) == 1 || parts == 0; /* a withdrawal, or an upload without parts */
    if (*complete)
        return ERR_OK;
    held = (size_t)(reader_u64(&in) / MESSAGE_PART_MAX);
    if (in.failed || held >= parts)
        return courier_misfit(c);
    courier_show(c, server, held * MESSAGE_PART_MAX, parts * MESSAGE_PART_MAX);
    *k = PARCEL_PARTS + held;
    return ERR_OK;
}

static enum err carry(struct courier *c, unsigned server, void *self)
{
    struct carriage *g = self;
    struct bytes head CLEAN(bytes_clear) = {0}, act CLEAN(bytes_clear) = {0};
    struct parcel_answers *a = g->answers;
    struct reply reply;
    size_t block, next = PARCEL_ACT;
    unsigned misses = 0;
    bool complete = false;
    TRY(bring(c, server, g, PARCEL_HEAD, &reply, &head));
    do {
        const enum err e = bring(c, server, g, block = next, &reply, &act);
        const bool missed = e == ERR_AGAIN && ++misses < COURIER_MISSES;
        TRY(missed ? ERR_OK : e); /* the answer says where to go on */
        TRY(find_next(c, server, &reply, g->parcel->blocks[server], &next, &complete));
        if (!missed && !complete && next <= block)
            return courier_misfit(c); /* it would be brought the same for ever */
    } while (!complete);
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
