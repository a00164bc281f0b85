/* Which key has which token's number (parties/server/seats.h). */
#include "parties/store/store_private.h"

enum err store_seat(struct store *store, uint32_t number, const uint8_t sign[32], bool may_take)
{
    struct query q;
    bool taken = false;
    if (may_take)
        TRY(CHANGE(store, &taken, "INSERT OR IGNORE INTO seats VALUES(?, ?)", NUMBER(number),
                   BYTES(sign, 32)));
    if (taken)
        return ERR_OK;
    q = QUERY(store, "SELECT 1 FROM seats WHERE number = ? AND sign = ?", NUMBER(number),
              BYTES(sign, 32));
    TRY(query_any(&q, &taken));
    return taken ? ERR_OK : ERR_REFUSED;
}
