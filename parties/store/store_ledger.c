#include "base/hash.h"
#include "parties/store/store_private.h"

#include <sodium.h>
#include <string.h>

/* --- entries ---------------------------------------------------------------------------------- */

enum err store_write_entry(const struct store_round *round, const char *ledger, struct bytes *out)
{
    bytes_put(out, round->run, sizeof round->run);
    bytes_put_u32(out, round->sequence);
    bytes_put(out, round->request, sizeof round->request);
    bytes_put(out, round->uploads, sizeof round->uploads);
    bytes_put(out, round->stake.of, sizeof round->stake.of);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        bytes_put_u64(out, round->stake.from[k]);
        bytes_put_u64(out, round->stake.count[k]);
    }
    bytes_put_string(out, ledger);
    if (!sodium_is_zero(round->analyst, sizeof round->analyst)) /* otherwise as written then */
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
    reader_copy(&in, round->stake.of, sizeof round->stake.of);
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        round->stake.from[k] = reader_u64(&in);
        round->stake.count[k] = reader_u64(&in);
    }
    reader_string(&in, text, STORE_LEDGER_TEXT);
    memset(round->analyst, 0, sizeof round->analyst);
    if (in.left > 0)
        reader_copy(&in, round->analyst, sizeof round->analyst);
    return reader_done(&in);
}

void store_chain(const void *entry, size_t n, uint8_t head[32])
{
    hash_labelled(head, "trefoil-ledger-2", head, 32, entry, n);
}

enum err store_append_entry(struct store *s, const struct bytes *entry, struct store_head *head)
{
    struct store_head next = *head;
    store_chain(entry->data, entry->size, next.head);
    next.number++;
    TRY(CHANGE(s, NULL, "INSERT INTO ledger VALUES(?, ?, ?)", NUMBER(next.number),
               BYTES(entry->data, entry->size), BYTES(next.head, sizeof next.head)));
    *head = next;
    return ERR_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Walks the whole chain; each entry must follow from the one before. */
enum err store_check_ledger(struct store *s)
{
    struct query q = query_of(s, "SELECT number, entry, head FROM ledger ORDER BY number");
    struct store_head own = {0};
    bool sound = true;
    while (sound && query_row(&q)) {
        const uint64_t number = query_u64(&q);
        size_t n;
        const void *entry = query_blob(&q, &n);
        own.number++;
        store_chain(entry, n, own.head);
        entry = query_blob(&q, &n);
        sound = number == own.number && n == sizeof own.head && memcmp(entry, own.head, n) == 0;
    }
    TRY(query_end(&q));
    if (sound)
        return ERR_OK;
    return log_fail(s->log, ERR_MISMATCH,
                    "store: entry %llu of the privacy ledger on disk was altered; restore a backup "
                    "of the server's folder, and run trefoil recover",
                    (unsigned long long)own.number);
}

/* A debit's round, and the budget that it leaves. */
static enum err read_debit(struct store *s, uint64_t number, const struct bytes *entry,
                           struct store_round *round, struct ledger **ledger)
{
    char text[STORE_LEDGER_TEXT];
    if (store_read_entry(entry->data, entry->size, round, text) == ERR_OK)
        return ledger_parse(ledger, text, s->log);
    return log_fail(s->log, ERR_FORMAT,
                    "store: entry %llu of the privacy ledger on disk is not one that trefoil "
                    "wrote; restore a backup of the server's folder, and run trefoil recover",
                    (unsigned long long)number);
}

/* What was spent up to and with a debit, and what is left; whether the debit was a selection. */
struct spent {
    double spent, left;
    bool selection;
};

static enum err spent_at(struct store *s, uint64_t number, struct spent *spent)
{
    struct bytes entry CLEAN(bytes_clear) = {0};
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_round round;
    uint8_t head[32];
    TRY(store_entry(s, number, &entry, head));
    TRY(read_debit(s, number, &entry, &round, &ledger));
    *spent = (struct spent){ledger_spent(ledger), ledger_remaining(ledger),
                            round.stake.count[NOISE_GUMBEL] > 0};
    return ERR_OK;
}

enum err store_run_is_over(struct store *s, bool *over)
{
    uint64_t debits;
    struct spent last, before = {0};
    TRY(store_debits(s, &debits));
    *over = debits == 0;
    if (*over)
        return ERR_OK;
    TRY(spent_at(s, debits, &last));
    if (debits > 1)
        TRY(spent_at(s, debits - 1, &before));
    *over = last.selection && 2 * last.left < last.spent - before.spent;
    return ERR_OK;
}

enum err store_ledger(struct store *store, const struct ledger_limits *fresh,
                      struct ledger **ledger, struct store_head *head)
{
    struct query q = query_of(
        store, "SELECT number, head, entry FROM ledger ORDER BY number DESC LIMIT 1");
    struct bytes entry CLEAN(bytes_clear) = {0};
    struct store_round last;
    *ledger = NULL;
    *head = (struct store_head){0};
    if (query_row(&q)) {
        head->number = query_u64(&q);
        query_copy(&q, head->head, sizeof head->head);
        query_bytes(&q, &entry);
    }
    TRY(query_end(&q));
    return head->number > 0 ? read_debit(store, head->number, &entry, &last, ledger)
                            : ledger_new(ledger, fresh, store->log);
}

enum err store_debits(struct store *store, uint64_t *count)
{
    *count = 0;
    return store_number(store, "SELECT COUNT(*) FROM ledger", count);
}

enum err store_entry(struct store *store, uint64_t number, struct bytes *entry, uint8_t head[32])
{
    struct query q = QUERY(store, "SELECT entry, head FROM ledger WHERE number = ?",
                           NUMBER(number));
    const bool found = query_row(&q);
    if (found) {
        query_bytes(&q, entry);
        query_copy(&q, head, 32);
    }
    TRY(query_end(&q));
    return found ? ERR_OK : ERR_RANGE;
}

/* --- how a run begins ------------------------------------------------------------------------- */

enum err store_start(struct store *s, const uint8_t run[REQUEST_RUN_SIZE],
                     struct store_start *start)
{
    struct query q = QUERY(
        s,
        "WITH own AS (SELECT MIN(number) AS first FROM rounds"
        "  WHERE run = ?1 AND number IS NOT NULL AND NOT " STORE_LOOK "),"
        " paid AS (SELECT run, " STORE_LOOK " AS look FROM rounds, own"
        "  WHERE number IS NOT NULL AND (first IS NULL OR number < first))"
        " SELECT COUNT(*), SUM(look), SUM(look AND run = ?1), (SELECT first FROM own) IS NOT NULL"
        " FROM paid",
        BYTES(run, REQUEST_RUN_SIZE));
    struct spent last = {0};
    *start = (struct store_start){0};
    if (query_row(&q)) {
        start->debits = query_u64(&q);
        start->looks = query_u64(&q);
        start->own_looks = query_u64(&q);
        start->begun = query_u64(&q) != 0;
    }
    TRY(query_end(&q));
    if (start->debits > 0)
        TRY(spent_at(s, start->debits, &last));
    start->left = last.left;
    return ERR_OK;
}

enum err store_other_analysts(struct store *s, const uint8_t run[REQUEST_RUN_SIZE], bool looks,
                              struct bytes *keys)
{
    struct query q = QUERY(s,
                           "SELECT DISTINCT analyst FROM rounds WHERE number IS NOT NULL"
                           " AND run <> ?1 AND (?2 OR NOT " STORE_LOOK ")",
                           BYTES(run, REQUEST_RUN_SIZE), NUMBER(looks));
    while (query_row(&q)) {
        uint8_t key[32];
        query_copy(&q, key, sizeof key);
        bytes_put(keys, key, sizeof key);
    }
    TRY(query_end(&q));
    return bytes_ok(keys);
}
