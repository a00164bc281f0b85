/* What a report is made of: the files that a run wrote, and nothing else. */
#include "base/file.h"
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
    double by = released_total(r->of) / m->total;
    m->sigma *= by;
    for (uint64_t i = 0; i < measurement_cells(m, r->of->domain); i++)
        m->y[i] *= by;
}

static enum err load_measurements(struct report *r, const char *folder)
{
    char path[FILE_PATH];
    TRY(file_path(path, r->log, "%s/measurements.json", folder));
    TRY(output_read(&r->found, path, r->of->domain, r->log));
    for (size_t i = 0; i < r->found.measurements; i++)
        if (r->found.measurement[i].total > 0)
            scale(&r->found.measurement[i], r);
    if (r->of->copula != NULL)
        r->opened = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    return r->of->copula == NULL || r->opened != NULL ? ERR_OK : ERR_NOMEM;
}

/* Otherwise a measurement would have other cells than the model has for it. */
static enum err check_merged(const struct report *r, const char *folder)
{
    if (r->found.merges == NULL ||
        (r->of->model != NULL && merges_equal(r->found.merges, model_merges(r->of->model))))
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
static enum err check_folder(const struct report *r, const char *folder)
{
    bool same;
    TRY(report_check_stats(r->stats, r->study, folder, r->log));
    TRY(domain_compare(r->of->domain, r->study->domain, &same));
    if (same && report_round(r, 0) != NULL && json_is_string(json_object_get(r->stats, "finished")))
        return ERR_OK;
    return log_fail(r->log, ERR_MISMATCH, "%s does not belong to study %s", folder, r->study->name);
}

enum err report_load(struct report *r, const char *folder)
{
    char path[FILE_PATH];
    TRY(file_path(path, r->log, "%s/model", folder));
    TRY(released_load(r->of, path, r->log));
    TRY(load_measurements(r, folder));
    TRY(check_merged(r, folder));
    TRY(report_read_json(&r->stats, folder, "stats.json", r->log));
    return check_folder(r, folder);
}

void report_unload(struct report *r)
{
    output_found_clear(&r->found);
    json_decref(r->stats);
    json_decref(r->opened);
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
