/* base/hash.h - SHA-256 of a label, with its NUL, and what follows: no two uses give one digest. */
#ifndef TREFOIL_BASE_HASH_H
#define TREFOIL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* What follows is one or two pieces, of which the first has always the same size for a label. */
void hash_labelled(uint8_t digest[32], const char *label, const void *first, size_t n,
                   const void *second, size_t m);

#endif
