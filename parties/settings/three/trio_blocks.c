/* Blocks of noise on disk: what there is, and what a session may take. */
#include "parties/settings/three/trio.h"

void trio_show(void *self)
{
    const struct trio *t = self;
    const struct price_ahead sizes = price_ahead(t->site->study);
    struct ahead_blocks here;
    if (store_ahead(t->site->store, &here) != ERR_OK)
        return;
    for (unsigned k = 0; k < TAPE_KINDS; k++) {
        atomic_store(&t->site->status.ahead[k], here.count[k] * sizes.samples[k]);
        atomic_store(&t->site->status.ahead_most[k], sizes.blocks[k] * sizes.samples[k]);
    }
}

void trio_drop(void *self)
{
    const struct trio *t = self;
    static const struct ahead_blocks none;
    size_t dropped = 0;
    if (!site_is_spent(t->site))
        return;
    if (store_ahead_keep(t->site->store, &none, &dropped) != ERR_OK)
        log_warn(t->site->log, "noise that was made ahead stays on disk, though the budget is "
                               "spent; mend the disk and start the server again, which deletes it");
    trio_show(self);
}

enum err trio_greet(void *self)
{
    struct trio *t = self;
    struct ahead_blocks own;
    TRY(store_ahead(t->site->store, &own));
    round_ahead(&t->ahead, t->net, &own);
    return ERR_OK;
}

enum err trio_keep_ahead(struct trio *t)
{
    size_t dropped;
    return store_ahead_keep(t->site->store, &t->ahead.common, &dropped);
}
