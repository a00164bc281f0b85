/*
 * base/unicode.h - texts that people take for the same, made the same bytes. Unicode's tables are
 * utf8proc's; where that was absent when this was built, texts of ASCII alone are made.
 */
#ifndef TREFOIL_BASE_UNICODE_H
#define TREFOIL_BASE_UNICODE_H

#include "base/bytes.h"

struct unicode_form {
    bool composed;  /* the form NFC */
    bool caseless;  /* full case folding: letters that differ in case alone are alike */
    bool spaceless; /* without white space, also that of no width */
};

/*
 * Appends `text` in this form. ERR_DATA: it is not UTF-8; ERR_REFUSED: it would have to be composed
 * or made caseless, is more than ASCII, and this build lacks utf8proc.
 */
enum err unicode_put(struct bytes *out, const char *text, struct unicode_form form) MUST_CHECK;

/* For unicode.c: text in UTF-8, composed or caseless; NUL-ended. */
enum err unicode_map(struct bytes *out, const char *text, struct unicode_form form) MUST_CHECK;

#endif
