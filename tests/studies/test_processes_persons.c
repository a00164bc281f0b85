/*
 * Persons over real processes: rows of one person at several owners are bounded, also after a
 * server was killed; an owner that does not sort is named by all and left out.
 */
#include "tests/support/scene.h"

#include "parties/owner/pack.h"
#include "parties/settings/three/split.h"

/* Owner 1's rows as they come, each under its key. */
static void send_unsorted(struct scene *c)
{
    struct table *t CLEAN(table_free) = scene_rows(c, 1);
    struct bytes packed CLEAN(bytes_clear) = {0};
    struct identity *me CLEAN(identity_free) = NULL;
    struct upload parts[3];
    OK(identity_load(&me, file(c, "o1.key"), &quiet));
    OK(pack_table(c->s.study, 1, UPLOAD_RECORDS, t, &packed));
    OK(upload_make(parts, &three_split, me, 1, (const uint8_t[UPLOAD_SECRET_SIZE]){1}, c->s.study,
                   UPLOAD_RECORDS, &packed));
    OK(scene_send(c, me, 0, &parts[0]));
    OK(scene_send(c, me, 1, &parts[1]));
    (void)!scene_send(c, me, 2, &parts[2]); /* stored; answered when the vector has arrived */
    assert_true(support_wait_for(file(c, "server2.log"), "is complete", 10));
    for (unsigned i = 0; i < 3; i++)
        upload_clear(&parts[i]);
}

/* How many uploads each opening was for, as the digits of a number. */
static unsigned sorted_of(struct scene *c, unsigned server)
{
    struct audit_file *log CLEAN(audit_file_free) = NULL;
    unsigned digits = 0;
    OK(audit_file_read(&log, file(c, "server%u/audit.log", server), &quiet));
    for (size_t k = 0; k < log->entries; k++)
        if (log->entry[k].kind == AUDIT_OPEN && strcmp(log->entry[k].opening.reason, "SORTED") == 0)
            digits = 10 * digits + (unsigned)log->entry[k].opening.values;
    return digits;
}

/* The logs: how many uploads each opening of what is sorted was for; whether the owner is named. */
static void check_persons(struct scene *c, unsigned opened, bool named)
{
    check_logs(c);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(sorted_of(c, i), opened);
    assert_int_equal(support_contains(file(c, "audit.txt"),
                                      "the upload of o1 was left out: it is not sorted by person"),
                     named);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        assert_int_equal(support_contains(file(c, "server%u/audit.log", i), " left-out run "),
                         named);
        assert_int_equal(support_contains(file(c, "server%u.log", i),
                                          "the upload of o1 is not sorted by person"),
                         named);
    }
}

TEST(an_owner_that_does_not_sort_is_named_by_all)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .rounds = 2,
                                                         .epsilon = 8, .enforce = 2,
                                                         .more = "min_owners: 2\n"));
    scene_name_persons(&c);
    send_unsorted(&c);
    assert_int_equal(share_own(&c, 0), 0);
    /* too few are left: nothing is paid, and another owner may join */
    expect_code(run_study(&c, "a.key", 0), 1, file(&c, "run%u.log", 0));
    file_says(file(&c, "run%u.log", 0), "the upload of o1 is not sorted");
    file_says(file(&c, "run%u.log", 0), "uploads here that are not left out: 1;");
    expect_code(share_own(&c, 2), 0, file(&c, "share%u.log", 2));
    expect_code(run_study(&c, "a.key", 1), 0, file(&c, "run%u.log", 1));
    file_says(file(&c, "run%u.log", 1),
              "the upload of o1 is not sorted by person, and is left out");
    scene_bound(&c, 1);
    check_measurements(&c, file(&c, "out%u/measurements.json", 1),
                       c.s.study->workload->one_ways + 2);
    check_persons(&c, 21, true);
}

/* Bounded again in the session that goes on, though which are sorted is opened once. */
TEST(persons_are_bounded_again_after_a_server_was_killed)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .rounds = 16,
                                                         .epsilon = 8, .enforce = 3, .lanes = 2,
                                                         .more = "security: abort\n"));
    scene_name_persons(&c);
    share_everything(&c);
    pid_t run = start_run(&c, "out", NULL);
    assert_true(support_wait_for(file(&c, "out.log"), "\n2/16 ", 20));
    support_kill(&c.server[1]);
    start_server(&c, 1, c.s.path);
    expect_code(support_wait(run, 60), 0, file(&c, "out.log"));
    scene_bound(&c, OWNERS);
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 16);
    check_persons(&c, 3, false);
}
