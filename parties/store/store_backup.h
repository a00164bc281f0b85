/*
 * parties/store/store_backup.h - a server's folder as one file, and back.
 *
 * The file is an SQLite database as in the folder, whole at one moment, with the audit log in it;
 * what is sealed there stays sealed. Backing up does not stop a running server.
 */
#ifndef TREFOIL_PARTIES_STORE_STORE_BACKUP_H
#define TREFOIL_PARTIES_STORE_STORE_BACKUP_H

#include "base/error.h"
#include "base/log.h"

#include <stdint.h>

struct store_contents {
    uint64_t uploads, debits;
};

/* Neither replaces anything: ERR_SYSTEM, logged, if `file`, or the folder's store, is there. */
enum err store_backup(const char *folder, const char *file, struct store_contents *contents,
                      struct log *log) MUST_CHECK;
/* ERR_FORMAT, logged, for a file that is damaged or no backup; ERR_MISMATCH if it is too new. */
enum err store_restore(const char *file, const char *folder, struct store_contents *contents,
                       struct log *log) MUST_CHECK;

#endif
