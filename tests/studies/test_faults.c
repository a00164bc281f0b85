/* Makes everything fail once in each command: it leaves whole files or none, and says why. */
#include "harness/cmocka.h"

#include "harness/postgres.h"
#include "parties/exchange/price.h"
#include "parties/owner/book.h"
#include "tests/support/faults.h"

#include <sqlite3.h>
#include <sys/stat.h>

#define LENGTHS 32 /* the longest file name in a folder is shorter than this */

TEST(keys_are_whole_or_absent)
{
    struct faults_scene *c = *state;
    const char *const a[] = {"keygen", file(c, "work/k.key"), NULL};
    faults_command(c, &(struct faults_command){a, 1, 1, NULL});
}

TEST(studies_are_read_or_refused)
{
    struct faults_scene *c = *state;
    const char *const check[] = {"check", c->s.path, NULL}, *const plan[] = {"plan", c->s.path,
                                                                             NULL};
    const char *const init[] = {"init", file(c, "work/new.yaml"), NULL};
    const char *const columns[] = {"init", file(c, "work/new.yaml"), "--columns",
                                   file(c, "codebook.csv"), NULL};
    static const char book[] = "name,kind,values,missing\nage,integer,0-99,\nsex,,a|b,?\n";
    OK(file_write(file(c, "codebook.csv"), 0600, book, sizeof book - 1, NULL));
    faults_command(c, &(struct faults_command){init, 1, 1, NULL});
    faults_command(c, &(struct faults_command){columns, 1, 1, NULL});
    faults_command(c, &(struct faults_command){check, 0, 7, NULL});
    faults_command(c, &(struct faults_command){plan, 0, 17, NULL});
}

TEST(a_roster_is_signed_or_as_it_was)
{
    struct faults_scene *c = *state;
    const char *amended = file(c, "amended.yaml"), *signs = file(c, "work/amended.yaml");
    const char *const sign[] = {"roster", "sign", signs, "--key", file(c, "s1.key"), NULL};
    char amendment[256], key[IDENTITY_TEXT_SIZE];
    const char *const show[] = {"roster", "show", amended, "--since", c->s.path, NULL};
    struct identity *revoked CLEAN(identity_free) = MADE(identity, identity_new, NULL);
    public_identity_text(&revoked->public, key);
    snprintf(amendment, sizeof amendment, "roster: 2\nrevoked: [%s]\nstudy:", key);
    assert_true(support_edit(c->s.path, amended, (const char *const[]){"study:", amendment, NULL}));
    faults_command(c, &(struct faults_command){sign, 1, 13, amended});
    faults_command(c, &(struct faults_command){show, 0, 13, NULL});
}

TEST(tokens_are_made_or_not)
{
    struct faults_scene *c = *state;
    const char *opened = file(c, "open.yaml"), *keys = file(c, "asks");
    const char *const a[] = {
        "admit", opened, keys, "--key", file(c, "issuer.key"), "--tokens", file(c, "work/tokens"),
        NULL};
    char open[256], key[IDENTITY_TEXT_SIZE];
    struct identity *issuer CLEAN(identity_free) = NULL, *asks CLEAN(identity_free) = NULL;
    OK(identity_new(&issuer, NULL));
    OK(identity_new(&asks, NULL));
    public_identity_text(&issuer->public, key);
    snprintf(open, sizeof open, "min_owners: 1\nopen_owners: {issuer: %s, max: 9}\nstudy:", key);
    assert_true(support_edit(c->s.path, opened, (const char *const[]){"study:", open, NULL}));
    public_identity_text(&asks->public, key);
    OK(file_write(keys, 0600, key, strlen(key), NULL));
    OK(identity_save(issuer, file(c, "issuer.key"), false, NULL));
    faults_command(c, &(struct faults_command){a, 2, 13, NULL}); /* with the lock */
}

/*
 * A folder name that is as long as names may be, or a little shorter: there may be no room for the
 * names of files in it.
 */
TEST(long_names_are_taken_or_refused)
{
    struct faults_scene *c = *state;
    char saved[SUPPORT_PATH], again[SUPPORT_PATH], folder[FILE_PATH];
    const size_t given = strlen(c->s.folder) + 1;
    const char *const purge[] = {"serve",    c->s.path, "--key",   file(c, "s0.key"),
                                 "--folder", folder,    "--purge", NULL};
    const char *const backup[] = {"backup", folder, again, NULL};
    const char *const restore[] = {"restore", saved, folder, NULL};
    const char *const aim[] = {"aim", c->s.path, file(c, "o0.csv"), "--out", folder, NULL};
    const char *const run[] = {"run", c->s.path, "--key", file(c, "a.key"), "--out", folder, NULL};
    const char *const *const commands[] = {purge, backup, restore, aim, run};
    const char *log = file(c, "long.log"),
               *made[] = {file(c, "store.sqlite"), file(c, "audit.log")};
    unsigned refused[sizeof commands / sizeof *commands] = {0}, tried = 0;
    support_study_file(&c->s, "saved.backup", saved);
    support_study_file(&c->s, "again.backup", again);
    const char *server = support_path(&c->s, "server");
    snprintf(folder, sizeof folder, "%s/", c->s.folder);
    assert_int_equal(mkdir(server, 0700), 0);
    EXPECT(0, log, 60, "recover", c->s.path, "--key", file(c, "s0.key"), "--folder", server,
           "--resume"); /* which makes an empty store there */
    EXPECT(0, log, 60, "backup", server, saved);
    for (size_t n = FILE_PATH - LENGTHS; n < FILE_PATH;
         n += getenv("TREFOIL_LONG") != NULL ? 1 : 5, tried++)
        for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
            if (commands[k] == purge)
                EXPECT(0, log, 60, "restore", saved, c->s.folder);
            if (commands[k] == run && n + strlen("/run.lock") < FILE_PATH)
                continue; /* it would wait for servers */
            /* ./././. is where it began */
            for (size_t i = given; i < n; i++)
                folder[i] = (i - given) % 2 == 0 ? '.' : '/';
            folder[n] = '\0';
            unlink(log);
            int code = support_run(log, 60, commands[k]);
            faults_expect_words(log, code, commands[k][0], (long)n);
            refused[k] += code != 0;
            unlink(again);
            if (commands[k] == purge)
                continue; /* what it leaves is backed up */
            unlink(made[0]);
            unlink(made[1]);
        }
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
        if (refused[k] == 0 || refused[k] == tried)
            fail_msg("%s: %u of %u", commands[k][0], refused[k], tried);
}

TEST(a_table_is_read_or_refused)
{
    struct faults_scene *c = *state;
    const char *const a[] = {"share",     c->s.path, file(c, "o0.csv"), "--key", file(c, "o0.key"),
                             "--dry-run", NULL};
    faults_command(c, &(struct faults_command){a, 0, 13, NULL});
}

TEST(results_are_whole_or_absent)
{
    struct faults_scene *c = *state;
    char model[SUPPORT_PATH], real[SUPPORT_PATH];
    snprintf(model, sizeof model, "%s", file(c, "first/model"));
    snprintf(real, sizeof real, "%s", file(c, "o0.csv"));
    EXPECT(0, file(c, "first.log"), 60, "aim", c->s.path, file(c, "o0.csv"), "--out",
           file(c, "first"));
    const char *const aim[] = {"aim", c->s.path, real, "--out", c->folder, NULL};
    faults_command(c, &(struct faults_command){aim, faults_entries(file(c, "first")), 97, NULL});
    const char *const refit[] = {"refit", file(c, "first"), "--out", c->folder, NULL};
    faults_command(c, &(struct faults_command){refit, faults_entries(file(c, "first")), 97, NULL});
    const char *const synth[] = {"synth", model, "--out", file(c, "work/rows.csv"), NULL};
    faults_command(c, &(struct faults_command){synth, 1, 29, NULL});
    const char *const query[] = {
        "query", model, "SELECT COUNT(*) FROM t WHERE NOT age < 4 OR sex = 'm' GROUP BY sex",
        "--json", NULL};
    faults_command(c, &(struct faults_command){query, 0, 20, NULL});
    const char *const eval[] = {"eval",    c->s.path, real, file(c, "first/synthetic.csv"),
                                "--model", model,     NULL};
    faults_command(c, &(struct faults_command){eval, 0, 41, NULL});
}

TEST(a_book_is_listed_or_refused)
{
    struct faults_scene *c = *state;
    const char *const a[] = {"share", "--key", file(c, "o0.key"), "--book", NULL};
    struct ledger_limits limits;
    OK(price_limits(c->s.study, &limits, NULL));
    struct book_entry entry = book_entry_of(c->s.study, &limits, BOOK_SENT);
    OK(book_add(file(c, "o0.book"), &entry, NULL));
    entry.terms.text[0] = entry.terms.text[0] == 'b' ? 'c' : 'b'; /* belongs to another study */
    OK(book_add(file(c, "o0.book"), &entry, NULL));
    faults_command(c, &(struct faults_command){a, 0, 1, NULL});
}

/* The same rows in a database, counted there and read. */
TEST(a_database_is_counted_or_refused)
{
    struct faults_scene *c = *state;
    char connection[SUPPORT_PATH + 64];
    const char *const counts[] = {"share", c->s.path, "--sql",           connection,  "--table",
                                  "t",     "--key",   file(c, "o0.key"), "--dry-run", NULL};
    const char *const read[] = {
        "eval", c->s.path, file(c, "o0.csv"), "--sql", connection, "--table", "t", NULL};
    sqlite3 *db;
    if (!support_odbc("SQLite3"))
        skip();
    assert_int_equal(sqlite3_open(file(c, "d.sqlite"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE t (age INTEGER, sex, ward, bmi REAL, died);"
                                  "INSERT INTO t VALUES (1, 'f', 'a', 20, 'no');"
                                  "INSERT INTO t VALUES (99, 'm', NULL, 1e9, 'yes')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    snprintf(connection, sizeof connection, "Driver=SQLite3;Database=%s", file(c, "d.sqlite"));
    faults_command(c, &(struct faults_command){counts, 0, 97, NULL});
    faults_command(c, &(struct faults_command){read, 0, 97, NULL});
}

/* --- the demo --------------------------------------------------------------------------------- */

/* In the folder of the one that failed before it. */
static bool demo_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    const char *log = file(c, "demo.log");
    unlink(log);
    faults_arm(c, kind, n);
    int code = COMMAND(log, 60, "demo", "--folder", c->folder);
    faults_disarm();
    faults_expect_words(log, code, kind, n);
    return faults_happened(c);
}

TEST(the_demo_survives_faults)
{
    static const struct faults_sweep of[] = {
        {"call@", 0, 5},    {"open:", 0, 8},     {"write:", 0, 20},
        {"alloc@", 0, 211}, {"library@", 0, 40}, {"link@", 0, 20},
    };
    faults_sweep(*state, demo_survives, 1, of, sizeof of / sizeof *of);
}

int main(int argc, char **argv)
{
    return faults_main(argc, argv);
}
