/* Replaces unicode_utf8proc.c where utf8proc is absent. */
#include "base/unicode.h"

enum err unicode_map(struct bytes *out, const char *text, struct unicode_form form)
{
    (void)out;
    (void)text;
    (void)form;
    return ERR_REFUSED;
}
