/* What a report is made of: the files that a run wrote, and nothing else. */
#include "aim/model_file.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/display/report_private.h"

#include <string.h>

enum err report_read_json(json_t **json, const char *folder, const char *name, struct log *log)
{
    char path[FILE_PATH];
    json_error_t error;
    TRY(file_path(path, log, "%s/%s", folder, name));
    *json = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (*json != NULL)
        return ERR_OK;
    return log_fail(log, ERR_FORMAT, "%s:%d: %s", path, error.line, error.text);
}

static enum err take_clique(const struct domain *d, const json_t *names, struct clique *c)
{
    size_t n = json_array_size(names);
    *c = (struct clique){.n = (uint16_t)n};
    if (n == 0 || n > CLIQUE_MAX)
        return ERR_FORMAT;
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        uint32_t a = name != NULL ? domain_find(d, name) : DOMAIN_NO_CODE;
        if (a == DOMAIN_NO_CODE || (i > 0 && a <= c->attribute[i - 1]))
            return ERR_FORMAT;
        c->attribute[i] = (uint16_t)a;
    }
    return ERR_OK;
}

/* A measurement of fewer rows, before an owner joined, is scaled to the model's `rows`. */
static enum err take_measurement(const struct domain *d, const json_t *from, double rows,
                                 struct measurement *m)
{
    const json_t *values = json_object_get(from, "values");
    double scale;
    uint64_t cells;
    TRY(take_clique(d, json_object_get(from, "attributes"), &m->clique));
    m->total = json_number_value(json_object_get(from, "total"));
    scale = m->total > 0 ? rows / m->total : 1;
    m->sigma = scale * json_number_value(json_object_get(from, "sigma"));
    cells = clique_cells(&m->clique, d);
    if (json_array_size(values) != cells || !(m->sigma > 0))
        return ERR_FORMAT;
    TRY(memory_new(&m->y, cells));
    for (size_t i = 0; i < cells; i++)
        m->y[i] = scale * json_number_value(json_array_get(values, i));
    return ERR_OK;
}

static enum err load_measurements(struct report *r, const char *folder)
{
    json_auto_t *doc = NULL;
    const json_t *list;
    enum err e = ERR_OK;
    TRY(report_read_json(&doc, folder, "measurements.json", r->log));
    list = json_object_get(doc, "measurements");
    r->measurements = json_array_size(list);
    TRY(memory_new(&r->measurement, r->measurements));
    for (size_t i = 0; e == ERR_OK && i < r->measurements; i++)
        e = take_measurement(r->domain, json_array_get(list, i), model_total(r->model),
                             &r->measurement[i]);
    if (e == ERR_FORMAT)
        log_error(r->log, "%s/measurements.json does not go with %s/model", folder, folder);
    return e;
}

static bool begins_with_one_ways(const struct report *r)
{
    for (size_t a = 0; a < r->domain->attributes; a++)
        if (a == r->measurements || r->measurement[a].clique.n != 1 ||
            r->measurement[a].clique.attribute[0] != a)
            return false;
    return true;
}

static bool of_these_terms(const struct report *r)
{
    const char *terms = json_string_value(json_object_get(r->stats, "terms"));
    return terms != NULL && strcmp(terms, study_fingerprint(r->study).text) == 0;
}

/* What the sections and pictures rely on. */
static enum err check(const struct report *r, const char *folder)
{
    bool same;
    TRY(domain_compare(r->domain, r->study->domain, &same));
    if (same && of_these_terms(r) && begins_with_one_ways(r) && report_round(r, 0) != NULL &&
        json_is_string(json_object_get(r->stats, "finished")))
        return ERR_OK;
    return log_fail(r->log, ERR_MISMATCH, "what %s holds is not of study %s", folder,
                    r->study->name);
}

enum err report_load(struct report *r, const char *folder)
{
    char path[FILE_PATH];
    TRY(file_path(path, r->log, "%s/model", folder));
    TRY(model_load(&r->model, &r->domain, path, MODEL_FILE_CELLS, r->log));
    TRY(load_measurements(r, folder));
    TRY(report_read_json(&r->stats, folder, "stats.json", r->log));
    return check(r, folder);
}

void report_unload(struct report *r)
{
    for (size_t i = 0; r->measurement != NULL && i < r->measurements; i++)
        memory_free(&r->measurement[i].y);
    memory_free(&r->measurement);
    json_decref(r->stats);
    model_free(&r->model);
    domain_free(&r->domain);
}

/* As stats.json names them, and as the page does, in its order. */
const struct report_phase report_phases[REPORT_PHASES] = {
    {"collect", "uploads"}, {"noise", "making noise"}, {"compute", "counting"},
    {"select", "choosing"}, {"measure", "measuring"},  {"other", "agreeing, waiting"},
};

const json_t *report_round(const struct report *r, size_t round)
{
    return json_array_get(json_object_get(r->stats, "rounds"), round);
}

const json_t *report_phase(const struct report *r, unsigned server, size_t phase)
{
    return json_object_get(json_array_get(json_object_get(r->stats, "servers"), server),
                           report_phases[phase].key);
}

double report_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}
