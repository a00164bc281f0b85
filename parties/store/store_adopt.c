#include "parties/store/store_private.h"

#include <string.h>

static enum err may_follow(struct store *s, const char *text, const struct ledger *before)
{
    struct ledger *after CLEAN(ledger_free) = NULL;
    TRY(ledger_parse(&after, text, s->log));
    if (ledger_follows(before, after))
        return ERR_OK;
    return log_fail(s->log, ERR_MISMATCH,
                    "the debit that a neighbour passes on would change the budget, or give some of "
                    "it back. It is refused; find out what is wrong at that server");
}

static enum err append_adopted(struct store *s, const struct store_round *round,
                               const struct bytes *entry, struct store_head *head)
{
    enum err e;
    TRY(store_batch(s));
    e = store_append_entry(s, entry, head);
    if (e == ERR_OK)
        e = store_adopt_round(s, round, head->number);
    return store_end(s, e);
}

enum err store_adopt(struct store *store, const struct bytes *entry, const struct store_head *head,
                     const uint8_t next[32], const struct ledger *before)
{
    struct store_round round;
    struct store_head own = *head;
    char text[STORE_LEDGER_TEXT];
    uint8_t follows[32];
    memcpy(follows, head->head, sizeof follows);
    store_chain(entry->data, entry->size, follows);
    if (memcmp(follows, next, sizeof follows) != 0)
        return log_fail(store->log, ERR_MISMATCH,
                        "the debit that a neighbour passes on does not follow the ones here; was a "
                        "server restored from a backup?");
    if (store_read_entry(entry->data, entry->size, &round, text) != ERR_OK)
        return log_fail(store->log, ERR_FORMAT,
                        "what a neighbour passes on as its last debit is not one; find out what is "
                        "wrong at that server");
    TRY(may_follow(store, text, before));
    return append_adopted(store, &round, entry, &own);
}

/* Within a batch. */
static enum err drop(struct store *s, uint64_t number)
{
    struct store_found found;
    TRY(store_round_of(s, number, &found));
    if (found.standing != STANDING_BOUND)
        return ERR_LOST;
    TRY(CHANGE(s, NULL,
               "DELETE FROM noise WHERE (run, sequence) IN"
               " (SELECT run, sequence FROM rounds WHERE number = ?)",
               NUMBER(number)));
    TRY(CHANGE(s, NULL, "DELETE FROM rounds WHERE number = ?", NUMBER(number)));
    return CHANGE(s, NULL, "DELETE FROM ledger WHERE number = ?", NUMBER(number));
}

enum err store_drop_last(struct store *store, uint64_t number)
{
    TRY(store_batch(store));
    TRY(store_end(store, drop(store, number)));
    return store_empty_log(store);
}
