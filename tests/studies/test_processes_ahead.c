/*
 * Noise made ahead by real servers: a run that finds it uses it, and comes out like any other; a
 * request stops its making at once; a server that is killed meanwhile costs nothing.
 */
#include "tests/support/scene.h"
#include "tests/support/store.h"

#define ROUNDS 20 /* their noise takes several blocks of either kind */

static unsigned count_blocks(struct scene *c, unsigned server)
{
    char text[32];
    support_ask_store(&c->s, server, "SELECT COUNT(*) FROM ahead", text, sizeof text);
    return (unsigned)atoi(text);
}

/* No check was abandoned. */
static void no_tries_are_gone(struct scene *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        char text[32];
        support_ask_store(&c->s, i, "SELECT tries FROM guard", text, sizeof text);
        assert_string_equal(text, "0");
    }
}

/* All three have the same blocks, of both kinds if there are two. */
static void all_are_there(struct scene *c)
{
    static char first[1 << 14], other[1 << 14];
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_true(support_wait_for(file(c, "server%u.log", i), "all that a run may take", 60));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        support_ask_store(&c->s, i,
                          "SELECT group_concat(kind || hex(name)) FROM"
                          " (SELECT kind, name FROM ahead ORDER BY kind, name)",
                          i == 0 ? first : other, sizeof first);
        assert_true(i == 0 || strcmp(first, other) == 0);
    }
    assert_true(strlen(first) > 32);
}

/* Exchanges in which server 0 made noise. */
static json_int_t rounds_of_noise(struct scene *c, const char *path)
{
    json_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, NULL), *noise;
    json_int_t rounds;
    assert_non_null(doc);
    noise = json_object_get(json_array_get(json_object_get(doc, "servers"), 0), "noise");
    assert_non_null(noise);
    rounds = json_integer_value(json_object_get(noise, "rounds"));
    json_decref(doc);
    return rounds;
}

/* All of it, whichever the method: under a check a person waits for selections alone. */
TEST(a_run_takes_the_noise_that_it_finds)
{
    static const struct {
        const char *noise, *more, *copula;
        unsigned rounds, sweeps;
    } kinds[] = {
        {.noise = "box-muller", .rounds = 3},
        {.noise = "discrete", .more = "security: abort\n", .rounds = 3},
        {.noise = "box-muller", .more = "security: abort\n"}, /* annealed */
        {.noise = "box-muller", .more = "security: abort\n", .sweeps = 2},
        {.noise = "box-muller", .more = "security: abort\n", .copula = "method: copula\n"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const bool annealed = kinds[k].rounds == 0 && kinds[k].sweeps == 0 && !kinds[k].copula;
        struct scene c CLEAN(scene_free) = scene_new(
            OPTIONS(.owners = OWNERS, .rounds = kinds[k].rounds, .annealed = annealed,
                    .sweeps = kinds[k].sweeps, .ahead = 1, .noise = kinds[k].noise,
                    .copula = kinds[k].copula, .more = kinds[k].more));
        share_everything(&c);
        all_are_there(&c);
        expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
        if (kinds[k].rounds > 0)
            check_measurements(&c, file(&c, "out0/measurements.json"),
                               c.s.study->workload->one_ways + kinds[k].rounds);
        check_logs(&c);
        no_tries_are_gone(&c);
        assert_int_equal(rounds_of_noise(&c, file(&c, "out0/stats.json")), 0);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) { /* the budget is spent */
            assert_int_equal(count_blocks(&c, i), 0);
            assert_false(support_contains(file(&c, "server%u.log", i), "error"));
        }
    }
}

/* A request in the middle of it; the machine may not let us catch this, so several times. */
TEST(a_request_does_not_wait_for_it)
{
    for (unsigned k = 0; k < 3; k++) {
        struct scene c CLEAN(scene_free) = scene_new(
            OPTIONS(.owners = OWNERS, .rounds = ROUNDS, .epsilon = 8, .ahead = 1,
                    .noise = k == 2 ? "discrete" : "box-muller",
                    .more = k > 0 ? "security: abort\n" : NULL));
        const double end = support_deadline(20);
        share_everything(&c);
        while (count_blocks(&c, k) <= k)
            assert_true(support_again(end));
        expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
        check_measurements(&c, file(&c, "out0/measurements.json"),
                           c.s.study->workload->one_ways + ROUNDS);
        check_logs(&c);
        no_tries_are_gone(&c);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            assert_false(support_contains(file(&c, "server%u.log", i), "error"));
    }
}

TEST(one_server_may_have_it_off)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 3, .ahead = 1));
    assert_int_equal(support_stop(&c.server[1]), 0);
    c.s.ahead[1] = 0;
    start_server(&c, 1, c.s.path);
    assert_true(support_wait_for(file(&c, "server0.log"), "none is made, because a server", 20));
    share_everything(&c);
    expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
    check_audit(&c, 3, 4);
}

/* Blocks that are not stored at all three are dropped, and others made. */
TEST(a_server_that_is_killed_while_it_is_made_costs_nothing)
{
    for (unsigned k = 0; k < STUDY_SERVERS_MOST; k++) {
        struct scene c CLEAN(scene_free) = scene_new(
            OPTIONS(.owners = OWNERS, .rounds = ROUNDS, .epsilon = 8, .ahead = 1));
        const double end = support_deadline(20);
        share_everything(&c);
        while (count_blocks(&c, k) <= k)
            assert_true(support_again(end));
        support_kill(&c.server[k]);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            if (i != k)
                unlink(file(&c, "server%u.log", i)); /* earlier messages do not count */
        start_server(&c, k, c.s.path);
        expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
        check_audit(&c, ROUNDS, ROUNDS + 1);
    }
}
