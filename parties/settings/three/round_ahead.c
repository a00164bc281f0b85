#include "parties/settings/three/round_ahead.h"

#include "parties/exchange/request.h"

#include <sodium.h>
#include <string.h>

/* The place of the i-th name of a kind; it holds zeros if there are fewer. */
static size_t place(unsigned kind, size_t i)
{
    return (kind * AHEAD_BLOCKS + i) * AHEAD_NAME;
}

static bool has(const uint8_t *list, unsigned kind, const uint8_t *name)
{
    for (size_t i = 0; i < AHEAD_BLOCKS; i++)
        if (memcmp(list + place(kind, i), name, AHEAD_NAME) == 0)
            return true;
    return false;
}

static enum err hear(void *self)
{
    struct round_ahead *t = self;
    for (unsigned k = 0; k < TAPE_KINDS; k++)
        for (size_t i = 0; i < AHEAD_BLOCKS; i++) {
            const uint8_t *name = t->sent + place(k, i);
            if (!sodium_is_zero(name, AHEAD_NAME) && has(t->came[0], k, name) &&
                has(t->came[1], k, name))
                memcpy(t->common.name[k][t->common.count[k]++], name, AHEAD_NAME);
        }
    return ERR_OK;
}

void round_ahead(struct round_ahead *t, struct net *net, const struct ahead_blocks *own)
{
    *t = (struct round_ahead){0};
    for (unsigned k = 0; k < TAPE_KINDS; k++)
        memcpy(t->sent + place(k, 0), own->name[k], own->count[k] * AHEAD_NAME);
    net_ride(net, &(const struct net_rider){
                      .blocks = {.send = {t->sent, t->sent},
                                 .send_size = {sizeof t->sent, sizeof t->sent},
                                 .receive = {t->came[0], t->came[1]},
                                 .receive_size = {sizeof t->came[0], sizeof t->came[1]}},
                      .heard = hear,
                      .self = t});
}

void round_ahead_digest(const struct round_ahead *t, uint8_t digest[32])
{
    request_digest(t->common.name, sizeof t->common.name, digest);
}
