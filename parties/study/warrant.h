/*
 * parties/study/warrant.h - what approvers permit an analyst, signed by as many of them as the
 * study asks for. Without it servers open nothing.
 *
 *   trefoil-warrant-1
 *   terms HEX            of the study
 *   analyst HEX          whose Ed25519 key it is for
 *   share 50.0000 %      of the budget: a ceiling on all that is ever debited
 *   until 2026-12-31     the last day, in UTC, on which anything is debited
 *   purpose TEXT
 *   signed NAME SIGNATURE        each approver's: Ed25519 with the label "trefoil-warrant-1" over
 *                                the lines above
 *
 * The file, what an OPEN carries and what the audit log keeps are one text, with one way to write
 * it. As the share bounds the whole ledger, another run or a second warrant adds nothing to it. Its
 * number is the SHA-256 of what is signed; the roster may revoke that.
 */
#pragma once

#include "parties/study/study.h"

#define WARRANT_PURPOSE_SIZE 201 /* with the NUL */
#define WARRANT_TEXT_MOST ((size_t)4096)
#define WARRANT_ALL 1000000u /* the whole budget, as a share in millionths */

struct warrant {
    uint8_t terms[32], analyst[32];
    uint32_t share; /* 0: this is no warrant */
    uint32_t last_day;
    char purpose[WARRANT_PURPOSE_SIZE];
    size_t signatures;
    struct warrant_signature {
        char name[STUDY_NAME_SIZE];
        uint8_t bytes[IDENTITY_SIGNATURE_SIZE];
    } signature[STUDY_APPROVERS_MAX];
};

/* ERR_DATA, logged, if it cannot be written so: share, purpose. */
enum err warrant_sound(const struct warrant *w, struct log *log) MUST_CHECK;
enum err warrant_write(const struct warrant *w, struct bytes *out) MUST_CHECK;
/* ERR_FORMAT for any text but those that are written, ERR_MISMATCH for a later version. */
enum err warrant_parse(struct warrant *w, const void *text, size_t n) MUST_CHECK;
enum err warrant_load(struct warrant *w, const char *path, struct log *log) MUST_CHECK;
enum err warrant_number(const struct warrant *w, uint8_t number[32]) MUST_CHECK;

/* Adds an approver's signature. ERR_AUTH, logged, if the key is not one of theirs. */
enum err warrant_sign(struct warrant *w, const struct study *study, const struct identity *me,
                      struct log *log) MUST_CHECK;

/*
 * Whether it permits this analyst (NULL: whichever it names) something in this study: ERR_REFUSED,
 * logged with what to do, if not. `w` of zeros is no warrant. A study without approvers needs none.
 */
enum err warrant_check(const struct warrant *w, const struct study *study,
                       const uint8_t analyst[32], struct log *log) MUST_CHECK;
/*
 * Whether it permits a debit today, after which `spent` of the budget `rho` is spent: ERR_REFUSED
 * or ERR_BUDGET, logged, if not.
 */
enum err warrant_allows(const struct warrant *w, double spent, double rho, uint32_t today,
                        struct log *log) MUST_CHECK;

/* In words: what it permits whom; and who has signed. */
void warrant_describe(FILE *out, const struct warrant *w, const struct study *study);
void warrant_describe_signatures(FILE *out, const struct warrant *w, const struct study *study);
