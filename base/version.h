/*
 * base/version.h - which version of its format a text is of.
 *
 * Formats are named with their version, as "trefoil-model-1" or "trefoil-sig1-": the last number in
 * the name. A reader asks here before it looks for anything else.
 */
#ifndef TREFOIL_BASE_VERSION_H
#define TREFOIL_BASE_VERSION_H

#include "base/log.h"

#include <stddef.h>

/* The number with which a text begins as `format` does; 0 if it begins otherwise. */
unsigned version_of(const void *text, size_t n, const char *format);

/*
 * ERR_FORMAT, logged, for a text of a later version than that of `format`, or of one before
 * `oldest`. What begins otherwise is not logged, and ERR_OK: to refuse it is up to the reader.
 */
enum err version_check(const char *path, const void *text, size_t n, const char *format,
                       unsigned oldest, struct log *log) MUST_CHECK;

#endif
