#include "parties/store/store_rounds.h"

#include "base/memory.h"
#include "parties/store/store_private.h"

#include <string.h>

/* --- a round in a row ---------------------------------------------------------------------------- */

#define COLUMNS                                                                                    \
    "run, sequence, request, uploads, tape, gauss_from, gauss_count, gumbel_from, gumbel_count,"   \
    " analyst"
#define FOUND COLUMNS ", standing, selected, attempts"

static void bind_round(sqlite3_stmt *statement, const struct store_round *round)
{
    store_bind_name(statement, round);
    sqlite3_bind_blob(statement, 3, round->request, sizeof round->request, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 4, round->uploads, sizeof round->uploads, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 5, round->range.tape, sizeof round->range.tape, SQLITE_STATIC);
    for (int k = 0; k < TAPE_KINDS; k++) {
        sqlite3_bind_int64(statement, 6 + 2 * k, (sqlite3_int64)round->range.from[k]);
        sqlite3_bind_int64(statement, 7 + 2 * k, (sqlite3_int64)round->range.count[k]);
    }
    sqlite3_bind_blob(statement, 10, round->analyst, sizeof round->analyst, SQLITE_STATIC);
}

/* Of a row whose columns begin with COLUMNS. */
static enum err read_round(struct store *s, sqlite3_stmt *row, struct store_round *round)
{
    TRY(store_column(s, row, 0, round->run, sizeof round->run));
    round->sequence = (uint32_t)sqlite3_column_int64(row, 1);
    TRY(store_column(s, row, 2, round->request, sizeof round->request));
    TRY(store_column(s, row, 3, round->uploads, sizeof round->uploads));
    TRY(store_column(s, row, 4, round->range.tape, sizeof round->range.tape));
    for (int k = 0; k < TAPE_KINDS; k++) {
        round->range.from[k] = (uint64_t)sqlite3_column_int64(row, 5 + 2 * k);
        round->range.count[k] = (uint64_t)sqlite3_column_int64(row, 6 + 2 * k);
    }
    return store_column(s, row, 9, round->analyst, sizeof round->analyst);
}

static bool same_round(const struct store_round *a, const struct store_round *b)
{
    return memcmp(a->run, b->run, sizeof a->run) == 0 && a->sequence == b->sequence &&
           memcmp(a->request, b->request, sizeof a->request) == 0 &&
           memcmp(a->uploads, b->uploads, sizeof a->uploads) == 0 &&
           memcmp(&a->range, &b->range, sizeof a->range) == 0 &&
           memcmp(a->analyst, b->analyst, sizeof a->analyst) == 0;
}

/* The first row of a statement over FOUND; ends the statement. */
static enum err take_found(struct store *s, sqlite3_stmt *row, struct store_found *found)
{
    enum err e = ERR_OK;
    int result = sqlite3_step(row);
    if (result == SQLITE_ROW) {
        e = read_round(s, row, &found->round);
        found->standing = (enum standing)sqlite3_column_int(row, 10);
        found->selected = (uint64_t)sqlite3_column_int64(row, 11);
        found->attempts = (uint32_t)sqlite3_column_int64(row, 12);
    } else if (result != SQLITE_DONE)
        e = store_failed(s, "read rounds");
    sqlite3_finalize(row);
    return e;
}

static enum err find(struct store *s, const uint8_t run[REQUEST_RUN_SIZE], uint32_t sequence,
                     struct store_found *found)
{
    sqlite3_stmt *row;
    *found = (struct store_found){0};
    TRY(store_prepare(s, "SELECT " FOUND " FROM rounds WHERE run = ? AND sequence = ?", &row));
    sqlite3_bind_blob(row, 1, run, REQUEST_RUN_SIZE, SQLITE_STATIC);
    sqlite3_bind_int64(row, 2, sequence);
    return take_found(s, row, found);
}

enum err store_find_round(struct store *store, const uint8_t run[REQUEST_RUN_SIZE],
                          uint32_t sequence, struct store_found *found)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = find(store, run, sequence, found);
    pthread_mutex_unlock(&store->lock);
    return e;
}

static enum err find_number(struct store *s, uint64_t number, struct store_found *found)
{
    sqlite3_stmt *row;
    *found = (struct store_found){0};
    TRY(store_prepare(s, "SELECT " FOUND " FROM rounds WHERE number = ?", &row));
    sqlite3_bind_int64(row, 1, (sqlite3_int64)number);
    return take_found(s, row, found);
}

enum err store_round_of(struct store *store, uint64_t number, struct store_found *found)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = find_number(store, number, found);
    pthread_mutex_unlock(&store->lock);
    return e;
}

static enum err last_of_run(struct store *s, const uint8_t run[REQUEST_RUN_SIZE], uint32_t *rounds,
                            struct bytes *upload_ids)
{
    sqlite3_stmt *row;
    enum err e = ERR_OK;
    int result;
    *rounds = 0;
    TRY(store_prepare(s,
                      "WITH bound AS (SELECT sequence, upload_ids FROM rounds"
                      " WHERE run = ? AND number IS NOT NULL)"
                      " SELECT sequence, (SELECT upload_ids FROM bound WHERE upload_ids <> x''"
                      " ORDER BY sequence DESC LIMIT 1)"
                      " FROM bound ORDER BY sequence DESC LIMIT 1",
                      &row));
    sqlite3_bind_blob(row, 1, run, REQUEST_RUN_SIZE, SQLITE_STATIC);
    result = sqlite3_step(row);
    if (result == SQLITE_ROW) {
        *rounds = (uint32_t)sqlite3_column_int64(row, 0) + 1;
        if (upload_ids != NULL) {
            bytes_put(upload_ids, sqlite3_column_blob(row, 1),
                      (size_t)sqlite3_column_bytes(row, 1));
            e = bytes_ok(upload_ids);
        }
    } else if (result != SQLITE_DONE)
        e = store_failed(s, "read rounds");
    sqlite3_finalize(row);
    return e;
}

enum err store_run(struct store *store, const uint8_t run[REQUEST_RUN_SIZE], uint32_t *rounds,
                   struct bytes *upload_ids)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = last_of_run(store, run, rounds, upload_ids);
    pthread_mutex_unlock(&store->lock);
    return e;
}

static enum err analyst_of(struct store *s, const uint8_t run[REQUEST_RUN_SIZE],
                           uint8_t analyst[32], bool *known)
{
    sqlite3_stmt *row;
    enum err e = ERR_OK;
    int result;
    TRY(store_prepare(s,
                      "SELECT analyst FROM rounds WHERE run = ? AND number IS NOT NULL"
                      " ORDER BY sequence DESC LIMIT 1",
                      &row));
    sqlite3_bind_blob(row, 1, run, REQUEST_RUN_SIZE, SQLITE_STATIC);
    result = sqlite3_step(row);
    *known = result == SQLITE_ROW;
    if (*known)
        e = store_column(s, row, 0, analyst, 32);
    else if (result != SQLITE_DONE)
        e = store_failed(s, "read rounds");
    sqlite3_finalize(row);
    return e;
}

enum err store_analyst(struct store *store, const uint8_t run[REQUEST_RUN_SIZE],
                       uint8_t analyst[32], bool *known)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = analyst_of(store, run, analyst, known);
    pthread_mutex_unlock(&store->lock);
    return e;
}

/* --- staging ------------------------------------------------------------------------------------- */

/* Whether no bound round has a part of these samples. */
static enum err range_is_free(struct store *s, const struct store_round *round)
{
    static const char *const sql[TAPE_KINDS] = {
        "SELECT 1 FROM rounds WHERE number IS NOT NULL AND tape = ?"
        " AND gauss_from < ? AND gauss_from + gauss_count > ?",
        "SELECT 1 FROM rounds WHERE number IS NOT NULL AND tape = ?"
        " AND gumbel_from < ? AND gumbel_from + gumbel_count > ?"};
    for (unsigned k = 0; k < TAPE_KINDS; k++) {
        const struct range_place *r = &round->range;
        sqlite3_stmt *row;
        int result;
        TRY(store_prepare(s, sql[k], &row));
        sqlite3_bind_blob(row, 1, r->tape, sizeof r->tape, SQLITE_STATIC);
        sqlite3_bind_int64(row, 2, (sqlite3_int64)(r->from[k] + r->count[k]));
        sqlite3_bind_int64(row, 3, (sqlite3_int64)r->from[k]);
        result = sqlite3_step(row);
        sqlite3_finalize(row);
        if (result == SQLITE_ROW) {
            log_error(s->log, "this range of the noise tape is bound to another request");
            return ERR_REFUSED;
        }
        if (result != SQLITE_DONE)
            return store_failed(s, "read rounds");
    }
    return ERR_OK;
}

static enum err may_stage(struct store *s, const struct store_round *round)
{
    struct store_found found;
    TRY(find(s, round->run, round->sequence, &found));
    if (found.standing > STANDING_STAGED) {
        log_error(s->log, "round %u of this run is bound already", round->sequence);
        return ERR_REFUSED;
    }
    return range_is_free(s, round);
}

static enum err insert_staged(struct store *s, const struct store_round *round,
                              const struct bytes *entry, const struct bytes *upload_ids)
{
    sqlite3_stmt *statement;
    TRY(store_prepare(s,
                      "INSERT INTO rounds(" COLUMNS ", standing, upload_ids, entry)"
                      " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                      &statement));
    bind_round(statement, round);
    sqlite3_bind_int(statement, 11, STANDING_STAGED);
    sqlite3_bind_blob64(statement, 13, entry->data, entry->size, SQLITE_STATIC);
    sqlite3_bind_blob64(statement, 12, upload_ids->size > 0 ? upload_ids->data : (const void *)"",
                        upload_ids->size, SQLITE_STATIC);
    return store_finish(s, statement);
}

static enum err drop_staged(struct store *s, bool *dropped)
{
    TRY(store_wipe_staged_noise(s));
    TRY(store_execute(s, "DELETE FROM rounds WHERE number IS NULL"));
    *dropped = sqlite3_changes(s->db) > 0;
    return ERR_OK;
}

static enum err stage(struct store *s, const struct store_round *round, const struct bytes *entry,
                      const struct bytes *upload_ids, const struct bytes *noise)
{
    bool dropped;
    enum err e;
    TRY(store_begin(s));
    e = drop_staged(s, &dropped);
    if (e == ERR_OK)
        e = may_stage(s, round);
    if (e == ERR_OK)
        e = insert_staged(s, round, entry, upload_ids);
    if (e == ERR_OK)
        e = store_put_noise(s, round, noise);
    return store_end(s, e);
}

enum err store_stage(struct store *store, const struct store_round *round,
                     const struct ledger *after, const struct bytes *upload_ids,
                     const struct bytes *noise)
{
    struct bytes entry = {0};
    char *text = NULL;
    enum err e = ledger_text(after, &text);
    if (e == ERR_OK)
        e = store_write_entry(round, text, &entry);
    pthread_mutex_lock(&store->lock);
    if (e == ERR_OK)
        e = stage(store, round, &entry, upload_ids, noise);
    pthread_mutex_unlock(&store->lock);
    bytes_clear(&entry);
    memory_free(&text);
    return e;
}

static enum err find_staged(struct store *s, struct store_round *round, struct bytes *entry)
{
    sqlite3_stmt *row;
    enum err e = ERR_OK;
    int result;
    TRY(store_prepare(s, "SELECT " COLUMNS ", entry FROM rounds WHERE number IS NULL", &row));
    result = sqlite3_step(row);
    if (result == SQLITE_ROW) {
        e = read_round(s, row, round);
        bytes_put(entry, sqlite3_column_blob(row, 10), (size_t)sqlite3_column_bytes(row, 10));
        if (e == ERR_OK)
            e = bytes_ok(entry);
    } else if (result != SQLITE_DONE)
        e = store_failed(s, "read rounds");
    sqlite3_finalize(row);
    return e;
}

enum err store_staged(struct store *store, struct store_round *round, struct bytes *entry)
{
    enum err e;
    bytes_clear(entry);
    pthread_mutex_lock(&store->lock);
    e = find_staged(store, round, entry);
    pthread_mutex_unlock(&store->lock);
    return e;
}

static enum err unstage(struct store *s)
{
    bool dropped = false;
    enum err e;
    TRY(store_begin(s));
    e = store_end(s, drop_staged(s, &dropped));
    return e == ERR_OK && dropped ? store_empty_log(s) : e;
}

enum err store_unstage(struct store *store)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = unstage(store);
    pthread_mutex_unlock(&store->lock);
    return e;
}

/* --- binding ------------------------------------------------------------------------------------- */

/* The round gets its debit's number; ERR_LOST if it is not what is staged. */
static enum err number_staged(struct store *s, const struct store_round *round, uint64_t number)
{
    struct store_found found;
    sqlite3_stmt *statement;
    TRY(find(s, round->run, round->sequence, &found));
    if (found.standing != STANDING_STAGED || !same_round(&found.round, round))
        return ERR_LOST;
    TRY(store_prepare(s,
                      "UPDATE rounds SET number = ?3, standing = ?4, entry = NULL"
                      " WHERE run = ?1 AND sequence = ?2",
                      &statement));
    store_bind_name(statement, round);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)number);
    sqlite3_bind_int(statement, 4, STANDING_BOUND);
    return store_finish(s, statement);
}

static enum err debit_and_bind(struct store *s, const struct store_round *round,
                               struct store_head *head)
{
    struct store_round staged;
    struct bytes entry = {0};
    bool wiped = false;
    enum err e;
    TRY(store_begin(s));
    e = find_staged(s, &staged, &entry);
    if (e == ERR_OK && entry.size == 0)
        e = ERR_LOST;
    if (e == ERR_OK)
        e = store_append_entry(s, &entry, head);
    if (e == ERR_OK)
        e = number_staged(s, round, head->number);
    if (e == ERR_OK)
        e = store_wipe_noise(s, round->run, round->sequence, &wiped);
    bytes_clear(&entry);
    e = store_end(s, e);
    if (e == ERR_OK && wiped && store_empty_log(s) != ERR_OK)
        log_warn(s->log, "store: old noise stays in the write-ahead log for now");
    return e;
}

enum err store_bind(struct store *store, const struct store_round *round, struct store_head *head)
{
    struct store_head next = *head;
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = debit_and_bind(store, round, &next);
    pthread_mutex_unlock(&store->lock);
    if (e == ERR_OK)
        *head = next;
    return e;
}

static enum err insert_lost(struct store *s, const struct store_round *round, uint64_t number)
{
    sqlite3_stmt *statement;
    bool dropped;
    TRY(drop_staged(s, &dropped));
    TRY(store_prepare(s,
                      "INSERT INTO rounds(" COLUMNS ", number, standing, upload_ids)"
                      " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, x'')",
                      &statement));
    bind_round(statement, round);
    sqlite3_bind_int64(statement, 11, (sqlite3_int64)number);
    sqlite3_bind_int(statement, 12, STANDING_LOST);
    return store_finish(s, statement);
}

enum err store_adopt_round(struct store *s, const struct store_round *round, uint64_t number)
{
    enum err e = number_staged(s, round, number);
    return e == ERR_LOST ? insert_lost(s, round, number) : e;
}

/* --- what was opened ----------------------------------------------------------------------------- */

static enum err count_attempt(struct store *s, const struct store_round *round)
{
    sqlite3_stmt *statement;
    TRY(store_prepare(s,
                      "UPDATE rounds SET attempts = attempts + 1 WHERE run = ?1 AND sequence = ?2",
                      &statement));
    store_bind_name(statement, round);
    return store_finish(s, statement);
}

enum err store_attempt(struct store *store, const struct store_round *round)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = count_attempt(store, round);
    pthread_mutex_unlock(&store->lock);
    return e;
}

static enum err differs(struct store *s, const struct store_round *round)
{
    log_error(s->log,
              "round %u opens something else than it did before; a server's store was altered",
              round->sequence);
    return ERR_MISMATCH;
}

static enum err put_index(struct store *s, const struct store_round *round, uint64_t selected)
{
    struct store_found found;
    sqlite3_stmt *statement;
    TRY(find(s, round->run, round->sequence, &found));
    if (found.standing >= STANDING_INDEX)
        return found.selected == selected ? ERR_OK : differs(s, round);
    TRY(store_prepare(s,
                      "UPDATE rounds SET standing = ?3, selected = ?4"
                      " WHERE run = ?1 AND sequence = ?2",
                      &statement));
    store_bind_name(statement, round);
    sqlite3_bind_int(statement, 3, STANDING_INDEX);
    sqlite3_bind_int64(statement, 4, (sqlite3_int64)selected);
    return store_finish(s, statement);
}

enum err store_put_index(struct store *store, const struct store_round *round, uint64_t selected)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = put_index(store, round, selected);
    pthread_mutex_unlock(&store->lock);
    return e;
}

static const char values_of[] = "SELECT opened FROM rounds WHERE run = ? AND sequence = ?";

static enum err put_values(struct store *s, const struct store_round *round,
                           const struct bytes *values)
{
    struct bytes known = {0};
    sqlite3_stmt *statement;
    enum err e = store_blob_of(s, values_of, round, &known);
    bool same = e == ERR_OK && known.size == values->size &&
                (known.size == 0 || memcmp(known.data, values->data, known.size) == 0);
    bytes_clear(&known);
    if (e == ERR_OK)
        return same ? ERR_OK : differs(s, round);
    if (e != ERR_LOST)
        return e;
    TRY(store_prepare(s,
                      "UPDATE rounds SET standing = ?3, opened = ?4"
                      " WHERE run = ?1 AND sequence = ?2",
                      &statement));
    store_bind_name(statement, round);
    sqlite3_bind_int(statement, 3, STANDING_OPENED);
    sqlite3_bind_blob64(statement, 4, values->data, values->size, SQLITE_STATIC);
    return store_finish(s, statement);
}

enum err store_put_values(struct store *store, const struct store_round *round,
                          const struct bytes *values)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = put_values(store, round, values);
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_values(struct store *store, const struct store_round *round, struct bytes *values)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = store_blob_of(store, values_of, round, values);
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_end_run(struct store *store, const uint8_t run[REQUEST_RUN_SIZE])
{
    bool wiped = false;
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = store_wipe_noise(store, run, UINT32_MAX, &wiped);
    if (e == ERR_OK && wiped)
        e = store_empty_log(store);
    pthread_mutex_unlock(&store->lock);
    return e;
}
