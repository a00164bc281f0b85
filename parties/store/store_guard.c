#include "parties/store/store_guard.h"

#include "parties/store/store_private.h"

enum err store_guard_begin(struct store *store)
{
    bool changed;
    TRY(CHANGE(store, &changed,
               "UPDATE guard SET begun = begun + 1, tries = tries + 1"
               " WHERE NOT failed AND tries < ?",
               NUMBER(STORE_GUARD_TRIES)));
    return changed ? ERR_OK : ERR_REFUSED;
}

enum err store_guard_end(struct store *store)
{
    return store_execute(store, "UPDATE guard SET tries = tries - 1");
}

enum err store_guard_fail(struct store *store)
{
    return store_execute(store, "UPDATE guard SET failed = 1");
}

enum err store_guard_lift(struct store *store)
{
    return store_execute(store, "UPDATE guard SET tries = 0, failed = 0");
}

enum err store_guard(struct store *store, struct store_guard *guard)
{
    struct query q = query_of(store, "SELECT begun, tries, failed FROM guard");
    *guard = (struct store_guard){.failed = true}; /* an empty table permits nothing */
    if (query_row(&q)) {
        guard->begun = query_u64(&q);
        guard->tries = query_u64(&q);
        guard->failed = query_u64(&q) != 0;
    }
    return query_end(&q);
}

bool store_guard_refuses(const struct store_guard *guard)
{
    return guard->failed || guard->tries >= STORE_GUARD_TRIES;
}
