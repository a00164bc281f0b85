/* base/encoding.h - text from outside: whether it is UTF-8, what else it may be, how to show it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A value for a message: cut to `size`, control characters replaced. False if it is not UTF-8. */
bool encoding_printable(const char *text, char *out, size_t size);

/* Whether text holds control characters (line ends are among them) or is not UTF-8. */
bool encoding_steers(const char *text);

/*
 * Whether characters that nobody sees change the order of others, or end a line: U+061C, U+200E,
 * U+200F, U+2028 to U+202E, U+2066 to U+2069. What is signed would read as something else. Labels
 * of a study may have them, so encoding_steers() does not ask for them.
 */
bool encoding_reorders(const char *text);

/* The likely encoding of text that is not UTF-8. */
const char *encoding_guess(const char *text);

/*
 * The first letter whose accent is a character of its own (NFD), such as "U+0075 U+0308" for a u
 * with two dots; NULL if there is none. Such text looks like its composed form (NFC), but differs.
 */
const char *encoding_decomposed(const char *text, char points[24]);

/* The size of the mark that some programs put before a file in UTF-8; 0 if there is none. */
size_t encoding_mark(const char *p, size_t n);

/* What a file is, by its first bytes, if it cannot be UTF-8 text; NULL if it may be. */
const char *encoding_foreign(const char *p, size_t n);
