#include "base/unicode.h"

#include "base/secret.h"

#include <stdlib.h>
#include <utf8proc.h>

enum err unicode_map(struct bytes *out, const char *text, struct unicode_form form)
{
    const utf8proc_option_t options = (utf8proc_option_t)(UTF8PROC_NULLTERM | UTF8PROC_STABLE |
                                                          (form.composed ? UTF8PROC_COMPOSE : 0) |
                                                          (form.caseless ? UTF8PROC_CASEFOLD : 0));
    utf8proc_uint8_t *made = NULL;
    const utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)text, 0, &made, options);
    if (n < 0)
        return n == UTF8PROC_ERROR_NOMEM ? ERR_NOMEM : ERR_DATA;
    bytes_put(out, made, (size_t)n);
    secret_wipe(made, (size_t)n);
    free(made);
    return bytes_ok(out);
}
