/*
 * parties/analyst/known.h - margins that are known from elsewhere: published totals.
 *
 * A file is CSV in UTF-8: a line of names of columns and, last, `count`; then a line for each
 * combination of their values, and how many rows have it. Where another line of names comes,
 * another margin begins. A number stands for the bin it lies in; several lines of a bin add up.
 * Every combination must be there, with 0 if need be, those of missing values too.
 *
 *   sex,count
 *   female,1210
 *   male,1190
 *   sex,ward,count
 *   female,surgery,400 ..
 *
 * A margin of 0 is impossible: a structural zero. Counts are what somebody has published; they
 * must not come from the rows of the study, whose guarantee would not hold for them.
 */
#ifndef TREFOIL_PARTIES_ANALYST_KNOWN_H
#define TREFOIL_PARTIES_ANALYST_KNOWN_H

#include "aim/model.h"

#define KNOWN_MAX 256
#define KNOWN_DOUBTED 4 /* z from which noise is no likely reason; warned of */
#define KNOWN_REFUSED 6

struct known {
    size_t count;
    struct measurement margin[KNOWN_MAX]; /* their sigmas are 0 */
    size_t line[KNOWN_MAX];               /* of its header; 0: of a result, not of a file */
};

/* Adds the margins of a file. ERR_DATA, logged as path:line:field, for what is wrong in it. */
enum err known_read(struct known *k, const struct domain *d, const char *path,
                    struct log *log) MUST_CHECK;
void known_clear(struct known *k);

/*
 * Whether they agree: with each other, within what rounding to whole numbers makes; and with what
 * was measured, by the sum of squared distances over what both are about, as a z-score. ERR_DATA,
 * logged with the numbers, if not; what is doubtful is warned of. Then scales all to the first
 * one's total.
 */
enum err known_check(struct known *k, const struct domain *d, const char *path,
                     const struct measurement *noisy, size_t count, struct log *log) MUST_CHECK;

/* "age=30, sex=f" of a cell, cut to fit. */
void known_cell(const struct domain *d, const struct clique *c, uint64_t cell, char *text,
                size_t size);

#endif
