/*
 * parties/store/store_private.h - the open store, shared by store.c and the files that implement
 * its parts.
 *
 * The lock is recursive. A query, a batch and a savepoint hold it from beginning to end, so other
 * code takes it only to use the other members.
 */
#pragma once

#include "parties/store/query.h"
#include "parties/store/store_rounds.h"

#include <pthread.h>
#include <sqlite3.h>

/* How many uploads are here, and for how long that is good enough (store_uploads.c). */
struct store_tally {
    uint64_t whole, part;
    bool known;
    int changes; /* SQLite's number of changes when they were counted */
    int64_t again_ms;
};

#define STORE_KEPT 64

struct store {
    sqlite3 *db;
    sqlite3_stmt *kept[STORE_KEPT]; /* statements not in use, by a hash of their text */
    pthread_mutex_t lock;
    int lock_file;             /* locked as long as the store is open */
    const struct study *study; /* borrowed, as is the next */
    const struct split *split;
    unsigned index;
    bool in_use;                 /* a session counts the uploads */
    bool erased;                 /* secrets may be deleted, and the log was not emptied since */
    uint8_t *key;                /* secret memory */
    struct store_tally tally[2]; /* for all owners; for those that the study does not list */
    struct log *log;
};

/*
 * Within a batch: checks that the folder belongs to this study and server, if it belongs to any
 * yet; notes the roster. ERR_MISMATCH, logged, for other terms, an older roster, or another one
 * with the same number; ERR_AUTH for a later one that is not signed (store_about.c).
 */
enum err store_belongs(struct store *s, const struct identity *me) MUST_CHECK;

/* Gets a note of the folder by its key, appended to `value`, or nothing if none; and sets it. */
enum err store_note(struct store *s, const char *key, struct bytes *value) MUST_CHECK;
enum err store_set_note(struct store *s, const char *key, const void *value, size_t n) MUST_CHECK;

/* Whether the study has been ended here (store_purge.c). */
enum err store_is_purged(struct store *s, bool *is) MUST_CHECK;

/* Runs SQL without parameters or rows. */
enum err store_execute(struct store *s, const char *sql) MUST_CHECK;
/* The one number from a query without parameters; 0 for NULL, unchanged if there is no row. */
enum err store_number(struct store *s, const char *sql, uint64_t *number) MUST_CHECK;

/*
 * Ends a batch without emptying the log: when store_end(ERR_OK) returns, all that was written since
 * store_batch() is on disk, or none of it. `e` says how the writing went; store_end() returns it,
 * or its own failure.
 */
enum err store_end(struct store *s, enum err e) MUST_CHECK;

/* Deleted pages are overwritten, but not in the write-ahead log. Empties it; not in a batch. */
enum err store_empty_log(struct store *s) MUST_CHECK;

/*
 * Like a batch, inside a transaction or not: what is written between the two stays or goes
 * together. A failure undoes only that, unless SQLite has undone everything.
 */
enum err store_savepoint(struct store *s) MUST_CHECK;
enum err store_savepoint_end(struct store *s, enum err e) MUST_CHECK;

/*
 * Secrets at rest: 24 bytes of nonce, then the plain text under XChaCha20-Poly1305 with the
 * server's own key. `binding` says what the text belongs to, and must be the same to unseal it:
 * otherwise ERR_AUTH. For an upload and its parts it is the id and a number of n bytes.
 */
struct store_binding {
    uint8_t bytes[UPLOAD_ID_SIZE + 8];
    size_t size;
};
struct store_binding store_binding(const void *id, uint64_t number, size_t n);
enum err store_seal(struct store *s, const void *binding, size_t binding_size,
                    const struct bytes *plain, struct bytes *sealed) MUST_CHECK;
enum err store_unseal(struct store *s, const void *binding, size_t binding_size, const void *sealed,
                      size_t n, struct bytes *plain) MUST_CHECK;

/* --- uploads ---------------------------------------------------------------------------------- */

/* The upload with an id, if there is one. */
enum err store_find_upload(struct store *s, const uint8_t id[UPLOAD_ID_SIZE], struct upload *u,
                           bool *found) MUST_CHECK;
/* The result of a query for (owner, id, digest); the caller frees `names`, also after a failure. */
enum err store_list(struct store *s, const char *sql, struct upload_name **names,
                    size_t *count) MUST_CHECK;
/* Replaces whatever has the same id. */
enum err store_write_upload(struct store *s, const struct upload *u) MUST_CHECK;

/* --- the ledger's entries --------------------------------------------------------------------- */

#define STORE_LEDGER_TEXT 4096 /* the most that a ledger's text may take */

/* A link of the ledger's chain as bytes, and back. */
enum err store_write_entry(const struct store_round *round, const char *ledger,
                           struct bytes *out) MUST_CHECK;
enum err store_read_entry(const void *p, size_t n, struct store_round *round,
                          char text[STORE_LEDGER_TEXT]) MUST_CHECK;
/* A round's run and sequence, as two parameters. */
#define STORE_NAME(round) BYTES((round)->run, REQUEST_RUN_SIZE), NUMBER((round)->sequence)
/* Within a transaction: adds an entry to the chain, and moves `head` on. */
enum err store_append_entry(struct store *s, const struct bytes *entry,
                            struct store_head *head) MUST_CHECK;
/*
 * Whether no run can go on: nothing was debited, or the last debit was a selection and left less
 * than half of what it cost.
 */
enum err store_run_is_over(struct store *s, bool *over) MUST_CHECK;
/* ERR_MISMATCH, logged, if the chain does not hold from its first entry on. */
enum err store_check_ledger(struct store *s) MUST_CHECK;

/* --- rounds and their noise ------------------------------------------------------------------- */

/* Within a transaction: stores a round's noise, sealed. */
enum err store_put_noise(struct store *s, const struct store_round *round,
                         const struct bytes *noise) MUST_CHECK;

/* In SQL: whether a round takes one sample, a Gaussian; where a study takes looks, it is one. */
#define STORE_LOOK "(gauss_count = 1 AND gumbel_count = 0)"

/* Within a transaction: adds a round that a neighbour bound as debit `number` (store_rounds.c). */
enum err store_adopt_round(struct store *s, const struct store_round *round,
                           uint64_t number) MUST_CHECK;
