#include "parties/store/store_private.h"

/*
 * In a table of its own: a row of SQLite's is written anew as a whole whenever it changes, and a round's changes at
 * every step.
 */

/* What shares of noise are sealed for. */
static enum err binding_of(const struct store_round *round, struct bytes *out)
{
    return store_write_entry(round, "trefoil-noise", out);
}

static enum err insert(struct store *s, const struct store_round *round, const struct bytes *sealed)
{
    sqlite3_stmt *statement;
    TRY(store_prepare(s, "INSERT INTO noise(run, sequence, sealed) VALUES(?, ?, ?)", &statement));
    store_bind_name(statement, round);
    sqlite3_bind_blob64(statement, 3, sealed->data, sealed->size, SQLITE_STATIC);
    return store_finish(s, statement);
}

enum err store_put_noise(struct store *s, const struct store_round *round,
                         const struct bytes *noise)
{
    struct bytes binding = {0}, sealed = {0};
    enum err e = binding_of(round, &binding);
    if (e == ERR_OK)
        e = store_seal(s, binding.data, binding.size, noise, &sealed);
    if (e == ERR_OK)
        e = insert(s, round, &sealed);
    bytes_clear(&binding);
    bytes_clear(&sealed);
    return e;
}

enum err store_noise(struct store *store, const struct store_round *round, struct bytes *noise)
{
    struct bytes binding = {0}, sealed = {0};
    enum err e = binding_of(round, &binding);
    pthread_mutex_lock(&store->lock);
    if (e == ERR_OK)
        e = store_blob_of(store, "SELECT sealed FROM noise WHERE run = ? AND sequence = ?", round,
                          &sealed);
    pthread_mutex_unlock(&store->lock);
    if (e == ERR_OK)
        e = store_unseal(store, binding.data, binding.size, sealed.data, sealed.size, noise);
    bytes_clear(&binding);
    bytes_clear(&sealed);
    return e;
}

enum err store_wipe_noise(struct store *s, const uint8_t run[REQUEST_RUN_SIZE], uint32_t before,
                          bool *wiped)
{
    sqlite3_stmt *statement;
    TRY(store_prepare(s, "DELETE FROM noise WHERE run = ? AND sequence < ?", &statement));
    sqlite3_bind_blob(statement, 1, run, REQUEST_RUN_SIZE, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, before);
    TRY(store_finish(s, statement));
    *wiped = sqlite3_changes(s->db) > 0;
    return ERR_OK;
}

enum err store_wipe_staged_noise(struct store *s)
{
    return store_execute(s, "DELETE FROM noise WHERE (run, sequence) IN"
                            " (SELECT run, sequence FROM rounds WHERE number IS NULL)");
}
