#include "tools/small/small_missing.h"

#include <errno.h>
#include <fcntl.h>
#include <gmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#ifdef __wasi__

/* A comparison that needs more than the two is kept while one sort lasts; sorts are not nested. */
static int (*with)(const void *, const void *, void *);
static void *given;

static int compare_with(const void *a, const void *b)
{
    return with(a, b, given);
}

void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *self)
{
    with = compare;
    given = self;
    qsort(base, n, size, compare_with);
}

/* The first name of its kind that is free. */
int mkstemp(char *name)
{
    char *at = name + strlen(name) - 6;
    for (unsigned k = 0; k < 1000000; k++) {
        for (unsigned i = 0, rest = k; i < 6; i++, rest /= 10)
            at[5 - i] = (char)('0' + rest % 10);
        const int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* There are no links. */
char *realpath(const char *path, char *resolved)
{
    (void)path;
    (void)resolved;
    errno = ENOENT;
    return NULL;
}

/* There is one user, who has all files. */
unsigned geteuid(void)
{
    return 0;
}

unsigned getegid(void)
{
    return 0;
}

int getgroups(int size, unsigned *list)
{
    (void)size;
    (void)list;
    return 0;
}

#endif

int dlclose(void *handle)
{
    return handle == NULL ? 0 : -1;
}

static void each(mpq_ptr x, va_list more, void (*call)(mpq_ptr))
{
    for (; x != NULL; x = va_arg(more, mpq_ptr))
        call(x);
}

void mpq_inits(mpq_ptr x, ...)
{
    va_list more;
    va_start(more, x);
    each(x, more, mpq_init);
    va_end(more);
}

void mpq_clears(mpq_ptr x, ...)
{
    va_list more;
    va_start(more, x);
    each(x, more, mpq_clear);
    va_end(more);
}
