/* base/thread.h - threads. */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <pthread.h>

/* Zeroed before it is started. */
struct thread {
    pthread_t id;
    bool started;
};

/* ERR_SYSTEM, logged, where the system has no more. */
enum err thread_start(struct thread *thread, void *(*go)(void *), void *self,
                      struct log *log) MUST_CHECK;
/* Waits until it has ended; does nothing if it was not started, or was joined already. */
void thread_join(struct thread *thread);
