#include "base/date.h"
#include "base/memory.h"
#include "parties/store/store_private.h"

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
    unsigned version = upload_version(plain->data, plain->size);
    unsigned form = upload_form(plain->data, plain->size);
    if (version != UPLOAD_VERSION) {
        log_error(s->log,
                  "store: the upload of %s is of version %u, and this trefoil (%s) reads version "
                  "%u; run the one that stored it",
                  s->study->owner[owner].name, version, TREFOIL_VERSION, UPLOAD_VERSION);
        return ERR_MISMATCH;
    }
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
    else if (e != ERR_MISMATCH)
        log_error(s->log,
                  "store: the upload of owner %lld on disk does not unseal; restore a backup",
                  (long long)owner);
    bytes_clear(&plain);
    return e;
}

/* How much of a row's id fits one: all of it, unless the row is damaged. */
static size_t id_bytes(sqlite3_stmt *row)
{
    size_t n = (size_t)sqlite3_column_bytes(row, 0);
    return n < UPLOAD_ID_SIZE ? n : UPLOAD_ID_SIZE;
}

/* The upload of a query for one with an id, if there is one; if it does not unseal, its id alone. */
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
        if (e == ERR_AUTH) {
            *u = (struct upload){0};
            memcpy(u->id, sqlite3_column_blob(statement, 0), id_bytes(statement));
        }
    } else if (result != SQLITE_DONE)
        e = store_failed(s, "read");
    sqlite3_finalize(statement);
    return e;
}

enum err store_find_upload(struct store *s, const uint8_t id[UPLOAD_ID_SIZE], struct upload *u,
                           bool *found)
{
    return find(s, "SELECT id, owner, sealed FROM uploads WHERE id = ?", id, u, found);
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

enum err store_write_upload(struct store *s, const struct upload *u)
{
    sqlite3_stmt *statement;
    struct bytes sealed = {0};
    uint8_t digest[32];
    bool complete = u->has[0] && u->has[1];
    enum err e = seal(s, u, &sealed);
    upload_digest(u, s->study->terms.digest, digest);
    if (e == ERR_OK)
        e = store_prepare(s, "INSERT OR REPLACE INTO uploads VALUES(?, ?, ?, ?, 0, ?, ?)",
                          &statement);
    if (e == ERR_OK) {
        sqlite3_bind_blob(statement, 1, u->id, UPLOAD_ID_SIZE, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 2, u->owner);
        sqlite3_bind_blob(statement, 3, digest, 32, SQLITE_STATIC);
        sqlite3_bind_int(statement, 4, complete);
        sqlite3_bind_blob64(statement, 5, sealed.data, sealed.size, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 6, date_now());
        e = store_finish(s, statement);
    }
    bytes_clear(&sealed);
    return e;
}

/* Runs a statement whose one parameter is an owner. */
static enum err execute_for(struct store *s, const char *sql, uint32_t owner)
{
    sqlite3_stmt *statement;
    TRY(store_prepare(s, sql, &statement));
    sqlite3_bind_int64(statement, 1, owner);
    return store_finish(s, statement);
}

/* Deletes what is here of an owner; the upload's parts go with it. */
static enum err delete_of(struct store *s, uint32_t owner)
{
    s->erased = true;
    TRY(execute_for(s, "DELETE FROM parts WHERE id IN (SELECT id FROM uploads WHERE owner = ?)",
                    owner));
    return execute_for(s, "DELETE FROM uploads WHERE owner = ?", owner);
}

/* ERR_MISUSE once uploads have been counted. */
static enum err changeable(struct store *s)
{
    bool begun = false;
    TRY(store_begun(s, &begun));
    return s->in_use || begun ? ERR_MISUSE : ERR_OK;
}

static enum err put_new(struct store *s, const struct upload *u, bool replace)
{
    enum err e = owner_is_free(s, u->owner);
    if (e == ERR_REFUSED && replace) {
        TRY(changeable(s));
        e = delete_of(s, u->owner);
    }
    TRY(e);
    TRY(execute_for(s, "DELETE FROM withdrawn WHERE owner = ?", u->owner));
    return store_write_upload(s, u);
}

static enum err put(struct store *s, const struct upload *u, bool replace, bool *complete)
{
    struct upload known;
    uint8_t old[32], new[32];
    bool found;
    TRY(store_find_upload(s, u->id, &known, &found));
    if (!found) {
        *complete = u->has[0] && u->has[1];
        return put_new(s, u, replace);
    }
    upload_digest(&known, s->study->terms.digest, old);
    upload_digest(u, s->study->terms.digest, new);
    *complete = known.has[0] && known.has[1];
    upload_clear(&known);
    return memcmp(old, new, sizeof old) == 0 ? ERR_OK : ERR_DATA;
}

enum err store_put(struct store *store, const struct upload *u, bool replace, bool *complete)
{
    enum err e;
    *complete = false;
    pthread_mutex_lock(&store->lock);
    e = store_savepoint(store);
    if (e == ERR_OK)
        e = store_savepoint_end(store, put(store, u, replace, complete));
    pthread_mutex_unlock(&store->lock);
    return e;
}

/* --- withdrawing, and what is here --------------------------------------------------------------- */

static enum err withdraw(struct store *s, uint32_t owner)
{
    enum err e = owner_is_free(s, owner);
    if (e != ERR_REFUSED)
        return e;
    TRY(changeable(s));
    TRY(execute_for(s,
                    "INSERT OR REPLACE INTO withdrawn SELECT owner, digest, unixepoch() FROM"
                    " uploads WHERE owner = ?",
                    owner));
    return delete_of(s, owner);
}

enum err store_withdraw(struct store *store, uint32_t owner)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = store_savepoint(store);
    if (e == ERR_OK)
        e = store_savepoint_end(store, withdraw(store, owner));
    pthread_mutex_unlock(&store->lock);
    return e;
}

void store_use(struct store *store, bool in_use)
{
    pthread_mutex_lock(&store->lock);
    store->in_use = in_use;
    pthread_mutex_unlock(&store->lock);
}

static const char entries_sql[] =
    "SELECT owner, CASE complete WHEN 1 THEN 2 ELSE 1 END, digest, at,"
    "  (SELECT COALESCE(SUM(size), 0) FROM parts WHERE parts.id = uploads.id)"
    " FROM uploads WHERE owner >= ?1 AND owner <= ?2"
    " UNION ALL SELECT owner, 3, digest, at, 0 FROM withdrawn"
    " WHERE owner >= ?1 AND owner <= ?2";

/* entries[0] is of the owner `first`. */
static enum err read_entries(struct store *s, uint32_t first, uint32_t last, struct held *entries)
{
    sqlite3_stmt *row;
    enum err e = ERR_OK;
    int result = SQLITE_ROW;
    memset(entries, 0, (size_t)(last - first + 1) * sizeof *entries);
    TRY(store_prepare(s, entries_sql, &row));
    sqlite3_bind_int64(row, 1, first);
    sqlite3_bind_int64(row, 2, last);
    while (e == ERR_OK && (result = sqlite3_step(row)) == SQLITE_ROW) {
        struct held *entry = &entries[sqlite3_column_int64(row, 0) - first];
        entry->state = (enum held_state)sqlite3_column_int(row, 1);
        entry->time = sqlite3_column_int64(row, 3);
        entry->bytes = (uint64_t)sqlite3_column_int64(row, 4);
        e = store_column(s, row, 2, entry->digest, 32);
    }
    if (e == ERR_OK && result != SQLITE_DONE)
        e = store_failed(s, "read");
    sqlite3_finalize(row);
    return e;
}

enum err store_hold_of(struct store *store, uint32_t owner, struct held *entry)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = read_entries(store, owner, owner, entry);
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_holds(struct store *store, struct held *entries)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = read_entries(store, 0, (uint32_t)store->study->owners - 1, entries);
    pthread_mutex_unlock(&store->lock);
    return e;
}

/* A row of id, owner, digest. */
static enum err read_name(struct store *s, sqlite3_stmt *row, struct upload_name *name)
{
    name->owner = (uint32_t)sqlite3_column_int64(row, 1);
    TRY(store_column(s, row, 0, name->id, sizeof name->id));
    return store_column(s, row, 2, name->digest, sizeof name->digest);
}

/* Whether the study has this owner, of whom there is no upload yet in the list. */
static enum err check_owner(struct store *s, sqlite3_int64 owner, size_t count)
{
    if (owner >= 0 && (size_t)owner < s->study->owners && count < s->study->owners)
        return ERR_OK;
    log_error(
        s->log,
        "store: it is damaged: there is an upload of owner %lld, one too many for the study's "
        "%zu; restore a backup of the server's folder",
        (long long)owner, s->study->owners);
    return ERR_FORMAT;
}

enum err store_list(struct store *s, const char *sql, struct upload_name **names, size_t *count)
{
    sqlite3_stmt *row;
    enum err e = ERR_OK;
    int result = SQLITE_ROW;
    *count = 0;
    *names = memory_array(s->study->owners, sizeof **names);
    if (*names == NULL)
        return ERR_NOMEM;
    TRY(store_prepare(s, sql, &row));
    while (e == ERR_OK && (result = sqlite3_step(row)) == SQLITE_ROW) {
        e = check_owner(s, sqlite3_column_int64(row, 1), *count);
        if (e == ERR_OK)
            e = read_name(s, row, &(*names)[(*count)++]);
    }
    if (e == ERR_OK && result != SQLITE_DONE)
        e = store_failed(s, "read");
    sqlite3_finalize(row);
    return e;
}

enum err store_uploads(struct store *store, struct upload_name **names, size_t *count)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = store_list(store, "SELECT id, owner, digest FROM uploads WHERE complete ORDER BY id", names,
                   count);
    pthread_mutex_unlock(&store->lock);
    if (e != ERR_OK)
        memory_free(names);
    return e;
}

static enum err read_named(struct store *s, const struct upload_name *name, struct upload *u)
{
    uint8_t digest[32];
    bool found;
    TRY(store_find_upload(s, name->id, u, &found));
    if (found) {
        upload_digest(u, s->study->terms.digest, digest);
        if (memcmp(digest, name->digest, sizeof digest) == 0)
            return ERR_OK;
        upload_clear(u);
    }
    log_error(s->log,
              "store: the upload of %s on disk is not the one that it is listed as; "
              "restore a backup",
              s->study->owner[name->owner].name);
    return ERR_AUTH;
}

enum err store_upload(struct store *store, const struct upload_name *name, struct upload *u)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = read_named(store, name, u);
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

enum err store_forwarded(struct store *store, const uint8_t id[UPLOAD_ID_SIZE], bool forwarded)
{
    sqlite3_stmt *statement;
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = store_prepare(store, "UPDATE uploads SET forwarded = ?2 WHERE id = ?1", &statement);
    if (e == ERR_OK) {
        sqlite3_bind_blob(statement, 1, id, UPLOAD_ID_SIZE, SQLITE_STATIC);
        sqlite3_bind_int(statement, 2, forwarded);
        e = store_finish(store, statement);
    }
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_count(struct store *store, uint64_t *whole, uint64_t *part)
{
    int64_t complete = 0, all = 0;
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = store_number(store, "SELECT COUNT(*) FROM uploads WHERE complete", &complete);
    if (e == ERR_OK)
        e = store_number(store, "SELECT COUNT(*) FROM uploads", &all);
    pthread_mutex_unlock(&store->lock);
    if (e == ERR_OK) {
        *whole = (uint64_t)complete;
        *part = (uint64_t)(all - complete);
    }
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
            e = check_owner(store, owner, 0);
            if (e != ERR_OK)
                break;
            has[owner] = true;
        }
        sqlite3_finalize(statement);
        if (e == ERR_OK && result != SQLITE_DONE)
            e = store_failed(store, "read");
    }
    pthread_mutex_unlock(&store->lock);
    return e;
}
