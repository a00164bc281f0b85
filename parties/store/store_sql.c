#include "parties/store/store_private.h"

#include <string.h>

enum err store_failed(struct store *s, const char *what)
{
    log_error(s->log, "store: cannot %s: %s (is the disk full, or the folder not writable?)", what,
              sqlite3_errmsg(s->db));
    return ERR_SYSTEM;
}

enum err store_execute(struct store *s, const char *sql)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? ERR_OK : store_failed(s, sql);
}

enum err store_prepare(struct store *s, const char *sql, sqlite3_stmt **statement)
{
    if (sqlite3_prepare_v2(s->db, sql, -1, statement, NULL) != SQLITE_OK)
        return store_failed(s, "prepare a statement");
    return ERR_OK;
}

enum err store_number(struct store *s, const char *sql, int64_t *number)
{
    sqlite3_stmt *row;
    enum err e = ERR_OK;
    TRY(store_prepare(s, sql, &row));
    if (sqlite3_step(row) == SQLITE_ROW)
        *number = sqlite3_column_int64(row, 0);
    else
        e = store_failed(s, "read");
    sqlite3_finalize(row);
    return e;
}

enum err store_finish(struct store *s, sqlite3_stmt *statement)
{
    int result = sqlite3_step(statement);
    enum err e = result == SQLITE_DONE ? ERR_OK : store_failed(s, "write");
    sqlite3_finalize(statement);
    return e;
}

enum err store_column(struct store *s, sqlite3_stmt *row, int column, void *out, size_t n)
{
    int bytes = sqlite3_column_bytes(row, column);
    if ((size_t)bytes != n) {
        log_error(
            s->log,
            "store: it is damaged: %s on disk has %d bytes, and should have %zu; restore a backup "
            "of the server's folder",
            sqlite3_column_name(row, column), bytes, n);
        return ERR_FORMAT;
    }
    memcpy(out, sqlite3_column_blob(row, column), n);
    return ERR_OK;
}

enum err store_begin(struct store *s)
{
    return store_execute(s, "BEGIN IMMEDIATE");
}

enum err store_end(struct store *s, enum err e)
{
    if (e == ERR_OK)
        e = store_execute(s, "COMMIT");
    /* some failures have rolled back already, and then there is nothing to undo */
    if (e != ERR_OK && sqlite3_get_autocommit(s->db) == 0)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return e;
}

enum err store_batch(struct store *s)
{
    enum err e;
    pthread_mutex_lock(&s->lock);
    e = store_begin(s);
    if (e != ERR_OK)
        pthread_mutex_unlock(&s->lock);
    return e;
}

enum err store_batch_end(struct store *s, enum err e)
{
    e = store_end(s, e);
    if (e == ERR_OK && s->erased) {
        s->erased = false;
        e = store_empty_log(s);
    }
    pthread_mutex_unlock(&s->lock);
    return e;
}

enum err store_empty_log(struct store *s)
{
    return store_execute(s, "PRAGMA wal_checkpoint(TRUNCATE)");
}

enum err store_savepoint(struct store *s)
{
    return store_execute(s, "SAVEPOINT one");
}

enum err store_savepoint_end(struct store *s, enum err e)
{
    if (e == ERR_OK)
        return store_execute(s, "RELEASE one");
    /* without a log: where all was rolled back already there is no such savepoint any more */
    sqlite3_exec(s->db, "ROLLBACK TO one; RELEASE one", NULL, NULL, NULL);
    return e;
}

void store_bind_name(sqlite3_stmt *statement, const struct store_round *round)
{
    sqlite3_bind_blob(statement, 1, round->run, sizeof round->run, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, round->sequence);
}

enum err store_blob_of(struct store *s, const char *sql, const struct store_round *round,
                       struct bytes *out)
{
    sqlite3_stmt *row;
    enum err e = ERR_LOST;
    int result;
    TRY(store_prepare(s, sql, &row));
    store_bind_name(row, round);
    result = sqlite3_step(row);
    if (result == SQLITE_ROW && sqlite3_column_type(row, 0) != SQLITE_NULL) {
        bytes_put(out, sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0));
        e = bytes_ok(out);
    } else if (result != SQLITE_ROW && result != SQLITE_DONE)
        e = store_failed(s, "read rounds");
    sqlite3_finalize(row);
    return e;
}
