#include "parties/exchange/client.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/exchange/failures.h"
#include "parties/exchange/pulse.h"
#include "parties/study/roster.h"
#include "parties/study/study_setting.h"

#include <string.h>

#define LOOK_MS 50
#define GRACE_MS 2000 /* for the others, after one has failed */

struct client {
    const struct study *study;
    const struct identity *me;
    struct netio *netio;
    struct dials dials;
    uint8_t run[REQUEST_RUN_SIZE];
    struct pulse *pulse;
    const struct warrant *warrant; /* NULL: none */
    struct witness *witness;       /* NULL if nobody keeps what servers sign about their ledgers */
    struct {
        void (*adding)(void *self, double share); /* NULL: nobody looks */
        void *self;
        bool opening; /* otherwise nobody waits for servers to add up uploads */
        double last;
    } show;
    struct {
        enum err (*work)(void *self); /* NULL: nothing */
        void *self;
    } meanwhile;
    bool answered; /* some server has answered the last request */
    struct log *log;
};

static enum err connect_all(struct client *c)
{
    for (unsigned i = 0; i < c->study->servers; i++) {
        dials_end(&c->dials, i);
        TRY(dials_new(&c->dials.dial[i], c->netio, c->study, c->me, i, c->log));
        TRY(dial_watch(c->dials.dial[i])); /* a server that ends forgets its requests */
    }
    return ERR_OK;
}

enum err client_reconnect(struct client *c)
{
    TRY(connect_all(c));
    for (unsigned i = 0; i < c->study->servers; i++)
        dial_expect(c->dials.dial[i]);
    return ERR_OK;
}

enum err client_new(struct client **client, struct netio *netio, const struct study *study,
                    const struct identity *me, const uint8_t run[REQUEST_RUN_SIZE], struct log *log)
{
    struct roster_person self;
    struct client *c;
    TRY(memory_new(client, 1));
    c = *client;
    *c = (struct client){.study = study, .me = me, .netio = netio, .log = log};
    memcpy(c->run, run, sizeof c->run);
    TRY(roster_find(study, &me->public, ROLE_ANALYST, &self, log));
    TRY(roster_check(study, log));
    TRY(roster_servers_current(study, log));
    TRY(connect_all(c));
    return pulse_start(&c->pulse, netio, study, me, run, log);
}

void client_free(struct client **client)
{
    if (*client == NULL)
        return;
    pulse_stop(&(*client)->pulse);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        dials_end(&(*client)->dials, i);
    memory_free(client);
}

bool client_answered(const struct client *c)
{
    return c->answered;
}

void client_watch(struct client *c, struct witness *witness)
{
    c->witness = witness;
}

void client_permit(struct client *c, const struct warrant *warrant)
{
    c->warrant = warrant;
}

void client_meanwhile(struct client *c, enum err (*work)(void *self), void *self)
{
    c->meanwhile.work = work;
    c->meanwhile.self = self;
}

void client_show(struct client *c, void (*adding)(void *self, double share), void *self)
{
    c->show.adding = adding;
    c->show.self = self;
    c->show.last = -1;
}

/* --- one request ------------------------------------------------------------------------------ */

/* Nothing is sent unless all three can be reached. Each that cannot is logged. */
static enum err reach_all(struct client *c, int64_t deadline)
{
    enum err worst = ERR_OK;
    for (unsigned i = 0; i < c->study->servers; i++) {
        enum err e = dial_reach(c->dials.dial[i], deadline);
        worst = e != ERR_OK && failures_say_more(e, worst) ? e : worst;
    }
    return worst;
}

/* Sends server i a part of a request, from `first` on: a piece, or the rest of it. */
static enum err send_part(struct client *c, unsigned i, const uint8_t attempt[REQUEST_ATTEMPT_SIZE],
                          const struct bytes *request, size_t first, int64_t deadline)
{
    size_t left = request->size - first, n = left < MESSAGE_PART_MAX ? left : MESSAGE_PART_MAX;
    struct bytes message CLEAN(bytes_clear) = {0};
    bytes_put_u8(&message, n < left ? MESSAGE_PIECE : MESSAGE_REQUEST);
    bytes_put(&message, attempt, REQUEST_ATTEMPT_SIZE);
    bytes_put_u64(&message, c->witness != NULL ? witness_debits(c->witness, i) : 0);
    bytes_put(&message, request->data + first, n);
    TRY(bytes_ok(&message));
    return dial_send(c->dials.dial[i], first > 0, message.data, message.size, deadline);
}

static enum err send_all(struct client *c, const struct bytes *request, int64_t deadline)
{
    uint8_t attempt[REQUEST_ATTEMPT_SIZE];
    secret_random(attempt, sizeof attempt);
    TRY(reach_all(c, deadline));
    for (size_t at = 0; at < request->size; at += MESSAGE_PART_MAX)
        for (unsigned i = c->study->servers; i-- > 0;)
            TRY(send_part(c, i, attempt, request, at, deadline));
    return ERR_OK;
}

/* Takes server i's answer if it comes in time (`came`). */
static enum err receive_one(struct client *c, unsigned i, struct bytes *message,
                            struct reply *reply, int64_t deadline, bool *came)
{
    enum err e = dial_receive(c->dials.dial[i], message, deadline);
    *came = e != ERR_TIMEOUT;
    if (!*came)
        return ERR_OK;
    reply->text[0] = '\0';
    if (e == ERR_OK)
        e = reply_read(reply, message);
    if (e == ERR_OK && reply->kind == MESSAGE_HEAD) {
        *came = false; /* it came too late for look_for_others() */
        return ERR_OK;
    }
    c->answered = c->answered || e == ERR_OK;
    return e == ERR_OK ? reply->status : e;
}

/* Shows how far the servers are with adding up uploads, if that has changed. */
static void show_adding(struct client *c)
{
    const double share = pulse_adding(c->pulse);
    if (!c->show.opening || c->show.adding == NULL || share < 0 || share == c->show.last)
        return;
    c->show.last = share;
    c->show.adding(c->show.self, share);
}

/* What the three answer to a request; replies borrow from the messages. */
struct all_replies {
    struct bytes message[STUDY_SERVERS_MOST];
    struct reply reply[STUDY_SERVERS_MOST]; /* if all went well, without the head */
    struct head head[STUDY_SERVERS_MOST];   /* what each signs about its ledger */
};

static void clear_replies(struct all_replies *a)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        bytes_clear(&a->message[i]);
}

/* Gathers the three answers as they come. After a failure the others get only a moment. */
static enum err receive_all(struct client *c, struct all_replies *a, int64_t deadline)
{
    enum err worst = ERR_OK, failed[STUDY_SERVERS_MOST] = {ERR_OK};
    unsigned missing = (1u << c->study->servers) - 1;
    while (missing != 0 && clock_left_ms(deadline) > 0) {
        int64_t slice = LOOK_MS; /* for the first that is missing; the others are only polled */
        show_adding(c);
        for (unsigned i = 0; i < c->study->servers; i++) {
            bool came;
            enum err e;
            if ((missing >> i & 1) == 0)
                continue;
            e = receive_one(c, i, &a->message[i], &a->reply[i], clock_now_ms() + slice, &came);
            slice = 0;
            if (!came)
                continue;
            missing &= ~(1u << i);
            failed[i] = e;
            if (e == ERR_OK)
                continue;
            if (failures_say_more(e, worst))
                worst = e;
            if (deadline > clock_now_ms() + GRACE_MS)
                deadline = clock_now_ms() + GRACE_MS;
        }
    }
    return failures_tell(c->study, missing, failed, a->reply, worst, c->log);
}

static enum err work_meanwhile(struct client *c)
{
    enum err (*const work)(void *self) = c->meanwhile.work;
    c->meanwhile.work = NULL;
    return work != NULL ? work(c->meanwhile.self) : ERR_OK;
}

static enum err ask_all(struct client *c, const struct bytes *request, struct all_replies *a)
{
    const int64_t connect_ms = 1000 * (int64_t)c->study->connect_s;
    c->answered = false;
    TRY(send_all(c, request, clock_now_ms() + connect_ms));
    TRY(work_meanwhile(c));
    TRY(receive_all(c, a, clock_now_ms() + connect_ms + 10000 * (int64_t)c->study->round_s));
    for (unsigned i = 0; i < c->study->servers; i++) {
        struct reader in = reader_of(a->reply[i].payload, a->reply[i].size);
        head_read(&in, &a->head[i]);
        if (in.failed)
            return log_fail(c->log, ERR_FORMAT,
                            "the answer of server %u (%s) is cut; compare the versions of trefoil",
                            i, c->study->server[i].name);
        a->reply[i].payload = in.p;
        a->reply[i].size = in.left;
    }
    return ERR_OK;
}

/* Whether the two others confirm the result that server 0 gives. */
static enum err compare(const struct client *c, const struct reply reply[])
{
    uint8_t digest[REQUEST_DIGEST_SIZE];
    hash_bytes(reply[0].payload, reply[0].size, digest);
    for (unsigned i = 1; i < c->study->servers; i++)
        if (reply[i].size != sizeof digest || memcmp(reply[i].payload, digest, sizeof digest) != 0)
            return log_fail(
                c->log, ERR_MISMATCH,
                "servers 0 and %u opened different results: one of them departs from the "
                "protocol. Have the operators compare their logs with trefoil audit",
                i);
    return ERR_OK;
}

static enum err result_of(struct client *c, const struct bytes *request, struct all_replies *a,
                          struct bytes *result)
{
    TRY(ask_all(c, request, a));
    TRY(compare(c, a->reply));
    bytes_set(result, a->reply[0].payload, a->reply[0].size);
    return bytes_ok(result);
}

/* --- the servers' ledgers --------------------------------------------------------------------- */

static enum err ask_head(struct client *c, unsigned i, int64_t deadline)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    bytes_put_u8(&message, MESSAGE_HEAD);
    bytes_put(&message, c->study->terms.digest, 32);
    bytes_put_u64(&message, witness_debits(c->witness, i));
    TRY(bytes_ok(&message));
    return dial_send(c->dials.dial[i], false, message.data, message.size, deadline);
}

/*
 * Takes what server i signs; skips late answers to something else. A server with other terms signs
 * nothing, and sets `other`.
 */
static enum err hear_head(struct client *c, unsigned i, int64_t deadline, bool *other,
                          struct log *log)
{
    struct head head;
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply = {0};
    struct reader in;
    enum err e;
    do {
        e = dial_receive(c->dials.dial[i], &message, deadline);
        if (e == ERR_OK)
            e = reply_read(&reply, &message);
        if (e == ERR_OK && reply.kind != MESSAGE_HEAD && clock_now_ms() >= deadline)
            e = ERR_TIMEOUT; /* whatever else it sends meanwhile */
    } while (e == ERR_OK && reply.kind != MESSAGE_HEAD);
    if (e == ERR_OK && reply.status == ERR_MISMATCH) {
        *other = true;
        return ERR_OK;
    }
    in = reader_of(reply.payload, reply.size);
    head_read(&in, &head);
    if (e == ERR_OK)
        e = reply.status != ERR_OK ? reply.status : reader_done(&in);
    if (e == ERR_OK)
        return witness_take(c->witness, i, &head, c->log);
    if (e != ERR_MISMATCH)
        log_error(log, "server %u (%s) does not say what its ledger holds: %s", i,
                  c->study->server[i].name, error_text(e));
    return e;
}

/*
 * Whether all three ledgers continue what was seen of them. Servers with other terms set `other`;
 * other failures go to `log`.
 */
static enum err look_for_others(struct client *c, bool *other, struct log *log)
{
    int64_t deadline = clock_now_ms() + 1000 * (int64_t)c->study->connect_s;
    enum err worst = ERR_OK;
    for (unsigned i = 0; i < c->study->servers; i++)
        TRY(ask_head(c, i, deadline));
    for (unsigned i = 0; i < c->study->servers; i++) {
        enum err e = hear_head(c, i, deadline, other, log);
        worst = e == ERR_MISMATCH || worst == ERR_OK ? e : worst;
    }
    return worst;
}

/* Whether the ledgers that come with answers continue what was seen of them; keeps them all. */
static enum err take_heads(struct client *c, const struct all_replies *a)
{
    enum err worst = ERR_OK;
    for (unsigned i = 0; c->witness != NULL && i < c->study->servers; i++) {
        enum err e = witness_take(c->witness, i, &a->head[i], c->log);
        if (e != ERR_OK && e != ERR_MISMATCH)
            log_error(c->log, "what server %u (%s) signs of its ledger does not hold: %s", i,
                      c->study->server[i].name, error_text(e));
        worst = worst == ERR_OK ? e : worst;
    }
    return worst;
}

/* --- what is asked ---------------------------------------------------------------------------- */

enum err client_result(struct client *c, const struct bytes *request, struct bytes *result)
{
    struct all_replies a CLEAN(clear_replies) = {0};
    TRY(result_of(c, request, &a, result));
    return take_heads(c, &a);
}

/* A request that is not a round. */
static enum err write_plain(const struct client *c, enum request_kind kind, struct bytes *out)
{
    struct request r = {.kind = kind};
    if (kind == REQUEST_OPEN && c->warrant != NULL)
        r.warrant = *c->warrant;
    memcpy(r.run, c->run, sizeof r.run);
    return request_write(&r, out);
}

/* If the servers run another study, ends the session that they now have; `other`: one said so. */
static enum err check_terms(struct client *c, const uint8_t terms[32], bool other)
{
    struct net_counters ignored[STUDY_SERVERS_MOST][NET_PHASES];
    if (!other && memcmp(terms, c->study->terms.digest, 32) == 0)
        return ERR_OK;
    log_error(c->log, "the servers run a study with other terms than this file; compare "
                      "fingerprints with trefoil check --fingerprint");
    (void)!client_close(c, ignored); /* or it ends by itself, in time */
    return ERR_MISMATCH;
}

/* Owners whose uploads the servers do not count. */
static enum err name_left_out(const struct client *c, struct reader *in)
{
    for (uint32_t left = reader_u32(in); left > 0 && !in->failed; left--) {
        const uint32_t owner = reader_u32(in);
        if (!in->failed && owner < c->study->owners)
            log_warn(c->log,
                     "the upload of %s %s, and is left out: whoever sent it did not use trefoil "
                     "share, or altered it",
                     c->study->owner[owner].name, study_setting(c->study)->left_out);
    }
    return reader_done(in);
}

enum err client_open(struct client *c, struct client_opened *opened)
{
    struct bytes request CLEAN(bytes_clear) = {0};
    struct bytes result CLEAN(bytes_clear) = {0};
    struct all_replies all CLEAN(clear_replies) = {0};
    uint8_t terms[32] = {0};
    bool other = false;
    struct reader in;
    enum err e;
    TRY(write_plain(c, REQUEST_OPEN, &request));
    if (c->witness != NULL) {
        TRY(reach_all(c, clock_now_ms() + 1000 * (int64_t)c->study->connect_s));
        TRY(look_for_others(c, &other, c->log));
    }
    c->show.opening = true;
    e = result_of(c, &request, &all, &result); /* servers with other terms name the parts */
    c->show.opening = false;
    TRY(e);
    in = reader_of(result.data, result.size);
    opened->remaining = reader_double(&in);
    reader_copy(&in, terms, sizeof terms);
    opened->rounds = reader_u32(&in);
    reader_copy(&in, opened->last, sizeof opened->last);
    opened->may = reader_u8(&in) != 0;
    opened->left = reader_double(&in);
    opened->looks = reader_u32(&in);
    TRY(name_left_out(c, &in));
    return check_terms(c, terms, other);
}

enum err client_close(struct client *c, struct net_counters stats[][NET_PHASES])
{
    struct bytes request CLEAN(bytes_clear) = {0};
    struct all_replies a CLEAN(clear_replies) = {0};
    TRY(write_plain(c, REQUEST_CLOSE, &request));
    TRY(ask_all(c, &request, &a));
    for (unsigned i = 0; i < c->study->servers; i++)
        TRY(cost_read(stats[i], a.reply[i].payload, a.reply[i].size));
    return ERR_OK;
}

struct dials_traffic client_traffic(const struct client *c)
{
    return dials_traffic(&c->dials);
}
