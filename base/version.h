/*
 * base/version.h - which version of its format a text has.
 *
 * The name of a format contains its version: the last number in the name, as in "trefoil-model-1"
 * or "trefoil-sig1-". A reader asks here before it looks for anything else.
 */
#pragma once

#include "base/log.h"

#include <stddef.h>

/* The version of a text that begins as `format` does; 0 if it begins otherwise. */
unsigned version_of(const void *text, size_t n, const char *format);

/*
 * ERR_FORMAT, logged, for a text whose version is later than that of `format` or earlier than
 * `oldest`. A text that begins otherwise is ERR_OK and not logged: it is up to the reader to refuse
 * it.
 */
enum err version_check(const char *path, const void *text, size_t n, const char *format,
                       unsigned oldest, struct log *log) MUST_CHECK;
