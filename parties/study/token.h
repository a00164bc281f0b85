/*
 * parties/study/token.h - what admits an owner that the study does not list: a number and a key,
 * signed by the issuer that the study names, or by whom it has invited (invite.h). docs/formats.md
 * has its text.
 *
 * The study's terms are signed, too, so a token is good for one study. It is not secret, since only
 * the holder of the key can use it. The key belongs to an identity (identity.h), which may renew
 * its CURVE key. To the servers a number is one owner with one upload. It belongs to the key that
 * shows it first.
 */
#pragma once

#include "parties/study/invite.h"

#define TOKEN_TEXT_SIZE 283 /* with the NUL; one without invitation is shorter */
#define TOKEN_FILE_MOST ((size_t)256 << 20)

struct token {
    uint32_t number; /* below the study's open_owners.max */
    uint8_t sign[32];
    uint8_t signature[IDENTITY_SIGNATURE_SIZE];
    bool invited;
    struct invite by; /* .. with the same number; else zeros */
};

/* ERR_DATA for the study's issuer's own key. */
enum err token_make(struct token *t, const struct study *study, const struct identity *issuer,
                    uint32_t number, const uint8_t sign[32]) MUST_CHECK;
/* What an invitation's seed makes of it for an owner's key. */
enum err token_accept(struct token *t, const struct study *study, const struct invite *by,
                      const uint8_t seed[INVITE_SEED_SIZE], const uint8_t sign[32]) MUST_CHECK;
/* Whether it is of an invitation that nobody can take up today. Who has, goes on with the token. */
bool token_late(const struct token *t, uint32_t today);
/*
 * ERR_AUTH if the issuer has not signed it for this study, ERR_RANGE if the study has no such
 * number, ERR_DATA if the key is the issuer's, ERR_REFUSED if the number exists but is revoked. Not
 * logged: token_hint() has the words.
 */
enum err token_check(const struct token *t, const struct study *study) MUST_CHECK;
const char *token_hint(enum err e);

void token_text(const struct token *t, char text[TOKEN_TEXT_SIZE]);
/*
 * Finds a key's token in a file with one a line, or takes up the invitation whose link is there. If
 * another issuer has signed that invitation anew, its line (invite_text()) stands there, too.
 * ERR_DATA, logged, if there is neither; ERR_USAGE for the links of several invitations.
 */
enum err token_load(struct token *t, const struct study *study, const char *path,
                    const uint8_t sign[32], struct log *log) MUST_CHECK;
/* ERR_FORMAT if it is not such a text, ERR_MISMATCH if it has a later version. */
enum err token_parse(struct token *t, const char *text) MUST_CHECK;
