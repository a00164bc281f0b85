/* What a report is made of: the files that a run wrote, and nothing else. */
#include "aim/model/model_densities.h"
#include "aim/model/model_file.h"
#include "aim/run/output.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/version.h"
#include "parties/display/report_private.h"

#include <string.h>

static enum err check_version(const json_t *json, const char *path, struct log *log)
{
    const char *format = json_string_value(json_object_get(json, "format"));
    return format == NULL ? ERR_OK
                          : version_check(path, format, strlen(format), "trefoil-stats-1", 1, log);
}

enum err report_read_json(json_t **json, const char *folder, const char *name, struct log *log)
{
    char path[FILE_PATH];
    json_error_t error;
    TRY(file_path(path, log, "%s/%s", folder, name));
    *json = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (*json != NULL)
        return check_version(*json, path, log);
    return log_fail(log, ERR_FORMAT, "%s:%d: %s", path, error.line, error.text);
}

/* A measurement of fewer rows, before an owner joined, is scaled to the model's. */
static void scale(struct measurement *m, const struct report *r)
{
    double by = r->total / m->total;
    m->sigma *= by;
    for (uint64_t i = 0; i < measurement_cells(m, r->domain); i++)
        m->y[i] *= by;
}

static enum err load_measurements(struct report *r, const char *folder)
{
    struct output_found found CLEAN(output_found_clear) = {0};
    char path[FILE_PATH];
    TRY(file_path(path, r->log, "%s/measurements.json", folder));
    TRY(output_read(&found, path, r->domain, r->log));
    r->measurement = found.measurement;
    r->measurements = found.measurements;
    found.measurement = NULL;
    r->sweep = found.sweep;
    found.sweep = NULL;
    r->merges = found.merges;
    found.merges = NULL;
    r->known = found.known;
    r->knowns = found.knowns;
    found.known = NULL;
    for (size_t i = 0; i < r->measurements; i++)
        if (r->measurement[i].total > 0)
            scale(&r->measurement[i], r);
    return ERR_OK;
}

/* Otherwise a measurement would have other cells than the model has for it. */
static enum err check_merged(const struct report *r, const char *folder)
{
    if (r->merges == NULL || (r->model != NULL && merges_equal(r->merges, model_merges(r->model))))
        return ERR_OK;
    return log_fail(r->log, ERR_FORMAT,
                    "%s/measurements.json: \"merged\" is not what the model has merged: the two "
                    "files do not belong together",
                    folder);
}

enum err report_check_stats(const json_t *stats, const struct study *study, const char *folder,
                            struct log *log)
{
    const char *terms = json_string_value(json_object_get(stats, "terms"));
    if (terms != NULL && strcmp(terms, study_fingerprint(study).text) == 0)
        return ERR_OK;
    return log_fail(log, ERR_MISMATCH, "%s does not belong to study %s", folder, study->name);
}

/* Checks what the sections and pictures rely on. */
static enum err check(const struct report *r, const char *folder)
{
    bool same;
    TRY(report_check_stats(r->stats, r->study, folder, r->log));
    TRY(domain_compare(r->domain, r->study->domain, &same));
    if (same && report_round(r, 0) != NULL && json_is_string(json_object_get(r->stats, "finished")))
        return ERR_OK;
    return log_fail(r->log, ERR_MISMATCH, "%s does not belong to study %s", folder, r->study->name);
}

static enum err load_copula(struct report *r, const char *path)
{
    TRY(copula_load(&r->copula, &r->domain, path, r->log));
    r->total = r->copula->total;
    TRY(copula_rows(&r->drawn, r->copula, copula_rows_to_ask(r->copula), 1, r->log));
    return copula_densities(&r->inside, r->copula);
}

static enum err load_model(struct report *r, const char *path)
{
    TRY(model_load(&r->model, &r->domain, path, MODEL_FILE_CELLS, r->log));
    r->total = model_total(r->model);
    return model_densities(&r->inside, r->model, r->log);
}

enum err report_counts(const struct report *r, const struct clique *c, double *counts)
{
    return r->copula != NULL ? copula_marginal(r->copula, r->drawn, c->attribute, c->n, counts)
                             : model_marginal(r->model, c, counts, r->log);
}

enum err report_measured(const struct report *r, const struct measurement *m, double *counts)
{
    return r->model != NULL ? model_measured(r->model, m, counts, r->log)
                            : report_counts(r, &m->clique, counts);
}

enum err report_load(struct report *r, const char *folder)
{
    char path[FILE_PATH];
    TRY(file_path(path, r->log, "%s/model", folder));
    TRY(copula_is_file(path) ? load_copula(r, path) : load_model(r, path));
    TRY(load_measurements(r, folder));
    TRY(check_merged(r, folder));
    TRY(report_read_json(&r->stats, folder, "stats.json", r->log));
    return check(r, folder);
}

void report_unload(struct report *r)
{
    for (size_t i = 0; r->measurement != NULL && i < r->measurements; i++)
        memory_free(&r->measurement[i].y);
    for (size_t i = 0; r->known != NULL && i < r->knowns; i++)
        memory_free(&r->known[i].y);
    memory_free(&r->measurement);
    memory_free(&r->sweep);
    merges_free(&r->merges);
    memory_free(&r->known);
    json_decref(r->stats);
    densities_clear(&r->inside);
    model_free(&r->model);
    table_free(&r->drawn);
    copula_free(&r->copula);
    domain_free(&r->domain);
}

/* The phases' names in stats.json and on the page, in the page's order. */
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
