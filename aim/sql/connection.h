/*
 * aim/sql/connection.h - how to reach a database, without a password among a program's arguments.
 *
 * A connection is given as one of
 *   a name       of a data source of odbc.ini; it has no '=' and no '/'
 *   a text       KEY=VALUE;KEY=VALUE, as ODBC has it; refused where a key is that of a secret
 *   a file       its path. In the file, a line end is as good as a semicolon, # where a key would
 *                begin starts a comment, and secrets are fine if nobody else may read the file
 * A value may be in braces, and has to be if it holds a semicolon, a brace or a line end.
 */
#pragma once

#include "base/bytes.h"
#include "base/log.h"

#define CONNECTION_MAX 4096 /* bytes */

/*
 * Writes the text for ODBC, NUL-ended, to `out`, which may hold a password: bytes_clear() wipes it.
 * ERR_USAGE, logged, for a secret in an argument, ERR_FORMAT for anything that is no connection,
 * ERR_SYSTEM for a file that cannot be read, ERR_REFUSED for one with a secret that others may
 * read.
 */
enum err connection_text(const char *given, struct bytes *out, struct log *log) MUST_CHECK;

/* The same for the contents of a file; *secret: whether a key is that of a secret. */
enum err connection_parse(const char *name, const void *text, size_t n, struct bytes *out,
                          bool *secret, struct log *log) MUST_CHECK;
