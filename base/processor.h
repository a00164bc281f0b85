/*
 * base/processor.h - which instructions are used.
 */
#pragma once

#include <stdbool.h>

/* Of the sets that a processor runs, each includes those before it. */
enum processor {
    PROCESSOR_PORTABLE,
    PROCESSOR_NEON, /* with AES and PMULL, of which most arm64 have both or neither */
    PROCESSOR_AVX2,
    PROCESSOR_AVX512,
    PROCESSOR_SETS
};

/* "portable", "neon", "avx2" or "avx512" */
const char *processor_name(enum processor set);

bool processor_runs(enum processor set);

/* Further instructions, which only some processors of a set have. */
bool processor_has_wide_products(void); /* VPCLMULQDQ */
bool processor_has_wide_ciphers(void);  /* VAES */

/*
 * The set that the environment variable TREFOIL_KERNEL names, else the last one that this processor
 * runs. If that name is unknown or cannot run here: the last one, and *problem is set to a sentence
 * for the caller to print (NULL otherwise; problem may be NULL).
 */
enum processor processor_best(const char **problem);
