/*
 * parties/audit/audit.h - writes a server's log of every value that it ever helped to open.
 *
 * Each opening has one line, on disk before any part of the opening is sent;
 * parties/audit/audit_file.h has the form. The lines are a hash chain, and each round the
 * neighbours sign its head: nobody, not even the server itself, can change later what a log says
 * without the two others noticing.
 */
#ifndef TREFOIL_PARTIES_AUDIT_AUDIT_H
#define TREFOIL_PARTIES_AUDIT_AUDIT_H

#include "parties/audit/audit_file.h"

struct audit;

/*
 * Opens or begins folder/audit.log for this server. A last line that a crash cut is removed:
 * nothing was opened for it. ERR_DATA, logged, if the log is not intact; ERR_MISMATCH if it belongs
 * to another study or server.
 */
enum err audit_open(struct audit **audit, const char *folder, const struct study *study,
                    const struct identity *me, unsigned index, struct log *log) MUST_CHECK;
void audit_close(struct audit **audit);

/* Each appends a line, on disk on return. ERR_DATA, logged, if somebody has cut the file. */
enum err audit_write(struct audit *audit, const struct audit_opening *opening) MUST_CHECK;
enum err audit_recovered(struct audit *audit, uint64_t from, uint64_t to) MUST_CHECK;
/* That `trefoil recover` dropped the last debit, which gave the ledger this head. */
enum err audit_dropped(struct audit *audit, uint64_t number, const uint8_t head[32]) MUST_CHECK;
/* Whether the log has a line for what a round opened once it was paid for. */
enum err audit_has_opened(struct audit *audit, const uint8_t run[AUDIT_RUN_SIZE], uint32_t round,
                          bool *opened) MUST_CHECK;
enum err audit_left_out(struct audit *audit, const struct audit_left_out *left_out) MUST_CHECK;
enum err audit_lost(struct audit *audit, const struct audit_lost *lost) MUST_CHECK;
enum err audit_caught(struct audit *audit, const struct audit_caught *caught) MUST_CHECK;
enum err audit_resumed(struct audit *audit, const struct audit_checks *checks) MUST_CHECK;

/* The head to show to others, who note it for good: all of the log is on disk first. */
enum err audit_head(struct audit *audit, struct audit_head *head) MUST_CHECK;
/* The head of what is on disk for good; from any thread. */
void audit_lasting(struct audit *audit, struct audit_head *head);
/* Notes that a neighbour showed this head of its log, and signs it. */
enum err audit_see(struct audit *audit, unsigned server, const struct audit_head *theirs,
                   uint8_t signature[64]) MUST_CHECK;
/* Keeps a neighbour's signature on an earlier head of ours. ERR_AUTH, logged, if it is not good. */
enum err audit_keep(struct audit *audit, unsigned server, const struct audit_head *ours,
                    const uint8_t signature[64]) MUST_CHECK;

#endif
