/*
 * parties/server/front.h - the thread that looks after a server's gate: who may say what, and when
 * messages are answered.
 *
 * Messages that come at the same time form one transaction of the store, and are answered when that
 * is on disk. Owners' messages go to parties/server/intake.h, an analyst's requests to the worker.
 */
#pragma once

#include "parties/server/site.h"

struct front;

enum err front_new(struct front **front, struct site *site) MUST_CHECK;
void front_free(struct front **front);

/* Runs until *stop. If a message fails, only its sender is told; nothing else ends. */
enum err front_run(struct front *front) MUST_CHECK;
