/* Which texts and numbers stand for a missing value. */
#include "aim/table/domain_private.h"
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

enum err domain_note_missing(struct domain_attribute *a, const char *text)
{
    double x;
    if (!domain_parse(a, text, &x))
        return ERR_OK;
    TRY(memory_extend(&a->missing_number, a->missing_numbers + (size_t)1));
    a->missing_number[a->missing_numbers++] = x;
    return ERR_OK;
}

enum err domain_first_missing(struct domain_attribute *a, const char *text)
{
    a->missing = memory_string(text);
    return a->missing == NULL ? ERR_NOMEM : domain_note_missing(a, text);
}
