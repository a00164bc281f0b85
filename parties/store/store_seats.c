/* Which key has which token's number (parties/server/seats.h). */
#include "parties/store/store_private.h"

enum err store_seat(struct store *store, uint32_t number, const uint8_t sign[32])
{
    struct query q = query_of(store, "INSERT OR IGNORE INTO seats VALUES(?, ?)");
    bool taken;
    query_put_u64(&q, number);
    query_put(&q, sign, 32);
    TRY(query_run(&q, &taken));
    if (taken)
        return ERR_OK;
    q = query_of(store, "SELECT 1 FROM seats WHERE number = ? AND sign = ?");
    query_put_u64(&q, number);
    query_put(&q, sign, 32);
    taken = query_row(&q);
    TRY(query_end(&q));
    return taken ? ERR_OK : ERR_REFUSED;
}
