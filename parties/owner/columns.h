/*
 * parties/owner/columns.h - what owners should know about their columns before they send anything.
 *
 * All of it is exact, and none of it is ever sent or kept.
 */
#ifndef TREFOIL_PARTIES_OWNER_COLUMNS_H
#define TREFOIL_PARTIES_OWNER_COLUMNS_H

#include "parties/owner/source.h"

#include <stdio.h>

/*
 * Prints a line for each column of a source that was loaded with `look`; then warns about columns
 * that are mostly missing, mostly clipped, or nearly constant.
 */
enum err columns_print(FILE *out, const struct source *s, const struct workload *w,
                       struct log *log) MUST_CHECK;

#endif
