/* Texts to codes. */
#include "aim/table/domain_private.h"

#include "aim/table/number.h"

#include <math.h>
#include <string.h>

static uint32_t categorical_code(const struct domain_attribute *a, const char *text)
{
    uint32_t low = 0, high = a->values;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int c = strcmp(text, a->labels[a->order[middle]]);
        if (c == 0)
            return a->order[middle];
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return DOMAIN_NO_CODE;
}

static uint32_t integer_code(const struct domain_attribute *a, const char *text)
{
    int64_t v;
    if (!number_integer(text, &v))
        return DOMAIN_NO_CODE;
    if (a->policy == DOMAIN_CLIP)
        v = v < a->min ? a->min : v > a->max ? a->max : v;
    if (v < a->min || v > a->max)
        return DOMAIN_NO_CODE;
    return (uint32_t)((uint64_t)v - (uint64_t)a->min);
}

static uint32_t numeric_code(const struct domain_attribute *a, const char *text)
{
    double v;
    int64_t whole;
    if (!number_double(text, &v) || (a->whole && !number_integer(text, &whole)))
        return DOMAIN_NO_CODE;
    if (a->policy == DOMAIN_CLIP)
        v = fmin(fmax(v, a->edges[0]), a->edges[a->values]);
    return domain_bin(a, v);
}

static uint32_t code_of(const struct domain_attribute *a, const char *text)
{
    switch (a->kind) {
    case DOMAIN_CATEGORICAL:
        return categorical_code(a, text);
    case DOMAIN_INTEGER:
        return integer_code(a, text);
    case DOMAIN_NUMERIC:
        return numeric_code(a, text);
    }
    return DOMAIN_NO_CODE;
}

/* A number may stand for a missing value, however it is written. */
static bool is_missing(const struct domain_attribute *a, const char *text)
{
    double x;
    return domain_missing_text(a, text) ||
           (a->missing_numbers > 0 && number_double(text, &x) && domain_missing_number(a, x));
}

uint32_t domain_code(const struct domain_attribute *a, const char *text)
{
    uint32_t code;
    if (is_missing(a, text))
        return a->values;
    code = code_of(a, text);
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
    code = code_of(&strict, text);
    return code != DOMAIN_NO_CODE && (a->kind != DOMAIN_NUMERIC || domain_spike(a, code));
}

bool domain_fits(const struct domain_attribute *a, const char *text)
{
    struct domain_attribute strict = *a;
    strict.policy = DOMAIN_REJECT;
    return domain_code(&strict, text) != DOMAIN_NO_CODE;
}
