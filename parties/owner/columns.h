/*
 * parties/owner/columns.h - what owners should know about their columns before they send anything.
 *
 * All of it is exact, and none of it is ever sent or kept.
 */
#pragma once

#include "parties/owner/source.h"

#include <stdio.h>

/*
 * Prints a line for each column of a source that was loaded with `look`; then warns about columns
 * that are missing or clipped in a third of the rows, or nearly constant. The source's `doubts`
 * count those that are so, or whose values have another encoding or decimal sign; a column may well
 * be constant.
 */
enum err columns_print(FILE *out, struct source *s, const struct workload *w,
                       struct log *log) MUST_CHECK;

/*
 * What is in doubt is sent only if the owner says so: `accepted`, or an answer on a terminal.
 * ERR_DATA, logged, if not.
 */
enum err columns_accept(const struct source *s, bool accepted, struct log *log) MUST_CHECK;
