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
    struct query q = query_of(store, "INSERT INTO sorted VALUES(?, 1, NULL, NULL)"
                                     " ON CONFLICT(digest) DO UPDATE SET attempts = attempts + 1");
    query_put(&q, digest, 32);
    return query_run(&q, NULL);
}

enum err store_put_sorted(struct store *store, const uint8_t digest[32], bool sorted)
{
    struct query q = query_of(store, "INSERT INTO sorted VALUES(?, 0, ?, NULL)"
                                     " ON CONFLICT(digest) DO UPDATE SET sorted = excluded.sorted");
    query_put(&q, digest, 32);
    query_put_u64(&q, sorted);
    return query_run(&q, NULL);
}

enum err store_counted(struct store *store, const uint8_t digest[32], struct bytes *counted)
{
    struct query q = query_of(store,
                              "SELECT sealed FROM sorted WHERE digest = ? AND sealed IS NOT NULL");
    query_put(&q, digest, 32);
    if (query_row(&q)) {
        size_t n;
        const void *sealed = query_blob(&q, &n);
        q.e = store_unseal(store, digest, 32, sealed, n, counted);
    }
    return query_end(&q);
}

enum err store_put_counted(struct store *store, const uint8_t digest[32],
                           const struct bytes *counted)
{
    struct bytes sealed CLEAN(bytes_clear) = {0};
    struct query q;
    TRY(store_seal(store, digest, 32, counted, &sealed));
    q = query_of(store, "INSERT INTO sorted VALUES(?, 0, NULL, ?)"
                        " ON CONFLICT(digest) DO UPDATE SET sealed = excluded.sealed");
    query_put(&q, digest, 32);
    query_put_bytes(&q, &sealed);
    return query_run(&q, NULL);
}
