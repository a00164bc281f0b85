/*
 * parties/analyst/known.h - margins that are known from elsewhere: published totals.
 *
 * A file is CSV in UTF-8: a line with names of columns and, last, `count`; then a line for each
 * combination of their values, with the number of rows that have it. Another line of names begins
 * another margin. A number stands for the bin it lies in; several lines for a bin add up. Every
 * combination must be there, with 0 if need be, those with missing values too.
 *
 *   sex,count
 *   female,1210
 *   male,1190
 *   sex,ward,count
 *   female,surgery,400 ..
 *
 * A count of 0 means impossible: a structural zero. Counts are what somebody has published; they
 * must not come from the rows of the study, whose guarantee would not hold for them.
 */
#pragma once

#include "aim/model/model.h"

#define KNOWN_MAX 256
#define KNOWN_DOUBTED 4 /* above this z, noise is an unlikely reason: a warning */
#define KNOWN_REFUSED 6

struct known {
    size_t count;
    struct measurement margin[KNOWN_MAX]; /* their sigmas are 0 */
    size_t line[KNOWN_MAX];               /* of its header; 0: from a result, not a file */
};

/* Adds the margins of a file. ERR_DATA, logged as path:line:field, if something is wrong in it. */
enum err known_read(struct known *k, const struct domain *d, const char *path,
                    struct log *log) MUST_CHECK;
void known_clear(struct known *k);

/*
 * Checks that the margins agree with each other, within what rounding to whole numbers explains,
 * and with what was measured, by a z-score of the squared distances over the columns that both
 * have. ERR_DATA, logged with the numbers, if not; warns if it is doubtful. Then scales all margins
 * to the total of the first.
 */
enum err known_check(struct known *k, const struct domain *d, const char *path,
                     const struct measurement *noisy, size_t count, struct log *log) MUST_CHECK;
