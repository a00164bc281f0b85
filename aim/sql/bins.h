/*
 * aim/sql/bins.h - the bins of a numeric attribute in SQL: comparisons of a value with the numbers
 * where the code changes, as nested CASEs that each halve the numbers left.
 */
#pragma once

#include "aim/table/domain.h"

#define BINS_NO_CODE (-1000000)
#define BINS_DIGITS 15 /* decimals of so many digits, and their doubles, are in the same order */

/* The code of a text, marked as -1 - code if the text does not fit; BINS_NO_CODE: it has none. */
long bins_marked(const struct domain_attribute *a, const char *text);
/* Writes a code in SQL, as a number or as a text. */
void bins_put_code(struct bytes *sql, bool quoted, long code);

/*
 * What the value is: whole, a double, a decimal, a double whose code is wanted as a text, or a
 * date.
 */
enum bins_of { BINS_OF_WHOLE, BINS_OF_DOUBLE, BINS_OF_DECIMAL, BINS_AS_TEXT, BINS_OF_DATE };
/*
 * Writes the code, marked as above, of the finite number `value` in SQL. Whole numbers need edges
 * below 2^53, decimals need bins_short() ones. A date must be one of the years 1 to 9999.
 */
enum err bins_put(const struct domain_attribute *a, enum bins_of of, const char *value,
                  struct bytes *sql) MUST_CHECK;

/* Whether BINS_DIGITS decimal digits are enough for it. */
bool bins_short(double x);
