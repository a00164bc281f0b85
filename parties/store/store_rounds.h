/*
 * parties/store/store_rounds.h - what a server keeps of rounds: what each debit bought.
 *
 * A round is one request of a run, named by (run, sequence). At this server it is
 *
 *   STANDING_NONE     unknown
 *   STANDING_STAGED   its noise is on disk, nothing is spent: dropped if the ledgers agree so
 *   STANDING_BOUND    debited; the range of noise belongs to this request for ever
 *   STANDING_INDEX    what was selected is known
 *   STANDING_OPENED   so are the values; nothing more happens
 *   STANDING_LOST     debited, but its noise is not here: only neighbours can tell what it opened
 *
 * and only moves forward. A debit and its binding are one transaction. Shares of noise are sealed
 * at rest, with the round as associated data; they go (SQLite's secure_delete, and the log is
 * emptied) once the run's next round is bound, or the run ends: whoever asks for the next one has
 * the last one's answer.
 *
 * A server that departs from the protocol can make the others open something else from the same
 * noise each time that a bound round is asked again. So it is tried ROUND_ATTEMPTS times at most,
 * and each attempt is on disk before this server's first part of an opening.
 */
#ifndef TREFOIL_PARTIES_STORE_STORE_ROUNDS_H
#define TREFOIL_PARTIES_STORE_STORE_ROUNDS_H

#include "parties/store/store_ledger.h"

#define ROUND_ATTEMPTS 8

enum standing {
    STANDING_NONE,
    STANDING_STAGED,
    STANDING_LOST,
    STANDING_BOUND,
    STANDING_INDEX,
    STANDING_OPENED
};

/* A round as it is here; all zero, STANDING_NONE, where it is not. */
struct store_found {
    struct store_round round;
    enum standing standing;
    uint64_t selected; /* from STANDING_INDEX on; 0 where nothing was selected */
    uint32_t attempts;
};
/* The round of this run and sequence. */
enum err store_find_round(struct store *store, const uint8_t run[REQUEST_RUN_SIZE],
                          uint32_t sequence, struct store_found *found) MUST_CHECK;
/*
 * How many rounds of a run are bound, which is the sequence of the next one. Unless NULL,
 * `upload_ids` gets the ids, one after another, of the last round that was bound here and has them:
 * rounds of the same uploads as one before have none of their own, and rounds that neighbours gave
 * have none.
 */
enum err store_run(struct store *store, const uint8_t run[REQUEST_RUN_SIZE], uint32_t *rounds,
                   struct bytes *upload_ids) MUST_CHECK;

/* Whose run it is: the key of the analyst who asked for its last bound round, if it has one. */
enum err store_analyst(struct store *store, const uint8_t run[REQUEST_RUN_SIZE],
                       uint8_t analyst[32], bool *known) MUST_CHECK;

/*
 * Puts a round and its noise (range_write()) on disk, with the entry that would debit it: `after`
 * is the ledger then. What was staged before is gone. ERR_REFUSED, logged, if the round is bound to
 * another request, or a part of its range to any.
 */
enum err store_stage(struct store *store, const struct store_round *round,
                     const struct ledger *after, const struct bytes *upload_ids,
                     const struct bytes *noise) MUST_CHECK;
/* What is staged, and its entry; an empty one if nothing is. */
enum err store_staged(struct store *store, struct store_round *round,
                      struct bytes *entry) MUST_CHECK;
/* Drops what is staged: for when no neighbour has it bound. */
enum err store_unstage(struct store *store) MUST_CHECK;
/*
 * Appends the entry of the round that is staged, and binds it; wipes the noise of the run's earlier
 * ones. `head` moves on. ERR_LOST if another round is staged, or none.
 */
enum err store_bind(struct store *store, const struct store_round *round,
                    struct store_head *head) MUST_CHECK;
/* Counts an attempt to open a round that is bound. */
enum err store_attempt(struct store *store, const struct store_round *round) MUST_CHECK;

/* The noise of a bound round; ERR_AUTH if it does not unseal, ERR_LOST if it is not there. */
enum err store_noise(struct store *store, const struct store_round *round,
                     struct bytes *noise) MUST_CHECK;
/* What was opened. The same again is fine, else ERR_MISMATCH, logged; ERR_LOST if not debited. */
enum err store_put_index(struct store *store, const struct store_round *round,
                         uint64_t selected) MUST_CHECK;
enum err store_put_values(struct store *store, const struct store_round *round,
                          const struct bytes *values) MUST_CHECK;
enum err store_values(struct store *store, const struct store_round *round,
                      struct bytes *values) MUST_CHECK;
/* The round that debit `number` is for. */
enum err store_round_of(struct store *store, uint64_t number, struct store_found *found) MUST_CHECK;
/* The run has ended: wipes what is left of its noise. */
enum err store_end_run(struct store *store, const uint8_t run[REQUEST_RUN_SIZE]) MUST_CHECK;

/*
 * Takes over an entry that follows `head` at a neighbour and gives `next` there. ERR_MISMATCH,
 * logged, unless it does, and its ledger may follow `before`, this server's own: the same limits,
 * no sum less. So a neighbour that lies can use budget up, but never give any back. The round is
 * bound if its noise is staged here, else lost.
 */
enum err store_adopt(struct store *store, const struct bytes *entry, const struct store_head *head,
                     const uint8_t next[32], const struct ledger *before) MUST_CHECK;

#endif
