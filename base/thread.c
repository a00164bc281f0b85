#include "base/thread.h"

#include <string.h>

enum err thread_start(struct thread *thread, void *(*go)(void *), void *self, struct log *log)
{
    const int failed = pthread_create(&thread->id, NULL, go, self);
    thread->started = failed == 0;
    if (thread->started)
        return ERR_OK;
    return log_fail(
        log, ERR_SYSTEM,
        "cannot start a thread: %s; is a limit on processes reached (ulimit -u, TasksMax)?",
        strerror(failed));
}

void thread_join(struct thread *thread)
{
    if (thread->started)
        pthread_join(thread->id, NULL);
    thread->started = false;
}
