/* Apart from cmocka.c: test_library, which links the shared library alone, has no error_text(). */
#include "harness/cmocka.h"

void support_ok(enum err e, const char *call, const char *file, int line)
{
    if (e == ERR_OK)
        return;
    print_error("%s: %s\n", call, error_text(e));
    _fail(file, line);
}
