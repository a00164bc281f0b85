#include "parties/store/store_ahead.h"

#include "parties/store/store_private.h"

#include <string.h>

enum err store_ahead(struct store *store, struct ahead_blocks *blocks)
{
    struct query q = query_of(store, "SELECT kind, name FROM ahead ORDER BY kind, name");
    bool sound = true;
    *blocks = (struct ahead_blocks){0};
    while (sound && query_row(&q)) {
        const uint64_t kind = query_u64(&q);
        sound = kind < NOISE_LAWS && blocks->count[kind] < AHEAD_BLOCKS;
        if (sound)
            query_copy(&q, blocks->name[kind][blocks->count[kind]++], AHEAD_NAME);
    }
    TRY(query_end(&q));
    if (sound)
        return ERR_OK;
    return log_fail(store->log, ERR_FORMAT,
                    "store: it has noise that was not made ahead by trefoil; restore a backup of "
                    "the server's folder, which has none, and run trefoil recover");
}

/* What binds a sealed block: its associated data. */
static enum err binding(const struct store *s, enum noise_law kind, const uint8_t *name,
                        struct bytes *out)
{
    bytes_put_string(out, "trefoil-ahead-1");
    bytes_put(out, s->study->terms.digest, sizeof s->study->terms.digest);
    bytes_put_u8(out, (uint8_t)kind);
    bytes_put(out, name, AHEAD_NAME);
    return bytes_ok(out);
}

enum err store_ahead_put(struct store *store, enum noise_law kind, const uint8_t name[AHEAD_NAME],
                         const struct bytes *noise)
{
    struct bytes about CLEAN(bytes_clear) = {0}, sealed CLEAN(bytes_clear) = {0};
    TRY(binding(store, kind, name, &about));
    TRY(store_seal(store, about.data, about.size, noise, &sealed));
    return CHANGE(store, NULL, "INSERT INTO ahead(kind, name, sealed) VALUES(?, ?, ?)",
                  NUMBER(kind), BYTES(name, AHEAD_NAME), BYTES(sealed.data, sealed.size));
}

/* Within a batch, like all deletions: its end empties the log. */
static enum err delete_block(struct store *s, enum noise_law kind, const uint8_t *name)
{
    s->erased = true;
    return CHANGE(s, NULL, "DELETE FROM ahead WHERE kind = ? AND name = ?", NUMBER(kind),
                  BYTES(name, AHEAD_NAME));
}

enum err store_ahead_push(struct store *store, enum noise_law kind, const uint8_t name[AHEAD_NAME],
                          const struct bytes *noise)
{
    TRY(delete_block(store, kind, name));
    TRY(CHANGE(store, NULL,
               "DELETE FROM ahead WHERE kind = ?1 AND rowid NOT IN (SELECT rowid FROM "
               "ahead WHERE kind = ?1 ORDER BY rowid DESC LIMIT ?2)",
               NUMBER(kind), NUMBER(AHEAD_BLOCKS - 1)));
    return store_ahead_put(store, kind, name, noise);
}

enum err store_ahead_take(struct store *store, enum noise_law kind, const uint8_t name[AHEAD_NAME],
                          struct bytes *noise)
{
    struct query q = QUERY(store, "SELECT sealed FROM ahead WHERE kind = ? AND name = ?",
                           NUMBER(kind), BYTES(name, AHEAD_NAME));
    struct bytes about CLEAN(bytes_clear) = {0}, sealed CLEAN(bytes_clear) = {0};
    enum err e;
    TRY(query_one(&q, &sealed));
    TRY(binding(store, kind, name, &about));
    TRY(store_batch(store));
    TRY(store_batch_end(store, delete_block(store, kind, name)));
    e = store_unseal(store, about.data, about.size, sealed.data, sealed.size, noise);
    if (e != ERR_AUTH)
        return e;
    return log_fail(store->log, e,
                    "a block of the noise that was made ahead does not unseal in this server's "
                    "store, which was altered: the block was deleted, and new noise is made; find "
                    "out who writes to the server's folder");
}

static bool is_among(const struct ahead_blocks *blocks, unsigned kind, const uint8_t *name)
{
    for (size_t i = 0; i < blocks->count[kind]; i++)
        if (memcmp(blocks->name[kind][i], name, AHEAD_NAME) == 0)
            return true;
    return false;
}

/* Removes from `blocks` those that are kept. */
static void leave_others(struct ahead_blocks *blocks, const struct ahead_blocks *keep)
{
    for (unsigned k = 0; k < NOISE_LAWS; k++) {
        size_t left = 0;
        for (size_t i = 0; i < blocks->count[k]; i++)
            if (!is_among(keep, k, blocks->name[k][i]))
                memmove(blocks->name[k][left++], blocks->name[k][i], AHEAD_NAME);
        blocks->count[k] = left;
    }
}

enum err store_ahead_keep(struct store *store, const struct ahead_blocks *keep)
{
    struct ahead_blocks others;
    enum err e = ERR_OK;
    TRY(store_ahead(store, &others));
    leave_others(&others, keep);
    if (others.count[NOISE_GAUSS] + others.count[NOISE_GUMBEL] == 0)
        return ERR_OK;
    TRY(store_batch(store));
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        for (size_t i = 0; e == ERR_OK && i < others.count[k]; i++)
            e = delete_block(store, (enum noise_law)k, others.name[k][i]);
    return store_batch_end(store, e);
}
