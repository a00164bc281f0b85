/* mpc/check/check_field.h - points and weights of sums over GF(2^64); see mpc/kernel/kernel.h. */
#pragma once

#include "mpc/kernel/kernel.h"

#define CHECK_DIGITS 6

/* weight[a] = the product over v of r[v] where bit v of a is 1, else 1 + r[v]. */
void check_row_weights(uint64_t weight[KERNEL_ROWS], const uint64_t r[CHECK_DIGITS]);

/* The value at r of a product of two multilinear functions that has these values at the points. */
uint64_t check_value_at(const uint64_t values[KERNEL_POINTS], const uint64_t r[CHECK_DIGITS]);

/* The sum of weight[a] times the value at row a. */
uint64_t check_sum_of_rows(const uint64_t values[KERNEL_POINTS],
                           const uint64_t weight[KERNEL_ROWS]);
