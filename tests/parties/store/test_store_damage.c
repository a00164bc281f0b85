/*
 * parties/store on a disk that was altered or is damaged: every value that does not fit is noticed
 * where it is read, reported in words that help, and harms nothing else. Also folders that cannot
 * be had, and backups.
 */
#include "tests/support/stores.h"

#include "parties/settings/three/split.h"
#include "parties/store/store_backup.h"

#include <sys/stat.h>

static char words[4096];

static void listen_from_here(void)
{
    words[0] = '\0';
    quiet.buffer = words;
    quiet.buffer_size = sizeof words;
}

static void expect_words(const char *expected)
{
    if (strstr(words, expected) == NULL)
        fail_msg("\"%s\" is not in:\n%s", expected, words);
}

/* The call fails with this error, and says this. */
#define NOTICED(call, error, says)                                                                 \
    do {                                                                                           \
        listen_from_here();                                                                        \
        assert_int_equal(call, error);                                                             \
        quiet.buffer = NULL;                                                                       \
        expect_words(says);                                                                        \
    } while (0)

/* --- values that do not fit ------------------------------------------------------------------- */

static enum err list(struct stores_bench *b)
{
    struct upload_name *names = NULL;
    size_t count;
    enum err e = store_uploads(b->store[1], &names, &count);
    assert_null(names);
    return e;
}

static enum err hold(struct stores_bench *b)
{
    struct upload_entry entry;
    return store_upload_entry(b->store[1], 1, &entry);
}

static enum err purge(struct stores_bench *b)
{
    struct bytes statement CLEAN(bytes_clear) = {0};
    enum err e = store_purge(b->store[1], b->server[1], &statement);
    assert_int_equal(statement.size, 0);
    return e;
}

static enum err owners(struct stores_bench *b)
{
    bool has[2];
    return store_owners(b->store[1], has);
}

static enum err upload(struct stores_bench *b)
{
    struct upload_name name = {.owner = 1};
    struct upload u;
    memcpy(name.id, b->parts[1].id, sizeof name.id);
    upload_digest(&b->parts[1], b->s.study->terms.digest, name.digest);
    return store_upload(b->store[1], &name, &u);
}

static enum err put(struct stores_bench *b)
{
    bool complete;
    return store_put(b->store[1], &b->parts[1], true, &complete);
}

static enum err vector(struct stores_bench *b)
{
    const struct bytes *v = &b->parts[1].vector;
    uint64_t held;
    bool complete;
    return store_pass_part(b->store[1], b->parts[1].id, v->size, 0, v->data, v->size, &held,
                           &complete);
}

static enum err part(struct stores_bench *b)
{
    uint64_t held;
    bool complete;
    return store_put_part(b->store[1], 1, b->parts[1].id, 0, "x", 1, &held, &complete);
}

static enum err forward(struct stores_bench *b)
{
    static const uint8_t first[UPLOAD_ID_SIZE];
    struct upload u;
    bool found = false;
    enum err e = store_unforwarded(b->store[1], first, &u, &found);
    assert_false(found);
    return e;
}

static enum err find(struct stores_bench *b)
{
    const struct store_round r = round_of(1, 0);
    struct store_found found;
    return store_find_round(b->store[1], r.run, 0, &found);
}

static enum err put_index(struct stores_bench *b)
{
    const struct store_round r = round_of(1, 0);
    return store_put_index(b->store[1], &r, 3);
}

static enum err find_number(struct stores_bench *b)
{
    struct store_found found;
    return store_round_of(b->store[1], 1, &found);
}

static enum err bind_again(struct stores_bench *b)
{
    const struct store_round r = round_of(1, 0);
    return debit(b->store[1], &r, 1);
}

static enum err noise(struct stores_bench *b)
{
    const struct store_round r = round_of(1, 0);
    struct bytes out CLEAN(bytes_clear) = {0};
    return store_noise(b->store[1], &r, &out);
}

static enum err entry(struct stores_bench *b)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    uint8_t head[32];
    return store_entry(b->store[1], 1, &out, head);
}

static enum err ledger(struct stores_bench *b)
{
    struct ledger *l = NULL;
    struct store_head head;
    enum err e = store_ledger(b->store[1], &limits, &l, &head);
    assert_null(l);
    return e;
}

static enum err open_again(struct stores_bench *b)
{
    store_close(&b->store[1]);
    return open_store(b, 1);
}

#define NOT_UNIQUE                                                                                 \
    "CREATE TABLE u AS SELECT * FROM uploads; INSERT INTO u SELECT * FROM uploads;"                \
    "INSERT INTO u SELECT * FROM uploads; DROP TABLE uploads; ALTER TABLE u RENAME TO uploads"

static const struct harm {
    const char *sql;
    enum err (*notices)(struct stores_bench *b);
    enum err e;
    const char *says;
} harms[] = {
    {"UPDATE uploads SET id = x'00'", list, ERR_FORMAT, "id on disk has 1 bytes, and should have"},
    {"UPDATE uploads SET id = x'ff'", forward, ERR_AUTH, "the upload of owner 1 on disk does not"},
    {"UPDATE uploads SET digest = x''", list, ERR_FORMAT, "digest on disk has 0 bytes, and should"},
    {"UPDATE uploads SET digest = x'00'", hold, ERR_FORMAT, "digest on disk has 1 bytes"},
    {"UPDATE uploads SET digest = x'00'", purge, ERR_FORMAT, "digest on disk has 1 bytes"},
    {"UPDATE uploads SET owner = 2", list, ERR_FORMAT,
     "an upload of owner 2, one too many for the "},
    {"UPDATE uploads SET owner = -1", purge, ERR_FORMAT, "an upload of owner -1, one too many"},
    {"UPDATE uploads SET owner = 2", owners, ERR_FORMAT, "an upload of owner 2, one too many for"},
    {"UPDATE uploads SET owner = -1", upload, ERR_AUTH, "the upload of owner -1 on disk does not"},
    {NOT_UNIQUE, list, ERR_FORMAT, "an upload of owner 1, one too many for the study's 2"},
    {NOT_UNIQUE, purge, ERR_FORMAT, "an upload of owner 1, one too many for the study's 2"},
    {"UPDATE uploads SET owner = 2", upload, ERR_AUTH, "the upload of owner 2 on disk does not"},
    {"UPDATE uploads SET owner = 2", forward, ERR_AUTH, "the upload of owner 2 on disk does not"},
    {"UPDATE uploads SET sealed = x'00'", upload, ERR_AUTH, "does not unseal; restore a backup"},
    {"UPDATE uploads SET sealed = zeroblob(40)", upload, ERR_AUTH, "does not unseal; restore"},
    {"UPDATE uploads SET sealed = zeroblob(400)", put, ERR_AUTH, "does not unseal; restore"},
    {"UPDATE uploads SET sealed = x'00'", vector, ERR_AUTH, "does not unseal; restore"},
    {"UPDATE uploads SET sealed = x'00'", part, ERR_AUTH, "does not unseal; restore"},
    {"DELETE FROM uploads", upload, ERR_AUTH, "the upload of o1 on disk is not the one that it"},
    {"UPDATE rounds SET run = x'00'", find_number, ERR_FORMAT, "run on disk has 1 bytes"},
    {"UPDATE rounds SET request = x'00'", find, ERR_FORMAT, "request on disk has 1 bytes"},
    {"UPDATE rounds SET uploads = x'00', standing = 4", put_index, ERR_FORMAT,
     "uploads on disk has 1 bytes"},
    {"UPDATE rounds SET tape = x'00'", bind_again, ERR_FORMAT, "tape on disk has 1 bytes"},
    {"UPDATE noise SET sealed = x'00'", noise, ERR_AUTH, ""},
    {"UPDATE ledger SET head = x'00'", entry, ERR_FORMAT, "head on disk has 1 bytes"},
    {"UPDATE ledger SET head = x'00'", ledger, ERR_FORMAT, "head on disk has 1 bytes"},
    {"UPDATE ledger SET head = x'00'", open_again, ERR_MISMATCH, "entry 1 of the privacy ledger"},
    {"UPDATE ledger SET entry = x'00'", ledger, ERR_FORMAT, "entry 1 of the privacy ledger on "},
    {"UPDATE about SET value = x'00' WHERE key = 'roster'", open_again, ERR_FORMAT,
     "its note of the roster cannot be read"},
    {"UPDATE about SET value = x'00' WHERE key = 'server index'", open_again, ERR_MISMATCH,
     "the server's folder holds another server index"},
    {"UPDATE about SET value = x'00' WHERE key = 'study (its terms)'", open_again, ERR_MISMATCH,
     "holds another study (its terms); terms do not change"},
    {"UPDATE about SET value = x'00' WHERE key = 'study (its terms)';"
     "DELETE FROM about WHERE key = 'parts of the terms'",
     open_again, ERR_MISMATCH, "holds another study (its terms); terms do not change"},
    {"UPDATE about SET value = x'00' WHERE key LIKE '%terms%'", open_again, ERR_MISMATCH,
     "holds another study (its terms): they differ in"},
};

TEST(what_is_damaged_is_noticed_where_it_is_read)
{
    const struct store_round r = round_of(1, 0);
    for (size_t k = 0; k < sizeof harms / sizeof *harms; k++) {
        const struct harm *h = &harms[k];
        struct stores_bench b CLEAN(bench_free) = bench_new();
        bool complete;
        OK(store_put(b.store[1], &b.parts[1], false, &complete));
        OK(debit(b.store[1], &r, 1));
        support_alter(&b.s, 1, h->sql);
        listen_from_here();
        enum err e = h->notices(&b);
        quiet.buffer = NULL;
        if (e != h->e)
            fail_msg("%s: %s, not %s", h->sql, error_text(e), error_text(h->e));
        expect_words(h->says);
    }
}

/*
 * The stored part of a long vector cannot be read any more: its owner sends it again, from the
 * beginning.
 */
TEST(parts_that_are_damaged_come_again)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    uint64_t held;
    bool complete;
    struct upload head = b.parts[1];
    head.whole = false;
    const uint8_t *p = b.parts[1].vector.data;
    size_t n = b.parts[1].vector.size;
    OK(store_put(b.store[1], &head, false, &complete));
    OK(store_put_part(b.store[1], 1, head.id, 0, p, 5, &held, &complete));
    support_alter(&b.s, 1, "UPDATE parts SET sealed = zeroblob(length(sealed))");
    NOTICED(store_put_part(b.store[1], 1, head.id, 5, p + 5, n - 5, &held, &complete), ERR_DATA,
            "the parts of the upload of o1 on disk do not unseal; they begin anew");
    assert_true(held == 0 && !complete);
    OK(store_put_part(b.store[1], 1, head.id, 0, p, n, &held, &complete));
    assert_true(held == n && complete);
}

/* The chain is not keyed: whoever can write the file can make one that holds. */
TEST(a_ledger_of_other_words_is_none)
{
    static const char entry_hex[] = "UPDATE ledger SET entry = x'0102', head = x'";
    char sql[256];
    uint8_t head[32] = {0};
    int n = snprintf(sql, sizeof sql, "%s", entry_hex);
    struct stores_bench b CLEAN(bench_free) = bench_new();
    debit_times(&b, 1, 0, 1);
    store_chain("\1\2", 2, head);
    for (unsigned i = 0; i < 32; i++)
        n += snprintf(sql + n, sizeof sql - (size_t)n, "%02x", head[i]);
    snprintf(sql + n, sizeof sql - (size_t)n, "'");
    support_alter(&b.s, 1, sql);
    store_close(&b.store[1]);
    OK(open_store(&b, 1));
    NOTICED(
        ledger(&b), ERR_FORMAT,
        "entry 1 of the privacy ledger on disk is not one that trefoil wrote; restore a backup");
}

/* Its hash continues the chain, but it is not a debit at all. */
TEST(a_neighbours_debit_has_to_be_one)
{
    const struct store_head head = {0};
    struct ledger *before CLEAN(ledger_free) = NULL;
    struct bytes garbage CLEAN(bytes_clear) = {0};
    uint8_t next[32] = {0};
    uint64_t count;
    struct stores_bench b CLEAN(bench_free) = bench_new();
    bytes_put_string(&garbage, "you owe me one");
    store_chain(garbage.data, garbage.size, next);
    OK(ledger_new(&before, &limits, &quiet));
    NOTICED(store_adopt(b.store[0], &garbage, &head, next, before), ERR_FORMAT,
            "what a neighbour passes on as its last debit is not one");
    next[0] ^= 1;
    NOTICED(store_adopt(b.store[0], &garbage, &head, next, before), ERR_MISMATCH,
            "does not follow the ones here");
    OK(store_debits(b.store[0], &count));
    assert_true(count == 0);
}

/* --- folders and backups ---------------------------------------------------------------------- */

TEST(folders_that_cannot_be_had)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct store *store = NULL;
    char path[SUPPORT_PATH], name[SUPPORT_PATH + 16], far[FILE_PATH + 16];
    store_close(&b.store[0]);
    memset(far, 'x', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    NOTICED(store_open(&store, far, b.s.study, &three_split, b.server[0], 0, &quiet), ERR_SYSTEM,
            "this path is too long: xxx");
    /* a folder is in the place of the database, or of its lock */
    support_study_file(&b.s, "other", path);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(name, sizeof name, "%s/store.sqlite", path);
    assert_int_equal(mkdir(name, 0700), 0);
    NOTICED(store_open(&store, path, b.s.study, &three_split, b.server[0], 0, &quiet), ERR_SYSTEM,
            "store: cannot open: unable to open database file");
    snprintf(name, sizeof name, "%s/lock", path);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(mkdir(name, 0700), 0);
    NOTICED(store_open(&store, path, b.s.study, &three_split, b.server[0], 0, &quiet), ERR_SYSTEM,
            "/lock: Is a directory");
    assert_null(store);
}

TEST(a_database_that_is_cut_is_no_full_disk)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    const char *path = support_path(&b.s, "server0/store.sqlite");
    store_close(&b.store[0]);
    assert_int_equal(truncate(path, 10000), 0);
    NOTICED(open_store(&b, 0), ERR_SYSTEM,
            "server0/store.sqlite is damaged (database disk image is malformed): restore a");
}

static const struct store_damage_ruin {
    const char *sql; /* on the backup */
    enum err e;
    const char *says;
} ruins[] = {
    {"PRAGMA user_version = 1000", ERR_MISMATCH, "is of a later trefoil (store version 1000; this"},
    {"DROP TABLE audit_log", ERR_FORMAT, "is damaged, or was not made by trefoil backup"},
    {"INSERT INTO audit_log VALUES(x'00')", ERR_FORMAT,
     "is damaged, or was not made by trefoil backup"},
    {"DROP TABLE uploads", ERR_FORMAT, "is damaged, or was not made by trefoil backup"},
    {"DROP TABLE ledger", ERR_FORMAT, "is damaged, or was not made by trefoil backup"},
};

static bool there(const struct stores_bench *b, const char *name)
{
    return access(support_path(&b->s, "%s", name), F_OK) == 0;
}

/* A backup of server 0 alone; returns the error when restoring it. */
static enum err restore(struct stores_bench *b, const char *file, const char *folder)
{
    struct store_contents contents;
    return store_restore(support_path(&b->s, "%s", file), support_path(&b->s, "%s", folder),
                         &contents, &quiet);
}

static enum err backup(struct stores_bench *b, const char *folder, const char *file)
{
    struct store_contents contents;
    return store_backup(support_path(&b->s, "%s", folder), support_path(&b->s, "%s", file),
                        &contents, &quiet);
}

/* A failed attempt leaves nothing behind, so that the next one can succeed. */
TEST(a_backup_that_is_none_is_not_restored)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct bytes text CLEAN(bytes_clear) = {0};
    char path[SUPPORT_PATH];
    OK(backup(&b, "server0", "bare")); /* a server that never got so far */
    OK(restore(&b, "bare", "empty"));
    assert_false(there(&b, "empty/audit.log"));
    OK(file_write(support_path(&b.s, "server0/audit.log"), 0600, "a line\nand half a", 17, &quiet));
    for (size_t k = 0; k < sizeof ruins / sizeof *ruins; k++) {
        sqlite3 *db;
        OK(backup(&b, "server0", "backup"));
        support_study_file(&b.s, "backup", path);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, ruins[k].sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        NOTICED(restore(&b, "backup", "again"), ruins[k].e, ruins[k].says);
        assert_false(there(&b, "again"));
        assert_int_equal(unlink(path), 0);
    }
    OK(backup(&b, "server0", "backup"));
    OK(restore(&b, "backup", "again"));
    OK(file_read(support_path(&b.s, "again/audit.log"), 100, &text, &quiet));
    assert_int_equal(text.size, 7); /* a line that was being written is not in it */
    assert_memory_equal(text.data, "a line\n", 7);
    /* nor is an audit log replaced */
    assert_int_equal(unlink(support_path(&b.s, "again/store.sqlite")), 0);
    NOTICED(restore(&b, "backup", "again"), ERR_SYSTEM, "audit.log is there already");
}

TEST(a_backup_needs_places)
{
    struct stores_bench b CLEAN(bench_free) = bench_new();
    struct store_contents contents;
    char far[FILE_PATH - 5];
    memset(far, 'x', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    NOTICED(store_backup(far, "b", &contents, &quiet), ERR_SYSTEM, "this path is too long: xxx");
    NOTICED(store_backup(support_path(&b.s, "server0"), far, &contents, &quiet), ERR_SYSTEM,
            "this path is too long: xxx");
    NOTICED(store_restore("b", far, &contents, &quiet), ERR_SYSTEM, "this path is too long: xxx");
    NOTICED(backup(&b, "server0", "nowhere/b"), ERR_SYSTEM, "cannot open");
    NOTICED(restore(&b, "nothing", "again"), ERR_SYSTEM, "name what trefoil backup wrote");
    /* the store is a folder, and so is what should be a backup */
    assert_int_equal(mkdir(support_path(&b.s, "odd"), 0700), 0);
    assert_int_equal(mkdir(support_path(&b.s, "odd/store.sqlite"), 0700), 0);
    NOTICED(backup(&b, "odd", "b"), ERR_SYSTEM, "odd/store.sqlite: unable to open database file");
    NOTICED(restore(&b, "odd", "again"), ERR_SYSTEM, "cannot open");
    /* a file that is not a database is not copied */
    assert_int_equal(mkdir(support_path(&b.s, "text"), 0700), 0);
    memset(far, 'x', sizeof far);
    OK(file_write(support_path(&b.s, "text/store.sqlite"), 0600, far, sizeof far, &quiet));
    NOTICED(backup(&b, "text", "b"), ERR_SYSTEM, "file is not a database");
    assert_false(there(&b, "b") || there(&b, "b.partial"));
    /* a file that is not an audit log */
    assert_int_equal(mkdir(support_path(&b.s, "server0/audit.log"), 0700), 0);
    assert_int_equal(backup(&b, "server0", "b"), ERR_SYSTEM);
    assert_false(there(&b, "b") || there(&b, "b.partial"));
    assert_false(there(&b, "again/store.sqlite"));
}
