#include "parties/store.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/secret.h"

#include <pthread.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define STORE_VERSION "1"
#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_xchacha20poly1305_ietf_ABYTES

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS about(key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS uploads(id BLOB PRIMARY KEY, owner INTEGER NOT NULL UNIQUE,"
    "  digest BLOB NOT NULL, complete INTEGER NOT NULL, forwarded INTEGER NOT NULL,"
    "  sealed BLOB NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS ledger(number INTEGER PRIMARY KEY, request BLOB NOT NULL,"
    "  tape BLOB NOT NULL, gauss_from INTEGER NOT NULL, gauss_count INTEGER NOT NULL,"
    "  gumbel_from INTEGER NOT NULL, gumbel_count INTEGER NOT NULL, ledger TEXT NOT NULL,"
    "  head BLOB NOT NULL) STRICT;";

struct store {
    sqlite3 *db;
    pthread_mutex_t lock;
    const struct study *study; /* borrowed */
    unsigned index;
    uint8_t *key; /* secret memory */
    struct log *log;
};

static enum err failed(struct store *s, const char *what)
{
    log_error(s->log, "store: cannot %s: %s (is the disk full, or the folder not writable?)", what,
              sqlite3_errmsg(s->db));
    return ERR_SYSTEM;
}

static enum err execute(struct store *s, const char *sql)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? ERR_OK : failed(s, sql);
}

static enum err prepare(struct store *s, const char *sql, sqlite3_stmt **statement)
{
    if (sqlite3_prepare_v2(s->db, sql, -1, statement, NULL) != SQLITE_OK)
        return failed(s, "prepare a statement");
    return ERR_OK;
}

/* Runs a statement that gives no rows, and ends it. */
static enum err finish(struct store *s, sqlite3_stmt *statement)
{
    int result = sqlite3_step(statement);
    enum err e = result == SQLITE_DONE ? ERR_OK : failed(s, "write");
    sqlite3_finalize(statement);
    return e;
}

/* --- opening ------------------------------------------------------------------------------------- */

/* Stores key = value, or compares with what is there. */
static enum err about(struct store *s, const char *key, const void *value, size_t n)
{
    sqlite3_stmt *statement;
    enum err e = ERR_OK;
    int result;
    TRY(prepare(s, "SELECT value FROM about WHERE key = ?", &statement));
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        if ((size_t)sqlite3_column_bytes(statement, 0) != n ||
            memcmp(sqlite3_column_blob(statement, 0), value, n) != 0) {
            log_error(
                s->log,
                "the server's folder holds another %s; use a folder of its own for each study "
                "and server, and do not change the terms once it has data",
                key);
            e = ERR_MISMATCH;
        }
        sqlite3_finalize(statement);
        return e;
    }
    sqlite3_finalize(statement);
    if (result != SQLITE_DONE)
        return failed(s, "read");
    TRY(prepare(s, "INSERT INTO about VALUES(?, ?)", &statement));
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 2, value, (int)n, SQLITE_STATIC);
    return finish(s, statement);
}

static enum err open_database(struct store *s, const char *folder, const struct identity *me)
{
    char path[4096];
    const uint8_t index = (uint8_t)s->index;
    if (snprintf(path, sizeof path, "%s/store.sqlite", folder) >= (int)sizeof path)
        return ERR_RANGE;
    TRY(file_folder(folder, s->log));
    if (sqlite3_open_v2(path, &s->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        return failed(s, "open");
    sqlite3_busy_timeout(s->db, 1000);
    /* one process a folder, since two would both debit; the lock is taken by the first write */
    TRY(execute(s, "PRAGMA locking_mode = EXCLUSIVE"));
    TRY(execute(s, "PRAGMA journal_mode = WAL"));
    TRY(execute(s, "PRAGMA synchronous = FULL"));
    TRY(execute(s, "BEGIN IMMEDIATE; COMMIT"));
    TRY(execute(s, schema));
    TRY(about(s, "format version", STORE_VERSION, 1));
    TRY(about(s, "study (its terms)", s->study->terms.digest, 32));
    TRY(about(s, "server index", &index, 1));
    return about(s, "server key", me->public.sign, sizeof me->public.sign);
}

enum err store_open(struct store **store, const char *folder, const struct study *study,
                    const struct identity *me, unsigned index, struct log *log)
{
    struct store *s = memory_array(1, sizeof *s);
    enum err e;
    *store = s;
    if (s == NULL)
        return ERR_NOMEM;
    s->study = study;
    s->index = index;
    s->log = log;
    if (pthread_mutex_init(&s->lock, NULL) != 0) {
        memory_free(store);
        return ERR_SYSTEM;
    }
    s->key = secret_new(32);
    e = s->key == NULL ? ERR_NOMEM : ERR_OK;
    if (e == ERR_OK && crypto_generichash(s->key, 32, (const uint8_t *)"trefoil-store-1", 15,
                                          me->sign_secret, 32) != 0)
        e = ERR_CRYPTO;
    if (e == ERR_OK)
        e = open_database(s, folder, me);
    if (e != ERR_OK)
        store_close(store);
    return e;
}

void store_close(struct store **store)
{
    struct store *s = *store;
    if (s == NULL)
        return;
    sqlite3_close(s->db);
    pthread_mutex_destroy(&s->lock);
    secret_free(&s->key);
    memory_free(store);
}

/* --- uploads ------------------------------------------------------------------------------------- */

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
    uint8_t *at = e == ERR_OK ? bytes_extend(out, NONCE + plain.size + TAG) : NULL;
    if (at == NULL)
        e = e == ERR_OK ? ERR_NOMEM : e;
    else {
        secret_random(at, NONCE);
        crypto_aead_xchacha20poly1305_ietf_encrypt(at + NONCE, NULL, plain.data, plain.size,
                                                   (const uint8_t *)&binding, sizeof binding, NULL,
                                                   at, s->key);
    }
    bytes_clear(&plain);
    return e;
}

/* The upload of a row whose columns are id, owner, sealed. */
static enum err unseal(struct store *s, sqlite3_stmt *row, struct upload *u)
{
    const uint8_t *p = sqlite3_column_blob(row, 2);
    size_t n = (size_t)sqlite3_column_bytes(row, 2);
    sqlite3_int64 owner = sqlite3_column_int64(row, 1);
    struct bytes plain = {0};
    enum err e = ERR_AUTH;
    if (sqlite3_column_bytes(row, 0) == UPLOAD_ID_SIZE && n >= NONCE + TAG && owner >= 0 &&
        (size_t)owner < s->study->owners && bytes_extend(&plain, n - NONCE - TAG) != NULL) {
        const struct binding binding = bind_to(sqlite3_column_blob(row, 0), (uint32_t)owner);
        if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain.data, NULL, NULL, p + NONCE, n - NONCE,
                                                       (const uint8_t *)&binding, sizeof binding, p,
                                                       s->key) == 0)
            e = upload_read(u, s->index, study_upload_form(s->study, (size_t)owner),
                            (size_t)study_upload_bytes(s->study, (size_t)owner), plain.data,
                            plain.size);
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

/* The upload of this id, if there is one. */
static enum err find(struct store *s, const uint8_t id[UPLOAD_ID_SIZE], struct upload *u,
                     bool *found)
{
    sqlite3_stmt *statement;
    enum err e = ERR_OK;
    int result;
    *found = false;
    TRY(prepare(s, "SELECT id, owner, sealed FROM uploads WHERE id = ?", &statement));
    sqlite3_bind_blob(statement, 1, id, UPLOAD_ID_SIZE, SQLITE_STATIC);
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        e = unseal(s, statement, u);
        *found = e == ERR_OK;
    } else if (result != SQLITE_DONE)
        e = failed(s, "read");
    sqlite3_finalize(statement);
    return e;
}

static enum err owner_is_free(struct store *s, uint32_t owner)
{
    sqlite3_stmt *statement;
    int result;
    TRY(prepare(s, "SELECT 1 FROM uploads WHERE owner = ?", &statement));
    sqlite3_bind_int64(statement, 1, owner);
    result = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return result == SQLITE_DONE ? ERR_OK : result == SQLITE_ROW ? ERR_REFUSED : failed(s, "read");
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
        e = prepare(s, "INSERT OR REPLACE INTO uploads VALUES(?, ?, ?, ?, 0, ?)", &statement);
    if (e == ERR_OK) {
        sqlite3_bind_blob(statement, 1, u->id, UPLOAD_ID_SIZE, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 2, u->owner);
        sqlite3_bind_blob(statement, 3, digest, 32, SQLITE_STATIC);
        sqlite3_bind_int(statement, 4, complete);
        sqlite3_bind_blob64(statement, 5, sealed.data, sealed.size, SQLITE_STATIC);
        e = finish(s, statement);
    }
    bytes_clear(&sealed);
    return e;
}

static enum err put(struct store *s, const struct upload *u, bool *complete)
{
    struct upload known;
    uint8_t old[32], new[32];
    bool found;
    TRY(find(s, u->id, &known, &found));
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
    TRY(find(s, id, &u, &found));
    if (!found)
        return ERR_AGAIN;
    e = n == study_upload_bytes(s->study, u.owner) ? ERR_OK : ERR_FORMAT;
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
    TRY(prepare(s, sql, &statement));
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
        e = failed(s, "read");
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

enum err store_unforwarded(struct store *store, struct upload *u, bool *found)
{
    struct upload *one = NULL;
    size_t count = 0;
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = collect(store,
                "SELECT id, owner, sealed FROM uploads WHERE complete AND NOT forwarded LIMIT 1",
                &one, &count);
    pthread_mutex_unlock(&store->lock);
    *found = e == ERR_OK && count == 1;
    if (*found)
        *u = one[0];
    memory_free(&one);
    return e;
}

enum err store_forwarded(struct store *store, const uint8_t id[UPLOAD_ID_SIZE])
{
    sqlite3_stmt *statement;
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = prepare(store, "UPDATE uploads SET forwarded = 1 WHERE id = ?", &statement);
    if (e == ERR_OK) {
        sqlite3_bind_blob(statement, 1, id, UPLOAD_ID_SIZE, SQLITE_STATIC);
        e = finish(store, statement);
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
    e = prepare(store, "SELECT owner FROM uploads WHERE complete", &statement);
    if (e == ERR_OK) {
        while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
            sqlite3_int64 owner = sqlite3_column_int64(statement, 0);
            if (owner >= 0 && (size_t)owner < store->study->owners)
                has[owner] = true;
        }
        sqlite3_finalize(statement);
        if (result != SQLITE_DONE)
            e = failed(store, "read");
    }
    pthread_mutex_unlock(&store->lock);
    return e;
}

/* --- ledger -------------------------------------------------------------------------------------- */

static enum err read_ledger(struct store *s, const struct ledger_limits *fresh,
                            struct ledger **ledger, uint8_t head[32])
{
    sqlite3_stmt *statement;
    enum err e;
    int result;
    memset(head, 0, 32);
    TRY(prepare(s, "SELECT ledger, head FROM ledger ORDER BY number DESC LIMIT 1", &statement));
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW && sqlite3_column_bytes(statement, 1) == 32) {
        memcpy(head, sqlite3_column_blob(statement, 1), 32);
        e = ledger_parse(ledger, (const char *)sqlite3_column_text(statement, 0), s->log);
    } else if (result == SQLITE_DONE)
        e = ledger_new(ledger, fresh, s->log);
    else
        e = failed(s, "read the ledger");
    sqlite3_finalize(statement);
    return e;
}

enum err store_ledger(struct store *store, const struct ledger_limits *fresh,
                      struct ledger **ledger, uint8_t head[32])
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = read_ledger(store, fresh, ledger, head);
    pthread_mutex_unlock(&store->lock);
    return e;
}

/* One link of the chain as bytes. */
static enum err write_entry(const struct store_debit *d, const char *text, struct bytes *out)
{
    bytes_put(out, d->request, 32);
    bytes_put(out, d->tape, 32);
    bytes_put_u64(out, d->gauss_from);
    bytes_put_u64(out, d->gauss_count);
    bytes_put_u64(out, d->gumbel_from);
    bytes_put_u64(out, d->gumbel_count);
    bytes_put_string(out, text);
    return bytes_ok(out);
}

static enum err read_entry(const struct bytes *entry, struct store_debit *d, char *text,
                           size_t size)
{
    struct reader in = reader_of(entry->data, entry->size);
    reader_copy(&in, d->request, 32);
    reader_copy(&in, d->tape, 32);
    d->gauss_from = reader_u64(&in);
    d->gauss_count = reader_u64(&in);
    d->gumbel_from = reader_u64(&in);
    d->gumbel_count = reader_u64(&in);
    reader_string(&in, text, size);
    return reader_done(&in);
}

/* head = SHA-256(label, head, entry) */
static enum err chain(const struct bytes *entry, uint8_t head[32])
{
    struct bytes b = {0};
    enum err e;
    bytes_put_string(&b, "trefoil-ledger");
    bytes_put(&b, head, 32);
    bytes_put(&b, entry->data, entry->size);
    e = bytes_ok(&b);
    if (e == ERR_OK)
        crypto_hash_sha256(head, b.data, b.size);
    bytes_clear(&b);
    return e;
}

static enum err append_debit(struct store *s, const struct store_debit *d, const char *text,
                             const uint8_t head[32])
{
    sqlite3_stmt *statement;
    TRY(prepare(s,
                "INSERT INTO ledger(request, tape, gauss_from, gauss_count, gumbel_from,"
                " gumbel_count, ledger, head) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                &statement));
    sqlite3_bind_blob(statement, 1, d->request, 32, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 2, d->tape, 32, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)d->gauss_from);
    sqlite3_bind_int64(statement, 4, (sqlite3_int64)d->gauss_count);
    sqlite3_bind_int64(statement, 5, (sqlite3_int64)d->gumbel_from);
    sqlite3_bind_int64(statement, 6, (sqlite3_int64)d->gumbel_count);
    sqlite3_bind_text(statement, 7, text, -1, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 8, head, 32, SQLITE_STATIC);
    return finish(s, statement);
}

enum err store_debit(struct store *store, const struct store_debit *debit,
                     const struct ledger *after, uint8_t head[32])
{
    char *text = NULL;
    uint8_t next[32];
    struct bytes entry = {0};
    enum err e = ledger_text(after, &text);
    memcpy(next, head, sizeof next);
    if (e == ERR_OK)
        e = write_entry(debit, text, &entry);
    if (e == ERR_OK)
        e = chain(&entry, next);
    pthread_mutex_lock(&store->lock);
    if (e == ERR_OK)
        e = append_debit(store, debit, text, next);
    pthread_mutex_unlock(&store->lock);
    if (e == ERR_OK)
        memcpy(head, next, sizeof next);
    bytes_clear(&entry);
    memory_free(&text);
    return e;
}

static enum err column_digest(sqlite3_stmt *row, int column, uint8_t out[32])
{
    if (sqlite3_column_bytes(row, column) != 32)
        return ERR_FORMAT;
    memcpy(out, sqlite3_column_blob(row, column), 32);
    return ERR_OK;
}

static enum err last_debit(struct store *s, uint64_t *number, struct bytes *entry)
{
    sqlite3_stmt *row;
    struct store_debit d;
    enum err e = ERR_OK;
    int result;
    *number = 0;
    TRY(prepare(s,
                "SELECT (SELECT COUNT(*) FROM ledger), request, tape, gauss_from, gauss_count,"
                " gumbel_from, gumbel_count, ledger FROM ledger ORDER BY number DESC LIMIT 1",
                &row));
    result = sqlite3_step(row);
    if (result == SQLITE_ROW) {
        *number = (uint64_t)sqlite3_column_int64(row, 0);
        d.gauss_from = (uint64_t)sqlite3_column_int64(row, 3);
        d.gauss_count = (uint64_t)sqlite3_column_int64(row, 4);
        d.gumbel_from = (uint64_t)sqlite3_column_int64(row, 5);
        d.gumbel_count = (uint64_t)sqlite3_column_int64(row, 6);
        e = column_digest(row, 1, d.request);
        if (e == ERR_OK)
            e = column_digest(row, 2, d.tape);
        if (e == ERR_OK)
            e = write_entry(&d, (const char *)sqlite3_column_text(row, 7), entry);
    } else if (result != SQLITE_DONE)
        e = failed(s, "read the ledger");
    sqlite3_finalize(row);
    return e;
}

enum err store_last_debit(struct store *store, uint64_t *number, struct bytes *entry)
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = last_debit(store, number, entry);
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_adopt(struct store *store, const struct bytes *entry, const uint8_t head[32],
                     const uint8_t next[32], const struct ledger *before, struct ledger **after)
{
    struct store_debit d;
    char text[4096];
    uint8_t computed[32];
    enum err e;
    *after = NULL;
    memcpy(computed, head, sizeof computed);
    TRY(chain(entry, computed));
    if (memcmp(computed, next, sizeof computed) != 0)
        return ERR_MISMATCH;
    TRY(read_entry(entry, &d, text, sizeof text));
    TRY(ledger_parse(after, text, store->log));
    if (!ledger_follows(before, *after)) {
        log_error(store->log,
                  "the debit that a neighbour passes on would change the budget, or give some "
                  "of it back; it is refused, and that server should be looked at");
        ledger_free(after);
        return ERR_MISMATCH;
    }
    pthread_mutex_lock(&store->lock);
    e = append_debit(store, &d, text, next);
    pthread_mutex_unlock(&store->lock);
    if (e != ERR_OK)
        ledger_free(after);
    return e;
}
