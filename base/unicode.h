/*
 * base/unicode.h - gives the same bytes to texts that people take for the same. Unicode's tables
 * are utf8proc's; a build without that library converts only texts in ASCII.
 */
#pragma once

#include "base/bytes.h"

struct unicode_form {
    bool composed;  /* the form NFC */
    bool caseless;  /* full case folding: letters that differ only in case become alike */
    bool spaceless; /* without white space, including that of zero width */
};

/*
 * Appends `text` in this form. ERR_DATA: it is not UTF-8; ERR_REFUSED: it would have to be composed
 * or made caseless, is more than ASCII, and this build lacks utf8proc.
 */
enum err unicode_put(struct bytes *out, const char *text, struct unicode_form form) MUST_CHECK;

/* For unicode.c alone: `text` is UTF-8, NUL-ended; the form is composed or caseless. */
enum err unicode_map(struct bytes *out, const char *text, struct unicode_form form) MUST_CHECK;
