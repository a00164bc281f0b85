/* base/clock.h - monotonic time for deadlines and durations. */
#pragma once

#include <stdint.h>

/* Milliseconds from an arbitrary start that never jumps. */
int64_t clock_now_ms(void);
double clock_now_s(void);

/* Milliseconds from now to `deadline` (a clock_now_ms() value), never below 0. */
int64_t clock_left_ms(int64_t deadline);

/* Waits for so many milliseconds, or until a signal comes. */
void clock_pause(int64_t ms);
