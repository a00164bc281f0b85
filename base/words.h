/* base/words.h - amounts as people say them. */
#ifndef TREFOIL_BASE_WORDS_H
#define TREFOIL_BASE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define WORDS_SIZE 32

/* "0.3 s", "48 s", "12 min", "3 h 05 min". */
const char *words_time(double seconds, char text[WORDS_SIZE]);
/* "812 bytes", "45.2 kB", "7.9 MB", "1.2 GB": powers of ten. */
const char *words_bytes(uint64_t bytes, char text[WORDS_SIZE]);

/* Characters of UTF-8; bytes of the first so many. */
size_t words_length(const char *text);
size_t words_prefix(const char *text, size_t characters);

/* As %g, but 1e-6 for 1e-06. */
const char *words_number(double v, char text[WORDS_SIZE]);

#endif
