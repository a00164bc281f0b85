/* The workers of servers 1 and 2: join sessions, and handle what server 0 relays once its analyst has sent its digest. */
#include "base/clock.h"
#include "parties/server/worker_private.h"

#include <stdio.h>
#include <string.h>

static void tell(struct worker *w, struct digest_note *note, enum err e)
{
    worker_answer(w, &note->client, MESSAGE_DIGEST, e, NULL, 0);
    note->used = false;
}

/* A place for a note: of one key a few wait, and of all a number, then the oldest is given up. */
static struct digest_note *place_for(struct worker *w, const struct digest_note *note)
{
    struct digest_note *vacant = NULL, *oldest = NULL, *own = NULL;
    unsigned mine = 0;
    for (unsigned i = 0; i < WORKER_DIGESTS; i++) {
        struct digest_note *n = &w->notes[i];
        bool is_own = n->used && n->client.user == note->client.user;
        mine += is_own;
        if (!n->used)
            vacant = n;
        if (n->used && (oldest == NULL || n->since < oldest->since))
            oldest = n;
        if (is_own && (own == NULL || n->since < own->since))
            own = n;
    }
    if (mine >= WORKER_DIGESTS_OF_A_KEY)
        oldest = own;
    else if (vacant != NULL)
        return vacant;
    tell(w, oldest, ERR_AGAIN);
    return oldest;
}

/* A program asks one thing at a time: what its connection asked before it waits for no more. */
static void forget_older(struct worker *w, const struct gate_client *client)
{
    for (unsigned i = 0; i < WORKER_DIGESTS; i++) {
        const struct gate_client *c = &w->notes[i].client;
        if (w->notes[i].used && c->route_size == client->route_size &&
            memcmp(c->route, client->route, client->route_size) == 0)
            w->notes[i].used = false;
    }
}

/* Takes what has come to the port: analysts' digests. */
static enum err take_notes(struct worker *w, int64_t deadline)
{
    struct bytes message = {0};
    struct digest_note note = {.used = true};
    enum err e = gate_port_receive(w->port, &note.client, &message, deadline);
    if (e == ERR_OK) {
        note.since = clock_now_ms();
        memcpy(note.attempt, message.data + 1, REQUEST_ATTEMPT_SIZE);
        memcpy(note.digest, message.data + REQUEST_HEAD_SIZE, REQUEST_DIGEST_SIZE);
        forget_older(w, &note.client);
        *place_for(w, &note) = note;
    }
    bytes_clear(&message);
    if (e == ERR_NOMEM) {
        worker_answer(w, &note.client, MESSAGE_DIGEST, e, NULL, 0);
        e = ERR_OK;
    }
    return e;
}

static bool find_note(struct worker *w, const uint8_t attempt[REQUEST_ATTEMPT_SIZE],
                      const uint8_t digest[REQUEST_DIGEST_SIZE], struct gate_client *client)
{
    for (unsigned i = 0; i < WORKER_DIGESTS; i++)
        if (w->notes[i].used && memcmp(w->notes[i].attempt, attempt, REQUEST_ATTEMPT_SIZE) == 0 &&
            memcmp(w->notes[i].digest, digest, REQUEST_DIGEST_SIZE) == 0) {
            *client = w->notes[i].client;
            w->notes[i].used = false;
            return true;
        }
    return false;
}

/* Whether the session's analyst, whose connection had broken, has begun another attempt since. */
static bool asks_anew(const struct worker *w, int64_t since)
{
    for (unsigned i = 0; i < WORKER_DIGESTS; i++)
        if (w->notes[i].used && w->notes[i].since > since && w->engine != NULL &&
            w->notes[i].client.user == w->user)
            return true;
    return false;
}

/*
 * The same request may come more than once: every attempt has its own digest and its own answer. A digest that was lost
 * on its way is not waited for once that is known.
 */
static enum err wait_for_digest(struct worker *w, const uint8_t attempt[REQUEST_ATTEMPT_SIZE],
                                const uint8_t digest[REQUEST_DIGEST_SIZE],
                                struct gate_client *client)
{
    int64_t since = clock_now_ms(), deadline = since + worker_connect_ms(w);
    while (!find_note(w, attempt, digest, client)) {
        int64_t soon = clock_now_ms() + WORKER_POLL_MS;
        enum err e = take_notes(w, soon < deadline ? soon : deadline);
        if (e == ERR_TIMEOUT && clock_left_ms(deadline) == 0)
            log_error(&w->log, "server 0 relayed a request whose digest no analyst sent here");
        else if (e == ERR_TIMEOUT)
            e = asks_anew(w, since) ? ERR_PEER : worker_listen(w);
        TRY(e);
    }
    return ERR_OK;
}

static void follow(struct worker *w, const uint8_t attempt[REQUEST_ATTEMPT_SIZE], const uint8_t *p,
                   size_t n)
{
    struct gate_client client;
    struct bytes result = {0};
    uint8_t digest[32], of_result[32];
    enum err e;
    request_digest(p, n, digest);
    e = wait_for_digest(w, attempt, digest, &client);
    if (e != ERR_OK) {
        worker_close_session(w);
        return;
    }
    e = worker_handle(w, client.user, p, n, &result);
    request_digest(result.data, result.size, of_result);
    if (w->session == NULL && e == ERR_OK) /* CLOSE: this server's own counters */
        worker_answer(w, &client, MESSAGE_DIGEST, e, result.data, result.size);
    else
        worker_answer(w, &client, MESSAGE_DIGEST, e, of_result, e == ERR_OK ? sizeof of_result : 0);
    bytes_clear(&result);
    worker_let_late_join(w);
}

/* Answers analysts whose digest has waited for too long for a request that does not come. */
static void tell_waiting(struct worker *w)
{
    snprintf(w->words, sizeof w->words, "server 0 has not passed the request on");
    for (unsigned i = 0; i < WORKER_DIGESTS; i++)
        if (w->notes[i].used && clock_now_ms() - w->notes[i].since >= worker_connect_ms(w))
            tell(w, &w->notes[i], ERR_TIMEOUT);
}

/* Joins the session that server 0 proposes. If that fails, the analyst for whom it was is told, and nobody else. */
static void join(struct worker *w, const struct bytes *propose)
{
    uint8_t attempt[REQUEST_ATTEMPT_SIZE] = {0};
    enum err e = worker_open_session(w, propose, attempt);
    bytes_clear(&w->relayed); /* of the session before */
    if (e == ERR_OK)
        return;
    while (take_notes(w, clock_now_ms()) == ERR_OK)
        ;
    for (unsigned i = 0; i < WORKER_DIGESTS; i++)
        if (w->notes[i].used && memcmp(w->notes[i].attempt, attempt, sizeof attempt) == 0)
            tell(w, &w->notes[i], e);
}

/* A part of a request. Anything that is none of this session's is left over from an earlier one. */
static void take_part(struct worker *w, const struct bytes *message)
{
    struct reader in = reader_of(message->data, message->size);
    uint32_t magic = reader_u32(&in);
    const uint8_t *id = reader_bytes(&in, SESSION_ID_SIZE),
                  *attempt = reader_bytes(&in, REQUEST_ATTEMPT_SIZE);
    uint64_t size = reader_u64(&in);
    if (in.failed || magic != RELAY_MAGIC || w->session == NULL ||
        memcmp(id, w->session->id, SESSION_ID_SIZE) != 0 ||
        size > request_longest(w->o.study->workload))
        return;
    if (memcmp(attempt, w->relayed_attempt, REQUEST_ATTEMPT_SIZE) != 0)
        bytes_clear(&w->relayed);
    memcpy(w->relayed_attempt, attempt, REQUEST_ATTEMPT_SIZE);
    bytes_put(&w->relayed, in.p, in.left);
    if (w->relayed.size < size)
        return;
    if (w->relayed.size == size && bytes_ok(&w->relayed) == ERR_OK)
        follow(w, w->relayed_attempt, w->relayed.data, w->relayed.size);
    bytes_clear(&w->relayed);
}

enum err worker_follow_once(struct worker *w, struct bytes *message)
{
    enum net_peer leader = w->o.index == 1 ? NET_PREV : NET_NEXT;
    enum err e = take_notes(w, clock_now_ms());
    if (e != ERR_OK && e != ERR_TIMEOUT)
        return e;
    e = transport_receive_by(w->o.control, leader, message, clock_now_ms() + WORKER_POLL_MS);
    if (e == ERR_TIMEOUT) {
        tell_waiting(w);
        return ERR_OK;
    }
    w->words[0] = '\0';
    if (e == ERR_NOMEM) {
        /* a message is lost, and the session with it; who waits is told in time */
        worker_close_session(w);
        return ERR_OK;
    }
    TRY(e);
    if (session_is_propose(message))
        join(w, message);
    else
        take_part(w, message);
    return ERR_OK;
}
