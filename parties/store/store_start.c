#include "parties/store/store_private.h"

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
    *start = (struct store_start){0};
    if (query_row(&q)) {
        start->debits = query_u64(&q);
        start->looks = query_u64(&q);
        start->own_looks = query_u64(&q);
        start->begun = query_u64(&q) != 0;
    }
    TRY(query_end(&q));
    return start->debits > 0 ? store_left(s, start->debits, &start->left) : ERR_OK;
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
