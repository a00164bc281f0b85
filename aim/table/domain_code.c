/* Texts to codes, and back. */
#include "aim/table/domain_private.h"

#include <stdio.h>

/* A number may stand for a missing value, however it is written. */
static bool is_missing(const struct domain_attribute *a, const char *text)
{
    double x;
    return domain_missing_text(a, text) ||
           (a->missing_numbers > 0 && domain_parse(a, text, &x) && domain_missing_number(a, x));
}

uint32_t domain_code(const struct domain_attribute *a, const char *text)
{
    uint32_t code;
    if (is_missing(a, text))
        return a->values;
    code = a->kind->code(a, text);
    if (code == DOMAIN_NO_CODE && a->policy != DOMAIN_REJECT && a->missing != NULL)
        return a->values;
    return code;
}

/* A number is not the value of a bin, which holds others too, unless the bin is a spike. */
bool domain_is_value(const struct domain_attribute *a, const char *text)
{
    struct domain_attribute strict = *a;
    uint32_t code;
    strict.policy = DOMAIN_REJECT;
    code = a->kind->code(&strict, text);
    return code != DOMAIN_NO_CODE && (!domain_has_bins(a) || domain_spike(a, code));
}

const char *domain_range(const struct domain_attribute *a, int digits, char room[DOMAIN_RANGE])
{
    char first[COLUMN_TEXT], last[COLUMN_TEXT];
    snprintf(room, DOMAIN_RANGE, "%s to %s", domain_text(a, 0, digits, first),
             domain_text(a, a->values - !domain_has_bins(a), digits, last));
    return room;
}

bool domain_fits(const struct domain_attribute *a, const char *text)
{
    struct domain_attribute strict = *a;
    strict.policy = DOMAIN_REJECT;
    return domain_code(&strict, text) != DOMAIN_NO_CODE;
}
