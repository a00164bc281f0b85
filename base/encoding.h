/* base/encoding.h - text from outside: whether it is UTF-8, what it seems to be otherwise, how to show it. */
#ifndef TREFOIL_BASE_ENCODING_H
#define TREFOIL_BASE_ENCODING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A value for a message: cut to `size`, and without control characters, which could steer the
 * terminal. False if it is not UTF-8.
 */
bool encoding_printable(const char *text, char *out, size_t size);

/* Whether text holds control characters, line ends among them, or what is not UTF-8. */
bool encoding_steers(const char *text);

/* What text that is not UTF-8 most likely is. */
const char *encoding_guess(const char *text);

/*
 * Code points of the first letter that has its accent as a character of its own, such as "U+0075 U+0308" of a
 * decomposed u with two dots (NFD); NULL if there is none. Such text looks like its composed form (NFC), and differs.
 */
const char *encoding_decomposed(const char *text, char points[24]);

/* What a file that cannot be UTF-8 text is, by its first bytes; NULL if nothing speaks against it. */
const char *encoding_foreign(const char *p, size_t n);

#endif
