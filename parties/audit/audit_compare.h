/*
 * parties/audit/audit_compare.h - compares audit logs, and describes what they say was opened.
 *
 * Each log has been read, so it is consistent in itself. Compared with each other, the logs must be
 * from one study, each from a different server; what one saw of another's log must be in that log;
 * and an opening that several have must be the same in each.
 */
#pragma once

#include "parties/audit/audit_file.h"

#include <stdio.h>

/*
 * ERR_DATA, with each difference logged. What a crash or recovery explains is noted on `out`, once
 * for each log.
 */
enum err audit_compare(struct audit_file *const *files, size_t count, FILE *out,
                       struct log *log) MUST_CHECK;

/*
 * The log must contain the head that its own server signed on some day: otherwise ERR_DATA, logged,
 * or, if the server was recovered since, a note on `out`.
 */
enum err audit_continues(const struct audit_file *file, const struct audit_head *head,
                         const char *day, FILE *out, struct log *log) MUST_CHECK;

/*
 * ERR_MISMATCH, logged, if a log does not belong to this study and its three servers; ERR_DATA if
 * the study has approvers, and something was opened without their warrant or debited beyond it;
 * `rho` is the study's budget.
 */
enum err audit_is_of(const struct audit_file *file, const struct study *study, double rho,
                     struct log *log) MUST_CHECK;

/*
 * Describes logs in words: whose they are, how far they are signed, what was ever opened. Lists in
 * full the log with most in it, then what each other log says differently.
 */
void audit_describe(struct audit_file *const *files, size_t count, FILE *out);
