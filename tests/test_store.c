/*
 * parties/store/store.c and round.c: what is on disk comes back, sealed, bound to study and server; ledgers that a crash
 * left one debit apart agree again, and ledgers that differ otherwise do not; rounds are bound once and for all.
 */
#include "tests/support_cmocka.h"

#include "base/file.h"
#include "base/memory.h"
#include "parties/server/engine.h"
#include "parties/server/round.h"
#include "parties/store/store_private.h"
#include "tests/support_study.h"
#include "tests/support_three.h"

#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

struct bench {
    struct support_study s;
    struct identity *server[STUDY_SERVERS], *owner;
    struct store *store[STUDY_SERVERS];
    struct upload parts[3];
};

static struct log quiet = {.level = LOG_ERROR};

static enum err open_store(struct bench *b, unsigned i)
{
    char name[16], path[SUPPORT_PATH];
    snprintf(name, sizeof name, "server%u", i);
    support_study_file(&b->s, name, path);
    return store_open(&b->store[i], path, b->s.study, b->server[i], i, &quiet);
}

static void bench_new(struct bench *b)
{
    const struct support_options o = {.owners = 2};
    struct bytes packed = {0};
    char name[16], path[SUPPORT_PATH];
    memset(b, 0, sizeof *b);
    assert_int_equal(support_study_new(&b->s, &o, &quiet), ERR_OK);
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        snprintf(name, sizeof name, "s%u.key", i);
        support_study_file(&b->s, name, path);
        assert_int_equal(identity_load(&b->server[i], path, &quiet), ERR_OK);
        assert_int_equal(open_store(b, i), ERR_OK);
    }
    support_study_file(&b->s, "o1.key", path);
    assert_int_equal(identity_load(&b->owner, path, &quiet), ERR_OK);
    bytes_extend(&packed, study_upload_bytes(b->s.study, 1));
    packed.data[3] = 7;
    assert_int_equal(upload_make(b->parts, b->owner, b->s.study->terms.digest,
                                 study_upload_form(b->s.study, 1), &packed),
                     ERR_OK);
    for (unsigned i = 0; i < 3; i++)
        b->parts[i].owner = 1;
    bytes_clear(&packed);
}

static void bench_free(struct bench *b)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        store_close(&b->store[i]);
        identity_free(&b->server[i]);
        upload_clear(&b->parts[i]);
    }
    identity_free(&b->owner);
    support_study_free(&b->s);
}

static void uploads_come_back(void **state)
{
    struct bench b;
    struct upload_name *list = NULL;
    struct upload back;
    size_t count;
    bool complete, has[2];
    (void)state;
    bench_new(&b);
    for (unsigned i = 0; i < 3; i++) {
        struct upload first = b.parts[i];
        if (i == 2)
            first.has[0] = false; /* the vector comes from server 1 */
        if (i == 2)
            assert_int_equal(store_put_vector(b.store[i], first.id, "x", 1, &complete), ERR_AGAIN);
        assert_int_equal(store_put(b.store[i], &first, false, &complete), ERR_OK);
        assert_int_equal(complete, i != 2);
        assert_int_equal(store_put(b.store[i], &first, false, &complete), ERR_OK); /* again */
        if (i == 2) {
            struct bytes wrong = {0};
            assert_int_equal(store_owners(b.store[i], has), ERR_OK);
            assert_false(has[1]);
            bytes_put(&wrong, b.parts[2].vector.data, b.parts[2].vector.size);
            wrong.data[0] ^= 1;
            assert_int_equal(
                store_put_vector(b.store[i], first.id, wrong.data, wrong.size, &complete),
                ERR_DATA);
            assert_false(complete);
            assert_int_equal(store_put_vector(b.store[i], first.id, wrong.data, 3, &complete),
                             ERR_FORMAT);
            wrong.data[0] ^= 1;
            assert_int_equal(
                store_put_vector(b.store[i], first.id, wrong.data, wrong.size, &complete), ERR_OK);
            assert_true(complete);
            bytes_clear(&wrong);
        }
        /* over a restart */
        store_close(&b.store[i]);
        assert_int_equal(open_store(&b, i), ERR_OK);
        assert_int_equal(store_owners(b.store[i], has), ERR_OK);
        assert_true(has[1] && !has[0]);
        assert_int_equal(store_uploads(b.store[i], &list, &count), ERR_OK);
        assert_int_equal(count, 1);
        assert_int_equal(list[0].owner, 1);
        assert_int_equal(store_upload(b.store[i], &list[0], &back), ERR_OK);
        assert_memory_equal(back.salt, b.parts[i].salt, sizeof back.salt);
        assert_memory_equal(back.seed, b.parts[i].seed, sizeof back.seed);
        assert_int_equal(back.vector.size, b.parts[i].vector.size);
        upload_clear(&back);
        list[0].digest[0] ^= 1;
        assert_int_equal(store_upload(b.store[i], &list[0], &back), ERR_AUTH);
        memory_free(&list);
    }
    bench_free(&b);
}

static void one_upload_an_owner_and_no_other_words(void **state)
{
    struct bench b;
    struct upload other;
    bool complete;
    (void)state;
    bench_new(&b);
    assert_int_equal(store_put(b.store[0], &b.parts[0], false, &complete), ERR_OK);
    other = b.parts[0];
    other.id[0] ^= 1;
    assert_int_equal(store_put(b.store[0], &other, false, &complete), ERR_REFUSED);
    other.id[0] ^= 1;
    /* the id of another owner's */
    other.owner = 0;
    assert_int_equal(store_put(b.store[0], &other, true, &complete), ERR_DATA);
    other.owner = 1;
    other.commitment[2][0] ^= 1;
    assert_int_equal(store_put(b.store[0], &other, false, &complete), ERR_DATA);
    bench_free(&b);
}

static void a_batch_is_kept_whole_or_not_at_all(void **state)
{
    struct bench b;
    struct upload other, next;
    bool complete, has[2], found;
    const uint8_t first[UPLOAD_ID_SIZE] = {0};
    (void)state;
    bench_new(&b);
    other = b.parts[1];
    other.owner = 0;
    other.id[0] ^= 1;
    other.vector.size = study_form_bytes(b.s.study, other.owner, other.form);
    for (int lost = 1; lost >= 0; lost--) {
        assert_int_equal(store_batch(b.store[1]), ERR_OK);
        assert_int_equal(store_put(b.store[1], &b.parts[1], false, &complete), ERR_OK);
        assert_int_equal(store_put(b.store[1], &other, false, &complete), ERR_OK);
        assert_int_equal(store_batch_end(b.store[1], lost ? ERR_SYSTEM : ERR_OK),
                         lost ? ERR_SYSTEM : ERR_OK);
        assert_int_equal(store_owners(b.store[1], has), ERR_OK);
        assert_int_equal(has[0], !lost);
        assert_int_equal(has[1], !lost);
        assert_int_equal(store_unforwarded(b.store[1], first, &next, &found), ERR_OK);
        assert_int_equal(found, !lost);
        if (found)
            upload_clear(&next);
    }
    bench_free(&b);
}

static const struct ledger_limits limits = {.rho = 100, .rows_per_person = 1};

/* The round of run `run` that debit i is for: its range follows that of i - 1. */
static struct store_round round_of(uint8_t run, uint32_t i)
{
    struct store_round r = {.sequence = i};
    memset(r.run, run, sizeof r.run);
    memset(r.request, (int)i, sizeof r.request);
    r.range.tape[0] = run;
    r.range.from[TAPE_GAUSS] = 10 * i;
    r.range.count[TAPE_GAUSS] = 10;
    return r;
}

static enum err stage(struct store *store, const struct store_round *r)
{
    struct bytes noise = {0}, ids = {0};
    enum err e;
    bytes_put(&noise, "these are the shares", 20);
    bytes_put(&ids, "0123456789abcdef", UPLOAD_ID_SIZE);
    e = store_stage(store, r, &ids, &noise);
    bytes_clear(&noise);
    bytes_clear(&ids);
    return e;
}

/* Stages and binds one round at a price. */
static enum err debit(struct store *store, const struct store_round *r, unsigned price)
{
    struct ledger *ledger = NULL;
    struct store_head head;
    mpq_t cost;
    enum err e = store_ledger(store, &limits, &ledger, &head);
    mpq_init(cost);
    mpq_set_ui(cost, price, 1);
    if (e == ERR_OK)
        e = stage(store, r);
    if (e == ERR_OK)
        e = ledger_debit(ledger, cost, &quiet);
    if (e == ERR_OK)
        e = store_bind(store, r, ledger, &head);
    mpq_clear(cost);
    ledger_free(&ledger);
    return e;
}

/* Debits a store once for each i: the i-th costs i + 1. */
static void debit_times(struct bench *b, unsigned server, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        const struct store_round r = round_of(1, i);
        assert_int_equal(debit(b->store[server], &r, i + 1), ERR_OK);
    }
}

static struct held entry_of(struct bench *b, unsigned server)
{
    struct held entries[2];
    assert_int_equal(store_holds(b->store[server], entries), ERR_OK);
    assert_int_equal(entries[0].state, HELD_NOTHING);
    return entries[1];
}

/* A long vector comes in parts, in order; a restart forgets none; what does not fit begins anew. */
static void a_vector_may_come_in_parts(void **state)
{
    struct bench b;
    struct upload head, back = {0};
    const uint8_t *p;
    size_t n;
    uint64_t held;
    bool complete, found;
    const uint8_t first_id[UPLOAD_ID_SIZE] = {0};
    (void)state;
    bench_new(&b);
    head = b.parts[1];
    head.has[1] = false;
    p = b.parts[1].vector.data;
    n = b.parts[1].vector.size;
    assert_int_equal(store_put_part(b.store[1], 1, head.id, 0, p, 5, &held, &complete), ERR_AGAIN);
    assert_int_equal(store_put(b.store[1], &head, false, &complete), ERR_OK);
    assert_false(complete);
    for (unsigned round = 0; round < 2; round++) {
        struct bytes wrong = {0};
        assert_int_equal(store_put_part(b.store[1], 1, head.id, 0, p, 5, &held, &complete), ERR_OK);
        assert_true(held == 5 && !complete);
        /* again, with a gap, another's, too long, empty */
        assert_int_equal(store_put_part(b.store[1], 1, head.id, 0, p, 5, &held, &complete),
                         ERR_AGAIN);
        assert_int_equal(store_put_part(b.store[1], 1, head.id, 6, p, 5, &held, &complete),
                         ERR_AGAIN);
        assert_true(held == 5);
        assert_int_equal(store_put_part(b.store[1], 0, head.id, 5, p, 5, &held, &complete),
                         ERR_AGAIN);
        assert_int_equal(store_put_part(b.store[1], 1, head.id, 5, p, n, &held, &complete),
                         ERR_FORMAT);
        assert_int_equal(store_put_part(b.store[1], 1, head.id, 5, p, 0, &held, &complete),
                         ERR_FORMAT);
        assert_int_equal(entry_of(&b, 1).state, HELD_INCOMPLETE);
        assert_true(entry_of(&b, 1).bytes == 5);
        store_close(&b.store[1]);
        assert_int_equal(open_store(&b, 1), ERR_OK);
        assert_int_equal(store_unforwarded(b.store[1], first_id, &back, &found), ERR_OK);
        assert_false(found);
        if (round == 1)
            break;
        bytes_put(&wrong, p + 5, n - 5);
        wrong.data[0] ^= 1;
        assert_int_equal(
            store_put_part(b.store[1], 1, head.id, 5, wrong.data, wrong.size, &held, &complete),
            ERR_DATA);
        assert_true(held == 0 && !complete && entry_of(&b, 1).bytes == 0);
        bytes_clear(&wrong);
    }
    assert_int_equal(store_put_part(b.store[1], 1, head.id, 5, p + 5, n - 5, &held, &complete),
                     ERR_OK);
    assert_true(complete && held == n);
    assert_int_equal(store_put_part(b.store[1], 1, head.id, 0, p, 5, &held, &complete), ERR_OK);
    assert_true(complete && held == n);
    assert_int_equal(store_unforwarded(b.store[1], first_id, &back, &found), ERR_OK);
    assert_true(found);
    assert_int_equal(back.vector.size, n);
    assert_memory_equal(back.vector.data, p, n);
    upload_clear(&back);
    bench_free(&b);
}

/* Of server 0's write-ahead log, where what was deleted could go on standing. */
static off_t log_size(struct bench *b)
{
    char path[SUPPORT_PATH];
    struct stat st;
    support_study_file(&b->s, "server0/store.sqlite-wal", path);
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void an_upload_is_replaced_or_withdrawn_until_it_is_counted(void **state)
{
    struct bench b;
    struct upload other[3];
    struct bytes packed = {0};
    struct held before, after;
    struct upload_name *list = NULL;
    size_t count;
    bool complete;
    (void)state;
    bench_new(&b);
    bytes_extend(&packed, study_upload_bytes(b.s.study, 1));
    packed.data[4] = 9;
    assert_int_equal(upload_make(other, b.owner, b.s.study->terms.digest,
                                 study_upload_form(b.s.study, 1), &packed),
                     ERR_OK);
    other[0].owner = 1;
    assert_int_equal(store_withdraw(b.store[0], 1), ERR_OK); /* nothing is there: fine */
    assert_int_equal(entry_of(&b, 0).state, HELD_NOTHING);
    assert_int_equal(store_put(b.store[0], &b.parts[0], true, &complete), ERR_OK);
    before = entry_of(&b, 0);
    assert_int_equal(before.state, HELD_COMPLETE);
    assert_int_equal(store_put(b.store[0], &other[0], false, &complete), ERR_REFUSED);

    /* while a session counts it, it stays */
    store_use(b.store[0], true);
    assert_int_equal(store_put(b.store[0], &other[0], true, &complete), ERR_MISUSE);
    assert_int_equal(store_withdraw(b.store[0], 1), ERR_MISUSE);
    assert_int_equal(store_put(b.store[0], &b.parts[0], true, &complete), ERR_OK); /* the same */
    store_use(b.store[0], false);

    assert_int_equal(store_put(b.store[0], &other[0], true, &complete), ERR_OK);
    after = entry_of(&b, 0);
    assert_int_equal(after.state, HELD_COMPLETE);
    assert_memory_not_equal(after.digest, before.digest, 32);
    assert_int_equal(store_uploads(b.store[0], &list, &count), ERR_OK);
    assert_int_equal(count, 1);
    assert_memory_equal(list[0].id, other[0].id, UPLOAD_ID_SIZE);
    memory_free(&list);

    assert_int_equal(store_batch(b.store[0]), ERR_OK);
    assert_int_equal(store_withdraw(b.store[0], 1), ERR_OK);
    assert_int_equal(store_batch_end(b.store[0], ERR_OK), ERR_OK);
    assert_int_equal(log_size(&b), 0);
    assert_int_equal(store_withdraw(b.store[0], 1), ERR_OK); /* again is fine */
    before = entry_of(&b, 0);
    assert_int_equal(before.state, HELD_WITHDRAWN);
    assert_memory_equal(before.digest, after.digest, 32);
    assert_int_equal(store_uploads(b.store[0], &list, &count), ERR_OK);
    assert_int_equal(count, 0);
    memory_free(&list);
    /* and it may come again, until there is a debit */
    assert_int_equal(store_put(b.store[0], &b.parts[0], false, &complete), ERR_OK);
    assert_int_equal(entry_of(&b, 0).state, HELD_COMPLETE);
    debit_times(&b, 0, 0, 1);
    assert_int_equal(store_put(b.store[0], &other[0], true, &complete), ERR_MISUSE);
    assert_int_equal(store_withdraw(b.store[0], 1), ERR_MISUSE);
    for (unsigned i = 0; i < 3; i++)
        upload_clear(&other[i]);
    bytes_clear(&packed);
    bench_free(&b);
}

static void a_folder_belongs_to_one_server_and_study(void **state)
{
    struct bench b;
    struct store *store = NULL;
    char path[SUPPORT_PATH];
    bool complete;
    (void)state;
    bench_new(&b);
    support_study_file(&b.s, "server0", path);
    store_close(&b.store[0]);
    assert_int_equal(store_open(&store, path, b.s.study, b.server[1], 1, &quiet), ERR_MISMATCH);
    assert_null(store);
    /* terms are frozen with the first upload */
    b.s.study->terms.digest[6] ^= 1;
    assert_int_equal(open_store(&b, 0), ERR_OK);
    store_close(&b.store[0]);
    b.s.study->terms.digest[6] ^= 1;
    assert_int_equal(open_store(&b, 0), ERR_OK);
    assert_int_equal(store_put(b.store[0], &b.parts[0], false, &complete), ERR_OK);
    store_close(&b.store[0]);
    b.s.study->terms.digest[5] ^= 1;
    assert_int_equal(open_store(&b, 0), ERR_MISMATCH);
    b.s.study->terms.digest[5] ^= 1;
    assert_int_equal(open_store(&b, 0), ERR_OK);
    /* and to one process at a time */
    assert_int_equal(store_open(&store, path, b.s.study, b.server[0], 0, &quiet), ERR_SYSTEM);
    bench_free(&b);
}

/* Runs SQL on a closed store's file, as another program would. */
static void execute_on(struct bench *b, const char *server, const char *sql)
{
    char path[SUPPORT_PATH], folder[SUPPORT_PATH - 16];
    sqlite3 *db;
    support_study_file(&b->s, server, path);
    memcpy(folder, path, sizeof folder);
    snprintf(path, sizeof path, "%s/store.sqlite", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* As stores were before they had versions. */
static const char before_versions[] =
    "DROP INDEX unforwarded; DROP INDEX complete; DROP TABLE noise; DROP TABLE rounds; DROP TABLE "
    "ledger;"
    "DROP TABLE parts; DROP TABLE withdrawn; ALTER TABLE uploads DROP COLUMN at;"
    "CREATE TABLE ledger(number INTEGER PRIMARY KEY, request BLOB NOT NULL,"
    "  tape BLOB NOT NULL, gauss_from INTEGER NOT NULL, gauss_count INTEGER NOT NULL,"
    "  gumbel_from INTEGER NOT NULL, gumbel_count INTEGER NOT NULL, ledger TEXT NOT NULL,"
    "  head BLOB NOT NULL) STRICT;"
    "PRAGMA user_version = 0";

/* What opening server 0's store says. */
static const char *words_of_opening(struct bench *b, enum err expected)
{
    static char words[2048];
    words[0] = '\0';
    quiet.buffer = words;
    quiet.buffer_size = sizeof words;
    assert_int_equal(open_store(b, 0), expected);
    quiet.buffer = NULL;
    return words;
}

static void a_store_of_a_later_program_is_refused_and_an_older_one_migrated(void **state)
{
    struct bench b;
    bool complete, has[2];
    const char *words;
    (void)state;
    bench_new(&b);
    assert_int_equal(store_put(b.store[0], &b.parts[0], false, &complete), ERR_OK);
    store_close(&b.store[0]);
    execute_on(&b, "server0", "PRAGMA user_version = 1000");
    words = words_of_opening(&b, ERR_MISMATCH);
    assert_non_null(strstr(words, "a later trefoil (store version 1000; this one, "));
    assert_non_null(strstr(words, "knows 5): run that one"));
    assert_null(b.store[0]);
    execute_on(&b, "server0", before_versions);
    execute_on(&b, "server0", "INSERT INTO about VALUES('format version', x'31')");
    assert_int_equal(open_store(&b, 0), ERR_OK);
    assert_int_equal(store_owners(b.store[0], has), ERR_OK);
    assert_true(has[1]);
    store_close(&b.store[0]);
    /* debits of the old kind must not be forgotten */
    execute_on(&b, "server0", before_versions);
    execute_on(&b, "server0",
               "INSERT INTO ledger VALUES(1, x'01', x'02', 0, 1, 0, 1, 'text', x'03')");
    words = words_of_opening(&b, ERR_SYSTEM);
    assert_non_null(strstr(words, "an earlier trefoil (store version 0; this one, "));
    assert_non_null(strstr(words, "writes 5) and could not be brought up to date"));
    bench_free(&b);
}

/* A program of another time stored it: what is sealed says which version it is of. */
static void an_upload_of_another_version_is_not_read(void **state)
{
    struct bench b;
    struct upload_name *list = NULL;
    struct upload back;
    struct bytes plain = {0}, sealed = {0};
    struct { /* docs/formats.md */
        uint8_t id[UPLOAD_ID_SIZE];
        uint32_t owner;
    } binding = {.owner = 1};
    sqlite3_stmt *row;
    char words[1024] = "";
    bool complete;
    size_t count;
    (void)state;
    bench_new(&b);
    memcpy(binding.id, b.parts[0].id, UPLOAD_ID_SIZE);
    assert_int_equal(store_put(b.store[0], &b.parts[0], false, &complete), ERR_OK);
    assert_int_equal(upload_write(&b.parts[0], 0, true, &plain), ERR_OK);
    plain.data[0] = UPLOAD_VERSION + 1;
    assert_int_equal(store_seal(b.store[0], &binding, sizeof binding, &plain, &sealed), ERR_OK);
    assert_int_equal(store_prepare(b.store[0], "UPDATE uploads SET sealed = ?", &row), ERR_OK);
    sqlite3_bind_blob64(row, 1, sealed.data, sealed.size, SQLITE_STATIC);
    assert_int_equal(store_finish(b.store[0], row), ERR_OK);
    quiet.buffer = words;
    quiet.buffer_size = sizeof words;
    assert_int_equal(store_uploads(b.store[0], &list, &count), ERR_OK);
    assert_int_equal(store_upload(b.store[0], &list[0], &back), ERR_MISMATCH);
    memory_free(&list);
    quiet.buffer = NULL;
    assert_non_null(strstr(words, "the upload of o1 is of version 3, and this trefoil ("));
    assert_non_null(strstr(words, "reads version 2; run the one that stored it"));
    bytes_clear(&plain);
    bytes_clear(&sealed);
    bench_free(&b);
}

/* --- the ledger ---------------------------------------------------------------------------------- */

struct meeting {
    struct bench *b;
    enum err result[3];
    double spent[3];
    struct store_head head[3];
};

static enum err meet(struct party *p, void *shared)
{
    struct meeting *m = shared;
    struct store *store = m->b->store[p->index];
    struct ledger *ledger = NULL;
    struct store_head own;
    struct bytes last = {0}, entry = {0};
    uint8_t next[32], ignored[32];
    bool lacking;
    enum err e;
    TRY(store_ledger(store, &limits, &ledger, &own));
    if (own.number > 0)
        TRY(store_entry(store, own.number, &last, ignored));
    e = round_ledger(p->net, &own, &last, &lacking, &entry, next, NULL);
    if (e == ERR_OK && lacking)
        e = store_adopt(store, &entry, &own, next, ledger);
    m->result[p->index] = e;
    ledger_free(&ledger);
    TRY(store_ledger(store, &limits, &ledger, &m->head[p->index]));
    m->spent[p->index] = ledger_spent(ledger);
    ledger_free(&ledger);
    bytes_clear(&last);
    bytes_clear(&entry);
    return ERR_OK;
}

/* Who has staged the third round has it bound then, and who has not has lost it. */
static void a_debit_that_one_server_made_is_made_at_all(void **state)
{
    (void)state;
    for (unsigned have = 1; have < 8; have++) /* who has the third debit, as bits */
        for (unsigned staged = 0; staged < 2; staged++) {
            const struct store_round third = round_of(1, 2);
            struct store_found found;
            struct bench b;
            struct meeting m = {.b = &b};
            bench_new(&b);
            for (unsigned i = 0; i < 3; i++) {
                debit_times(&b, i, 0, have >> i & 1 ? 3 : 2);
                if (staged && !(have >> i & 1))
                    assert_int_equal(stage(b.store[i], &third), ERR_OK);
            }
            assert_int_equal(three_run(have, meet, &m, NULL), ERR_OK);
            for (unsigned i = 0; i < 3; i++) {
                bool kept = staged || (have >> i & 1);
                assert_int_equal(m.result[i], ERR_OK);
                assert_true(m.spent[i] == 6);
                assert_memory_equal(&m.head[i], &m.head[0], sizeof m.head[0]);
                assert_int_equal(store_find_round(b.store[i], third.run, 2, &found), ERR_OK);
                assert_int_equal(found.standing, kept ? STANDING_BOUND : STANDING_LOST);
            }
            bench_free(&b);
        }
}

static void ledgers_that_differ_by_more_are_refused(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct bench b;
        struct meeting m = {.b = &b};
        bench_new(&b);
        debit_times(&b, 0, 0, 3);
        debit_times(&b, 1, 0, 3);
        if (kind == 0) /* two behind: an old backup */
            debit_times(&b, 2, 0, 1);
        else if (kind == 1) /* as long, but another past */
            debit_times(&b, 2, 1, 4);
        else /* one behind, of another past: the neighbours' debit does not follow */
            debit_times(&b, 2, 1, 3);
        assert_int_equal(three_run(kind, meet, &m, NULL), ERR_OK);
        assert_int_equal(m.result[2], ERR_MISMATCH);
        assert_true(m.spent[0] == 6 && m.spent[1] == 6);
        assert_true(m.spent[2] == (kind == 0 ? 1 : kind == 1 ? 9 : 5));
        bench_free(&b);
    }
}

/* Debits a store once with a ledger of the harness's own making. */
static void debit_with(struct bench *b, unsigned server, const struct ledger_limits *with,
                       unsigned spent)
{
    const struct store_round r = round_of(2, 0);
    struct ledger *ledger = NULL, *mine = NULL;
    struct store_head head;
    mpq_t cost;
    mpq_init(cost);
    mpq_set_ui(cost, spent, 1);
    assert_int_equal(store_ledger(b->store[server], with, &ledger, &head), ERR_OK);
    assert_int_equal(ledger_new(&mine, with, &quiet), ERR_OK);
    assert_int_equal(ledger_debit(mine, cost, &quiet), ERR_OK);
    assert_int_equal(stage(b->store[server], &r), ERR_OK);
    assert_int_equal(store_bind(b->store[server], &r, mine, &head), ERR_OK);
    ledger_free(&ledger);
    ledger_free(&mine);
    mpq_clear(cost);
}

/* A server that passes on a debit which resets the others' budget, or widens it, gets nowhere. */
static void a_neighbour_cannot_give_budget_back(void **state)
{
    static const struct ledger_limits wide = {.rho = 1000, .rows_per_person = 1};
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        struct bench b;
        struct meeting m = {.b = &b};
        bench_new(&b);
        for (unsigned i = 0; i < 3; i++)
            debit_times(&b, i, 0, 2);
        debit_with(&b, 0, kind == 0 ? &limits : &wide, kind == 0 ? 1 : 50);
        assert_int_equal(three_run(kind, meet, &m, NULL), ERR_OK);
        for (unsigned i = 1; i < 3; i++) {
            assert_int_equal(m.result[i], ERR_MISMATCH);
            assert_true(m.spent[i] == 3);
        }
        bench_free(&b);
    }
}

static void an_altered_ledger_does_not_open(void **state)
{
    static const char *const harm[] = {
        "UPDATE ledger SET entry = zeroblob(length(entry)) WHERE number = 2",
        "DELETE FROM ledger WHERE number = 2",
        "UPDATE ledger SET head = zeroblob(32) WHERE number = 3",
    };
    (void)state;
    for (size_t i = 0; i < sizeof harm / sizeof *harm; i++) {
        struct bench b;
        bench_new(&b);
        debit_times(&b, 0, 0, 3);
        store_close(&b.store[0]);
        assert_int_equal(open_store(&b, 0), ERR_OK);
        store_close(&b.store[0]);
        execute_on(&b, "server0", harm[i]);
        assert_int_equal(open_store(&b, 0), ERR_MISMATCH);
        bench_free(&b);
    }
}

/* --- rounds -------------------------------------------------------------------------------------- */

static enum standing standing_of(struct store *store, const struct store_round *r)
{
    struct store_found found;
    assert_int_equal(store_find_round(store, r->run, r->sequence, &found), ERR_OK);
    return found.standing;
}

static void a_bound_range_is_refused_for_any_other_request(void **state)
{
    const struct store_round first = round_of(1, 0);
    struct store_round other = first;
    struct bench b;
    (void)state;
    bench_new(&b);
    assert_int_equal(debit(b.store[0], &first, 1), ERR_OK);
    other.request[0] ^= 1; /* the same round, another request */
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    other = first;
    other.sequence = 1; /* another round, the same samples */
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    other.range.from[TAPE_GAUSS] = 9; /* or one of them */
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    other.range.from[TAPE_GAUSS] = 10;
    assert_int_equal(stage(b.store[0], &other), ERR_OK);
    /* not even after a restart, and what is bound has to be what was staged */
    store_close(&b.store[0]);
    assert_int_equal(open_store(&b, 0), ERR_OK);
    assert_int_equal(standing_of(b.store[0], &other), STANDING_STAGED);
    other.range.from[TAPE_GAUSS] = 0;
    assert_int_equal(stage(b.store[0], &other), ERR_REFUSED);
    {
        struct ledger *ledger = NULL;
        struct store_head head;
        other = round_of(1, 1);
        assert_int_equal(stage(b.store[0], &other), ERR_OK);
        other.request[0] ^= 1;
        assert_int_equal(store_ledger(b.store[0], &limits, &ledger, &head), ERR_OK);
        assert_int_equal(store_bind(b.store[0], &other, ledger, &head), ERR_LOST);
        assert_int_equal(head.number, 1);
        ledger_free(&ledger);
    }
    bench_free(&b);
}

/* The bytes of a file of the server's folder. */
static bool on_disk(struct bench *b, const char *name, const void *p, size_t n)
{
    char path[SUPPORT_PATH];
    struct bytes all = {0};
    bool found = false;
    support_study_file(&b->s, name, path);
    if (file_read(path, (size_t)64 << 20, &all, NULL) == ERR_OK)
        found = all.size >= n && memmem(all.data, all.size, p, n) != NULL;
    bytes_clear(&all);
    return found;
}

/* Noise is sealed with its round, and gone from the disk when the run's next round is bound. */
static void noise_is_sealed_and_wiped_once_the_next_is_bound(void **state)
{
    const struct store_round first = round_of(1, 0), second = round_of(1, 1);
    struct store_round wrong = first;
    struct bench b;
    struct bytes noise = {0}, values = {0};
    uint8_t sealed[64] = {0};
    sqlite3_stmt *row;
    sqlite3 *db;
    char path[SUPPORT_PATH];
    (void)state;
    bench_new(&b);
    assert_int_equal(debit(b.store[0], &first, 1), ERR_OK);
    assert_int_equal(store_noise(b.store[0], &first, &noise), ERR_OK);
    assert_int_equal(noise.size, 20);
    assert_memory_equal(noise.data, "these are the shares", 20);
    wrong.uploads[0] ^= 1;
    assert_int_equal(store_noise(b.store[0], &wrong, &noise), ERR_AUTH);
    assert_int_equal(store_noise(b.store[0], &second, &noise), ERR_LOST);
    /* in clear it is nowhere; sealed it is there, until the next round is bound */
    store_close(&b.store[0]);
    support_study_file(&b.s, "server0/store.sqlite", path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT sealed FROM noise", -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(sqlite3_column_bytes(row, 0), 20 + 40);
    memcpy(sealed, sqlite3_column_blob(row, 0), 60);
    sqlite3_finalize(row);
    sqlite3_close(db);
    assert_false(on_disk(&b, "server0/store.sqlite", "these are the shares", 20));
    assert_true(on_disk(&b, "server0/store.sqlite", sealed, 60));
    assert_int_equal(open_store(&b, 0), ERR_OK);
    assert_int_equal(debit(b.store[0], &second, 1), ERR_OK);
    assert_false(on_disk(&b, "server0/store.sqlite", sealed, 60));
    assert_false(on_disk(&b, "server0/store.sqlite-wal", sealed, 60));
    bytes_clear(&noise);
    assert_int_equal(store_noise(b.store[0], &first, &noise), ERR_LOST);
    assert_int_equal(store_noise(b.store[0], &second, &noise), ERR_OK);
    assert_int_equal(store_end_run(b.store[0], second.run), ERR_OK);
    bytes_clear(&noise);
    assert_int_equal(store_noise(b.store[0], &second, &noise), ERR_LOST);
    /* what a round opened stays, and cannot become anything else */
    bytes_put_u64(&values, 17);
    assert_int_equal(store_put_index(b.store[0], &second, 3), ERR_OK);
    assert_int_equal(store_put_index(b.store[0], &second, 3), ERR_OK);
    assert_int_equal(store_put_index(b.store[0], &second, 4), ERR_MISMATCH);
    assert_int_equal(standing_of(b.store[0], &second), STANDING_INDEX);
    assert_int_equal(store_put_values(b.store[0], &second, &values), ERR_OK);
    assert_int_equal(standing_of(b.store[0], &second), STANDING_OPENED);
    assert_int_equal(store_put_index(b.store[0], &second, 3), ERR_OK);
    assert_int_equal(standing_of(b.store[0], &second), STANDING_OPENED);
    values.data[0]++;
    assert_int_equal(store_put_values(b.store[0], &second, &values), ERR_MISMATCH);
    bytes_clear(&noise);
    bytes_clear(&values);
    bench_free(&b);
}

/* Noise was a column of its round once: it is found where it is now. */
static void noise_of_an_older_store_is_taken_over(void **state)
{
    const struct store_round first = round_of(1, 0);
    struct bench b;
    struct bytes noise = {0};
    (void)state;
    bench_new(&b);
    assert_int_equal(debit(b.store[0], &first, 1), ERR_OK);
    store_close(&b.store[0]);
    execute_on(&b, "server0",
               "ALTER TABLE rounds ADD COLUMN sealed BLOB;"
               "UPDATE rounds SET sealed = (SELECT sealed FROM noise); DROP TABLE noise;"
               "PRAGMA user_version = 4");
    assert_int_equal(open_store(&b, 0), ERR_OK);
    assert_int_equal(store_noise(b.store[0], &first, &noise), ERR_OK);
    assert_int_equal(noise.size, 20);
    assert_memory_equal(noise.data, "these are the shares", 20);
    bytes_clear(&noise);
    bench_free(&b);
}

static void what_is_staged_can_be_dropped(void **state)
{
    const struct store_round first = round_of(1, 0), second = round_of(1, 1);
    struct bytes ids = {0};
    struct bench b;
    uint32_t rounds;
    (void)state;
    bench_new(&b);
    assert_int_equal(debit(b.store[0], &first, 1), ERR_OK);
    assert_int_equal(stage(b.store[0], &second), ERR_OK);
    assert_int_equal(store_run(b.store[0], first.run, &rounds, &ids), ERR_OK);
    assert_int_equal(rounds, 1);
    assert_int_equal(ids.size, UPLOAD_ID_SIZE);
    assert_int_equal(store_unstage(b.store[0]), ERR_OK);
    assert_int_equal(standing_of(b.store[0], &second), STANDING_NONE);
    assert_int_equal(standing_of(b.store[0], &first), STANDING_BOUND);
    bytes_clear(&ids);
    bench_free(&b);
}

/* --- agreement ----------------------------------------------------------------------------------- */

struct saying {
    struct round_statement by[3];
    enum err result[3];
    struct round_agreement agreement[3];
};

static enum err say(struct party *p, void *shared)
{
    struct saying *s = shared;
    s->result[p->index] = round_agree(p->net, &s->by[p->index], &s->agreement[p->index], NULL);
    return ERR_OK;
}

/* All say the same thing, with noise whose digests fit. */
static void all_alike(struct saying *s, enum standing standing)
{
    memset(s, 0, sizeof *s);
    for (unsigned i = 0; i < 3; i++) {
        struct round_statement *own = &s->by[i];
        own->intent = ROUND_BIND;
        own->standing = (uint8_t)standing;
        own->noise = 1;
        memset(own->request, 1, sizeof own->request);
        memset(own->replica[NET_PREV], 10 + (int)i, sizeof own->replica[0]);
        memset(own->replica[NET_NEXT], 10 + (int)(i + 1) % 3, sizeof own->replica[0]);
    }
}

static void expect_agreement(struct saying *s, enum err expected)
{
    assert_int_equal(three_run(1, say, s, NULL), ERR_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(s->result[i], expected);
}

/* One server that refuses, or sees something else, is enough: no two others can go on without it. */
static void one_server_can_refuse(void **state)
{
    struct saying s;
    (void)state;
    all_alike(&s, STANDING_NONE);
    expect_agreement(&s, ERR_OK);
    assert_true(s.agreement[0].noise);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *const differs[] = {s.by[i].request, s.by[i].step,      s.by[i].uploads,
                                    s.by[i].roster,  s.by[i].range,     s.by[i].ledger,
                                    &s.by[i].intent, &s.by[i].standing, s.by[i].replica[NET_PREV]};
        all_alike(&s, STANDING_NONE);
        s.by[i].verdict = ERR_BUDGET;
        expect_agreement(&s, ERR_BUDGET);
        for (size_t k = 0; k < sizeof differs / sizeof *differs; k++) {
            unsigned notice = 0;
            all_alike(&s, STANDING_NONE);
            *differs[k] ^= 1;
            assert_int_equal(three_run(1, say, &s, NULL), ERR_OK);
            for (unsigned j = 0; j < 3; j++)
                notice += s.result[j] == ERR_MISMATCH;
            /* a component of noise has two holders; anything else all three see */
            assert_int_equal(notice, k == 8 ? 2 : 3);
        }
    }
}

static void a_round_goes_on_from_the_least_far(void **state)
{
    struct saying s;
    (void)state;
    all_alike(&s, STANDING_BOUND);
    s.by[1].standing = STANDING_OPENED;
    s.by[1].noise = 0;
    s.by[2].standing = STANDING_INDEX;
    s.by[1].selected[0] = s.by[2].selected[0] = 7;
    expect_agreement(&s, ERR_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(s.agreement[i].least, STANDING_BOUND);
        assert_false(s.agreement[i].noise);
    }
    s.by[2].selected[0] = 6; /* two that know the index know another */
    assert_int_equal(three_run(1, say, &s, NULL), ERR_OK);
    assert_int_equal(s.result[1], ERR_MISMATCH);
    assert_int_equal(s.result[2], ERR_MISMATCH);
    all_alike(&s, STANDING_BOUND);
    s.by[0].standing = 77;
    assert_int_equal(three_run(1, say, &s, NULL), ERR_OK);
    assert_int_equal(s.result[1], ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uploads_come_back),
        cmocka_unit_test(one_upload_an_owner_and_no_other_words),
        cmocka_unit_test(a_batch_is_kept_whole_or_not_at_all),
        cmocka_unit_test(a_vector_may_come_in_parts),
        cmocka_unit_test(an_upload_is_replaced_or_withdrawn_until_it_is_counted),
        cmocka_unit_test(a_folder_belongs_to_one_server_and_study),
        cmocka_unit_test(a_store_of_a_later_program_is_refused_and_an_older_one_migrated),
        cmocka_unit_test(an_upload_of_another_version_is_not_read),
        cmocka_unit_test(a_debit_that_one_server_made_is_made_at_all),
        cmocka_unit_test(ledgers_that_differ_by_more_are_refused),
        cmocka_unit_test(a_neighbour_cannot_give_budget_back),
        cmocka_unit_test(an_altered_ledger_does_not_open),
        cmocka_unit_test(a_bound_range_is_refused_for_any_other_request),
        cmocka_unit_test(noise_is_sealed_and_wiped_once_the_next_is_bound),
        cmocka_unit_test(noise_of_an_older_store_is_taken_over),
        cmocka_unit_test(what_is_staged_can_be_dropped),
        cmocka_unit_test(one_server_can_refuse),
        cmocka_unit_test(a_round_goes_on_from_the_least_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
