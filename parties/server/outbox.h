/*
 * parties/server/outbox.h - answers that wait until the transaction that they depend on is on disk.
 * If it is lost, an answer of success becomes one of failure.
 */
#ifndef TREFOIL_PARTIES_SERVER_OUTBOX_H
#define TREFOIL_PARTIES_SERVER_OUTBOX_H

#include "netio/gate.h"

struct outbox_item;

/* All zero is an empty one. */
struct outbox {
    struct outbox_item *item;
    size_t count;
};

void outbox_clear(struct outbox *o);

/* An answer as reply_write() makes it; `payload` may be NULL. */
enum err outbox_put(struct outbox *o, const struct gate_client *to, uint8_t kind, enum err status,
                    const char *text, const struct bytes *payload) MUST_CHECK;

/* How many of them say no, if the transaction ended so. */
size_t outbox_refusals(const struct outbox *o, enum err stored);
/* Sends all and empties it; `stored` is how the transaction ended. */
enum err outbox_send(struct outbox *o, struct gate *gate, enum err stored) MUST_CHECK;

#endif
