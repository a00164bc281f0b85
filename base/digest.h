/* base/digest.h - the BLAKE2b-256 at the end of a file: it shows whether the file is whole. */
#pragma once

#include "base/file.h"

#define DIGEST_SIZE 32

/* Appends the digest of all bytes so far. */
void digest_append(struct bytes *out);
/*
 * Writes all bytes and their digest, as file_write() does. After a failure it may be called again.
 */
enum err digest_write(const char *path, unsigned mode, struct bytes *out,
                      struct log *log) MUST_CHECK;
/* Takes the digest off the end and `magic` off the start; ERR_FORMAT if either does not fit. */
enum err digest_check(struct reader *r, const char *magic) MUST_CHECK;
