/* parties/command/adviser.h - tells whoever interrupts a run how to go on with it. */
#pragma once

#include "base/bytes.h"
#include "base/thread.h"

#include <signal.h>

/* Prints `text` when the process gets a signal that ends it. */
struct adviser {
    sigset_t signals, before;
    struct bytes text;
    struct thread thread;
    int number; /* of the signal; here since sanitizers forbid it on a cancelled thread's stack */
};

/* From now on, also in threads started later, whoever interrupts the run is told how to go on. */
enum err adviser_start(struct adviser *a, int argc, char **argv, struct log *log) MUST_CHECK;
void adviser_stop(struct adviser *a);
