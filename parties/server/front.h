/*
 * parties/server/front.h - the thread that looks after a server's gate: who may say what, and when
 * it is answered.
 *
 * Messages that come at the same time are one transaction of the store, and are answered when that
 * is on disk. What owners say goes to parties/server/intake.h; what an analyst asks, to the worker.
 */
#ifndef TREFOIL_PARTIES_SERVER_FRONT_H
#define TREFOIL_PARTIES_SERVER_FRONT_H

#include "netio/gate.h"
#include "parties/audit/audit.h"
#include "parties/server/forward.h"
#include "parties/server/status.h"
#include "parties/store/store.h"

#include <stdatomic.h>

struct front;

/* All borrowed from the server. */
struct front_options {
    const struct study *study;
    const struct identity *me;
    unsigned index;
    struct store *store;
    struct audit *audit;
    struct gate *gate;
    struct forward *forward; /* at server 1 */
    struct status *status;   /* the front's fields of it */
    atomic_bool *stop;       /* set from elsewhere: return soon */
    struct log *log;
};

enum err front_new(struct front **front, const struct front_options *options) MUST_CHECK;
void front_free(struct front **front);

/* Until *stop. What a message fails with is told its sender, and ends nothing. */
enum err front_run(struct front *front) MUST_CHECK;

#endif
