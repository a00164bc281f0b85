/* parties/store: uploads and the folder that they are in. */
#include "tests/support/stores.h"

#include "parties/settings/three/split.h"
#include "parties/store/store_sorted.h"
#include "parties/study/study_uploads.h"

#include <sqlite3.h>
#include <sys/stat.h>

/* Server 1's message to server 2. */
static enum err pass_on(struct store *s, const struct upload *u, size_t first, const void *p,
                        size_t n, bool complete)
{
    uint64_t held;
    bool now_complete;
    enum err e = store_pass_part(s, u->id, u->vector.size, first, p, n, &held, &now_complete);
    assert_int_equal(now_complete, complete);
    assert_int_equal(held, e == ERR_OK ? first + n : 0);
    return e;
}

TEST(uploads_come_back)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct upload_name *list = NULL;
    struct upload back;
    size_t count;
    bool complete, has[2];
    for (unsigned i = 0; i < 3; i++) {
        struct upload first = b.parts[i];
        if (i == 2)
            first.whole = false; /* the vector comes from server 1 */
        if (i == 2)
            assert_int_equal(pass_on(b.store[i], &first, 0, "x", 1, false), ERR_AGAIN);
        OK(store_put(b.store[i], &first, false, &complete));
        assert_int_equal(complete, i != 2);
        OK(store_put(b.store[i], &first, false, &complete)); /* again */
        if (i == 2) {
            struct bytes wrong CLEAN(bytes_clear) = {0};
            OK(store_owners(b.store[i], has));
            assert_false(has[1]);
            bytes_put(&wrong, b.parts[2].vector.data, b.parts[2].vector.size);
            wrong.data[0] ^= 1;
            assert_int_equal(pass_on(b.store[i], &first, 0, wrong.data, wrong.size, false),
                             ERR_DATA);
            OK(store_owners(b.store[i], has));
            assert_false(has[1]);
            assert_int_equal(pass_on(b.store[i], &first, 0, wrong.data, 0, false), ERR_FORMAT);
            first.vector.size--; /* claims that there are fewer */
            assert_int_equal(pass_on(b.store[i], &first, 0, wrong.data, 3, false), ERR_FORMAT);
            first.vector.size++;
            wrong.data[0] ^= 1;
            /* in parts, as long ones are */
            OK(pass_on(b.store[i], &first, 0, wrong.data, 3, false));
            OK(pass_on(b.store[i], &first, 3, wrong.data + 3, wrong.size - 3, true));
            OK(store_owners(b.store[i], has));
            assert_true(has[1]);
        }
        /* after a restart */
        store_close(&b.store[i]);
        OK(open_store(&b, i));
        OK(store_owners(b.store[i], has));
        assert_true(has[1] && !has[0]);
        OK(store_uploads(b.store[i], &list, &count));
        assert_int_equal(count, 1);
        assert_int_equal(list[0].owner, 1);
        OK(store_upload(b.store[i], &list[0], &back));
        assert_memory_equal(back.salt, b.parts[i].salt, sizeof back.salt);
        assert_memory_equal(back.seed, b.parts[i].seed, sizeof back.seed);
        assert_int_equal(back.vector.size, b.parts[i].vector.size);
        upload_clear(&back);
        list[0].digest[0] ^= 1;
        assert_int_equal(store_upload(b.store[i], &list[0], &back), ERR_AUTH);
        memory_free(&list);
    }
}

TEST(one_upload_an_owner_and_no_other_words)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    bool complete;
    OK(store_put(b.store[0], &b.parts[0], false, &complete));
    struct upload other = b.parts[0];
    other.id[0] ^= 1;
    assert_int_equal(store_put(b.store[0], &other, false, &complete), ERR_REFUSED);
    other.id[0] ^= 1;
    /* the id of another owner's upload */
    other.owner = 0;
    assert_int_equal(store_put(b.store[0], &other, true, &complete), ERR_DATA);
    other.owner = 1;
    other.commitment[2][0] ^= 1;
    assert_int_equal(store_put(b.store[0], &other, false, &complete), ERR_DATA);
}

TEST(a_batch_is_kept_whole_or_not_at_all)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct upload other, next;
    bool complete, has[2], found;
    const uint8_t first[UPLOAD_ID_SIZE] = {0};
    other = b.parts[1];
    other.owner = 0;
    other.id[0] ^= 1;
    other.vector.size = study_form_bytes(b.s.study, other.owner, other.form);
    for (int lost = 1; lost >= 0; lost--) {
        OK(store_batch(b.store[1]));
        OK(store_put(b.store[1], &b.parts[1], false, &complete));
        OK(store_put(b.store[1], &other, false, &complete));
        assert_int_equal(store_batch_end(b.store[1], lost ? ERR_SYSTEM : ERR_OK),
                         lost ? ERR_SYSTEM : ERR_OK);
        OK(store_owners(b.store[1], has));
        assert_int_equal(has[0], !lost);
        assert_int_equal(has[1], !lost);
        OK(store_unforwarded(b.store[1], first, &next, &found));
        assert_int_equal(found, !lost);
        if (found)
            upload_clear(&next);
    }
}

static struct upload_entry entry_of(struct stores_bench *b, unsigned server)
{
    struct upload_entry entries[2];
    OK(store_upload_entries(b->store[server], entries));
    assert_int_equal(entries[0].state, UPLOAD_NOTHING);
    return entries[1];
}

/*
 * A long vector arrives in parts, in order; a restart forgets none; one that does not fit starts
 * again.
 */
TEST(a_vector_may_come_in_parts)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct upload head, back CLEAN(upload_clear) = {0};
    uint64_t held;
    bool complete, found;
    const uint8_t first_id[UPLOAD_ID_SIZE] = {0};
    head = b.parts[1];
    head.whole = false;
    const uint8_t *p = b.parts[1].vector.data;
    size_t n = b.parts[1].vector.size;
    assert_int_equal(store_put_part(b.store[1], 1, head.id, 0, p, 5, &held, &complete), ERR_AGAIN);
    OK(store_put(b.store[1], &head, false, &complete));
    assert_false(complete);
    for (unsigned round = 0; round < 2; round++) {
        struct bytes wrong CLEAN(bytes_clear) = {0};
        OK(store_put_part(b.store[1], 1, head.id, 0, p, 5, &held, &complete));
        assert_true(held == 5 && !complete);
        /* the same again, with a gap, another upload's, too long, empty */
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
        assert_int_equal(entry_of(&b, 1).state, UPLOAD_INCOMPLETE);
        assert_true(entry_of(&b, 1).bytes == 5);
        store_close(&b.store[1]);
        OK(open_store(&b, 1));
        OK(store_unforwarded(b.store[1], first_id, &back, &found));
        assert_false(found);
        if (round == 1)
            break;
        bytes_put(&wrong, p + 5, n - 5);
        wrong.data[0] ^= 1;
        assert_int_equal(
            store_put_part(b.store[1], 1, head.id, 5, wrong.data, wrong.size, &held, &complete),
            ERR_DATA);
        assert_true(held == 0 && !complete && entry_of(&b, 1).bytes == 0);
    }
    OK(store_put_part(b.store[1], 1, head.id, 5, p + 5, n - 5, &held, &complete));
    assert_true(complete && held == n);
    OK(store_put_part(b.store[1], 1, head.id, 0, p, 5, &held, &complete));
    assert_true(complete && held == n);
    OK(store_unforwarded(b.store[1], first_id, &back, &found));
    assert_true(found);
    SAME_BYTES(&back.vector, p, n);
}

/* Looks at each upload instead of using indices. */
static void expect_counts(struct store *s, const uint8_t *has, unsigned first, unsigned owners,
                          enum err (*ask)(struct store *s, uint64_t *whole, uint64_t *part))
{
    uint64_t whole, part, count[3] = {0};
    for (unsigned i = first; i < owners; i++)
        count[has[i]]++;
    OK(ask(s, &whole, &part));
    assert_int_equal(whole, count[2]);
    assert_int_equal(part, count[1]);
}

TEST(uploads_are_counted_as_if_one_looked_at_each)
{
    enum { PEOPLE = 9, LISTED = 2, CHANGES = 300 };
    struct stores_bench b CLEAN(bench_free) = bench_new();
    uint8_t has[PEOPLE] = {0}; /* nothing, in part, whole */
    for (uint32_t k = 0, at = 1; k < CHANGES; k++) {
        struct upload u = b.parts[1];
        at = at * 1103515245 + 12345;
        u.owner = (at >> 16) % PEOPLE;
        uint8_t to = (uint8_t)((at >> 20) % 3);
        bool undone = (at >> 25) % 4 == 0;
        uint8_t before = has[u.owner];
        u.whole = to == 2;
        memcpy(u.id, &k, sizeof k);
        OK(store_batch(b.store[1]));
        if (before != 0) /* replaced by another, or gone */
            OK(store_withdraw(b.store[1], u.owner));
        if (to != 0)
            OK(store_write_upload(b.store[1], &u));
        has[u.owner] = to;
        expect_counts(b.store[1], has, 0, PEOPLE, store_count);
        if (undone)
            has[u.owner] = before;
        assert_int_equal(store_batch_end(b.store[1], undone ? ERR_SYSTEM : ERR_OK),
                         undone ? ERR_SYSTEM : ERR_OK);
        expect_counts(b.store[1], has, 0, PEOPLE, store_count);
        expect_counts(b.store[1], has, LISTED, PEOPLE, store_count_open);
    }
}

/* The size of server 0's write-ahead log, where deleted data could remain. */
static off_t log_size(struct stores_bench *b)
{
    struct stat st;
    assert_int_equal(stat(support_path(&b->s, "server0/store.sqlite-wal"), &st), 0);
    return st.st_size;
}

/* Somebody who reads server 0's store, as `trefoil backup` does. */
static sqlite3 *somebody_reading(struct stores_bench *b)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(support_path(&b->s, "server0/store.sqlite"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT owner FROM uploads", NULL, NULL, NULL), 0);
    return db;
}

/* How much server 0 keeps of what it counted of an upload. */
static size_t counted_of(struct stores_bench *b, const uint8_t digest[32])
{
    struct bytes counted CLEAN(bytes_clear) = {0};
    OK(store_counted(b->store[0], digest, &counted));
    return counted.size;
}

/* What was counted of it goes with it. */
TEST(an_upload_is_replaced_or_withdrawn_until_it_is_counted)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct upload other[3];
    struct bytes packed CLEAN(bytes_clear) = {0};
    struct upload_name *list = NULL;
    size_t count;
    bool complete;
    bytes_extend(&packed, study_upload_bytes(b.s.study, 1));
    packed.data[4] = 9;
    OK(upload_make(other, &three_split, b.owner, 1, (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                   b.s.study, study_upload_form(b.s.study, 1), &packed));
    OK(store_withdraw(b.store[0], 1)); /* nothing is there: fine */
    assert_int_equal(entry_of(&b, 0).state, UPLOAD_NOTHING);
    OK(store_put(b.store[0], &b.parts[0], true, &complete));
    struct upload_entry before = entry_of(&b, 0);
    assert_int_equal(before.state, UPLOAD_COMPLETE);
    assert_int_equal(store_put(b.store[0], &other[0], false, &complete), ERR_REFUSED);

    /* while a session counts it, it stays */
    store_use(b.store[0], true);
    assert_int_equal(store_put(b.store[0], &other[0], true, &complete), ERR_BUSY);
    assert_int_equal(store_withdraw(b.store[0], 1), ERR_BUSY);
    OK(store_put(b.store[0], &b.parts[0], true, &complete)); /* the same */
    store_use(b.store[0], false);

    OK(store_put_counted(b.store[0], before.digest, &packed));
    assert_int_equal(counted_of(&b, before.digest), packed.size);
    OK(store_put(b.store[0], &other[0], true, &complete));
    assert_int_equal(counted_of(&b, before.digest), 0);
    struct upload_entry after = entry_of(&b, 0);
    assert_int_equal(after.state, UPLOAD_COMPLETE);
    assert_memory_not_equal(after.digest, before.digest, 32);
    OK(store_uploads(b.store[0], &list, &count));
    assert_int_equal(count, 1);
    assert_memory_equal(list[0].id, other[0].id, UPLOAD_ID_SIZE);
    memory_free(&list);
    OK(store_put_counted(b.store[0], after.digest, &packed));
    sqlite3 *reader = somebody_reading(&b); /* keeps the log as it is */
    OK(store_batch(b.store[0]));
    OK(store_withdraw(b.store[0], 1));
    OK(store_batch_end(b.store[0], ERR_OK));
    sqlite3_close(reader);
    OK(store_batch(b.store[0]));
    OK(store_batch_end(b.store[0], ERR_OK));
    assert_int_equal(log_size(&b), 0);
    assert_int_equal(counted_of(&b, after.digest), 0);
    OK(store_withdraw(b.store[0], 1)); /* again is fine */
    before = entry_of(&b, 0);
    assert_int_equal(before.state, UPLOAD_WITHDRAWN);
    assert_memory_equal(before.digest, after.digest, 32);
    OK(store_uploads(b.store[0], &list, &count));
    assert_int_equal(count, 0);
    memory_free(&list);
    /* and it may be sent again, until there is a debit */
    OK(store_put(b.store[0], &b.parts[0], false, &complete));
    assert_int_equal(entry_of(&b, 0).state, UPLOAD_COMPLETE);
    debit_times(&b, 0, 0, 1);
    assert_int_equal(store_put(b.store[0], &other[0], true, &complete), ERR_MISUSE);
    assert_int_equal(store_withdraw(b.store[0], 1), ERR_MISUSE);
    for (unsigned i = 0; i < 3; i++)
        upload_clear(&other[i]);
}

TEST(what_was_counted_is_purged_with_uploads)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct bytes statement CLEAN(bytes_clear) = {0};
    bool complete;
    OK(store_put(b.store[0], &b.parts[0], false, &complete));
    struct upload_entry entry = entry_of(&b, 0);
    OK(store_put_counted(b.store[0], entry.digest,
                         &(struct bytes){.data = (uint8_t[]){9}, .size = 1}));
    assert_true(counted_of(&b, entry.digest) > 0);
    sqlite3 *reader = somebody_reading(&b);
    assert_int_equal(store_purge(b.store[0], b.server[0], &statement), ERR_BUSY);
    sqlite3_close(reader);
    bytes_clear(&statement);
    OK(store_purge(b.store[0], b.server[0], &statement));
    assert_int_equal(log_size(&b), 0);
    assert_int_equal(counted_of(&b, entry.digest), 0);
}

/*
 * After a look, which takes one sample, owners may correct their tables; not after a run that goes
 * on.
 */
TEST(an_upload_may_be_changed_after_looks_alone)
{
    static const char *const part[] = {"    max_rows: 9\n    batch: x\n    columns: [a]\n",
                                       "    max_rows: 9\n    batch: x\n    columns: [b]\n"};
    static const char *const link[] = {"{min_linked: 5, look: 0.5}", "true"};
    for (unsigned k = 0; k < 2; k++) {
        struct stores_bench b CLEAN(bench_free) = bench_of(&(const struct study_options){
            .owners = 2,
            .domain = "domain:\n  - {name: a, kind: integer, min: 0, max: 3}\n"
                      "  - {name: b, kind: integer, min: 0, max: 3}\n",
            .workload = "{all: 2}",
            .part = part,
            .link = link[k]});
        const enum err looked = k == 0 ? ERR_OK : ERR_MISUSE;
        struct store_round round = round_of(1, 0);
        bool complete;
        round.stake.count[NOISE_GAUSS] = 1;
        OK(store_put(b.store[0], &b.parts[0], false, &complete));
        OK(debit(b.store[0], &round, 3));
        assert_int_equal(store_withdraw(b.store[0], 1), looked);
        if (k > 0)
            continue;
        OK(store_put(b.store[0], &b.parts[0], false, &complete));
        round = round_of(1, 1);
        OK(debit(b.store[0], &round, 3)); /* far more than looks may cost */
        assert_int_equal(store_withdraw(b.store[0], 1), ERR_MISUSE);
    }
}

TEST(a_folder_belongs_to_one_server_and_study)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct store *store = NULL;
    bool complete;
    const char *path = support_path(&b.s, "server0");
    store_close(&b.store[0]);
    assert_int_equal(store_open(&store, path, b.s.study, &three_split, b.server[1], 1, &quiet),
                     ERR_MISMATCH);
    assert_null(store);
    /* terms are frozen with the first upload; tokens belong to their terms, and so do numbers */
    OK(open_store(&b, 0));
    assert_int_equal(store_seat(b.store[0], 3, (const uint8_t[32]){1}, false), ERR_REFUSED);
    OK(store_seat(b.store[0], 3, (const uint8_t[32]){1}, true));
    OK(store_seat(b.store[0], 3, (const uint8_t[32]){1}, false));
    assert_int_equal(store_seat(b.store[0], 3, (const uint8_t[32]){2}, true), ERR_REFUSED);
    assert_int_equal(store_seat(b.store[0], 3, (const uint8_t[32]){2}, false), ERR_REFUSED);
    store_close(&b.store[0]);
    b.s.study->terms.digest[6] ^= 1;
    OK(open_store(&b, 0));
    OK(store_seat(b.store[0], 3, (const uint8_t[32]){2}, true));
    store_close(&b.store[0]);
    b.s.study->terms.digest[6] ^= 1;
    OK(open_store(&b, 0));
    OK(store_put(b.store[0], &b.parts[0], false, &complete));
    store_close(&b.store[0]);
    b.s.study->terms.digest[5] ^= 1;
    assert_int_equal(open_store(&b, 0), ERR_MISMATCH);
    b.s.study->terms.digest[5] ^= 1;
    OK(open_store(&b, 0));
    /* and by one process at a time */
    assert_int_equal(store_open(&store, path, b.s.study, &three_split, b.server[0], 0, &quiet),
                     ERR_SYSTEM);
}

/* As stores were before they had versions. */
static const char before_versions[] =
    "DROP TABLE guard; DROP TABLE ahead; DROP TABLE seats; DROP TABLE sorted; DROP TABLE serials;"
    "DROP INDEX unforwarded; DROP INDEX incomplete; DROP INDEX came; DROP INDEX held;"
    "DROP TABLE noise; DROP TABLE rounds; DROP TABLE ledger;"
    "DROP TABLE parts; DROP TABLE withdrawn; ALTER TABLE uploads DROP COLUMN at;"
    "CREATE TABLE ledger(number INTEGER PRIMARY KEY, request BLOB NOT NULL,"
    "  tape BLOB NOT NULL, gauss_from INTEGER NOT NULL, gauss_count INTEGER NOT NULL,"
    "  gumbel_from INTEGER NOT NULL, gumbel_count INTEGER NOT NULL, ledger TEXT NOT NULL,"
    "  head BLOB NOT NULL) STRICT;"
    "PRAGMA user_version = 0";

/* The messages when server 0's store is opened. */
static const char *words_of_opening(struct stores_bench *b, enum err expected)
{
    static char words[2048];
    words[0] = '\0';
    quiet.buffer = words;
    quiet.buffer_size = sizeof words;
    assert_int_equal(open_store(b, 0), expected);
    quiet.buffer = NULL;
    return words;
}

TEST(a_store_of_a_later_program_is_refused_and_an_older_one_migrated)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    bool complete, has[2];
    OK(store_put(b.store[0], &b.parts[0], false, &complete));
    store_close(&b.store[0]);
    support_alter(&b.s, 0, "PRAGMA user_version = 1000");
    const char *words = words_of_opening(&b, ERR_MISMATCH);
    assert_non_null(
        strstr(words, "/store.sqlite was used by a later trefoil (store version 1000; this one, "));
    support_says(words, "knows 14): run that one");
    assert_null(b.store[0]);
    support_alter(&b.s, 0, before_versions);
    support_alter(&b.s, 0, "INSERT INTO about VALUES('format version', x'31')");
    OK(open_store(&b, 0));
    OK(store_owners(b.store[0], has));
    assert_true(has[1]);
    store_close(&b.store[0]);
    /* debits of the old kind must not be forgotten */
    support_alter(&b.s, 0, before_versions);
    support_alter(&b.s, 0, "INSERT INTO ledger VALUES(1, x'01', x'02', 0, 1, 0, 1, 'text', x'03')");
    words = words_of_opening(&b, ERR_SYSTEM);
    support_says(words, "an earlier trefoil (store version 0; this one, ");
    support_says(words, "writes 14) and could not be brought up to date");
}

/* Stored by a program of another version: sealed data say which version they are of. */
TEST(an_upload_of_another_version_is_not_read)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct upload_name *list CLEAN(memory_release) = NULL;
    struct upload back;
    struct bytes plain CLEAN(bytes_clear) = {0}, sealed CLEAN(bytes_clear) = {0};
    uint8_t binding[UPLOAD_ID_SIZE + 4] = {0}; /* docs/formats.md */
    const uint8_t first[UPLOAD_ID_SIZE] = {0};
    char words[1024] = "";
    bool complete, found;
    size_t count;
    memcpy(binding, b.parts[0].id, UPLOAD_ID_SIZE);
    binding[UPLOAD_ID_SIZE] = 1; /* the owner */
    OK(store_put(b.store[0], &b.parts[0], false, &complete));
    OK(upload_write(&b.parts[0], 0, true, &plain));
    plain.data[0] = UPLOAD_VERSION + 1;
    OK(store_seal(b.store[0], binding, sizeof binding, &plain, &sealed));
    struct query q = query_of(b.store[0], "UPDATE uploads SET sealed = ?");
    query_put_bytes(&q, &sealed);
    OK(query_run(&q, NULL));
    quiet.buffer = words;
    quiet.buffer_size = sizeof words;
    OK(store_uploads(b.store[0], &list, &count));
    assert_int_equal(store_upload(b.store[0], &list[0], &back), ERR_MISMATCH);
    /* one that must be passed on is named, so that those behind it can be */
    assert_int_equal(store_unforwarded(b.store[0], first, &back, &found), ERR_MISMATCH);
    assert_false(found);
    assert_memory_equal(back.id, b.parts[0].id, sizeof back.id);
    quiet.buffer = NULL;
    support_says(words, "the upload of o1 is of version 3, and this trefoil (");
    support_says(words, "reads version 2; run the one that stored it");
}
