/*
 * expect: unused-result
 *
 * No error can be ignored by forgetting it.
 */
#include "base/file.h"

void forget(struct log *log);

void forget(struct log *log)
{
#ifdef FINE
    if (file_folder("x", log) != ERR_OK)
        log_error(log, "no folder");
#else
    file_folder("x", log);
#endif
}
