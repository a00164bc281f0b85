/* Long vectors reach servers in parts, which are stored and joined when the last comes. */
#include "parties/store/store_private.h"

/* They follow each other, and the last one says it: a sum would read the bytes of all. */
static enum err bytes_held(struct store *s, const uint8_t id[UPLOAD_ID_SIZE], uint64_t *held)
{
    struct query q = QUERY(s,
                           "SELECT COALESCE((SELECT first + size FROM parts WHERE id = ?"
                           " ORDER BY first DESC LIMIT 1), 0)",
                           BYTES(id, UPLOAD_ID_SIZE));
    if (query_row(&q))
        *held = query_u64(&q);
    return query_end(&q);
}

static enum err write_part(struct store *s, const uint8_t id[UPLOAD_ID_SIZE], uint64_t first,
                           const void *p, size_t n)
{
    const struct store_binding binding = store_binding(id, first, 8);
    struct bytes plain CLEAN(bytes_clear) = {0};
    struct bytes sealed CLEAN(bytes_clear) = {0};
    bytes_put(&plain, p, n);
    TRY(bytes_ok(&plain));
    TRY(store_seal(s, binding.bytes, binding.size, &plain, &sealed));
    return CHANGE(s, NULL, "INSERT INTO parts VALUES(?, ?, ?, ?)", BYTES(id, UPLOAD_ID_SIZE),
                  NUMBER(first), NUMBER(n), BYTES(sealed.data, sealed.size));
}

/* All parts of an upload, one after another. */
static enum err join_parts(struct store *s, const uint8_t id[UPLOAD_ID_SIZE], struct bytes *vector)
{
    struct query q = QUERY(s, "SELECT first, sealed FROM parts WHERE id = ? ORDER BY first",
                           BYTES(id, UPLOAD_ID_SIZE));
    while (query_row(&q)) {
        const struct store_binding binding = store_binding(id, query_u64(&q), 8);
        struct bytes plain CLEAN(bytes_clear) = {0};
        size_t n;
        const void *sealed = query_blob(&q, &n);
        q.e = store_unseal(s, binding.bytes, binding.size, sealed, n, &plain);
        bytes_put(vector, plain.data, plain.size);
        if (q.e == ERR_OK)
            q.e = bytes_ok(vector);
    }
    return query_end(&q);
}

/* All is here, in parts or in u->vector: the upload takes it if it matches the commitment. */
static enum err complete_parts(struct store *s, struct upload *u, uint64_t *held, bool *complete)
{
    enum err e = u->vector.size == 0 ? join_parts(s, u->id, &u->vector) : ERR_OK;
    u->whole = true;
    if (e == ERR_AUTH) {
        log_error(s->log,
                  "store: the parts of the upload of %s on disk do not unseal; they begin anew. Is "
                  "the disk sound?",
                  study_owner_name(s->study, u->owner).text);
        e = ERR_DATA;
    }
    if (e == ERR_OK)
        e = upload_check(u, s->index, s->study->terms.digest);
    if (e == ERR_OK || e == ERR_DATA)
        TRY(CHANGE(s, NULL, "DELETE FROM parts WHERE id = ?", BYTES(u->id, UPLOAD_ID_SIZE)));
    if (e == ERR_DATA)
        *held = 0;
    if (e == ERR_OK)
        e = store_write_upload(s, u);
    *complete = e == ERR_OK;
    return e;
}

/* Bytes of a vector that have arrived. */
struct piece {
    const uint8_t *id;
    uint32_t owner; /* whose vector the sender says it is, or ANYBODY */
    uint64_t whole; /* bytes of the vector; 0: not given */
    uint64_t first;
    const void *p;
    size_t n;
};

#define ANYBODY UINT32_MAX

/* `u` is the stored upload, without its vector. */
static enum err put_part(struct store *s, struct upload *u, const struct piece *part,
                         uint64_t *held, bool *complete)
{
    uint64_t total = s->split->bytes(s->study, u->owner, u->form);
    TRY(bytes_held(s, u->id, held));
    if (part->whole != 0 && part->whole != total)
        return ERR_FORMAT;
    if (part->first != *held)
        return ERR_AGAIN;
    if (part->n == 0 || part->n > total - part->first)
        return ERR_FORMAT;
    if (part->n == total) {
        bytes_put(&u->vector, part->p, part->n);
        TRY(bytes_ok(&u->vector));
    } else
        TRY(write_part(s, u->id, part->first, part->p, part->n));
    *held += part->n;
    return *held == total ? complete_parts(s, u, held, complete) : ERR_OK;
}

static enum err put_part_of(struct store *s, const struct piece *part, uint64_t *held,
                            bool *complete)
{
    struct upload u CLEAN(upload_clear) = {0};
    bool found;
    TRY(store_find_upload(s, part->id, &u, &found));
    if (!found || (u.owner != part->owner && part->owner != ANYBODY))
        return ERR_AGAIN;
    *complete = u.whole;
    *held = u.vector.size;
    return *complete ? ERR_OK : put_part(s, &u, part, held, complete);
}

static enum err put(struct store *store, const struct piece *part, uint64_t *held, bool *complete)
{
    enum err e, kept;
    *held = 0;
    *complete = false;
    TRY(store_savepoint(store));
    e = put_part_of(store, part, held, complete);
    kept = store_savepoint_end(store, e == ERR_DATA ? ERR_OK : e); /* the parts stay dropped */
    return kept != ERR_OK ? kept : e;
}

enum err store_put_part(struct store *store, uint32_t owner, const uint8_t id[UPLOAD_ID_SIZE],
                        uint64_t first, const void *p, size_t n, uint64_t *held, bool *complete)
{
    const struct piece part = {.id = id, .owner = owner, .first = first, .p = p, .n = n};
    return put(store, &part, held, complete);
}

enum err store_pass_part(struct store *store, const uint8_t id[UPLOAD_ID_SIZE], uint64_t whole,
                         uint64_t first, const void *p, size_t n, uint64_t *held, bool *complete)
{
    const struct piece part = {
        .id = id, .owner = ANYBODY, .whole = whole, .first = first, .p = p, .n = n};
    return put(store, &part, held, complete);
}
