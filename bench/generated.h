/*
 * bench/generated.h - tables that benchmarks make, for what the folder's tables lack. A name always
 * gives the same table, of 20,000 rows unless told:
 *
 *   dense   16 columns of 8 codes with one common cause, so that any two correlate by .81; 64
 *           random marginals of three columns
 *   parity  12 columns of 4 codes, each like the one before in half of the rows, and a target: in
 *           19 rows of 20 the sum of the codes of columns 2, 5 and 9 modulo 4, which fewer than
 *           all four columns hardly show; all marginals of the target and three columns
 *   chain   10 columns of 4 codes, each like the one before in three rows of five; all triples
 *   star    the same study: nine columns have nothing to do with each other, and the last follows
 *           four of them in four rows of five
 *   wide    100 columns of 2 to 12 codes, each following the one before in three rows of four; all
 *           pairs
 */
#pragma once

#include "bench/data.h"

#define GENERATED_ROWS 20000

/* Whether this is the name of one. */
bool generated_is(const char *name);
/* ERR_RANGE unless it is. */
enum err generated_make(struct bench_data *c, const char *name, size_t rows,
                        struct log *log) MUST_CHECK;
