/*
 * parties/study/roster.h - who takes part under which key, and how that is amended.
 *
 * The terms of a study never change; its roster may: keys, endpoints, deadlines, model, revoked
 * keys. Whoever keeps the study file makes the change, gives the roster the next number, and sends
 * the file around; each server's operator reviews it and signs. A signature is the server's
 * Ed25519 over
 *
 *   "trefoil-amendment-1", terms digest, number (u32), roster digest
 *
 * The study file itself holds the signatures, under `signatures`, so that only one file is mailed.
 * The first roster needs none: it is agreed on with the terms. A server that has run with one
 * roster takes only a later one with three good signatures (parties/store/store.h).
 */
#pragma once

#include "parties/study/study.h"

enum roster_signature { ROSTER_UNSIGNED, ROSTER_STALE, ROSTER_SIGNED };

/* STALE: a signature that is not over this roster. */
enum roster_signature roster_signature(const struct study *study, size_t server);
/* ERR_AUTH, logged with who has not signed, for a later roster without three good signatures. */
enum err roster_check(const struct study *study, struct log *log) MUST_CHECK;

/*
 * Adds a server's signature to the study file, next to others that are still good, and returns its
 * text. Nothing else in the file changes: the result is parsed before it is written.
 */
enum err roster_sign_file(const char *path, const struct identity *server,
                          char text[IDENTITY_SIGNATURE_TEXT_SIZE], struct log *log) MUST_CHECK;

/* Somebody who takes part. */
struct roster_person {
    enum study_role role;
    size_t index; /* among those of the role */
    const char *name;
    const struct public_identity *key;
};
/* Goes on to the next of servers, owners, analysts; to the first if `person` is zero or nobody. */
bool roster_next(const struct study *study, struct roster_person *person);
/* Whether exactly this key, all of it, has the role. */
bool roster_has(const struct study *study, enum study_role role, const struct public_identity *who);
/*
 * Who has this key in a role. ERR_AUTH, logged with the reason, if nobody does, if the study lists
 * another CURVE key for this identity, or if the key is revoked, expired, or has another role.
 */
enum err roster_find(const struct study *study, const struct public_identity *who,
                     enum study_role role, struct roster_person *person,
                     struct log *log) MUST_CHECK;
/* The name of the analyst whose signing key this is; NULL if it is not listed, or revoked. */
const char *roster_analyst(const struct study *study, const uint8_t sign[32]);
/* ERR_AUTH, logged, if the key at this place has expired; or any server's key. */
enum err roster_current(const struct study *study, enum study_role role, size_t index,
                        struct log *log) MUST_CHECK;
enum err roster_servers_current(const struct study *study, struct log *log) MUST_CHECK;

/* Warns about keys that expire within ROSTER_WARN_DAYS. */
#define ROSTER_WARN_DAYS 14
void roster_warn(const struct study *study, struct log *log);

/* In words: its number, its signers, and keys that expire. */
void roster_describe(FILE *out, const struct study *study);
/* What it changes in an earlier one; ERR_MISMATCH, logged with the part, if the terms differ. */
enum err roster_compare(FILE *out, const struct study *earlier, const struct study *study,
                        struct log *log) MUST_CHECK;
