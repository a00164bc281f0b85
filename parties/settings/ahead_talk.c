#include "parties/settings/ahead_talk.h"

#include "base/hash.h"

#include <sodium.h>
#include <string.h>

static bool is_among(const uint8_t list[AHEAD_BLOCKS][AHEAD_NAME], const uint8_t *name)
{
    for (size_t i = 0; i < AHEAD_BLOCKS; i++)
        if (memcmp(list[i], name, AHEAD_NAME) == 0)
            return true;
    return false;
}

static bool all_have(const struct ahead_talk *t, unsigned kind, const uint8_t *name)
{
    bool all = !sodium_is_zero(name, AHEAD_NAME);
    for (unsigned p = 0; p + 1 < t->servers; p++)
        all = all && is_among(t->came[p][kind], name);
    return all;
}

static enum err hear(void *self)
{
    struct ahead_talk *t = self;
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        for (size_t i = 0; i < AHEAD_BLOCKS; i++)
            if (all_have(t, k, t->sent[k][i]))
                memcpy(t->common.name[k][t->common.count[k]++], t->sent[k][i], AHEAD_NAME);
    return ERR_OK;
}

void ahead_talk(struct ahead_talk *t, struct net *net, const struct ahead_blocks *own)
{
    *t = (struct ahead_talk){.servers = net_servers(net)};
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        memcpy(t->sent[k], own->name[k], own->count[k] * AHEAD_NAME);
    net_ride(net, &(const struct net_rider){
                      .blocks = {.send = {t->sent, t->sent},
                                 .send_size = {sizeof t->sent, sizeof t->sent},
                                 .receive = {t->came[0], t->came[1]},
                                 .receive_size = {sizeof t->came[0], sizeof t->came[1]}},
                      .heard = hear,
                      .self = t});
}

void ahead_digest(const struct ahead_talk *t, uint8_t digest[32])
{
    hash_bytes(t->common.name, sizeof t->common.name, digest);
}

void ahead_show(struct site *site)
{
    const struct price_ahead sizes = price_ahead(site->study);
    struct ahead_blocks here;
    if (store_ahead(site->store, &here) != ERR_OK)
        return;
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        atomic_store(&site->status.ahead[k], here.count[k] * sizes.samples[k]);
        atomic_store(&site->status.ahead_most[k], sizes.blocks[k] * sizes.samples[k]);
    }
}

void ahead_drop(struct site *site)
{
    static const struct ahead_blocks none;
    if (!site_is_spent(site))
        return;
    if (store_ahead_keep(site->store, &none) != ERR_OK)
        log_warn(site->log, "noise that was made ahead stays on disk, though the budget is "
                            "spent; mend the disk and start the server again, which deletes it");
    ahead_show(site);
}
