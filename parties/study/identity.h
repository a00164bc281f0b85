/*
 * parties/study/identity.h - who somebody is: an Ed25519 key that signs a CURVE key.
 *
 * The Ed25519 key is the identity: it signs receipts and amendments. ZeroMQ's CURVE needs a key of
 * another kind (X25519). The identity signs that key, for ever or until the end of some day (UTC).
 * A public identity whose signature fails is never parsed; expiry is checked where the key is used.
 * An identity may take a new CURVE key (identity_renew()): that changes neither who it is, nor what
 * it has sealed and uploaded.
 *
 * docs/formats.md describes a public identity's text, which is unique, and key files, whose parts
 * must belong together, so that damage is noticed.
 */
#pragma once

#include "base/log.h"
#include "base/words.h"

#define IDENTITY_TEXT_SIZE 186 /* with the NUL; one that never expires is 5 shorter */

struct public_identity {
    uint8_t sign[32];      /* Ed25519 */
    uint8_t curve[32];     /* X25519, as ZeroMQ takes it */
    uint32_t last_day;     /* the last that curve is good on (base/date.h); 0: it never expires */
    uint8_t signature[64]; /* by sign, over curve and last_day */
};

/* All of it is in secret memory; only the functions below make one. */
struct identity {
    struct public_identity public;
    uint8_t sign_secret[64]; /* as libsodium keeps it: seed || public key */
    uint8_t curve_secret[32];
};

/* A fresh one. Call secret_start() first. */
enum err identity_new(struct identity **identity, struct log *log) MUST_CHECK;
/* `old`, or for NULL a new one, with a fresh CURVE key good to the end of last_day (0: no end). */
enum err identity_renew(struct identity **identity, const struct identity *old, uint32_t last_day,
                        struct log *log) MUST_CHECK;
void identity_free(struct identity **identity);

/*
 * Whether nobody else reads or writes a file: its mode has nothing for group and others. Or it is
 * another user's, such as root's, in a group of ours that may read it: Kubernetes and systemd give
 * a service its key so.
 */
struct stat;
bool identity_file_is_private(const struct stat *st);

/* ERR_STUDY for a file that is not a key, is damaged, or is not private. */
enum err identity_load(struct identity **identity, const char *path, struct log *log) MUST_CHECK;

/* Writes the private key file. Refuses to replace a file (ERR_SYSTEM) unless `force`. */
enum err identity_save(const struct identity *identity, const char *path, bool force,
                       struct log *log) MUST_CHECK;

/* Ed25519 over label || message, with the label's length first: no label passes for another. */
enum err identity_sign(const struct identity *identity, const char *label, const void *message,
                       size_t n, uint8_t signature[64]) MUST_CHECK;
/* ERR_AUTH, not logged: the caller knows what was signed. */
enum err public_identity_verify(const struct public_identity *who, const char *label,
                                const void *message, size_t n,
                                const uint8_t signature[64]) MUST_CHECK;

void public_identity_text(const struct public_identity *who, char text[IDENTITY_TEXT_SIZE]);
/* ERR_FORMAT if it is not such a text, ERR_MISMATCH if it has a later version, ERR_AUTH if the
 * signature fails. Not logged: the caller knows the place. identity_parse_hint() has the words. */
enum err public_identity_parse(struct public_identity *who, const char *text) MUST_CHECK;
const char *identity_parse_hint(enum err e);

/*
 * A signature as text: "trefoil-sig1-" and base64url. ERR_FORMAT for anything else, ERR_MISMATCH
 * for a later version.
 */
#define IDENTITY_SIGNATURE_SIZE 64
#define IDENTITY_SIGNATURE_TEXT_SIZE 100 /* with the NUL */
void identity_signature_text(const uint8_t signature[IDENTITY_SIGNATURE_SIZE],
                             char text[IDENTITY_SIGNATURE_TEXT_SIZE]);
enum err identity_signature_parse(uint8_t signature[IDENTITY_SIGNATURE_SIZE],
                                  const char *text) MUST_CHECK;

bool public_identity_equal(const struct public_identity *a, const struct public_identity *b);
bool public_identity_expired(const struct public_identity *who, uint32_t today);

/*
 * Stands for the key that somebody does not have yet, unlike those of others: for a plan, since it
 * vouches for nothing.
 */
void public_identity_none(struct public_identity *who, const char *name);
bool public_identity_is_none(const struct public_identity *who);

/*
 * For people to compare over the telephone, or "not yet". It depends on the signing key alone, so
 * it survives a change of the CURVE key.
 */
struct words_text public_identity_fingerprint(const struct public_identity *who);

/*
 * The first 25 * groups bits of a digest, as groups of five characters (0-9, a-z without i l o u)
 * with dashes. At most 6 groups.
 */
struct words_text identity_groups(const uint8_t digest[32], unsigned groups);
