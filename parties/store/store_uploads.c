#include "base/clock.h"
#include "base/date.h"
#include "base/memory.h"
#include "parties/store/store_private.h"

#include <string.h>

/* A new count of n uploads waits n / COUNT_PER_MS milliseconds, or counting would take all time. */
#define COUNT_PER_MS 5000

static enum err seal(struct store *s, const struct upload *u, struct bytes *out)
{
    const struct store_binding binding = store_binding(u->id, u->owner, 4);
    struct bytes plain CLEAN(bytes_clear) = {0};
    TRY(upload_write(u, s->index, true, &plain));
    return store_seal(s, binding.bytes, binding.size, &plain, out);
}

static enum err read_plain(const struct store *s, size_t owner, const struct bytes *plain,
                           struct upload *u)
{
    unsigned version = upload_version(plain->data, plain->size);
    unsigned form = upload_form(plain->data, plain->size);
    if (version != UPLOAD_VERSION)
        return log_fail(s->log, ERR_MISMATCH,
                        "store: the upload of %s is of version %u, and this trefoil (%s) reads "
                        "version %u; run the one that stored it",
                        study_owner_name(s->study, owner).text, version, TREFOIL_VERSION,
                        UPLOAD_VERSION);
    return upload_read(u, s->split, s->index, form, (size_t)s->split->bytes(s->study, owner, form),
                       plain->data, plain->size);
}

/* The upload in a row with the columns id, owner, sealed; only its id, if it does not unseal. */
static enum err unseal(struct store *s, struct query *row, struct upload *u)
{
    struct bytes plain CLEAN(bytes_clear) = {0};
    size_t id_size, n;
    const void *id = query_blob(row, &id_size);
    const uint64_t owner = query_u64(row);
    const void *sealed = query_blob(row, &n);
    enum err e = ERR_AUTH;
    *u = (struct upload){0};
    if (id_size == UPLOAD_ID_SIZE && owner < study_owners_most(s->study)) {
        const struct store_binding binding = store_binding(id, owner, 4);
        e = store_unseal(s, binding.bytes, binding.size, sealed, n, &plain);
        if (e == ERR_OK)
            e = read_plain(s, (size_t)owner, &plain, u);
    }
    if (e == ERR_OK)
        u->owner = (uint32_t)owner;
    else if (e != ERR_MISMATCH)
        log_error(s->log,
                  "store: the upload of owner %lld on disk does not unseal; restore a backup",
                  (long long)owner);
    if (e != ERR_OK && id != NULL) /* all of it, unless the row is damaged */
        memcpy(u->id, id, id_size < UPLOAD_ID_SIZE ? id_size : UPLOAD_ID_SIZE);
    return e;
}

/* The upload that a query with an id returns, if any. */
static enum err find(struct store *s, const char *sql, const uint8_t id[UPLOAD_ID_SIZE],
                     struct upload *u, bool *found)
{
    struct query q = QUERY(s, sql, BYTES(id, UPLOAD_ID_SIZE));
    *found = query_row(&q);
    if (*found)
        q.e = unseal(s, &q, u);
    *found = *found && q.e == ERR_OK;
    return query_end(&q);
}

enum err store_find_upload(struct store *s, const uint8_t id[UPLOAD_ID_SIZE], struct upload *u,
                           bool *found)
{
    return find(s, "SELECT id, owner, sealed FROM uploads WHERE id = ?", id, u, found);
}

static enum err owner_is_free(struct store *s, uint32_t owner)
{
    struct query q = QUERY(s, "SELECT 1 FROM uploads WHERE owner = ?", NUMBER(owner));
    bool taken;
    TRY(query_any(&q, &taken));
    return taken ? ERR_REFUSED : ERR_OK;
}

enum err store_write_upload(struct store *s, const struct upload *u)
{
    struct bytes sealed CLEAN(bytes_clear) = {0};
    uint8_t digest[32];
    TRY(seal(s, u, &sealed));
    upload_digest(u, s->study->terms.digest, digest);
    return CHANGE(s, NULL, "INSERT OR REPLACE INTO uploads VALUES(?, ?, ?, ?, 0, ?, ?)",
                  BYTES(u->id, sizeof u->id), NUMBER(u->owner), BYTES(digest, sizeof digest),
                  NUMBER(u->whole), BYTES(sealed.data, sealed.size), NUMBER((uint64_t)date_now()));
}

/* Deletes an owner's upload, with its parts, and what is known of it. */
static enum err delete_of(struct store *s, uint32_t owner)
{
    s->erased = true;
    TRY(CHANGE(s, NULL, "DELETE FROM parts WHERE id IN (SELECT id FROM uploads WHERE owner = ?)",
               NUMBER(owner)));
    TRY(CHANGE(s, NULL,
               "DELETE FROM sorted WHERE digest IN (SELECT digest FROM uploads WHERE owner = ?)",
               NUMBER(owner)));
    return CHANGE(s, NULL, "DELETE FROM uploads WHERE owner = ?", NUMBER(owner));
}

/* Whether every debit paid only for a look, which takes one sample. */
static enum err only_looked(struct store *s, uint64_t debits, bool *only)
{
    uint64_t looks;
    TRY(store_number(s, "SELECT COUNT(*) FROM rounds WHERE number IS NOT NULL AND " STORE_LOOK,
                     &looks));
    *only = debits == 0 || (s->study->link.min_linked > 0 && looks == debits);
    return ERR_OK;
}

/*
 * ERR_MISUSE once uploads have been counted, except for looks, after which owners fix tables;
 * ERR_BUSY in a session that has not yet paid for more.
 */
static enum err changeable(struct store *s)
{
    uint64_t debits;
    bool only;
    TRY(store_debits(s, &debits));
    TRY(only_looked(s, debits, &only));
    if (!only)
        return ERR_MISUSE;
    return s->in_use ? ERR_BUSY : ERR_OK;
}

static enum err put_new(struct store *s, const struct upload *u, bool replace)
{
    enum err e = owner_is_free(s, u->owner);
    if (e == ERR_REFUSED && replace) {
        TRY(changeable(s));
        e = delete_of(s, u->owner);
    }
    TRY(e);
    TRY(CHANGE(s, NULL, "DELETE FROM withdrawn WHERE owner = ?", NUMBER(u->owner)));
    return store_write_upload(s, u);
}

static enum err put(struct store *s, const struct upload *u, bool replace, bool *complete)
{
    struct upload known CLEAN(upload_clear) = {0};
    uint8_t old[32], new[32];
    bool found;
    TRY(store_find_upload(s, u->id, &known, &found));
    if (!found) {
        *complete = u->whole;
        return put_new(s, u, replace);
    }
    upload_digest(&known, s->study->terms.digest, old);
    upload_digest(u, s->study->terms.digest, new);
    *complete = known.whole;
    return memcmp(old, new, sizeof old) == 0 ? ERR_OK : ERR_DATA;
}

enum err store_put(struct store *store, const struct upload *u, bool replace, bool *complete)
{
    *complete = false;
    TRY(store_savepoint(store));
    return store_savepoint_end(store, put(store, u, replace, complete));
}

/* --- withdrawing, and what is here ------------------------------------------------------------ */

static enum err withdraw(struct store *s, uint32_t owner)
{
    enum err e = owner_is_free(s, owner);
    if (e != ERR_REFUSED)
        return e;
    TRY(changeable(s));
    TRY(CHANGE(s, NULL,
               "INSERT OR REPLACE INTO withdrawn SELECT owner, digest, unixepoch() FROM"
               " uploads WHERE owner = ?",
               NUMBER(owner)));
    return delete_of(s, owner);
}

enum err store_withdraw(struct store *store, uint32_t owner)
{
    TRY(store_savepoint(store));
    return store_savepoint_end(store, withdraw(store, owner));
}

void store_use(struct store *store, bool in_use)
{
    pthread_mutex_lock(&store->lock);
    store->in_use = in_use;
    pthread_mutex_unlock(&store->lock);
}

static const char entries_sql[] =
    "SELECT owner, CASE complete WHEN 1 THEN 2 ELSE 1 END, digest, at,"
    "  COALESCE((SELECT first + size FROM parts WHERE parts.id = uploads.id"
    "  ORDER BY first DESC LIMIT 1), 0)"
    " FROM uploads WHERE owner >= ?1 AND owner <= ?2"
    " UNION ALL SELECT owner, 3, digest, at, 0 FROM withdrawn"
    " WHERE owner >= ?1 AND owner <= ?2";

/* entries[0] is for the owner `first`. */
static enum err read_entries(struct store *s, size_t first, size_t last,
                             struct upload_entry *entries)
{
    struct query q = QUERY(s, entries_sql, NUMBER(first), NUMBER(last));
    memset(entries, 0, (last - first + 1) * sizeof *entries);
    while (query_row(&q)) {
        struct upload_entry *entry = &entries[query_u64(&q) - first];
        entry->state = (enum upload_state)query_u64(&q);
        query_copy(&q, entry->digest, sizeof entry->digest);
        entry->time = (int64_t)query_u64(&q);
        entry->bytes = query_u64(&q);
    }
    return query_end(&q);
}

enum err store_upload_entry(struct store *store, uint32_t owner, struct upload_entry *entry)
{
    return read_entries(store, owner, owner, entry);
}

enum err store_upload_entries(struct store *store, struct upload_entry *entries)
{
    const size_t owners = store->study->owners;
    return owners > 0 ? read_entries(store, 0, owners - 1, entries) : ERR_OK;
}

/* Whether the study has this owner, and the list has room for one more upload. */
static enum err check_owner(struct store *s, uint64_t owner, size_t count)
{
    if (owner < study_owners_most(s->study) && count < study_owners_most(s->study))
        return ERR_OK;
    return log_fail(s->log, ERR_FORMAT,
                    "store: it is damaged: there is an upload of owner %lld, one too many for the "
                    "study's %zu; restore a backup of the server's folder",
                    (long long)owner, study_owners_most(s->study));
}

enum err store_list(struct store *s, const char *sql, struct upload_name **names, size_t *count)
{
    struct query q;
    *count = 0;
    TRY(memory_new(names, study_owners_most(s->study)));
    q = query_of(s, sql);
    while (query_row(&q)) {
        const uint64_t owner = query_u64(&q);
        q.e = check_owner(s, owner, *count);
        if (q.e == ERR_OK) {
            struct upload_name *name = &(*names)[(*count)++];
            name->owner = (uint32_t)owner;
            query_copy(&q, name->id, sizeof name->id);
            query_copy(&q, name->digest, sizeof name->digest);
        }
    }
    return query_end(&q);
}

enum err store_uploads(struct store *store, struct upload_name **names, size_t *count)
{
    enum err e = store_list(
        store, "SELECT owner, id, digest FROM uploads WHERE complete ORDER BY id", names, count);
    if (e != ERR_OK)
        memory_free(names);
    return e;
}

enum err store_upload(struct store *s, const struct upload_name *name, struct upload *u)
{
    uint8_t digest[32];
    bool found;
    TRY(store_find_upload(s, name->id, u, &found));
    if (found) {
        upload_digest(u, s->study->terms.digest, digest);
        if (memcmp(digest, name->digest, sizeof digest) == 0)
            return ERR_OK;
        upload_clear(u);
    }
    return log_fail(
        s->log, ERR_AUTH,
        "store: the upload of %s on disk is not the one that it is listed as; restore a backup",
        study_owner_name(s->study, name->owner).text);
}

enum err store_unforwarded(struct store *store, const uint8_t after[UPLOAD_ID_SIZE],
                           struct upload *u, bool *found)
{
    return find(store,
                "SELECT id, owner, sealed FROM uploads WHERE complete AND NOT forwarded AND id > ?"
                " ORDER BY id LIMIT 1",
                after, u, found);
}

enum err store_forwarded(struct store *store, const uint8_t id[UPLOAD_ID_SIZE], bool forwarded)
{
    return CHANGE(store, NULL, "UPDATE uploads SET forwarded = ? WHERE id = ?", NUMBER(forwarded),
                  BYTES(id, UPLOAD_ID_SIZE));
}

/*
 * For owners from `first` on. All rows are counted by pages of an index, and those to subtract row
 * by row, as there are few.
 */
static enum err count(struct store *s, uint64_t first, struct store_tally *t)
{
    struct query q = QUERY(s,
                           "SELECT (SELECT COUNT(*) FROM uploads)"
                           " - (SELECT COUNT(*) FROM uploads WHERE owner < ?1),"
                           " (SELECT COUNT(*) FROM uploads WHERE NOT complete AND owner >= ?1)",
                           NUMBER(first));
    if (query_row(&q)) {
        t->whole = query_u64(&q);
        t->part = query_u64(&q);
        t->whole -= t->part;
        t->known = true;
    }
    t->changes = sqlite3_total_changes(s->db);
    t->again_ms = clock_now_ms() + (int64_t)((t->whole + t->part) / COUNT_PER_MS);
    return query_end(&q);
}

static enum err tell(struct store *s, unsigned which, uint64_t *whole, uint64_t *part)
{
    struct store_tally *t = &s->tally[which];
    enum err e = ERR_OK;
    pthread_mutex_lock(&s->lock);
    if (!t->known || (t->changes != sqlite3_total_changes(s->db) && clock_now_ms() >= t->again_ms))
        e = count(s, which == 0 ? 0 : s->study->owners, t);
    *whole = t->whole;
    *part = t->part;
    pthread_mutex_unlock(&s->lock);
    return e;
}

enum err store_count(struct store *store, uint64_t *whole, uint64_t *part)
{
    return tell(store, 0, whole, part);
}

enum err store_count_open(struct store *store, uint64_t *whole, uint64_t *part)
{
    return tell(store, 1, whole, part);
}

enum err store_owners(struct store *store, bool *has)
{
    struct query q = query_of(store, "SELECT owner FROM uploads WHERE complete");
    memset(has, 0, study_owners_most(store->study) * sizeof *has);
    while (query_row(&q)) {
        const uint64_t owner = query_u64(&q);
        q.e = check_owner(store, owner, 0);
        if (q.e == ERR_OK)
            has[owner] = true;
    }
    return query_end(&q);
}
