/* base/text.h - text: made, taken apart; as UTF-8, and what of it could steer a terminal. */
#ifndef TREFOIL_BASE_TEXT_H
#define TREFOIL_BASE_TEXT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character at `p`, or 0 if there is none. */
size_t text_character(const char *p);
/* Whether a terminal may obey such a character. Line ends are among them. */
bool text_is_control(const char *p);
/* Replaces those, and bytes that are not UTF-8, by `?`; line ends stay. */
void text_tame(char *text);

/* Adds text as printf() makes it; the digits of n bytes in hexadecimal. */
void text_put(struct bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_put_hex(struct bytes *b, const void *p, size_t n);
/* The n bytes of a text of 2n such digits and nothing else; false for another text. */
bool text_hex(const char *text, void *out, size_t n);

/*
 * Where the value of the line that begins with `word` and a space starts, or NULL. It reaches to
 * the line's end.
 */
char *text_value(char *text, const char *word);

#endif
