/* method: train over real processes: what comes out, what is logged, and a run that goes on. */
#include "tests/support/trajectory.h"

#include "parties/exchange/price.h"

#include <sodium.h>

#define STEPS 10
#define LINES "method: train\ntrain: {target: died, steps: 10, test: {column: sex, value: f}}\n"

static double rho_of(const struct scene *c)
{
    struct ledger_limits limits;
    OK(price_limits(c->s.study, &limits, &quiet));
    return limits.rho;
}

/*
 * One line for the target's counts, one for each step, and one for the test once it is over, at
 * prices that add up to all.
 */
static void check_openings(struct scene *c, bool over)
{
    if (over)
        check_logs(c);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        struct audit_file *log CLEAN(audit_file_free) = NULL;
        size_t lines = 0;
        double cost = 0;
        OK(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet));
        for (size_t k = 0; k < log->entries; k++) {
            const struct audit_opening *o = &log->entry[k].opening;
            if (log->entry[k].kind != AUDIT_OPEN)
                continue;
            cost += o->cost;
            assert_string_equal(o->reason,
                                lines == 0 || lines > STEPS ? "NOISY_MARGINAL" : "NOISY_GRADIENT");
            assert_true(lines == 0 || strstr(o->what, lines > STEPS ? "score*died" : ":died"));
            assert_true(o->cost > 0 && fabs(cost - o->spent) < 1e-9);
            lines++;
        }
        assert_int_equal(lines, 1 + STEPS + over);
        assert_in_range(1000 * cost / rho_of(c), over ? 999 : 960, over ? 1000 : 971);
    }
    if (over)
        file_says(file(c, "audit.txt"), "a noisy gradient of ");
}

static void same_classifiers(struct scene *c, const char *a, const char *b)
{
    struct bytes first CLEAN(bytes_clear) = {0}, second CLEAN(bytes_clear) = {0};
    OK(file_read(file(c, "%s/classifier.json", a), 1 << 20, &first, NULL));
    OK(file_read(file(c, "%s/classifier.json", b), 1 << 20, &second, NULL));
    SAME_BYTES(&first, second.data, second.size);
}

TEST(a_classifier_comes_of_three_servers)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .train = LINES, .epsilon = 5, .lanes = 2));
    share_everything(&c);
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    trajectory_check(&c, file(&c, "out/trajectory.json"), STEPS);
    check_openings(&c, true);
    /* from the servers' stores, if the folder is lost, with their answers alone */
    assert_true(support_stop_all(c.server));
    scene_continue_elsewhere(&c);
    same_classifiers(&c, "out", "second");
    assert_int_equal(run_into(&c, "third", NULL, NULL), 5); /* the budget is spent */
}

/* Killed as soon as it asks, and in its steps: it goes on, and pays nothing twice. */
TEST(a_classifier_goes_on_after_its_analyst_was_killed)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .train = LINES,
                                                         .epsilon = 5, .more = "security: abort\n",
                                                         .round_s = 20));
    share_everything(&c);
    scene_interrupt(&c);
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    trajectory_check(&c, file(&c, "out/trajectory.json"), STEPS);
    check_openings(&c, true);
    assert_int_equal(run_into(&c, "third", NULL, NULL), 5);
}

/* The run that the servers' logs name. */
static void find_run(struct scene *c, char number[2 * AUDIT_RUN_SIZE + 1])
{
    struct audit_file *log CLEAN(audit_file_free) = NULL;
    size_t k = 0;
    OK(audit_file_read(&log, file(c, "server0/audit.log"), &quiet));
    while (k + 1 < log->entries && log->entry[k].kind != AUDIT_OPEN)
        k++;
    sodium_bin2hex(number, 2 * AUDIT_RUN_SIZE + 1, log->entry[k].opening.run, AUDIT_RUN_SIZE);
}

/* What is set aside for the test stays until somebody goes on, in the folder or without it. */
TEST(a_run_that_dies_after_its_last_step_still_has_its_test)
{
    for (unsigned k = 0; k < 2; k++) {
        struct scene c CLEAN(scene_free) = scene_new(
            OPTIONS(.owners = OWNERS, .train = LINES, .epsilon = 5));
        char number[2 * AUDIT_RUN_SIZE + 1];
        share_everything(&c);
        support_preload();
        setenv("FAULT_UNDER", file(&c, "out/loop.state"), 1);
        setenv("FAULT", "kill-write:11", 1); /* as it keeps what the last of the steps opened */
        assert_int_equal(run_into(&c, "out", NULL, NULL), -1);
        unsetenv("FAULT");
        unsetenv("FAULT_UNDER");
        support_unload();
        check_openings(&c, false);
        find_run(&c, number);
        expect_code(run_into(&c, k == 0 ? "out" : "new", k == 0 ? NULL : "--continue", number), 0,
                    file(&c, k == 0 ? "out.log" : "new.log"));
        trajectory_check(&c, file(&c, "%s/trajectory.json", k == 0 ? "out" : "new"), STEPS);
        check_openings(&c, true);
    }
}
