/* Studies over real processes of which some die, are restored from an old backup, or cheat. */
#include "tests/support/result.h"
#include "tests/support/scene.h"

#include "base/date.h"
#include "parties/exchange/price.h"
#include "parties/exchange/request.h"
#include "parties/owner/pack.h"
#include "parties/settings/three/split.h"
#include "parties/store/store_rounds.h"
#include "parties/study/study_uploads.h"

#include <sodium.h>

TEST(a_dead_server_is_an_error_in_time_and_can_come_back)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .rounds = 3));
    share_everything(&c);
    support_kill(&c.server[2]);
    assert_int_equal(run_study(&c, "a.key", 0), 4);
    assert_int_equal(access(file(&c, "out%u", 0), F_OK), 0); /* others can keep its place */
    /* what was on disk is still there */
    start_server(&c, 2, c.s.path);
    assert_int_equal(run_study(&c, "a.key", 1), 0);
    check_measurements(&c, file(&c, "out%u/measurements.json", 1),
                       c.s.study->workload->one_ways + 3);
    check_audit(&c, 3, 4);
}

static bool says(struct scene *c, unsigned server, const char *words)
{
    return support_contains(file(c, "server%u.log", server), words);
}

/*
 * The run waits for the server that was killed, and continues where it was. Neither the others nor
 * the analyst wait for a deadline before: these are longer than the test may take.
 */
TEST(a_server_killed_in_the_middle_of_a_run)
{
    struct scene c;
    for (unsigned victim = 0; victim < STUDY_SERVERS_MOST; victim++) {
        char words[64];
        c = scene_new(OPTIONS(.owners = OWNERS, .rounds = 40, .connect_s = 900, .round_s = 900,
                              .epsilon = 8));
        share_everything(&c);
        pid_t run = start_run(&c, "out", NULL);
        assert_true(support_wait_for(file(&c, "out.log"), "\n5/40 ", 20));
        support_kill(&c.server[victim]);
        snprintf(words, sizeof words, "server %u closed its connection", victim);
        for (unsigned i = 1; i < STUDY_SERVERS_MOST; i++)
            assert_true(support_wait_for(
                file(&c, "server%u.log", (victim + i) % STUDY_SERVERS_MOST), words, 20));
        /* the analyst is told which one, or sees that it is not there; no result is half written */
        snprintf(words, sizeof words, "server %u (", victim);
        assert_true(support_wait_for(file(&c, "out.log"), words, 20));
        assert_int_not_equal(access(file(&c, "out/synthetic.csv"), F_OK), 0);
        start_server(&c, victim, c.s.path);
        expect_code(support_wait(run, 60), 0, file(&c, "out.log"));
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            assert_false(says(&c, i, "silent"));
        assert_false(support_contains(file(&c, "out.log"), "did not answer"));
        check_measurements(&c, file(&c, "out/measurements.json"),
                           c.s.study->workload->one_ways + 40);
        /* and nothing was paid for twice: the budget is spent to the last round, and not beyond */
        expect_code(run_study(&c, "a.key", 1), 5, file(&c, "run%u.log", 1));
        scene_free(&c);
    }
}

/* One that hangs for less than the deadline is no loss. */
TEST(a_server_that_hangs_for_a_moment_is_waited_for)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 40, .epsilon = 8));
    share_everything(&c);
    pid_t run = start_run(&c, "out", NULL);
    assert_true(support_wait_for(file(&c, "out.log"), "\n5/40 ", 20));
    assert_int_equal(kill(c.server[1], SIGSTOP), 0);
    support_pause_ms(1000);
    assert_int_equal(kill(c.server[1], SIGCONT), 0);
    expect_code(support_wait(run, 60), 0, file(&c, "out.log"));
    assert_false(support_contains(file(&c, "out.log"), "trying again"));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_false(says(&c, i, "closed its connection") || says(&c, i, "silent"));
}

/* Nobody comes back: the run ends, and the same command continues it. */
TEST(a_run_gives_up_and_goes_on_later)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 40, .epsilon = 8));
    share_everything(&c);
    pid_t run = start_run(&c, "out", "--wait=1");
    assert_true(support_wait_for(file(&c, "out.log"), "\n3/40 ", 20));
    support_kill(&c.server[2]);
    expect_code(support_wait(run, 60), 4, file(&c, "out.log"));
    start_server(&c, 2, c.s.path);
    /* another run is refused because its budget is not whole, and leaves nothing behind */
    expect_code(run_study(&c, "a.key", 1), 5, file(&c, "run%u.log", 1));
    assert_int_not_equal(access(file(&c, "out%u", 1), F_OK), 0);
    run = start_run(&c, "out", NULL);
    /* one run per folder, and one at the servers */
    assert_true(support_wait_for(file(&c, "out.log"), "continuing the run", 20));
    expect_code(support_wait(start_run(&c, "out", "--rows=10"), 20), 5, file(&c, "out.log"));
    file_says(file(&c, "out.log"), "another trefoil run works in");
    expect_code(support_wait(run, 60), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 40);
}

/* How often a server opened something for this reason: again only for what it had not answered. */
static unsigned count_reason(struct scene *c, unsigned server, const char *reason)
{
    struct audit_file *log CLEAN(audit_file_free) = NULL;
    unsigned count = 0;
    OK(audit_file_read(&log, file(c, "server%u/audit.log", server), &quiet));
    for (size_t k = 0; k < log->entries; k++)
        count += log->entry[k].kind == AUDIT_OPEN && log->entry[k].opening.cost > 0 &&
                 strcmp(log->entry[k].opening.reason, reason) == 0;
    return count;
}

/* The analyst's program dies at once, wherever it is; and a run is done in parts. */
TEST(a_run_is_killed_and_extended)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .rounds = 12));
    share_everything(&c);
    pid_t run = start_run(&c, "out", "--rounds=4");
    assert_true(support_wait_for(file(&c, "out.log"), "\n2/12 ", 20));
    support_kill(&run);
    /* another run cannot take what is left of this one's */
    expect_code(run_study(&c, "a.key", 1), 5, file(&c, "run%u.log", 1));
    expect_code(support_wait(start_run(&c, "out", "--rounds=4"), 60), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 4);
    file_says(file(&c, "out.log"), "without --rounds goes on");
    /* servers that restart meanwhile change nothing */
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        restart_server(&c, i, c.s.path);
    expect_code(support_wait(start_run(&c, "out", NULL), 60), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 12);
    /* once more draws other rows, and asks nobody */
    assert_true(support_stop_all(c.server));
    expect_code(support_wait(start_run(&c, "out", "--rows=10"), 60), 0, file(&c, "out.log"));
}

/* What an assessment took is spent as well. */
static void expect_spent(const struct scene *c)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    double spent, rho;
    OK(file_read(file(c, "out.log"), 1 << 20, &text, &quiet));
    bytes_put_u8(&text, 0);
    const char *at = strstr((const char *)text.data, "budget: rho ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "budget: rho %lf of %lf is spent", &spent, &rho), 2);
    assert_true(fabs(spent / rho - 1) < 0.001);
}

/*
 * A run in sweeps that is stopped, killed and whose servers restart opens each round once, and its
 * model is that of its measurements, fit by fit.
 */
TEST(a_run_in_sweeps_is_killed_and_goes_on)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .sweeps = 3, .epsilon = 8,
                .more = "security: abort\nassess: 0.05\n"));
    share_everything(&c);
    expect_code(support_wait(start_run(&c, "out", "--rounds=2"), 120), 0, file(&c, "out.log"));
    file_says(file(&c, "out.log"), "\n2/6 ");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        restart_server(&c, i, c.s.path);
    unlink(file(&c, "out.log"));
    pid_t run = start_run(&c, "out", "--quick");
    assert_true(support_wait_for(file(&c, "out.log"), "\n3/6 ", 60));
    support_kill(&run);
    expect_code(support_wait(start_run(&c, "out", "--quick"), 120), 0, file(&c, "out.log"));
    json_auto_t *doc = json_load_file(file(&c, "out/measurements.json"), JSON_REJECT_DUPLICATES,
                                      NULL);
    assert_int_equal(json_array_size(json_object_get(doc, "scores")), 3);
    assert_true(json_is_number(
        json_object_get(json_object_get(json_object_get(doc, "assess"), "all"), "error")));
    check_measurements(&c, file(&c, "out/measurements.json"),
                       json_array_size(json_object_get(doc, "measurements")));
    file_says(file(&c, "out/report.html"), "Assessed at the end of the run");
    file_says(file(&c, "out/README.md"), "Assessed at the end of the run");
    EACH(file_says, file(&c, "out.log"), "Assessed at the end of the run", "budget left 0.0 %");
    expect_spent(&c);
    file_says(file(&c, "out/report.html"), "opened how far the model was from every marginal");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(count_reason(&c, i, "NOISY_SCORE"), 3 + 2);
    EXPECT(0, file(&c, "refit.log"), 60, "refit", file(&c, "out"), "--study", c.s.path, "--quick",
           "--out", file(&c, "again"));
    assert_true(support_same_files(file(&c, "out/model"), file(&c, "again/model")));
    json_auto_t *refitted = json_load_file(file(&c, "again/measurements.json"),
                                           JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_equal(json_object_get(doc, "assess"), json_object_get(refitted, "assess")));
    check_logs(&c);
    assert_true(support_stop_all(c.server)); /* once more asks nobody */
    expect_code(support_wait(start_run(&c, "out", "--quick"), 60), 0, file(&c, "out.log"));
    assert_true(support_same_files(file(&c, "out/model"), file(&c, "again/model")));
}

/*
 * The command that an interrupted run prints continues it. A signal that nohup has ignored stays
 * ignored.
 */
TEST(an_interrupted_run_says_how_to_go_on)
{
    static const char before[] = "nothing that it spent is lost:\n  trefoil ";
    char command[4 * SUPPORT_PATH];
    struct bytes said CLEAN(bytes_clear) = {0};
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 200, .epsilon = 8));
    share_everything(&c);
    signal(SIGHUP, SIG_IGN);
    pid_t run = start_run(&c, "it's out", "--rounds=6");
    signal(SIGHUP, SIG_DFL);
    assert_true(support_wait_for(file(&c, "it's out.log"), "\n1/200 ", 20));
    assert_int_equal(kill(run, SIGHUP), 0);
    assert_true(support_wait_for(file(&c, "it's out.log"), "\n2/200 ", 20));
    assert_int_equal(kill(run, SIGINT), 0);
    assert_int_equal(support_wait(run, 10), -1);
    OK(file_read(file(&c, "it's out.log"), 1 << 20, &said, &quiet));
    bytes_put_u8(&said, 0);
    char *at = strstr((char *)said.data, before);
    assert_non_null(at);
    at += sizeof before - 1;
    at[strcspn(at, "\n")] = '\0';
    support_says(at, "--rounds=6");
    snprintf(command, sizeof command, "\"$TREFOIL\" %s > %s", at, file(&c, "again.log"));
    ENDS(system(command), 0, file(&c, "again.log"), "\n6/200 ");
    assert_false(support_contains(file(&c, "again.log"), "\n0/200 "));
}

/* A server that cannot start leaves no folder behind; one that runs logs the time of each event. */
TEST(a_refused_server_leaves_nothing)
{
    const int64_t begun = date_now();
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS));
    struct bytes said CLEAN(bytes_clear) = {0};
    char date[DATE_SIZE];
    int64_t when;
    assert_int_not_equal(COMMAND(file(&c, "second.log"), 10, "serve", c.s.path, "--key",
                                 file(&c, "s%u.key", 0), "--folder", file(&c, "second"), "--listen",
                                 c.s.host),
                         0); /* its ports are in use */
    assert_int_not_equal(access(file(&c, "second"), F_OK), 0);
    assert_int_equal(access(file(&c, "server%u", 0), F_OK), 0);
    OK(file_read(file(&c, "server%u.log", 0), 1 << 20, &said, &quiet));
    bytes_put_u8(&said, 0);
    memcpy(date, said.data, DATE_SIZE - 1);
    date[DATE_SIZE - 1] = '\0';
    assert_true(date_parse(date, &when));
    assert_true(when >= begun && when <= date_now());
    assert_int_equal(said.data[DATE_SIZE - 1], ' ');
}

/*
 * The analyst's disk is lost in the middle of a run: the servers give again what they opened, and
 * the run goes on.
 */
/* A program that dies while it asks leaves servers that it asked waiting for another. */
static void wait_for_the_end(struct scene *c, unsigned i)
{
    const double end = support_deadline(20);
    while (!support_contains(file(c, "server%u.log", i),
                             "nothing was heard from the run's program for too long") &&
           !support_contains(file(c, "server%u.log", i), "gave up in exchange"))
        assert_true(support_again(end));
}

TEST(a_run_whose_folder_is_lost_goes_on)
{
    static const char option[] = "--continue ";
    char text[64] = "--continue=";
    struct bytes words = {0};
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 9, .connect_s = 3));
    share_everything(&c);
    pid_t run = start_run(&c, "lost", "--rounds=5");
    assert_true(support_wait_for(file(&c, "lost.log"), "\n3/9 ", 20));
    support_kill(&run);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        wait_for_the_end(&c, i);
    /* a number of no run begins nothing */
    run = start_run(&c, "found", "--continue=000102030405060708090a0b0c0d0e0f");
    expect_code(support_wait(run, 30), 5, file(&c, "found.log"));
    file_says(file(&c, "found.log"), "the servers know no round of the run");
    /* without a number, the right one is printed */
    run = start_run(&c, "other", NULL);
    expect_code(support_wait(run, 30), 5, file(&c, "other.log"));
    OK(file_read(file(&c, "other.log"), 1 << 20, &words, &quiet));
    bytes_put_u8(&words, 0);
    const char *at = strstr((const char *)words.data, option);
    assert_non_null(at);
    memcpy(text + sizeof option - 1, at + sizeof option - 1, 2 * REQUEST_RUN_SIZE);
    bytes_clear(&words);
    expect_code(support_wait(start_run(&c, "again", text), 60), 0, file(&c, "again.log"));
    check_measurements(&c, file(&c, "again/measurements.json"), c.s.study->workload->one_ways + 9);
    expect_code(support_wait(start_run(&c, "again", text), 60), 0, file(&c, "again.log"));
    run = start_run(&c, "again", "--continue=000102030405060708090a0b0c0d0e0f");
    expect_code(support_wait(run, 30), 3, file(&c, "again.log"));
    file_says(file(&c, "again.log"), "to another run than the one that --continue names");
    /* and once more when it has ended: the same to the last digit */
    expect_code(support_wait(start_run(&c, "more", text), 60), 0, file(&c, "more.log"));
    OK(file_read(file(&c, "again/measurements.json"), 1 << 24, &words, &quiet));
    bytes_put_u8(&words, 0);
    file_says(file(&c, "more/measurements.json"), (const char *)words.data);
    bytes_clear(&words);
    check_audit(&c, 9, 10); /* each thing was opened and paid for once */
}

/* --- the restored ----------------------------------------------------------------------------- */

/* The folder of a server that is stopped, to another place or back. */
static void copy_folder(struct scene *c, const char *from, const char *to)
{
    OK(file_folder(file(c, "%s", to), &quiet));
    OK(support_copy(file(c, "%s/store.sqlite", from), file(c, "%s/store.sqlite", to)));
    OK(support_copy(file(c, "%s/audit.log", from), file(c, "%s/audit.log", to)));
    unlink(file(c, "%s/store.sqlite-wal", to));
}

static const char *folder_of(unsigned server)
{
    static const char *const folder[] = {"server0", "server1", "server2"};
    return folder[server];
}

static int recover(struct scene *c, unsigned i)
{
    return COMMAND(file(c, "recover.log"), 20, "recover", c->s.path, "--key", file(c, "s%u.key", i),
                   "--folder", file(c, "server%u", i));
}

/*
 * An old backup is refused, with advice; following it helps, and the run goes on to its end, also
 * where servers prove what they compute.
 */
TEST(a_restored_server_is_refused_and_recovers)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 9, .more = "security: abort\n"));
    share_everything(&c);
    expect_code(support_wait(start_run(&c, "out", "--rounds=2"), 30), 0, file(&c, "out.log"));
    assert_int_equal(support_stop(&c.server[1]), 0);
    copy_folder(&c, "server1", "backup");
    start_server(&c, 1, c.s.path);
    expect_code(support_wait(start_run(&c, "out", "--rounds=6"), 30), 0, file(&c, "out.log"));
    /* nothing to do for a server that lacks nothing */
    assert_int_equal(support_stop(&c.server[1]), 0);
    expect_code(recover(&c, 1), 0, file(&c, "recover.log"));
    file_says(file(&c, "recover.log"), "nothing is missing");
    copy_folder(&c, "backup", "server1");
    start_server(&c, 1, c.s.path);
    expect_code(recover(&c, 1), 1, file(&c, "recover.log")); /* it runs */
    expect_code(support_wait(start_run(&c, "out", NULL), 30), 3, file(&c, "out.log"));
    file_says(file(&c, "out.log"), "an old copy of its folder was put in place");
    /* an analyst whom nobody told of heads hears of it from the servers */
    assert_int_equal(unlink(file(&c, "out/heads")), 0);
    assert_int_equal(unlink(file(&c, "a.test.heads")), 0);
    expect_code(support_wait(start_run(&c, "out", NULL), 30), 3, file(&c, "out.log"));
    file_says(file(&c, "out.log"), "server 1 was restored from an old backup. Its operator should "
                                   "stop it and run trefoil recover");
    assert_int_equal(support_stop(&c.server[1]), 0);
    expect_code(recover(&c, 1), 0, file(&c, "recover.log"));
    file_says(file(&c, "recover.log"), "took over debits 4 to 7");
    start_server(&c, 1, c.s.path);
    expect_code(support_wait(start_run(&c, "out", NULL), 30), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 9);
    EXPECT(0, file(&c, "audit.txt"), 10, "audit", file(&c, "server0/audit.log"),
           file(&c, "server1/audit.log"), file(&c, "server2/audit.log"));
    file_says(file(&c, "audit.txt"), "the server was recovered since");
}

/* A server that is stopped gets a debit that no other has: a lie has made it take that over. */
static void mislead(struct scene *c, unsigned i)
{
    const struct store_round round = {.run = {(uint8_t)(9 + i)}, .stake.of = {7}};
    const struct vouchers none = {{{0}}};
    struct identity *me CLEAN(identity_free) = NULL;
    struct store *store = NULL;
    struct ledger_limits limits;
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_head head;
    struct bytes noise CLEAN(bytes_clear) = {0}, ids CLEAN(bytes_clear) = {0};
    uint8_t next[32] = {0};
    mpq_t cost;
    mpq_init(cost);
    mpq_set_ui(cost, 1, 1000000);
    bytes_put_string(&noise, "noise");
    bytes_extend(&ids, UPLOAD_ID_SIZE);
    OK(identity_load(&me, file(c, "s%u.key", i), &quiet));
    OK(store_open(&store, file(c, "server%u", i), c->s.study, &three_split, me, i, &quiet));
    OK(price_limits(c->s.study, &limits, &quiet));
    OK(store_ledger(store, &limits, &ledger, &head));
    OK(ledger_debit(ledger, cost, &quiet));
    OK(store_stage(store, &round, ledger, &ids, &noise, next));
    OK(store_bind(store, &round, &none, &head));
    store_close(&store);
    mpq_clear(cost);
}

/*
 * Two servers that have different last debits, of which nothing was opened: recover drops one after
 * the other, and the run goes on. Whoever has seen them is told to ask before it goes on.
 */
TEST(ledgers_that_a_lie_has_forked_mend)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 3, .more = "security: abort\n"));
    share_everything(&c);
    expect_code(support_wait(start_run(&c, "out", "--rounds=1"), 30), 0, file(&c, "out.log"));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i += 2) {
        assert_int_equal(support_stop(&c.server[i]), 0);
        mislead(&c, i);
        start_server(&c, i, c.s.path);
    }
    expect_code(support_wait(start_run(&c, "out", NULL), 30), 3, file(&c, "out.log"));
    file_says(file(&c, "out.log"), "have different privacy ledgers of 3 debits");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i += 2) {
        assert_int_equal(support_stop(&c.server[i]), 0);
        expect_code(recover(&c, i), 0, file(&c, "recover.log"));
        file_says(file(&c, "recover.log"), "dropped debit 3, which no other");
        start_server(&c, i, c.s.path);
        unlink(file(&c, "recover.log"));
    }
    expect_code(support_wait(start_run(&c, "out", NULL), 30), 3, file(&c, "out.log"));
    file_says(file(&c, "out.log"), "that it has 2");
    assert_int_equal(unlink(file(&c, "out/heads")), 0);
    assert_int_equal(unlink(file(&c, "a.test.heads")), 0);
    expect_code(support_wait(start_run(&c, "out", NULL), 30), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 3);
    check_audit(&c, 3, 4);
}

/* A run has counted an upload that the restored server never saw: it is not left out silently. */
TEST(rows_that_a_restored_server_lacks_are_missed)
{
    for (unsigned victim = 0; victim < STUDY_SERVERS_MOST; victim++) {
        struct scene c CLEAN(scene_free) = scene_new(
            OPTIONS(.owners = OWNERS, .rounds = 6, .epsilon = 8,
                    .more = "min_owners: 2\nlate_uploads: join\n"));
        char words[256];
        expect_code(share_own(&c, 0), 0, file(&c, "share0.log"));
        expect_code(share_own(&c, 1), 0, file(&c, "share1.log"));
        assert_int_equal(support_stop(&c.server[victim]), 0);
        copy_folder(&c, folder_of(victim), "backup");
        start_server(&c, victim, c.s.path);
        expect_code(share_own(&c, 2), 0, file(&c, "share2.log"));
        expect_code(support_wait(start_run(&c, "out", "--rounds=2"), 30), 0, file(&c, "out.log"));
        assert_int_equal(support_stop(&c.server[victim]), 0);
        copy_folder(&c, "backup", folder_of(victim));
        expect_code(recover(&c, victim), 0, file(&c, "recover.log"));
        start_server(&c, victim, c.s.path);
        expect_code(support_wait(start_run(&c, "out", NULL), 30), 3, file(&c, "out.log"));
        snprintf(words, sizeof words,
                 "this run has counted the rows of o2, but server %u does not hold them any more",
                 victim);
        file_says(file(&c, "out.log"), words);
        expect_code(share_own(&c, 2), 0, file(&c, "share2.log"));
        expect_code(support_wait(start_run(&c, "out", NULL), 30), 0, file(&c, "out.log"));
        check_measurements(&c, file(&c, "out/measurements.json"),
                           c.s.study->workload->one_ways + 6);
    }
}

/* Programs started before fault_over() have a fault when they write under a path. */
static void fault(struct scene *c, const char *what, const char *path)
{
    support_preload();
    setenv("FAULT_UNDER", file(c, "%s", path), 1);
    setenv("FAULT", what, 1);
}

static void fault_over(void)
{
    support_unload();
    unsetenv("FAULT_UNDER");
    unsetenv("FAULT");
}

/* A server that is killed before its n-th write to disk is there. */
static void start_doomed(struct scene *c, unsigned i, unsigned n)
{
    char what[32], folder[16];
    snprintf(what, sizeof what, "kill-before:%u", n);
    snprintf(folder, sizeof folder, "server%u/", i);
    unlink(file(c, "server%u.log", i));
    fault(c, what, folder);
    c->server[i] = support_serve(&c->s, i, c->s.path);
    fault_over();
}

/*
 * A server dies, and its disk with it, when a round has been debited and nothing of it opened. What
 * it takes over from the others is the debit alone: the round is asked for anew, and its cost is
 * lost. False if they had opened it before they noticed.
 */
static bool loses_a_round(struct scene *c)
{
    bool debited = false;
    int code;
    share_everything(c);
    assert_int_equal(support_stop(&c->server[2]), 0);
    copy_folder(c, "server2", "backup");
    for (unsigned n = 3; n < 20 && !debited; n++) { /* before, it is not ready */
        start_doomed(c, 2, n);
        /*
         * One server alone may have debited the round before: recovery takes only what both have.
         * They both have it from the next session on, in which the restored server is refused.
         */
        code = support_wait(start_run(c, "out", "--wait=0"), 30);
        if (!support_contains(file(c, "out.log"), "which server 2 has not prepared"))
            expect_code(code, 4, file(c, "out.log"));
        support_kill(&c->server[2]);
        copy_folder(c, "backup", "server2");
        unlink(file(c, "recover.log"));
        expect_code(recover(c, 2), 0, file(c, "recover.log"));
        debited = support_contains(file(c, "recover.log"), "took over");
    }
    assert_true(debited);
    start_server(c, 2, c->s.path);
    /* a full disk keeps the analyst from noting that the round is asked for anew, so it is not */
    unlink(file(c, "out.log"));
    fault(c, "write:1", "out/run.state");
    expect_code(support_wait(start_run(c, "out", NULL), 30), 1, file(c, "out.log"));
    fault_over();
    file_says(file(c, "out.log"), "No space left on device");
    return support_contains(file(c, "out.log"), "round 0 is lost: what it took");
}

TEST(a_round_that_a_server_has_lost_is_asked_anew)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .rounds = 12));
    for (unsigned more = 5; !loses_a_round(&c); more--) {
        assert_true(more > 0);
        scene_free(&c);
        c = scene_new(OPTIONS(.owners = OWNERS, .rounds = 12));
    }
    for (unsigned again = 0; again < 2; again++) { /* the second time nobody is asked */
        unlink(file(&c, "out.log"));
        expect_code(support_wait(start_run(&c, "out", NULL), 30), 0, file(&c, "out.log"));
        assert_int_equal(support_contains(file(&c, "out.log"),
                                          "round 0 is lost: what it took of the budget is spent, "
                                          "and it has no answer"),
                         again == 0);
        /*
         * round 0 cost 5 / 17 of 0.9 of the budget, twice; each later round costs 0.9 / 17 + 0.1 /
         * 12 of it
         */
        file_says(file(&c, "out.log"), "the run ends with round 7 of 12");
        file_says(file(&c, "out.log"), "is left, too little for a run");
        assert_int_equal(support_contains(file(&c, "out.log"), "error: "), again == 0);
        check_measurements(&c, file(&c, "out/measurements.json"),
                           c.s.study->workload->one_ways + 7);
    }
}

/* --- the hostile ------------------------------------------------------------------------------ */

static void put_field(crypto_hash_sha256_state *hash, const void *p, size_t n)
{
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)n >> (8 * i));
    crypto_hash_sha256_update(hash, length, sizeof length);
    crypto_hash_sha256_update(hash, p, n);
}

/* Gives an upload another id, and commitments that match it: docs/formats.md. */
static void take_on_id(struct upload parts[3], const uint8_t terms[32], const uint8_t *id)
{
    for (unsigned c = 0; c < 3; c++) {
        const struct upload *holder = &parts[c == 2 ? 1 : 0];
        unsigned slot = c == 0 ? 0 : 1;
        uint8_t number = (uint8_t)c, commitment[32];
        crypto_hash_sha256_state hash;
        crypto_hash_sha256_init(&hash);
        put_field(&hash, "trefoil-c", 9);
        put_field(&hash, terms, 32);
        put_field(&hash, id, UPLOAD_ID_SIZE);
        put_field(&hash, &number, 1);
        put_field(&hash, holder->salt[slot], UPLOAD_SALT_SIZE);
        if (c == 2)
            put_field(&hash, holder->vector.data, holder->vector.size);
        else
            put_field(&hash, holder->seed[slot], SPLIT_SEED);
        crypto_hash_sha256_final(&hash, commitment);
        for (unsigned i = 0; i < 3; i++)
            memcpy(parts[i].commitment[c], commitment, sizeof commitment);
    }
    for (unsigned i = 0; i < 3; i++)
        memcpy(parts[i].id, id, UPLOAD_ID_SIZE);
}

/* Owner 1's upload of `rows` rows. */
static void make_upload(struct scene *c, size_t rows, struct identity **me, struct upload parts[3])
{
    const struct study *study = c->s.study;
    struct table *t CLEAN(table_free) = NULL;
    struct bytes packed CLEAN(bytes_clear) = {0};
    OK(identity_load(me, file(c, "o1.key"), &quiet));
    OK(support_table(&t, study->domain, rows, 77));
    OK(pack_table(study, 1, study_upload_form(study, 1), t, &packed));
    OK(upload_make(parts, &three_split, *me, 1, (const uint8_t[UPLOAD_SECRET_SIZE]){1}, study,
                   study_upload_form(study, 1), &packed));
}

static void parts_clear(struct upload parts[3], struct identity **me)
{
    for (unsigned i = 0; i < 3; i++)
        upload_clear(&parts[i]);
    identity_free(me);
}

/* Malformed, or different from its commitment: refused by each server, which names the owner. */
static void what_an_owner_may_not_send_is_refused_by_name(struct scene *c)
{
    struct upload parts[3];
    struct identity *me = NULL;
    make_upload(c, 100, &me, parts);
    bytes_put_u8(&parts[1].vector, 0); /* too long */
    assert_int_equal(scene_send(c, me, 1, &parts[1]), ERR_FORMAT);
    parts[1].vector.size -= 2; /* too short */
    assert_int_equal(scene_send(c, me, 1, &parts[1]), ERR_FORMAT);
    file_says(file(c, "server1.log"), "upload of o1: the upload does not have");
    parts[0].form++; /* as many bits a cell more */
    assert_int_equal(scene_send(c, me, 0, &parts[0]), ERR_FORMAT);
    parts[0].form--;
    parts[0].seed[0][3] ^= 1;
    assert_int_equal(scene_send(c, me, 0, &parts[0]), ERR_DATA);
    file_says(file(c, "server0.log"), "upload of o1: the upload does not fit");
    parts_clear(parts, &me);
}

/* Two uploads, each valid, under one id: server 0 holds one of them, servers 1 and 2 the other. */
static void two_uploads_under_one_id(struct scene *c)
{
    struct upload one[3], other[3];
    struct identity *me = NULL, *again = NULL;
    make_upload(c, 100, &me, one);
    make_upload(c, 900, &again, other);
    take_on_id(other, c->s.study->terms.digest, one[0].id);
    OK(scene_send(c, me, 0, &other[0]));
    OK(scene_send(c, me, 1, &one[1]));
    scene_send(c, me, 2, &one[2]); /* stored; answered when the vector has arrived */
    assert_true(support_wait_for(file(c, "server2.log"), "is complete", 10));
    parts_clear(one, &me);
    parts_clear(other, &again);
}

static unsigned how_often(const char *path, const char *text)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    unsigned count = 0;
    OK(file_read(path, 1 << 20, &b, NULL));
    bytes_put_u8(&b, 0);
    for (const char *at = (const char *)b.data; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

TEST(a_hostile_owner_is_named_and_left_out)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 24, .epsilon = 8,
                .more = "min_owners: 2\nlate_uploads: join\n"));
    what_an_owner_may_not_send_is_refused_by_name(&c);
    two_uploads_under_one_id(&c);
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(share_own(&c, 2), 0);
    assert_int_equal(run_study(&c, "a.key", 0), 0);
    file_says(file(&c, "server0.log"), "o1 sent server 1 another upload than this one; it is left");
    file_says(file(&c, "server1.log"), "o1 sent server 0 another upload");
    /* when the run begins, and then in every eleventh of the 25 rounds, in case it has changed */
    assert_int_equal(how_often(file(&c, "server0.log"), "o1 sent server 1 another upload"), 1 + 3);
    /* the result is of the others, whole */
    leave_out(&c, 1);
    check_measurements(&c, file(&c, "out%u/measurements.json", 0),
                       c.s.study->workload->one_ways + 24);
}
