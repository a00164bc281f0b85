/*
 * What owners and operators meet, end to end, with the real program as three servers on loopback:
 *
 *   uploads_1000_s                 1000 owners, each with keys and connections of its own, upload 4 KB to all
 *                                  three servers; the time from the first connection to the last answer
 *   server_rss_mib_10000           the largest server's peak memory after 10 000 such uploads; beside it the
 *                                  same before the first, and the size of what it stored
 *   server_rss_mib_10000_counted   the same when all of them have been added up, as a run begins
 *   upload_bytes_records_adult     every byte that `trefoil share` sends for 488 records of Adult: counted on the
 *                                  wire by a proxy, so with greetings, handshakes and sealing
 *   upload_bytes_answers_adult_pgm the same as counts in the 64 marginals of adult_pgm
 *
 *   mpc_s, network_s, estimate_s, l1, l1_central      a whole run on Adult: bench/e2e_adult.h
 *
 * Tables are those of $TREFOIL_DATA, or ../shared/data; what needs an absent one is left out aloud.
 */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/secret.h"
#include "bench/e2e_adult.h"
#include "netio/dial.h"
#include "parties/exchange/client.h"
#include "parties/exchange/lines.h"
#include "parties/exchange/upload.h"
#include "tests/support_process.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
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

/* --- a study with its people ------------------------------------------------------------------- */

struct cast {
    struct support_study s;
    struct identity *owner; /* owners of them, for as long as the measurement */
    struct identity *analyst;
    pid_t server[STUDY_SERVERS];
};

struct plan {
    const char *domain, *workload; /* YAML */
    unsigned owners, max_rows;
    const char *as; /* or NULL */
};

__attribute__((format(printf, 2, 4))) static char *
in_folder(const struct cast *c, const char *format, char path[SUPPORT_PATH], ...)
{
    char name[64];
    va_list numbers;
    va_start(numbers, path);
    vsnprintf(name, sizeof name, format, numbers);
    va_end(numbers);
    support_study_file(&c->s, name, path);
    return path;
}

static void write_key(FILE *f, const struct identity *who)
{
    char text[KEYS_TEXT_SIZE];
    public_identity_text(&who->public, text);
    fprintf(f, "    key: %s\n", text);
}

static void write_people(struct cast *c, const struct plan *p, FILE *f)
{
    struct identity *who;
    char path[SUPPORT_PATH];
    fprintf(f, "servers:\n");
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        fprintf(f, "  - name: s%u\n    endpoint: tcp://127.0.0.1:%u\n", i,
                c->s.port + i * STUDY_PORTS);
        done(identity_new(&who, &loud), "a key");
        done(identity_save(who, in_folder(c, "s%u.key", path, i), false, &loud), "saving a key");
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
            done(identity_save(who, in_folder(c, "o%u.key", path, i), false, &loud),
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
    *c = (struct cast){.s.owners = p->owners};
    c->owner = memory_array(p->owners, sizeof *c->owner);
    snprintf(c->s.folder, sizeof c->s.folder, "/tmp/trefoil-bench-XXXXXX");
    must(c->owner != NULL && mkdtemp(c->s.folder) != NULL, "a folder in /tmp");
    c->s.port = support_ports(STUDY_SERVERS * STUDY_PORTS);
    support_study_file(&c->s, "study.yaml", c->s.path);
    f = fopen(c->s.path, "w");
    must(f != NULL, "the study file");
    fprintf(f,
            "study: bench\n%s%sbudget: {epsilon: 1, delta: 1e-6}\nrounds: 3\n"
            "deadlines: {connect: 30, round: 120}\n",
            p->domain, p->workload);
    write_people(c, p, f);
    must(fclose(f) == 0, "the study file");
    done(study_load(&c->s.study, c->s.path, &loud), "the study");
}

static void start_servers(struct cast *c)
{
    char key[SUPPORT_PATH], folder[SUPPORT_PATH], output[SUPPORT_PATH];
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        const char *const a[] = {"serve",    c->s.path,
                                 "--key",    in_folder(c, "s%u.key", key, i),
                                 "--folder", in_folder(c, "server%u", folder, i),
                                 "--listen", "127.0.0.1",
                                 NULL};
        c->server[i] = support_start(in_folder(c, "server%u.log", output, i), a);
    }
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        must(support_wait_for(in_folder(c, "server%u.log", output, i), "is ready", 60),
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

/* --- many owners --------------------------------------------------------------------------------- */

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
    done(upload_make(parts, &c->owner[owner], study->terms.digest, study_upload_form(study, owner),
                     &packed),
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
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        char path[64], line[256], format[32];
        double kib = 0;
        FILE *f;
        snprintf(path, sizeof path, "/proc/%d/status", (int)c->server[i]);
        snprintf(format, sizeof format, "%s: ", field);
        f = fopen(path, "r");
        must(f != NULL, "reading /proc");
        while (fgets(line, sizeof line, f) != NULL)
            if (strncmp(line, format, strlen(field) + 1) == 0)
                kib = strtod(line + strlen(field) + 1, NULL);
        fclose(f);
        largest = kib / 1024 > largest ? kib / 1024 : largest;
    }
    return largest;
}

static double stored_mib(const struct cast *c)
{
    char path[SUPPORT_PATH];
    struct stat s;
    must(stat(in_folder(c, "server%u/store.sqlite", path, 1), &s) == 0, "the store's size");
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

static void bench_uploads(json_t *out, unsigned owners)
{
    const struct plan plan = {four_kb_domain, "workload: {all: 2}\n", owners, 2047, NULL};
    struct cast c;
    double seconds, before;
    char name[64];
    cast_new(&c, &plan);
    start_servers(&c);
    before = largest_mib(&c, "VmRSS");
    seconds = upload_all(&c);
    printf("%u owners of %llu bytes: %.2f s; the largest server has %.1f MiB (peak %.1f; before "
           "%.1f), and stored %.1f\n",
           owners, (unsigned long long)study_upload_bytes(c.s.study, 0), seconds,
           largest_mib(&c, "VmRSS"), largest_mib(&c, "VmHWM"), before, stored_mib(&c));
    snprintf(name, sizeof name, "uploads_%u_s", owners);
    json_object_set_new(out, name, json_real(seconds));
    snprintf(name, sizeof name, "server_rss_mib_%u", owners);
    json_object_set_new(out, name, json_real(largest_mib(&c, "VmHWM")));
    snprintf(name, sizeof name, "server_rss_mib_before_%u", owners);
    json_object_set_new(out, name, json_real(before));
    snprintf(name, sizeof name, "server_stored_mib_%u", owners);
    json_object_set_new(out, name, json_real(stored_mib(&c)));
    seconds = count_all(&c);
    printf("adding them up: %.2f s; the largest server's peak is %.1f MiB\n", seconds,
           largest_mib(&c, "VmHWM"));
    snprintf(name, sizeof name, "count_%u_s", owners);
    json_object_set_new(out, name, json_real(seconds));
    snprintf(name, sizeof name, "server_rss_mib_%u_counted", owners);
    json_object_set_new(out, name, json_real(largest_mib(&c, "VmHWM")));
    cast_free(&c);
}

/* --- bytes on the wire --------------------------------------------------------------------------- */

/*
 * A proxy that counts. It listens at `port` + server * STUDY_PORTS, where the client's study says that the gates
 * are, and passes on to the gates.
 */
struct tap {
    uint16_t port, real;
    int listening[STUDY_SERVERS], stop[2];
    uint64_t sent, received; /* by the client */
    pthread_t thread;
};

#define PIPES 16
struct pipe_pair {
    int client, server;
};

static int listen_at(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    a.sin_port = htons(port);
    must(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 16) == 0,
         "listening");
    return fd;
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    a.sin_port = htons(port);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0, "connecting");
    return fd;
}

/* False at the end of the connection. */
static bool pass_on(int from, int to, uint64_t *count)
{
    char buffer[65536];
    ssize_t n = read(from, buffer, sizeof buffer);
    for (ssize_t at = 0, m; at < n; at += m)
        if ((m = write(to, buffer + at, (size_t)(n - at))) <= 0)
            return false;
    *count += n > 0 ? (uint64_t)n : 0;
    return n > 0;
}

static void *tap_run(void *argument)
{
    struct tap *t = argument;
    struct pipe_pair pair[PIPES];
    size_t pairs = 0;
    for (;;) {
        struct pollfd w[1 + STUDY_SERVERS + 2 * PIPES] = {{.fd = t->stop[0], .events = POLLIN}};
        for (unsigned i = 0; i < STUDY_SERVERS; i++)
            w[1 + i] = (struct pollfd){.fd = t->listening[i], .events = POLLIN};
        for (size_t k = 0; k < pairs; k++) {
            w[4 + 2 * k] = (struct pollfd){.fd = pair[k].client, .events = POLLIN};
            w[5 + 2 * k] = (struct pollfd){.fd = pair[k].server, .events = POLLIN};
        }
        must(poll(w, 4 + 2 * pairs, -1) > 0, "poll");
        if (w[0].revents != 0)
            break;
        for (size_t k = pairs; k-- > 0;)
            if ((w[4 + 2 * k].revents != 0 && !pass_on(pair[k].client, pair[k].server, &t->sent)) ||
                (w[5 + 2 * k].revents != 0 &&
                 !pass_on(pair[k].server, pair[k].client, &t->received))) {
                close(pair[k].client);
                close(pair[k].server);
                pair[k] = pair[--pairs];
            }
        for (unsigned i = 0; i < STUDY_SERVERS; i++)
            if (w[1 + i].revents != 0 && pairs < PIPES)
                pair[pairs++] = (struct pipe_pair){
                    accept(t->listening[i], NULL, NULL),
                    connect_to((uint16_t)(t->real + i * STUDY_PORTS))};
    }
    for (size_t k = 0; k < pairs; k++) {
        close(pair[k].client);
        close(pair[k].server);
    }
    return NULL;
}

static void tap_open(struct tap *t, uint16_t real)
{
    *t = (struct tap){.real = real, .port = support_ports(STUDY_SERVERS * STUDY_PORTS)};
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        t->listening[i] = listen_at((uint16_t)(t->port + i * STUDY_PORTS));
    must(pipe(t->stop) == 0, "a pipe");
    must(pthread_create(&t->thread, NULL, tap_run, t) == 0, "a thread");
}

static void tap_close(struct tap *t)
{
    must(write(t->stop[1], "", 1) == 1, "a pipe");
    pthread_join(t->thread, NULL);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        close(t->listening[i]);
    close(t->stop[0]);
    close(t->stop[1]);
}

/* The study file with the tap's ports, for the client. */
static void study_through_tap(const struct cast *c, const struct tap *t, char path[SUPPORT_PATH])
{
    struct bytes text = {0}, out = {0};
    char *line, *rest, real[64], port[64];
    done(file_read(c->s.path, (size_t)64 << 20, &text, &loud), "the study file");
    bytes_put_u8(&text, 0);
    for (line = strtok_r((char *)text.data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        for (unsigned i = 0; i < STUDY_SERVERS; i++) {
            snprintf(real, sizeof real, "    endpoint: tcp://127.0.0.1:%u",
                     t->real + i * STUDY_PORTS);
            snprintf(port, sizeof port, "    endpoint: tcp://127.0.0.1:%u",
                     t->port + i * STUDY_PORTS);
            if (strcmp(line, real) == 0) {
                line = port;
                break;
            }
        }
        bytes_put(&out, line, strlen(line));
        bytes_put_u8(&out, '\n');
    }
    support_study_file(&c->s, "tapped.yaml", path);
    done(file_write(path, 0600, out.data, out.size, &loud), "the study file");
    bytes_clear(&text);
    bytes_clear(&out);
}

/* --- tables --------------------------------------------------------------------------------------- */

static const char *data_folder(void)
{
    const char *folder = getenv("TREFOIL_DATA");
    return folder != NULL ? folder : "../shared/data";
}

static json_t *load_json(const char *table, const char *kind)
{
    char path[4096];
    json_t *j;
    snprintf(path, sizeof path, "%s/%s.%s.json", data_folder(), table, kind);
    j = json_load_file(path, 0, NULL);
    if (j == NULL)
        printf("%s is absent: what needs it is left out (set TREFOIL_DATA)\n", path);
    return j;
}

/* `domain:` and `workload:` as YAML; the caller clears both. */
static bool table_yaml(const char *table, struct bytes *domain, struct bytes *workload)
{
    json_t *sizes = load_json(table, "domain"), *list = load_json(table, "workload"), *size;
    json_t *clique, *name;
    const char *key;
    char text[256];
    size_t i, k;
    bool there = sizes != NULL && list != NULL;
    bytes_put(domain, "domain:\n", 8);
    json_object_foreach(sizes, key, size)
    {
        int n = snprintf(text, sizeof text,
                         "  - {name: \"%s\", kind: integer, min: 0, max: %lld}\n", key,
                         (long long)json_integer_value(size) - 1);
        bytes_put(domain, text, (size_t)n);
    }
    bytes_put_u8(domain, 0);
    bytes_put(workload, "workload:\n", 10);
    json_array_foreach(json_object_get(list, "cliques"), i, clique)
    {
        bytes_put(workload, "  - attributes: [", 17);
        json_array_foreach(clique, k, name)
        {
            int n = snprintf(text, sizeof text, "%s\"%s\"", k > 0 ? ", " : "",
                             json_string_value(name));
            bytes_put(workload, text, (size_t)n);
        }
        bytes_put(workload, "]\n", 2);
    }
    bytes_put_u8(workload, 0);
    json_decref(sizes);
    json_decref(list);
    done(bytes_ok(domain), "memory");
    done(bytes_ok(workload), "memory");
    return there;
}

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

static void bench_bytes(json_t *out, const char *table, const char *as, const char *name)
{
    struct bytes domain = {0}, workload = {0};
    struct cast c;
    struct tap tap;
    char csv[SUPPORT_PATH], key[SUPPORT_PATH], path[SUPPORT_PATH], output[SUPPORT_PATH];
    if (table_yaml(table, &domain, &workload)) {
        const struct plan plan = {(const char *)domain.data, (const char *)workload.data, 1, ROWS,
                                  as};
        cast_new(&c, &plan);
        must(first_rows(table, ROWS, in_folder(&c, "o%u.csv", csv, 0)), "the table");
        start_servers(&c);
        tap_open(&tap, c.s.port);
        study_through_tap(&c, &tap, path);
        const char *const a[] = {"share", path, csv, "--key", in_folder(&c, "o%u.key", key, 0),
                                 NULL};
        if (support_run(in_folder(&c, "share%u.log", output, 0), 60, a) != 0) {
            fprintf(stderr, "see %s\n", output);
            _exit(1);
        }
        tap_close(&tap);
        printf("%u rows of %s as %s: the client sent %llu bytes on the wire, and received %llu\n",
               ROWS, table, as, (unsigned long long)tap.sent, (unsigned long long)tap.received);
        json_object_set_new(out, name, json_integer((json_int_t)tap.sent));
        cast_free(&c);
    }
    bytes_clear(&domain);
    bytes_clear(&workload);
}

/* --------------------------------------------------------------------------------------------------- */

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
    const char *json = argc == 3 && strcmp(argv[1], "--json") == 0 ? argv[2] : NULL;
    json_t *out = json_object();
    int failed = 0;
    if (argc != 1 && json == NULL) {
        fprintf(stderr, "usage: %s [--json FILE]\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    find_program(argv[0]);
    loud.file = stderr;
    done(secret_start(), "the cryptographic library");
    done(e2e_adult(out, &loud), "a run on Adult");
    bench_bytes(out, "adult", "records", "upload_bytes_records_adult");
    bench_bytes(out, "adult_pgm", "answers", "upload_bytes_answers_adult_pgm");
    bench_uploads(out, 1000);
    bench_uploads(out, 10000);
    if (json != NULL)
        failed = json_dump_file(out, json, JSON_INDENT(2) | JSON_SORT_KEYS);
    json_decref(out);
    return failed != 0;
}
