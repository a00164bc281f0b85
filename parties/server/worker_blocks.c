/* Blocks of noise on disk: what there is, and what a session may take. */
#include "parties/server/worker_private.h"

#define SPENT 0.99 /* of the budget: the rest buys no round */

void worker_show_ahead(struct worker *w)
{
    const struct price_ahead sizes = price_ahead(w->site->study);
    struct ahead_blocks here;
    if (store_ahead(w->site->store, &here) != ERR_OK)
        return;
    for (unsigned k = 0; k < TAPE_KINDS; k++) {
        atomic_store(&w->site->status.ahead[k], here.count[k] * sizes.samples[k]);
        atomic_store(&w->site->status.ahead_most[k], sizes.blocks[k] * sizes.samples[k]);
    }
}

bool worker_is_spent(const struct worker *w)
{
    const struct status *s = &w->site->status;
    return atomic_load(&s->rho_spent) >= SPENT * atomic_load(&s->rho_limit);
}

void worker_drop_ahead(struct worker *w)
{
    static const struct ahead_blocks none;
    size_t dropped = 0;
    if (!worker_is_spent(w))
        return;
    if (store_ahead_keep(w->site->store, &none, &dropped) != ERR_OK)
        log_warn(w->site->log, "noise that was made ahead stays on disk, though the budget is "
                               "spent; mend the disk and start the server again, which deletes it");
    worker_show_ahead(w);
}

enum err worker_name_ahead(struct worker *w)
{
    struct ahead_blocks own;
    TRY(store_ahead(w->site->store, &own));
    round_ahead(&w->ahead, w->net, &own);
    return ERR_OK;
}

enum err worker_keep_ahead(struct worker *w)
{
    size_t dropped;
    return store_ahead_keep(w->site->store, &w->ahead.common, &dropped);
}
