#include "base/version.h"

#include "base/text.h"

#include <string.h>

#define MOST 99999

/* How long a format's name is without its number. */
static size_t name_length(const char *format)
{
    size_t n = strlen(format);
    while (n > 0 && !text_is_digit(format[n - 1]))
        n--;
    while (n > 0 && text_is_digit(format[n - 1]))
        n--;
    return n;
}

unsigned version_of(const void *text, size_t n, const char *format)
{
    const char *p = text;
    const size_t name = name_length(format);
    unsigned number = 0;
    if (n < name || memcmp(p, format, name) != 0)
        return 0;
    for (size_t k = name; k < n && text_is_digit(p[k]) && number <= MOST / 10; k++)
        number = 10 * number + (unsigned)(p[k] - '0');
    return number;
}

enum err version_check(const char *path, const void *text, size_t n, const char *format,
                       unsigned oldest, struct log *log)
{
    const int name = (int)name_length(format);
    const unsigned found = version_of(text, n, format);
    const unsigned newest = version_of(format, strlen(format), format);
    if (found == 0 || (found >= oldest && found <= newest))
        return ERR_OK;
    return log_fail(log, ERR_FORMAT,
                    "%s is of %s trefoil: its format is %.*s%u, and this one, %s, reads %.*s%u; "
                    "use the trefoil that wrote it",
                    path, found > newest ? "a later" : "an earlier", name, format, found,
                    TREFOIL_VERSION, name, format, newest);
}
