/*
 * parties/server/front.h - the thread that looks after a server's gate: who may say what, and when
 * it is answered.
 *
 * Messages that come at the same time are one transaction of the store, and are answered when that
 * is on disk. What owners say goes to parties/server/intake.h; what an analyst asks, to the worker.
 */
#ifndef TREFOIL_PARTIES_SERVER_FRONT_H
#define TREFOIL_PARTIES_SERVER_FRONT_H

#include "parties/server/site.h"

struct front;

enum err front_new(struct front **front, struct site *site) MUST_CHECK;
void front_free(struct front **front);

/* Until *stop. What a message fails with is told its sender, and ends nothing. */
enum err front_run(struct front *front) MUST_CHECK;

#endif
