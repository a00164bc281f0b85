#include "parties/server/outbox.h"

#include "base/memory.h"
#include "parties/exchange/message.h"

struct outbox_item {
    struct gate_client to;
    uint8_t kind;
    enum err status;
    struct bytes message;
};

void outbox_clear(struct outbox *o)
{
    for (size_t i = 0; i < o->count; i++)
        bytes_clear(&o->item[i].message);
    memory_free(&o->item);
    *o = (struct outbox){0};
}

enum err outbox_put(struct outbox *o, const struct gate_client *to, uint8_t kind, enum err status,
                    const char *text, const struct bytes *payload)
{
    struct outbox_item *item;
    enum err e;
    TRY(memory_extend(&o->item, o->count + 1));
    item = &o->item[o->count];
    *item = (struct outbox_item){.to = *to, .kind = kind, .status = status};
    e = reply_write(kind, status, text, payload != NULL ? payload->data : NULL,
                    payload != NULL ? payload->size : 0, &item->message);
    if (e == ERR_OK)
        o->count++;
    else
        bytes_clear(&item->message);
    return e;
}

static enum err send_failure(struct gate *gate, const struct outbox_item *item, enum err e)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    TRY(reply_write(item->kind, e,
                    "the server could not store it; its operator should look at its log", NULL, 0,
                    &message));
    return gate_reply(gate, &item->to, message.data, message.size);
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
    for (size_t i = 0; e == ERR_OK && i < o->count; i++) {
        const struct outbox_item *item = &o->item[i];
        if (stored != ERR_OK && item->status == ERR_OK)
            e = send_failure(gate, item, stored);
        else
            e = gate_reply(gate, &item->to, item->message.data, item->message.size);
    }
    outbox_clear(o);
    return e;
}
