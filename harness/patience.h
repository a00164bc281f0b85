/*
 * harness/patience.h - how long tests wait.
 *
 * What has to come is waited for until an end that only a failure reaches: PATIENCE times what it
 * takes on an idle machine, and TREFOIL_SLOW times that (in the environment: a factor, 1 without
 * it). What must not come is waited for a moment: on a busy machine that says less, and never turns
 * a test red. No test looks at a clock by itself, or compares one with a number (tools/lint.sh).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE 10 /* also of shell scripts: harness/patience.sh */

/* How long what takes less than `seconds` on an idle machine is waited for. */
int64_t support_patience_ms(double seconds);
/* The end of that, from now: by clock_now_ms() and by clock_now_s(). */
int64_t support_end_ms(double seconds);
double support_deadline(double seconds);
/* Waits a few milliseconds before another look. False, at once, if support_deadline() has come. */
bool support_again(double end);

/* A deadline of a study that no machine misses which is slower by TREFOIL_SLOW. */
unsigned support_slow(unsigned seconds);

/* The end of a moment in which nothing may come, by clock_now_ms(). */
int64_t support_moment(int64_t ms);
/* Lets time pass that no outcome depends on: it makes what a test is about likely. */
void support_pause_ms(int64_t ms);
