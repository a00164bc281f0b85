/*
 * parties/server/outbox.h - answers that wait until the transaction that they depend on is on disk.
 * If the transaction is lost, an answer of success becomes one of failure.
 */
#ifndef TREFOIL_PARTIES_SERVER_OUTBOX_H
#define TREFOIL_PARTIES_SERVER_OUTBOX_H

#include "netio/gate.h"

struct outbox_item;

/* An outbox of all zeros is empty. */
struct outbox {
    struct outbox_item *item;
    size_t count;
};

void outbox_clear(struct outbox *o);

/* An answer as reply_write() makes it; `payload` may be NULL. */
enum err outbox_put(struct outbox *o, const struct gate_client *to, uint8_t kind, enum err status,
                    const char *text, const struct bytes *payload) MUST_CHECK;

/* How many answers are failures, if the transaction ended with `stored`. */
size_t outbox_refusals(const struct outbox *o, enum err stored);
/* Sends all answers and empties the outbox; `stored` is how the transaction ended. */
enum err outbox_send(struct outbox *o, struct gate *gate, enum err stored) MUST_CHECK;

#endif
