/*
 * aim/table/step.h - the multiples of a step: 1, 5, 0.1, 0.25.
 *
 * A step is digits / 10^decimals, so that its multiples are what people write: the third multiple
 * of 0.1 is the number that reads as 0.3.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STEP_DECIMALS 12
#define STEP_REACH 0x1p53 /* a multiple times 10^decimals stays below it */

struct step {
    int64_t digits;
    int decimals; /* with which its multiples are written */
};

/* False where `step` is not above 0, or has more than STEP_DECIMALS digits after the point. */
bool step_of(double step, struct step *out);

/* Whether multiples up to |x| are exact, and some numbers beyond. */
bool step_reaches(const struct step *s, double x);

/* The k-th multiple, as its text reads. */
double step_value(const struct step *s, int64_t k);
/* The first k whose multiple is at or above `x`. */
int64_t step_above(const struct step *s, double x);
