/* classifier.json, written and read back. */
#include "aim/table/lists.h"
#include "aim/train/classifier.h"
#include "base/file.h"
#include "base/memory.h"

#include <jansson.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

#define FORMAT "trefoil-classifier-1"
#define FILE_MOST ((size_t)256 << 20)

/* --- writing ---------------------------------------------------------------------------------- */

/* The domain's canonical bytes, in hexadecimal digits. */
static json_t *domain_json(const struct domain *d)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    char *text CLEAN(memory_release) = NULL;
    domain_write(d, &b);
    if (bytes_ok(&b) != ERR_OK || memory_new(&text, 2 * b.size + 1) != ERR_OK)
        return NULL;
    return json_string(sodium_bin2hex(text, 2 * b.size + 1, b.data, b.size));
}

static json_t *classes_json(const struct features *f)
{
    json_t *list = json_array();
    char room[COLUMN_TEXT];
    for (uint32_t k = 0; k < f->classes; k++)
        list_append(&list, json_string(classifier_class(f, k, room)));
    return list;
}

static json_t *names_json(const struct features *f)
{
    json_t *list = json_array();
    char name[CLASSIFIER_NAME];
    for (uint32_t i = 0; i + 1 < f->count; i++) {
        classifier_feature(f, i, name);
        list_append(&list, json_string(name));
    }
    return list;
}

static json_t *columns_json(const struct domain *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->attributes; i++)
        list_append(&list, list_attribute(&d->attribute[i]));
    return list;
}

static void put_numbers(json_t **root, const struct classifier *c)
{
    const struct features *f = c->features;
    json_t *coef = json_array(), *intercept = json_array();
    for (uint32_t k = 0; k < f->outputs; k++) {
        const double *of = c->coef + (size_t)k * f->count;
        list_append(&coef, list_numbers(of, f->count - 1));
        list_append(&intercept, json_real(of[f->count - 1]));
    }
    list_set(root, "coef", coef);
    list_set(root, "intercept", intercept);
}

/* A number, or null where it cannot be had. */
static json_t *figure(double v)
{
    return isnan(v) ? json_null() : json_real(v);
}

static json_t *test_json(const struct tested *t)
{
    json_t *auc = json_array(), *error = json_array(), *counts = json_array();
    for (uint32_t k = 0; k < t->outputs; k++) {
        list_append(&auc, figure(t->auc[k].value));
        list_append(&error, figure(t->auc[k].error));
        list_append(&counts, list_numbers(t->count + k * FEATURES_CELLS, FEATURES_CELLS));
    }
    return json_pack("{s:s, s:s, s:f, s:f, s:o, s:o, s:o, s:o, s:o}", "column", t->column, "value",
                     t->value, "rows", t->rows, "sigma", t->sigma, "accuracy",
                     figure(t->accuracy.value), "accuracy_error", figure(t->accuracy.error), "auc",
                     auc, "auc_error", error, "counts", counts);
}

static json_t *document(const struct classifier *c)
{
    const struct features *f = c->features;
    json_t *root = json_pack("{s:s, s:f, s:f, s:f, s:i, s:f, s:s, s:o, s:I, s:o, s:o}", "format",
                             FORMAT, "epsilon", c->epsilon, "delta", c->delta, "rho", c->rho,
                             "rows_per_person", (int)c->rows_per_person, "sigma", c->sigma,
                             "target", f->domain->attribute[f->target].name, "classes",
                             classes_json(f), "norm", (json_int_t)lround(sqrt(f->norm2)), "columns",
                             columns_json(f->domain), "feature_names", names_json(f));
    if (c->tested != NULL)
        list_set(&root, "test", test_json(c->tested));
    put_numbers(&root, c);
    list_set(&root, "domain", domain_json(f->domain));
    return root;
}

enum err classifier_save(const char *path, const struct classifier *c, struct log *log)
{
    return list_save(path, document(c), log);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct classifier_reading {
    const char *path;
    const json_t *root;
    struct log *log;
};

static enum err wrong(const struct classifier_reading *r, const char *field, const char *what)
{
    return log_fail(r->log, ERR_FORMAT, "%s: %s %s", r->path, field, what);
}

static enum err number_of(const struct classifier_reading *r, const char *key, double *v)
{
    const json_t *number = json_object_get(r->root, key);
    *v = json_number_value(number);
    return json_is_number(number) && *v >= 0 ? ERR_OK
                                             : wrong(r, key, "must be a number of 0 or more");
}

static enum err whole_of(const struct classifier_reading *r, const char *key, unsigned most,
                         unsigned *v)
{
    const json_t *number = json_object_get(r->root, key);
    const json_int_t value = json_integer_value(number);
    if (!json_is_integer(number) || value < 0 || value > most)
        return wrong(r, key, "must be a whole number of 0 or more, and not so large");
    *v = (unsigned)value;
    return ERR_OK;
}

static enum err read_domain(const struct classifier_reading *r, struct classifier *c)
{
    const char *text = json_string_value(json_object_get(r->root, "domain"));
    const size_t digits = text == NULL ? 0 : strlen(text);
    uint8_t *bytes CLEAN(memory_release) = NULL;
    size_t size = 0;
    struct reader in;
    TRY(memory_new(&bytes, digits / 2 + 1));
    if (text == NULL ||
        sodium_hex2bin(bytes, digits / 2 + 1, text, digits, NULL, &size, NULL) != 0 ||
        2 * size != digits)
        return wrong(r, "domain", "must be hexadecimal digits");
    in = reader_of(bytes, size);
    if (domain_read(&c->domain, &in, NULL) != ERR_OK || reader_done(&in) != ERR_OK)
        return wrong(r, "domain", "is cut or altered");
    return ERR_OK;
}

static enum err read_features(const struct classifier_reading *r, struct classifier *c)
{
    const char *target = json_string_value(json_object_get(r->root, "target"));
    struct features_terms terms = {0};
    if (target == NULL || (terms.target = domain_find(c->domain, target)) == DOMAIN_NO_CODE)
        return wrong(r, "target", "must be the name of a column");
    TRY(whole_of(r, "norm", FEATURES_NORM_MAX, &terms.norm));
    terms.numbers = terms.norm > 0;
    if (features_new(&c->features, c->domain, &terms, NULL) != ERR_OK)
        return wrong(r, "domain", "has columns that a classifier cannot have");
    return ERR_OK;
}

/* A list of so many numbers, into every `step`-th place. */
static enum err read_numbers(const struct classifier_reading *r, const char *field,
                             const json_t *list, size_t count, double *out, size_t step)
{
    if (!json_is_array(list) || json_array_size(list) != count)
        return wrong(r, field, "has another length than the features have");
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(list, i);
        if (!json_is_number(number))
            return wrong(r, field, "must be numbers");
        out[i * step] = json_number_value(number);
    }
    return ERR_OK;
}

static enum err read_coef(const struct classifier_reading *r, struct classifier *c)
{
    const struct features *f = c->features;
    const json_t *coef = json_object_get(r->root, "coef");
    TRY(memory_new(&c->coef, features_weights(f)));
    if (!json_is_array(coef) || json_array_size(coef) != f->outputs)
        return wrong(r, "coef", "must be a list of lists, one for each output");
    for (uint32_t k = 0; k < f->outputs; k++)
        TRY(read_numbers(r, "coef", json_array_get(coef, k), f->count - 1,
                         c->coef + (size_t)k * f->count, 1));
    return read_numbers(r, "intercept", json_object_get(r->root, "intercept"), f->outputs,
                        c->coef + f->count - 1, f->count);
}

static enum err read_all(const struct classifier_reading *r, struct classifier *c)
{
    const char *format = json_string_value(json_object_get(r->root, "format"));
    if (format == NULL || strcmp(format, FORMAT) != 0)
        return wrong(r, "format", "must be " FORMAT);
    TRY(number_of(r, "epsilon", &c->epsilon));
    TRY(number_of(r, "delta", &c->delta));
    TRY(number_of(r, "rho", &c->rho));
    TRY(number_of(r, "sigma", &c->sigma));
    TRY(whole_of(r, "rows_per_person", 10000, &c->rows_per_person));
    TRY(read_domain(r, c));
    TRY(read_features(r, c));
    return read_coef(r, c);
}

enum err classifier_load(struct classifier **out, const char *path, struct log *log)
{
    struct classifier *c CLEAN(classifier_free) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    json_error_t where;
    json_t *root;
    enum err e;
    *out = NULL;
    TRY(file_read(path, FILE_MOST, &text, log));
    TRY(memory_new(&c, 1));
    root = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL)
        return log_fail(log, ERR_FORMAT, "%s: line %d: %s", path, where.line, where.text);
    e = read_all(&(struct classifier_reading){path, root, log}, c);
    json_decref(root);
    TRY(e);
    return memory_hand_over(out, &c);
}
