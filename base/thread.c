#include "base/thread.h"

#include <string.h>

enum err thread_start(pthread_t *thread, void *(*go)(void *), void *self, struct log *log)
{
    int failed = pthread_create(thread, NULL, go, self);
    if (failed == 0)
        return ERR_OK;
    return log_fail(
        log, ERR_SYSTEM,
        "cannot start a thread: %s; is a limit on processes reached (ulimit -u, TasksMax)?",
        strerror(failed));
}
