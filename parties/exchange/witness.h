/*
 * parties/exchange/witness.h - what a client has seen of the servers' ledgers, on its own disk.
 *
 * A ledger only ever grows. If a server's folder was restored from a copy, its ledger is shorter or
 * a different one, and would let budget be spent twice. Its neighbours notice, unless all servers
 * were restored alike. So every owner and analyst keeps what the servers signed, and tells each
 * server how long a ledger it has seen. A ledger that is shorter, or had another head there, is
 * refused, and that signature is kept too.
 *
 * Files are text, and lines are only ever appended (docs/formats.md). For each server the longest
 * ledger counts. A line that a crash cut is ignored. Empty ledgers are not kept.
 */
#pragma once

#include "base/file.h"
#include "parties/exchange/head.h"

#define WITNESS_FILES 2

/* For one study. */
struct witness {
    const struct study *study; /* borrowed, as is the log */
    struct log *log;
    char path[WITNESS_FILES][FILE_PATH];
    size_t files;
    struct head seen[STUDY_SERVERS_MOST]; /* the longest ledger of each; length 0: none is known */
    bool refused;                         /* whether a ledger was */
};

/*
 * Reads a file, if it exists, and appends to it what is seen later. At most WITNESS_FILES.
 * ERR_SYSTEM or ERR_RANGE, logged, if it cannot be read; a line that is not a statement is a
 * warning.
 */
enum err witness_add(struct witness *w, const char *path) MUST_CHECK;

/* How many debits in a server's ledger have been seen: the length to ask it about. */
uint64_t witness_debits(const struct witness *w, unsigned server);
/*
 * Checks a server's answer to that, and keeps it. ERR_FORMAT, not logged, for the answer to another
 * question; ERR_AUTH, not logged, for one that the server has not signed. ERR_MISMATCH, reported to
 * `log`, if its ledger is shorter than before, or does not continue the one that was seen; both
 * signatures are then in the files. A file that cannot be written is a warning.
 */
enum err witness_take(struct witness *w, unsigned server, const struct head *head,
                      struct log *log) MUST_CHECK;
/* Call once after ledgers were refused: logs what that means and what to do. */
void witness_advise(const struct witness *w);
