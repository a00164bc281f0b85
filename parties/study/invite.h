/*
 * parties/study/invite.h - an invitation: the issuer that the study names has signed a number for
 * whoever comes first, up to a day. docs/formats.md has its two texts: the link, and what is kept.
 *
 * The link is secret: with its seed, whoever has it signs an owner's key, which makes a token of
 * that (token.h). A server takes the first key of a number, on that day or before, and from then on
 * that key alone.
 */
#pragma once

#include "parties/study/study.h"

#define INVITE_SEED_SIZE 32
#define INVITE_TEXT_SIZE 156 /* of either text, with the NUL */

struct invite {
    uint32_t number, last_day; /* base/date.h */
    uint8_t key[32];           /* the seed's public key */
    uint8_t signature[IDENTITY_SIGNATURE_SIZE];
};

/* A fresh one, with its seed, which is nowhere else. */
enum err invite_make(struct invite *i, uint8_t seed[INVITE_SEED_SIZE], const struct study *study,
                     const struct identity *issuer, uint32_t number, uint32_t last_day) MUST_CHECK;
/* Signs it, again. */
enum err invite_sign(struct invite *i, const struct study *study,
                     const struct identity *issuer) MUST_CHECK;
/*
 * ERR_AUTH if the issuer has not signed it for this study, ERR_RANGE if the study has no such
 * number, ERR_REFUSED if the number is revoked. Not logged: token_hint() has the words.
 */
enum err invite_check(const struct invite *i, const struct study *study) MUST_CHECK;

void invite_text(const struct invite *i, char text[INVITE_TEXT_SIZE]);
void invite_link(const struct invite *i, const uint8_t seed[INVITE_SEED_SIZE],
                 char text[INVITE_TEXT_SIZE]);
/* ERR_FORMAT if it is not such a text, ERR_MISMATCH if it has a later version. */
enum err invite_parse(struct invite *i, const char *text) MUST_CHECK;
/* The same for a link: a page's address may come before it, up to a '#'. */
enum err invite_parse_link(struct invite *i, uint8_t seed[INVITE_SEED_SIZE],
                           const char *text) MUST_CHECK;
