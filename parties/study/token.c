#include "parties/study/token.h"

#include "base/line.h"
#include "base/text.h"
#include "base/version.h"

#include <sodium.h>
#include <string.h>

#define RAW_SIZE (4 + 32 + IDENTITY_SIGNATURE_SIZE)
#define INVITED_SIZE (RAW_SIZE + 4 + 32 + IDENTITY_SIGNATURE_SIZE)

static const char *const prefix[] = {"trefoil-token1-", "trefoil-token2-"};
static const char *const label[] = {"trefoil-token-1", "trefoil-token-2"};

/* What the issuer signs, or an invitation. */
struct token_statement {
    uint8_t bytes[32 + 4 + 32];
};

static struct token_statement statement_of(const struct token *t, const struct study *study)
{
    struct token_statement s;
    memcpy(s.bytes, study->terms.digest, 32);
    memcpy(integer_put(s.bytes + 32, t->number, 4), t->sign, sizeof t->sign);
    return s;
}

/* The issuer is no owner: a key has one role. */
static enum err check_key(const struct token *t, const struct study *study)
{
    return memcmp(t->sign, study->open.issuer.sign, sizeof t->sign) == 0 ? ERR_DATA : ERR_OK;
}

enum err token_make(struct token *t, const struct study *study, const struct identity *issuer,
                    uint32_t number, const uint8_t sign[32])
{
    struct token_statement s;
    *t = (struct token){.number = number};
    memcpy(t->sign, sign, sizeof t->sign);
    TRY(check_key(t, study));
    s = statement_of(t, study);
    return identity_sign(issuer, label[0], s.bytes, sizeof s.bytes, t->signature);
}

enum err token_accept(struct token *t, const struct study *study, const struct invite *by,
                      const uint8_t seed[INVITE_SEED_SIZE], const uint8_t sign[32])
{
    struct identity *host CLEAN(identity_free) = NULL;
    struct token_statement s;
    *t = (struct token){.number = by->number, .invited = true, .by = *by};
    memcpy(t->sign, sign, sizeof t->sign);
    s = statement_of(t, study);
    TRY(identity_new(&host, NULL));
    crypto_sign_seed_keypair(host->public.sign, host->sign_secret, seed);
    return identity_sign(host, label[1], s.bytes, sizeof s.bytes, t->signature);
}

bool token_late(const struct token *t, uint32_t today)
{
    return t->invited && today > t->by.last_day;
}

enum err token_check(const struct token *t, const struct study *study)
{
    const struct token_statement s = statement_of(t, study);
    struct public_identity from = study->open.issuer;
    if (t->number >= study->open.most)
        return ERR_RANGE;
    TRY(check_key(t, study));
    if (t->invited) {
        TRY(invite_check(&t->by, study));
        memcpy(from.sign, t->by.key, sizeof from.sign);
    }
    TRY(public_identity_verify(&from, label[t->invited], s.bytes, sizeof s.bytes, t->signature));
    return study_token_revoked(study, t->number) ? ERR_REFUSED : ERR_OK;
}

const char *token_hint(enum err e)
{
    switch (e) {
    case ERR_FORMAT:
        return "this is no token and no invitation; a token is \"trefoil-token1-\" and 134 "
               "characters, as trefoil admit writes it";
    case ERR_MISMATCH:
        return "the token is of a later trefoil; this one, " TREFOIL_VERSION
               ", reads those that begin with trefoil-token1- or trefoil-token2-, and invitations "
               "with trefoil-link1- or trefoil-invite1-: use the trefoil that made it";
    case ERR_RANGE:
        return "the token has a number that the study's open_owners.max does not allow; ask the "
               "issuer for another";
    case ERR_DATA:
        return "the token is for the issuer's own key; an owner needs another key";
    case ERR_REFUSED:
        return "the token is revoked by the study's roster; ask the issuer why";
    default:
        return "the study's issuer has not signed the token for these terms; compare study files, "
               "or ask the issuer for another";
    }
}

void token_text(const struct token *t, char text[TOKEN_TEXT_SIZE])
{
    uint8_t raw[INVITED_SIZE], *p = integer_put(raw, t->number, 4);
    if (t->invited) {
        p = integer_put(p, t->by.last_day, 4);
        memcpy(p, t->by.key, sizeof t->by.key);
        memcpy(p + 32, t->by.signature, sizeof t->by.signature);
        p += 32 + sizeof t->by.signature;
    }
    memcpy(p, t->sign, sizeof t->sign);
    memcpy(p + sizeof t->sign, t->signature, sizeof t->signature);
    text_put_base64(text, prefix[t->invited], raw, t->invited ? INVITED_SIZE : RAW_SIZE);
}

enum err token_parse(struct token *t, const char *text)
{
    uint8_t raw[INVITED_SIZE];
    const uint8_t *p = raw + 4;
    char again[TOKEN_TEXT_SIZE];
    const unsigned version = version_of(text, strlen(text), prefix[0]);
    if (version > 2)
        return ERR_MISMATCH;
    *t = (struct token){.invited = version == 2};
    if (!text_base64(text, prefix[t->invited], raw, t->invited ? INVITED_SIZE : RAW_SIZE))
        return ERR_FORMAT;
    t->number = (uint32_t)integer_get(raw, 4);
    if (t->invited) {
        t->by = (struct invite){.number = t->number, .last_day = (uint32_t)integer_get(p, 4)};
        memcpy(t->by.key, p + 4, sizeof t->by.key);
        memcpy(t->by.signature, p + 36, sizeof t->by.signature);
        p += 36 + sizeof t->by.signature;
    }
    memcpy(t->sign, p, sizeof t->sign);
    memcpy(t->signature, p + sizeof t->sign, sizeof t->signature);
    token_text(t, again); /* one text each: libsodium decodes some that it would not write */
    return strcmp(text, again) == 0 ? ERR_OK : ERR_FORMAT;
}

/* What a file has for a key. */
struct find {
    const struct study *study;
    const uint8_t *sign;
    bool linked, several; /* to an invitation, or to more: */
    struct invite by;
    uint8_t seed[INVITE_SEED_SIZE];
};

/* Takes a line. ERR_AGAIN: it is not a token of the key's. */
static enum err find_in_line(struct find *f, const char *line, struct token *t)
{
    struct invite anew;
    uint8_t seed[INVITE_SEED_SIZE];
    enum err e = token_parse(t, line);
    if (e == ERR_OK)
        return memcmp(t->sign, f->sign, sizeof t->sign) == 0 ? ERR_OK : ERR_AGAIN;
    if (e == ERR_FORMAT)
        e = invite_parse_link(&anew, seed, line);
    if (e == ERR_OK && f->linked) {
        f->several = f->several || memcmp(anew.key, f->by.key, sizeof anew.key) != 0;
    } else if (e == ERR_OK) {
        f->linked = true;
        f->by = anew;
        memcpy(f->seed, seed, sizeof seed);
    } else if (e == ERR_FORMAT && f->linked) {
        e = invite_parse(&anew, line);
        if (e == ERR_OK && memcmp(anew.key, f->by.key, sizeof anew.key) == 0 &&
            invite_check(&anew, f->study) == ERR_OK)
            f->by = anew;
    }
    sodium_memzero(seed, sizeof seed);
    return e == ERR_OK || e == ERR_FORMAT ? ERR_AGAIN : e;
}

/*
 * The first line that is a token for the key, or else the link; ERR_DATA without either, ERR_USAGE
 * for links of several invitations: which of them is this owner's?
 */
static enum err find_line(struct token *t, struct line_reader *in, struct find *f)
{
    for (const char *line; (line = line_next(in)) != NULL;) {
        const enum err e = find_in_line(f, line, t);
        if (e != ERR_AGAIN)
            return e;
    }
    if (f->several)
        return ERR_USAGE;
    return f->linked ? token_accept(t, f->study, &f->by, f->seed, f->sign) : ERR_DATA;
}

static void find_clear(struct find *f)
{
    sodium_memzero(f->seed, sizeof f->seed);
}

enum err token_load(struct token *t, const struct study *study, const char *path,
                    const uint8_t sign[32], struct log *log)
{
    struct line_reader in CLEAN(line_clear) = {0};
    struct find f CLEAN(find_clear) = {.study = study, .sign = sign};
    enum err e;
    TRY(line_file(&in, path, TOKEN_FILE_MOST, log));
    e = find_line(t, &in, &f);
    if (e == ERR_DATA)
        return log_fail(
            log, e, "%s has no token of this key, nor an invitation; ask the study's issuer", path);
    if (e == ERR_USAGE)
        return log_fail(log, e,
                        "%s has several invitations, and no token of this key: leave only the link "
                        "that is yours in it",
                        path);
    if (e == ERR_OK)
        e = token_check(t, study);
    return e == ERR_OK ? ERR_OK : log_fail(log, e, "%s: %s", path, token_hint(e));
}
