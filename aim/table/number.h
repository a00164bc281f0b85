/*
 * aim/table/number.h - numbers as text, the same in every locale.
 *
 * A number is [+-] digits [. digits] [e [+-] digits], with at least one digit before the exponent;
 * nothing may follow. Names such as "nan" and "inf" are not numbers here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The nearest double; false if the text is no number or too large for a double. */
bool number_double(const char *text, double *value);

/*
 * A whole number, also as "39.0" or "1e3"; false if the text is none. One beyond int64_t gives
 * INT64_MIN or INT64_MAX: clipping needs that, and no range holds either.
 */
bool number_integer(const char *text, int64_t *value);

/* Writes `value` with `decimals` digits after the point, always a '.'; -1: all that matter. */
void number_print(char *text, size_t size, double value, int decimals);
/* Writes it with so many digits in all, as "%g" does. */
void number_round(char *text, size_t size, double value, int digits);
/* Writes it with as few digits as give the number back. */
void number_shortest(char *text, size_t size, double value);

/* 10^e, for e from 0 on. */
double number_power(int e);
