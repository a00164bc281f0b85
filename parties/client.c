#include "parties/client.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/roster.h"

#include <stdio.h>
#include <string.h>

#define HEAD_SIZE (1 + REQUEST_ATTEMPT_SIZE) /* kind and attempt */
#define LOOK_MS 50
#define GRACE_MS 2000 /* for the others, after one has failed */

struct client {
    const struct study *study;
    struct dial *dial[STUDY_SERVERS];
    struct request request; /* the run lives on between requests */
    struct log *log;
};

enum err client_dial(struct dial **dial, struct netio *netio, const struct study *study,
                     const struct identity *me, unsigned server, struct log *log)
{
    char endpoint[STUDY_ENDPOINT_SIZE], name[STUDY_NAME_SIZE + 16];
    const struct dial_options o = {
        .netio = netio,
        .endpoint = endpoint,
        .name = name,
        .server_public = study->server[server].key.curve,
        .curve_public = me->public.curve,
        .curve_secret = me->curve_secret,
        .max_message = (size_t)study->workload->cells * 8 + 65536,
        .log = log,
    };
    study_endpoint(study, server, STUDY_GATE, endpoint);
    snprintf(name, sizeof name, "server %u (%s)", server, study->server[server].name);
    return dial_new(dial, &o);
}

enum err client_ask(struct dial *dial, struct bytes *message, struct reply *reply, int64_t deadline)
{
    TRY(dial_send(dial, message->data, message->size, deadline));
    TRY(dial_receive(dial, message, deadline));
    return reply_read(reply, message);
}

enum err client_new(struct client **client, struct netio *netio, const struct study *study,
                    const struct identity *me, struct log *log)
{
    struct client *c = memory_array(1, sizeof *c);
    size_t index;
    enum err e;
    *client = c;
    if (c == NULL)
        return ERR_NOMEM;
    c->study = study;
    c->log = log;
    secret_random(c->request.run, sizeof c->request.run);
    e = roster_find(study, &me->public, ROLE_ANALYST, &index, log);
    if (e == ERR_OK)
        e = roster_check(study, log);
    if (e == ERR_OK)
        e = roster_servers_current(study, log);
    for (unsigned i = 0; e == ERR_OK && i < STUDY_SERVERS; i++)
        e = client_dial(&c->dial[i], netio, study, me, i, log);
    if (e != ERR_OK)
        client_free(client);
    return e;
}

void client_free(struct client **client)
{
    if (*client == NULL)
        return;
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        dial_free(&(*client)->dial[i]);
    memory_free(client);
}

/* --- one request --------------------------------------------------------------------------------- */

/* Nothing is sent unless all three are there. Tells of each that is not. */
static enum err reach_all(struct client *c, int64_t deadline)
{
    enum err worst = ERR_OK;
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        enum err e = dial_reach(c->dial[i], deadline);
        worst = worst == ERR_OK ? e : worst;
    }
    return worst;
}

static enum err send_all(struct client *c, int64_t deadline)
{
    struct bytes message = {0};
    uint8_t note[HEAD_SIZE + REQUEST_DIGEST_SIZE] = {MESSAGE_DIGEST};
    enum err e;
    secret_random(note + 1, REQUEST_ATTEMPT_SIZE);
    bytes_put_u8(&message, MESSAGE_REQUEST);
    bytes_put(&message, note + 1, REQUEST_ATTEMPT_SIZE);
    e = request_write(&c->request, &message);
    if (e == ERR_OK) {
        request_digest(message.data + HEAD_SIZE, message.size - HEAD_SIZE, note + HEAD_SIZE);
        e = reach_all(c, deadline);
    }
    for (unsigned i = STUDY_SERVERS; e == ERR_OK && i-- > 0;)
        e = i == 0 ? dial_send(c->dial[i], message.data, message.size, deadline)
                   : dial_send(c->dial[i], note, sizeof note, deadline);
    bytes_clear(&message);
    return e;
}

/* Of several failures the one that says most: a lost peer is often the consequence of another's. */
static bool says_more(enum err e, enum err than)
{
    return than == ERR_OK || than == ERR_PEER || (than == ERR_TIMEOUT && e != ERR_PEER);
}

/* Takes server i's answer if it comes in time (`came`). */
static enum err receive_one(struct client *c, unsigned i, struct bytes *message,
                            struct reply *reply, int64_t deadline, bool *came)
{
    enum err e = dial_receive(c->dial[i], message, deadline);
    *came = e != ERR_TIMEOUT;
    if (!*came)
        return ERR_OK;
    if (e == ERR_OK)
        e = reply_read(reply, message);
    if (e == ERR_OK)
        e = reply->status;
    else
        reply->text[0] = '\0';
    return e;
}

/* A server's failure in its own words; those that an earlier one has said are not repeated. */
static void tell(const struct client *c, unsigned i, enum err e,
                 const struct reply reply[STUDY_SERVERS], unsigned told)
{
    const char *text = reply[i].text[0] != '\0' ? reply[i].text : error_text(e);
    for (unsigned k = 0; k < STUDY_SERVERS; k++)
        if ((told >> k & 1) != 0 && strcmp(text, reply[k].text) == 0) {
            log_error(c->log, "server %u (%s) says the same", i, c->study->server[i].name);
            return;
        }
    log_error(c->log, "server %u (%s) says: %s", i, c->study->server[i].name, text);
}

/* Gathers the three answers, whichever comes first: one that fails cuts the waiting for the others short. */
static enum err receive_all(struct client *c, struct bytes message[STUDY_SERVERS],
                            struct reply reply[STUDY_SERVERS], int64_t deadline)
{
    enum err worst = ERR_OK;
    unsigned missing = (1u << STUDY_SERVERS) - 1, told = 0;
    while (missing != 0 && clock_left_ms(deadline) > 0) {
        int64_t slice = LOOK_MS; /* at the first that is missing; the others are only looked at */
        for (unsigned i = 0; i < STUDY_SERVERS; i++) {
            bool came;
            enum err e;
            if ((missing >> i & 1) == 0)
                continue;
            e = receive_one(c, i, &message[i], &reply[i], clock_now_ms() + slice, &came);
            slice = 0;
            if (!came)
                continue;
            missing &= ~(1u << i);
            if (e == ERR_OK)
                continue;
            tell(c, i, e, reply, told);
            told |= 1u << i;
            if (says_more(e, worst))
                worst = e;
            if (deadline > clock_now_ms() + GRACE_MS)
                deadline = clock_now_ms() + GRACE_MS;
        }
    }
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        if ((missing >> i & 1) != 0 && says_more(ERR_TIMEOUT, worst)) {
            log_error(c->log, "server %u (%s) did not answer; see that it is up", i,
                      c->study->server[i].name);
            if (worst == ERR_OK)
                worst = ERR_TIMEOUT;
        }
    return worst;
}

static int64_t answer_deadline(const struct client *c)
{
    return clock_now_ms() + 1000 * ((int64_t)c->study->connect_s + 10 * (int64_t)c->study->round_s);
}

static enum err ask_all(struct client *c, struct bytes message[STUDY_SERVERS],
                        struct reply reply[STUDY_SERVERS])
{
    enum err e = send_all(c, clock_now_ms() + 1000 * (int64_t)c->study->connect_s);
    if (e == ERR_OK)
        e = receive_all(c, message, reply, answer_deadline(c));
    return e;
}

/* The result of server 0, which the two others have to have seen too. `result` borrows from `message`. */
static enum err ask_for_result(struct client *c, struct bytes message[STUDY_SERVERS],
                               struct reader *result)
{
    struct reply reply[STUDY_SERVERS];
    uint8_t digest[REQUEST_DIGEST_SIZE];
    TRY(ask_all(c, message, reply));
    request_digest(reply[0].payload, reply[0].size, digest);
    for (unsigned i = 1; i < STUDY_SERVERS; i++)
        if (reply[i].size != sizeof digest ||
            memcmp(reply[i].payload, digest, sizeof digest) != 0) {
            log_error(c->log, "servers 0 and %u opened different results: one of them is lying", i);
            return ERR_MISMATCH;
        }
    *result = reader_of(reply[0].payload, reply[0].size);
    return ERR_OK;
}

static void clear_all(struct bytes message[STUDY_SERVERS])
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        bytes_clear(&message[i]);
}

enum err client_open(struct client *c, double *remaining)
{
    struct bytes message[STUDY_SERVERS] = {{0}};
    struct reader result;
    uint8_t terms[sizeof c->study->terms.digest] = {0};
    enum err e;
    c->request.kind = REQUEST_OPEN;
    c->request.sequence = 0;
    e = ask_for_result(c, message, &result);
    if (e == ERR_OK) {
        *remaining = reader_double(&result);
        reader_copy(&result, terms, sizeof terms);
        e = reader_done(&result);
    }
    if (e == ERR_OK && memcmp(terms, c->study->terms.digest, sizeof terms) != 0) {
        struct worker_stats ignored[STUDY_SERVERS][NET_PHASES];
        log_error(c->log, "the servers run a study with other terms than this file; compare "
                          "fingerprints with trefoil check --fingerprint");
        e = client_close(c, ignored);
        e = e == ERR_OK ? ERR_MISMATCH : e;
    }
    clear_all(message);
    return e;
}

enum err client_close(struct client *c, struct worker_stats stats[STUDY_SERVERS][NET_PHASES])
{
    struct bytes message[STUDY_SERVERS] = {{0}};
    struct reply reply[STUDY_SERVERS];
    enum err e;
    c->request.kind = REQUEST_CLOSE;
    c->request.sequence = 0;
    e = ask_all(c, message, reply);
    for (unsigned i = 0; e == ERR_OK && i < STUDY_SERVERS; i++)
        e = worker_stats_read(stats[i], reply[i].payload, reply[i].size);
    clear_all(message);
    return e;
}

/* --- the backend --------------------------------------------------------------------------------- */

static enum err measure(void *self, const struct aim_measure *m)
{
    struct client *c = self;
    struct bytes message[STUDY_SERVERS] = {{0}};
    struct reader result;
    enum err e = ERR_OK;
    c->request.kind = REQUEST_MEASURE;
    c->request.sequence = m->round;
    c->request.queries = (uint32_t)m->queries;
    c->request.multiplier = m->multiplier;
    c->request.query = memory_array(m->queries, sizeof *c->request.query);
    if (c->request.query == NULL)
        return ERR_NOMEM;
    memcpy(c->request.query, m->query, m->queries * sizeof *m->query);
    e = ask_for_result(c, message, &result);
    for (size_t k = 0; e == ERR_OK && k < m->queries; k++)
        for (uint64_t j = 0; j < c->study->workload->query[m->query[k]].cells; j++)
            m->values[k][j] = (int64_t)reader_u64(&result);
    if (e == ERR_OK)
        e = reader_done(&result);
    clear_all(message);
    memory_free(&c->request.query);
    c->request.queries = 0;
    c->request.multiplier = 0;
    return e;
}

static enum err fill_candidates(struct client *c, const struct aim_select *s)
{
    const struct workload_query *query = c->study->workload->query;
    size_t cells = 0, at = 0;
    for (size_t k = 0; k < s->candidates; k++)
        cells += query[s->candidate[k].query].cells;
    c->request.query = memory_array(s->candidates, sizeof *c->request.query);
    c->request.estimate = memory_array(cells, sizeof *c->request.estimate);
    if (c->request.query == NULL || c->request.estimate == NULL)
        return ERR_NOMEM;
    for (size_t k = 0; k < s->candidates; k++) {
        size_t n = query[s->candidate[k].query].cells;
        c->request.query[k] = s->candidate[k].query;
        memcpy(c->request.estimate + at, s->candidate[k].estimate, n * sizeof(uint64_t));
        at += n;
    }
    c->request.queries = (uint32_t)s->candidates;
    c->request.estimates = cells;
    return ERR_OK;
}

static enum err select_worst(void *self, struct aim_select *s)
{
    struct client *c = self;
    struct bytes message[STUDY_SERVERS] = {{0}};
    struct reader result;
    enum err e;
    c->request.kind = REQUEST_SELECT;
    c->request.sequence = s->round;
    c->request.epsilon = s->epsilon;
    c->request.sigma = s->sigma;
    c->request.multiplier = s->multiplier;
    e = fill_candidates(c, s);
    if (e == ERR_OK)
        e = ask_for_result(c, message, &result);
    if (e == ERR_OK) {
        s->selected = (size_t)reader_u64(&result);
        if (s->selected >= s->candidates)
            e = ERR_FORMAT;
    }
    if (e == ERR_OK) {
        uint32_t query = s->candidate[s->selected].query;
        for (uint64_t j = 0; j < c->study->workload->query[query].cells; j++)
            s->values[j] = (int64_t)reader_u64(&result);
        e = reader_done(&result);
    }
    clear_all(message);
    memory_free(&c->request.query);
    memory_free(&c->request.estimate);
    c->request.queries = 0;
    c->request.estimates = 0;
    c->request.epsilon = c->request.sigma = 0;
    c->request.multiplier = 0;
    return e;
}

struct aim_backend client_backend(struct client *client)
{
    return (struct aim_backend){.self = client, .measure = measure, .select = select_worst};
}

uint64_t client_sent(const struct client *c)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        sum += dial_sent(c->dial[i]);
    return sum;
}

uint64_t client_received(const struct client *c)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        sum += dial_received(c->dial[i]);
    return sum;
}
