/*
 * parties/audit/audit_compare.h - audit logs against each other, and what they say was opened.
 *
 * Each log has been read, and so holds in itself. Against each other: of one study, each of another
 * server; what one says that it saw of another's log is there; an opening that several have is the
 * same in each.
 */
#ifndef TREFOIL_PARTIES_AUDIT_AUDIT_COMPARE_H
#define TREFOIL_PARTIES_AUDIT_AUDIT_COMPARE_H

#include "parties/audit/audit_file.h"

#include <stdio.h>

/*
 * ERR_DATA, each difference logged. What a crash or recovery explains is noted on `out`, once a
 * log.
 */
enum err audit_compare(struct audit_file *const *files, size_t count, FILE *out,
                       struct log *log) MUST_CHECK;

/*
 * The head that a log's own server signed on some day has to be there: ERR_DATA, logged, or if the
 * server was recovered since, a note on `out`.
 */
enum err audit_continues(const struct audit_file *file, const struct audit_head *head,
                         const char *day, FILE *out, struct log *log) MUST_CHECK;

/* ERR_MISMATCH, logged, if a log is not of this study and its three servers. */
enum err audit_is_of(const struct audit_file *file, const struct study *study,
                     struct log *log) MUST_CHECK;

/*
 * Logs in words: whose they are, how far they are signed, what was ever opened. What several logs
 * have alike is listed once, and then what each further log alone has.
 */
void audit_describe(struct audit_file *const *files, size_t count, FILE *out);

#endif
