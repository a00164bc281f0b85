/* What a server's folder belongs to: a server, a study's terms, the roster it last ran with. */
#include "parties/store/store_private.h"
#include "parties/study/roster.h"

#include <string.h>

static const char terms_key[] = "study (its terms)";
static const char parts_key[] = "parts of the terms";
static const char roster_key_name[] = "roster";

enum err store_note(struct store *s, const char *key, struct bytes *value)
{
    struct query q = query_of(s, "SELECT value FROM about WHERE key = ?");
    query_put_text(&q, key);
    if (query_row(&q))
        query_bytes(&q, value);
    return query_end(&q);
}

enum err store_set_note(struct store *s, const char *key, const void *value, size_t n)
{
    struct query q = query_of(s, "INSERT OR REPLACE INTO about VALUES(?, ?)");
    query_put_text(&q, key);
    query_put(&q, value, n);
    return query_run(&q, NULL);
}

static enum err has_data(struct store *s, bool *has)
{
    uint64_t any = 0;
    enum err e = store_number(
        s, "SELECT EXISTS(SELECT 1 FROM uploads) OR EXISTS(SELECT 1 FROM ledger)", &any);
    *has = any != 0;
    return e;
}

/* Stores key = value, or compares with what is there. */
static enum err belongs(struct store *s, const char *key, const void *value, size_t n)
{
    struct bytes known CLEAN(bytes_clear) = {0};
    TRY(store_note(s, key, &known));
    if (known.size == 0)
        return store_set_note(s, key, value, n);
    if (known.size == n && memcmp(known.data, value, n) == 0)
        return ERR_OK;
    return log_fail(
        s->log, ERR_MISMATCH,
        "the server's folder holds another %s; each study and server needs a folder of its own",
        key);
}

/* --- terms ------------------------------------------------------------------------------------ */

static enum err set_terms(struct store *s)
{
    const struct terms *t = &s->study->terms;
    struct bytes parts CLEAN(bytes_clear) = {0};
    TRY(store_execute(s, "DELETE FROM ahead; DELETE FROM seats")); /* made under other terms */
    s->erased = true;
    TRY(store_set_note(s, terms_key, t->digest, sizeof t->digest));
    for (size_t i = 0; i < t->parts; i++) {
        bytes_put_string(&parts, t->part[i].name);
        bytes_put(&parts, t->part[i].digest, 32);
    }
    TRY(bytes_ok(&parts));
    return store_set_note(s, parts_key, parts.data, parts.size);
}

/* The words for the first part that differs; "" if the store does not know the parts. */
static enum err differing_part(struct store *s, const char **words)
{
    const struct terms *t = &s->study->terms;
    struct bytes parts CLEAN(bytes_clear) = {0};
    struct reader in;
    *words = "";
    TRY(store_note(s, parts_key, &parts));
    in = reader_of(parts.data, parts.size);
    for (size_t i = 0; in.left > 0 && i < t->parts && **words == '\0'; i++) {
        char name[sizeof t->part[0].name];
        const uint8_t *digest;
        reader_string(&in, name, sizeof name);
        digest = reader_bytes(&in, 32);
        if (digest == NULL || strcmp(name, t->part[i].name) != 0 ||
            memcmp(digest, t->part[i].digest, 32) != 0)
            *words = study_part_words(t->part[i].name);
    }
    return ERR_OK;
}

/* Terms are frozen with the first upload: before that, a folder takes its study file's terms. */
static enum err take_terms(struct store *s)
{
    struct bytes known CLEAN(bytes_clear) = {0};
    const char *words = "";
    bool frozen, same;
    TRY(store_note(s, terms_key, &known));
    TRY(has_data(s, &frozen));
    same = known.size == 32 && memcmp(known.data, s->study->terms.digest, 32) == 0;
    if (!frozen && !same)
        return set_terms(s);
    if (known.size == 0 || same)
        return ERR_OK;
    TRY(differing_part(s, &words));
    return log_fail(
        s->log, ERR_MISMATCH,
        "the server's folder holds another study (its terms)%s%s; terms do not change once there "
        "are data: use the study file under which they came, or another folder%s",
        *words != '\0' ? ": they differ in " : "", words,
        strstr(words, "domain") == NULL
            ? ""
            : ". If that is this file, and trefoil 0.1 made the folder, "
              "write outside: error wherever outside is not given: it was the default then; "
              "for columns with bins see Upgrades in operating.md");
}

/* --- roster ----------------------------------------------------------------------------------- */

static enum err set_roster(struct store *s)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    TRY(roster_check(s->study, s->log));
    bytes_put_u32(&b, s->study->roster_version);
    bytes_put(&b, s->study->roster, 32);
    TRY(bytes_ok(&b));
    return store_set_note(s, roster_key_name, b.data, b.size);
}

/* Whether the study's roster may follow the one in use, number `before`. */
static enum err follows(struct store *s, uint32_t before, bool same)
{
    uint32_t now = s->study->roster_version;
    bool frozen = false;
    if (now > before)
        return ERR_OK;
    if (now < before)
        return log_fail(s->log, ERR_MISMATCH,
                        "the study file has roster %u, and this server has run with roster %u; use "
                        "the amended file",
                        now, before);
    TRY(has_data(s, &frozen));
    if (same || !frozen)
        return ERR_OK;
    return log_fail(
        s->log, ERR_MISMATCH,
        "the study file has another roster %u than this server has run with; an amended one needs "
        "the next number (roster: %u) and the signatures of all servers (trefoil roster sign)",
        now, before + 1);
}

static enum err take_roster(struct store *s)
{
    struct bytes known CLEAN(bytes_clear) = {0};
    uint32_t now = s->study->roster_version, before = now;
    TRY(store_note(s, roster_key_name, &known));
    if (known.size != 0) {
        struct reader in = reader_of(known.data, known.size);
        uint8_t digest[32];
        before = reader_u32(&in);
        reader_copy(&in, digest, sizeof digest);
        if (reader_done(&in) != ERR_OK)
            return log_fail(s->log, ERR_FORMAT,
                            "store: it is damaged: its note of the roster cannot be read; restore "
                            "a backup of the server's folder");
        TRY(follows(s, before, memcmp(digest, s->study->roster, 32) == 0));
    }
    TRY(set_roster(s));
    if (now <= before)
        return ERR_OK;
    log_info(s->log, "roster %u replaces roster %u", now, before);
    if (s->study->noise_by != NOISE_BY_OWNER)
        return ERR_OK;
    s->erased = true; /* a key that it revokes may have sent some */
    return store_execute(s, "DELETE FROM ahead");
}

enum err store_belongs(struct store *s, const struct identity *me)
{
    const uint8_t index = (uint8_t)s->index;
    TRY(belongs(s, "server index", &index, 1));
    TRY(belongs(s, "server key", me->public.sign, sizeof me->public.sign));
    TRY(take_terms(s));
    return take_roster(s);
}
