#include "base/unicode.h"

#include "base/secret.h"

#include <stdlib.h>
#include <utf8proc.h>

static enum err map(struct bytes *out, const void *text, int options)
{
    utf8proc_uint8_t *made = NULL;
    const utf8proc_ssize_t n = utf8proc_map(
        text, 0, &made, (utf8proc_option_t)(UTF8PROC_NULLTERM | UTF8PROC_STABLE | options));
    if (n < 0)
        return n == UTF8PROC_ERROR_NOMEM ? ERR_NOMEM : ERR_DATA;
    bytes_put(out, made, (size_t)n);
    secret_wipe(made, (size_t)n);
    free(made);
    return bytes_ok(out);
}

/* Accents are put in order before case is folded: folding turns some into letters, which stay. */
enum err unicode_map(struct bytes *out, const char *text, struct unicode_form form)
{
    struct bytes apart CLEAN(bytes_clear) = {0};
    if (!form.caseless)
        return map(out, text, UTF8PROC_COMPOSE);
    if (!form.composed)
        return map(out, text, UTF8PROC_CASEFOLD);
    TRY(map(&apart, text, UTF8PROC_DECOMPOSE));
    bytes_put_u8(&apart, 0);
    TRY(bytes_ok(&apart));
    return map(out, apart.data, UTF8PROC_CASEFOLD | UTF8PROC_COMPOSE);
}
