/*
 * parties/audit/audit.h - writes a server's log of every value that it ever helped to open.
 *
 * Each opening has one line, on disk before any part of the opening is sent;
 * parties/audit/audit_file.h has the form. The lines are a hash chain, and each round the
 * neighbours sign its head: nobody, not even the server itself, can change later what a log says
 * without the two others noticing.
 */
#pragma once

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

/*
 * Appends a line of any kind but LOG, SEEN and SIGNED, on disk on return. ERR_DATA, logged, if
 * somebody has cut the file.
 */
enum err audit_note(struct audit *audit, const struct audit_entry *entry) MUST_CHECK;
/* Whether the log has a line for what a round opened once it was paid for. */
enum err audit_has_opened(struct audit *audit, const uint8_t run[AUDIT_RUN_SIZE], uint32_t round,
                          bool *opened) MUST_CHECK;

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
