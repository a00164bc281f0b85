#include "parties/server/outbox.h"

#include "base/memory.h"
#include "parties/exchange/sealed.h"

#include <string.h>

struct outbox_item {
    struct gate_client to;
    uint8_t kind;
    bool sealed;
    uint8_t seal[32];
    enum err status;
    struct bytes message;
};

void outbox_clear(struct outbox *o)
{
    for (size_t i = 0; i < o->count; i++)
        bytes_clear(&o->item[i].message);
    memory_free(&o->item);
    o->count = 0;
}

enum err outbox_put(struct outbox *o, const struct gate_client *to, uint8_t kind,
                    const uint8_t seal[32], enum err status, const char *text,
                    const struct bytes *payload)
{
    struct outbox_item *item;
    enum err e;
    TRY(memory_extend(&o->item, o->count + 1));
    item = &o->item[o->count];
    *item = (struct outbox_item){.to = *to,
                                 .kind = seal != NULL ? MESSAGE_PARCEL : kind,
                                 .sealed = seal != NULL,
                                 .status = status};
    if (seal != NULL)
        memcpy(item->seal, seal, sizeof item->seal);
    e = reply_write(item->kind, status, text, payload != NULL ? payload->data : NULL,
                    payload != NULL ? payload->size : 0, &item->message);
    if (e == ERR_OK)
        o->count++;
    else
        bytes_clear(&item->message);
    return e;
}

/* The answer, or if the transaction is lost one of failure. */
static enum err send_one(const struct outbox *o, struct gate *gate, struct outbox_item *item,
                         enum err stored)
{
    if (stored != ERR_OK && item->status == ERR_OK) {
        item->message.size = 0;
        TRY(reply_write(item->kind, stored,
                        "the server could not store it; its operator should look at its log", NULL,
                        0, &item->message));
    }
    if (item->sealed)
        TRY(sealed_answer(o->me, item->seal, &item->message));
    return gate_reply(gate, &item->to, item->message.data, item->message.size);
}

size_t outbox_refusals(const struct outbox *o, enum err stored)
{
    size_t refusals = 0;
    for (size_t i = 0; i < o->count; i++)
        refusals += stored != ERR_OK || o->item[i].status != ERR_OK;
    return refusals;
}

enum err outbox_send(struct outbox *o, struct gate *gate, enum err stored)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < o->count; i++)
        e = send_one(o, gate, &o->item[i], stored);
    outbox_clear(o);
    return e;
}
