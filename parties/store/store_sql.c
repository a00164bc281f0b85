#include "parties/store/store_private.h"

#include <string.h>

enum err store_execute(struct store *s, const char *sql)
{
    enum err e = ERR_OK;
    pthread_mutex_lock(&s->lock);
    if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        e = query_failed(s, "write");
    pthread_mutex_unlock(&s->lock);
    return e;
}

/* The same for one statement, which is kept. */
static enum err execute_one(struct store *s, const char *sql)
{
    struct query q = query_of(s, sql);
    if (q.e == ERR_OK && sqlite3_step(q.statement) != SQLITE_DONE)
        q.e = query_failed(s, "write");
    return query_end(&q);
}

enum err store_number(struct store *s, const char *sql, uint64_t *number)
{
    struct query q = query_of(s, sql);
    if (query_row(&q))
        *number = query_u64(&q);
    return query_end(&q);
}

/* Takes the lock and begins; the end, or a failure here, releases it. */
static enum err begin(struct store *s, const char *sql)
{
    enum err e;
    pthread_mutex_lock(&s->lock);
    e = execute_one(s, sql);
    if (e != ERR_OK)
        pthread_mutex_unlock(&s->lock);
    return e;
}

enum err store_batch(struct store *s)
{
    return begin(s, "BEGIN IMMEDIATE");
}

enum err store_end(struct store *s, enum err e)
{
    if (e == ERR_OK)
        e = execute_one(s, "COMMIT");
    /* some failures have rolled back already, and then there is nothing to undo */
    if (e != ERR_OK && sqlite3_get_autocommit(s->db) == 0)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    if (e != ERR_OK)
        memset(s->tally, 0, sizeof s->tally);
    pthread_mutex_unlock(&s->lock);
    return e;
}

enum err store_batch_end(struct store *s, enum err e)
{
    pthread_mutex_lock(&s->lock); /* until after the batch */
    e = store_end(s, e);
    if (e == ERR_OK && s->erased)
        e = store_empty_log(s);
    pthread_mutex_unlock(&s->lock);
    return e;
}

/* While somebody reads, as a backup does, it cannot be: then the next batch tries again. */
enum err store_empty_log(struct store *s)
{
    uint64_t busy = 0;
    enum err e;
    pthread_mutex_lock(&s->lock);
    e = store_number(s, "PRAGMA wal_checkpoint(TRUNCATE)", &busy);
    s->erased = e != ERR_OK || busy != 0;
    pthread_mutex_unlock(&s->lock);
    return e;
}

enum err store_savepoint(struct store *s)
{
    return begin(s, "SAVEPOINT one");
}

enum err store_savepoint_end(struct store *s, enum err e)
{
    if (e == ERR_OK)
        e = execute_one(s, "RELEASE one");
    else /* not logged: if all was rolled back already, the savepoint no longer exists */
        sqlite3_exec(s->db, "ROLLBACK TO one; RELEASE one", NULL, NULL, NULL);
    if (e != ERR_OK)
        memset(s->tally, 0, sizeof s->tally);
    pthread_mutex_unlock(&s->lock);
    return e;
}
