/* base/hash.h - SHA-256. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of bytes, which may be tens of MB (base/hash_bytes.c). */
void hash_bytes(const void *p, size_t n, uint8_t digest[32]);

/*
 * Of a label, with its NUL, and data: no two uses give the same digest. The data are one or two
 * pieces; for a given label the first always has the same size.
 */
void hash_labelled(uint8_t digest[32], const char *label, const void *first, size_t n,
                   const void *second, size_t m);
