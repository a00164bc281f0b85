/* Noise that was made before a run: what its session may take (parties/server/ahead.h). */
#include "parties/server/worker_private.h"

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
    w->play.ahead = (struct ahead){.blocks = w->ahead.common};
    return store_ahead_keep(w->site->store, &w->ahead.common, &dropped);
}
