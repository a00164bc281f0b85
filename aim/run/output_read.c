/* measurements.json, read back. */
#include "aim/run/output.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/version.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define OUTPUT_FILE_MAX (UINT64_C(4) << 30)

struct output_reading {
    const char *path;
    const struct domain *domain;
    const struct merges *merges;
    char place[64]; /* the measurement's: "measurements[3]."; "" outside the list */
    struct log *log;
};

static enum err wrong(const struct output_reading *r, const char *field, const char *what)
{
    return log_fail(r->log, ERR_FORMAT, "%s: %s%s %s", r->path, r->place, field, what);
}

/* A finite number: jansson refuses others. */
static enum err number_of(const struct output_reading *r, const json_t *o, const char *key,
                          double *v)
{
    const json_t *number = json_object_get(o, key);
    *v = json_number_value(number);
    return json_is_number(number) ? ERR_OK : wrong(r, key, "must be a number");
}

static enum err positive_of(const struct output_reading *r, const json_t *o, const char *key,
                            double *v)
{
    TRY(number_of(r, o, key, v));
    return *v > 0 ? ERR_OK : wrong(r, key, "must be above 0");
}

/* --- a measurement ---------------------------------------------------------------------------- */

static enum err read_clique(const struct output_reading *r, const json_t *names, struct clique *c)
{
    size_t n = json_array_size(names);
    *c = (struct clique){.n = (uint16_t)n};
    if (n == 0 || n > CLIQUE_MAX)
        return wrong(r, "attributes", "must be a list of one to eight names");
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        uint32_t a = name != NULL ? domain_find(r->domain, name) : DOMAIN_NO_CODE;
        if (a == DOMAIN_NO_CODE)
            return wrong(r, "attributes", "has what is no column of the model");
        if (i > 0 && a <= c->attribute[i - 1])
            return wrong(r, "attributes", "must be in the order of the model's, each once");
        c->attribute[i] = (uint16_t)a;
    }
    return ERR_OK;
}

static enum err read_values(const struct output_reading *r, const json_t *values,
                            struct measurement *m)
{
    uint64_t cells = measurement_cells(m, r->domain);
    if (!json_is_array(values) || json_array_size(values) != cells) {
        char what[80];
        snprintf(what, sizeof what, "must be a list of %llu numbers", (unsigned long long)cells);
        return wrong(r, "values", what);
    }
    TRY(memory_new(&m->y, cells));
    for (size_t i = 0; i < cells; i++) {
        const json_t *value = json_array_get(values, i);
        if (!json_is_number(value))
            return wrong(r, "values", "must be numbers");
        m->y[i] = json_number_value(value);
    }
    return ERR_OK;
}

static enum err read_measurement(const struct output_reading *r, const json_t *o, bool noisy,
                                 struct measurement *m)
{
    TRY(read_clique(r, json_object_get(o, "attributes"), &m->clique));
    if (noisy)
        TRY(positive_of(r, o, "sigma", &m->sigma));
    if (json_object_get(o, "total") != NULL)
        TRY(positive_of(r, o, "total", &m->total));
    if (json_is_true(json_object_get(o, "merged"))) {
        if (!noisy)
            return wrong(r, "merged", "is said of known counts, which are of every value");
        if (r->merges == NULL || !merges_touch(r->merges, &m->clique))
            return wrong(r, "merged", "is said of columns of which nothing is merged");
        m->merges = r->merges;
    }
    return read_values(r, json_object_get(o, "values"), m);
}

static enum err read_sweep(const struct output_reading *r, const json_t *o, unsigned *sweep)
{
    const json_t *number = json_object_get(o, "sweep");
    *sweep = (unsigned)json_integer_value(number);
    if (number == NULL ||
        (json_is_integer(number) && *sweep > 0 && json_integer_value(number) == (json_int_t)*sweep))
        return ERR_OK;
    return wrong(r, "sweep", "must be a whole number from 1 on");
}

static enum err read_measurements(struct output_reading *r, const json_t *list,
                                  struct output_found *found)
{
    const size_t one_ways = r->domain->attributes, count = json_array_size(list);
    if (count < one_ways)
        return wrong(r, "measurements", "must be a list, with one of every column first");
    TRY(memory_new(&found->measurement, count));
    TRY(memory_new(&found->sweep, count));
    for (size_t i = 0; i < count; i++) {
        struct measurement *m = &found->measurement[found->measurements++];
        snprintf(r->place, sizeof r->place, "measurements[%zu].", i);
        TRY(read_measurement(r, json_array_get(list, i), true, m));
        TRY(read_sweep(r, json_array_get(list, i), &found->sweep[i]));
        if (i < one_ways && m->merges != NULL)
            return wrong(r, "merged", "comes too early: first every column is measured as it is");
        if (i < one_ways && (m->clique.n != 1 || m->clique.attribute[0] != i))
            return wrong(r, "attributes", "comes too early: first is one of every column");
    }
    return ERR_OK;
}

static enum err read_known(struct output_reading *r, const json_t *list, struct output_found *found)
{
    TRY(memory_new(&found->known, json_array_size(list)));
    for (size_t i = 0; i < json_array_size(list); i++) {
        snprintf(r->place, sizeof r->place, "known[%zu].", i);
        TRY(read_measurement(r, json_array_get(list, i), false, &found->known[found->knowns++]));
    }
    return ERR_OK;
}

/* --- the file --------------------------------------------------------------------------------- */

/* The sizes tell whether the file belongs to this domain. */
static enum err check_domain(const struct output_reading *r, const json_t *sizes)
{
    const struct domain *d = r->domain;
    bool same = json_object_size(sizes) == d->attributes;
    for (size_t a = 0; same && a < d->attributes; a++)
        same = json_integer_value(json_object_get(sizes, d->attribute[a].name)) ==
               d->attribute[a].size;
    return same ? ERR_OK
                : wrong(r, "domain", "is not the model's: the two files do not go together");
}

static enum err put_merged(const struct output_reading *r, uint32_t a, const json_t *list,
                           struct bytes *out)
{
    const size_t codes = json_array_size(list);
    if (codes != r->domain->attribute[a].size)
        return wrong(r, "merged", "must have as many numbers as the column has codes");
    bytes_put_u16(out, (uint16_t)a);
    for (size_t i = 0; i < codes; i++) {
        const json_t *group = json_array_get(list, i);
        if (!json_is_integer(group) || json_integer_value(group) < 0 ||
            json_integer_value(group) > UINT32_MAX)
            return wrong(r, "merged", "must list the group of each code");
        bytes_put_u32(out, (uint32_t)json_integer_value(group));
    }
    return ERR_OK;
}

/* Goes through the bytes of aim/workload/merge.h, which are checked where they are read. */
static enum err read_merged(struct output_reading *r, const json_t *merged,
                            struct output_found *found)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    struct reader in;
    size_t columns = 0;
    if (merged == NULL)
        return ERR_OK;
    bytes_put_u16(&b, (uint16_t)json_object_size(merged));
    for (uint32_t a = 0; a < r->domain->attributes; a++) {
        const json_t *list = json_object_get(merged, r->domain->attribute[a].name);
        columns += list != NULL;
        if (list != NULL)
            TRY(put_merged(r, a, list, &b));
    }
    TRY(bytes_ok(&b));
    TRY(memory_new(&found->merges, 1));
    in = reader_of(b.data, b.size);
    if (columns == 0 || columns != json_object_size(merged) ||
        merges_read(found->merges, r->domain, &in) != ERR_OK)
        return wrong(r, "merged",
                     "must list columns, each with the group of each code, numbered in the order "
                     "in which they occur; groups of numbers are neighbours");
    r->merges = found->merges;
    return ERR_OK;
}

/* --- the assessment --------------------------------------------------------------------------- */

static enum err read_distances(const struct output_reading *r, const json_t *o, const char *key,
                               size_t pairs, double *off)
{
    const json_t *list = json_object_get(o, key);
    if (json_array_size(list) != pairs)
        return wrong(r, key, "must have a number for each pair");
    for (size_t i = 0; i < pairs; i++)
        off[i] = json_number_value(json_array_get(list, i));
    return ERR_OK;
}

static enum err read_pairs(const struct output_reading *r, const json_t *o, struct assess *a)
{
    for (size_t i = 0; i < a->pairs; i++) {
        TRY(read_clique(r, json_array_get(json_object_get(o, "attributes"), i), &a->pair[i]));
        a->measured[i] = json_is_true(json_array_get(json_object_get(o, "measured"), i));
    }
    if (json_object_get(o, "independent") == NULL)
        return ERR_OK;
    TRY(memory_new(&a->alone, a->pairs));
    return read_distances(r, o, "independent", a->pairs, a->alone);
}

static enum err read_assess(struct output_reading *r, const json_t *o, struct output_found *found)
{
    struct assess *a CLEAN(assess_free) = NULL;
    if (o == NULL)
        return ERR_OK;
    snprintf(r->place, sizeof r->place, "assess.");
    TRY(assess_new(&a, json_array_size(json_object_get(o, "attributes"))));
    TRY(positive_of(r, o, "sigma", &a->sigma));
    TRY(positive_of(r, o, "total", &a->total));
    TRY(number_of(r, o, "rho", &a->cost));
    TRY(read_pairs(r, o, a));
    TRY(read_distances(r, o, "values", a->pairs, a->off));
    return memory_hand_over(&found->assess, &a);
}

/* A model needs none of them, so they are only handed on. */
static enum err keep_scores(const json_t *scores, struct output_found *found)
{
    if (scores == NULL)
        return ERR_OK;
    found->scores = json_dumps(scores, JSON_COMPACT | JSON_REAL_PRECISION(17));
    return found->scores != NULL ? ERR_OK : ERR_NOMEM;
}

static enum err read_root(struct output_reading *r, const json_t *root, struct output_found *found)
{
    static const char known[] = "trefoil-measurements-2";
    const char *format = json_string_value(json_object_get(root, "format"));
    double rows;
    if (format != NULL)
        TRY(version_check(r->path, format, strlen(format), known, 1, r->log));
    if (format == NULL || version_of(format, strlen(format), known) == 0)
        return wrong(r, "format", "must be \"trefoil-measurements-2\" or an earlier one");
    TRY(positive_of(r, root, "epsilon", &found->epsilon));
    TRY(number_of(r, root, "delta", &found->delta));
    TRY(positive_of(r, root, "rho", &found->rho));
    TRY(positive_of(r, root, "rows_per_person", &rows));
    if (rows > 1e9 || rows != floor(rows))
        return wrong(r, "rows_per_person", "must be a whole number");
    found->rows_per_person = (unsigned)rows;
    TRY(check_domain(r, json_object_get(root, "domain")));
    TRY(read_merged(r, json_object_get(root, "merged"), found));
    TRY(read_measurements(r, json_object_get(root, "measurements"), found));
    TRY(read_known(r, json_object_get(root, "known"), found));
    TRY(read_assess(r, json_object_get(root, "assess"), found));
    return keep_scores(json_object_get(root, "scores"), found);
}

enum err output_read(struct output_found *found, const char *path, const struct domain *domain,
                     struct log *log)
{
    struct output_reading r = {.path = path, .domain = domain, .log = log};
    struct bytes text CLEAN(bytes_clear) = {0};
    json_auto_t *root = NULL;
    json_error_t error;
    *found = (struct output_found){0};
    TRY(file_read(path, OUTPUT_FILE_MAX, &text, log));
    if (text.size == 0)
        return log_fail(log, ERR_FORMAT, "%s is empty", path);
    root = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return log_fail(log, ERR_FORMAT, "%s:%d: %s", path, error.line, error.text);
    return read_root(&r, root, found);
}

void output_found_clear(struct output_found *found)
{
    for (size_t i = 0; i < found->measurements && found->measurement != NULL; i++)
        memory_free(&found->measurement[i].y);
    for (size_t i = 0; i < found->knowns && found->known != NULL; i++)
        memory_free(&found->known[i].y);
    memory_free_all(&found->measurement, &found->sweep, &found->known);
    merges_free(&found->merges);
    assess_free(&found->assess);
    memory_free(&found->scores);
}
