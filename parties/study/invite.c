#include "parties/study/invite.h"

#include "base/text.h"
#include "base/version.h"

#include <sodium.h>
#include <string.h>

static const char prefix[] = "trefoil-invite1-", link_prefix[] = "trefoil-link1-";
static const char label[] = "trefoil-invite-1";

/* What the issuer signs; and a text's bytes: number, last day, key or seed, signature. */
struct invite_statement {
    uint8_t bytes[32 + 4 + 4 + 32];
};
struct invite_raw {
    uint8_t bytes[4 + 4 + 32 + IDENTITY_SIGNATURE_SIZE];
};

static struct invite_statement statement_of(const struct invite *i, const struct study *study)
{
    struct invite_statement s;
    uint8_t *p = s.bytes;
    memcpy(p, study->terms.digest, 32);
    p = integer_put(p + 32, i->number, 4);
    memcpy(integer_put(p, i->last_day, 4), i->key, sizeof i->key);
    return s;
}

enum err invite_sign(struct invite *i, const struct study *study, const struct identity *issuer)
{
    const struct invite_statement s = statement_of(i, study);
    return identity_sign(issuer, label, s.bytes, sizeof s.bytes, i->signature);
}

static void find_key(struct invite *i, const uint8_t seed[INVITE_SEED_SIZE])
{
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    crypto_sign_seed_keypair(i->key, secret, seed);
    sodium_memzero(secret, sizeof secret);
}

enum err invite_make(struct invite *i, uint8_t seed[INVITE_SEED_SIZE], const struct study *study,
                     const struct identity *issuer, uint32_t number, uint32_t last_day)
{
    *i = (struct invite){.number = number, .last_day = last_day};
    randombytes_buf(seed, INVITE_SEED_SIZE);
    find_key(i, seed);
    return invite_sign(i, study, issuer);
}

enum err invite_check(const struct invite *i, const struct study *study)
{
    const struct invite_statement s = statement_of(i, study);
    if (i->number >= study->open.most)
        return ERR_RANGE;
    TRY(public_identity_verify(&study->open.issuer, label, s.bytes, sizeof s.bytes, i->signature));
    return study_token_revoked(study, i->number) ? ERR_REFUSED : ERR_OK;
}

/* --- texts ------------------------------------------------------------------------------------ */

static void put(const struct invite *i, const char *begin, const uint8_t word[32],
                char text[INVITE_TEXT_SIZE])
{
    struct invite_raw raw;
    uint8_t *p = integer_put(integer_put(raw.bytes, i->number, 4), i->last_day, 4);
    memcpy(p, word, 32);
    memcpy(p + 32, i->signature, sizeof i->signature);
    text_put_base64(text, begin, raw.bytes, sizeof raw.bytes);
    sodium_memzero(&raw, sizeof raw);
}

static enum err take(struct invite *i, const char *begin, uint8_t word[32], const char *text)
{
    struct invite_raw raw;
    char again[INVITE_TEXT_SIZE];
    if (version_of(text, strlen(text), begin) > 1)
        return ERR_MISMATCH;
    if (!text_base64(text, begin, raw.bytes, sizeof raw.bytes))
        return ERR_FORMAT;
    i->number = (uint32_t)integer_get(raw.bytes, 4);
    i->last_day = (uint32_t)integer_get(raw.bytes + 4, 4);
    memcpy(word, raw.bytes + 8, 32);
    memcpy(i->signature, raw.bytes + 40, sizeof i->signature);
    put(i, begin, word, again); /* one text each */
    return strcmp(text, again) == 0 ? ERR_OK : ERR_FORMAT;
}

void invite_text(const struct invite *i, char text[INVITE_TEXT_SIZE])
{
    put(i, prefix, i->key, text);
}

void invite_link(const struct invite *i, const uint8_t seed[INVITE_SEED_SIZE],
                 char text[INVITE_TEXT_SIZE])
{
    put(i, link_prefix, seed, text);
}

enum err invite_parse(struct invite *i, const char *text)
{
    return take(i, prefix, i->key, text);
}

enum err invite_parse_link(struct invite *i, uint8_t seed[INVITE_SEED_SIZE], const char *text)
{
    const char *mark = strrchr(text, '#');
    TRY(take(i, link_prefix, seed, mark != NULL ? mark + 1 : text));
    find_key(i, seed);
    return ERR_OK;
}
