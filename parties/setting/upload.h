/*
 * parties/setting/upload.h - what an owner sends, and what a server stores of it.
 *
 *   owner -> server 0   id, form, commitments, salts 0 and 1, seed 0, seed 1
 *   owner -> server 1   id, form, commitments, salts 1 and 2, seed 1, the vector (component 2)
 *   owner -> server 2   id, form, commitments, salts 2 and 0, seed 0
 *   server 1 -> 2       id, the vector
 *
 * Server 1 gets a long vector after the rest, in parts (MESSAGE_PART), so that a cut upload
 * continues where it ended.
 *
 * The commitment to component c is SHA-256("trefoil-c" || terms digest || id || c || salt_c ||
 * component), each field length-prefixed. Only the two holders of c know salt_c. Each server checks
 * its two components against the commitments, and the servers compare commitments before they
 * compute. So a client that sent different words to two servers is found and named.
 *
 * An id ends with its owner's index, and servers take an upload from that owner alone. So nobody
 * who has heard an id, from a server that lies, can have it taken elsewhere first: ids name uploads
 * between the servers.
 *
 * Seeds, salts and the rest of the id are derived from the terms and the data (HMAC-SHA-512-256,
 * keyed by the owner's signing key and its random secret for the study). Sharing the same table
 * again gives the same upload, which is how a cut upload is resumed; other counts give other masks.
 * Servers tell everybody whom they admit an upload's digest. Somebody who guesses the table can
 * check the guess against it only with both keys.
 */
#ifndef TREFOIL_PARTIES_SETTING_UPLOAD_H
#define TREFOIL_PARTIES_SETTING_UPLOAD_H

#include "base/bytes.h"
#include "parties/study/study_uploads.h"
#include "protocols/mask.h"

#define UPLOAD_ID_SIZE 16
#define UPLOAD_ID_OWNER 12 /* where the owner's index is in it */
#define UPLOAD_SALT_SIZE 32
#define UPLOAD_COMMITMENT_SIZE 32
#define UPLOAD_VERSION 2u
#define UPLOAD_SECRET_SIZE 32

struct upload {
    uint8_t id[UPLOAD_ID_SIZE];
    uint32_t owner; /* index in the study; a server sets it from the key that sent it */
    uint8_t form;   /* parties/study/study_uploads.h */
    uint8_t commitment[3][UPLOAD_COMMITMENT_SIZE];
    uint8_t salt[2][UPLOAD_SALT_SIZE]; /* of components index and index + 1 */
    bool has[2];                       /* component present: the vector may come later */
    uint8_t seed[2][MASK_SEED_SIZE];   /* if the component is a seed */
    struct bytes vector;               /* if it is component 2 */
};

/* What servers tell each other about an upload, and agree on. */
struct upload_name {
    uint8_t id[UPLOAD_ID_SIZE];
    uint32_t owner;
    uint8_t digest[32]; /* upload_digest() */
};

/*
 * The owner's side: masks what counts_pack() or records_pack() made, and splits it into the three
 * servers' parts. `me` is the study's `owner`; `secret`: parties/owner/owner_secret.h.
 */
enum err upload_make(struct upload parts[3], const struct identity *me, uint32_t owner,
                     const uint8_t secret[UPLOAD_SECRET_SIZE], const uint8_t terms[32],
                     unsigned form, const struct bytes *packed) MUST_CHECK;
void upload_clear(struct upload *u);

/* As bytes, for server `index`: the vector only for server 1, or, if `whole`, for any store. */
enum err upload_write(const struct upload *u, unsigned index, bool whole,
                      struct bytes *out) MUST_CHECK;
/* The version in the bytes; 0 if there are no bytes. Only UPLOAD_VERSION can be read. */
unsigned upload_version(const void *p, size_t n);
/* The form in the bytes; the caller decides which forms it takes (study_form_bytes()). */
unsigned upload_form(const void *p, size_t n);
/* ERR_FORMAT for anything malformed, another form, or a vector that is not `bytes` bytes long. */
enum err upload_read(struct upload *u, unsigned index, unsigned form, size_t bytes, const void *p,
                     size_t n) MUST_CHECK;

/* Whether its id is one of its owner's: u->owner must say who sent it. */
bool upload_id_fits(const struct upload *u);
/* ERR_DATA if a component that is present does not match its commitment. */
enum err upload_check(const struct upload *u, unsigned index, const uint8_t terms[32]) MUST_CHECK;

/* The seeds that server `index` holds; NULL for the component that is the vector. */
void upload_seeds(const struct upload *u, unsigned index, const uint8_t *seed[2]);

/* What servers compare: everything public about an upload. */
void upload_digest(const struct upload *u, const uint8_t terms[32], uint8_t digest[32]);

#endif
