/*
 * parties/setting/upload.h - what an owner sends, and what a server stores of it: some of the
 * components into which the setting splits the data (parties/setting/split.h).
 *
 * A long vector is sent after the rest, in parts (MESSAGE_PART), so that a cut upload continues
 * where it ended.
 *
 * The commitment to component c is SHA-256("trefoil-c" || terms digest || id || c || salt_c ||
 * component), each field length-prefixed. Only the holders of c know salt_c. Each server checks its
 * components against the commitments, and the servers compare commitments before they
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
#pragma once

#include "parties/setting/split.h"

#define UPLOAD_ID_SIZE 16
#define UPLOAD_ID_OWNER 12 /* where the owner's index is in it */
#define UPLOAD_SALT_SIZE 32
#define UPLOAD_COMMITMENT_SIZE 32
#define UPLOAD_VERSION 2u
#define UPLOAD_SECRET_SIZE 32

struct upload {
    const struct split *split; /* borrowed */
    uint8_t id[UPLOAD_ID_SIZE];
    uint32_t owner; /* index in the study; a server sets it from the key that sent it */
    uint8_t form;   /* parties/study/study_uploads.h */
    uint8_t commitment[SPLIT_COMPONENTS_MOST][UPLOAD_COMMITMENT_SIZE];
    /* of the components that this server holds, in the split's order */
    uint8_t salt[SPLIT_HELD_MOST][UPLOAD_SALT_SIZE];
    uint8_t seed[SPLIT_HELD_MOST][SPLIT_SEED]; /* if the component is a seed */
    struct bytes vector;                       /* if one of them is the vector */
    bool whole;                                /* nothing is missing: the vector may come later */
};

/* What servers tell each other about an upload, and agree on. */
struct upload_name {
    uint8_t id[UPLOAD_ID_SIZE];
    uint32_t owner;
    uint8_t digest[32]; /* upload_digest() */
};

/*
 * The owner's side: masks or encrypts what pack_table() made, and splits it into one part for each
 * server. `me` is the study's `owner`; `secret`: parties/owner/owner_secret.h.
 */
enum err upload_make(struct upload *parts, const struct split *split, const struct identity *me,
                     uint32_t owner, const uint8_t secret[UPLOAD_SECRET_SIZE],
                     const struct study *study, unsigned form,
                     const struct bytes *packed) MUST_CHECK;
void upload_clear(struct upload *u);

/* As bytes: what the owner sends to server `index`, or, if it is `stored`, all that is here. */
enum err upload_write(const struct upload *u, unsigned index, bool stored,
                      struct bytes *out) MUST_CHECK;
/* The version in the bytes; 0 if there are no bytes. Only UPLOAD_VERSION can be read. */
unsigned upload_version(const void *p, size_t n);
/* The form in the bytes; the caller decides which forms it takes (split->bytes()). */
unsigned upload_form(const void *p, size_t n);
/* ERR_FORMAT for anything malformed, another form, or a vector that is not `bytes` bytes long. */
enum err upload_read(struct upload *u, const struct split *split, unsigned index, unsigned form,
                     size_t bytes, const void *p, size_t n) MUST_CHECK;

/* Whether its id is one of its owner's: u->owner must say who sent it. */
bool upload_id_fits(const struct upload *u);
/* ERR_DATA if a component that is present does not match its commitment, or cannot be one. */
enum err upload_check(const struct upload *u, unsigned index, const uint8_t terms[32]) MUST_CHECK;

/* What servers compare: everything public about an upload. */
void upload_digest(const struct upload *u, const uint8_t terms[32], uint8_t digest[32]);
