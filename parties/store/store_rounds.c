/*
 * Rounds, each a row. Their invariants:
 *
 *  1. A round has a number if and only if the ledger has the debit with that number. Both are
 *     written in one transaction (store_bind(), store_adopt_round()).
 *  2. A round's standing changes only in advance(), and only forward: from STAGED to BOUND, INDEX
 *     (if something is selected) and OPENED. A round that begins as LOST continues like a bound
 *     one, with what neighbours report. The SQL names the standings that it may change from.
 *  3. At most one round is staged. Staging another, or adopting a debit, drops it and its noise.
 *  4. No sample of a tape belongs to two rounds that have a number.
 *  5. What was opened never changes: the same again is fine, anything else is ERR_MISMATCH.
 *  6. Noise is kept for the staged round, and for the last bound one of each run. Binding the next
 *     wipes it, and so does the run's end; then the log is emptied.
 *  7. An attempt is on disk before this server's first part of an opening.
 */
#include "parties/store/store_rounds.h"

#include "base/memory.h"
#include "parties/store/store_private.h"

#include <string.h>

/* --- noise ------------------------------------------------------------------------------------ */

/* Noise has its own table: a round's row changes at each step, and SQLite writes rows whole. */

/* What binds sealed shares of noise: the round's ledger entry, with this instead of the budget. */
static const char purpose[] = "trefoil-noise";

enum err store_put_noise(struct store *s, const struct store_round *round,
                         const struct bytes *noise)
{
    struct bytes binding CLEAN(bytes_clear) = {0};
    struct bytes sealed CLEAN(bytes_clear) = {0};
    TRY(store_write_entry(round, purpose, &binding));
    TRY(store_seal(s, binding.data, binding.size, noise, &sealed));
    return CHANGE(s, NULL, "INSERT INTO noise(run, sequence, sealed) VALUES(?, ?, ?)",
                  STORE_NAME(round), BYTES(sealed.data, sealed.size));
}

enum err store_noise(struct store *store, const struct store_round *round, struct bytes *noise)
{
    struct query q = QUERY(store, "SELECT sealed FROM noise WHERE run = ? AND sequence = ?",
                           STORE_NAME(round));
    struct bytes binding CLEAN(bytes_clear) = {0};
    struct bytes sealed CLEAN(bytes_clear) = {0};
    TRY(query_one(&q, &sealed));
    TRY(store_write_entry(round, purpose, &binding));
    return store_unseal(store, binding.data, binding.size, sealed.data, sealed.size, noise);
}

/* Deletes the noise of rounds before `before`. If it `wiped` any, empty the log next. */
static enum err wipe_noise(struct store *s, const uint8_t run[REQUEST_RUN_SIZE], uint32_t before,
                           bool *wiped)
{
    return CHANGE(s, wiped, "DELETE FROM noise WHERE run = ? AND sequence < ?",
                  BYTES(run, REQUEST_RUN_SIZE), NUMBER(before));
}

/* --- a round in a row ------------------------------------------------------------------------- */

#define COLUMNS                                                                                    \
    "run, sequence, request, uploads, tape, gauss_from, gauss_count, gumbel_from, gumbel_count,"   \
    " analyst"
#define FOUND COLUMNS ", standing, selected, attempts"

/* In the order of COLUMNS. */
static void put_round(struct query *q, const struct store_round *round)
{
    query_put(q, round->run, sizeof round->run);
    query_put_u64(q, round->sequence);
    query_put(q, round->request, sizeof round->request);
    query_put(q, round->uploads, sizeof round->uploads);
    query_put(q, round->stake.of, sizeof round->stake.of);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        query_put_u64(q, round->stake.from[k]);
        query_put_u64(q, round->stake.count[k]);
    }
    query_put(q, round->analyst, sizeof round->analyst);
}

static void take_round(struct query *q, struct store_round *round)
{
    query_copy(q, round->run, sizeof round->run);
    round->sequence = (uint32_t)query_u64(q);
    query_copy(q, round->request, sizeof round->request);
    query_copy(q, round->uploads, sizeof round->uploads);
    query_copy(q, round->stake.of, sizeof round->stake.of);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        round->stake.from[k] = query_u64(q);
        round->stake.count[k] = query_u64(q);
    }
    query_copy(q, round->analyst, sizeof round->analyst);
}

static bool same_round(const struct store_round *a, const struct store_round *b)
{
    return memcmp(a->run, b->run, sizeof a->run) == 0 && a->sequence == b->sequence &&
           memcmp(a->request, b->request, sizeof a->request) == 0 &&
           memcmp(a->uploads, b->uploads, sizeof a->uploads) == 0 &&
           memcmp(&a->stake, &b->stake, sizeof a->stake) == 0 &&
           memcmp(a->analyst, b->analyst, sizeof a->analyst) == 0;
}

/* The round that a query for FOUND returns, if any; ends the query. */
static enum err take_found(struct query *q, struct store_found *found)
{
    *found = (struct store_found){0};
    if (query_row(q)) {
        take_round(q, &found->round);
        found->standing = (enum store_standing)query_u64(q);
        found->selected = query_u64(q);
        found->attempts = (uint32_t)query_u64(q);
    }
    return query_end(q);
}

enum err store_find_round(struct store *store, const uint8_t run[REQUEST_RUN_SIZE],
                          uint32_t sequence, struct store_found *found)
{
    struct query q = QUERY(store, "SELECT " FOUND " FROM rounds WHERE run = ? AND sequence = ?",
                           BYTES(run, REQUEST_RUN_SIZE), NUMBER(sequence));
    return take_found(&q, found);
}

enum err store_round_of(struct store *store, uint64_t number, struct store_found *found)
{
    struct query q = QUERY(store, "SELECT " FOUND " FROM rounds WHERE number = ?", NUMBER(number));
    return take_found(&q, found);
}

enum err store_run(struct store *store, const uint8_t run[REQUEST_RUN_SIZE], uint32_t *rounds,
                   struct bytes *upload_ids)
{
    struct query q = QUERY(store,
                           "WITH bound AS (SELECT sequence, upload_ids FROM rounds"
                           " WHERE run = ? AND number IS NOT NULL)"
                           " SELECT sequence, (SELECT upload_ids FROM bound"
                           " WHERE length(upload_ids) > 0 ORDER BY sequence DESC LIMIT 1)"
                           " FROM bound ORDER BY sequence DESC LIMIT 1",
                           BYTES(run, REQUEST_RUN_SIZE));
    *rounds = 0;
    if (query_row(&q)) {
        *rounds = (uint32_t)query_u64(&q) + 1;
        if (upload_ids != NULL)
            query_bytes(&q, upload_ids);
    }
    return query_end(&q);
}

enum err store_analyst(struct store *store, const uint8_t run[REQUEST_RUN_SIZE],
                       uint8_t analyst[32], bool *known)
{
    struct query q = QUERY(store,
                           "SELECT analyst FROM rounds WHERE run = ? AND number IS NOT NULL"
                           " ORDER BY sequence DESC LIMIT 1",
                           BYTES(run, REQUEST_RUN_SIZE));
    *known = query_row(&q);
    if (*known)
        query_copy(&q, analyst, 32);
    return query_end(&q);
}

/* --- standing --------------------------------------------------------------------------------- */

/* A change of a round's standing. */
struct rounds_step {
    enum store_standing from, until, to; /* to `to`, from any standing between the first two */
    /* what else changes: NULL leaves it as it is */
    const uint64_t *number, *selected;
    const struct bytes *opened;
};

/* `advanced`: whether the round had a standing that this may change; if not, nothing changed. */
static enum err advance(struct store *s, const struct store_round *round,
                        const struct rounds_step *step, bool *advanced)
{
    struct query q = QUERY(
        s,
        "UPDATE rounds SET standing = ?5, number = COALESCE(?6, number),"
        " selected = COALESCE(?7, selected), opened = COALESCE(?8, opened), entry = NULL"
        " WHERE run = ?1 AND sequence = ?2 AND standing BETWEEN ?3 AND ?4",
        STORE_NAME(round), NUMBER(step->from), NUMBER(step->until), NUMBER(step->to));
    query_put_number(&q, step->number);
    query_put_number(&q, step->selected);
    query_put_bytes(&q, step->opened);
    return query_run(&q, advanced);
}

/* --- staging ---------------------------------------------------------------------------------- */

/* Whether no bound round has any of these samples. */
static enum err stake_is_free(struct store *s, const struct stake_place *r)
{
    struct query q = QUERY(s,
                           "SELECT 1 FROM rounds WHERE number IS NOT NULL AND tape = ?1 AND"
                           " (gauss_from < ?3 AND gauss_from + gauss_count > ?2 OR"
                           " gumbel_from < ?5 AND gumbel_from + gumbel_count > ?4)",
                           BYTES(r->of, sizeof r->of));
    bool taken;
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        query_put_u64(&q, r->from[k]);
        query_put_u64(&q, r->from[k] + r->count[k]);
    }
    TRY(query_any(&q, &taken));
    if (!taken)
        return ERR_OK;
    return log_fail(s->log, ERR_REFUSED,
                    "the noise set aside for this round is bound to another request");
}

static enum err may_stage(struct store *s, const struct store_round *round)
{
    struct store_found found;
    TRY(store_find_round(s, round->run, round->sequence, &found));
    if (found.standing > STANDING_STAGED)
        return log_fail(s->log, ERR_REFUSED, "round %u of this run is bound already",
                        round->sequence);
    return stake_is_free(s, &round->stake);
}

/* A staged round has its entry and no number; a lost one has the number of its debit. */
static enum err insert(struct store *s, const struct store_round *round,
                       enum store_standing standing, const uint64_t *number,
                       const struct bytes *entry, const struct bytes *upload_ids)
{
    struct query q = query_of(
        s,
        "INSERT INTO rounds(" COLUMNS
        ", standing, upload_ids, number, entry) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    put_round(&q, round);
    query_put_u64(&q, standing);
    query_put_bytes(&q, upload_ids);
    query_put_number(&q, number);
    query_put_bytes(&q, entry);
    return query_run(&q, NULL);
}

static enum err drop_staged(struct store *s, bool *dropped)
{
    struct query q;
    TRY(store_execute(s, "DELETE FROM noise WHERE (run, sequence) IN"
                         " (SELECT run, sequence FROM rounds WHERE number IS NULL)"));
    q = query_of(s, "DELETE FROM rounds WHERE number IS NULL");
    return query_run(&q, dropped);
}

/* Whether the run's last list already names this round's uploads: then it is not stored again. */
static enum err has_list(struct store *s, const struct store_round *round, bool *has)
{
    struct query q = QUERY(s,
                           "SELECT uploads FROM rounds WHERE run = ? AND number IS NOT NULL"
                           " AND length(upload_ids) > 0 ORDER BY sequence DESC LIMIT 1",
                           BYTES(round->run, sizeof round->run));
    uint8_t uploads[sizeof round->uploads];
    *has = query_row(&q);
    if (*has)
        query_copy(&q, uploads, sizeof uploads);
    TRY(query_end(&q));
    *has = *has && memcmp(uploads, round->uploads, sizeof uploads) == 0;
    return ERR_OK;
}

/* Within a batch. */
static enum err stage(struct store *s, const struct store_round *round, const struct bytes *entry,
                      const struct bytes *upload_ids, const struct bytes *noise)
{
    const struct bytes none = {0};
    bool dropped, listed;
    TRY(drop_staged(s, &dropped));
    TRY(may_stage(s, round));
    TRY(has_list(s, round, &listed));
    TRY(insert(s, round, STANDING_STAGED, NULL, entry, listed ? &none : upload_ids));
    return store_put_noise(s, round, noise);
}

enum err store_stage(struct store *store, const struct store_round *round,
                     const struct ledger *after, const struct bytes *upload_ids,
                     const struct bytes *noise, uint8_t head[32])
{
    struct bytes entry CLEAN(bytes_clear) = {0};
    char *text CLEAN(memory_release) = NULL;
    TRY(ledger_text(after, &text));
    TRY(store_write_entry(round, text, &entry));
    TRY(store_batch(store));
    TRY(store_end(store, stage(store, round, &entry, upload_ids, noise)));
    store_chain(entry.data, entry.size, head);
    return ERR_OK;
}

enum err store_staged(struct store *store, struct store_round *round, struct bytes *entry)
{
    struct query q = query_of(store, "SELECT " COLUMNS ", entry FROM rounds WHERE number IS NULL");
    bytes_clear(entry);
    if (query_row(&q)) {
        take_round(&q, round);
        query_bytes(&q, entry);
    }
    return query_end(&q);
}

enum err store_unstage(struct store *store)
{
    bool dropped = false;
    TRY(store_batch(store));
    TRY(store_end(store, drop_staged(store, &dropped)));
    return dropped ? store_empty_log(store) : ERR_OK;
}

/* --- binding ---------------------------------------------------------------------------------- */

/* Gives the round its debit's number; ERR_LOST if it is not the staged one. */
static enum err number_staged(struct store *s, const struct store_round *round, uint64_t number)
{
    const struct rounds_step step = {STANDING_STAGED, STANDING_STAGED, STANDING_BOUND,
                                     .number = &number};
    struct store_found found;
    bool bound = false;
    TRY(store_find_round(s, round->run, round->sequence, &found));
    if (same_round(&found.round, round))
        TRY(advance(s, round, &step, &bound));
    return bound ? ERR_OK : ERR_LOST;
}

static const char vouchers_key[] = "vouchers for the last debit";

static enum err debit_and_bind(struct store *s, const struct store_round *round,
                               const struct vouchers *vouchers, struct store_head *head,
                               bool *wiped)
{
    struct store_round staged;
    struct bytes entry CLEAN(bytes_clear) = {0};
    TRY(store_staged(s, &staged, &entry));
    if (entry.size == 0)
        return ERR_LOST;
    TRY(store_append_entry(s, &entry, head));
    TRY(number_staged(s, round, head->number));
    TRY(store_set_note(s, vouchers_key, vouchers, sizeof *vouchers));
    return wipe_noise(s, round->run, round->sequence, wiped);
}

enum err store_bind(struct store *store, const struct store_round *round,
                    const struct vouchers *vouchers, struct store_head *head)
{
    struct store_head next = *head;
    bool wiped = false;
    TRY(store_batch(store));
    TRY(store_end(store, debit_and_bind(store, round, vouchers, &next, &wiped)));
    *head = next;
    if (wiped && store_empty_log(store) != ERR_OK)
        log_warn(store->log, "store: old noise stays in the write-ahead log for now");
    return ERR_OK;
}

enum err store_vouchers(struct store *store, struct vouchers *vouchers)
{
    struct bytes kept CLEAN(bytes_clear) = {0};
    *vouchers = (struct vouchers){0};
    TRY(store_note(store, vouchers_key, &kept));
    if (kept.size == sizeof *vouchers)
        memcpy(vouchers, kept.data, sizeof *vouchers);
    return ERR_OK;
}

enum err store_adopt_round(struct store *s, const struct store_round *round, uint64_t number)
{
    const struct bytes no_ids = {0};
    bool dropped;
    enum err e = number_staged(s, round, number);
    if (e != ERR_LOST)
        return e;
    TRY(drop_staged(s, &dropped));
    return insert(s, round, STANDING_LOST, &number, NULL, &no_ids);
}

/* --- what was opened -------------------------------------------------------------------------- */

enum err store_attempt(struct store *store, const struct store_round *round)
{
    return CHANGE(store, NULL,
                  "UPDATE rounds SET attempts = attempts + 1 WHERE run = ? AND sequence = ?",
                  STORE_NAME(round));
}

static enum err differs(struct store *s, const struct store_round *round)
{
    return log_fail(
        s->log, ERR_MISMATCH,
        "round %u opens something else than it did before; a server's store was altered",
        round->sequence);
}

enum err store_put_index(struct store *s, const struct store_round *round, uint64_t selected)
{
    const struct rounds_step step = {STANDING_LOST, STANDING_BOUND, STANDING_INDEX,
                                     .selected = &selected};
    struct store_found found;
    bool is_new;
    TRY(advance(s, round, &step, &is_new));
    if (is_new)
        return ERR_OK;
    TRY(store_find_round(s, round->run, round->sequence, &found));
    if (found.standing < STANDING_INDEX)
        return ERR_LOST;
    return found.selected == selected ? ERR_OK : differs(s, round);
}

enum err store_put_values(struct store *s, const struct store_round *round,
                          const struct bytes *values)
{
    const struct rounds_step step = {STANDING_LOST, STANDING_INDEX, STANDING_OPENED,
                                     .opened = values};
    struct bytes known CLEAN(bytes_clear) = {0};
    bool is_new;
    TRY(advance(s, round, &step, &is_new));
    if (is_new)
        return ERR_OK;
    TRY(store_values(s, round, &known));
    return known.size == values->size &&
                   (known.size == 0 || memcmp(known.data, values->data, known.size) == 0)
               ? ERR_OK
               : differs(s, round);
}

enum err store_values(struct store *store, const struct store_round *round, struct bytes *values)
{
    struct query q = QUERY(
        store, "SELECT opened FROM rounds WHERE run = ? AND sequence = ? AND opened IS NOT NULL",
        STORE_NAME(round));
    return query_one(&q, values);
}

enum err store_end_run(struct store *store, const uint8_t run[REQUEST_RUN_SIZE])
{
    bool wiped;
    TRY(wipe_noise(store, run, UINT32_MAX, &wiped));
    return wiped ? store_empty_log(store) : ERR_OK;
}
