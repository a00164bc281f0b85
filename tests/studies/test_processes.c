/* Whole studies over real processes of the program, and what they release. */
#include "tests/support/scene.h"
#include "tests/support/store.h"

#include "parties/study/study_uploads.h"

/* A copy of the study file with one text replaced. */
static void altered_study(const struct scene *c, const char *from, const char *to, char *path)
{
    support_study_file(&c->s, "altered.yaml", path);
    assert_true(support_edit(c->s.path, path, (const char *const[]){from, to, NULL}));
}

/* A table that its study does not allow is refused by its owner's program. */
static void tables_that_do_not_fit_stay(struct scene *c)
{
    /* what the study calls impossible is reported */
    {
        char altered[SUPPORT_PATH];
        altered_study(c, "rounds: 3", "rounds: 3\nimpossible: [{sex: f, died: yes}]", altered);
        EXPECT(0, file(c, "impossible.log"), 30, "share", altered, file(c, "o0.csv"), "--key",
               file(c, "o0.key"), "--dry-run");
        file_says(file(c, "impossible.log"),
                  "rows hold sex x died that the study calls impossible");
    }
    /* a table with fewer rows than its study says is not sent */
    {
        char altered[SUPPORT_PATH];
        altered_study(c, "max_rows: 1000", "max_rows: 1000\n    min_rows: 401", altered);
        assert_int_equal(share(c, 0, altered, file(c, "o%u.csv", 0)), 6);
        file_says(file(c, "share%u.log", 0), "400 rows, and o0 agreed to bring");
    }
    /* nor is one in which somebody has more rows than agreed, if a column says whose they are */
    EXPECT(6, file(c, "person.log"), 30, "share", c->s.path, file(c, "o%u.csv", 0), "--key",
           file(c, "o%u.key", 0), "--person", "sex");
    file_says(file(c, "person.log"), "2 persons have more than 1 row");
    /* more rows than the owner declared are never sent */
    assert_int_equal(share(c, 0, c->s.path, file(c, "o%u.csv", 2)), 6);
}

TEST(a_study_over_real_processes)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .rounds = 3));
    tables_that_do_not_fit_stay(&c);
    /* the run needs everybody; it says who is missing, and costs nothing */
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(share_own(&c, 2), 0);
    ENDS(run_study(&c, "a.key", 0), 1, file(&c, "run%u.log", 0), "o1 has not uploaded yet");
    assert_int_equal(share_own(&c, 1), 0);
    /* sent again it is the same upload; other data of the same owner are refused */
    assert_int_equal(share_own(&c, 1), 0);
    assert_int_equal(share(&c, 1, c.s.path, file(&c, "o%u.csv", 0)), 5);
    file_says(file(&c, "share%u.log", 1), "holds another upload of this owner");
    /* only an analyst may run */
    assert_int_equal(run_study(&c, "o0.key", 1), 3);

    assert_int_equal(run_study(&c, "a.key", 2), 0);
    check_measurements(&c, file(&c, "out%u/measurements.json", 2),
                       c.s.study->workload->one_ways + 3);
    check_audit(&c, 3, 4);
    {
        struct table *synthetic CLEAN(table_free) = NULL;
        OK(table_read_csv(&synthetic, c.s.study->domain, file(&c, "out%u/synthetic.csv", 2), NULL,
                          &quiet));
        assert_in_range(synthetic->rows, c.all->rows - 500, c.all->rows + 500);
    }
    /* the budget is spent, and stays spent after a restart of all servers */
    assert_int_equal(run_study(&c, "a.key", 3), 5);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        restart_server(&c, i, c.s.path);
    assert_int_equal(run_study(&c, "a.key", 4), 5);
    check_audit(&c, 3, 4);
}

/*
 * An owner of whole rows, and two of columns, whose file also has the others': those are not sent.
 */
TEST(rows_and_columns_over_real_processes)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: city\n    columns: [age, died]\n",
        "    max_rows: 900\n    batch: city\n    columns: [sex, ward, bmi]\n", NULL};
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 3, .part = part, .more = "min_owners: 2\n"));
    ENDS(share_own(&c, 0), 0, file(&c, "share%u.log", 0), "rows of 2 columns, padded to 900");
    /* two of three have uploaded, but the columns of one wait for the rest of their rows */
    assert_int_equal(share_own(&c, 2), 0);
    ENDS(run_study(&c, "a.key", 0), 1, file(&c, "run%u.log", 0), "the columns of o0 wait for");
    assert_int_equal(share_own(&c, 1), 0);
    assert_int_equal(run_study(&c, "a.key", 1), 0);
    check_measurements(&c, file(&c, "out%u/measurements.json", 1),
                       c.s.study->workload->one_ways + 3);
}

/* Where counts are shorter, records may replace them: at all owners, or at some. */
TEST(records_are_counted_with_counts)
{
    static const char *const as[][OWNERS] = {{"records", "records", "records"},
                                             {"auto", "records", "counts"}};
    for (size_t k = 0; k < sizeof as / sizeof *as; k++) {
        struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS, .rounds = 3));
        for (unsigned i = 0; i < OWNERS; i++) {
            assert_false(c.s.study->owner[i].records);
            EXPECT(0, file(&c, "share%u.log", i), 30, "share", c.s.path, file(&c, "o%u.csv", i),
                   "--key", file(&c, "o%u.key", i), "--as", as[k][i]);
            file_says(file(&c, "share%u.log", i),
                      strcmp(as[k][i], "records") == 0 ? "sent as records" : "sent as counts");
        }
        assert_int_equal(run_study(&c, "a.key", 0), 0);
        check_measurements(&c, file(&c, "out%u/measurements.json", 0),
                           c.s.study->workload->one_ways + 3);
    }
}

/*
 * So many and such long uploads that servers add them up in two steps (parties/server/collect.c).
 */
TEST(more_owners_than_are_added_up_at_once)
{
    enum { MANY = 66, COLUMNS = 10 };
    const char *part[MANY];
    char domain[1024] = "domain:\n";
    support_needs(getenv("TREFOIL_LONG") != NULL, "66 owners: TREFOIL_LONG=1");
    for (unsigned i = 0; i < MANY; i++)
        part[i] = "    max_rows: 60000\n    as: counts\n";
    for (unsigned a = 0; a < COLUMNS; a++) {
        size_t n = strlen(domain);
        snprintf(domain + n, sizeof domain - n, "  - {name: c%u, kind: integer, min: 0, max: 38}\n",
                 a);
    }
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = MANY, .rounds = 1, .epsilon = 8,
                                                         .round_s = 60, .domain = domain,
                                                         .part = part));
    assert_true(MANY * study_upload_bytes(c.s.study, 0) > (8 << 20));
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(share_own(&c, i), 0);
    expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run%u.log", 0));
    check_measurements(&c, file(&c, "out%u/measurements.json", 0),
                       c.s.study->workload->one_ways + 1);
}

TEST(a_run_begins_with_fewer_owners_where_the_study_says_so)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 2, .more = "min_owners: 2\n"));
    assert_int_equal(share_own(&c, 2), 0);
    ENDS(run_study(&c, "a.key", 0), 1, file(&c, "run%u.log", 0), "1 of 3 owners' rows are here");
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(run_study(&c, "a.key", 1), 0);
    file_says(file(&c, "run%u.log", 1), "the rows of 2 of 3 are counted\n");
    leave_out(&c, 1); /* the result is of these two */
    check_measurements(&c, file(&c, "out%u/measurements.json", 1),
                       c.s.study->workload->one_ways + 2);
}

/*
 * For each released measurement whether it is of all rows, or of `some`: a letter, in the order of
 * the rounds.
 */
static void tell_populations(struct scene *c, const struct table *some, const char *path,
                             char *letters, size_t size)
{
    const struct workload *w = c->s.study->workload;
    json_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, NULL), *m, *value;
    const struct table *table[2] = {some, c->all};
    int64_t *counts[2];
    size_t k, j;
    assert_non_null(doc);
    for (unsigned t = 0; t < 2; t++) {
        counts[t] = memory_array(w->cells, sizeof *counts[t]);
        OK(tabulate_closure(table[t], w, counts[t]));
    }
    json_array_foreach(json_object_get(doc, "measurements"), k, m)
    {
        uint32_t q = scene_query(c->s.study, json_object_get(m, "attributes"));
        double sigma = json_number_value(json_object_get(m, "sigma")), far[2] = {0}, n = 0;
        assert_in_range(k, 0, size - 2);
        json_array_foreach(json_object_get(m, "values"), j, value)
        {
            n++;
            for (unsigned t = 0; t < 2; t++) {
                double x = (double)counts[t][w->query[q].offset + j];
                far[t] += pow((json_number_value(value) - x) / sigma, 2);
            }
        }
        letters[k] = far[1] < far[0] ? 'a' : 's';
        assert_true(fmin(far[0], far[1]) < n + 8 * sqrt(2 * n) + 40); /* chi-square */
        letters[k + 1] = '\0';
    }
    json_decref(doc);
    memory_free_all(&counts[0], &counts[1]);
}

/* The third owner uploads in the middle of a run, which counts its rows from the next round on. */
TEST(late_rows_join_a_run)
{
    const char *arguments[] = {"run", NULL, "--key", NULL, "--out", NULL, NULL};
    char letters[512] = "";
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 300, .epsilon = 8,
                .more = "min_owners: 2\nlate_uploads: join\n"));
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(share_own(&c, 1), 0);
    arguments[1] = c.s.path;
    arguments[3] = support_path(&c.s, "a.key");
    arguments[5] = support_path(&c.s, "out");
    pid_t run = support_start(file(&c, "run.log"), arguments);
    assert_true(support_wait_for(file(&c, "run.log"), "\n5/300", 20));
    assert_int_equal(share_own(&c, 2), 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_true(support_wait_for(file(&c, "server%u.log", i),
                                     "the rows of 1 more owner are counted from now on", 20));
    /* after a crash the run goes on with the rows that it had */
    support_kill(&c.server[1]);
    start_server(&c, 1, c.s.path);
    expect_code(support_wait(run, 120), 0, file(&c, "run.log"));
    struct table *some CLEAN(table_free) = MADE(table, table_new, c.s.study->domain, 0);
    for (unsigned i = 0; i < 2; i++) {
        struct table *t CLEAN(table_free) = NULL;
        OK(support_table(&t, c.s.study->domain, 400 + 500 * i, 10 + i));
        OK(central_append(some, t));
    }
    file_says(file(&c, "run.log"), "the rows of 3 of 3 are counted; 1 of them came during the run");
    tell_populations(&c, some, support_path(&c.s, "out/measurements.json"), letters,
                     sizeof letters);
    /* first some rows', then all rows', and nothing in between */
    size_t first = strspn(letters, "s");
    size_t n = strlen(letters);
    assert_int_equal(n, c.s.study->workload->one_ways + 300);
    assert_in_range(first, c.s.study->workload->one_ways + 5, n - 1);
    assert_int_equal(strspn(letters + first, "a"), n - first);
    {
        struct table *synthetic CLEAN(table_free) = NULL;
        OK(table_read_csv(&synthetic, c.s.study->domain, support_path(&c.s, "out/synthetic.csv"),
                          NULL, &quiet));
        assert_in_range(synthetic->rows, c.all->rows - 300, c.all->rows + 300);
    }
}

static pid_t start_run_of(struct scene *c, const char *rounds)
{
    unlink(file(c, "run.log"));
    return START(file(c, "run.log"), "run", c->s.path, "--key", file(c, "a.key"), "--out",
                 file(c, "out"), rounds);
}

/*
 * On a terminal a run shows how far the servers are with padded records, which they count tile by
 * tile.
 */
TEST(adding_up_is_told_by_tiles)
{
    static const char part[] = "    max_rows: 4000\n    pad_to: 12000000\n    as: records\n";
    const char *const parts[] = {part};
    static char said[1 << 16];
    unsigned shown = 0, percent = 0;
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 1, .rounds = 1, .epsilon = 8,
                                                         .connect_s = support_slow(5),
                                                         .part = parts));
    assert_int_equal(share_own(&c, 0), 0);
    {
        const char *const a[] = {"trefoil",         "run",   c.s.path,        "--key",
                                 file(&c, "a.key"), "--out", file(&c, "out"), NULL};
        assert_int_equal(support_on_terminal(a, said, sizeof said), 0);
    }
    for (const char *at = said; (at = strstr(at, "add up the uploads: ")) != NULL; shown++) {
        unsigned now = (unsigned)strtoul(at += strlen("add up the uploads: "), NULL, 10);
        assert_in_range(now, percent, 100);
        percent = now;
    }
    assert_true(shown > 1 && percent > 0);
}

/* The third owner uploads while nobody runs: the first round that follows counts its rows. */
TEST(late_rows_join_between_two_commands)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 4, .epsilon = 35,
                .more = "min_owners: 2\nlate_uploads: join\n"));
    char letters[64] = "";
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(share_own(&c, 1), 0);
    expect_code(support_wait(start_run_of(&c, "--rounds=1"), 30), 0, file(&c, "run.log"));
    file_says(file(&c, "run.log"), "the rows of 2 of 3 are counted\n");
    assert_int_equal(share_own(&c, 2), 0);
    expect_code(support_wait(start_run_of(&c, "--rounds=2"), 30), 0, file(&c, "run.log"));
    file_says(file(&c, "run.log"), "the rows of 3 of 3 are counted; 1 of them came during the run");
    expect_code(support_wait(start_run_of(&c, NULL), 30), 0, file(&c, "run.log"));
    struct table *all = c.all;
    c.all = NULL;
    leave_out(&c, 2);
    {
        struct table *some CLEAN(table_free) = c.all;
        size_t first = c.s.study->workload->one_ways + 1;
        c.all = all;
        tell_populations(&c, some, file(&c, "out/measurements.json"), letters, sizeof letters);
        assert_int_equal(strspn(letters, "s"), first);
        assert_string_equal(letters + first, "aaa");
    }
}

/* A lost round is not played again, so it does not keep late rows from the next one. */
TEST(late_rows_join_after_a_round_that_is_lost)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 4, .epsilon = 35,
                .more = "min_owners: 2\nlate_uploads: join\n"));
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(share_own(&c, 1), 0);
    expect_code(support_wait(start_run_of(&c, "--rounds=1"), 30), 0, file(&c, "run.log"));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        support_alter(&c.s, i,
                      "UPDATE rounds SET standing = 3, attempts = 8, selected = NULL, opened = NULL"
                      " WHERE sequence = 1");
    assert_int_equal(share_own(&c, 2), 0);
    expect_code(support_wait(start_run_of(&c, "--rounds=2"), 30), 0, file(&c, "run.log"));
    file_says(file(&c, "run.log"), "the rows of 3 of 3 are counted; 1 of them came during the run");
}

/* --- the wrong -------------------------------------------------------------------------------- */

/*
 * Late rows that one server cannot read: the run goes on without them, and does not fail because of
 * them in every round.
 */
TEST(late_rows_that_are_damaged_stop_no_run)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 15, .epsilon = 8,
                .more = "min_owners: 2\nlate_uploads: join\n"));
    struct bytes log CLEAN(bytes_clear) = {0};
    unsigned stumbles = 0;
    for (unsigned i = 0; i < OWNERS; i++)
        assert_int_equal(share_own(&c, i), 0);
    support_alter(
        &c.s, 1, "UPDATE uploads SET complete = 0 WHERE owner = 2"); /* as if it had not come yet */
    pid_t run = START(file(&c, "run.log"), "run", c.s.path, "--key", file(&c, "a.key"), "--out",
                      file(&c, "out"));
    assert_true(support_wait_for(file(&c, "run.log"), "\n3/15", 20));
    support_alter(&c.s, 1,
                  "UPDATE uploads SET complete = 1, sealed = zeroblob(200) WHERE owner = 2");
    expect_code(support_wait(run, 120), 0, file(&c, "run.log"));
    OK(file_read(file(&c, "server1.log"), 1 << 20, &log, &quiet));
    bytes_put_u8(&log, 0);
    for (const char *at = (const char *)log.data;
         (at = strstr(at, "the upload of o2 cannot be read here, and is left out")) != NULL; at++)
        stumbles++;
    assert_in_range(stumbles, 1, 1 + 15 / 11);
    assert_false(support_contains(file(&c, "run.log"), "trying again"));
}

TEST(other_terms_are_named)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS));
    char altered[SUPPORT_PATH];
    altered_study(&c, "rounds: 3", "rounds: 4", altered);
    /* an owner whose study differs by one value */
    assert_int_equal(share(&c, 0, altered, file(&c, "o%u.csv", 0)), 3);
    file_says(file(&c, "share%u.log", 0), "other terms");
    share_everything(&c);
    /* a server whose study differs */
    assert_int_equal(support_stop(&c.server[1]), 0);
    unlink(file(&c, "server%u.log", 1));
    /* its own folder holds another study's data */
    EXPECT(3, file(&c, "server%u.log", 1), 10, "serve", altered, "--key", file(&c, "s%u.key", 1),
           "--folder", file(&c, "server%u", 1));
    file_says(file(&c, "server%u.log", 1), "another study (its terms)");
    c.server[1] = START(file(&c, "server%u.log", 1), "serve", altered, "--key",
                        file(&c, "s%u.key", 1), "--folder", file(&c, "elsewhere"), "--listen",
                        "127.0.0.1");
    assert_true(support_wait_for(file(&c, "server%u.log", 1), "is ready", 60));
    ENDS(run_study(&c, "a.key", 0), 3, file(&c, "run%u.log", 0), "rounds");
}
