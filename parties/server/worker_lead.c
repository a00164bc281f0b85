/* The worker of server 0: makes the sessions. */
#include "base/date.h"
#include "parties/server/worker_private.h"

#include <string.h>

void worker_lead(struct worker *w, const struct worker_ask *ask, const struct request *r)
{
    uint8_t about[REQUEST_ATTEMPT_SIZE];
    enum err e = worker_may_have(w, ask, r);
    if (e == ERR_OK) {
        if (w->session == NULL || memcmp(w->run, r->run, sizeof w->run) != 0)
            w->began = date_now();
        w->user = ask->client.user;
        memcpy(w->run, r->run, sizeof w->run);
        memcpy(about, ask->attempt, sizeof about);
        e = worker_open_session(w, NULL, about);
    }
    worker_serve(w, ask, e);
}
