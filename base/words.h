/* base/words.h - short texts as values, and amounts as people say them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct words_text {
    char text[36];
};

/* "0.3 s", "48 s", "12 min", "3 h 05 min". */
struct words_text words_time(double seconds);
/* "812 bytes", "45.2 kB", "7.9 MB", "1.2 GB": powers of ten. */
struct words_text words_bytes(uint64_t bytes);

/* How many characters of UTF-8 a text has; how many bytes its first `characters` take. */
size_t words_length(const char *text);
size_t words_prefix(const char *text, size_t characters);
/* Pads a text to so many columns, a character each, or cuts it and ends it with "..". */
void words_fit(char *out, size_t size, const char *text, size_t columns);

/* As %g, but 1e-6 for 1e-06. */
struct words_text words_number(double v);
