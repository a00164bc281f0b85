/*
 * A whole study with real processes, of which one or two are killed, or their disk fails, at every
 * step that changes the disk (harness/preload_fault.c); they are started again, and the run ends.
 * Then: every round was debited once, what was released is what all three servers have stored, no
 * upload is lost, ledgers are equal, audit logs hold together; and each fault took one attempt at
 * one round, so that no round came near to being lost.
 *
 * `make test` takes some of the steps, TREFOIL_LONG=1 all of them, with pairs. It also plays
 * studies whose servers prove what they compute, copulas, sweeps, and runs that find noise made
 * ahead.
 */
#include "harness/cmocka.h"

#include "aim/budget/score.h"
#include "harness/process.h"

#include <jansson.h>
#include <sqlite3.h>

#define OWNERS 3
#define ROUNDS 2
#define PEOPLE 4 /* three servers and the analyst */
#define ANALYST 3

/* With so many ages each has hardly any rows: a run merges them. */
static const char many_ages[] = "domain:\n"
                                "  - {name: age, kind: integer, min: 0, max: 119}\n"
                                "  - {name: sex, kind: categorical, values: [f, m]}\n"
                                "  - {name: bmi, kind: numeric, edges: [10, 18.5, 25, 30, 60]}\n"
                                "  - {name: died, kind: categorical, values: [no, yes]}\n";

static const char *const encrypted[OWNERS] = {"    max_rows: 1000\n    as: records\n", NULL,
                                              "    max_rows: 2000\n    as: records\n"};

struct crashes_fault {
    const char *what; /* a FAULT without its number; NULL: none */
    long at;
};

struct crashes_stage {
    struct support_study s;
    pid_t pid[PEOPLE];
    char ledger[4096]; /* the text of the last entry of an undisturbed run */
    long syncs[PEOPLE], writes[PEOPLE];
    const char *ahead; /* the servers' --noise-ahead */
    enum crashes_kind {
        AIM,
        PROVED,    /* security: abort */
        COPULA,    /* method: copula */
        SWEEPS,    /* rounds: sweeps, one of them */
        AHEAD,     /* noise for the run was made before */
        TWO,       /* a provider and a keeper, method: copula */
        TWO_AIM,   /* the same, in rounds, with noise that they make together */
        TWO_OWNER, /* the same, with noise that the one owner makes */
        TWO_ROWS   /* the same, with noise of each, where two of the owners send encrypted rows */
    } kind;
};

static unsigned servers_of(const struct crashes_stage *c)
{
    return c->s.study->servers;
}

static bool is_copula(const struct crashes_stage *c)
{
    return c->kind == COPULA || c->kind == TWO;
}

/* --- processes -------------------------------------------------------------------------------- */

static void arm(const struct crashes_stage *c, unsigned who, const struct crashes_fault *fault,
                const char *count)
{
    char text[32];
    support_preload();
    setenv("FAULT_UNDER", who == ANALYST ? file(c, "out/") : file(c, "server%u/", who), 1);
    if (fault->what != NULL) {
        snprintf(text, sizeof text, "%s%ld", fault->what, fault->at);
        setenv("FAULT", text, 1);
    }
    if (count != NULL)
        setenv("FAULT_TALLY", count, 1);
}

static void disarm(void)
{
    static const char *const names[] = {"FAULT", "FAULT_UNDER", "FAULT_TALLY"};
    support_unload();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        unsetenv(names[k]);
}

static void start(struct crashes_stage *c, unsigned who)
{
    if (who == ANALYST)
        c->pid[who] = START(file(c, "run.log"), "run", c->s.path, "--key", file(c, "a.key"),
                            "--out", file(c, "out"), "--wait=60");
    else {
        unlink(file(c, "server%u.log", who));
        c->pid[who] = START(file(c, "server%u.log", who), "serve", c->s.path, "--key",
                            file(c, "s%u.key", who), "--folder", file(c, "server%u", who),
                            "--listen", "127.0.0.1", "--noise-ahead", c->ahead);
    }
}

static void start_with(struct crashes_stage *c, unsigned who, const struct crashes_fault *fault,
                       const char *count)
{
    arm(c, who, fault, count);
    start(c, who);
    disarm();
}

/* Whether a process has ended; its exit code, or -1 for a signal. */
static bool has_ended(struct crashes_stage *c, unsigned who, int *code)
{
    int status;
    if (c->pid[who] <= 0 || waitpid(c->pid[who], &status, WNOHANG) != c->pid[who])
        return false;
    c->pid[who] = 0;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return true;
}

/* Waits until a server listens or is dead. */
static void wait_ready(struct crashes_stage *c, unsigned who)
{
    double end = support_deadline(20);
    while (support_again(end) && kill(c->pid[who], 0) == 0 &&
           !support_contains(file(c, "server%u.log", who), "is ready")) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)c->pid[who], &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == c->pid[who])
            return;
    }
}

/* --- folders ---------------------------------------------------------------------------------- */

static void forget(const struct crashes_stage *c, const char *folder)
{
    static const char *const names[] = {"store.sqlite",
                                        "store.sqlite-wal",
                                        "store.sqlite-shm",
                                        "audit.log",
                                        "run.state",
                                        "loop.state",
                                        "run.lock",
                                        "heads",
                                        "measurements.json",
                                        "synthetic.csv",
                                        "stats.json",
                                        "report.html",
                                        "model",
                                        "errors"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        unlink(file(c, "%s/%s", folder, names[k]));
}

/* As it was when all owners had shared and nothing had been asked. */
static void restore(struct crashes_stage *c)
{
    forget(c, "out");
    support_forget(&c->s);
    unlink(file(c, "run.log"));
    for (unsigned i = 0; i < servers_of(c); i++) {
        char name[24];
        snprintf(name, sizeof name, "server%u", i);
        forget(c, name);
        OK(support_copy(file(c, "base%u/store.sqlite", i), file(c, "server%u/store.sqlite", i)));
        OK(support_copy(file(c, "base%u/audit.log", i), file(c, "server%u/audit.log", i)));
    }
}

/* --- playing ---------------------------------------------------------------------------------- */

/* Restarts what ended and has to go on; true while the run has not ended well. */
static bool tend(struct crashes_stage *c, bool downwards, unsigned *runs)
{
    unsigned dead[STUDY_SERVERS_MOST], count = 0;
    int code = 0;
    for (unsigned i = 0; i < servers_of(c); i++)
        if (has_ended(c, i, &code))
            dead[count++] = i;
    for (unsigned k = 0; k < count; k++)
        start(c, dead[downwards ? count - 1 - k : k]);
    for (unsigned k = 0; k < count; k++)
        wait_ready(c, dead[k]);
    if (!has_ended(c, ANALYST, &code))
        return true;
    if (code == 0)
        return false;
    if (++*runs > 6) {
        struct bytes b = {0};
        if (file_read(file(c, "run.log"), 1 << 20, &b, NULL) == ERR_OK)
            print_error("%.*s\n", (int)b.size, (const char *)b.data);
        fail_msg("the run does not end, exit code %d", code);
    }
    /* a disk that was full has room again */
    for (unsigned i = 0; i < servers_of(c); i++)
        if (support_contains(file(c, "server%u.log", i), "cannot ")) {
            support_kill(&c->pid[i]);
            start(c, i);
            wait_ready(c, i);
        }
    start(c, ANALYST);
    return true;
}

/* A whole study; everybody has their fault. */
static void play(struct crashes_stage *c, const struct crashes_fault faults[PEOPLE], bool downwards)
{
    double end = support_deadline(120);
    unsigned runs = 0;
    restore(c);
    for (unsigned i = 0; i < servers_of(c); i++)
        start_with(c, i, &faults[i], NULL);
    for (unsigned i = 0; i < servers_of(c); i++)
        wait_ready(c, i);
    start_with(c, ANALYST, &faults[ANALYST], NULL);
    while (tend(c, downwards, &runs))
        assert_true(support_again(end));
    for (unsigned i = 0; i < servers_of(c); i++) {
        support_stop(&c->pid[i]);
        if (support_contains(file(c, "server%u.log", i), "start the server again")) {
            start(c, i);
            wait_ready(c, i);
            support_stop(&c->pid[i]);
        }
    }
}

/* --- what must be true then ------------------------------------------------------------------- */

static sqlite3 *open_store(const struct crashes_stage *c, unsigned i)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(file(c, "server%u/store.sqlite", i), &db), SQLITE_OK);
    return db;
}

/* The columns of a query's rows as one text. */
static void query(sqlite3 *db, const char *sql, char *out, size_t size)
{
    sqlite3_stmt *row;
    size_t n = 0;
    out[0] = '\0';
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW && n < size)
        for (int k = 0; k < sqlite3_column_count(row); k++)
            n += (size_t)snprintf(out + n, size - n, "%s|", sqlite3_column_text(row, k));
    assert_true(n < size);
    sqlite3_finalize(row);
}

/* The next round's values; returns how many bytes. All owners are counted; the values follow. */
static size_t next_values(sqlite3_stmt *row)
{
    int64_t owners;
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    size_t n = (size_t)sqlite3_column_bytes(row, 0);
    assert_true(n > sizeof owners);
    memcpy(&owners, sqlite3_column_blob(row, 0), sizeof owners);
    assert_true(owners == OWNERS || owners == 1);
    return n;
}

/* The forms of a copula; as integers their noise has a deviation of 2^20. */
static void forms_are_stored(const json_t *copula, enum noise_by by, sqlite3_stmt *row)
{
    const double kappa = measure_sigma(1, by) / json_number_value(json_object_get(copula, "sigma"));
    const size_t n = next_values(row) / sizeof(int64_t);
    json_t *form;
    size_t k;
    assert_int_equal(json_array_size(json_object_get(copula, "forms")), n - 1);
    json_array_foreach(json_object_get(copula, "forms"), k, form)
    {
        int64_t stored;
        memcpy(&stored, (const int64_t *)sqlite3_column_blob(row, 0) + 1 + k, sizeof stored);
        assert_true(fabs(json_number_value(json_object_get(form, "value")) * kappa -
                         (double)stored) < 1e-9 * fabs((double)stored) + 1e-9);
    }
}

/* The rounds' values, one after the other. */
struct stored {
    sqlite3_stmt *row;
    enum noise_by by;
    size_t at, n; /* bytes of this round's */
};

/* Released noisy counts, or scores, are the next that are stored, divided by their multiplier. */
static void are_stored(struct stored *s, const json_t *released)
{
    const double sigma = json_number_value(json_object_get(released, "sigma"));
    const double multiplier = round(measure_sigma(1, s->by) / sigma);
    json_t *v;
    size_t k;
    json_array_foreach(json_object_get(released, "values"), k, v)
    {
        int64_t stored;
        if (s->at == s->n) {
            s->n = next_values(s->row);
            s->at = sizeof stored;
        }
        memcpy(&stored, (const uint8_t *)sqlite3_column_blob(s->row, 0) + s->at, sizeof stored);
        s->at += sizeof stored;
        assert_true(json_number_value(v) == (double)stored / multiplier);
        assert_true(fabs(json_number_value(v)) < 1e6); /* shares that do not fit are near 2^64 */
    }
}

static void released_is_stored(const struct crashes_stage *c, sqlite3 *db)
{
    json_t *doc = json_load_file(file(c, "out/measurements.json"), 0, NULL), *m;
    const json_t *scores = json_array_get(json_object_get(doc, "scores"), 0);
    struct stored s = {.by = c->s.study->noise_by};
    size_t k;
    assert_non_null(doc);
    assert_true((scores != NULL) == (c->kind == SWEEPS));
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT opened FROM rounds ORDER BY number", -1, &s.row, NULL),
        SQLITE_OK);
    json_array_foreach(json_object_get(doc, "measurements"), k, m)
    {
        if (scores != NULL && json_object_get(m, "sweep") != NULL) {
            are_stored(&s, scores); /* what the set was chosen from */
            scores = NULL;
        }
        are_stored(&s, m);
    }
    assert_true(s.at == s.n && scores == NULL);
    assert_true(is_copula(c) || json_object_get(doc, "merged") != NULL);
    if (is_copula(c))
        forms_are_stored(json_object_get(doc, "copula"), s.by, s.row);
    assert_int_equal(sqlite3_step(s.row), SQLITE_DONE);
    sqlite3_finalize(s.row);
    json_decref(doc);
}

static void logs_fit(const struct crashes_stage *c)
{
    unlink(file(c, "audit.txt"));
    EXPECT(0, file(c, "audit.txt"), 20, "audit", file(c, "server0/audit.log"),
           file(c, "server1/audit.log"), servers_of(c) == 3 ? file(c, "server2/audit.log") : NULL);
}

static void check(struct crashes_stage *c)
{
    static const char rounds[] =
        "SELECT hex(head) FROM ledger UNION ALL"
        " SELECT hex(request) || standing || ifnull(selected, '') || hex(opened) FROM rounds";
    static char first[1 << 18], other[1 << 18];
    const char *const all = is_copula(c) ? "2|" : "3|";
    char text[4096];
    for (unsigned i = 0; i < servers_of(c); i++) {
        sqlite3 *db = open_store(c, i);
        query(db, "SELECT COUNT(*) FROM ledger", text, sizeof text);
        assert_string_equal(text, all);
        query(db, "SELECT COUNT(*) FROM rounds WHERE standing = 5", text, sizeof text);
        assert_string_equal(text, all);
        query(db, "SELECT MIN(attempts) > 0, SUM(attempts) <= 3 + 2, COUNT(entry) FROM rounds",
              text, sizeof text);
        assert_string_equal(text, c->kind == PROVED ? "0|1|0|" : "1|1|0|");
        query(db, "SELECT begun > 0, tries <= 2 * 3, failed FROM guard", text, sizeof text);
        assert_string_equal(text, c->kind == PROVED ? "1|1|0|" : "0|1|0|");
        query(db, "SELECT COUNT(*) FROM noise", text, sizeof text);
        assert_string_equal(text, "0|");
        query(db, "SELECT COUNT(*) FROM ahead", text, sizeof text);
        assert_string_equal(text, "0|");
        query(db, "SELECT COUNT(*) FROM uploads WHERE complete", text, sizeof text);
        assert_string_equal(text, c->kind == TWO_OWNER ? "1|" : "3|");
        /* results of encrypted rows are sent once, and after a fault at most once more */
        query(db, "SELECT COUNT(sealed), ifnull(MAX(attempts) <= 2, 1) FROM sorted", text,
              sizeof text);
        assert_string_equal(text, c->kind == TWO_ROWS ? "2|1|" : "0|1|");
        query(db,
              "SELECT CAST(substr(entry, 153) AS TEXT) FROM ledger ORDER BY number DESC LIMIT 1",
              text, sizeof text);
        /*
         * what a request costs follows from what was opened before, if only by the number of its
         * candidates: compared within one run alone
         */
        if (i == 0)
            memcpy(c->ledger, text, sizeof text);
        assert_string_equal(text, c->ledger);
        query(db, rounds, i == 0 ? first : other, sizeof first);
        if (i > 0)
            assert_string_equal(first, other);
        released_is_stored(c, db);
        sqlite3_close(db);
    }
    logs_fit(c);
}

/* --- the stage -------------------------------------------------------------------------------- */

static void share(struct crashes_stage *c, unsigned owner)
{
    OK(support_csv(file(c, "o%u.csv", owner), c->s.study->domain, 400 + 500 * owner, 10 + owner));
    EXPECT(0, file(c, "share.log"), 30, "share", c->s.path, file(c, "o%u.csv", owner), "--key",
           file(c, "o%u.key", owner));
}

/* How often each server syncs and writes in an undisturbed run. */
static void take_count(struct crashes_stage *c)
{
    const struct crashes_fault none = {.at = -1};
    double end = support_deadline(60);
    int code = 1;
    restore(c);
    for (unsigned i = 0; i < servers_of(c); i++) {
        start_with(c, i, &none, file(c, "tally%u", i));
        wait_ready(c, i);
    }
    start_with(c, ANALYST, &none, file(c, "tally%u", ANALYST));
    while (!has_ended(c, ANALYST, &code))
        assert_true(support_again(end));
    assert_int_equal(code, 0);
    for (unsigned i = 0; i < PEOPLE; i++) {
        struct bytes b CLEAN(bytes_clear) = {0};
        if (i >= servers_of(c) && i != ANALYST)
            continue;
        support_stop(&c->pid[i]);
        OK(file_read(file(c, "tally%u", i), 1 << 20, &b, &quiet));
        for (size_t k = 0; k < b.size; k++)
            *(b.data[k] == 's' ? &c->syncs[i] : &c->writes[i]) += 1;
    }
    check(c);
    print_message("# syncs %ld %ld %ld, analyst %ld; writes %ld %ld %ld\n", c->syncs[0],
                  c->syncs[1], c->syncs[2], c->syncs[3], c->writes[0], c->writes[1], c->writes[2]);
}

static int stage_of(void **state, enum crashes_kind kind)
{
    struct crashes_stage *c = memory_array(1, sizeof *c);
    c->kind = kind;
    c->ahead = kind == AHEAD ? "1" : "off";
    *state = c;
    c->s = STUDY(&quiet, .owners = kind == TWO_OWNER ? 1 : OWNERS, .rounds = ROUNDS,
                 .sweeps = kind == SWEEPS, .domain = is_copula(c) ? NULL : many_ages,
                 .two = kind >= TWO, .part = kind == TWO_ROWS ? encrypted : NULL,
                 .copula = is_copula(c) ? "method: copula\n" : NULL,
                 .more = kind == PROVED      ? "security: abort\n"
                         : kind == TWO_AIM   ? "noise_by: joint\n"
                         : kind == TWO_OWNER ? "noise_by: owner\n"
                                             : NULL);
    for (unsigned i = 0; i < servers_of(c); i++) {
        start(c, i);
        wait_ready(c, i);
    }
    for (unsigned owner = 0; owner < c->s.owners; owner++)
        share(c, owner);
    for (unsigned i = 0; kind == AHEAD && i < servers_of(c); i++)
        assert_true(support_wait_for(file(c, "server%u.log", i), "all that a run may take", 60));
    c->ahead = "off";
    assert_int_equal(mkdir(file(c, "out"), 0700), 0);
    for (unsigned i = 0; i < servers_of(c); i++) {
        assert_int_equal(support_stop(&c->pid[i]), 0);
        assert_int_equal(mkdir(file(c, "base%u", i), 0700), 0);
        OK(support_copy(file(c, "server%u/store.sqlite", i), file(c, "base%u/store.sqlite", i)));
        OK(support_copy(file(c, "server%u/audit.log", i), file(c, "base%u/audit.log", i)));
    }
    take_count(c);
    return 0;
}

/* cmocka's setup of a group. */
#define STAGE(name, kind)                                                                          \
    static int name(void **state)                                                                  \
    {                                                                                              \
        return stage_of(state, kind);                                                              \
    }
STAGE(stage_new, AIM)
STAGE(proving_stage_new, PROVED)
STAGE(copula_stage_new, COPULA)
STAGE(sweeps_stage_new, SWEEPS)
STAGE(ahead_stage_new, AHEAD)
STAGE(two_stage_new, TWO)
STAGE(two_aim_stage_new, TWO_AIM)
STAGE(two_owner_stage_new, TWO_OWNER)
STAGE(two_rows_stage_new, TWO_ROWS)

static int stage_free(void **state)
{
    struct crashes_stage *c CLEAN(memory_release) = *state;
    for (unsigned i = 0; i < PEOPLE; i++)
        support_kill(&c->pid[i]);
    support_study_free(&c->s);
    return 0;
}

static bool is_long(void)
{
    return getenv("TREFOIL_LONG") != NULL;
}

static void one(struct crashes_stage *c, unsigned who, const char *what, long at)
{
    struct crashes_fault faults[PEOPLE] = {{0}};
    faults[who] = (struct crashes_fault){what, at};
    play(c, faults, false);
    check(c);
}

/*
 * Before even steps and after odd ones, `apart` from each other. From one person to the next, the
 * first step is `each` later.
 */
static void killed_in_turn(struct crashes_stage *c, unsigned people, long from, long each,
                           long apart)
{
    for (unsigned who = 0; who < people; who++)
        for (long at = from + each * (long)who; at <= c->syncs[who]; at += apart)
            one(c, who, at % 2 == 0 ? "kill-before:" : "kill-after:", at);
}

/* --- tests ------------------------------------------------------------------------------------ */

/*
 * Killed before every even step and after every odd one; in a long run all of both. `make test`
 * takes only some steps, at intervals and starts that spread all tests over a run.
 */
static void killed_at(struct crashes_stage *c, unsigned who, long from, long apart)
{
    if (is_long())
        from = apart = 1;
    for (long at = from; at <= c->syncs[who]; at += apart) {
        if (is_long() || at % 2 == 0)
            one(c, who, "kill-before:", at);
        if (is_long() || at % 2 == 1)
            one(c, who, "kill-after:", at);
    }
}

TEST(a_server_is_killed_at_each_step)
{
    for (unsigned who = 0; who < STUDY_SERVERS_MOST; who++)
        killed_at(*state, who, 1 + 3 * (long)who, 26);
}

TEST(the_analyst_is_killed_at_each_step)
{
    killed_at(*state, ANALYST, 2, 17);
}

/* Two at once, at steps in a fixed sequence; restarted in either order. */
TEST(two_are_killed)
{
    struct crashes_stage *c = *state;
    uint64_t seed = 4;
    for (unsigned k = 0; k < (is_long() ? 80 : 2); k++) {
        struct crashes_fault faults[PEOPLE] = {{0}};
        unsigned a = k % PEOPLE, b = (a + 1 + k / PEOPLE % 3) % PEOPLE;
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        faults[a] = (struct crashes_fault){k % 2 ? "kill-before:" : "kill-after:",
                                           1 + (long)(seed >> 33) % c->syncs[a]};
        faults[b] = (struct crashes_fault){k % 3 ? "kill-after:" : "kill-before:",
                                           1 + (long)(seed >> 13 & 0xffff) % c->syncs[b]};
        play(c, faults, k % 2 != 0);
        check(c);
    }
}

TEST(a_sync_fails_at_each_step)
{
    struct crashes_stage *c = *state;
    for (unsigned who = 0; who < PEOPLE; who++)
        for (long at = is_long() ? 1 : 2 + 5 * (long)who; at <= c->syncs[who];
             at += is_long() ? 1 : 48)
            one(c, who, "sync:", at);
}

TEST(a_disk_is_full_at_each_write)
{
    struct crashes_stage *c = *state;
    for (unsigned who = 0; who < servers_of(c); who++)
        for (long at = is_long() ? 1 : 7 + 30 * (long)who; at <= c->writes[who];
             at += is_long() ? 3 : 220)
            one(c, who, "write+", at);
}

/*
 * If servers prove what they compute, each check begins and ends on disk. An interrupted check is a
 * try; each fault costs few tries, and none fails. The long tests play all of the above this way.
 */
static void whoever_proves_is_killed_at_each_step(void **state)
{
    killed_in_turn(*state, servers_of(*state), 1, is_long() ? 0 : 4, is_long() ? 1 : 42);
}

/* One step of each of the two rounds of a copula. The long tests play all of the above this way. */
static void a_copula_goes_on_at_each_step(void **state)
{
    killed_in_turn(*state, PEOPLE, 5, 3, 15);
}

/* Scores that were opened are opened again, with their noise, for the same estimates alone. */
static void sweeps_go_on_at_each_step(void **state)
{
    killed_in_turn(*state, PEOPLE, 4, 3, is_long() ? 1 : 19);
}

/*
 * A call fails once, at one place after another of the program: memory, links, the store, a
 * library.
 */
static void calls_fail(struct crashes_stage *c)
{
    static const char *const kinds[] = {"alloc@", "link@", "sql@", "library@"};
    for (unsigned who = 0; who < 2; who++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            for (long at = is_long() ? 1 : 15 + 10 * (long)k + 30 * (long)who; at <= 320;
                 at += is_long() ? 3 : 306)
                one(c, who, kinds[k], at);
}

/*
 * Each has its own noise staged before either binds: whichever is killed, the other's values, or
 * both servers' noise, give the same round again. In a long run a disk fails at each step as well.
 */
static void two_servers_go_on_at_each_step(void **state)
{
    struct crashes_stage *c = *state;
    for (unsigned who = 0; who < PEOPLE; who++)
        for (long at = 3 + 2 * (long)who; at <= c->syncs[who]; at += is_long() ? 1 : 22) {
            one(c, who, at % 2 == 0 ? "kill-before:" : "kill-after:", at);
            if (is_long())
                one(c, who, "sync:", at);
        }
    for (unsigned who = 0; is_long() && who < 2; who++)
        for (long at = 1; at <= c->writes[who]; at += 3)
            one(c, who, "write+", at);
    if (is_long() || c->kind == TWO_AIM)
        calls_fail(c);
}

/*
 * The provider hides results afresh for each attempt, and shares of two attempts do not add up:
 * whoever is killed, also in the middle of keeping its share, both have those of one session, or
 * count once more.
 */
static void encrypted_rows_are_counted_at_each_step(void **state)
{
    struct crashes_stage *c = *state;
    two_servers_go_on_at_each_step(state);
    for (unsigned who = 0; who < 2; who++)
        for (long at = is_long() ? 1 : 20; at <= (is_long() ? c->writes[who] : 40);
             at += is_long() ? 1 : 20)
            one(c, who, "kill-write:", at);
}

/* Blocks made before, then taken or dropped. The long tests play all of the above this way. */
static void noise_made_ahead_is_used_once_at_each_step(void **state)
{
    killed_in_turn(*state, PEOPLE, 2, 3, is_long() ? 1 : 34);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest proving[] = {cmocka_unit_test(whoever_proves_is_killed_at_each_step)};
    const struct CMUnitTest copula[] = {cmocka_unit_test(a_copula_goes_on_at_each_step)};
    const struct CMUnitTest sweeps[] = {cmocka_unit_test(sweeps_go_on_at_each_step)};
    const struct CMUnitTest ahead[] = {
        cmocka_unit_test(noise_made_ahead_is_used_once_at_each_step)};
    const struct CMUnitTest two[] = {cmocka_unit_test(two_servers_go_on_at_each_step)};
    const struct CMUnitTest rows[] = {cmocka_unit_test(encrypted_rows_are_counted_at_each_step)};
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return support_run_tests(stage_new, stage_free) +
           cmocka_run_group_tests(two, two_stage_new, stage_free) +
           cmocka_run_group_tests(two, two_aim_stage_new, stage_free) +
           cmocka_run_group_tests(two, two_owner_stage_new, stage_free) +
           cmocka_run_group_tests(rows, two_rows_stage_new, stage_free) +
           (is_long() ? support_run_tests(proving_stage_new, stage_free) +
                            support_run_tests(copula_stage_new, stage_free) +
                            support_run_tests(sweeps_stage_new, stage_free) +
                            support_run_tests(ahead_stage_new, stage_free)
                      : cmocka_run_group_tests(proving, proving_stage_new, stage_free) +
                            cmocka_run_group_tests(copula, copula_stage_new, stage_free) +
                            cmocka_run_group_tests(sweeps, sweeps_stage_new, stage_free) +
                            cmocka_run_group_tests(ahead, ahead_stage_new, stage_free));
}
