/* base/text.h - making and parsing text; UTF-8, and characters that could steer a terminal. */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* The size of the UTF-8 character at `p` in bytes, or 0 if there is none. */
size_t text_character(const char *p);
/* ASCII's ten, whatever the locale. */
static inline bool text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
/* Whether a terminal may obey this character. Line ends are among those. */
bool text_is_control(const char *p);
/* Replaces those, and bytes that are not UTF-8, with `?`; line ends stay. */
void text_tame(char *text);

/* Add text as printf() makes it; the hexadecimal digits of n bytes. */
void text_put(struct bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_put_hex(struct bytes *b, const void *p, size_t n);
/* A hash as such digits. */
struct text_hash {
    char text[65];
};
struct text_hash text_hash(const uint8_t hash[32]);
/* Reads n bytes from a text of 2n such digits and nothing else; false for any other text. */
bool text_hex(const char *text, void *out, size_t n);

/*
 * The prefix and base64url of n bytes, without padding, into a text that has room for it. Reading:
 * false for any text but a prefix and n bytes so.
 */
void text_put_base64(char *text, const char *prefix, const void *p, size_t n);
bool text_base64(const char *text, const char *prefix, void *out, size_t n);

/*
 * Finds the line that begins with `word` and a space: where its value starts, or NULL. The value
 * reaches to the end of the line.
 */
char *text_value(char *text, const char *word);

/* Puts the numbers 0 .. n-1 of texts in strcmp() order; the number of one, or UINT32_MAX. */
void text_order(char *const *text, uint32_t n, uint32_t *order);
uint32_t text_find(char *const *text, uint32_t n, const uint32_t *order, const char *wanted);
