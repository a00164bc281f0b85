/* Which key has which token's number (parties/server/seats.h). */
#include "parties/store/store_private.h"

static enum err take(struct store *store, uint32_t number, const uint8_t sign[32], bool *taken)
{
    struct query q = query_of(store, "INSERT OR IGNORE INTO seats VALUES(?, ?)");
    query_put_u64(&q, number);
    query_put(&q, sign, 32);
    return query_run(&q, taken);
}

enum err store_seat(struct store *store, uint32_t number, const uint8_t sign[32], bool may_take)
{
    struct query q;
    bool taken = false;
    TRY(may_take ? take(store, number, sign, &taken) : ERR_OK);
    if (taken)
        return ERR_OK;
    q = query_of(store, "SELECT 1 FROM seats WHERE number = ? AND sign = ?");
    query_put_u64(&q, number);
    query_put(&q, sign, 32);
    taken = query_row(&q);
    TRY(query_end(&q));
    return taken ? ERR_OK : ERR_REFUSED;
}
