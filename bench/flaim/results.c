#include "bench/flaim/results.h"

#include "base/file.h"
#include "base/memory.h"
#include "bench/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST ((size_t)1 << 28)
#define SEEDS_MOST 100

struct results {
    char *path;
    json_t *by_name;
    struct log *log;
};

static void take_line(struct results *r, const char *line, size_t n)
{
    json_t *entry = json_loadb(line, n, 0, NULL);
    const char *name = json_string_value(json_object_get(entry, "name"));
    json_t *figures = json_object_get(entry, "figures");
    if (name != NULL && json_is_object(figures))
        json_object_set(r->by_name, name, figures);
    json_decref(entry);
}

static enum err read_lines(struct results *r)
{
    struct bytes text = {0};
    FILE *f = fopen(r->path, "r");
    if (f == NULL)
        return ERR_OK; /* nothing has been run */
    fclose(f);
    TRY(file_read(r->path, FILE_MOST, &text, r->log));
    for (size_t at = 0; at < text.size;) {
        const uint8_t *end = memchr(text.data + at, '\n', text.size - at);
        size_t n = (end != NULL ? (size_t)(end - text.data) : text.size) - at;
        take_line(r, (const char *)text.data + at, n);
        at += n + 1;
    }
    bytes_clear(&text);
    return ERR_OK;
}

enum err results_open(struct results **out, const char *path, struct log *log)
{
    struct results *r = memory_array(1, sizeof *r);
    enum err e;
    *out = r;
    if (r == NULL)
        return ERR_NOMEM;
    r->log = log;
    r->path = memory_string(path);
    r->by_name = json_object();
    e = r->path != NULL && r->by_name != NULL ? read_lines(r) : ERR_NOMEM;
    if (e != ERR_OK)
        results_free(out);
    return e;
}

void results_free(struct results **r)
{
    if (*r == NULL)
        return;
    memory_free(&(*r)->path);
    json_decref((*r)->by_name);
    memory_free(r);
}

const json_t *results_get(const struct results *r, const char *name)
{
    return json_object_get(r->by_name, name);
}

/* The new entry begins on a line of its own, even if the last line was cut off. */
enum err results_add(struct results *r, const char *name, json_t *figures)
{
    json_t *entry = json_pack("{s:s, s:O}", "name", name, "figures", figures);
    char *text = json_dumps(entry, JSON_COMPACT | JSON_REAL_PRECISION(10));
    FILE *f = fopen(r->path, "a");
    bool ok = f != NULL && text != NULL && fprintf(f, "\n%s\n", text) > 0;
    if (f != NULL && fclose(f) != 0)
        ok = false;
    free(text); /* jansson's */
    json_decref(entry);
    json_object_set_new(r->by_name, name, figures);
    if (ok)
        return ERR_OK;
    log_error(r->log, "cannot write to %s", r->path);
    return ERR_SYSTEM;
}

json_t *figures_json(const struct trial_figures *f)
{
    json_t *o = json_object();
    figures_put(o, f->l1, "l1");
    figures_put(o, f->nll, "nll");
    figures_put(o, f->auc, "auc");
    figures_put(o, f->impossible, "impossible");
    figures_put(o, f->rounds, "rounds");
    figures_put(o, f->model_cells, "model_cells");
    figures_put(o, f->left_out, "left_out");
    figures_put(o, f->clients, "clients");
    figures_put(o, f->closure_cells, "closure_cells");
    figures_put(o, f->paper_sent, "paper_sent");
    figures_put(o, f->paper_received, "paper_received");
    figures_put(o, f->wire_sent, "wire_sent");
    figures_put(o, f->wire_received, "wire_received");
    figures_put(o, f->seconds, "seconds");
    return o;
}

json_t *servers_json(const struct servers_figures *f)
{
    json_t *o = json_object();
    figures_put(o, f->uploads, "uploads");
    figures_put(o, f->sent, "sent");
    figures_put(o, f->received, "received");
    figures_put(o, f->vector, "vector");
    figures_put(o, f->records, "records");
    figures_put(o, f->server_bytes, "server_bytes");
    figures_put(o, f->noise_bytes, "noise_bytes");
    figures_put(o, f->exchanges, "exchanges");
    figures_put(o, f->analyst_bytes, "analyst_bytes");
    figures_put(o, f->mpc_s, "mpc_s");
    figures_put(o, f->estimate_s, "estimate_s");
    figures_put(o, f->l1, "l1");
    return o;
}

struct results_mean results_mean(const struct results *r, const struct trial *t, const char *figure)
{
    struct trial one = *t;
    struct results_mean m = {0};
    double square = 0;
    for (one.seed = 1; one.seed <= SEEDS_MOST; one.seed++) {
        char name[TRIAL_NAME];
        const json_t *value;
        trial_name(&one, name);
        value = json_object_get(results_get(r, name), figure);
        if (!json_is_number(value))
            continue;
        m.seeds++;
        m.mean += json_number_value(value);
        square += json_number_value(value) * json_number_value(value);
    }
    if (m.seeds == 0)
        return (struct results_mean){NAN, NAN, 0};
    m.mean /= m.seeds;
    m.error = m.seeds > 1 ? sqrt(fmax(0, square / m.seeds - m.mean * m.mean) / (m.seeds - 1)) : NAN;
    return m;
}
