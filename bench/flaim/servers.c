#include "bench/flaim/servers.h"

#include "aim/answer/evaluate.h"
#include "aim/table/csv.h"
#include "base/memory.h"
#include "bench/cpu.h"
#include "bench/study_text.h"
#include "harness/process.h"

#include <math.h>
#include <string.h>

#define SHARE_S 60
#define RUN_S 1800
#define PART 64

struct servers_scene {
    const struct servers_terms *terms;
    struct support_study s;
    size_t *client; /* for each of the study's owners: its client in the split */
    pid_t server[STUDY_SERVERS_MOST];
    struct log *log;
};

/* --- the study ------------------------------------------------------------------------------- */

/* An owner for each client that takes part, and its lines in the study. */
static unsigned invite(struct servers_scene *s, char (*lines)[PART], const char **part)
{
    const struct flaim_split *split = s->terms->split;
    unsigned owners = 0;
    for (size_t k = 0; k < split->clients; k++) {
        if (!s->terms->here[k])
            continue;
        snprintf(lines[owners], PART, "    max_rows: %zu\n    as: %s\n", split->client[k]->rows,
                 s->terms->counts ? "counts" : "auto");
        part[owners] = lines[owners];
        s->client[owners++] = k;
    }
    return owners;
}

static enum err make_study(struct servers_scene *s)
{
    const struct servers_terms *t = s->terms;
    const struct domain *d = t->split->train->domain;
    char(*lines)[PART] = memory_array(t->split->clients, sizeof *lines);
    char more[PART];
    const char **part = memory_array(t->split->clients, sizeof *part);
    struct study_options o = {.rounds = t->rounds,
                              .epsilon = t->epsilon,
                              .delta = t->delta,
                              .connect_s = 20,
                              .round_s = 600,
                              .more = more,
                              .part = part};
    struct bytes domain = {0}, workload = {0};
    enum err e = lines != NULL && part != NULL ? ERR_OK : ERR_NOMEM;
    snprintf(more, sizeof more, "model: {max_mib: %u}\nsecurity: %s\n", t->model_mib,
             t->proved ? "abort" : "semi-honest");
    study_text_domain(d, NULL, &domain);
    study_text_workload(t->workload, d, &workload);
    if (e == ERR_OK)
        e = bytes_ok(&domain);
    if (e == ERR_OK)
        e = bytes_ok(&workload);
    if (e == ERR_OK) {
        o.owners = invite(s, lines, part);
        o.domain = (const char *)domain.data;
        o.workload = (const char *)workload.data;
        e = support_study_new(&s->s, &o, s->log);
    }
    bytes_clear(&domain);
    bytes_clear(&workload);
    memory_free_all(&lines, &part);
    return e;
}

/* --- processes ------------------------------------------------------------------------------- */

static enum err ended_well(const struct servers_scene *s, int code, const char *what,
                           const char *output)
{
    if (code == 0)
        return ERR_OK;
    log_error(s->log, "trefoil %s ended with %d; see %s", what, code, output);
    return ERR_SYSTEM;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static enum err share(const struct servers_scene *s, unsigned i, struct servers_figures *f)
{
    const char *data = support_path(&s->s, "o%u.csv", i);
    const char *stats = support_path(&s->s, "o%u.json", i);
    const char *output = support_path(&s->s, "share.log");
    const char *const arguments[] = {
        "share",   s->s.path, data, "--key", support_path(&s->s, "o%u.key", i),
        "--stats", stats,     NULL};
    json_t *json;
    TRY(table_write_csv(data, s->terms->split->client[s->client[i]], NULL, 0, NULL, s->log));
    TRY(ended_well(s, support_run(output, SHARE_S, arguments), "share", output));
    json = data_json(stats, s->log);
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

static enum err share_all(const struct servers_scene *s, struct servers_figures *f)
{
    for (unsigned i = 0; i < s->s.owners; i++)
        TRY(share(s, i, f));
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

static enum err evaluate(const struct servers_scene *s, struct servers_figures *f)
{
    const struct table *train = s->terms->split->train;
    struct table *rows = NULL;
    enum err e = table_read_csv(&rows, train->domain, support_path(&s->s, "result/synthetic.csv"),
                                NULL, s->log);
    if (e == ERR_OK)
        e = evaluate_tables(s->terms->workload, train, rows, NULL, &f->l1);
    table_free(&rows);
    return e;
}

static enum err run(const struct servers_scene *s, struct servers_figures *f)
{
    const char *output = support_path(&s->s, "run.log");
    const char *const arguments[] = {"run",   s->s.path,
                                     "--key", support_path(&s->s, "a.key"),
                                     "--out", support_path(&s->s, "result"),
                                     NULL};
    double before[STUDY_SERVERS_MOST];
    json_t *stats;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        before[i] = cpu_of(s->server[i]);
    TRY(ended_well(s, support_run(output, RUN_S, arguments), "run", output));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        f->busiest_s = fmax(f->busiest_s, cpu_of(s->server[i]) - before[i]);
    stats = data_json(support_path(&s->s, "result/stats.json"), s->log);
    if (stats == NULL)
        return ERR_FORMAT;
    read_stats(stats, f);
    json_decref(stats);
    return evaluate(s, f);
}

enum err servers_run(const struct servers_terms *terms, struct servers_figures *figures,
                     struct log *log)
{
    struct servers_scene s = {.terms = terms, .log = log};
    enum err e;
    *figures = (struct servers_figures){0};
    s.client = memory_array(terms->split->clients, sizeof *s.client);
    e = s.client != NULL ? make_study(&s) : ERR_NOMEM;
    for (unsigned i = 0; e == ERR_OK && i < STUDY_SERVERS_MOST; i++)
        s.server[i] = support_serve(&s.s, i, s.s.path);
    if (e == ERR_OK)
        e = share_all(&s, figures);
    if (e == ERR_OK)
        e = run(&s, figures);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        if (s.server[i] > 0 && support_stop(&s.server[i]) != 0 && e == ERR_OK)
            log_warn(log, "server %u did not end well; see %s/server%u.log", i, s.s.folder, i);
    if (e == ERR_OK) /* otherwise the folder shows what happened */
        support_study_free(&s.s);
    memory_free(&s.client);
    return e;
}
