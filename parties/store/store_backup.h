/*
 * parties/store/store_backup.h - a server's folder as one file, and back.
 *
 * The file is an SQLite database like the one in the folder, as it was at one moment, with the
 * audit log in it; what is sealed stays sealed. A running server need not stop for a backup.
 */
#pragma once

#include "base/log.h"

#include <stdint.h>

struct store_contents {
    uint64_t uploads, debits;
};

/* Neither call replaces anything: ERR_SYSTEM, logged, if `file`, or the folder's store, exists. */
enum err store_backup(const char *folder, const char *file, struct store_contents *contents,
                      struct log *log) MUST_CHECK;
/* ERR_FORMAT, logged, if the file is damaged or not a backup; ERR_MISMATCH if it is too new. */
enum err store_restore(const char *file, const char *folder, struct store_contents *contents,
                       struct log *log) MUST_CHECK;
