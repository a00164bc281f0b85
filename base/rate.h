/*
 * base/rate.h - how often something may happen: a bucket that fills steadily and is emptied by use.
 * A bucket of zeros is full.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rate {
    int64_t since_ms; /* 0: never used */
    double used;
};

/*
 * Takes one out; false if the bucket is empty. It gives `burst` at once and `per_second` in the
 * long run.
 */
bool rate_take(struct rate *r, double per_second, double burst, int64_t now_ms);
