#include "parties/store/store_sorted.h"

#include "parties/store/store_private.h"

enum err store_sorted(struct store *store, const uint8_t digest[32], struct store_sorted *found)
{
    struct query q = query_of(store, "SELECT sorted IS NOT NULL, sorted, attempts FROM sorted"
                                     " WHERE digest = ?");
    *found = (struct store_sorted){0};
    query_put(&q, digest, 32);
    if (query_row(&q)) {
        found->known = query_u64(&q) != 0;
        found->sorted = query_u64(&q) != 0;
        found->attempts = query_u64(&q);
    }
    return query_end(&q);
}

enum err store_try_sorted(struct store *store, const uint8_t digest[32])
{
    struct query q = query_of(store, "INSERT INTO sorted VALUES(?, 1, NULL)"
                                     " ON CONFLICT(digest) DO UPDATE SET attempts = attempts + 1");
    query_put(&q, digest, 32);
    return query_run(&q, NULL);
}

enum err store_put_sorted(struct store *store, const uint8_t digest[32], bool sorted)
{
    struct query q = query_of(store, "INSERT INTO sorted VALUES(?, 0, ?)"
                                     " ON CONFLICT(digest) DO UPDATE SET sorted = excluded.sorted");
    query_put(&q, digest, 32);
    query_put_u64(&q, sorted);
    return query_run(&q, NULL);
}
