/* base/thread.h - threads. */
#ifndef TREFOIL_BASE_THREAD_H
#define TREFOIL_BASE_THREAD_H

#include "base/error.h"
#include "base/log.h"

#include <pthread.h>

/* ERR_SYSTEM, with words, where the system has no more. */
enum err thread_start(pthread_t *thread, void *(*go)(void *), void *self,
                      struct log *log) MUST_CHECK;

#endif
