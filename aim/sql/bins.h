/*
 * aim/sql/bins.h - the bins of a numeric attribute in SQL: comparisons of a value with the numbers
 * where the code changes, as nested CASEs that halve what is left.
 */
#ifndef TREFOIL_AIM_SQL_BINS_H
#define TREFOIL_AIM_SQL_BINS_H

#include "aim/table/domain.h"

#define BINS_NO_CODE (-1000000)
#define BINS_DIGITS 15 /* decimals of so many digits, and their doubles, are in the same order */

/* The code of a text, as -1 - it if the text does not fit and is taken so; or BINS_NO_CODE. */
long bins_marked(const struct domain_attribute *a, const char *text);
/* In SQL, as a number or as a text. */
void bins_put_code(struct bytes *sql, bool quoted, long code);

/* What the value is: whole, a double, a decimal, or a double whose code is wanted as a text. */
enum bins_of { BINS_OF_WHOLE, BINS_OF_DOUBLE, BINS_OF_DECIMAL, BINS_AS_TEXT };
/*
 * The code, marked as above, of a finite number that `value` is in SQL. Whole numbers want edges
 * below 2^53, decimals want bins_short() ones.
 */
enum err bins_put(const struct domain_attribute *a, enum bins_of of, const char *value,
                  struct bytes *sql) MUST_CHECK;

/* Whether BINS_DIGITS decimal digits are enough for it. */
bool bins_short(double x);

#endif
