#include "parties/study/token.h"

#include "base/line.h"
#include "base/text.h"
#include "base/version.h"

#include <string.h>

#define RAW_SIZE (4 + 32 + IDENTITY_SIGNATURE_SIZE)

static const char prefix[] = "trefoil-token1-";
static const char label[] = "trefoil-token-1";

/* What the issuer signs. */
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
    t->number = number;
    memcpy(t->sign, sign, sizeof t->sign);
    TRY(check_key(t, study));
    s = statement_of(t, study);
    return identity_sign(issuer, label, s.bytes, sizeof s.bytes, t->signature);
}

enum err token_check(const struct token *t, const struct study *study)
{
    const struct token_statement s = statement_of(t, study);
    if (t->number >= study->open.most)
        return ERR_RANGE;
    TRY(check_key(t, study));
    TRY(public_identity_verify(&study->open.issuer, label, s.bytes, sizeof s.bytes, t->signature));
    return study_token_revoked(study, t->number) ? ERR_REFUSED : ERR_OK;
}

const char *token_hint(enum err e)
{
    switch (e) {
    case ERR_FORMAT:
        return "this is no token; it should be \"trefoil-token1-\" and 134 characters, as trefoil "
               "admit writes it";
    case ERR_MISMATCH:
        return "the token is of a later trefoil; this one, " TREFOIL_VERSION
               ", reads those that begin with trefoil-token1-: use the trefoil that made it";
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
    uint8_t raw[RAW_SIZE];
    memcpy(integer_put(raw, t->number, 4), t->sign, sizeof t->sign);
    memcpy(raw + 4 + sizeof t->sign, t->signature, sizeof t->signature);
    text_put_base64(text, prefix, raw, sizeof raw);
}

enum err token_parse(struct token *t, const char *text)
{
    uint8_t raw[RAW_SIZE];
    char again[TOKEN_TEXT_SIZE];
    if (version_of(text, strlen(text), prefix) > 1)
        return ERR_MISMATCH;
    if (!text_base64(text, prefix, raw, sizeof raw))
        return ERR_FORMAT;
    t->number = (uint32_t)integer_get(raw, 4);
    memcpy(t->sign, raw + 4, sizeof t->sign);
    memcpy(t->signature, raw + 4 + sizeof t->sign, sizeof t->signature);
    token_text(t, again); /* one text each: libsodium decodes some that it would not write */
    return strcmp(text, again) == 0 ? ERR_OK : ERR_FORMAT;
}

/* The first line that is a token for the key; ERR_DATA if there is none. */
static enum err find_line(struct token *t, struct line_reader *in, const uint8_t sign[32])
{
    for (const char *line; (line = line_next(in)) != NULL;) {
        const enum err e = token_parse(t, line);
        if (e == ERR_MISMATCH || (e == ERR_OK && memcmp(t->sign, sign, sizeof t->sign) == 0))
            return e;
    }
    return ERR_DATA;
}

enum err token_load(struct token *t, const struct study *study, const char *path,
                    const uint8_t sign[32], struct log *log)
{
    struct line_reader in CLEAN(line_clear) = {0};
    enum err e;
    TRY(line_file(&in, path, TOKEN_FILE_MOST, log));
    e = find_line(t, &in, sign);
    if (e == ERR_DATA)
        return log_fail(log, e, "%s has no token of this key; ask the study's issuer for one",
                        path);
    if (e == ERR_OK)
        e = token_check(t, study);
    return e == ERR_OK ? ERR_OK : log_fail(log, e, "%s: %s", path, token_hint(e));
}
