#include "aim/table/domain_private.h"

#include "base/memory.h"
#include "base/nearest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum err domain_new(struct domain **domain)
{
    return memory_new(domain, 1);
}

void domain_attribute_clear(struct domain_attribute *a)
{
    for (uint32_t i = 0; a->labels != NULL && i < a->values; i++)
        memory_free(&a->labels[i]);
    memory_free(&a->labels);
    memory_free(&a->order);
    memory_free(&a->edges);
    memory_free(&a->missing);
    for (uint32_t i = 0; i < a->missing_too_count; i++)
        memory_free(&a->missing_too[i]);
    memory_free(&a->missing_too);
    memory_free(&a->missing_number);
    memory_free(&a->name);
}

void domain_free(struct domain **domain)
{
    if (*domain == NULL)
        return;
    for (size_t i = 0; i < (*domain)->attributes; i++)
        domain_attribute_clear(&(*domain)->attribute[i]);
    memory_free(&(*domain)->attribute);
    memory_free(domain);
}

/* Spaces around fields are removed (rows.h), so text with spaces around it matches nothing. */
static bool is_spaced(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && (strchr(" \t", text[0]) != NULL || strchr(" \t", text[n - 1]) != NULL);
}

static enum err check_common(const struct domain *d, const struct domain_attribute *a,
                             const char *name, const char *missing, struct log *log)
{
    if (name == NULL || *name == '\0')
        return log_fail(log, ERR_STUDY, "attribute %zu has no name; give it one",
                        d->attributes + 1);
    if (is_spaced(name) || (missing != NULL && is_spaced(missing)))
        return log_fail(
            log, ERR_STUDY,
            "attribute %s: its name or missing text has spaces around it, which are taken off "
            "when files are read; remove them",
            name);
    if (domain_find(d, name) != DOMAIN_NO_CODE)
        return log_fail(log, ERR_STUDY, "attribute %s is listed twice; remove or rename one", name);
    if (d->attributes >= DOMAIN_ATTRIBUTES_MAX)
        return log_fail(log, ERR_STUDY, "attribute %s is one too many: at most %d are allowed",
                        name, DOMAIN_ATTRIBUTES_MAX);
    if (a->policy == DOMAIN_AS_MISSING && missing == NULL)
        return log_fail(
            log, ERR_STUDY,
            "attribute %s: the policy 'missing' needs the text of a missing value; set it, "
            "or choose another policy",
            name);
    if (a->policy == DOMAIN_CLIP && a->kind == DOMAIN_CATEGORICAL)
        return log_fail(
            log, ERR_STUDY,
            "attribute %s: labels cannot be clipped; choose the policy error or missing", name);
    return ERR_OK;
}

/* Names the attribute, sets its size and moves it to the end of d. */
static enum err append(struct domain *d, struct domain_attribute *a, uint64_t values,
                       const char *name, const char *missing, struct log *log)
{
    uint64_t size = values + (missing != NULL ? 1 : 0);
    if (values == 0 || size > DOMAIN_SIZE_MAX)
        return log_fail(log, ERR_STUDY,
                        "attribute %s has %llu values; 1 to %d are allowed: use fewer, wider bins",
                        name, (unsigned long long)size, DOMAIN_SIZE_MAX);
    a->values = (uint32_t)values;
    a->size = (uint32_t)size;
    if (missing != NULL && domain_is_value(a, missing))
        return log_fail(log, ERR_STUDY, "attribute %s: '%s' is both a value and the missing one",
                        name, missing);
    a->name = memory_string(name);
    if (missing != NULL)
        TRY(domain_first_missing(a, missing));
    if (a->name == NULL)
        return ERR_NOMEM;
    TRY(memory_extend(&d->attribute, d->attributes + 1));
    d->attribute[d->attributes++] = *a;
    *a = (struct domain_attribute){0};
    return ERR_OK;
}

static int by_label(const void *a, const void *b, void *labels)
{
    char *const *l = labels;
    uint32_t i, j;
    memcpy(&i, a, sizeof i);
    memcpy(&j, b, sizeof j);
    return strcmp(l[i], l[j]);
}

static enum err copy_labels(struct domain_attribute *a, const char *const *labels, size_t count)
{
    TRY(memory_new(&a->labels, count));
    TRY(memory_new(&a->order, count));
    for (size_t i = 0; i < count; i++) {
        a->values = (uint32_t)(i + 1);
        a->order[i] = (uint32_t)i;
        a->labels[i] = memory_string(labels[i]);
        if (a->labels[i] == NULL)
            return ERR_NOMEM;
    }
    qsort_r(a->order, count, sizeof *a->order, by_label, a->labels);
    return ERR_OK;
}

static enum err check_labels(const struct domain_attribute *a, const char *name, struct log *log)
{
    for (uint32_t i = 0; i < a->values; i++) {
        const char *label = a->labels[a->order[i]];
        if (*label == '\0')
            return log_fail(
                log, ERR_STUDY,
                "attribute %s: label %u is empty; an empty cell is written as 'missing'", name,
                a->order[i] + 1);
        if (is_spaced(label))
            return log_fail(
                log, ERR_STUDY,
                "attribute %s: label '%s' has spaces around it, which are taken off when files "
                "are read; remove them",
                name, label);
        if (i > 0 && strcmp(label, a->labels[a->order[i - 1]]) == 0)
            return log_fail(log, ERR_STUDY, "attribute %s: label '%s' is listed twice", name,
                            label);
    }
    return ERR_OK;
}

enum err domain_add_categorical(struct domain *d, const char *name, const char *const *labels,
                                size_t count, const char *missing, enum domain_policy policy,
                                struct log *log)
{
    struct domain_attribute a CLEAN(domain_attribute_clear) = {.kind = DOMAIN_CATEGORICAL,
                                                               .policy = policy};
    TRY(check_common(d, &a, name, missing, log));
    if (count > 0 && count <= DOMAIN_SIZE_MAX) {
        TRY(copy_labels(&a, labels, count));
        TRY(check_labels(&a, name, log));
    }
    return append(d, &a, count, name, missing, log);
}

enum err domain_add_integer(struct domain *d, const char *name, int64_t min, int64_t max,
                            const char *missing, enum domain_policy policy, struct log *log)
{
    struct domain_attribute a CLEAN(domain_attribute_clear) = {
        .kind = DOMAIN_INTEGER, .policy = policy, .min = min, .max = max};
    uint64_t span = (uint64_t)max - (uint64_t)min;
    TRY(check_common(d, &a, name, missing, log));
    if (min > max)
        return log_fail(log, ERR_STUDY, "attribute %s: min %lld is above max %lld", name,
                        (long long)min, (long long)max);
    return append(d, &a, span < DOMAIN_SIZE_MAX ? span + 1 : UINT64_C(1) + DOMAIN_SIZE_MAX, name,
                  missing, log);
}

enum err domain_add_numeric(struct domain *d, const char *name, const double *edges, size_t count,
                            const char *missing, enum domain_policy policy, struct log *log)
{
    struct domain_attribute a CLEAN(domain_attribute_clear) = {.kind = DOMAIN_NUMERIC,
                                                               .policy = policy};
    TRY(check_common(d, &a, name, missing, log));
    for (size_t i = 0; i < count; i++)
        if (!isfinite(edges[i]) || (i > 0 && edges[i] < edges[i - 1]) ||
            (i > 1 && edges[i] == edges[i - 2]))
            return log_fail(log, ERR_STUDY,
                            "attribute %s: edge %zu (%g) is not a number above the one before",
                            name, i + 1, edges[i]);
    if (count >= 2 && count <= DOMAIN_SIZE_MAX + 1) {
        TRY(memory_new(&a.edges, count));
        for (size_t i = 0; i < count; i++)
            a.edges[i] = edges[i] + 0.0; /* -0 and 0 mean the same */
    }
    return append(d, &a, count > 0 ? count - 1 : 0, name, missing, log);
}

uint32_t domain_find(const struct domain *d, const char *name)
{
    for (size_t i = 0; i < d->attributes; i++)
        if (strcmp(d->attribute[i].name, name) == 0)
            return (uint32_t)i;
    return DOMAIN_NO_CODE;
}

const char *domain_nearest(const struct domain *d, const char *text)
{
    const char *names[DOMAIN_ATTRIBUTES_MAX];
    size_t hit;
    for (size_t i = 0; i < d->attributes; i++)
        names[i] = d->attribute[i].name;
    hit = nearest(text, names, d->attributes);
    return hit < d->attributes ? names[hit] : NULL;
}

bool domain_insert(uint16_t *attribute, size_t n, uint16_t another)
{
    size_t at = n;
    while (at > 0 && attribute[at - 1] > another)
        at--;
    if (at > 0 && attribute[at - 1] == another)
        return false;
    memmove(attribute + at + 1, attribute + at, (n - at) * sizeof *attribute);
    attribute[at] = another;
    return true;
}

/* --- missing values --------------------------------------------------------------------------- */

static enum err add_text(struct domain_attribute *a, const char *text, struct log *log)
{
    if (is_spaced(text))
        return log_fail(log, ERR_STUDY,
                        "attribute %s: the missing text '%s' has spaces around it, which are taken "
                        "off when files are read; remove them",
                        a->name, text);
    if (domain_missing_text(a, text))
        return log_fail(log, ERR_STUDY, "attribute %s: the missing text '%s' comes twice", a->name,
                        text);
    if (domain_is_value(a, text))
        return log_fail(log, ERR_STUDY, "attribute %s: '%s' is both a value and the missing one",
                        a->name, text);
    TRY(memory_extend(&a->missing_too, a->missing_too_count + (size_t)1));
    a->missing_too[a->missing_too_count] = memory_string(text);
    if (a->missing_too[a->missing_too_count] == NULL)
        return ERR_NOMEM;
    a->missing_too_count++;
    return domain_note_missing(a, text);
}

enum err domain_set_missing(struct domain *d, const char *const *texts, size_t count,
                            struct log *log)
{
    struct domain_attribute *a = &d->attribute[d->attributes - 1];
    if (count > 0 && a->missing == NULL)
        return log_fail(log, ERR_STUDY, "attribute %s has no missing value", a->name);
    for (size_t i = 0; i < count; i++)
        TRY(add_text(a, texts[i], log));
    return domain_check_missing(a, log);
}
