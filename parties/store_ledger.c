#include "base/memory.h"
#include "parties/store_private.h"

#include <sodium.h>
#include <string.h>

static enum err read_ledger(struct store *s, const struct ledger_limits *fresh,
                            struct ledger **ledger, uint8_t head[32])
{
    sqlite3_stmt *statement;
    enum err e;
    int result;
    memset(head, 0, 32);
    TRY(store_prepare(s, "SELECT ledger, head FROM ledger ORDER BY number DESC LIMIT 1",
                      &statement));
    result = sqlite3_step(statement);
    if (result == SQLITE_ROW && sqlite3_column_bytes(statement, 1) == 32) {
        memcpy(head, sqlite3_column_blob(statement, 1), 32);
        e = ledger_parse(ledger, (const char *)sqlite3_column_text(statement, 0), s->log);
    } else if (result == SQLITE_DONE)
        e = ledger_new(ledger, fresh, s->log);
    else
        e = store_failed(s, "read the ledger");
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
    TRY(store_prepare(s,
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
    return store_finish(s, statement);
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

static enum err last_debit(struct store *s, uint64_t *number, struct bytes *entry)
{
    sqlite3_stmt *row;
    struct store_debit d;
    enum err e = ERR_OK;
    int result;
    *number = 0;
    TRY(store_prepare(
        s,
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
        e = store_column(row, 1, d.request, sizeof d.request);
        if (e == ERR_OK)
            e = store_column(row, 2, d.tape, sizeof d.tape);
        if (e == ERR_OK)
            e = write_entry(&d, (const char *)sqlite3_column_text(row, 7), entry);
    } else if (result != SQLITE_DONE)
        e = store_failed(s, "read the ledger");
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
