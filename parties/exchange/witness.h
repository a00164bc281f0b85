/*
 * parties/exchange/witness.h - what a client has seen of the servers' ledgers, on its own disk.
 *
 * A ledger only ever grows. That of a server whose folder was restored from a copy is shorter, or
 * another, and would let budget be spent twice. Two neighbours notice, unless all three were
 * restored alike. So every owner and analyst keeps what the servers signed, and tells each how long
 * a ledger it has seen. One that is shorter, or had another head there, is refused, and the
 * signature of that is kept too.
 *
 * Files are text, and lines only ever come to the end (docs/formats.md). Of each server the longest
 * ledger counts. A line that a crash cut counts for nothing. Empty ledgers are not kept.
 */
#ifndef TREFOIL_PARTIES_EXCHANGE_WITNESS_H
#define TREFOIL_PARTIES_EXCHANGE_WITNESS_H

#include "base/file.h"
#include "parties/exchange/head.h"

#define WITNESS_FILES 2

/* Of one study. */
struct witness {
    const struct study *study; /* borrowed, as is the log */
    struct log *log;
    char path[WITNESS_FILES][FILE_PATH];
    size_t files;
    struct head seen[STUDY_SERVERS]; /* the longest ledger of each; of length 0: none is known */
    bool refused;                    /* a ledger was */
};

/*
 * Reads a file, if it is there, and later adds to it what is seen. At most WITNESS_FILES.
 * ERR_SYSTEM or ERR_RANGE, logged, if it cannot be read; lines that are no statement are warned of.
 */
enum err witness_add(struct witness *w, const char *path) MUST_CHECK;

/* How many debits of a server's ledger have been seen: what to ask it about. */
uint64_t witness_debits(const struct witness *w, unsigned server);
/*
 * Takes what a server answers to that, and keeps it. ERR_FORMAT, not logged, for the answer to
 * another question, ERR_AUTH, not logged, for one that the server has not signed. ERR_MISMATCH,
 * told to `log`, where its ledger is shorter than it was seen, or does not continue that; both
 * signatures are then in the files. A file that cannot be written is a warning.
 */
enum err witness_take(struct witness *w, unsigned server, const struct head *head,
                      struct log *log) MUST_CHECK;
/* After a ledger was refused, once for all of them: logs what it means, and what to do. */
void witness_advise(const struct witness *w);

#endif
