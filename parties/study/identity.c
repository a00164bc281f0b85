#include "parties/study/identity.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/version.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_SIZE 64      /* Ed25519 seed || X25519 secret */
#define SECRET_TEXT_SIZE 87 /* its base64url, with the NUL */
#define FILE_LIMIT 4096

#define PUBLIC_SIZE 128 /* and 4 more if it expires */

static const char *const text_prefix[2] = {"trefoil1-", "trefoil2-"};
static const char *const curve_label[2] = {"trefoil-curve-1", "trefoil-curve-2"};

struct identity_statement {
    uint8_t bytes[15 + 32 + 4];
    size_t size;
};

/* What an identity signs to vouch for its CURVE key. */
static struct identity_statement curve_statement(const struct public_identity *who)
{
    struct identity_statement s = {.size = 15 + 32};
    memcpy(s.bytes, curve_label[who->last_day != 0], 15);
    memcpy(s.bytes + 15, who->curve, 32);
    if (who->last_day != 0) {
        integer_put(s.bytes + s.size, who->last_day, 4);
        s.size += 4;
    }
    return s;
}

/* X25519 ignores these bits. Fixing them gives a key one text, so that any altered bit shows. */
static void clamp(uint8_t secret[32])
{
    secret[0] &= 0xf8;
    secret[31] = (uint8_t)((secret[31] & 0x7f) | 0x40);
}

static bool clamped(const uint8_t secret[32])
{
    return (secret[0] & 0x07) == 0 && (secret[31] & 0xc0) == 0x40;
}

/* Fills in everything that follows from the two private keys and the last day. */
static enum err derive(struct identity *id, const uint8_t seed[32], const uint8_t curve_secret[32],
                       uint32_t last_day)
{
    struct identity_statement statement;
    memcpy(id->curve_secret, curve_secret, 32);
    id->public.last_day = last_day;
    if (crypto_sign_seed_keypair(id->public.sign, id->sign_secret, seed) != 0 ||
        crypto_scalarmult_base(id->public.curve, id->curve_secret) != 0)
        return ERR_CRYPTO;
    statement = curve_statement(&id->public);
    if (crypto_sign_detached(id->public.signature, NULL, statement.bytes, statement.size,
                             id->sign_secret) != 0)
        return ERR_CRYPTO;
    return ERR_OK;
}

enum err identity_new(struct identity **identity, struct log *log)
{
    return identity_renew(identity, NULL, 0, log);
}

enum err identity_renew(struct identity **identity, const struct identity *old, uint32_t last_day,
                        struct log *log)
{
    uint8_t *seeds CLEAN(secret_release) = secret_new(SECRET_SIZE);
    struct identity *id CLEAN(identity_free) = secret_new(sizeof *id);
    enum err e = ERR_NOMEM;
    *identity = NULL;
    if (seeds != NULL && id != NULL) {
        secret_random(seeds, SECRET_SIZE);
        clamp(seeds + 32);
        if (old != NULL)
            crypto_sign_ed25519_sk_to_seed(seeds, old->sign_secret);
        e = derive(id, seeds, seeds + 32, last_day);
    }
    if (e != ERR_OK)
        return log_fail(log, e, "cannot make a key: %s", error_text(e));
    return memory_hand_over(identity, &id);
}

void identity_free(struct identity **identity)
{
    secret_free(identity);
}

/* --- private key files ------------------------------------------------------------------------ */

static enum err check_file(const char *path, struct stat *st, struct log *log)
{
    if (stat(path, st) != 0)
        return log_fail(log, ERR_SYSTEM, "cannot open the key %s: %s", path, strerror(errno));
    if (!S_ISREG(st->st_mode))
        return log_fail(log, ERR_STUDY, "%s is not a file; name a key made by trefoil keygen",
                        path);
    return ERR_OK;
}

static bool is_our_group(gid_t group)
{
    gid_t ours[64];
    const int n = getgroups(sizeof ours / sizeof *ours, ours);
    bool found = getegid() == group;
    for (int k = 0; k < n && !found; k++)
        found = ours[k] == group;
    return found;
}

bool identity_file_is_private(const struct stat *st)
{
    if ((st->st_mode & 077) == 0)
        return true;
    return (st->st_mode & 037) == 0 && st->st_uid != geteuid() && is_our_group(st->st_gid);
}

static enum err check_mode(const char *path, const struct stat *st, struct log *log)
{
    if (!identity_file_is_private(st))
        return log_fail(log, ERR_STUDY,
                        "the key %s may be read or written by others (mode %04o); if nobody did, "
                        "run: chmod 600 %s; otherwise make a new key",
                        path, (unsigned)st->st_mode & 07777U, path);
    return ERR_OK;
}

static enum err parse_private(struct identity *id, char *text, uint8_t seeds[SECRET_SIZE])
{
    struct public_identity stated;
    enum err e;
    char *public_text = text_value(text, "public");
    char *secret_text = text_value(text, "secret");
    if (public_text == NULL || secret_text == NULL)
        return ERR_STUDY;
    public_text[strcspn(public_text, "\r\n")] = '\0';
    secret_text[strcspn(secret_text, "\r\n")] = '\0';
    e = public_identity_parse(&stated, public_text);
    if (e == ERR_MISMATCH)
        return e;
    if (e != ERR_OK || !text_base64(secret_text, "", seeds, SECRET_SIZE) || !clamped(seeds + 32))
        return ERR_STUDY;
    TRY(derive(id, seeds, seeds + 32, stated.last_day));
    return public_identity_equal(&id->public, &stated) ? ERR_OK : ERR_STUDY;
}

enum err identity_load(struct identity **identity, const char *path, struct log *log)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    uint8_t *seeds CLEAN(secret_release) = NULL;
    struct identity *id CLEAN(identity_free) = NULL;
    struct stat st;
    enum err e;
    *identity = NULL;
    TRY(check_file(path, &st, log));
    if (st.st_size <= FILE_LIMIT) /* a larger one is not read, and refused below */
        TRY(file_read(path, FILE_LIMIT, &file, log));
    seeds = secret_new(SECRET_SIZE);
    id = secret_new(sizeof *id);
    bytes_put_u8(&file, 0);
    TRY(seeds == NULL || id == NULL ? ERR_NOMEM : bytes_ok(&file));
    e = parse_private(id, (char *)file.data, seeds);
    if (e == ERR_MISMATCH)
        return log_fail(log, ERR_STUDY, "%s: %s", path, identity_parse_hint(e));
    if (e != ERR_OK)
        return log_fail(
            log, e, "%s is not an intact private key; name a file made by trefoil keygen", path);
    TRY(check_mode(path, &st, log));
    return memory_hand_over(identity, &id);
}

enum err identity_save(const struct identity *identity, const char *path, bool force,
                       struct log *log)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    struct stat st;
    char public_text[IDENTITY_TEXT_SIZE];
    char secret_text[SECRET_TEXT_SIZE];
    uint8_t seeds[SECRET_SIZE];
    enum err e;
    if (!force && lstat(path, &st) == 0)
        return log_fail(
            log, ERR_SYSTEM,
            "%s is there already and was left alone; a lost key cannot be made again, so "
            "choose another name (or --force)",
            path);
    crypto_sign_ed25519_sk_to_seed(seeds, identity->sign_secret);
    memcpy(seeds + 32, identity->curve_secret, 32);
    text_put_base64(secret_text, "", seeds, sizeof seeds);
    public_identity_text(&identity->public, public_text);
    text_put(&file,
             "# Trefoil private key: whoever reads the line `secret` can act as you.\n"
             "# The line `public` is for the study file.\nsecret %s\npublic %s\n",
             secret_text, public_text);
    e = bytes_ok(&file);
    if (e == ERR_OK)
        e = file_write(path, 0600, file.data, file.size, log);
    secret_wipe(seeds, sizeof seeds);
    secret_wipe(secret_text, sizeof secret_text);
    return e;
}

/* --- signatures ------------------------------------------------------------------------------- */

static enum err labelled(struct bytes *b, const char *label, const void *message, size_t n)
{
    bytes_put_string(b, label);
    bytes_put(b, message, n);
    return bytes_ok(b);
}

enum err identity_sign(const struct identity *identity, const char *label, const void *message,
                       size_t n, uint8_t signature[64])
{
    struct bytes b CLEAN(bytes_clear) = {0};
    TRY(labelled(&b, label, message, n));
    return crypto_sign_detached(signature, NULL, b.data, b.size, identity->sign_secret) == 0
               ? ERR_OK
               : ERR_CRYPTO;
}

enum err public_identity_verify(const struct public_identity *who, const char *label,
                                const void *message, size_t n, const uint8_t signature[64])
{
    struct bytes b CLEAN(bytes_clear) = {0};
    TRY(labelled(&b, label, message, n));
    return crypto_sign_verify_detached(signature, b.data, b.size, who->sign) == 0 ? ERR_OK
                                                                                  : ERR_AUTH;
}

static const char signature_prefix[] = "trefoil-sig1-";

void identity_signature_text(const uint8_t signature[IDENTITY_SIGNATURE_SIZE],
                             char text[IDENTITY_SIGNATURE_TEXT_SIZE])
{
    text_put_base64(text, signature_prefix, signature, IDENTITY_SIGNATURE_SIZE);
}

enum err identity_signature_parse(uint8_t signature[IDENTITY_SIGNATURE_SIZE], const char *text)
{
    if (version_of(text, strlen(text), signature_prefix) > 1)
        return ERR_MISMATCH;
    return text_base64(text, signature_prefix, signature, IDENTITY_SIGNATURE_SIZE) ? ERR_OK
                                                                                   : ERR_FORMAT;
}

/* --- public identities ------------------------------------------------------------------------ */

static size_t pack(const struct public_identity *who, uint8_t raw[PUBLIC_SIZE + 4])
{
    memcpy(raw, who->sign, 32);
    memcpy(raw + 32, who->curve, 32);
    memcpy(raw + 64, who->signature, 64);
    integer_put(raw + PUBLIC_SIZE, who->last_day, 4);
    return who->last_day != 0 ? PUBLIC_SIZE + 4 : PUBLIC_SIZE;
}

void public_identity_text(const struct public_identity *who, char text[IDENTITY_TEXT_SIZE])
{
    uint8_t raw[PUBLIC_SIZE + 4];
    size_t n = pack(who, raw);
    text_put_base64(text, text_prefix[who->last_day != 0], raw, n);
}

enum err public_identity_parse(struct public_identity *who, const char *text)
{
    uint8_t raw[PUBLIC_SIZE + 4];
    struct identity_statement statement;
    char again[IDENTITY_TEXT_SIZE];
    bool expires;
    if (version_of(text, strlen(text), text_prefix[1]) > 2)
        return ERR_MISMATCH;
    expires = text_base64(text, text_prefix[1], raw, PUBLIC_SIZE + 4);
    if (!expires && !text_base64(text, text_prefix[0], raw, PUBLIC_SIZE))
        return ERR_FORMAT;
    memcpy(who->sign, raw, 32);
    memcpy(who->curve, raw + 32, 32);
    memcpy(who->signature, raw + 64, 64);
    who->last_day = expires ? (uint32_t)integer_get(raw + PUBLIC_SIZE, 4) : 0;
    /* one text each: libsodium decodes some that it would not write, and a last day 0 is no day */
    public_identity_text(who, again);
    if (strcmp(text, again) != 0)
        return ERR_FORMAT;
    statement = curve_statement(who);
    return crypto_sign_verify_detached(who->signature, statement.bytes, statement.size,
                                       who->sign) == 0
               ? ERR_OK
               : ERR_AUTH;
}

const char *identity_parse_hint(enum err e)
{
    switch (e) {
    case ERR_AUTH:
        return "the public key is damaged (its signature fails); copy the whole line "
               "that trefoil keygen printed";
    case ERR_MISMATCH:
        return "the public key is of a later trefoil; this one, " TREFOIL_VERSION
               ", reads those that begin with trefoil1- or trefoil2-: use the trefoil that made it";
    default:
        return "this is not a public key; paste the line trefoil1-... (or trefoil2-...) "
               "that trefoil keygen printed";
    }
}

bool public_identity_equal(const struct public_identity *a, const struct public_identity *b)
{
    return a->last_day == b->last_day && memcmp(a->sign, b->sign, sizeof a->sign) == 0 &&
           memcmp(a->curve, b->curve, sizeof a->curve) == 0 &&
           memcmp(a->signature, b->signature, sizeof a->signature) == 0;
}

bool public_identity_expired(const struct public_identity *who, uint32_t today)
{
    return who->last_day != 0 && today > who->last_day;
}

struct words_text identity_groups(const uint8_t digest[32], unsigned groups)
{
    static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
    struct words_text w;
    char *text = w.text;
    for (unsigned i = 0; i < 5 * groups; i++) {
        unsigned bit = 5 * i;
        unsigned two = (unsigned)digest[bit / 8] << 8 | digest[bit / 8 + 1];
        if (i > 0 && i % 5 == 0)
            *text++ = '-';
        *text++ = alphabet[two >> (11 - bit % 8) & 31];
    }
    *text = '\0';
    return w;
}

void public_identity_none(struct public_identity *who, const char *name)
{
    *who = (struct public_identity){0};
    crypto_hash_sha256(who->sign, (const uint8_t *)name, strlen(name));
    memcpy(who->curve, who->sign, sizeof who->curve);
}

bool public_identity_is_none(const struct public_identity *who)
{
    return sodium_is_zero(who->signature, sizeof who->signature) == 1;
}

struct words_text public_identity_fingerprint(const struct public_identity *who)
{
    uint8_t digest[32];
    if (public_identity_is_none(who))
        return (struct words_text){"not yet"};
    crypto_hash_sha256(digest, who->sign, sizeof who->sign);
    return identity_groups(digest, 4);
}
