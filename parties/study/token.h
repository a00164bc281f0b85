/*
 * parties/study/token.h - what admits an owner that the study does not list: a number and a key,
 * signed by the issuer that the study names.
 *
 *   trefoil-token1-...    base64url of number (u32), key (32), signature (64)
 *
 * The signature is the issuer's Ed25519, with the label "trefoil-token-1", over the digest of the
 * study's terms, the number and the key. So a token is good for one study, and is not secret, since
 * only the holder of the key can use it. The key belongs to an identity (identity.h), which may
 * renew its CURVE key. To the servers a number is one owner with one upload. It belongs to the key
 * that shows it first.
 */
#pragma once

#include "parties/study/study.h"

#define TOKEN_TEXT_SIZE 150 /* with the NUL */
#define TOKEN_FILE_MOST ((size_t)256 << 20)

struct token {
    uint32_t number; /* below the study's open_owners.max */
    uint8_t sign[32];
    uint8_t signature[IDENTITY_SIGNATURE_SIZE];
};

/* ERR_DATA for the study's issuer's own key. */
enum err token_make(struct token *t, const struct study *study, const struct identity *issuer,
                    uint32_t number, const uint8_t sign[32]) MUST_CHECK;
/*
 * ERR_AUTH if the issuer has not signed it for this study, ERR_RANGE if the study has no such
 * number, ERR_DATA if the key is the issuer's, ERR_REFUSED if the number exists but is revoked. Not
 * logged: token_hint() has the words.
 */
enum err token_check(const struct token *t, const struct study *study) MUST_CHECK;
const char *token_hint(enum err e);

void token_text(const struct token *t, char text[TOKEN_TEXT_SIZE]);
/* Finds a key's token in a file with one a line. ERR_DATA, logged, if the key has none. */
enum err token_load(struct token *t, const struct study *study, const char *path,
                    const uint8_t sign[32], struct log *log) MUST_CHECK;
/* ERR_FORMAT if it is not such a text, ERR_MISMATCH if it has a later version. */
enum err token_parse(struct token *t, const char *text) MUST_CHECK;
