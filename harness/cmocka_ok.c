/* Apart, since it names errors, and test_library has of the product only the shared library. */
#include "harness/cmocka.h"

void support_ok(enum err e, const char *call, const char *file, int line)
{
    if (e == ERR_OK)
        return;
    print_error("%s: %s\n", call, error_text(e));
    _fail(file, line);
}
