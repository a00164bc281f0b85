/*
 * parties/server/outbox.h - answers that wait until the transaction that they depend on is on disk.
 * If the transaction is lost, an answer of success becomes one of failure.
 */
#pragma once

#include "netio/gate.h"
#include "parties/study/identity.h"

struct outbox_item;

/* An outbox without items is empty. */
struct outbox {
    const struct identity *me; /* borrowed; signs answers to what came sealed */
    struct outbox_item *item;
    size_t count;
};

void outbox_clear(struct outbox *o);

/*
 * An answer as reply_write() makes it; `payload` may be NULL. `seal`: the digest of the block that
 * it answers (parties/exchange/sealed.h), and NULL for a message that came bare.
 */
enum err outbox_put(struct outbox *o, const struct gate_client *to, uint8_t kind,
                    const uint8_t seal[32], enum err status, const char *text,
                    const struct bytes *payload) MUST_CHECK;

/* How many answers are failures, if the transaction ended with `stored`. */
size_t outbox_refusals(const struct outbox *o, enum err stored);
/* Sends all answers and empties the outbox; `stored` is how the transaction ended. */
enum err outbox_send(struct outbox *o, struct gate *gate, enum err stored) MUST_CHECK;
