/*
 * The workers of servers 1 and 2: OPENs wait until server 0 proposes their session, which these
 * then join.
 */
#include "base/clock.h"
#include "base/date.h"
#include "parties/server/worker_private.h"

#include <stdio.h>
#include <string.h>

/*
 * A session whose OPEN has not come gives way to others after this time, or after a part of the
 * time that those wait for theirs, if that is less.
 */
#define HALF_OPEN_MS 1000
#define HALF_OPEN_PART 4

static void tell(struct worker *w, struct worker_waiting *waiting, enum err e)
{
    worker_answer(w, &waiting->ask, e, NULL, 0);
    waiting->used = false;
}

/*
 * A place for an OPEN that waits. A few of one key may wait, and a number of all; beyond that the
 * oldest is given up.
 */
static struct worker_waiting *place_for(struct worker *w, const struct worker_waiting *new)
{
    struct worker_waiting *vacant = NULL, *oldest = NULL, *own = NULL;
    unsigned mine = 0;
    for (unsigned i = 0; i < WORKER_WAITING; i++) {
        struct worker_waiting *n = &w->queue.waiting[i];
        bool is_own = n->used && n->ask.client.user == new->ask.client.user;
        mine += is_own;
        if (!n->used)
            vacant = n;
        if (n->used && (oldest == NULL || n->since < oldest->since))
            oldest = n;
        if (is_own && (own == NULL || n->since < own->since))
            own = n;
    }
    if (mine >= WORKER_WAITING_OF_A_KEY)
        oldest = own;
    else if (vacant != NULL)
        return vacant;
    tell(w, oldest, ERR_AGAIN);
    return oldest;
}

/* A program asks one thing at a time: it no longer waits for what its connection asked before. */
static void forget_older(struct worker *w, const struct gate_client *client)
{
    for (unsigned i = 0; i < WORKER_WAITING; i++) {
        const struct gate_client *c = &w->queue.waiting[i].ask.client;
        if (w->queue.waiting[i].used && memcmp(c->route, client->route, GATE_ROUTE) == 0)
            w->queue.waiting[i].used = false;
    }
}

/* Serves the OPEN of the session that was joined. */
static void begin(struct worker *w, const struct worker_ask *ask)
{
    w->began = date_now();
    worker_serve(w, ask, ERR_OK);
}

static bool is_half_open(const struct worker *w)
{
    return w->net != NULL && !worker_has_run(w);
}

void worker_follow(struct worker *w, const struct worker_ask *ask)
{
    const struct worker_waiting new = {.ask = *ask, .since = clock_now_ms(), .used = true};
    forget_older(w, &ask->client);
    if (is_half_open(w) && memcmp(ask->attempt, w->queue.joined, sizeof w->queue.joined) == 0) {
        begin(w, ask);
        return;
    }
    /* a program that begins anew has lost an answer or a request, and no longer waits for it */
    if (worker_has_run(w) && ask->client.user == w->user &&
        memcmp(ask->request.run, w->run, sizeof w->run) == 0)
        worker_close_session(w);
    *place_for(w, &new) = new;
}

static struct worker_waiting *find(struct worker *w, const uint8_t attempt[REQUEST_ATTEMPT_SIZE])
{
    for (unsigned i = 0; i < WORKER_WAITING; i++)
        if (w->queue.waiting[i].used &&
            memcmp(w->queue.waiting[i].ask.attempt, attempt, REQUEST_ATTEMPT_SIZE) == 0)
            return &w->queue.waiting[i];
    return NULL;
}

/*
 * Joins the session that server 0 proposes. If that fails, only the analyst for whom it was is
 * told.
 */
static void join(struct worker *w, const struct bytes *propose)
{
    struct worker_waiting *waiting;
    enum err e;
    memset(w->queue.joined, 0, sizeof w->queue.joined);
    e = worker_open_session(w, propose, w->queue.joined);
    w->queue.joined_ms = clock_now_ms();
    if (e == ERR_OK && worker_is_about_noise(w->queue.joined)) {
        (void)worker_make_ahead(w);
        return;
    }
    waiting = find(w, w->queue.joined);
    if (waiting == NULL)
        return;
    if (e != ERR_OK) {
        tell(w, waiting, e);
        return;
    }
    waiting->used = false;
    begin(w, &waiting->ask);
}

/* Ends a session that is in the way of an OPEN, so that server 0 takes up the next one. */
static void give_way(struct worker *w)
{
    const int64_t part = worker_connect_ms(w) / HALF_OPEN_PART;
    if (!is_half_open(w) ||
        clock_now_ms() - w->queue.joined_ms < (part < HALF_OPEN_MS ? part : HALF_OPEN_MS))
        return;
    for (unsigned i = 0; i < WORKER_WAITING; i++) {
        if (w->queue.waiting[i].used) {
            worker_close_session(w);
            return;
        }
    }
}

/* Answers analysts whose OPEN has waited too long for a session. */
static void tell_waiting(struct worker *w)
{
    snprintf(w->words, sizeof w->words, "server 0 has not opened a session for the request");
    for (unsigned i = 0; i < WORKER_WAITING; i++)
        if (w->queue.waiting[i].used &&
            clock_now_ms() - w->queue.waiting[i].since >= worker_connect_ms(w))
            tell(w, &w->queue.waiting[i], ERR_TIMEOUT);
}

enum err worker_tend(struct worker *w, struct bytes *message)
{
    enum net_peer leader = w->site->index == 1 ? NET_PREV : NET_NEXT;
    enum err e = transport_receive(w->site->control, leader, message);
    if (e == ERR_AGAIN) {
        give_way(w);
        tell_waiting(w);
        return ERR_OK;
    }
    w->words[0] = '\0';
    if (e == ERR_NOMEM) {
        /* a message is lost, and the session with it; those who wait are told in time */
        worker_close_session(w);
        return ERR_OK;
    }
    TRY(e);
    if (session_is_propose(message))
        join(w, message);
    return ERR_OK;
}
