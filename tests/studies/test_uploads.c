/*
 * What an acknowledged upload survives, with real processes: each server killed at the steps of an
 * upload, and while the three agree on what they hold; disks that are full for a while; servers
 * that are told to end in the middle. Afterwards all three hold it, its receipt verifies, sending
 * it again changes nothing, and a run counts it once.
 *
 * Steps are whatever the world can see of a server (harness/preload_fault.c): something is sent,
 * written, synced. `make test` takes some of them, TREFOIL_LONG=1 most.
 */
#include "harness/cmocka.h"

#include "aim/table/csv.h"
#include "harness/process.h"

#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <sys/mount.h>

#define OWNERS 2
#define BIG 1 /* the owner whose vector comes in two parts */
#define EXIT_OTHER 1
#define EXIT_LOST 4

struct uploads_stage {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
    char done[SUPPORT_PATH], full[SUPPORT_PATH];
    size_t rows;
    bool mounts; /* those of this process are seen by nobody else, and vanish with it */
};

static bool is_long(void)
{
    return getenv("TREFOIL_LONG") != NULL;
}

/* --- processes -------------------------------------------------------------------------------- */

static void disarm(void)
{
    static const char *const names[] = {"FAULT", "FAULT_UNDER", "FAULT_TALLY", "FAULT_DONE",
                                        "FAULT_FULL"};
    support_unload();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        unsetenv(names[k]);
}

static void arm(const struct uploads_stage *c, unsigned who)
{
    support_preload();
    setenv("FAULT_UNDER", file(c, "server%u/", who), 1);
}

static void arm_kill(const struct uploads_stage *c, unsigned who, const char *kind, long at)
{
    char fault[32];
    snprintf(fault, sizeof fault, "%s:%ld", kind, at);
    unlink(c->done);
    arm(c, who);
    setenv("FAULT", fault, 1);
    setenv("FAULT_DONE", c->done, 1);
}

static void start(struct uploads_stage *c, unsigned i)
{
    unlink(file(c, "server%u.log", i));
    c->server[i] = START(file(c, "server%u.log", i), "serve", c->s.path, "--key",
                         file(c, "s%u.key", i), "--folder", file(c, "server%u", i), "--listen",
                         "127.0.0.1");
    disarm();
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Waits until it listens; if it is already dead, it has said why. */
static void wait_ready(struct uploads_stage *c, unsigned i)
{
    char log[32];
    snprintf(log, sizeof log, "server%u.log", i);
    for (double end = support_deadline(20); !has_ended(c->server[i]);) {
        if (support_contains(file(c, "%s", log), "is ready"))
            return;
        assert_true(support_again(end));
    }
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)c->server[i], &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_code != CLD_KILLED)
        expect_code(support_wait(c->server[i], 1), 0, file(c, "%s", log));
}

static void start_all(struct uploads_stage *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        start(c, i);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        wait_ready(c, i);
}

static pid_t start_share(struct uploads_stage *c, unsigned owner)
{
    unlink(file(c, "share.log"));
    return START(file(c, "share.log"), "share", c->s.path, file(c, "o%u.csv", owner), "--key",
                 file(c, "o%u.key", owner));
}

static void share(struct uploads_stage *c, unsigned owner)
{
    expect_code(support_wait(start_share(c, owner), 60), 0, file(c, "share.log"));
}

static pid_t start_run(struct uploads_stage *c)
{
    unlink(file(c, "run.log"));
    return START(file(c, "run.log"), "run", c->s.path, "--key", file(c, "a.key"), "--out",
                 file(c, "out"), "--wait=60");
}

/* Runs a command of three words and a file; checks its output, and that it succeeds. */
static void tell(struct uploads_stage *c, const char *const *arguments, const char *expected)
{
    unlink(file(c, "tell.log"));
    expect_code(support_run(file(c, "tell.log"), 30, arguments), 0, file(c, "tell.log"));
    if (!support_contains(file(c, "tell.log"), expected))
        expect_code(-1, 0, file(c, "tell.log"));
}

static void clear_servers(struct uploads_stage *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        support_remove(file(c, "server%u", i));
    support_remove(file(c, "out"));
    support_forget(&c->s);
}

/* --- what must be true then ------------------------------------------------------------------- */

static void status_says(struct uploads_stage *c, const char *text)
{
    tell(c, (const char *const[]){"share", c->s.path, "--key", file(c, "o0.key"), "--status", NULL},
         text);
}

static void has_receipt(struct uploads_stage *c, unsigned owner)
{
    tell(c,
         (const char *const[]){"check", c->s.path, "--receipt", file(c, "o%u.test.receipt", owner),
                               NULL},
         "on their disks, whole");
}

/* Everything acknowledged is on all three disks, and the same; sending it again changes nothing. */
static void is_held(struct uploads_stage *c, unsigned owner)
{
    char held[64];
    snprintf(held, sizeof held, "  o%u                   held by all three, ", owner);
    has_receipt(c, owner);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        support_kill(&c->server[i]);
        start(c, i);
    }
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        wait_ready(c, i);
    status_says(c, held);
    share(c, owner);
    status_says(c, held);
    has_receipt(c, owner);
}

/* Each released one-way adds up to all rows, each counted once, apart from its noise. */
static void are_counted_once(struct uploads_stage *c)
{
    json_t *doc = json_load_file(file(c, "out/measurements.json"), 0, NULL), *m, *v;
    size_t k, j;
    assert_non_null(doc);
    json_array_foreach(json_object_get(doc, "measurements"), k, m)
    {
        double sum = 0, sigma = json_number_value(json_object_get(m, "sigma"));
        json_array_foreach(json_object_get(m, "values"), j, v) sum += json_number_value(v);
        sigma *= sqrt((double)json_array_size(json_object_get(m, "values")));
        assert_true(sigma < 30);
        assert_true(fabs(sum - (double)c->rows) < 6.5 * sigma);
    }
    assert_true(k > 0);
    json_decref(doc);
}

static void run_counts_them_once(struct uploads_stage *c)
{
    for (unsigned i = 0; i < OWNERS; i++)
        share(c, i);
    expect_code(support_wait(start_run(c), 120), 0, file(c, "run.log"));
    are_counted_once(c);
}

/* --- killed at each step ---------------------------------------------------------------------- */

static const char *const kinds[] = {"kill-send", "kill-write", "kill-before", "kill-after"};

/* Restarts whatever was killed, until a client has ended; returns its exit code. */
static int tend(struct uploads_stage *c, pid_t client)
{
    for (double end = support_deadline(120); !has_ended(client);) {
        assert_true(support_again(end));
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            if (has_ended(c->server[i])) {
                assert_int_equal(support_wait(c->server[i], 1), -1);
                start(c, i);
                wait_ready(c, i);
            }
    }
    return support_wait(client, 1);
}

/* How many calls of this kind a server has made so far. */
static long tally(struct uploads_stage *c, char kind)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    long n = 0;
    OK(file_read(file(c, "tally"), 1 << 24, &b, &quiet));
    for (size_t i = 0; i < b.size; i++)
        n += b.data[i] == kind;
    return n;
}

struct uploads_range {
    long from, to;
};

/* The first and the last of the calls of an undisturbed upload. */
static void measure(struct uploads_stage *c, unsigned victim, const char letters[4],
                    struct uploads_range steps[4])
{
    clear_servers(c);
    unlink(file(c, "tally"));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        if (i == victim) {
            arm(c, i);
            setenv("FAULT_TALLY", file(c, "tally"), 1);
        }
        start(c, i);
    }
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        wait_ready(c, i);
    for (unsigned k = 0; k < 4; k++)
        steps[k].from = 1 + tally(c, letters[k]);
    share(c, BIG);
    support_pause_ms(200); /* server 1 notes what it has passed on */
    for (unsigned k = 0; k < 4; k++)
        steps[k].to = tally(c, letters[k]);
    assert_true(support_stop_all(c->server));
}

static void one_kill(struct uploads_stage *c, unsigned victim, const char *kind, long at)
{
    clear_servers(c);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        if (i == victim)
            arm_kill(c, i, kind, at);
        start(c, i);
    }
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        wait_ready(c, i);
    expect_code(tend(c, start_share(c, BIG)), 0, file(c, "share.log"));
    is_held(c, BIG);
}

/* One step of each kind, a different one at each server; or up to 40 of them. */
static unsigned kill_at(struct uploads_stage *c, unsigned victim, const char *kind,
                        struct uploads_range steps)
{
    long all = steps.to - steps.from + 1, skip = is_long() ? 0 : all * (victim + 1) / 4;
    unsigned killed = 0;
    assert_true(all > 0);
    for (long at = steps.from + skip; at <= steps.to; at += is_long() ? 1 + all / 40 : all) {
        one_kill(c, victim, kind, at);
        killed += access(c->done, F_OK) == 0;
        assert_true(support_stop_all(c->server));
    }
    return killed;
}

TEST(a_server_is_killed_at_each_step)
{
    struct uploads_stage *c = *state;
    for (unsigned victim = 0; victim < STUDY_SERVERS_MOST; victim++) {
        struct uploads_range steps[4];
        unsigned killed = 0;
        measure(c, victim, "nwss", steps);
        for (unsigned k = 0; k < 4; k++)
            killed += kill_at(c, victim, kinds[k], steps[k]);
        printf("# server %u was killed at %u steps of an upload\n", victim, killed);
        assert_true(killed >= 3); /* the number of messages varies */
        start_all(c);
        run_counts_them_once(c);
        assert_true(support_stop_all(c->server));
    }
}

/* The same for messages while they agree and add up, as a run begins. */
TEST(a_server_is_killed_while_they_agree)
{
    struct uploads_stage *c = *state;
    unsigned killed = 0;
    for (unsigned victim = 0; victim < STUDY_SERVERS_MOST; victim++)
        for (long at = 10 + (is_long() ? 0 : 4 * (long)victim); at < (is_long() ? 200 : 20);
             at += is_long() ? 3 : 10) {
            clear_servers(c);
            start_all(c);
            for (unsigned i = 0; i < OWNERS; i++)
                share(c, i);
            assert_int_equal(support_stop(&c->server[victim]), 0);
            arm_kill(c, victim, "kill-send", at);
            start(c, victim);
            wait_ready(c, victim);
            int code = tend(c, start_run(c));
            if (code == EXIT_LOST) /* before the run had begun */
                code = tend(c, start_run(c));
            expect_code(code, 0, file(c, "run.log"));
            killed += access(c->done, F_OK) == 0;
            are_counted_once(c);
            is_held(c, BIG);
            assert_true(support_stop_all(c->server));
        }
    assert_true(killed > 0);
}

/* --- a full disk ------------------------------------------------------------------------------ */

/* Fills the rest of the disk that holds server 0's folder; or pretends that it is full. */
static void fill(struct uploads_stage *c, bool real)
{
    static const char block[65536];
    int fd = open(real ? file(c, "server0/filler") : c->full, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    while (real && write(fd, block, sizeof block) > 0)
        ;
    while (real && write(fd, block, 1) > 0)
        ;
    close(fd);
}

TEST(a_full_disk_is_told_and_passes)
{
    struct uploads_stage *c = *state;
    assert_int_equal(mkdir(file(c, "server0"), 0700), 0);
    bool real = c->mounts &&
                mount("tmpfs", file(c, "server0"), "tmpfs", 0, "size=4m,mode=0700") == 0;
    printf("# the disk is %s\n",
           real ? "a tmpfs" : "said to be full: no mount in a namespace here");
    if (!real) {
        arm(c, 0);
        setenv("FAULT_FULL", c->full, 1);
    }
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        start(c, i);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        wait_ready(c, i);
    share(c, 0);
    fill(c, real);
    unlink(file(c, "share.log"));
    expect_code(COMMAND(file(c, "share.log"), 60, "share", c->s.path, file(c, "o%u.csv", BIG),
                        "--key", file(c, "o%u.key", BIG), "--retries", "1"),
                EXIT_OTHER, file(c, "share.log"));
    file_says(file(c, "share.log"), "the server could not store it");
    file_says(file(c, "share.log"), "run the same command again later");
    file_says(file(c, "server0.log"), "is the disk full");
    /* it lives, and still has what it had */
    status_says(c, "  o0                   held by all three, ");
    status_says(c, "  o1                   nothing yet");
    assert_int_equal(unlink(real ? file(c, "server0/filler") : c->full), 0);
    share(c, BIG);
    /* even after a crash in the middle of a full disk */
    fill(c, real);
    support_kill(&c->server[0]);
    assert_int_equal(unlink(real ? file(c, "server0/filler") : c->full), 0);
    start(c, 0);
    wait_ready(c, 0);
    is_held(c, 0);
    is_held(c, BIG);
    run_counts_them_once(c);
    assert_true(support_stop_all(c->server));
}

/* --- told to end ------------------------------------------------------------------------------ */

static void end_well(struct uploads_stage *c, unsigned i)
{
    expect_code(support_stop(&c->server[i]), 0, file(c, "share.log"));
    start(c, i);
    wait_ready(c, i);
}

/*
 * Server 1 has a vector that server 2 does not accept; then servers 0 and 2 are told to end while
 * server 1 is silent.
 */
TEST(servers_are_told_to_end_in_the_middle_of_an_upload)
{
    struct uploads_stage *c = *state;
    start_all(c);
    kill(c->server[2], SIGSTOP);
    pid_t client = start_share(c, BIG);
    assert_true(support_wait_for(file(c, "server1.log"), "all of its parts are here", 20));
    end_well(c, 1);
    kill(c->server[2], SIGCONT);
    expect_code(support_wait(client, 60), 0, file(c, "share.log"));
    is_held(c, BIG);
    kill(c->server[1], SIGSTOP);
    client = start_share(c, 0);
    assert_true(support_wait_for(file(c, "server0.log"), "upload of o0: stored", 20));
    end_well(c, 0);
    end_well(c, 2);
    kill(c->server[1], SIGCONT);
    expect_code(support_wait(client, 60), 0, file(c, "share.log"));
    is_held(c, 0);
    run_counts_them_once(c);
    assert_true(support_stop_all(c->server));
}

TEST(servers_are_told_to_end_in_the_middle_of_a_run)
{
    struct uploads_stage *c = *state;
    start_all(c);
    for (unsigned i = 0; i < OWNERS; i++)
        share(c, i);
    pid_t run = start_run(c);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        char round[16];
        snprintf(round, sizeof round, "\n%u/", i + 1);
        assert_true(support_wait_for(file(c, "run.log"), round, 60));
        end_well(c, i);
    }
    expect_code(support_wait(run, 120), 0, file(c, "run.log"));
    are_counted_once(c);
    tell(c,
         (const char *const[]){"audit", file(c, "server0/audit.log"), file(c, "server1/audit.log"),
                               file(c, "server2/audit.log"), NULL},
         "marginals fits worst");
    assert_true(support_stop_all(c->server));
}

/* --- the stage -------------------------------------------------------------------------------- */

static int stage_new(void **state)
{
    static struct uploads_stage c;
    memset(&c, 0, sizeof c);
    *state = &c;
    c.s = STUDY(&quiet, .owners = OWNERS, .rounds = 12, .epsilon = 8, .round_s = support_slow(20),
                .domain = "domain:\n"
                          "  - {name: age, kind: integer, min: 0, max: 7}\n"
                          "  - {name: sex, kind: categorical, values: [f, m]}\n"
                          "  - {name: ward, kind: categorical, values: [a, b, c, d]}\n",
                .part = (const char *const[]){NULL, "    max_rows: 2000\n    as: records\n"
                                                    "    pad_to: 310000\n"});
    for (unsigned i = 0; i < OWNERS; i++) {
        struct table *t CLEAN(table_free) = NULL;
        OK(support_table(&t, c.s.study->domain, 400 + 500 * i, 10 + i));
        OK(table_write_csv(file(&c, "o%u.csv", i), t, NULL, 1, NULL, &quiet));
        c.rows += t->rows;
    }
    support_study_file(&c.s, "done", c.done);
    support_study_file(&c.s, "full", c.full);
    c.mounts = unshare(CLONE_NEWNS) == 0 &&
               mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0;
    return 0;
}

static int stage_free(void **state)
{
    struct uploads_stage *c = *state;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        support_kill(&c->server[i]);
    if (c->mounts)
        (void)umount(file(c, "server0"));
    support_study_free(&c->s);
    return 0;
}

MAIN(support_run_each(stage_new, stage_free))
