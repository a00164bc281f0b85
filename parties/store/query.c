#include "parties/store/query.h"

#include "parties/store/store_private.h"

#include <string.h>

enum err query_failed(struct store *s, const char *what)
{
    const int code = sqlite3_errcode(s->db) & 0xff;
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return log_fail(s->log, ERR_SYSTEM,
                        "store: %s is damaged (%s): restore a backup of the server's folder, and "
                        "run trefoil recover",
                        sqlite3_db_filename(s->db, "main"), sqlite3_errmsg(s->db));
    return log_fail(s->log, ERR_SYSTEM,
                    "store: cannot %s: %s (is the disk full, or the folder not writable?)", what,
                    sqlite3_errmsg(s->db));
}

/*
 * Most statements take longer to prepare than to run, so some are kept. A statement in use is not
 * among them: a nested query with the same text gets its own.
 */
static sqlite3_stmt **kept_for(struct store *s, const char *sql)
{
    uint32_t hash = 2166136261;
    for (; *sql != '\0'; sql++)
        hash = (hash ^ (uint8_t)*sql) * 16777619;
    return &s->kept[hash % STORE_KEPT];
}

struct query query_of(struct store *s, const char *sql)
{
    struct query q = {.store = s, .kept = kept_for(s, sql), .next = 1};
    pthread_mutex_lock(&s->lock);
    if (*q.kept != NULL && strcmp(sqlite3_sql(*q.kept), sql) == 0) {
        q.statement = *q.kept;
        *q.kept = NULL;
    } else if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &q.statement, NULL) !=
               SQLITE_OK) {
        q.e = query_failed(s, "read");
    }
    return q;
}

struct query query_with(struct store *s, const char *sql, const struct query_value *v, size_t n)
{
    struct query q = query_of(s, sql);
    for (size_t i = 0; i < n; i++)
        if (v[i].is_bytes)
            query_put(&q, v[i].bytes, v[i].number);
        else
            query_put_u64(&q, v[i].number);
    return q;
}

enum err query_end(struct query *q)
{
    if (q->statement != NULL) {
        sqlite3_finalize(*q->kept);
        *q->kept = q->statement;
        sqlite3_reset(q->statement); /* its failure is already noted */
        sqlite3_clear_bindings(q->statement);
    }
    pthread_mutex_unlock(&q->store->lock);
    return q->e;
}

void query_forget(struct store *s)
{
    for (size_t i = 0; i < STORE_KEPT; i++) {
        sqlite3_finalize(s->kept[i]);
        s->kept[i] = NULL;
    }
}

/* --- parameters ------------------------------------------------------------------------------- */

static enum err failed(const struct query *q)
{
    return query_failed(q->store, sqlite3_stmt_readonly(q->statement) ? "read" : "write");
}

/* Records the result of putting the next parameter. */
static void was_put(struct query *q, int result)
{
    if (result != SQLITE_OK)
        q->e = failed(q);
    q->next++;
}

void query_put_u64(struct query *q, uint64_t v)
{
    if (q->e == ERR_OK)
        was_put(q, sqlite3_bind_int64(q->statement, q->next, (sqlite3_int64)v));
}

void query_put(struct query *q, const void *p, size_t n)
{
    if (q->e == ERR_OK) /* no bytes are an empty blob, not NULL */
        was_put(q, sqlite3_bind_blob64(q->statement, q->next, n > 0 ? p : "", n, SQLITE_STATIC));
}

void query_put_text(struct query *q, const char *text)
{
    if (q->e == ERR_OK)
        was_put(q, sqlite3_bind_text(q->statement, q->next, text, -1, SQLITE_STATIC));
}

void query_put_number(struct query *q, const uint64_t *v)
{
    if (v != NULL)
        query_put_u64(q, *v);
    else
        q->next++;
}

void query_put_bytes(struct query *q, const struct bytes *b)
{
    if (b != NULL)
        query_put(q, b->data, b->size);
    else
        q->next++;
}

/* --- rows ------------------------------------------------------------------------------------- */

bool query_row(struct query *q)
{
    int result = q->e == ERR_OK ? sqlite3_step(q->statement) : SQLITE_DONE;
    q->next = 0;
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        q->e = failed(q);
    return result == SQLITE_ROW;
}

uint64_t query_u64(struct query *q)
{
    return q->e == ERR_OK ? (uint64_t)sqlite3_column_int64(q->statement, q->next++) : 0;
}

const void *query_blob(struct query *q, size_t *n)
{
    const void *p = NULL;
    *n = 0;
    if (q->e == ERR_OK) {
        p = sqlite3_column_blob(q->statement, q->next);
        *n = (size_t)sqlite3_column_bytes(q->statement, q->next++);
    }
    return p;
}

void query_bytes(struct query *q, struct bytes *out)
{
    size_t n;
    const void *p = query_blob(q, &n);
    bytes_put(out, p, n);
    if (q->e == ERR_OK)
        q->e = bytes_ok(out);
}

void query_copy(struct query *q, void *out, size_t n)
{
    size_t found;
    const void *p = query_blob(q, &found);
    if (q->e == ERR_OK && found != n) {
        log_error(q->store->log,
                  "store: it is damaged: %s on disk has %zu bytes, and should have %zu; restore a "
                  "backup of the server's folder",
                  sqlite3_column_name(q->statement, q->next - 1), found, n);
        q->e = ERR_FORMAT;
    }
    if (q->e == ERR_OK)
        memcpy(out, p, n);
}

enum err query_any(struct query *q, bool *any)
{
    *any = query_row(q);
    return query_end(q);
}

enum err query_one(struct query *q, struct bytes *out)
{
    const bool found = query_row(q);
    if (found)
        query_bytes(q, out);
    TRY(query_end(q));
    return found ? ERR_OK : ERR_LOST;
}

enum err query_run(struct query *q, bool *changed)
{
    (void)query_row(q);
    if (changed != NULL)
        *changed = q->e == ERR_OK && sqlite3_changes(q->store->db) > 0;
    return query_end(q);
}
