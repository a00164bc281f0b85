/*
 * What owners and operators meet, end to end, with the real program as three servers on loopback:
 *
 *   uploads_1000_s                 1000 owners, each with keys and connections of its own, upload 4
 *                                  KB to all three servers; the time from the first connection to
 *                                  the last answer
 *   server_rss_mib_10000           the largest server's peak memory after 10 000 such uploads;
 *                                  beside it the same before the first, and the size of what it
 *                                  stored
 *   server_rss_mib_10000_counted   the same when all of them have been added up, as a run begins
 *   upload_bytes_records_adult     every byte that `trefoil share` sends for 488 records of Adult:
 *                                  counted on the wire by a proxy, so with greetings, handshakes
 *                                  and sealing
 *   upload_bytes_answers_adult_pgm the same as counts in the 64 marginals of adult_pgm
 *
 *   mpc_s, network_s, estimate_s, l1, l1_central      a whole run on Adult: bench/e2e_adult.h
 *
 * Tables are those of $TREFOIL_DATA, or ../shared/data; what needs an absent one is left out aloud.
 * --smoke has a hundredth of the owners under the same names.
 */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/secret.h"
#include "bench/cpu.h"
#include "bench/data.h"
#include "bench/e2e_adult.h"
#include "bench/study_text.h"
#include "bench/tap.h"
#include "netio/dial.h"
#include "parties/exchange/client.h"
#include "parties/exchange/lines.h"
#include "parties/exchange/upload.h"
#include "tests/support_process.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLIENTS 2  /* threads that play the owners */
#define AT_ONCE 32 /* owners that each of them has on the way */
#define ROWS 488

static struct log loud = {.level = LOG_WARN};

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "bench_e2e: %s failed\n", what);
    _exit(1);
}

static void done(enum err e, const char *what)
{
    must(e == ERR_OK, what);
}

/* --- a study with its people ------------------------------------------------------------------ */

struct cast {
    struct support_study s;
    struct identity *owner; /* owners of them, for as long as the measurement */
    struct identity *analyst;
    pid_t server[STUDY_SERVERS];
};

struct plan {
    const char *domain, *workload; /* as bench/study_text.h writes them */
    unsigned owners, max_rows;
    const char *as; /* or NULL */
};

static void write_key(FILE *f, const struct identity *who)
{
    char text[KEYS_TEXT_SIZE];
    public_identity_text(&who->public, text);
    fprintf(f, "    key: %s\n", text);
}

static void write_people(struct cast *c, const struct plan *p, FILE *f)
{
    struct identity *who;
    fprintf(f, "servers:\n");
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        fprintf(f, "  - name: s%u\n    endpoint: tcp://%s:%u\n", i, c->s.host,
                c->s.port + i * STUDY_PORTS);
        done(identity_new(&who, &loud), "a key");
        done(identity_save(who, support_path(&c->s, "s%u.key", i), false, &loud), "saving a key");
        write_key(f, who);
        identity_free(&who);
    }
    fprintf(f, "owners:\n");
    for (unsigned i = 0; i < p->owners; i++) {
        fprintf(f, "  - name: o%u\n    max_rows: %u\n", i, p->max_rows);
        if (p->as != NULL)
            fprintf(f, "    as: %s\n", p->as);
        done(identity_new(&who, &loud), "a key");
        c->owner[i] = *who;
        write_key(f, who);
        if (i == 0)
            done(identity_save(who, support_path(&c->s, "o%u.key", i), false, &loud),
                 "saving a key");
        identity_free(&who);
    }
    fprintf(f, "analysts:\n  - name: a\n");
    done(identity_new(&c->analyst, &loud), "a key");
    write_key(f, c->analyst);
}

static void cast_new(struct cast *c, const struct plan *p)
{
    FILE *f;
    *c = (struct cast){.s = {.owners = p->owners, .host = "127.0.0.1"}};
    c->owner = memory_array(p->owners, sizeof *c->owner);
    snprintf(c->s.folder, sizeof c->s.folder, "/tmp/trefoil-bench-XXXXXX");
    must(c->owner != NULL && mkdtemp(c->s.folder) != NULL, "a folder in /tmp");
    c->s.port = support_ports(STUDY_SERVERS * STUDY_PORTS);
    support_study_file(&c->s, "study.yaml", c->s.path);
    f = fopen(c->s.path, "w");
    must(f != NULL, "the study file");
    fprintf(f,
            "study: bench\n%sworkload: %s\nbudget: {epsilon: 1, delta: 1e-6}\nrounds: 3\n"
            "deadlines: {connect: 30, round: 120}\n",
            p->domain, p->workload);
    write_people(c, p, f);
    must(fclose(f) == 0, "the study file");
    done(study_load(&c->s.study, c->s.path, &loud), "the study");
}

static void start_servers(struct cast *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        c->server[i] = support_serve(&c->s, i, c->s.path);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        must(support_wait_for(support_path(&c->s, "server%u.log", i), "is ready", 60),
             "starting a server");
}

static void cast_free(struct cast *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        must(support_stop(&c->server[i]) == 0, "stopping a server");
    memory_wipe_free(&c->owner, c->s.owners * sizeof *c->owner);
    identity_free(&c->analyst);
    support_study_free(&c->s);
}

/* --- many owners ------------------------------------------------------------------------------ */

struct client_thread {
    struct cast *cast;
    unsigned from, to;
    pthread_t thread;
};

static void send_upload(struct cast *c, struct netio *netio, unsigned owner,
                        struct dial *dial[STUDY_SERVERS])
{
    const struct study *study = c->s.study;
    struct upload parts[STUDY_SERVERS];
    struct bytes packed = {0}, message = {0};
    uint8_t *at = bytes_extend(&packed, (size_t)study_upload_bytes(study, owner));
    must(at != NULL, "memory");
    at[0] = (uint8_t)owner;
    done(upload_make(parts, &c->owner[owner], (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                     study->terms.digest, study_upload_form(study, owner), &packed),
         "an upload");
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        done(lines_dial(&dial[i], netio, study, &c->owner[owner], i, &loud), "a dial");
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        message.size = 0;
        bytes_put_u8(&message, MESSAGE_UPLOAD);
        bytes_put(&message, study->terms.digest, 32);
        done(upload_write(&parts[i], i, false, &message), "writing an upload");
        done(dial_send(dial[i], message.data, message.size, clock_now_ms() + 60000), "sending");
        upload_clear(&parts[i]);
    }
    bytes_clear(&message);
    bytes_clear(&packed);
}

static void take_answers(struct dial *dial[STUDY_SERVERS])
{
    struct bytes message = {0};
    struct reply reply;
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        done(dial_receive(dial[i], &message, clock_now_ms() + 60000), "an answer");
        done(reply_read(&reply, &message), "reading an answer");
        done(reply.status, "storing an upload");
        dial_free(&dial[i]);
    }
    bytes_clear(&message);
}

static void *play_owners(void *argument)
{
    struct client_thread *t = argument;
    struct netio *netio;
    done(netio_new(&netio, &loud), "ZeroMQ");
    for (unsigned base = t->from; base < t->to; base += AT_ONCE) {
        struct dial *dial[AT_ONCE][STUDY_SERVERS];
        unsigned n = t->to - base < AT_ONCE ? t->to - base : AT_ONCE;
        for (unsigned i = 0; i < n; i++)
            send_upload(t->cast, netio, base + i, dial[i]);
        for (unsigned i = 0; i < n; i++)
            take_answers(dial[i]);
    }
    netio_free(&netio);
    return NULL;
}

static double upload_all(struct cast *c)
{
    struct client_thread t[CLIENTS];
    double begin = clock_now_s();
    for (unsigned i = 0; i < CLIENTS; i++) {
        t[i] = (struct client_thread){
            .cast = c, .from = c->s.owners * i / CLIENTS, .to = c->s.owners * (i + 1) / CLIENTS};
        must(pthread_create(&t[i].thread, NULL, play_owners, &t[i]) == 0, "a thread");
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_join(t[i].thread, NULL);
    return clock_now_s() - begin;
}

/* A line of /proc/PID/status, in MiB; the largest server's. */
static double largest_mib(const struct cast *c, const char *field)
{
    double largest = 0;
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        largest = fmax(largest, cpu_mib_of(c->server[i], field));
    return largest;
}

static double stored_mib(const struct cast *c)
{
    struct stat s;
    must(stat(support_path(&c->s, "server1/store.sqlite"), &s) == 0, "the store's size");
    return (double)s.st_size / (1 << 20);
}

/* 10 pairs of 5 columns of 17 values, 11 bits a cell: 3974 bytes. */
static const char four_kb_domain[] = "domain:\n"
                                     "  - {name: a, kind: integer, min: 0, max: 16}\n"
                                     "  - {name: b, kind: integer, min: 0, max: 16}\n"
                                     "  - {name: c, kind: integer, min: 0, max: 16}\n"
                                     "  - {name: d, kind: integer, min: 0, max: 16}\n"
                                     "  - {name: e, kind: integer, min: 0, max: 16}\n";

/* Has the servers add them up, as a run does before its first round. */
static double count_all(struct cast *c)
{
    static const uint8_t run[REQUEST_RUN_SIZE] = {1};
    struct net_counters stats[STUDY_SERVERS][NET_PHASES];
    struct netio *netio;
    struct client *client;
    struct client_opened opened;
    double begin = clock_now_s();
    done(netio_new(&netio, &loud), "ZeroMQ");
    done(client_new(&client, netio, c->s.study, c->analyst, run, &loud), "an analyst");
    done(client_open(client, &opened), "counting");
    done(client_close(client, stats), "closing the session");
    client_free(&client);
    netio_free(&netio);
    return clock_now_s() - begin;
}

/* A figure named after a number of owners: "name_1000end". */
static void put(json_t *out, const char *name, unsigned owners, const char *end, double figure)
{
    char key[64];
    snprintf(key, sizeof key, "%s_%u%s", name, owners, end);
    json_object_set_new(out, key, json_real(figure));
}

/* As many owners as the figures are named after; in a smoke run a hundredth of them. */
static void bench_uploads(json_t *out, unsigned named, bool smoke)
{
    const unsigned owners = smoke ? named / 100 : named;
    const struct plan plan = {four_kb_domain, "{all: 2}", owners, 2047, NULL};
    struct cast c;
    double seconds, before;
    cast_new(&c, &plan);
    start_servers(&c);
    before = largest_mib(&c, "VmRSS");
    seconds = upload_all(&c);
    printf("%u owners of %llu bytes: %.2f s; the largest server has %.1f MiB (peak %.1f; before "
           "%.1f), and stored %.1f\n",
           owners, (unsigned long long)study_upload_bytes(c.s.study, 0), seconds,
           largest_mib(&c, "VmRSS"), largest_mib(&c, "VmHWM"), before, stored_mib(&c));
    put(out, "uploads", named, "_s", seconds);
    put(out, "server_rss_mib", named, "", largest_mib(&c, "VmHWM"));
    put(out, "server_rss_mib_before", named, "", before);
    put(out, "server_stored_mib", named, "", stored_mib(&c));
    seconds = count_all(&c);
    printf("adding them up: %.2f s; the largest server's peak is %.1f MiB\n", seconds,
           largest_mib(&c, "VmHWM"));
    put(out, "count", named, "_s", seconds);
    put(out, "server_rss_mib", named, "_counted", largest_mib(&c, "VmHWM"));
    cast_free(&c);
}

/* --- bytes on the wire ------------------------------------------------------------------------ */

/* The first rows of a table as a file of their own. */
static bool first_rows(const char *table, unsigned rows, const char *path)
{
    char from[4096], line[4096];
    FILE *in, *out;
    snprintf(from, sizeof from, "%s/%s.csv", data_folder(), table);
    in = fopen(from, "r");
    if (in == NULL)
        return false;
    out = fopen(path, "w");
    must(out != NULL, "a file");
    for (unsigned i = 0; i <= rows && fgets(line, sizeof line, in) != NULL; i++)
        fputs(line, out);
    fclose(in);
    return fclose(out) == 0;
}

static void share_through(const struct cast *c, uint64_t *sent, uint64_t *received)
{
    const char *study = support_path(&c->s, "tapped.yaml");
    const char *output = support_path(&c->s, "share.log");
    const char *const a[] = {
        "share", study, support_path(&c->s, "o0.csv"), "--key", support_path(&c->s, "o0.key"),
        NULL};
    struct tap *tap;
    done(tap_open(&tap, c->s.port), "a proxy");
    done(tap_study(tap, c->s.path, study, &loud), "the proxy's study");
    if (support_run(output, 60, a) != 0) {
        fprintf(stderr, "see %s\n", output);
        _exit(1);
    }
    tap_close(&tap, sent, received);
}

static void bench_bytes(json_t *out, const char *table, const char *as, const char *name)
{
    struct bench_data data;
    struct bytes domain = {0}, workload = {0};
    struct plan plan = {.owners = 1, .max_rows = ROWS, .as = as};
    struct cast c;
    uint64_t sent, received;
    if (!data_present(table)) {
        printf("%s/%s.csv is absent: what needs it is left out (set TREFOIL_DATA)\n", data_folder(),
               table);
        return;
    }
    done(bench_data_terms(&data, table, &loud), "the table's domain and workload");
    study_text_domain(data.domain, NULL, &domain);
    study_text_workload(data.workload, data.domain, &workload);
    done(bytes_ok(&domain), "memory");
    done(bytes_ok(&workload), "memory");
    plan.domain = (const char *)domain.data;
    plan.workload = (const char *)workload.data;
    cast_new(&c, &plan);
    must(first_rows(table, ROWS, support_path(&c.s, "o0.csv")), "the table");
    start_servers(&c);
    share_through(&c, &sent, &received);
    printf("%u rows of %s as %s: the client sent %llu bytes on the wire, and received %llu\n", ROWS,
           table, as, (unsigned long long)sent, (unsigned long long)received);
    json_object_set_new(out, name, json_integer((json_int_t)sent));
    cast_free(&c);
    bytes_clear(&domain);
    bytes_clear(&workload);
    bench_data_clear(&data);
}

/*
 * -------------------------------------------------------------------------------------------------
 */

static void find_program(const char *self)
{
    char path[4096];
    const char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "%.*s/../trefoil", slash != NULL ? (int)(slash - self) : 1,
             slash != NULL ? self : ".");
    setenv("TREFOIL", path, 0);
}

int main(int argc, char **argv)
{
    const char *json = NULL;
    bool smoke = false;
    json_t *out = json_object();
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--smoke") == 0) {
            smoke = true;
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            json = argv[++i];
        } else {
            fprintf(stderr, "usage: %s [--smoke] [--json FILE]\n", argv[0]);
            return 2;
        }
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* what has been measured is seen, whatever fails later */
    signal(SIGPIPE, SIG_IGN);
    find_program(argv[0]);
    loud.file = stderr;
    done(secret_start(), "the cryptographic library");
    done(e2e_adult(out, &loud), "a run on Adult");
    bench_bytes(out, "adult", "records", "upload_bytes_records_adult");
    bench_bytes(out, "adult_pgm", "counts", "upload_bytes_answers_adult_pgm");
    bench_uploads(out, 1000, smoke);
    bench_uploads(out, 10000, smoke);
    if (smoke)
        json_object_set_new(out, "smoke", json_true());
    if (json != NULL)
        failed = json_dump_file(out, json, JSON_INDENT(2) | JSON_SORT_KEYS);
    json_decref(out);
    return failed != 0;
}
