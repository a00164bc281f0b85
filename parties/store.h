/*
 * parties/store.h - what a server keeps on disk: uploads, and the privacy ledger.
 *
 * One SQLite file (write-ahead log, full synchronisation). A change is on disk when the call that made it returns.
 * Components are sealed with a key derived from the server's identity (XChaCha20-Poly1305, the
 * upload's id and owner as associated data), so that a stolen disk without the key file tells
 * nothing but sizes and owners. The file belongs to one server and, once it holds data, to one study's terms; opened
 * with others it is refused, and so is a roster that is older than the last, or amended without three signatures. It has a version: an older one is brought up to date when it is opened, one of a later program refused.
 *
 * The ledger is a chain: head_n = SHA-256(head_(n-1), request digest, tape range, ledger text). A debit is stored
 * before anything of its round is opened, so a crash can lose budget but never overspend it.
 *
 * Two threads may use one store at the same time.
 */
#ifndef TREFOIL_PARTIES_STORE_H
#define TREFOIL_PARTIES_STORE_H

#include "aim/budget.h"
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
/* has[owner] for each owner of the study: a complete upload is here. */
enum err store_owners(struct store *store, bool *has) MUST_CHECK;
/* The upload with the least id above `after` whose vector has not been passed on yet (server 1). */
enum err store_unforwarded(struct store *store, const uint8_t after[UPLOAD_ID_SIZE],
                           struct upload *u, bool *found) MUST_CHECK;
enum err store_forwarded(struct store *store, const uint8_t id[UPLOAD_ID_SIZE]) MUST_CHECK;

/* The ledger as last stored, or `fresh` if there is none yet; and the chain's head. */
enum err store_ledger(struct store *store, const struct ledger_limits *fresh,
                      struct ledger **ledger, uint8_t head[32]) MUST_CHECK;
struct store_debit {
    uint8_t request[32];
    uint8_t tape[32];
    uint64_t gauss_from, gauss_count, gumbel_from, gumbel_count;
};
/* Stores the debited ledger and extends the chain. */
enum err store_debit(struct store *store, const struct store_debit *debit,
                     const struct ledger *after, uint8_t head[32]) MUST_CHECK;

/*
 * How many debits the chain has, and the last one as bytes for a neighbour that has not got it: a server that
 * crashed in the middle of a round may lack one.
 */
enum err store_last_debit(struct store *store, uint64_t *number, struct bytes *entry) MUST_CHECK;
/*
 * Takes over a neighbour's last debit. ERR_MISMATCH unless it follows `head`, gives `next`, and its ledger may follow
 * `before`, this server's own: the same limits, no sum less. So a neighbour that lies can use budget up, but
 * never give any back. `after` is the ledger then.
 */
enum err store_adopt(struct store *store, const struct bytes *entry, const uint8_t head[32],
                     const uint8_t next[32], const struct ledger *before,
                     struct ledger **after) MUST_CHECK;

#endif
