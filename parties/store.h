/*
 * parties/store.h - what a server keeps on disk: uploads, the privacy ledger, rounds.
 *
 * One SQLite file (write-ahead log, full synchronisation). A change is on disk when the call that made it returns.
 * Components are sealed with a key derived from the server's identity (XChaCha20-Poly1305, the
 * upload's id and owner as associated data), so that a stolen disk without the key file tells
 * nothing but sizes and owners. The file belongs to one server and, once it holds data, to one study's terms; opened
 * with others it is refused, and so is a roster that is older than the last, or amended without three signatures. It has a version: an older one is brought up to date when it is opened, one of a later program refused.
 *
 * Here are opening and uploads; the ledger and rounds are in parties/store_rounds.h.
 *
 * Two threads may use one store at the same time.
 */
#ifndef TREFOIL_PARTIES_STORE_H
#define TREFOIL_PARTIES_STORE_H

#include "parties/study.h"
#include "parties/upload.h"

struct store;

enum err store_open(struct store **store, const char *folder, const struct study *study,
                    const struct identity *me, unsigned index, struct log *log) MUST_CHECK;
void store_close(struct store **store);

/*
 * Group commit: what this thread writes between the two is on disk, all of it, when store_batch_end(ERR_OK)
 * returns ERR_OK, and none of it otherwise. Other threads wait meanwhile, so let no network into it. After a
 * write within it has failed with ERR_SYSTEM, what came before may be lost as well: end it with that error.
 */
enum err store_batch(struct store *store) MUST_CHECK;
enum err store_batch_end(struct store *store, enum err e) MUST_CHECK;

/*
 * Adds an upload, or the rest of one. The same id and digest again is fine (ERR_OK). ERR_REFUSED if the owner
 * has another upload, ERR_DATA if the id is known with another digest. `complete`: both components are here.
 */
enum err store_put(struct store *store, const struct upload *u, bool *complete) MUST_CHECK;
/* Adds the vector to an upload that waits for it; ERR_AGAIN if its own part has not come yet. */
enum err store_put_vector(struct store *store, const uint8_t id[UPLOAD_ID_SIZE], const void *p,
                          size_t n, bool *complete) MUST_CHECK;

/* The complete uploads, ordered by id; the caller clears each and frees the array. */
enum err store_uploads(struct store *store, struct upload **uploads, size_t *count) MUST_CHECK;
/* How many uploads are here whole, and how many in part. */
enum err store_count(struct store *store, uint64_t *whole, uint64_t *part) MUST_CHECK;
/* has[owner] for each owner of the study: a complete upload is here. */
enum err store_owners(struct store *store, bool *has) MUST_CHECK;
/* The upload with the least id above `after` whose vector has not been passed on yet (server 1). */
enum err store_unforwarded(struct store *store, const uint8_t after[UPLOAD_ID_SIZE],
                           struct upload *u, bool *found) MUST_CHECK;
enum err store_forwarded(struct store *store, const uint8_t id[UPLOAD_ID_SIZE]) MUST_CHECK;

#endif
