/*
 * parties/store/store_rounds.h - what a server keeps of rounds: what each debit bought.
 *
 * A round is one request of a run, named by (run, sequence). At this server it is
 *
 *   STANDING_NONE     unknown
 *   STANDING_STAGED   its noise is on disk, nothing is spent: dropped if no ledger has the debit
 *   STANDING_BOUND    debited; the range of noise belongs to this request for ever
 *   STANDING_INDEX    what was selected is known
 *   STANDING_OPENED   the values are known too; nothing more happens
 *   STANDING_LOST     debited, but its noise is not here: only neighbours know what it opened
 *
 * and only moves forward. A debit and its binding are one transaction. Shares of noise are sealed
 * at rest, with the round as associated data. They are deleted (SQLite's secure_delete, and the log
 * is emptied) once the run's next round is bound, or the run ends: an analyst who asks for the next
 * round has the last one's answer.
 *
 * Each time a bound round is asked again, a server that departs from the protocol can make the
 * others open something else from the same noise. So a round is tried at most ROUND_ATTEMPTS times,
 * and each attempt is on disk before this server sends its first part of an opening.
 */
#pragma once

#include "parties/exchange/voucher.h"
#include "parties/store/store_ledger.h"

#define ROUND_ATTEMPTS 8

enum store_standing {
    STANDING_NONE,
    STANDING_STAGED,
    STANDING_LOST,
    STANDING_BOUND,
    STANDING_INDEX,
    STANDING_OPENED
};

/* A round as it is stored here; all zero, STANDING_NONE, if it is not. */
struct store_found {
    struct store_round round;
    enum store_standing standing;
    uint64_t selected; /* from STANDING_INDEX on; 0 if nothing was selected */
    uint32_t attempts;
};
/* The round with this run and sequence. */
enum err store_find_round(struct store *store, const uint8_t run[REQUEST_RUN_SIZE],
                          uint32_t sequence, struct store_found *found) MUST_CHECK;
/*
 * How many rounds of a run are bound, which is the sequence of the next one. Unless NULL,
 * `upload_ids` gets the ids, one after another, from the last round that was bound here and has
 * them: rounds over the same uploads as the one before have no list of their own, and rounds that
 * neighbours gave have none.
 */
enum err store_run(struct store *store, const uint8_t run[REQUEST_RUN_SIZE], uint32_t *rounds,
                   struct bytes *upload_ids) MUST_CHECK;

/* Whose run it is: the key of the analyst who asked for its last bound round, if there is one. */
enum err store_analyst(struct store *store, const uint8_t run[REQUEST_RUN_SIZE],
                       uint8_t analyst[32], bool *known) MUST_CHECK;

/* What had been paid when a run paid for its first round but looks; if it has not, until now. */
struct store_start {
    uint64_t debits, looks; /* looks among them; */
    uint64_t own_looks;     /* and the run's own among these */
    bool begun;             /* whether the run has paid for such a round */
    double left;            /* of rho, after these debits; 0 if there are none */
};
enum err store_start(struct store *store, const uint8_t run[REQUEST_RUN_SIZE],
                     struct store_start *start) MUST_CHECK;
/* The keys, 32 bytes each, of analysts who paid for rounds of other runs; `looks`: or for looks. */
enum err store_other_analysts(struct store *store, const uint8_t run[REQUEST_RUN_SIZE], bool looks,
                              struct bytes *keys) MUST_CHECK;

/*
 * Puts a round and its noise (range_write()) on disk, with the entry that would debit it: `after`
 * is the ledger after that debit, and `head` moves from its head now to the one that it would have.
 * Drops what was staged before. ERR_REFUSED, logged, if the round is bound already, or a part of
 * its range to any request.
 */
enum err store_stage(struct store *store, const struct store_round *round,
                     const struct ledger *after, const struct bytes *upload_ids,
                     const struct bytes *noise, uint8_t head[32]) MUST_CHECK;
/* The staged round and its entry, which is empty if nothing is staged. */
enum err store_staged(struct store *store, struct store_round *round,
                      struct bytes *entry) MUST_CHECK;
/* Drops what is staged: only if no neighbour has bound it. */
enum err store_unstage(struct store *store) MUST_CHECK;
/*
 * Appends the staged round's entry and binds the round; wipes the noise of the run's earlier ones.
 * Keeps the vouchers for this debit, instead of those for the one before. `head` moves on. ERR_LOST
 * if another round is staged, or none.
 */
enum err store_bind(struct store *store, const struct store_round *round,
                    const struct vouchers *vouchers, struct store_head *head) MUST_CHECK;
/* As kept; others, or zeros, if the last debit was taken over without any (store_adopt()). */
enum err store_vouchers(struct store *store, struct vouchers *vouchers) MUST_CHECK;
/* Counts an attempt to open a bound round. */
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
/* For a run that has ended: wipes the rest of its noise. */
enum err store_end_run(struct store *store, const uint8_t run[REQUEST_RUN_SIZE]) MUST_CHECK;

/*
 * Takes over an entry that follows `head` at a neighbour and makes its head `next`. ERR_MISMATCH,
 * logged, unless that is so, and its ledger may follow `before`, this server's own: the same
 * limits, no sum smaller. So a neighbour that lies can use budget up, but never give any back. The
 * round is bound if its noise is staged here, and lost otherwise.
 */
enum err store_adopt(struct store *store, const struct bytes *entry, const struct store_head *head,
                     const uint8_t next[32], const struct ledger *before) MUST_CHECK;
/* Takes back the last debit, with its round and noise. ERR_LOST if its round is not only bound. */
enum err store_drop_last(struct store *store, uint64_t number) MUST_CHECK;
