#include "parties/store/store_sorted.h"

#include "parties/store/store_private.h"

enum err store_sorted(struct store *store, const uint8_t digest[32], struct store_sorted *found)
{
    struct query q = QUERY(store,
                           "SELECT sorted IS NOT NULL, sorted, attempts FROM sorted"
                           " WHERE digest = ?",
                           BYTES(digest, 32));
    *found = (struct store_sorted){0};
    if (query_row(&q)) {
        found->known = query_u64(&q) != 0;
        found->sorted = query_u64(&q) != 0;
        found->attempts = query_u64(&q);
    }
    return query_end(&q);
}

enum err store_try_sorted(struct store *store, const uint8_t digest[32])
{
    return CHANGE(store, NULL,
                  "INSERT INTO sorted VALUES(?, 1, NULL, NULL)"
                  " ON CONFLICT(digest) DO UPDATE SET attempts = attempts + 1",
                  BYTES(digest, 32));
}

enum err store_put_sorted(struct store *store, const uint8_t digest[32], bool sorted)
{
    return CHANGE(store, NULL,
                  "INSERT INTO sorted VALUES(?, 0, ?, NULL)"
                  " ON CONFLICT(digest) DO UPDATE SET sorted = excluded.sorted",
                  BYTES(digest, 32), NUMBER(sorted));
}

enum err store_counted(struct store *store, const uint8_t digest[32], struct bytes *counted)
{
    struct query q = QUERY(store,
                           "SELECT sealed FROM sorted WHERE digest = ? AND sealed IS NOT NULL",
                           BYTES(digest, 32));
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
    TRY(store_seal(store, digest, 32, counted, &sealed));
    return CHANGE(store, NULL,
                  "INSERT INTO sorted VALUES(?, 0, NULL, ?)"
                  " ON CONFLICT(digest) DO UPDATE SET sealed = excluded.sealed",
                  BYTES(digest, 32), BYTES(sealed.data, sealed.size));
}
