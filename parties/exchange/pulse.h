/*
 * parties/exchange/pulse.h - tells the servers that a run's program is alive, even while it
 * computes.
 *
 *   analyst -> all servers    MESSAGE_ALIVE, run: each second, or more often where
 *                             deadlines.connect is short
 *   server 0 -> analyst       u32: while uploads are being added up, how many thousandths are
 *
 * So a run whose program has died soon gives its place to another, and a slow one keeps it. LEAKS:
 * that the program runs.
 */
#pragma once

#include "netio/context.h"
#include "parties/exchange/request.h"
#include "parties/study/study.h"

struct pulse;

/*
 * Runs in its own thread, over its own connections. `netio`, `study` and `me` are borrowed. Call
 * pulse_stop() after a failure too.
 */
enum err pulse_start(struct pulse **pulse, struct netio *netio, const struct study *study,
                     const struct identity *me, const uint8_t run[REQUEST_RUN_SIZE],
                     struct log *log) MUST_CHECK;
void pulse_stop(struct pulse **pulse);

/* How much of the uploads server 0 has added up, 0 to 1; below 0 if it has not said. */
double pulse_adding(const struct pulse *pulse);
