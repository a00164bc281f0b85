/* base/hash.h - SHA-256 of a label, with its NUL, and data: no two uses give the same digest. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The data are one or two pieces; for a given label the first always has the same size. */
void hash_labelled(uint8_t digest[32], const char *label, const void *first, size_t n,
                   const void *second, size_t m);
