/* GMP's own small form, and what it lacks: tools/small/small_missing.c. */
#ifndef SMALL_GMP_H
#define SMALL_GMP_H

#include "mini-gmp.h"
#include "mini-mpq.h"

void mpq_inits(mpq_ptr x, ...);
void mpq_clears(mpq_ptr x, ...);
int gmp_snprintf(char *to, size_t size, const char *format, ...); /* of what is left out */

#endif
