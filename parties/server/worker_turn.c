/*
 * Whose turn it is. A run that has paid for its one-ways keeps the session as long as its program
 * lives. Before that a session costs nothing, nor does a look that is asked for again: so it ends
 * when it was idle for deadlines.round in all, or an owner wants to withdraw or replace an upload;
 * and an analyst whose sessions have lasted that long rests as long, if another waits.
 */
#include "base/clock.h"
#include "base/date.h"
#include "parties/server/start.h"
#include "parties/server/worker_private.h"

#include <string.h>

static int64_t round_ms(const struct worker *w)
{
    return (int64_t)w->site->study->round_s * 1000;
}

int64_t worker_silent_ms(const struct worker *w)
{
    return clock_now_ms() - atomic_load(&w->site->status.heard_ms);
}

int64_t worker_connect_ms(const struct worker *w)
{
    return (int64_t)w->site->study->connect_s * 1000;
}

/* --- what is open ----------------------------------------------------------------------------- */

void worker_turn_begins(struct worker *w, bool begun)
{
    struct worker_turn *t = &w->turn;
    if (t->user != w->user || clock_now_ms() - t->last_ms >= round_ms(w)) {
        t->user = w->user;
        t->held_ms = 0;
        t->wanted = false;
    }
    t->idle_ms = 0;
    t->begun = begun;
}

const char *worker_turn_passes(struct worker *w, int64_t ms)
{
    struct worker_turn *t = &w->turn;
    const bool give_way = atomic_exchange(&w->site->status.give_way, false);
    if (give_way && (!worker_has_run(w) || !t->begun))
        t->shut_until_ms = clock_now_ms() + worker_connect_ms(w);
    if (!worker_has_run(w))
        return NULL;
    t->last_ms = clock_now_ms();
    t->idle_ms += ms < WORKER_POLL_MS ? ms : WORKER_POLL_MS;
    t->held_ms += ms;
    if (t->begun)
        t->held_ms = 0;
    if (!t->begun && give_way)
        return "an owner withdraws or replaces an upload";
    return !t->begun && t->idle_ms >= round_ms(w) ? "it was idle for deadlines.round" : NULL;
}

/* --- who is next ------------------------------------------------------------------------------ */

static bool has_begun(const struct worker *w, const uint8_t run[REQUEST_RUN_SIZE])
{
    struct start start;
    return start_of(&start, w->site->store, w->site->study, run) == ERR_OK && start.begun;
}

/*
 * A run keeps the session until it ends it, or its program is not heard of for as long as one may
 * take to connect. A run that has paid for its one-ways goes before one that has not, which would
 * only find the budget gone.
 */
static bool busy_with_another(const struct worker *w, const struct request *r)
{
    return w->net != NULL && memcmp(w->run, r->run, sizeof w->run) != 0 &&
           worker_silent_ms(w) < worker_connect_ms(w) &&
           (has_begun(w, w->run) || !has_begun(w, r->run));
}

static enum err refuse_second(struct worker *w)
{
    const struct words_text since = date_text(w->began);
    return log_fail(
        &w->log, ERR_BUSY,
        "another run, of analyst %s, is in progress since %s; its program was last heard from %lld "
        "s ago. Wait for it to end, or continue that run: trefoil run with its --out. If its "
        "program has died, its place is free after %u s of silence",
        w->site->study->analyst[w->user & 0xffffff].name, since.text,
        (long long)worker_silent_ms(w) / 1000, (unsigned)w->site->study->connect_s);
}

enum err worker_turn_is_taken(struct worker *w, const struct worker_ask *ask)
{
    if (!busy_with_another(w, &ask->request))
        return ERR_OK;
    w->turn.wanted = w->turn.wanted || ask->client.user != w->user;
    return refuse_second(w);
}

enum err worker_turn_may_open(struct worker *w, uint32_t user)
{
    const struct worker_turn *t = &w->turn;
    const int64_t now = clock_now_ms();
    if (now < t->shut_until_ms)
        return log_fail(&w->log, ERR_BUSY,
                        "an owner withdraws or replaces an upload; sessions wait for %u s",
                        w->site->study->connect_s);
    if (t->wanted && t->user == user && t->held_ms >= round_ms(w) && now - t->last_ms < round_ms(w))
        return log_fail(&w->log, ERR_BUSY,
                        "this analyst's sessions have not paid for anything in %u s "
                        "(deadlines.round), and another waits: it is that one's turn",
                        w->site->study->round_s);
    return ERR_OK;
}
