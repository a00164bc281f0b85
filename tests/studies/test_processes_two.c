/*
 * A provider and a keeper over real processes: what comes out, what is logged, what it costs; a run
 * that goes on, a server that comes back from an old backup, and the end of a study.
 */
#include "harness/cmocka.h"
#include "harness/process.h"
#include "parties/server/round.h"
#include "tests/support/scene.h"

#include <sys/stat.h>
#include <unistd.h>

static const char copula[] = "method: copula\n";

static int run_into(struct scene *c, const char *out, const char *more, const char *value)
{
    return COMMAND(file(c, "%s.log", out), 60, "run", c->s.path, "--key", file(c, "a.key"), "--out",
                   file(c, "%s", out), more, value);
}

static json_int_t sum_of(const json_t *server, const char *key)
{
    json_int_t sum = 0;
    const char *phase;
    json_t *counters;
    json_object_foreach((json_t *)(uintptr_t)server, phase, counters)
        sum += json_integer_value(json_object_get(counters, key));
    return sum;
}

/*
 * A value is one word from each, and a round three exchanges: agree, confirm, values.
 */
static void check_costs(struct scene *c, const char *path, size_t values)
{
    json_t *stats = json_load_file(path, 0, NULL), *server;
    size_t i;
    assert_int_equal(json_array_size(json_object_get(stats, "servers")), 2);
    json_array_foreach(json_object_get(stats, "servers"), i, server)
    {
        const json_t *measure = json_object_get(server, "measure");
        assert_int_equal(json_integer_value(json_object_get(measure, "rounds")), 2 * 3);
        assert_int_equal(json_integer_value(json_object_get(measure, "payload_sent")),
                         8 * values + 2 * (ROUND_AGREE_SIZE + ROUND_CONFIRM_SIZE));
        assert_int_equal(sum_of(server, "rounds"), 10);
        assert_int_equal(
            json_integer_value(json_object_get(json_object_get(server, "noise"), "rounds")), 0);
    }
    json_decref(stats);
}

static size_t values_of(struct scene *c, const char *path)
{
    json_t *doc = json_load_file(path, 0, NULL), *m;
    size_t values = json_array_size(json_object_get(json_object_get(doc, "copula"), "forms")), k;
    json_array_foreach(json_object_get(doc, "measurements"), k, m)
        values += json_array_size(json_object_get(m, "values"));
    json_decref(doc);
    return values;
}

TEST(a_provider_and_a_keeper_make_a_copula)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .two = true, .copula = copula, .epsilon = 5));
    struct bytes first CLEAN(bytes_clear) = {0}, again CLEAN(bytes_clear) = {0};
    share_everything(&c);
    EACH(file_says, file(&c, "share0.log"), "server 0 (s0) gets the masked counts",
         "server 1 (s1) gets a random seed", "both servers have stored the upload");
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), 5);
    check_logs(&c);
    check_costs(&c, file(&c, "out/stats.json"), values_of(&c, file(&c, "out/measurements.json")));
    EACH(file_says, file(&c, "out/report.html"), "A provider and a keeper, ",
         "Gaussian noise of each, which the other does not know");
    /* again without a server: all is in the folder */
    assert_true(support_stop_all(c.server));
    assert_int_equal(file_read(file(&c, "out/synthetic.csv"), 1 << 20, &first, NULL), ERR_OK);
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    assert_int_equal(file_read(file(&c, "out/synthetic.csv"), 1 << 20, &again, NULL), ERR_OK);
    assert_int_equal(first.size, again.size);
    assert_memory_equal(first.data, again.data, first.size);
}

/*
 * A selection takes six exchanges, on two of which agree and confirm ride, and its measurement none
 * of its own.
 */
TEST(a_provider_and_a_keeper_select)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .two = true, .rounds = 2, .epsilon = 2));
    json_t *stats, *server;
    size_t i;
    share_everything(&c);
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), 5 + 2);
    check_audit(&c, 2, 3);
    stats = json_load_file(file(&c, "out/stats.json"), 0, NULL);
    json_array_foreach(json_object_get(stats, "servers"), i, server)
    {
        const json_t *select = json_object_get(server, "select"),
                     *measure = json_object_get(server, "measure");
        assert_int_equal(json_integer_value(json_object_get(select, "rounds")), 2 * 5);
        assert_int_equal(json_integer_value(json_object_get(measure, "rounds")), 3 + 2);
    }
    json_decref(stats);
}

/* Its noise is made before each round, by both. */
TEST(a_provider_and_a_keeper_make_joint_noise)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .two = true, .rounds = 2,
                                                         .epsilon = 2,
                                                         .more = "noise_by: joint\n"));
    json_t *stats, *server;
    size_t i;
    share_everything(&c);
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), 5 + 2);
    check_audit(&c, 2, 3);
    stats = json_load_file(file(&c, "out/stats.json"), 0, NULL);
    json_array_foreach(json_object_get(stats, "servers"), i, server)
    {
        const json_t *noise = json_object_get(server, "noise");
        assert_in_range(json_integer_value(json_object_get(noise, "rounds")), 2, 3 * 2);
        assert_true(json_integer_value(json_object_get(noise, "payload_sent")) >=
                    (i == 0 ? 22000 : 8000) * 20);
    }
    json_decref(stats);
    EXPECT(0, file(&c, "plan.log"), 20, "plan", c.s.path);
    EACH(file_says, file(&c, "plan.log"), "together make at most", "deviates 1.02 times",
         "For joint Gaussians the provider sends");
    EXPECT(0, file(&c, "check.log"), 20, "check", c.s.path);
    file_says(file(&c, "check.log"), "(noise_by: joint)");
}

TEST(a_provider_and_a_keeper_make_sweeps)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .two = true, .sweeps = 1, .epsilon = 3));
    json_t *doc, *scores;
    char sigma[32];
    share_everything(&c);
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    check_logs(&c);
    doc = json_load_file(file(&c, "out/measurements.json"), 0, NULL);
    check_measurements(&c, file(&c, "out/measurements.json"),
                       json_array_size(json_object_get(doc, "measurements")));
    scores = json_array_get(json_object_get(doc, "scores"), 0);
    assert_int_equal(json_array_size(json_object_get(scores, "attributes")), 15);
    /* the log has the deviation of both servers' noise, as the result has */
    snprintf(sigma, sizeof sigma, " %.6g:", json_number_value(json_object_get(scores, "sigma")));
    file_says(file(&c, "server0/audit.log"), sigma);
    json_decref(doc);
}

/* An owner that shares while a run waits is counted from its next round on. */
TEST(rows_that_come_late_join_a_run_of_two)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .two = true, .rounds = 2, .epsilon = 2,
                .more = "late_uploads: join\nmin_owners: 2\n"));
    for (unsigned o = 0; o < 2; o++)
        expect_code(share_own(&c, o), 0, file(&c, "share%u.log", o));
    expect_code(run_into(&c, "out", "--rounds", "1"), 0, file(&c, "out.log"));
    assert_false(support_contains(file(&c, "out.log"), "3 of 3"));
    expect_code(share_own(&c, 2), 0, file(&c, "share2.log"));
    unlink(file(&c, "out.log"));
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    file_says(file(&c, "out.log"), "owners: the rows of 3 of 3 are counted");
    check_logs(&c);
}

/* What a killed keeper had, the provider has too: its debits, and that they are bound. */
TEST(a_keeper_without_a_backup_takes_the_providers_ledger)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .two = true, .copula = copula));
    share_everything(&c);
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    assert_int_equal(support_stop(&c.server[1]), 0);
    assert_int_equal(rename(file(&c, "server1"), file(&c, "lost")), 0);
    assert_int_equal(mkdir(file(&c, "server1"), 0700), 0);
    for (unsigned again = 0; again < 2; again++)
        EXPECT(0, file(&c, "recover.log"), 30, "recover", c.s.path, "--key", file(&c, "s1.key"),
               "--folder", file(&c, "server1"));
    file_says(file(&c, "recover.log"), "debits that the other server has");
    unlink(file(&c, "server1.log"));
    start_server(&c, 1, c.s.path);
    share_everything(&c);
    assert_int_equal(run_into(&c, "second", NULL, NULL), 5); /* the budget is spent */
    file_says(file(&c, "second.log"), "budget");
}

/* Owners' rows are deleted at both, and both sign that. */
TEST(two_servers_purge)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = 2, .two = true, .copula = copula, .more = "retain_days: 1\n"));
    assert_int_equal(share_own(&c, 0), 0);
    assert_true(support_stop_all(c.server));
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(COMMAND(file(&c, "purge.log"), 20, "serve", c.s.path, "--key",
                                 file(&c, "s%u.key", i), "--folder", file(&c, "server%u", i),
                                 "--purge"),
                         5); /* not before the day is over */
    file_says(file(&c, "purge.log"), "purge");
}

/* --- what does not go with them --------------------------------------------------------------- */

TEST(two_servers_take_no_ranks_and_one_lane)
{
    struct scene c CLEAN(scene_free) = scene_without_servers(
        OPTIONS(.owners = 2, .two = true, .copula = copula));
    assert_int_equal(COMMAND(file(&c, "said.log"), 20, "serve", c.s.path, "--key",
                             file(&c, "s0.key"), "--folder", file(&c, "server0"), "--lanes", "2"),
                     2);
    file_says(file(&c, "said.log"), "--lanes 2 is more than the 1");
    assert_int_equal(COMMAND(file(&c, "said.log"), 20, "plan", c.s.path, "--ranks", "2"), 2);
    file_says(file(&c, "said.log"), "--ranks goes with three servers");
    EXPECT(0, file(&c, "plan.log"), 20, "plan", c.s.path);
    EACH(file_says, file(&c, "plan.log"), "the provider keeps", "deviates 1.41 times as much",
         "each sends the other 8 bytes");
    EXPECT(0, file(&c, "board.log"), 20, "check", c.s.path, "--board");
    EACH(file_says, file(&c, "board.log"), "- Provider s0 ", "- Keeper s1 ",
         "There is no third server that could notice.");
    EXPECT(0, file(&c, "check.log"), 20, "check", c.s.path, "--key", file(&c, "s1.key"));
    EACH(file_says, file(&c, "check.log"), "  provider s0 ", "  keeper s1 ",
         "The two together can read each owner's counts", "You are the keeper, s1.",
         "Three\n  servers can prove to each other");
    assert_false(support_contains(file(&c, "check.log"), "security: abort the run"));
}
