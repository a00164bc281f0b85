#include "base/memory.h"
#include "parties/store_private.h"

#include <string.h>

/* What a sealed upload is bound to: its row's id and owner. */
struct binding {
    uint8_t id[UPLOAD_ID_SIZE];
    uint32_t owner;
};

static struct binding bind_to(const void *id, uint32_t owner)
{
    struct binding b = {.owner = owner};
    memcpy(b.id, id, sizeof b.id);
    return b;
}

static enum err seal(struct store *s, const struct upload *u, struct bytes *out)
{
    const struct binding binding = bind_to(u->id, u->owner);
    struct bytes plain = {0};
    enum err e = upload_write(u, s->index, true, &plain);
    if (e == ERR_OK)
        e = store_seal(s, &binding, sizeof binding, &plain, out);
    bytes_clear(&plain);
    return e;
}

static enum err read_plain(const struct store *s, size_t owner, const struct bytes *plain,
                           struct upload *u)
{
    unsigned form = upload_form(plain->data, plain->size);
    return upload_read(u, s->index, form, (size_t)study_form_bytes(s->study, owner, form),
                       plain->data, plain->size);
}

/* The upload of a row whose columns are id, owner, sealed. */
static enum err unseal(struct store *s, sqlite3_stmt *row, struct upload *u)
{
    sqlite3_int64 owner = sqlite3_column_int64(row, 1);
    struct bytes plain = {0};
    enum err e = ERR_AUTH;
    if (sqlite3_column_bytes(row, 0) == UPLOAD_ID_SIZE && owner >= 0 &&
        (size_t)owner < s->study->owners) {
        const struct binding binding = bind_to(sqlite3_column_blob(row, 0), (uint32_t)owner);
        e = store_unseal(s, &binding, sizeof binding, sqlite3_column_blob(row, 2),
                         (size_t)sqlite3_column_bytes(row, 2), &plain);
        if (e == ERR_OK)
            e = read_plain(s, (size_t)owner, &plain, u);
    }
    if (e == ERR_OK)
        u->owner = (uint32_t)owner;
    else
        log_error(s->log,
                  "store: the upload of owner %lld on disk does not unseal; restore a backup",
                  (long long)owner);
    bytes_clear(&plain);
    return e;
}

static const char by_id[] = "SELECT id, owner, sealed FROM uploads WHERE id = ?";

/* The upload of a query for one with an id, if there is one. */
static enum err find(struct store *s, const char *sql, const uint8_t id[UPLOAD_ID_SIZE],
                     struct upload *u, bool *found)
{
    sqlite3_stmt *statement;
    enum err e = ERR_OK;
    int result;
    *found = false;
    TRY(store_prepare(s, sql, &statement));
    sqlite3_bind_blob(statement, 1, id, UPLOAD_ID_SIZE, SQLITE_STATIC);
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        e = unseal(s, statement, u);
        *found = e == ERR_OK;
    } else if (result != SQLITE_DONE)
        e = store_failed(s, "read");
    sqlite3_finalize(statement);
    return e;
}

static enum err owner_is_free(struct store *s, uint32_t owner)
{
    sqlite3_stmt *statement;
    int result;
    TRY(store_prepare(s, "SELECT 1 FROM uploads WHERE owner = ?", &statement));
    sqlite3_bind_int64(statement, 1, owner);
    result = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return result == SQLITE_DONE  ? ERR_OK
           : result == SQLITE_ROW ? ERR_REFUSED
                                  : store_failed(s, "read");
}

static enum err write_upload(struct store *s, const struct upload *u)
{
    sqlite3_stmt *statement;
    struct bytes sealed = {0};
    uint8_t digest[32];
    bool complete = u->has[0] && u->has[1];
    enum err e = seal(s, u, &sealed);
    upload_digest(u, s->study->terms.digest, digest);
    if (e == ERR_OK)
        e = store_prepare(s, "INSERT OR REPLACE INTO uploads VALUES(?, ?, ?, ?, 0, ?)", &statement);
    if (e == ERR_OK) {
        sqlite3_bind_blob(statement, 1, u->id, UPLOAD_ID_SIZE, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 2, u->owner);
        sqlite3_bind_blob(statement, 3, digest, 32, SQLITE_STATIC);
        sqlite3_bind_int(statement, 4, complete);
        sqlite3_bind_blob64(statement, 5, sealed.data, sealed.size, SQLITE_STATIC);
        e = store_finish(s, statement);
    }
    bytes_clear(&sealed);
    return e;
}

static enum err put(struct store *s, const struct upload *u, bool *complete)
{
    struct upload known;
    uint8_t old[32], new[32];
    bool found;
    TRY(find(s, by_id, u->id, &known, &found));
    if (!found) {
        TRY(owner_is_free(s, u->owner));
        *complete = u->has[0] && u->has[1];
        return write_upload(s, u);
    }
    upload_digest(&known, s->study->terms.digest, old);
    upload_digest(u, s->study->terms.digest, new);
    *complete = known.has[0] && known.has[1];
    upload_clear(&known);
    return memcmp(old, new, sizeof old) == 0 ? ERR_OK : ERR_DATA;
}

enum err store_put(struct store *store, const struct upload *u, bool *complete)
{
    enum err e;
    *complete = false;
    pthread_mutex_lock(&store->lock);
    e = put(store, u, complete);
    pthread_mutex_unlock(&store->lock);
    return e;
}

static enum err put_vector(struct store *s, const uint8_t id[UPLOAD_ID_SIZE], const void *p,
                           size_t n, bool *complete)
{
    struct upload u;
    bool found;
    unsigned slot = 2 - s->index; /* server 1's second component, server 2's first */
    enum err e;
    if (s->index == 0)
        return ERR_REFUSED;
    TRY(find(s, by_id, id, &u, &found));
    if (!found)
        return ERR_AGAIN;
    e = n == study_form_bytes(s->study, u.owner, u.form) ? ERR_OK : ERR_FORMAT;
    if (e == ERR_OK && !u.has[slot]) {
        u.has[slot] = true;
        bytes_put(&u.vector, p, n);
        e = bytes_ok(&u.vector);
        if (e == ERR_OK)
            e = upload_check(&u, s->index, s->study->terms.digest);
        if (e == ERR_OK)
            e = write_upload(s, &u);
    }
    *complete = e == ERR_OK;
    upload_clear(&u);
    return e;
}

enum err store_put_vector(struct store *store, const uint8_t id[UPLOAD_ID_SIZE], const void *p,
                          size_t n, bool *complete)
{
    enum err e;
    *complete = false;
    pthread_mutex_lock(&store->lock);
    e = put_vector(store, id, p, n, complete);
    pthread_mutex_unlock(&store->lock);
    return e;
}

/* Unseals all rows of a statement that gives id, owner and sealed. */
static enum err collect(struct store *s, const char *sql, struct upload **uploads, size_t *count)
{
    sqlite3_stmt *statement;
    enum err e = ERR_OK;
    int result = SQLITE_ROW;
    *uploads = NULL;
    *count = 0;
    TRY(store_prepare(s, sql, &statement));
    while (e == ERR_OK && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct upload *more = memory_grow(*uploads, *count + 1, sizeof *more);
        if (more == NULL) {
            e = ERR_NOMEM;
            break;
        }
        *uploads = more;
        e = unseal(s, statement, &more[*count]);
        *count += e == ERR_OK;
    }
    if (e == ERR_OK && result != SQLITE_DONE)
        e = store_failed(s, "read");
    sqlite3_finalize(statement);
    for (size_t i = 0; e != ERR_OK && i < *count; i++)
        upload_clear(&(*uploads)[i]);
    if (e != ERR_OK)
        memory_free(uploads);
    return e;
}

enum err store_uploads(struct store *store, struct upload **uploads, size_t *count)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = collect(store, "SELECT id, owner, sealed FROM uploads WHERE complete ORDER BY id", uploads,
                count);
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_unforwarded(struct store *store, const uint8_t after[UPLOAD_ID_SIZE],
                           struct upload *u, bool *found)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = find(store,
             "SELECT id, owner, sealed FROM uploads WHERE complete AND NOT forwarded AND id > ?"
             " ORDER BY id LIMIT 1",
             after, u, found);
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_forwarded(struct store *store, const uint8_t id[UPLOAD_ID_SIZE])
{
    sqlite3_stmt *statement;
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = store_prepare(store, "UPDATE uploads SET forwarded = 1 WHERE id = ?", &statement);
    if (e == ERR_OK) {
        sqlite3_bind_blob(statement, 1, id, UPLOAD_ID_SIZE, SQLITE_STATIC);
        e = store_finish(store, statement);
    }
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_count(struct store *store, uint64_t *whole, uint64_t *part)
{
    sqlite3_stmt *statement;
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = store_prepare(store,
                      "SELECT (SELECT COUNT(*) FROM uploads WHERE complete),"
                      " (SELECT COUNT(*) FROM uploads)",
                      &statement);
    if (e == ERR_OK) {
        if (sqlite3_step(statement) == SQLITE_ROW) {
            *whole = (uint64_t)sqlite3_column_int64(statement, 0);
            *part = (uint64_t)sqlite3_column_int64(statement, 1) - *whole;
        } else
            e = store_failed(store, "read");
        sqlite3_finalize(statement);
    }
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_owners(struct store *store, bool *has)
{
    sqlite3_stmt *statement;
    int result = SQLITE_ERROR;
    enum err e;
    memset(has, 0, store->study->owners * sizeof *has);
    pthread_mutex_lock(&store->lock);
    e = store_prepare(store, "SELECT owner FROM uploads WHERE complete", &statement);
    if (e == ERR_OK) {
        while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
            sqlite3_int64 owner = sqlite3_column_int64(statement, 0);
            if (owner >= 0 && (size_t)owner < store->study->owners)
                has[owner] = true;
        }
        sqlite3_finalize(statement);
        if (result != SQLITE_DONE)
            e = store_failed(store, "read");
    }
    pthread_mutex_unlock(&store->lock);
    return e;
}
