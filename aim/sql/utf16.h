/* aim/sql/utf16.h - text as some database drivers take and give it: UTF-16, lowest byte first. */
#pragma once

#include "base/bytes.h"

/* Appends UTF-8 as UTF-16 with a 0 at its end. What is no UTF-8 becomes U+FFFD. */
void utf16_put(struct bytes *out, const char *text);
/* Appends n units of UTF-16 as UTF-8. Half a pair becomes U+FFFD. */
void utf16_text(struct bytes *out, const void *units, size_t n);
