#include "aim/table/derive.h"
#include "aim/table/domain_private.h"
#include "aim/table/series.h"

#include "base/encoding.h"
#include "base/memory.h"
#include "base/nearest.h"

#include <math.h>
#include <string.h>

enum err domain_new(struct domain **domain)
{
    return memory_new(domain, 1);
}

void domain_attribute_clear(struct domain_attribute *a)
{
    memory_free_each(&a->labels, a->values);
    memory_free_each(&a->missing_too, a->missing_too_count);
    memory_free_all(&a->order, &a->calendar, &a->edges, &a->missing, &a->missing_number, &a->name);
}

void domain_free(struct domain **domain)
{
    if (*domain == NULL)
        return;
    for (size_t i = 0; i < (*domain)->attributes; i++)
        domain_attribute_clear(&(*domain)->attribute[i]);
    memory_free(&(*domain)->attribute);
    derived_free(&(*domain)->derived);
    series_free(&(*domain)->series);
    memory_free(domain);
}

bool domain_spaced(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && (strchr(" \t", text[0]) != NULL || strchr(" \t", text[n - 1]) != NULL);
}

enum err domain_check_new(const struct domain *d, const struct domain_attribute *a,
                          const char *name, const char *missing, struct log *log)
{
    if (name == NULL || *name == '\0')
        return log_fail(log, ERR_STUDY, "attribute %zu has no name; give it one",
                        d->attributes + 1);
    if (domain_spaced(name) || (missing != NULL && domain_spaced(missing)))
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
    if (a->policy == DOMAIN_CLIP && !domain_has_order(a))
        return log_fail(
            log, ERR_STUDY,
            "attribute %s: labels cannot be clipped; choose the policy error or missing", name);
    return ERR_OK;
}

enum err domain_append(struct domain *d, struct domain_attribute *a, uint64_t values,
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

enum err domain_read_text(struct reader *r, char **text)
{
    TRY(reader_text(r, text));
    return encoding_steers(*text) ? ERR_FORMAT : ERR_OK;
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
    if (domain_spaced(text))
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

enum err domain_let_miss(struct domain_attribute *a, const char *text, struct log *log)
{
    if (domain_is_value(a, text))
        return log_fail(log, ERR_STUDY, "attribute %s: '%s' is a value; give it another `missing`",
                        a->name, text);
    if (a->size >= DOMAIN_SIZE_MAX)
        return log_fail(log, ERR_STUDY, "attribute %s has %u values, and no room for a missing one",
                        a->name, a->size);
    a->size++;
    return domain_first_missing(a, text);
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
