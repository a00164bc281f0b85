#include "parties/store/store_private.h"

#include <sodium.h>
#include <string.h>

/* --- entries ------------------------------------------------------------------------------------- */

enum err store_write_entry(const struct store_round *round, const char *ledger, struct bytes *out)
{
    bytes_put(out, round->run, sizeof round->run);
    bytes_put_u32(out, round->sequence);
    bytes_put(out, round->request, sizeof round->request);
    bytes_put(out, round->uploads, sizeof round->uploads);
    bytes_put(out, round->range.tape, sizeof round->range.tape);
    for (unsigned k = 0; k < TAPE_KINDS; k++) {
        bytes_put_u64(out, round->range.from[k]);
        bytes_put_u64(out, round->range.count[k]);
    }
    bytes_put_string(out, ledger);
    if (!sodium_is_zero(round->analyst, sizeof round->analyst)) /* else as it was written then */
        bytes_put(out, round->analyst, sizeof round->analyst);
    return bytes_ok(out);
}

enum err store_read_entry(const void *p, size_t n, struct store_round *round,
                          char text[STORE_LEDGER_TEXT])
{
    struct reader in = reader_of(p, n);
    reader_copy(&in, round->run, sizeof round->run);
    round->sequence = reader_u32(&in);
    reader_copy(&in, round->request, sizeof round->request);
    reader_copy(&in, round->uploads, sizeof round->uploads);
    reader_copy(&in, round->range.tape, sizeof round->range.tape);
    for (unsigned k = 0; k < TAPE_KINDS; k++) {
        round->range.from[k] = reader_u64(&in);
        round->range.count[k] = reader_u64(&in);
    }
    reader_string(&in, text, STORE_LEDGER_TEXT);
    memset(round->analyst, 0, sizeof round->analyst);
    if (in.left > 0)
        reader_copy(&in, round->analyst, sizeof round->analyst);
    return reader_done(&in);
}

void store_chain(const void *entry, size_t n, uint8_t head[32])
{
    static const char label[] = "trefoil-ledger-2";
    crypto_hash_sha256_state hash;
    crypto_hash_sha256_init(&hash);
    crypto_hash_sha256_update(&hash, (const uint8_t *)label, sizeof label);
    crypto_hash_sha256_update(&hash, head, 32);
    crypto_hash_sha256_update(&hash, entry, n);
    crypto_hash_sha256_final(&hash, head);
}

enum err store_append_entry(struct store *s, const struct bytes *entry, struct store_head *head)
{
    sqlite3_stmt *statement;
    struct store_head next = *head;
    store_chain(entry->data, entry->size, next.head);
    next.number++;
    TRY(store_prepare(s, "INSERT INTO ledger VALUES(?, ?, ?)", &statement));
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)next.number);
    sqlite3_bind_blob64(statement, 2, entry->data, entry->size, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 3, next.head, 32, SQLITE_STATIC);
    TRY(store_finish(s, statement));
    *head = next;
    return ERR_OK;
}

/* --- reading ------------------------------------------------------------------------------------- */

/* Walks all rows of (number, entry, head); each has to follow from the one before. */
static enum err check_chain(struct store *s, sqlite3_stmt *row)
{
    struct store_head own = {0};
    int result;
    while ((result = sqlite3_step(row)) == SQLITE_ROW) {
        own.number++;
        store_chain(sqlite3_column_blob(row, 1), (size_t)sqlite3_column_bytes(row, 1), own.head);
        if ((uint64_t)sqlite3_column_int64(row, 0) != own.number ||
            sqlite3_column_bytes(row, 2) != sizeof own.head ||
            memcmp(sqlite3_column_blob(row, 2), own.head, sizeof own.head) != 0) {
            log_error(s->log,
                      "store: entry %llu of the privacy ledger on disk was altered; restore a "
                      "backup of the server's folder, and run trefoil recover",
                      (unsigned long long)own.number);
            return ERR_MISMATCH;
        }
    }
    return result == SQLITE_DONE ? ERR_OK : store_failed(s, "read the ledger");
}

enum err store_check_ledger(struct store *s)
{
    sqlite3_stmt *row;
    enum err e;
    TRY(store_prepare(s, "SELECT number, entry, head FROM ledger ORDER BY number", &row));
    e = check_chain(s, row);
    sqlite3_finalize(row);
    return e;
}

/* The budget that a row of (number, entry, head) leaves. */
static enum err read_last(struct store *s, sqlite3_stmt *row, struct ledger **ledger,
                          struct store_head *head)
{
    struct store_round round;
    char text[STORE_LEDGER_TEXT];
    head->number = (uint64_t)sqlite3_column_int64(row, 0);
    TRY(store_column(s, row, 2, head->head, sizeof head->head));
    if (store_read_entry(sqlite3_column_blob(row, 1), (size_t)sqlite3_column_bytes(row, 1), &round,
                         text) == ERR_OK)
        return ledger_parse(ledger, text, s->log);
    log_error(
        s->log,
        "store: entry %llu of the privacy ledger on disk is not one that trefoil wrote; restore a "
        "backup of the server's folder, and run trefoil recover",
        (unsigned long long)head->number);
    return ERR_FORMAT;
}

static enum err read_ledger(struct store *s, const struct ledger_limits *fresh,
                            struct ledger **ledger, struct store_head *head)
{
    sqlite3_stmt *row;
    enum err e;
    int result;
    *head = (struct store_head){0};
    TRY(store_prepare(s, "SELECT number, entry, head FROM ledger ORDER BY number DESC LIMIT 1",
                      &row));
    result = sqlite3_step(row);
    if (result == SQLITE_ROW)
        e = read_last(s, row, ledger, head);
    else if (result == SQLITE_DONE)
        e = ledger_new(ledger, fresh, s->log);
    else
        e = store_failed(s, "read the ledger");
    sqlite3_finalize(row);
    return e;
}

enum err store_ledger(struct store *store, const struct ledger_limits *fresh,
                      struct ledger **ledger, struct store_head *head)
{
    enum err e;
    *ledger = NULL;
    pthread_mutex_lock(&store->lock);
    e = read_ledger(store, fresh, ledger, head);
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_debits(struct store *store, uint64_t *count)
{
    int64_t n = 0;
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = store_number(store, "SELECT COUNT(*) FROM ledger", &n);
    pthread_mutex_unlock(&store->lock);
    *count = (uint64_t)n;
    return e;
}

static enum err one_entry(struct store *s, uint64_t number, struct bytes *entry, uint8_t head[32])
{
    sqlite3_stmt *row;
    enum err e = ERR_OK;
    int result;
    TRY(store_prepare(s, "SELECT entry, head FROM ledger WHERE number = ?", &row));
    sqlite3_bind_int64(row, 1, (sqlite3_int64)number);
    result = sqlite3_step(row);
    if (result == SQLITE_ROW) {
        bytes_put(entry, sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0));
        e = store_column(s, row, 1, head, 32);
    } else
        e = result == SQLITE_DONE ? ERR_RANGE : store_failed(s, "read the ledger");
    sqlite3_finalize(row);
    return e == ERR_OK ? bytes_ok(entry) : e;
}

enum err store_entry(struct store *store, uint64_t number, struct bytes *entry, uint8_t head[32])
{
    enum err e;
    pthread_mutex_lock(&store->lock);
    e = one_entry(store, number, entry, head);
    pthread_mutex_unlock(&store->lock);
    return e;
}

enum err store_begun(struct store *store, bool *begun)
{
    uint64_t debits = 0;
    enum err e = store_debits(store, &debits);
    *begun = debits > 0;
    return e;
}
