/*
 * Whole studies with real processes over loopback: what is released against plain counts, what is opened,
 * what is refused, and what happens when somebody is missing, wrong or dead.
 */
#include "tests/support_cmocka.h"

#include "aim/plaintext.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/analyst/central.h"
#include "parties/audit/audit_file.h"
#include "parties/exchange/client.h"
#include "parties/exchange/upload.h"
#include "parties/owner/pack.h"
#include "tests/support_process.h"

#include <jansson.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWNERS 3

struct scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS];
    struct table *all;
};

static struct log quiet = {.file = NULL, .level = LOG_ERROR};

#define file(scene, ...) support_path(&(scene)->s, __VA_ARGS__)

static void start_server(struct scene *c, unsigned i, const char *study)
{
    const char *const a[] = {
        "serve",    study,       "--key", file(c, "s%u.key", i), "--folder", file(c, "server%u", i),
        "--listen", "127.0.0.1", NULL};
    c->server[i] = support_start(file(c, "server%u.log", i), a);
    assert_true(support_wait_for(file(c, "server%u.log", i), "is ready", 10));
}

static int share(struct scene *c, unsigned owner, const char *study, const char *data)
{
    const char *const a[] = {"share", study, data, "--key", file(c, "o%u.key", owner), NULL};
    return support_run(file(c, "share%u.log", owner), 30, a);
}

static int share_own(struct scene *c, unsigned owner)
{
    return share(c, owner, c->s.path, file(c, "o%u.csv", owner));
}

static int run_study(struct scene *c, const char *key, unsigned number)
{
    const char *const a[] = {
        "run", c->s.path, "--key", file(c, "%s", key), "--out", file(c, "out%u", number), NULL};
    return support_run(file(c, "run%u.log", number), 60, a);
}

/* An exit code; where it is another, what the program said. */
static void expect_code(int code, int expected, const char *output)
{
    struct bytes b = {0};
    if (code != expected && file_read(output, 1 << 20, &b, NULL) == ERR_OK)
        print_error("exit code %d instead of %d; %s:\n%.*s\n", code, expected, output, (int)b.size,
                    (const char *)b.data);
    bytes_clear(&b);
    assert_int_equal(code, expected);
}

static void scene_new(struct scene *c, const struct support_options *o)
{
    memset(c, 0, sizeof *c);
    assert_int_equal(support_study_new(&c->s, o, &quiet), ERR_OK);
    assert_int_equal(table_new(&c->all, c->s.study->domain, 0), ERR_OK);
    for (unsigned i = 0; i < c->s.owners; i++) {
        size_t batch = c->s.study->owner[i].batch; /* its owners have the same rows */
        struct table *t = NULL;
        assert_int_equal(support_table(&t, c->s.study->domain, 400 + 500 * batch, 10 + batch),
                         ERR_OK);
        assert_int_equal(table_write_csv(file(c, "o%u.csv", i), t, 1, &quiet), ERR_OK);
        if (batch == i)
            assert_int_equal(central_append(c->all, t), ERR_OK);
        table_free(&t);
    }
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        start_server(c, i, c->s.path);
}

static void scene_free(struct scene *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        assert_int_equal(support_stop(&c->server[i]), 0);
    table_free(&c->all);
    support_study_free(&c->s);
}

/* --- the released measurements against plain arithmetic ------------------------------------------ */

static uint32_t query_of(const struct study *study, const json_t *attributes)
{
    struct clique clique = {.n = (uint16_t)json_array_size(attributes)};
    for (size_t i = 0; i < clique.n; i++)
        clique.attribute[i] = (uint16_t)domain_find(
            study->domain, json_string_value(json_array_get(attributes, i)));
    return workload_find(study->workload, &clique);
}

static void check_measurements(struct scene *c, const char *path, size_t expected)
{
    const struct workload *w = c->s.study->workload;
    int64_t *counts = memory_array(w->cells, sizeof *counts);
    json_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, NULL), *m;
    double n = 0, sum = 0, squares = 0;
    size_t k, j;
    assert_non_null(doc);
    assert_int_equal(table_closure(c->all, w, counts), ERR_OK);
    assert_int_equal(json_array_size(json_object_get(doc, "measurements")), expected);
    json_array_foreach(json_object_get(doc, "measurements"), k, m)
    {
        uint32_t q = query_of(c->s.study, json_object_get(m, "attributes"));
        double sigma = json_number_value(json_object_get(m, "sigma"));
        json_t *value;
        assert_true(q < w->queries);
        assert_int_equal(json_array_size(json_object_get(m, "values")), w->query[q].cells);
        json_array_foreach(json_object_get(m, "values"), j, value)
        {
            double z = (json_number_value(value) - (double)counts[w->query[q].offset + j]) / sigma;
            assert_true(fabs(z) < 6.5);
            n++;
            sum += z;
            squares += z * z;
        }
    }
    /* fresh noise at each run: bounds that a right program misses once in 10^8 runs */
    assert_true(fabs(sum / n) < 5.8 / sqrt(n));
    assert_true(fabs(squares / n - 1) < 5.8 * sqrt(2 / n) + 34 / n);
    json_decref(doc);
    memory_free(&counts);
}

/* The reasons in an audit log, each with how often; and the three logs hold, alone and together. */
static void check_audit(struct scene *c, unsigned selections, unsigned measurements)
{
    const char *const a[] = {"audit",
                             file(c, "server%u/audit.log", 0),
                             file(c, "server%u/audit.log", 1),
                             file(c, "server%u/audit.log", 2),
                             "--study",
                             c->s.path,
                             NULL};
    expect_code(support_run(file(c, "audit.txt"), 10, a), 0, file(c, "audit.txt"));
    assert_true(support_contains(file(c, "audit.txt"), "the three logs fit together"));
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        struct audit_file *log = NULL;
        unsigned count[2] = {0, 0};
        double paid = 0;
        assert_int_equal(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet), ERR_OK);
        for (size_t k = 0; k < log->entries; k++) {
            const struct audit_opening *o = &log->entry[k].opening;
            if (log->entry[k].kind != AUDIT_OPEN)
                continue;
            paid += o->cost;
            assert_true(fabs(paid - o->spent) < 1e-9 ||
                        strcmp(o->reason, "SELECTED_INDEX") == 0); /* paid with its marginal */
            if (strcmp(o->reason, "SELECTED_INDEX") == 0)
                count[0]++;
            else {
                assert_string_equal(o->reason, "NOISY_MARGINAL");
                assert_string_not_equal(o->what, "-");
                count[1]++;
            }
        }
        assert_int_equal(count[0], selections);
        assert_int_equal(count[1], measurements);
        audit_file_free(&log);
    }
}

/* A copy of the study file with one text replaced. */
static void altered_study(const struct scene *c, const char *from, const char *to, char *path)
{
    struct bytes b = {0}, out = {0};
    const char *at;
    support_study_file(&c->s, "altered.yaml", path);
    assert_int_equal(file_read(c->s.path, 1 << 20, &b, NULL), ERR_OK);
    bytes_put_u8(&b, 0);
    at = strstr((const char *)b.data, from);
    assert_non_null(at);
    bytes_put(&out, b.data, (size_t)(at - (const char *)b.data));
    bytes_put(&out, to, strlen(to));
    bytes_put(&out, at + strlen(from), strlen(at + strlen(from)));
    assert_int_equal(file_write(path, 0644, out.data, out.size, NULL), ERR_OK);
    bytes_clear(&b);
    bytes_clear(&out);
}

static void a_study_over_real_processes(void **state)
{
    const struct support_options o = {.owners = OWNERS, .rounds = 3};
    struct scene c;
    (void)state;
    scene_new(&c, &o);
    /* what the study calls impossible is said */
    {
        char altered[SUPPORT_PATH];
        altered_study(&c, "rounds: 3", "rounds: 3\nimpossible: [{sex: f, died: yes}]", altered);
        const char *const a[] = {
            "share", altered, file(&c, "o0.csv"), "--key", file(&c, "o0.key"), "--dry-run", NULL};
        assert_int_equal(support_run(file(&c, "impossible.log"), 30, a), 0);
        assert_true(support_contains(file(&c, "impossible.log"),
                                     "rows hold sex x died that the study calls impossible"));
    }
    /* a table with fewer rows than its study says stays where it is */
    {
        char altered[SUPPORT_PATH];
        altered_study(&c, "max_rows: 1000", "max_rows: 1000\n    min_rows: 401", altered);
        assert_int_equal(share(&c, 0, altered, file(&c, "o%u.csv", 0)), 6);
        assert_true(
            support_contains(file(&c, "share%u.log", 0), "400 rows, and o0 agreed to bring"));
    }
    /* the run needs everybody; it says who is missing, and costs nothing */
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(share_own(&c, 2), 0);
    assert_int_equal(run_study(&c, "a.key", 0), 1);
    assert_true(support_contains(file(&c, "run%u.log", 0), "o1 has not uploaded yet"));
    assert_int_equal(share_own(&c, 1), 0);
    /* again is the same upload; other data of the same owner are refused */
    assert_int_equal(share_own(&c, 1), 0);
    assert_int_equal(share(&c, 1, c.s.path, file(&c, "o%u.csv", 0)), 5);
    assert_true(support_contains(file(&c, "share%u.log", 1), "already uploaded other data"));
    /* nor does a table in which somebody has more rows than agreed, where a column says whose they are */
    {
        const char *const a[] = {
            "share", c.s.path, file(&c, "o%u.csv", 0), "--key", file(&c, "o%u.key", 0), "--person",
            "sex",   NULL};
        assert_int_equal(support_run(file(&c, "person.log"), 30, a), 6);
        assert_true(support_contains(file(&c, "person.log"), "2 persons have more than 1 row"));
    }
    /* more rows than the owner declared never leave it */
    assert_int_equal(share(&c, 0, c.s.path, file(&c, "o%u.csv", 2)), 6);
    /* only an analyst may run */
    assert_int_equal(run_study(&c, "o0.key", 1), 3);

    assert_int_equal(run_study(&c, "a.key", 2), 0);
    check_measurements(&c, file(&c, "out%u/measurements.json", 2),
                       c.s.study->workload->one_ways + 3);
    check_audit(&c, 3, 4);
    {
        struct table *synthetic = NULL;
        assert_int_equal(table_read_csv(&synthetic, c.s.study->domain,
                                        file(&c, "out%u/synthetic.csv", 2), NULL, &quiet),
                         ERR_OK);
        assert_in_range(synthetic->rows, c.all->rows - 500, c.all->rows + 500);
        table_free(&synthetic);
    }
    /* the budget is spent, and stays spent over a restart of all servers */
    assert_int_equal(run_study(&c, "a.key", 3), 5);
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        assert_int_equal(support_stop(&c.server[i]), 0);
        unlink(file(&c, "server%u.log", i));
        start_server(&c, i, c.s.path);
    }
    assert_int_equal(run_study(&c, "a.key", 4), 5);
    check_audit(&c, 3, 4);
    scene_free(&c);
}

/* `all` without the rows of one owner. */
static void leave_out(struct scene *c, unsigned owner)
{
    table_free(&c->all);
    assert_int_equal(table_new(&c->all, c->s.study->domain, 0), ERR_OK);
    for (unsigned i = 0; i < OWNERS; i++) {
        struct table *t = NULL;
        assert_int_equal(support_table(&t, c->s.study->domain, 400 + 500 * i, 10 + i), ERR_OK);
        if (i != owner)
            assert_int_equal(central_append(c->all, t), ERR_OK);
        table_free(&t);
    }
}

/* An owner of whole rows, and two of columns, whose file has the others' as well: those stay where they are. */
static void rows_and_columns_over_real_processes(void **state)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: city\n    columns: [age, died]\n",
        "    max_rows: 900\n    batch: city\n    columns: [sex, ward, bmi]\n", NULL};
    const struct support_options o = {
        .owners = OWNERS, .rounds = 3, .part = part, .more = "min_owners: 2\n"};
    struct scene c;
    (void)state;
    scene_new(&c, &o);
    assert_int_equal(share_own(&c, 0), 0);
    assert_true(support_contains(file(&c, "share%u.log", 0), "rows of 2 columns, padded to 900"));
    /* two of three have uploaded, but one's columns wait for the rest of its rows */
    assert_int_equal(share_own(&c, 2), 0);
    assert_int_equal(run_study(&c, "a.key", 0), 1);
    assert_true(support_contains(file(&c, "run%u.log", 0), "the columns of o0 wait for"));
    assert_int_equal(share_own(&c, 1), 0);
    assert_int_equal(run_study(&c, "a.key", 1), 0);
    check_measurements(&c, file(&c, "out%u/measurements.json", 1),
                       c.s.study->workload->one_ways + 3);
    scene_free(&c);
}

static void a_run_begins_with_fewer_owners_where_the_study_says_so(void **state)
{
    const struct support_options o = {.owners = OWNERS, .rounds = 2, .more = "min_owners: 2\n"};
    struct scene c;
    (void)state;
    scene_new(&c, &o);
    assert_int_equal(share_own(&c, 2), 0);
    assert_int_equal(run_study(&c, "a.key", 0), 1);
    assert_true(support_contains(file(&c, "run%u.log", 0), "1 of 3 owners' rows are here"));
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(run_study(&c, "a.key", 1), 0);
    assert_true(support_contains(file(&c, "run%u.log", 1), "the rows of 2 of 3 are counted\n"));
    leave_out(&c, 1); /* what comes out is of these two */
    check_measurements(&c, file(&c, "out%u/measurements.json", 1),
                       c.s.study->workload->one_ways + 2);
    scene_free(&c);
}

/* --- the dead ------------------------------------------------------------------------------------ */

static void share_everything(struct scene *c)
{
    for (unsigned i = 0; i < c->s.owners; i++)
        expect_code(share_own(c, i), 0, file(c, "share%u.log", i));
}

static void a_dead_server_is_an_error_in_time_and_can_come_back(void **state)
{
    const struct support_options o = {.owners = OWNERS, .rounds = 3, .round_s = 3};
    struct scene c;
    double begin;
    (void)state;
    scene_new(&c, &o);
    share_everything(&c);
    support_kill(&c.server[2]);
    begin = clock_now_s();
    assert_int_equal(run_study(&c, "a.key", 0), 4);
    assert_true(clock_now_s() - begin < 15);
    /* what was on disk is still there */
    unlink(file(&c, "server%u.log", 2));
    start_server(&c, 2, c.s.path);
    assert_int_equal(run_study(&c, "a.key", 1), 0);
    check_measurements(&c, file(&c, "out%u/measurements.json", 1),
                       c.s.study->workload->one_ways + 3);
    check_audit(&c, 3, 4);
    scene_free(&c);
}

static pid_t start_run(struct scene *c, const char *out, const char *more)
{
    const char *const a[] = {"run",   c->s.path,          "--key", file(c, "a.key"),
                             "--out", file(c, "%s", out), more,    NULL};
    return support_start(file(c, "%s.log", out), a);
}

/* The run waits for the server that was killed, and goes on where it was. */
static void a_server_killed_in_the_middle_of_a_run(void **state)
{
    const struct support_options o = {.owners = OWNERS, .rounds = 40, .round_s = 2, .epsilon = 8};
    struct scene c;
    (void)state;
    for (unsigned victim = 0; victim < STUDY_SERVERS; victim++) {
        pid_t run;
        char name[32];
        scene_new(&c, &o);
        share_everything(&c);
        run = start_run(&c, "out", NULL);
        assert_true(support_wait_for(file(&c, "out.log"), "\n5/40 ", 20));
        support_kill(&c.server[victim]);
        assert_true(support_wait_for(file(&c, "out.log"), "trying again in", 20));
        /* The analyst is told which one, by a neighbour that waited for it or by its own silence; nothing
         * half-written is there. */
        snprintf(name, sizeof name, "server %u", victim);
        assert_true(support_contains(file(&c, "out.log"), name));
        assert_int_not_equal(access(file(&c, "out/synthetic.csv"), F_OK), 0);
        unlink(file(&c, "server%u.log", victim));
        start_server(&c, victim, c.s.path);
        expect_code(support_wait(run, 60), 0, file(&c, "out.log"));
        check_measurements(&c, file(&c, "out/measurements.json"),
                           c.s.study->workload->one_ways + 40);
        /* and nothing was paid twice: the budget is spent to the last round, and not beyond */
        expect_code(run_study(&c, "a.key", 1), 5, file(&c, "run%u.log", 1));
        scene_free(&c);
    }
}

/* Nobody comes back: the run ends, and the same command continues it. */
static void a_run_gives_up_and_goes_on_later(void **state)
{
    const struct support_options o = {.owners = OWNERS, .rounds = 40, .round_s = 2, .epsilon = 8};
    struct scene c;
    pid_t run;
    (void)state;
    scene_new(&c, &o);
    share_everything(&c);
    run = start_run(&c, "out", "--wait=1");
    assert_true(support_wait_for(file(&c, "out.log"), "\n3/40 ", 20));
    support_kill(&c.server[2]);
    expect_code(support_wait(run, 60), 4, file(&c, "out.log"));
    unlink(file(&c, "server%u.log", 2));
    start_server(&c, 2, c.s.path);
    /* another run is refused, for its budget is not whole */
    expect_code(run_study(&c, "a.key", 1), 5, file(&c, "run%u.log", 1));
    run = start_run(&c, "out", NULL);
    /* one run a folder, and one at the servers */
    assert_true(support_wait_for(file(&c, "out.log"), "continuing the run", 20));
    expect_code(support_wait(start_run(&c, "out", "--rows=10"), 20), 5, file(&c, "out.log"));
    assert_true(support_contains(file(&c, "out.log"), "another trefoil run works in"));
    expect_code(support_wait(run, 60), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 40);
    scene_free(&c);
}

/* The analyst's program dies at once, wherever it is; and a run is done in parts. */
static void a_run_is_killed_and_extended(void **state)
{
    const struct support_options o = {.owners = OWNERS, .rounds = 12, .round_s = 2};
    struct scene c;
    pid_t run;
    (void)state;
    scene_new(&c, &o);
    share_everything(&c);
    run = start_run(&c, "out", "--rounds=4");
    assert_true(support_wait_for(file(&c, "out.log"), "\n2/12 ", 20));
    support_kill(&run);
    /* another run cannot take what this one has left */
    expect_code(run_study(&c, "a.key", 1), 5, file(&c, "run%u.log", 1));
    expect_code(support_wait(start_run(&c, "out", "--rounds=4"), 60), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 4);
    assert_true(support_contains(file(&c, "out.log"), "without --rounds goes on"));
    /* servers that start anew meanwhile change nothing */
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        assert_int_equal(support_stop(&c.server[i]), 0);
        unlink(file(&c, "server%u.log", i));
        start_server(&c, i, c.s.path);
    }
    expect_code(support_wait(start_run(&c, "out", NULL), 60), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 12);
    /* once more draws other rows, and asks nobody */
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        assert_int_equal(support_stop(&c.server[i]), 0);
    expect_code(support_wait(start_run(&c, "out", "--rows=10"), 60), 0, file(&c, "out.log"));
    scene_free(&c);
}

/* The analyst's disk is gone in the middle of a run: the servers give again what they opened, and it goes on. */
static void a_run_whose_folder_is_lost_goes_on(void **state)
{
    const struct support_options o = {.owners = OWNERS, .rounds = 9, .round_s = 2};
    static const char option[] = "--continue ";
    char text[64] = "--continue=";
    struct bytes words = {0};
    struct scene c;
    const char *at;
    pid_t run;
    (void)state;
    scene_new(&c, &o);
    share_everything(&c);
    run = start_run(&c, "lost", "--rounds=5");
    assert_true(support_wait_for(file(&c, "lost.log"), "\n3/9 ", 20));
    support_kill(&run);
    sleep(c.s.study->connect_s + 1); /* it keeps its place for so long */
    /* a number that is nobody's begins nothing */
    run = start_run(&c, "found", "--continue=000102030405060708090a0b0c0d0e0f");
    expect_code(support_wait(run, 30), 5, file(&c, "found.log"));
    assert_true(support_contains(file(&c, "found.log"), "the servers know no round of the run"));
    /* who has none is told the right one */
    run = start_run(&c, "other", NULL);
    expect_code(support_wait(run, 30), 5, file(&c, "other.log"));
    assert_int_equal(file_read(file(&c, "other.log"), 1 << 20, &words, &quiet), ERR_OK);
    bytes_put_u8(&words, 0);
    at = strstr((const char *)words.data, option);
    assert_non_null(at);
    memcpy(text + sizeof option - 1, at + sizeof option - 1, 2 * REQUEST_RUN_SIZE);
    bytes_clear(&words);
    expect_code(support_wait(start_run(&c, "found", text), 30), 3, file(&c, "found.log"));
    assert_true(support_contains(file(&c, "found.log"), "of another run than --continue names"));
    expect_code(support_wait(start_run(&c, "again", text), 60), 0, file(&c, "again.log"));
    check_measurements(&c, file(&c, "again/measurements.json"), c.s.study->workload->one_ways + 9);
    check_audit(&c, 9, 10); /* each thing was opened, and paid, once */
    scene_free(&c);
}

/* --- the restored -------------------------------------------------------------------------------- */

/* The folder of a server that is stopped, to another place or back. */
static void copy_folder(struct scene *c, const char *from, const char *to)
{
    assert_int_equal(file_folder(file(c, "%s", to), &quiet), ERR_OK);
    assert_int_equal(support_copy(file(c, "%s/store.sqlite", from), file(c, "%s/store.sqlite", to)),
                     ERR_OK);
    assert_int_equal(support_copy(file(c, "%s/audit.log", from), file(c, "%s/audit.log", to)),
                     ERR_OK);
    unlink(file(c, "%s/store.sqlite-wal", to));
}

static void restart_server(struct scene *c, unsigned i)
{
    unlink(file(c, "server%u.log", i));
    start_server(c, i, c->s.path);
}

static int recover(struct scene *c, unsigned i)
{
    const char *const a[] = {
        "recover", c->s.path, "--key", file(c, "s%u.key", i), "--folder", file(c, "server%u", i),
        NULL};
    return support_run(file(c, "recover.log"), 20, a);
}

/* An old backup is refused, with what to do about it; that helps, and the run goes on to its end. */
static void a_restored_server_is_refused_and_recovers(void **state)
{
    const struct support_options o = {.owners = OWNERS, .rounds = 9, .round_s = 3};
    struct scene c;
    (void)state;
    scene_new(&c, &o);
    share_everything(&c);
    expect_code(support_wait(start_run(&c, "out", "--rounds=2"), 30), 0, file(&c, "out.log"));
    assert_int_equal(support_stop(&c.server[1]), 0);
    copy_folder(&c, "server1", "backup");
    restart_server(&c, 1);
    expect_code(support_wait(start_run(&c, "out", "--rounds=6"), 30), 0, file(&c, "out.log"));
    /* nothing to do for a server that has all */
    assert_int_equal(support_stop(&c.server[1]), 0);
    expect_code(recover(&c, 1), 0, file(&c, "recover.log"));
    assert_true(support_contains(file(&c, "recover.log"), "nothing is lacking"));
    copy_folder(&c, "backup", "server1");
    restart_server(&c, 1);
    expect_code(recover(&c, 1), 1, file(&c, "recover.log")); /* it runs */
    expect_code(support_wait(start_run(&c, "out", NULL), 30), 3, file(&c, "out.log"));
    assert_true(support_contains(file(&c, "out.log"),
                                 "server 1 was restored from an old backup. Its operator should "
                                 "stop it and run trefoil recover"));
    assert_int_equal(support_stop(&c.server[1]), 0);
    expect_code(recover(&c, 1), 0, file(&c, "recover.log"));
    assert_true(support_contains(file(&c, "recover.log"), "took over debits 4 to 7"));
    restart_server(&c, 1);
    expect_code(support_wait(start_run(&c, "out", NULL), 30), 0, file(&c, "out.log"));
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 9);
    {
        const char *const a[] = {"audit", file(&c, "server0/audit.log"),
                                 file(&c, "server1/audit.log"), file(&c, "server2/audit.log"),
                                 NULL};
        expect_code(support_run(file(&c, "audit.txt"), 10, a), 0, file(&c, "audit.txt"));
        assert_true(support_contains(file(&c, "audit.txt"), "the server was recovered since"));
    }
    scene_free(&c);
}

/* Of each released measurement whether it is of all rows, or of `some`: a letter, in the order of the rounds. */
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
        assert_int_equal(table_closure(table[t], w, counts[t]), ERR_OK);
    }
    json_array_foreach(json_object_get(doc, "measurements"), k, m)
    {
        uint32_t q = query_of(c->s.study, json_object_get(m, "attributes"));
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
    memory_free(&counts[0]);
    memory_free(&counts[1]);
}

/* The third owner uploads in the middle of a run, which counts its rows from the next round on. */
static void late_rows_join_a_run(void **state)
{
    const struct support_options o = {.owners = OWNERS,
                                      .rounds = 300,
                                      .round_s = 3,
                                      .epsilon = 8,
                                      .more = "min_owners: 2\nlate_uploads: join\n"};
    const char *arguments[] = {"run", NULL, "--key", NULL, "--out", NULL, NULL};
    char letters[512] = "", path[SUPPORT_PATH], key[SUPPORT_PATH], out[SUPPORT_PATH];
    struct table *some = NULL;
    struct scene c;
    size_t first, n;
    pid_t run;
    (void)state;
    scene_new(&c, &o);
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(share_own(&c, 1), 0);
    support_study_file(&c.s, "a.key", key);
    support_study_file(&c.s, "out", out);
    arguments[1] = c.s.path;
    arguments[3] = key;
    arguments[5] = out;
    run = support_start(file(&c, "run.log"), arguments);
    assert_true(support_wait_for(file(&c, "run.log"), "\n5/300", 20));
    assert_int_equal(share_own(&c, 2), 0);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        assert_true(support_wait_for(file(&c, "server%u.log", i),
                                     "the rows of 1 owners more are counted from now on", 20));
    /* after a crash the run goes on with the rows that it had */
    support_kill(&c.server[1]);
    unlink(file(&c, "server1.log"));
    start_server(&c, 1, c.s.path);
    expect_code(support_wait(run, 120), 0, file(&c, "run.log"));
    assert_int_equal(table_new(&some, c.s.study->domain, 0), ERR_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct table *t = NULL;
        assert_int_equal(support_table(&t, c.s.study->domain, 400 + 500 * i, 10 + i), ERR_OK);
        assert_int_equal(central_append(some, t), ERR_OK);
        table_free(&t);
    }
    assert_true(support_contains(file(&c, "run.log"),
                                 "the rows of 3 of 3 are counted; 1 of them came during the run"));
    support_study_file(&c.s, "out/measurements.json", path);
    tell_populations(&c, some, path, letters, sizeof letters);
    /* first some rows', then all rows', and nothing in between */
    first = strspn(letters, "s");
    n = strlen(letters);
    assert_int_equal(n, c.s.study->workload->one_ways + 300);
    assert_in_range(first, c.s.study->workload->one_ways + 5, n - 1);
    assert_int_equal(strspn(letters + first, "a"), n - first);
    {
        struct table *synthetic = NULL;
        support_study_file(&c.s, "out/synthetic.csv", path);
        assert_int_equal(table_read_csv(&synthetic, c.s.study->domain, path, NULL, &quiet), ERR_OK);
        assert_in_range(synthetic->rows, c.all->rows - 300, c.all->rows + 300);
        table_free(&synthetic);
    }
    table_free(&some);
    scene_free(&c);
}

/* --- the hostile --------------------------------------------------------------------------------- */

static void put_field(crypto_hash_sha256_state *hash, const void *p, size_t n)
{
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)n >> (8 * i));
    crypto_hash_sha256_update(hash, length, sizeof length);
    crypto_hash_sha256_update(hash, p, n);
}

/* Gives an upload another id, and commitments that fit it: docs/formats.md. */
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
            put_field(&hash, holder->seed[slot], ANSWERS_SEED_SIZE);
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
    struct table *t = NULL;
    struct bytes packed = {0};
    assert_int_equal(identity_load(me, file(c, "o1.key"), &quiet), ERR_OK);
    assert_int_equal(support_table(&t, study->domain, rows, 77), ERR_OK);
    assert_int_equal(pack_table(study, 1, study_upload_form(study, 1), t, &packed), ERR_OK);
    assert_int_equal(
        upload_make(parts, *me, study->terms.digest, study_upload_form(study, 1), &packed), ERR_OK);
    table_free(&t);
    bytes_clear(&packed);
}

/* What the server answers to an upload; ERR_TIMEOUT where it waits for the vector. */
static enum err send_upload(struct scene *c, const struct identity *me, unsigned server,
                            const struct upload *part)
{
    struct netio *netio = NULL;
    struct dial *dial = NULL;
    struct bytes message = {0};
    struct reply reply = {0};
    int64_t deadline = clock_now_ms() + (server == 2 ? 500 : 10000);
    enum err e;
    assert_int_equal(netio_new(&netio, &quiet), ERR_OK);
    assert_int_equal(client_dial(&dial, netio, c->s.study, me, server, &quiet), ERR_OK);
    bytes_put_u8(&message, MESSAGE_UPLOAD);
    bytes_put(&message, c->s.study->terms.digest, 32);
    assert_int_equal(upload_write(part, server, false, &message), ERR_OK);
    e = client_ask(dial, &message, &reply, deadline);
    if (e == ERR_OK)
        e = reply.status;
    dial_free(&dial);
    netio_free(&netio);
    bytes_clear(&message);
    return e;
}

static void parts_clear(struct upload parts[3], struct identity **me)
{
    for (unsigned i = 0; i < 3; i++)
        upload_clear(&parts[i]);
    identity_free(me);
}

/* Malformed, or not what it was committed to: refused by each server, which names the owner. */
static void what_an_owner_may_not_send_is_refused_by_name(struct scene *c)
{
    struct upload parts[3];
    struct identity *me = NULL;
    make_upload(c, 100, &me, parts);
    bytes_put_u8(&parts[1].vector, 0); /* too long */
    assert_int_equal(send_upload(c, me, 1, &parts[1]), ERR_FORMAT);
    parts[1].vector.size -= 2; /* too short */
    assert_int_equal(send_upload(c, me, 1, &parts[1]), ERR_FORMAT);
    assert_true(support_contains(file(c, "server1.log"), "upload of o1: the upload does not have"));
    parts[0].form++; /* as many bits a cell more */
    assert_int_equal(send_upload(c, me, 0, &parts[0]), ERR_FORMAT);
    parts[0].form--;
    parts[0].seed[0][3] ^= 1;
    assert_int_equal(send_upload(c, me, 0, &parts[0]), ERR_DATA);
    assert_true(support_contains(file(c, "server0.log"), "upload of o1: the upload does not fit"));
    parts_clear(parts, &me);
}

/* Two uploads, each sound, under one id: server 0 holds one of them, servers 1 and 2 the other. */
static void two_uploads_under_one_id(struct scene *c)
{
    struct upload one[3], other[3];
    struct identity *me = NULL, *again = NULL;
    make_upload(c, 100, &me, one);
    make_upload(c, 900, &again, other);
    take_on_id(other, c->s.study->terms.digest, one[0].id);
    assert_int_equal(send_upload(c, me, 0, &other[0]), ERR_OK);
    assert_int_equal(send_upload(c, me, 1, &one[1]), ERR_OK);
    send_upload(c, me, 2, &one[2]); /* stored; answered when the vector has come */
    assert_true(support_wait_for(file(c, "server2.log"), "is complete", 10));
    parts_clear(one, &me);
    parts_clear(other, &again);
}

static unsigned how_often(const char *path, const char *text)
{
    struct bytes b = {0};
    unsigned count = 0;
    assert_int_equal(file_read(path, 1 << 20, &b, NULL), ERR_OK);
    bytes_put_u8(&b, 0);
    for (const char *at = (const char *)b.data; (at = strstr(at, text)) != NULL; at++)
        count++;
    bytes_clear(&b);
    return count;
}

static void a_hostile_owner_is_named_and_left_out(void **state)
{
    const struct support_options o = {.owners = OWNERS,
                                      .rounds = 24,
                                      .epsilon = 8,
                                      .more = "min_owners: 2\nlate_uploads: join\n"};
    struct scene c;
    (void)state;
    scene_new(&c, &o);
    what_an_owner_may_not_send_is_refused_by_name(&c);
    two_uploads_under_one_id(&c);
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(share_own(&c, 2), 0);
    assert_int_equal(run_study(&c, "a.key", 0), 0);
    assert_true(support_contains(file(&c, "server0.log"),
                                 "o1 sent server 1 other words than this one; its upload is left"));
    assert_true(support_contains(file(&c, "server1.log"), "o1 sent server 0 other words"));
    /* when the run begins, and then in every eleventh of the 25 rounds, in case it has changed */
    assert_int_equal(how_often(file(&c, "server0.log"), "o1 sent server 1 other words"), 1 + 3);
    /* what comes out is the others', whole */
    leave_out(&c, 1);
    check_measurements(&c, file(&c, "out%u/measurements.json", 0),
                       c.s.study->workload->one_ways + 24);
    scene_free(&c);
}

/* --- the wrong ----------------------------------------------------------------------------------- */

static void other_terms_are_named(void **state)
{
    const struct support_options o = {.owners = OWNERS, .round_s = 5};
    struct scene c;
    char altered[SUPPORT_PATH];
    (void)state;
    scene_new(&c, &o);
    altered_study(&c, "rounds: 3", "rounds: 4", altered);
    /* an owner whose study differs by one value */
    assert_int_equal(share(&c, 0, altered, file(&c, "o%u.csv", 0)), 3);
    assert_true(support_contains(file(&c, "share%u.log", 0), "other terms"));
    share_everything(&c);
    /* a server whose study differs */
    assert_int_equal(support_stop(&c.server[1]), 0);
    unlink(file(&c, "server%u.log", 1));
    {
        const char *const a[] = {
            "serve", altered, "--key", file(&c, "s%u.key", 1), "--folder", file(&c, "server%u", 1),
            NULL};
        /* its own folder holds another study's data */
        assert_int_equal(support_run(file(&c, "server%u.log", 1), 10, a), 3);
        assert_true(support_contains(file(&c, "server%u.log", 1), "another study (its terms)"));
    }
    {
        const char *const a[] = {"serve",    altered,
                                 "--key",    file(&c, "s%u.key", 1),
                                 "--folder", file(&c, "elsewhere"),
                                 "--listen", "127.0.0.1",
                                 NULL};
        c.server[1] = support_start(file(&c, "server%u.log", 1), a);
        assert_true(support_wait_for(file(&c, "server%u.log", 1), "is ready", 10));
    }
    assert_int_equal(run_study(&c, "a.key", 0), 3);
    assert_true(support_contains(file(&c, "run%u.log", 0), "rounds"));
    scene_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_study_over_real_processes),
        cmocka_unit_test(rows_and_columns_over_real_processes),
        cmocka_unit_test(a_run_begins_with_fewer_owners_where_the_study_says_so),
        cmocka_unit_test(late_rows_join_a_run),
        cmocka_unit_test(a_hostile_owner_is_named_and_left_out),
        cmocka_unit_test(a_dead_server_is_an_error_in_time_and_can_come_back),
        cmocka_unit_test(a_server_killed_in_the_middle_of_a_run),
        cmocka_unit_test(a_run_gives_up_and_goes_on_later),
        cmocka_unit_test(a_run_is_killed_and_extended),
        cmocka_unit_test(a_run_whose_folder_is_lost_goes_on),
        cmocka_unit_test(a_restored_server_is_refused_and_recovers),
        cmocka_unit_test(other_terms_are_named),
    };
    if (getenv("TREFOIL") == NULL)
        setenv("TREFOIL", "build/gcc/trefoil", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
