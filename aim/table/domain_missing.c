/* Which texts and numbers stand for a missing value. */
#include "aim/table/domain_private.h"
#include "aim/table/number.h"
#include "aim/table/step.h"
#include "base/memory.h"

#include <string.h>

bool domain_missing_text(const struct domain_attribute *a, const char *text)
{
    if (a->missing == NULL)
        return false;
    if (strcmp(text, a->missing) == 0)
        return true;
    for (uint32_t i = 0; i < a->missing_too_count; i++)
        if (strcmp(text, a->missing_too[i]) == 0)
            return true;
    return false;
}

bool domain_missing_number(const struct domain_attribute *a, double x)
{
    for (uint32_t i = 0; i < a->missing_numbers; i++)
        if (a->missing_number[i] == x)
            return true;
    return false;
}

/* Whether a number is amid the multiples of its bin, which would then have a hole. */
static bool amid_multiples(const struct domain_attribute *a, uint32_t code, double x)
{
    struct step s;
    uint64_t count;
    int64_t first = domain_multiples(a, code, &count), k;
    if (!step_of(a->step, &s))
        return false;
    k = step_above(&s, x);
    return count == 0 || (k >= first && k < first + (int64_t)count && step_value(&s, k) == x);
}

enum err domain_check_missing(const struct domain_attribute *a, struct log *log)
{
    for (uint32_t i = 0; a->kind == DOMAIN_NUMERIC && i < a->missing_numbers; i++) {
        const double x = a->missing_number[i];
        const uint32_t code = domain_bin(a, x);
        if (code == DOMAIN_NO_CODE)
            continue;
        if (domain_spike(a, code))
            return log_fail(log, ERR_STUDY, "attribute %s: %g is both a spike and missing", a->name,
                            x);
        if (amid_multiples(a, code, x))
            return log_fail(log, ERR_STUDY,
                            "attribute %s: %g is missing, and amid the numbers of the bin from %g "
                            "to %g; put an edge there",
                            a->name, x, a->edges[code], a->edges[code + 1]);
    }
    return ERR_OK;
}

/* A number that stands for a missing value does so however it is written. */
static enum err note_number(struct domain_attribute *a, const char *text)
{
    double x;
    if (a->kind == DOMAIN_CATEGORICAL || !number_double(text, &x))
        return ERR_OK;
    TRY(memory_extend(&a->missing_number, a->missing_numbers + (size_t)1));
    a->missing_number[a->missing_numbers++] = x;
    return ERR_OK;
}

enum err domain_first_missing(struct domain_attribute *a, const char *text)
{
    a->missing = memory_string(text);
    return a->missing == NULL ? ERR_NOMEM : note_number(a, text);
}

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
    return note_number(a, text);
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
