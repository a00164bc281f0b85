#include "bench/servers.h"

#include "aim/evaluate.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/study/keys.h"
#include "parties/study/study.h"
#include "tests/support_process.h"

#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH 512
#define SHARE_S 60
#define RUN_S 1800

struct scene {
    const struct servers_terms *terms;
    char folder[PATH / 2];
    uint16_t port;
    pid_t server[STUDY_SERVERS];
    struct log *log;
};

__attribute__((format(printf, 3, 4))) static void path_of(const struct scene *s, char path[PATH],
                                                          const char *format, ...)
{
    char tail[PATH / 4];
    va_list args;
    va_start(args, format);
    vsnprintf(tail, sizeof tail, format, args);
    va_end(args);
    snprintf(path, PATH, "%s/%s", s->folder, tail);
}

/* --- the study ------------------------------------------------------------------------------- */

static enum err put_key(const struct scene *s, FILE *f, const char *name)
{
    struct identity *identity = NULL;
    char path[PATH], text[KEYS_TEXT_SIZE];
    enum err e = identity_new(&identity, s->log);
    path_of(s, path, "%s.key", name);
    if (e == ERR_OK)
        e = identity_save(identity, path, false, s->log);
    if (e == ERR_OK) {
        public_identity_text(&identity->public, text);
        fprintf(f, "    key: %s\n", text);
    }
    identity_free(&identity);
    return e;
}

static void put_mathematics(const struct scene *s, FILE *f)
{
    const struct domain *d = s->terms->split->train->domain;
    const struct workload *w = s->terms->workload;
    fprintf(f, "study: bench\ndomain:\n");
    for (size_t a = 0; a < d->attributes; a++)
        fprintf(f, "  - {name: \"%s\", kind: integer, min: 0, max: %u}\n", d->attribute[a].name,
                d->attribute[a].size - 1);
    fprintf(f, "workload:\n");
    for (size_t i = 0; i < w->cliques; i++) {
        fprintf(f, "  - attributes: [");
        for (unsigned k = 0; k < w->clique[i].n; k++)
            fprintf(f, "%s\"%s\"", k > 0 ? ", " : "", d->attribute[w->clique[i].attribute[k]].name);
        fprintf(f, "]\n");
    }
    fprintf(f, "budget: {epsilon: %g, delta: %g}\nnoise: box-muller\nrounds: %u\n",
            s->terms->epsilon, s->terms->delta, s->terms->rounds);
    fprintf(f, "model: {max_mib: %u}\ndeadlines: {connect: 20, round: 600}\n", s->terms->model_mib);
}

static enum err put_people(const struct scene *s, FILE *f)
{
    const struct split *split = s->terms->split;
    char name[32];
    fprintf(f, "servers:\n");
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        snprintf(name, sizeof name, "s%u", i);
        fprintf(f, "  - name: %s\n    endpoint: tcp://127.0.0.1:%u\n", name,
                s->port + i * STUDY_PORTS);
        TRY(put_key(s, f, name));
    }
    fprintf(f, "owners:\n");
    for (size_t k = 0; k < split->clients; k++) {
        if (!s->terms->here[k])
            continue;
        snprintf(name, sizeof name, "c%zu", k);
        fprintf(f, "  - name: %s\n    max_rows: %zu\n    as: %s\n", name, split->client[k]->rows,
                s->terms->answers ? "answers" : "auto");
        TRY(put_key(s, f, name));
    }
    fprintf(f, "analysts:\n  - name: a\n");
    return put_key(s, f, "a");
}

static enum err write_study(const struct scene *s)
{
    char path[PATH];
    FILE *f;
    enum err e;
    path_of(s, path, "study.yaml");
    f = fopen(path, "w");
    if (f == NULL)
        return ERR_SYSTEM;
    put_mathematics(s, f);
    e = put_people(s, f);
    if (fclose(f) != 0)
        e = ERR_SYSTEM;
    return e;
}

/* --- processes ------------------------------------------------------------------------------- */

static enum err ended_well(const struct scene *s, int code, const char *what, const char *output)
{
    if (code == 0)
        return ERR_OK;
    log_error(s->log, "trefoil %s ended with %d; see %s", what, code, output);
    return ERR_SYSTEM;
}

static enum err start_servers(struct scene *s)
{
    char study[PATH], key[PATH], folder[PATH], output[PATH];
    path_of(s, study, "study.yaml");
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        const char *const arguments[] = {"serve", study,      "--key",     key, "--folder",
                                         folder,  "--listen", "127.0.0.1", NULL};
        path_of(s, key, "s%u.key", i);
        path_of(s, folder, "s%u", i);
        path_of(s, output, "s%u.log", i);
        s->server[i] = support_start(output, arguments);
    }
    return ERR_OK;
}

static json_t *stats_of(const struct scene *s, const char *name)
{
    char path[PATH];
    path_of(s, path, "%s", name);
    return data_json(path, s->log);
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static enum err share(const struct scene *s, size_t k, struct servers_figures *f)
{
    char study[PATH], data[PATH], key[PATH], stats[PATH], output[PATH], name[32];
    const char *const arguments[] = {"share", study, data, "--key", key, "--stats", stats, NULL};
    json_t *json;
    path_of(s, study, "study.yaml");
    path_of(s, data, "c%zu.csv", k);
    path_of(s, key, "c%zu.key", k);
    snprintf(name, sizeof name, "c%zu.json", k);
    path_of(s, stats, "%s", name);
    path_of(s, output, "share.log");
    TRY(table_write_csv(data, s->terms->split->client[k], 0, s->log));
    TRY(ended_well(s, support_run(output, SHARE_S, arguments), "share", output));
    json = stats_of(s, name);
    if (json == NULL)
        return ERR_FORMAT;
    f->uploads++;
    f->sent += number(json, "bytes_sent");
    f->received += number(json, "bytes_received");
    f->vector += number(json, "bytes");
    f->records += strcmp(json_string_value(json_object_get(json, "as")), "records") == 0;
    json_decref(json);
    return ERR_OK;
}

static enum err share_all(const struct scene *s, struct servers_figures *f)
{
    for (size_t k = 0; k < s->terms->split->clients; k++)
        if (s->terms->here[k])
            TRY(share(s, k, f));
    f->sent /= f->uploads;
    f->received /= f->uploads;
    f->vector /= f->uploads;
    f->records /= f->uploads;
    return ERR_OK;
}

static void read_stats(const json_t *stats, struct servers_figures *f)
{
    const json_t *analyst = json_object_get(stats, "analyst"), *server;
    const char *phase;
    json_t *counters;
    size_t i;
    f->analyst_bytes = number(analyst, "bytes_sent") + number(analyst, "bytes_received");
    f->mpc_s = number(stats, "mpc_s");
    f->estimate_s = number(stats, "estimate_s");
    json_array_foreach(json_object_get(stats, "servers"), i, server)
    {
        json_object_foreach((json_t *)(uintptr_t)server, phase, counters)
        {
            f->server_bytes += number(counters, "wire_sent");
            f->noise_bytes += strcmp(phase, "noise") == 0 ? number(counters, "wire_sent") : 0;
            f->exchanges += i == 0 ? number(counters, "rounds") : 0;
        }
    }
}

static enum err evaluate(const struct scene *s, struct servers_figures *f)
{
    const struct table *train = s->terms->split->train;
    struct table *rows = NULL;
    char path[PATH];
    enum err e;
    path_of(s, path, "result/synthetic.csv");
    e = table_read_csv(&rows, train->domain, path, NULL, s->log);
    if (e == ERR_OK)
        e = evaluate_tables(s->terms->workload, train, rows, NULL, &f->l1);
    table_free(&rows);
    return e;
}

/* Processor seconds of a process so far: user and system, fields 14 and 15 of its stat. */
static double processor_seconds(pid_t pid)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    FILE *file;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fgets(text, sizeof text, file) == NULL || strrchr(text, ')') == NULL ||
        sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
               &user, &system) != 2)
        user = system = 0;
    fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static enum err run(const struct scene *s, struct servers_figures *f)
{
    double before[STUDY_SERVERS];
    char study[PATH], key[PATH], out[PATH], output[PATH];
    const char *const arguments[] = {"run", study, "--key", key, "--out", out, NULL};
    json_t *stats;
    path_of(s, study, "study.yaml");
    path_of(s, key, "a.key");
    path_of(s, out, "result");
    path_of(s, output, "run.log");
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        before[i] = processor_seconds(s->server[i]);
    TRY(ended_well(s, support_run(output, RUN_S, arguments), "run", output));
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        f->busiest_s = fmax(f->busiest_s, processor_seconds(s->server[i]) - before[i]);
    stats = stats_of(s, "result/stats.json");
    if (stats == NULL)
        return ERR_FORMAT;
    read_stats(stats, f);
    json_decref(stats);
    return evaluate(s, f);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

enum err servers_run(const struct servers_terms *terms, struct servers_figures *figures,
                     struct log *log)
{
    struct scene s = {.terms = terms, .folder = "/tmp/trefoil-bench-XXXXXX", .log = log};
    enum err e;
    *figures = (struct servers_figures){0};
    TRY(secret_start());
    if (mkdtemp(s.folder) == NULL)
        return ERR_SYSTEM;
    s.port = support_ports(STUDY_SERVERS * STUDY_PORTS);
    e = write_study(&s);
    if (e == ERR_OK)
        e = start_servers(&s);
    if (e == ERR_OK)
        e = share_all(&s, figures);
    if (e == ERR_OK)
        e = run(&s, figures);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        if (support_stop(&s.server[i]) != 0 && e == ERR_OK)
            log_warn(log, "server %u did not end well; see %s/s%u.log", i, s.folder, i);
    if (e == ERR_OK) /* else what happened can be read there */
        nftw(s.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return e;
}
