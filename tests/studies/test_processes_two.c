/*
 * A provider and a keeper over real processes: what comes out, what is logged, what it costs; a run
 * that goes on, a server that comes back from an old backup, and the end of a study.
 */
#include "mpc/pair/pair.h"
#include "parties/exchange/price.h"
#include "parties/owner/courier.h"
#include "parties/owner/pack.h"
#include "parties/server/round.h"
#include "parties/settings/two/split.h"
#include "tests/support/caller.h"
#include "tests/support/scene.h"
#include "tests/support/store.h"

static const char copula[] = "method: copula\n";

static const char *const encrypted[OWNERS] = {
    "    max_rows: 1000\n    as: records\n", NULL,
    "    max_rows: 4000\n    pad_to: 5000\n    as: records\n"};

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
    OK(file_read(file(&c, "out/synthetic.csv"), 1 << 20, &first, NULL));
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    OK(file_read(file(&c, "out/synthetic.csv"), 1 << 20, &again, NULL));
    SAME_BYTES(&first, again.data, again.size);
}

static void run_two_rounds(struct scene *c, json_t **stats)
{
    share_everything(c);
    expect_code(run_into(c, "out", NULL, NULL), 0, file(c, "out.log"));
    check_measurements(c, file(c, "out/measurements.json"), 5 + 2);
    check_audit(c, 2, 3);
    *stats = json_load_file(file(c, "out/stats.json"), 0, NULL);
}

/*
 * A selection takes six exchanges, on two of which agree and confirm ride, and its measurement none
 * of its own.
 */
TEST(a_provider_and_a_keeper_select)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .two = true, .rounds = 2, .epsilon = 2));
    json_auto_t *stats = NULL;
    json_t *server;
    size_t i;
    run_two_rounds(&c, &stats);
    json_array_foreach(json_object_get(stats, "servers"), i, server)
    {
        const json_t *select = json_object_get(server, "select"),
                     *measure = json_object_get(server, "measure");
        assert_int_equal(json_integer_value(json_object_get(select, "rounds")), 2 * 5);
        assert_int_equal(json_integer_value(json_object_get(measure, "rounds")), 3 + 2);
    }
}

/* Its noise is made before each round, by both. */
TEST(a_provider_and_a_keeper_make_joint_noise)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .two = true, .rounds = 2,
                                                         .epsilon = 2,
                                                         .more = "noise_by: joint\n"));
    json_auto_t *stats = NULL;
    json_t *server;
    size_t i;
    run_two_rounds(&c, &stats);
    json_array_foreach(json_object_get(stats, "servers"), i, server)
    {
        const json_t *noise = json_object_get(server, "noise");
        assert_in_range(json_integer_value(json_object_get(noise, "rounds")), 2, 3 * 2);
        assert_true(json_integer_value(json_object_get(noise, "payload_sent")) >=
                    (i == 0 ? 22000 : 8000) * 20);
    }
    EXPECT(0, file(&c, "plan.log"), 20, "plan", c.s.path);
    EACH(file_says, file(&c, "plan.log"), "together make at most", "deviates 1.02 times",
         "For joint Gaussians the provider sends");
    EXPECT(0, file(&c, "check.log"), 20, "check", c.s.path);
    file_says(file(&c, "check.log"), "(noise_by: joint)");
}

/* --- encrypted rows --------------------------------------------------------------------------- */

/* But for what the session begins with (mpc/pair/pair.h). */
static json_int_t results_sent(struct scene *c, const char *out)
{
    json_auto_t *stats = json_load_file(file(c, "%s/stats.json", out), 0, NULL);
    const json_t *count = json_object_get(json_array_get(json_object_get(stats, "servers"), 0),
                                          "compute");
    const json_int_t sent = json_integer_value(json_object_get(count, "payload_sent"));
    return sent - PAIR_CHOICES_SIZE;
}

/*
 * Owners of rows beside one of counts. They are counted once: another session, also of servers that
 * were stopped, sends no result again.
 */
TEST(a_provider_and_a_keeper_count_encrypted_rows)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .two = true, .rounds = 2, .epsilon = 2, .part = encrypted));
    const struct study *s = c.s.study;
    const size_t results = s->owner[0].encrypted.results + s->owner[2].encrypted.results;
    share_everything(&c);
    EACH(file_says, file(&c, "share0.log"), "server 0 (s0) gets the encrypted rows",
         "server 1 (s1) gets the key's seed", "sent as records", "both servers have stored");
    expect_code(run_into(&c, "out", "--rounds", "1"), 0, file(&c, "out.log"));
    assert_int_equal(results_sent(&c, "out"), 2 * 32 + results * 651264);
    for (unsigned i = 0; i < 2; i++)
        restart_server(&c, i, c.s.path);
    unlink(file(&c, "out.log"));
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), 5 + 2);
    assert_int_equal(results_sent(&c, "out"),
                     2 * 32 + results * 651264 + PAIR_CHOICES_SIZE + 2 * 32);
    check_audit(&c, 2, 3);
    EXPECT(0, file(&c, "plan.log"), 20, "plan", c.s.path);
    EACH(file_says, file(&c, "plan.log"), "as records, encrypted",
         "encrypted rows are counted once");
    EXPECT(0, file(&c, "check.log"), 20, "check", c.s.path);
    EACH(file_says, file(&c, "check.log"), "masked counts and encrypted rows",
         "Of an owner of records the provider sees its rows instead",
         "The two together can read each owner's rows");
}

/* Of a kind that there is not, without a name, or of a size that the study's blocks have not. */
static void refuse_noise(struct scene *c)
{
    static const struct {
        uint8_t kind, name;
        size_t more; /* bytes than a block has */
    } odd[] = {{2, 1, 0}, {0, 0, 0}, {0, 1, 1}, {1, 1, 8}};
    const struct price_ahead plan = price_ahead(c->s.study);
    for (size_t k = 0; k < 2 * sizeof odd / sizeof *odd; k++) {
        const unsigned server = (unsigned)k % 2;
        struct support_caller caller CLEAN(support_caller_free) = support_caller_new(
            &c->s, "o0.key", server);
        const size_t whole = server == 0 ? 8 * plan.samples[odd[k / 2].kind % 2] : 16;
        support_caller_begin(&caller, MESSAGE_NOISE);
        bytes_put(&caller.message, c->s.study->terms.digest, 32);
        bytes_put_u8(&caller.message, odd[k / 2].kind);
        for (size_t i = 0; i < 16 + whole + odd[k / 2].more; i++)
            bytes_put_u8(&caller.message, odd[k / 2].name);
        assert_int_equal(support_call(&caller), ERR_FORMAT);
        assert_non_null(strstr(caller.reply.text, "another size than in this study"));
    }
}

/*
 * The one owner makes the noise. A server that lost its blocks, as one restored from a backup, has
 * none in common with the other, and both delete those of an earlier roster, whose key somebody may
 * have stolen: nothing is paid, until the owner has sent fresh noise.
 */
TEST(an_owner_makes_the_noise)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = 1, .two = true, .rounds = 2, .epsilon = 2, .more = "noise_by: owner\n"));
    const char *const study[] = {c.s.path, file(&c, "amended.yaml")};
    refuse_noise(&c);
    assert_true(support_edit(study[0], study[1],
                             (const char *const[]){"study:", "roster: 2\nstudy:", NULL}));
    for (unsigned i = 0; i < 2; i++)
        EXPECT(0, file(&c, "sign.log"), 10, "roster", "sign", study[1], "--key",
               file(&c, "s%u.key", i));
    for (unsigned k = 0; k < 2; k++) {
        expect_code(share_own(&c, 0), 0, file(&c, "share0.log"));
        EACH(file_says, file(&c, "share0.log"), "shares of fresh noise, which this program makes",
             "both servers have their shares of fresh noise");
        assert_true(support_stop_all(c.server));
        if (k == 0)
            support_alter(&c.s, 1, "DELETE FROM ahead");
        for (unsigned i = 0; i < 2; i++)
            start_server(&c, i, study[k]);
        expect_code(run_into(&c, "out", NULL, NULL), 5, file(&c, "out.log"));
        EACH(file_says, file(&c, "out.log"), "the noise that o0 has sent is used up",
             "Have o0 run trefoil share again");
        assert_false(support_contains(file(&c, "server0/audit.log"), " open "));
    }
    expect_code(share_own(&c, 0), 0, file(&c, "share0.log"));
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), 5 + 2);
    check_audit(&c, 2, 3);
    file_says(file(&c, "out/report.html"), "Gaussian noise of the owner, which no server knows");
    EXPECT(0, file(&c, "plan.log"), 20, "plan", c.s.path);
    EACH(file_says, file(&c, "plan.log"), "noise: the owner makes it. A run takes at most",
         "deviates as much as with");
    EXPECT(0, file(&c, "check.log"), 20, "check", c.s.path);
    EACH(file_says, file(&c, "check.log"), "(noise_by: owner)", "sees what is opened.");
}

TEST(a_provider_and_a_keeper_make_sweeps)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .two = true, .sweeps = 1, .epsilon = 3));
    char sigma[32];
    share_everything(&c);
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    check_logs(&c);
    json_t *doc = json_load_file(file(&c, "out/measurements.json"), 0, NULL);
    check_measurements(&c, file(&c, "out/measurements.json"),
                       json_array_size(json_object_get(doc, "measurements")));
    json_t *scores = json_array_get(json_object_get(doc, "scores"), 0);
    assert_int_equal(json_array_size(json_object_get(scores, "attributes")), 15);
    /* the log has the deviation of both servers' noise, as the result has */
    snprintf(sigma, sizeof sigma, " %.6g:", json_number_value(json_object_get(scores, "sigma")));
    file_says(file(&c, "server0/audit.log"), sigma);
    json_decref(doc);
}

/*
 * An owner that shares while a run waits is counted from its next round on; of encrypted rows,
 * too.
 */
TEST(rows_that_come_late_join_a_run_of_two)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .two = true, .rounds = 2, .epsilon = 2, .part = encrypted,
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

static size_t times(const char *path, const char *words)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    size_t n = 0;
    OK(file_read(path, 1 << 20, &text, NULL));
    bytes_put_u8(&text, 0);
    OK(bytes_ok(&text));
    for (const char *at = (const char *)text.data; (at = strstr(at, words)) != NULL; at++)
        n++;
    return n;
}

/* What the provider gets is not under the key that the keeper gets. */
static enum err under_another_key(const struct study *study, size_t owner, unsigned form,
                                  const uint8_t seed[][SPLIT_SEED], struct bytes *vector)
{
    uint8_t other[SPLIT_SEEDS_MOST][SPLIT_SEED];
    memcpy(other, seed, two_split.seeds * sizeof *other);
    other[0][0] ^= 1;
    return two_split.mask(study, owner, form, other, vector);
}

static void send_lie(struct scene *c, unsigned owner)
{
    struct split liar = two_split;
    struct identity *me CLEAN(identity_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    struct bytes packed CLEAN(bytes_clear) = {0};
    struct courier *courier CLEAN(courier_free) = NULL;
    struct witness witness = {.study = c->s.study, .log = &quiet};
    FILE *said = fopen(file(c, "said"), "w");
    struct progress progress = progress_start(said, c->s.study, 0);
    struct receipt receipt;
    struct upload parts[2];
    liar.mask = under_another_key;
    OK(identity_load(&me, file(c, "o%u.key", owner), &quiet));
    OK(support_table(&t, c->s.study->domain, 50, 1));
    OK(pack_table(c->s.study, owner, UPLOAD_ENCRYPTED, t, &packed));
    OK(upload_make(parts, &liar, me, owner, (const uint8_t[UPLOAD_SECRET_SIZE]){1}, c->s.study,
                   UPLOAD_ENCRYPTED, &packed));
    OK(witness_add(&witness, file(c, "heads")));
    OK(courier_new(&courier, &(const struct courier_options){.study = c->s.study,
                                                             .me = me,
                                                             .witness = &witness,
                                                             .owner = owner,
                                                             .progress = &progress,
                                                             .log = &quiet}));
    OK(courier_upload(courier, parts, false, &receipt));
    for (unsigned i = 0; i < 2; i++)
        upload_clear(&parts[i]);
    fclose(said);
}

/*
 * A run that such rows would join goes on without them; both servers name the owner, and so does
 * the run that begins, or goes on, after that.
 */
TEST(rows_under_another_key_end_no_session)
{
    static const char *const last[OWNERS] = {NULL, NULL, "    max_rows: 100\n    as: records\n"};
    static const char says[] = "the upload of o2 does not open under the key";
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .two = true, .rounds = 30, .epsilon = 8, .part = last,
                .more = "late_uploads: join\nmin_owners: 2\n"));
    for (unsigned o = 0; o < 2; o++)
        expect_code(share_own(&c, o), 0, file(&c, "share%u.log", o));
    pid_t run = start_run(&c, "out", NULL);
    assert_true(support_wait_for(file(&c, "out.log"), "\n3/30 ", 20));
    assert_int_equal(kill(run, SIGSTOP), 0); /* while the lie is on its way */
    send_lie(&c, 2);
    assert_int_equal(kill(run, SIGCONT), 0);
    expect_code(support_wait(run, 60), 0, file(&c, "out.log"));
    leave_out(&c, 2);
    check_measurements(&c, file(&c, "out/measurements.json"), 5 + 30);
    check_logs(&c);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(times(file(&c, "server%u.log", i), says), 1);
        file_says(file(&c, "server%u/audit.log", i), " left-out run ");
        assert_false(support_contains(file(&c, "server%u.log", i), "could not be counted"));
    }
    assert_false(support_contains(file(&c, "out.log"), "trying again"));
    expect_code(run_study(&c, "a.key", 1), 5, file(&c, "run%u.log", 1)); /* nothing is left */
    file_says(file(&c, "run%u.log", 1), says);
}

/*
 * Nobody waits for a deadline, which is longer than the test may take: the other server notices at
 * once, and once the victim is back the run goes on at the analyst's next try, or the one after it
 * if that was under way. Pauses are 5 s at most (tests/parties/analyst/test_run.c): 10 s in all.
 */
TEST(a_killed_server_of_two_is_met_again)
{
    static const char trying[] = "trying again in ";
    for (unsigned victim = 0; victim < 2; victim++) {
        struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .two = true,
                                                             .rounds = 30, .connect_s = 900,
                                                             .round_s = 900, .epsilon = 8));
        pid_t run;
        char words[64], log[SUPPORT_PATH];
        snprintf(words, sizeof words, "server%u.log", !victim);
        support_study_file(&c.s, words, log);
        const char *out = support_path(&c.s, "out.log");
        share_everything(&c);
        run = START(out, "run", c.s.path, "--key", file(&c, "a.key"), "--out", file(&c, "out"));
        assert_true(support_wait_for(out, "\n3/30 ", 20));
        support_kill(&c.server[victim]);
        snprintf(words, sizeof words, "server %u closed its connection", victim);
        assert_true(support_wait_for(log, words, 20));
        assert_true(support_wait_for(out, trying, 20));
        start_server(&c, victim, c.s.path);
        size_t tries = times(out, trying);
        expect_code(support_wait(run, 60), 0, out);
        assert_in_range(times(out, trying), 1, tries + 1);
        assert_false(support_contains(log, "silent") || support_contains(out, "did not answer"));
        check_measurements(&c, file(&c, "out/measurements.json"), 5 + 30);
        expect_code(run_study(&c, "a.key", 1), 5, file(&c, "run%u.log", 1)); /* nothing is left */
    }
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
    start_server(&c, 1, c.s.path);
    share_everything(&c);
    assert_int_equal(run_into(&c, "second", NULL, NULL), 5); /* the budget is spent */
    file_says(file(&c, "second.log"), "budget");
}

/* Owners' rows are deleted at both, and both sign that; but not before the time has come. */
TEST(two_servers_purge)
{
    static const char *const more[] = {"retain_days: 1\n", NULL};
    for (unsigned k = 0; k < 2; k++) {
        struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 2, .two = true,
                                                             .copula = copula, .part = encrypted,
                                                             .more = more[k]));
        for (unsigned o = 0; o < 2; o++)
            expect_code(share_own(&c, o), 0, file(&c, "share%u.log", o));
        assert_true(support_stop_all(c.server));
        for (unsigned i = 0; i < 2; i++) {
            EXPECT(k == 0 ? 5 : 0, file(&c, "purge%u.log", i), 20, "serve", c.s.path, "--key",
                   file(&c, "s%u.key", i), "--folder", file(&c, "server%u", i), "--purge");
            if (k == 1)
                EXPECT(0, file(&c, "check%u.log", i), 20, "check", c.s.path, "--statement",
                       file(&c, "server%u/purge.txt", i));
        }
        if (k == 1)
            EACH(file_says, file(&c, "server0/purge.txt"), "o0", "o1");
    }
}

/* --- what does not go with them --------------------------------------------------------------- */

TEST(two_servers_take_no_ranks_and_one_lane)
{
    struct scene c CLEAN(scene_free) = scene_without_servers(
        OPTIONS(.owners = 2, .two = true, .copula = copula));
    ENDS(COMMAND(file(&c, "said.log"), 20, "serve", c.s.path, "--key", file(&c, "s0.key"),
                 "--folder", file(&c, "server0"), "--lanes", "2"),
         2, file(&c, "said.log"), "--lanes 2 is more than the 1");
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
