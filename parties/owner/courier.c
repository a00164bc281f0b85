#include "parties/owner/courier_private.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/words.h"
#include "parties/owner/parcel.h"

#include <string.h>

#define FIRST_PAUSE_MS 500
#define LONGEST_PAUSE_MS 30000
#define BAR 20

enum err courier_new(struct courier **courier, const struct courier_options *o)
{
    struct courier *c;
    TRY(memory_new(courier, 1));
    c = *courier;
    c->o = *o;
    c->quiet = (struct log){.buffer = c->words, .buffer_size = sizeof c->words, .level = LOG_ERROR};
    return netio_new(&c->netio, o->log);
}

void courier_free(struct courier **courier)
{
    struct courier *c = *courier;
    if (c == NULL)
        return;
    for (unsigned i = 0; i < c->o.study->servers; i++)
        dials_end(&c->dials, i);
    netio_free(&c->netio);
    memory_free(courier);
}

struct dials_traffic courier_traffic(const struct courier *c)
{
    return dials_traffic(&c->dials);
}

/* --- one message and its answer --------------------------------------------------------------- */

/* Keeps in c->words what the server says, or else what went wrong with the connection. */
static void keep_words(struct courier *c, const char *text)
{
    char words[sizeof c->words];
    snprintf(words, sizeof words, "%s", text[0] != '\0' ? text : log_first(c->words));
    words[strcspn(words, "\n")] = '\0';
    memcpy(c->words, words, sizeof words);
}

/* Names the parts of the terms in which the server's study differs from ours. */
static void tell_terms(struct courier *c, const struct reply *reply)
{
    const struct terms *t = &c->o.study->terms;
    struct reader in = reader_of(reply->payload, reply->size);
    size_t n = (size_t)snprintf(c->words, sizeof c->words,
                                "it has other terms than your study file, which was refused:");
    for (size_t i = 0; i < t->parts; i++) {
        char name[sizeof t->part[0].name];
        const uint8_t *digest;
        reader_string(&in, name, sizeof name);
        digest = reader_bytes(&in, 32);
        if (digest != NULL && strcmp(name, t->part[i].name) == 0 &&
            memcmp(digest, t->part[i].digest, 32) != 0 && n < sizeof c->words - 80)
            n += (size_t)snprintf(c->words + n, sizeof c->words - n, " %s;",
                                  study_part_words(name));
    }
    snprintf(c->words + n, sizeof c->words - n, " ask whoever keeps the file which is right");
}

static enum err dial(struct courier *c, unsigned server)
{
    TRY(dials_new(&c->dials.dial[server], c->netio, c->o.study, c->o.me, server, &c->quiet));
    return dial_watch(c->dials.dial[server]);
}

static enum err exchange(struct courier *c, unsigned server, struct bytes *message,
                         struct reply *reply)
{
    const struct study *study = c->o.study;
    enum err e = dials_ask(c->dials.dial[server], message, reply, 1000 * (int64_t)study->connect_s,
                           1000 * (int64_t)study->round_s);
    if (e == ERR_TIMEOUT && c->words[0] == '\0')
        snprintf(c->words, sizeof c->words, "it did not answer in %u s", study->round_s);
    if (e == ERR_OK && reply->kind == MESSAGE_TOKEN && reply->status != ERR_OK) {
        snprintf(c->words, sizeof c->words, "it refuses the token: %.400s", reply->text);
        reply->text[0] = '\0';
        return reply->status;
    }
    return e;
}

enum err courier_ask(struct courier *c, unsigned server, struct bytes *message, struct reply *reply)
{
    const bool first = c->dials.dial[server] == NULL, sealed = message->data[0] == MESSAGE_PARCEL;
    uint8_t digest[32] = {0};
    enum err e;
    if (sealed)
        sealed_digest(message->data + 1, message->size - 1, digest);
    c->words[0] = '\0';
    *reply = (struct reply){0};
    e = first ? dial(c, server) : ERR_OK;
    if (e == ERR_OK && first && c->o.token != NULL && !sealed) /* a block has it inside */
        e = dials_token(&c->o.me->public, c->o.token, message);
    if (e == ERR_OK)
        e = exchange(c, server, message, reply);
    if (e == ERR_OK && sealed)
        e = sealed_check_answer(c->o.study, server, digest, message, reply);
    if (e != ERR_OK && first) /* the token is shown again before anything else is said */
        dials_end(&c->dials, server);
    if (e == ERR_OK)
        e = reply->status;
    if (e == ERR_MISMATCH && reply->size > 0)
        tell_terms(c, reply);
    else
        keep_words(c, reply->text);
    return e;
}

/* The same for our own messages, which go sealed where the study has keys for that. */
static enum err ask(struct courier *c, unsigned server, struct bytes *message, struct reply *reply)
{
    const struct sealed_from from = {c->o.study, c->o.me, c->o.token, c->o.serial};
    struct bytes block CLEAN(bytes_clear) = {0};
    TRY(bytes_ok(message));
    if (study_seals(c->o.study) && sealed_has_serial(message->data[0])) {
        TRY(sealed_make(&from, server, message, &block));
        message->size = 0;
        bytes_put_u8(message, MESSAGE_PARCEL);
        bytes_put(message, block.data, block.size);
        TRY(bytes_ok(message));
    }
    return courier_ask(c, server, message, reply);
}

enum err courier_misfit(struct courier *c)
{
    snprintf(
        c->words, sizeof c->words,
        "its answer does not fit; check that it has this study file and this version of trefoil");
    return ERR_FORMAT;
}

/* Verifies the server's statement in a receipt; c->words then say what is wrong with it. */
static enum err verify(struct courier *c, const struct receipt *r, unsigned server)
{
    enum err e;
    c->words[0] = '\0';
    e = receipt_verify_part(c->o.study, r, server, &c->quiet);
    keep_words(c, "");
    return e;
}

/* Whether the server's ledger continues what was seen of it. */
static enum err look_at_server(struct courier *c, unsigned server)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    struct reader in;
    struct head head;
    enum err e;
    TRY(parcel_put_head(c->o.study, witness_debits(c->o.witness, server), &message));
    TRY(ask(c, server, &message, &reply));
    in = reader_of(reply.payload, reply.size);
    head_read(&in, &head);
    if (reader_done(&in) != ERR_OK)
        return courier_misfit(c);
    c->words[0] = '\0';
    e = witness_take(c->o.witness, server, &head, &c->quiet);
    keep_words(c, e == ERR_AUTH ? "it did not sign what it says about its ledger" : "");
    return e == ERR_FORMAT ? courier_misfit(c) : e;
}

/* --- again and again -------------------------------------------------------------------------- */

/* Whether a later try may go better. */
static bool may_pass(enum err e)
{
    return e == ERR_TIMEOUT || e == ERR_PEER || e == ERR_AGAIN || e == ERR_SYSTEM || e == ERR_NOMEM;
}

/* Doubles with each attempt; a random time between half and one and a half of that. */
static int64_t pause_before(unsigned attempt)
{
    int64_t ms = attempt < 6 ? (int64_t)FIRST_PAUSE_MS << attempt : LONGEST_PAUSE_MS;
    uint32_t chance;
    secret_random(&chance, sizeof chance);
    return ms / 2 + (int64_t)((double)ms * chance / UINT32_MAX);
}

/* Writes c->words, with the server's name before them unless it is there already. */
static void words_of(const struct courier *c, unsigned server, enum err e, char *text, size_t size)
{
    char name[STUDY_NAME_SIZE + 24];
    const char *words = c->words[0] != '\0' ? c->words : error_text(e);
    snprintf(name, sizeof name, "server %u (%s)", server, c->o.study->server[server].name);
    if (strncmp(words, name, strlen(name)) == 0)
        snprintf(text, size, "%s", words);
    else
        snprintf(text, size, "%s: %s", name, words);
}

enum err courier_persist(struct courier *c, unsigned server, courier_errand go, void *self)
{
    char words[sizeof c->words + 64];
    enum err e;
    for (unsigned attempt = 0;; attempt++) {
        int64_t ms;
        e = go(c, server, self);
        if (e == ERR_OK || !may_pass(e) || attempt == c->o.retries)
            break;
        dials_end(&c->dials, server);
        ms = pause_before(attempt);
        words_of(c, server, e, words, sizeof words);
        progress_say(c->o.progress, "%s;\n  trying again in %.1f s (%u of %u)", words,
                     (double)ms / 1000, attempt + 1, c->o.retries);
        clock_pause(ms);
    }
    if (e == ERR_OK)
        return ERR_OK;
    words_of(c, server, e, words, sizeof words);
    return log_fail(c->o.log, e, "%s%s", words,
                    may_pass(e) ? "; what it already has is kept: run the same command again later"
                                : "");
}

/* --- uploading -------------------------------------------------------------------------------- */

struct delivery {
    const struct upload *parts;
    bool replace;
    struct receipt *receipt;
    uint64_t held; /* of the vector, at the server to which it is sent */
};

/* Reads how far the upload has come at a server. */
static enum err read_answer(struct courier *c, const struct reply *reply, unsigned server,
                            struct delivery *d, bool *complete)
{
    struct reader in = reader_of(reply->payload, reply->size);
    *complete = reader_u8(&in) == 1;
    d->held = reader_u64(&in);
    if (*complete)
        receipt_part_read(&d->receipt->part[server], &in);
    return reader_done(&in) == ERR_OK ? ERR_OK : courier_misfit(c);
}

void courier_show(const struct courier *c, unsigned server, uint64_t done, uint64_t all)
{
    char bar[BAR + 1], text[128];
    unsigned full = (unsigned)(done * BAR / all);
    for (unsigned i = 0; i < BAR; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR] = '\0';
    snprintf(text, sizeof text, "server %u  [%s] %3u %%  %s of %s", server, bar,
             (unsigned)(done * 100 / all), words_bytes(done).text, words_bytes(all).text);
    progress_wait(c->o.progress, text);
}

/* Sends the vector from where the server has it on. */
static enum err send_parts(struct courier *c, unsigned server, struct delivery *d, bool *complete)
{
    const struct upload *u = &d->parts[server];
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    unsigned misses = 0;
    while (!*complete) {
        const uint64_t first = d->held;
        bool missed;
        enum err e;
        if (d->held >= u->vector.size)
            return courier_misfit(c);
        courier_show(c, server, d->held, u->vector.size);
        message.size = 0;
        TRY(parcel_put_part(u, d->held, &message));
        e = ask(c, server, &message, &reply);
        missed = e == ERR_AGAIN && reply.size > 0 && ++misses < COURIER_MISSES;
        TRY(missed ? ERR_OK : e); /* the answer says where to go on */
        TRY(read_answer(c, &reply, server, d, complete));
        if (!missed && !*complete && d->held <= first)
            return courier_misfit(c); /* it would be sent the same for ever */
    }
    return ERR_OK;
}

static enum err deliver(struct courier *c, unsigned server, void *self)
{
    struct delivery *d = self;
    const struct upload *part = &d->parts[server];
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    bool complete = false;
    TRY(look_at_server(c, server));
    TRY(parcel_put_upload(c->o.study, part, server, d->replace, &message));
    TRY(ask(c, server, &message, &reply));
    TRY(read_answer(c, &reply, server, d, &complete));
    if (!complete && server == part->split->given) {
        if (d->held > 0)
            progress_say(c->o.progress, "server %u has %u %% of it already", server,
                         (unsigned)(d->held * 100 / part->vector.size));
        TRY(send_parts(c, server, d, &complete));
    }
    return complete ? verify(c, d->receipt, server) : ERR_AGAIN;
}

/* A server that is passed the vector answers when it has that: its giver comes first. */
enum err courier_upload(struct courier *c, const struct upload parts[], bool replace,
                        struct receipt *receipt)
{
    struct delivery d = {.parts = parts, .replace = replace, .receipt = receipt};
    const struct split *split = parts[0].split;
    char text[80];
    *receipt = (struct receipt){.state = RECEIPT_HELD, .owner = c->o.owner};
    upload_digest(&parts[0], c->o.study->terms.digest, receipt->digest);
    for (unsigned i = 0; i < c->o.study->servers; i++) {
        snprintf(text, sizeof text, "waiting until server %u has passed the upload on to server %u",
                 split->given, i);
        progress_wait(c->o.progress, i == split->passed ? text : "waiting for the server's answer");
        TRY(courier_persist(c, i, deliver, &d));
        progress_say(c->o.progress, "server %u (%s) has stored its part", i,
                     c->o.study->server[i].name);
    }
    return ERR_OK;
}

/* --- withdrawing ------------------------------------------------------------------------------ */

struct withdrawal {
    struct receipt *receipt;
    unsigned had; /* servers that had something */
    bool differ;  /* they did not all have the same */
};

static enum err withdraw(struct courier *c, unsigned server, void *self)
{
    struct withdrawal *w = self;
    struct receipt one = *w->receipt;
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    struct reader in;
    bool had;
    TRY(parcel_put_withdraw(c->o.study, &message));
    TRY(ask(c, server, &message, &reply));
    in = reader_of(reply.payload, reply.size);
    had = reader_u8(&in) == 1;
    reader_copy(&in, one.digest, sizeof one.digest);
    receipt_part_read(&one.part[server], &in);
    if (reader_done(&in) != ERR_OK)
        return courier_misfit(c);
    TRY(verify(c, &one, server));
    w->differ = w->differ || (server > 0 && memcmp(one.digest, w->receipt->digest, 32) != 0);
    w->had += had;
    *w->receipt = one;
    progress_say(c->o.progress, "server %u (%s) %s", server, c->o.study->server[server].name,
                 had ? "has deleted its part" : "had nothing");
    return ERR_OK;
}

static enum err look(struct courier *c, unsigned server, void *self)
{
    (void)self;
    return look_at_server(c, server);
}

enum err courier_withdraw(struct courier *c, struct receipt *receipt, bool *whole)
{
    struct withdrawal w = {.receipt = receipt};
    *receipt = (struct receipt){.state = RECEIPT_WITHDRAWN, .owner = c->o.owner};
    for (unsigned i = 0; i < c->o.study->servers; i++)
        TRY(courier_persist(c, i, withdraw, &w));
    for (unsigned i = 0; c->o.study->link.min_linked > 0 && i < c->o.study->servers; i++)
        TRY(courier_persist(c, i, look, NULL));
    *whole = w.had == c->o.study->servers && !w.differ;
    return ERR_OK;
}

/* --- status ----------------------------------------------------------------------------------- */

static enum err status_of(struct courier *c, unsigned server, struct server_status *status)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    enum err e;
    bytes_put_u8(&message, MESSAGE_STATUS);
    e = ask(c, server, &message, &reply);
    if (e == ERR_OK)
        e = server_status_read(c->o.study, &reply, status);
    return e == ERR_FORMAT ? courier_misfit(c) : e;
}

enum err courier_status(struct courier *c, struct server_status status[])
{
    enum err worst = ERR_OK;
    for (unsigned i = 0; i < c->o.study->servers; i++) {
        char words[sizeof c->words + 64];
        enum err e;
        bool refused = false;
        status[i] = (struct server_status){0};
        e = status_of(c, i, &status[i]);
        if (e == ERR_OK) {
            e = look_at_server(c, i);
            refused = e == ERR_MISMATCH;
        }
        status[i].answered = e == ERR_OK || refused;
        worst = refused ? e : worst;
        if (e != ERR_OK) {
            words_of(c, i, e, words, sizeof words);
            log_error(c->o.log, "%s", words);
        }
    }
    return worst;
}
