/* Which sealed act of each owner was the last here (parties/server/order.h). */
#include "parties/store/store_private.h"

enum err store_serial(struct store *store, uint32_t owner, struct store_serial *last)
{
    struct query q = QUERY(store, "SELECT serial, kind, digest FROM serials WHERE owner = ?",
                           NUMBER(owner));
    *last = (struct store_serial){0};
    if (query_row(&q)) {
        last->serial = query_u64(&q);
        last->kind = (uint8_t)query_u64(&q);
        query_copy(&q, last->digest, sizeof last->digest);
    }
    return query_end(&q);
}

enum err store_set_serial(struct store *store, uint32_t owner, const struct store_serial *last)
{
    return CHANGE(store, NULL, "INSERT OR REPLACE INTO serials VALUES(?, ?, ?, ?)", NUMBER(owner),
                  NUMBER(last->serial), NUMBER(last->kind),
                  BYTES(last->digest, sizeof last->digest));
}
