/*
 * parties/store/store.h - what a server keeps on disk: uploads, the privacy ledger, rounds.
 *
 * It is one SQLite file (write-ahead log, full synchronisation). A change is on disk when the call
 * that made it returns. Components are sealed with a key derived from the server's identity
 * (XChaCha20-Poly1305, the upload's id and owner as associated data), so that a stolen disk without
 * the key file reveals only sizes and owners. The file belongs to one server and, once it holds
 * data, to one study's terms; opening it with others is refused, and so is a roster that is older
 * than the last, or amended without three signatures. The file has a version: an older one is
 * brought up to date when it is opened, a later program's is refused.
 *
 * This header covers opening and uploads; the ledger is in parties/store/store_ledger.h, rounds are
 * in parties/store/store_rounds.h.
 *
 * Two threads may use one store at the same time.
 */
#pragma once

#include "parties/exchange/upload_entry.h"
#include "parties/setting/upload.h"
#include "parties/study/study.h"

struct store;

/* The version of stores that this program writes. */
size_t store_version(void);

/* `split`: how its setting splits uploads. */
enum err store_open(struct store **store, const char *folder, const struct study *study,
                    const struct split *split, const struct identity *me, unsigned index,
                    struct log *log) MUST_CHECK;
void store_close(struct store **store);

/*
 * Group commit: all that this thread writes between the two is on disk when store_batch_end(ERR_OK)
 * returns ERR_OK, and none of it otherwise. Other threads wait, so use no network in between.
 * A write that fails with ERR_SYSTEM may undo those before it: end the batch with that error.
 */
enum err store_batch(struct store *store) MUST_CHECK;
enum err store_batch_end(struct store *store, enum err e) MUST_CHECK;

/*
 * Adds an upload; the same again is fine. ERR_DATA if the id is known with another digest;
 * ERR_REFUSED if the owner has another upload, unless `replace`; ERR_MISUSE if that upload has been
 * counted: the ledger has a debit for more than looks (aim/run/look.h); ERR_BUSY while a session
 * counts it. `complete`: nothing of it is missing.
 */
enum err store_put(struct store *store, const struct upload *u, bool replace,
                   bool *complete) MUST_CHECK;
/*
 * Bytes of an owner's vector from `first` on, in order; *held are here afterwards.
 * ERR_AGAIN if they do not follow what is here, or this owner has no such upload (*held 0). After
 * ERR_DATA, when the whole vector does not match its commitment, it starts over.
 */
enum err store_put_part(struct store *store, uint32_t owner, const uint8_t id[UPLOAD_ID_SIZE],
                        uint64_t first, const void *p, size_t n, uint64_t *held,
                        bool *complete) MUST_CHECK;
/* The same from another server, for a vector of `whole` bytes. ERR_FORMAT if that is wrong. */
enum err store_pass_part(struct store *store, const uint8_t id[UPLOAD_ID_SIZE], uint64_t whole,
                         uint64_t first, const void *p, size_t n, uint64_t *held,
                         bool *complete) MUST_CHECK;
/*
 * Deletes an owner's upload for good: once the batch ends it is not in the write-ahead log either.
 * ERR_MISUSE, ERR_BUSY as with store_put(). Nothing to delete is fine.
 */
enum err store_withdraw(struct store *store, uint32_t owner) MUST_CHECK;
/* Says whether a session counts the uploads: meanwhile none can be replaced or withdrawn. */
void store_use(struct store *store, bool in_use);

/*
 * A token's number belongs to this key from now on; unless `may_take`, only if it did before.
 * ERR_REFUSED if it belongs to another, or to none.
 */
enum err store_seat(struct store *store, uint32_t number, const uint8_t sign[32],
                    bool may_take) MUST_CHECK;

/* The last sealed act of an owner: its serial (0: none), message's kind, upload's digest. */
struct store_serial {
    uint64_t serial;
    uint8_t kind;
    uint8_t digest[32];
};
enum err store_serial(struct store *store, uint32_t owner, struct store_serial *last) MUST_CHECK;
enum err store_set_serial(struct store *store, uint32_t owner,
                          const struct store_serial *last) MUST_CHECK;

/* What an owner has here. */
enum err store_upload_entry(struct store *store, uint32_t owner,
                            struct upload_entry *entry) MUST_CHECK;
/* The same for all owners that the study lists. */
enum err store_upload_entries(struct store *store, struct upload_entry *entries) MUST_CHECK;

/* Names the complete uploads, ordered by id; the caller frees the array. */
enum err store_uploads(struct store *store, struct upload_name **names, size_t *count) MUST_CHECK;
/* One of them; the caller clears it. ERR_AUTH, logged, if the disk has something else. */
enum err store_upload(struct store *store, const struct upload_name *name,
                      struct upload *u) MUST_CHECK;
/*
 * Deletes all uploads and noise for good, and appends the signed statement of that. ERR_REFUSED,
 * logged, before the study's retain_days are over. A second call is fine and gives the same
 * statement.
 */
enum err store_purge(struct store *store, const struct identity *me,
                     struct bytes *statement) MUST_CHECK;
/* When the purge is due (base/date.h); 0 if the study does not say, or nothing is here. */
enum err store_due(struct store *store, int64_t *due) MUST_CHECK;
/* ERR_REFUSED, logged, if the store was purged. */
enum err store_check_purged(struct store *store) MUST_CHECK;

/*
 * How many uploads are here whole, and how many in part. Counting many takes a while: if there are
 * more than 5000 the figures may be a moment old, with 10^6 a fifth of a second.
 */
enum err store_count(struct store *store, uint64_t *whole, uint64_t *part) MUST_CHECK;
/* The same for owners that the study does not list. */
enum err store_count_open(struct store *store, uint64_t *whole, uint64_t *part) MUST_CHECK;
/* has[owner] for each owner of the study: a complete upload is here. */
enum err store_owners(struct store *store, bool *has) MUST_CHECK;
/*
 * At the server that is given vectors: the upload with the lowest id above `after` whose vector has
 * not been passed on yet. Logged, u->id says which it is: ERR_AUTH if it does not unseal,
 * ERR_MISMATCH if it is another version's.
 */
enum err store_unforwarded(struct store *store, const uint8_t after[UPLOAD_ID_SIZE],
                           struct upload *u, bool *found) MUST_CHECK;
/* Notes whether it has been passed on, or still must be. */
enum err store_forwarded(struct store *store, const uint8_t id[UPLOAD_ID_SIZE],
                         bool forwarded) MUST_CHECK;
