#include "bench/cast.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/secret.h"
#include "bench/cpu.h"
#include "bench/program.h"
#include "netio/dial.h"
#include "parties/exchange/client.h"
#include "parties/exchange/dials.h"
#include "parties/setting/upload.h"
#include "parties/settings/three/split.h"
#include "parties/study/study_ports.h"
#include "parties/study/study_uploads.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define CLIENTS 2  /* threads that play the owners */
#define AT_ONCE 32 /* owners that each of them has in progress */
#define PATIENCE_MS 60000

struct log cast_log = {.level = LOG_WARN};

void cast_must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "bench: %s failed\n", what);
    _exit(1);
}

void cast_done(enum err e, const char *what)
{
    cast_must(e == ERR_OK, what);
}

void cast_begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    program_choose();
    cast_log.file = stderr;
    cast_done(secret_start(), "the cryptographic library");
}

/* --- a study with its people ------------------------------------------------------------------ */

static struct identity *new_key(FILE *f, const char *before)
{
    char text[IDENTITY_TEXT_SIZE];
    struct identity *who;
    cast_done(identity_new(&who, &cast_log), "a key");
    public_identity_text(&who->public, text);
    if (f != NULL)
        fprintf(f, "%s%s\n", before, text);
    return who;
}

static void write_servers(struct cast *c, FILE *f)
{
    fprintf(f, "servers:\n");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        struct identity *who;
        fprintf(f, "  - name: s%u\n    endpoint: tcp://%s:%u\n", i, c->s.host,
                c->s.port + i * STUDY_PORTS);
        who = new_key(f, "    key: ");
        cast_done(identity_save(who, support_path(&c->s, "s%u.key", i), false, &cast_log),
                  "saving a key");
        identity_free(&who);
    }
}

static void write_owners(struct cast *c, const struct cast_plan *p, FILE *f)
{
    if (!p->open)
        fprintf(f, "owners:\n");
    for (unsigned i = 0; i < p->owners; i++) {
        struct identity *who;
        if (!p->open)
            fprintf(f, "  - name: o%u\n    max_rows: %u\n", i, p->max_rows);
        if (!p->open && p->as != NULL)
            fprintf(f, "    as: %s\n", p->as);
        who = new_key(p->open ? NULL : f, "    key: ");
        c->owner[i] = *who;
        if (i == 0)
            cast_done(identity_save(who, support_path(&c->s, "o0.key"), false, &cast_log),
                      "saving a key");
        identity_free(&who);
    }
}

static struct identity *write_issuer(const struct cast_plan *p, FILE *f)
{
    struct identity *issuer;
    /* a session begins only if all three servers hold the same of what all have sent */
    fprintf(f, "min_owners: %u\nopen_owners:\n  max: %u\n  max_rows: %u\n", p->owners, p->owners,
            p->max_rows);
    issuer = new_key(f, "  issuer: ");
    return issuer;
}

static void make_tokens(struct cast *c, const struct identity *issuer)
{
    c->token = memory_array(c->s.owners, sizeof *c->token);
    cast_must(c->token != NULL, "memory");
    for (unsigned i = 0; i < c->s.owners; i++)
        cast_done(token_make(&c->token[i], c->s.study, issuer, i, c->owner[i].public.sign),
                  "a token");
}

void cast_new(struct cast *c, const struct cast_plan *p)
{
    struct identity *issuer = NULL;
    FILE *f;
    *c = (struct cast){.s = {.owners = p->owners, .host = "127.0.0.1"}};
    c->owner = memory_array(p->owners, sizeof *c->owner);
    snprintf(c->s.folder, sizeof c->s.folder, "/tmp/trefoil-bench-XXXXXX");
    cast_must(c->owner != NULL && mkdtemp(c->s.folder) != NULL, "a folder in /tmp");
    c->s.port = support_ports(STUDY_SERVERS_MOST * STUDY_PORTS);
    support_study_file(&c->s, "study.yaml", c->s.path);
    f = fopen(c->s.path, "w");
    cast_must(f != NULL, "the study file");
    fprintf(f,
            "study: bench\n%sworkload: %s\nbudget: {epsilon: 1, delta: 1e-6, accounting: "
            "gaussian}\nrounds: 3\n"
            "deadlines: {connect: 30, round: 120}\n",
            p->domain, p->workload);
    write_servers(c, f);
    write_owners(c, p, f);
    if (p->open)
        issuer = write_issuer(p, f);
    fprintf(f, "analysts:\n  - name: a\n");
    c->analyst = new_key(f, "    key: ");
    cast_must(fclose(f) == 0, "the study file");
    cast_done(study_load(&c->s.study, c->s.path, &cast_log), "the study");
    if (p->open)
        make_tokens(c, issuer);
    identity_free(&issuer);
}

void cast_start(struct cast *c)
{
    cast_must(support_serve_all(&c->s, c->s.path, c->server), "starting a server");
}

void cast_free(struct cast *c)
{
    cast_must(support_stop_all(c->server), "stopping a server");
    memory_wipe_free(&c->owner, c->s.owners * sizeof *c->owner);
    memory_free(&c->token);
    identity_free(&c->analyst);
    support_study_free(&c->s);
}

/* --- many owners ------------------------------------------------------------------------------ */

struct client_thread {
    struct cast *cast;
    unsigned from, to;
    pthread_t thread;
};

static void make_parts(struct cast *c, unsigned owner, struct upload parts[STUDY_SERVERS_MOST])
{
    const struct study *study = c->s.study;
    struct bytes packed = {0};
    uint8_t *at = bytes_extend(&packed, (size_t)study_upload_bytes(study, owner));
    cast_must(at != NULL, "memory");
    at[0] = (uint8_t)owner;
    cast_done(upload_make(parts, &three_split, &c->owner[owner], owner,
                          (const uint8_t[UPLOAD_SECRET_SIZE]){1}, study,
                          study_upload_form(study, owner), &packed),
              "an upload");
    bytes_clear(&packed);
}

static void send_upload(struct cast *c, struct netio *netio, unsigned owner,
                        struct dial *dial[STUDY_SERVERS_MOST])
{
    const struct study *study = c->s.study;
    struct upload parts[STUDY_SERVERS_MOST];
    struct bytes message = {0};
    make_parts(c, owner, parts);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        cast_done(dials_new(&dial[i], netio, study, &c->owner[owner], i, &cast_log), "a dial");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        message.size = 0;
        bytes_put_u8(&message, MESSAGE_UPLOAD);
        bytes_put(&message, study->terms.digest, 32);
        cast_done(upload_write(&parts[i], i, false, &message), "writing an upload");
        if (c->token != NULL)
            cast_done(dials_token(&c->owner[owner].public, &c->token[owner], &message), "a token");
        cast_done(
            dial_send(dial[i], false, message.data, message.size, clock_now_ms() + PATIENCE_MS),
            "sending");
        upload_clear(&parts[i]);
    }
    bytes_clear(&message);
}

static void take_answers(struct dial *dial[STUDY_SERVERS_MOST])
{
    struct bytes message = {0};
    struct reply reply;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        cast_done(dial_receive(dial[i], &message, clock_now_ms() + PATIENCE_MS), "an answer");
        cast_done(reply_read(&reply, &message), "reading an answer");
        cast_done(reply.status, "storing an upload");
        dial_free(&dial[i]);
    }
    bytes_clear(&message);
}

static void *play_owners(void *argument)
{
    struct client_thread *t = argument;
    struct netio *netio;
    cast_done(netio_new(&netio, &cast_log), "ZeroMQ");
    for (unsigned base = t->from; base < t->to; base += AT_ONCE) {
        struct dial *dial[AT_ONCE][STUDY_SERVERS_MOST];
        unsigned n = t->to - base < AT_ONCE ? t->to - base : AT_ONCE;
        for (unsigned i = 0; i < n; i++)
            send_upload(t->cast, netio, base + i, dial[i]);
        for (unsigned i = 0; i < n; i++)
            take_answers(dial[i]);
    }
    netio_free(&netio);
    return NULL;
}

double cast_upload(struct cast *c)
{
    struct client_thread t[CLIENTS];
    double begin = clock_now_s();
    for (unsigned i = 0; i < CLIENTS; i++) {
        t[i] = (struct client_thread){.cast = c,
                                      .from = (unsigned)((uint64_t)c->s.owners * i / CLIENTS),
                                      .to = (unsigned)((uint64_t)c->s.owners * (i + 1) / CLIENTS)};
        cast_must(pthread_create(&t[i].thread, NULL, play_owners, &t[i]) == 0, "a thread");
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_join(t[i].thread, NULL);
    return clock_now_s() - begin;
}

/* --- a session -------------------------------------------------------------------------------- */

struct cast_session cast_count(struct cast *c)
{
    static const uint8_t run[REQUEST_RUN_SIZE] = {1};
    struct cast_session session = {0};
    struct net_counters stats[STUDY_SERVERS_MOST][NET_PHASES];
    struct netio *netio;
    struct client *client;
    struct client_opened opened;
    double begin = clock_now_s();
    cast_done(netio_new(&netio, &cast_log), "ZeroMQ");
    cast_done(client_new(&client, netio, c->s.study, c->analyst, run, &cast_log), "an analyst");
    cast_done(client_open(client, &opened), "counting");
    cast_done(client_close(client, stats), "closing the session");
    client_free(&client);
    netio_free(&netio);
    session.seconds = clock_now_s() - begin;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        if (stats[i][NET_OTHER].wire_sent > session.agreed)
            session.agreed = stats[i][NET_OTHER].wire_sent;
    return session;
}

double cast_ask(struct cast *c)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    struct netio *netio;
    struct dial *dial;
    struct reply reply;
    double begin;
    cast_done(netio_new(&netio, &cast_log), "ZeroMQ");
    cast_done(dials_new(&dial, netio, c->s.study, c->analyst, 0, &cast_log), "a dial");
    cast_done(dial_reach(dial, clock_now_ms() + PATIENCE_MS), "reaching server 0");
    begin = clock_now_s();
    bytes_put_u8(&message, MESSAGE_STATUS);
    cast_done(dials_ask(dial, &message, &reply, PATIENCE_MS, PATIENCE_MS), "asking server 0");
    cast_done(reply.status, "what server 0 holds");
    begin = clock_now_s() - begin;
    dial_free(&dial);
    netio_free(&netio);
    return begin;
}

double cast_purge(struct cast *c)
{
    const char *const purge[] = {"serve",    c->s.path,
                                 "--key",    support_path(&c->s, "s0.key"),
                                 "--folder", support_path(&c->s, "server0"),
                                 "--purge",  NULL};
    double begin;
    cast_must(support_stop(&c->server[0]) == 0, "stopping a server");
    begin = clock_now_s();
    cast_must(support_run(support_path(&c->s, "purge.log"), 600, purge) == 0, "purging");
    return clock_now_s() - begin;
}

double cast_mib(const struct cast *c, const char *field)
{
    double largest = 0;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        largest = fmax(largest, cpu_mib_of(c->server[i], field));
    return largest;
}
