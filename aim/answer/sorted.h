/* aim/answer/sorted.h - numbers in order, and the number at a place among them. */
#pragma once

#include <stddef.h>

void sorted_make(double *x, size_t n); /* ascending */

/* At the place p (n - 1) of n sorted numbers, n > 0: between the two nearest. */
double sorted_quantile(const double *x, size_t n, double p);
