/*
 * Wall clocks that jump, with real processes (FAULT_CLOCK of harness/preload_fault.c): nothing that
 * is computed follows them, so a study goes on and its servers agree; what does follow them (the
 * last day of a key, until when uploads are taken, how long they are kept) is said in words, and is
 * as before once the clock is right again.
 */
#include "harness/cmocka.h"

#include "base/date.h"
#include "harness/process.h"

#define DAY INT64_C(86400)
#define YEAR (365 * DAY)
#define OWNERS 2
#define EXIT_DISAGREES 3
#define EXIT_REFUSED 5

struct clock_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
};

/* From now on server i's clock is this far ahead; an owner's own clock is right. */
static void set_clock(struct clock_scene *c, unsigned i, int64_t ahead)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%lld\n", (long long)ahead);
    OK(file_write(file(c, "clock%u", i), 0644, text, (size_t)n, &quiet));
}

static void set_clocks(struct clock_scene *c, int64_t ahead)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        set_clock(c, i, ahead);
}

/* Starts a program that uses server i's clock. */
static void take_clock(const struct clock_scene *c, unsigned i)
{
    support_preload();
    setenv("FAULT_CLOCK", file(c, "clock%u", i), 1);
}

static void leave_clock(void)
{
    support_unload();
    unsetenv("FAULT_CLOCK");
}

static void start(struct clock_scene *c, unsigned i)
{
    unlink(file(c, "server%u.log", i));
    take_clock(c, i);
    c->server[i] = support_serve(&c->s, i, c->s.path);
    leave_clock();
    assert_true(support_wait_for(file(c, "server%u.log", i), "is ready", 60));
}

static struct clock_scene scene_new(const struct study_options *o)
{
    struct clock_scene c = {.s = support_study_of(o, &quiet)};
    for (unsigned i = 0; i < OWNERS; i++)
        OK(support_csv(file(&c, "o%u.csv", i), c.s.study->domain, 400 + 500 * i, 10 + i));
    set_clocks(&c, 0);
    return c;
}

static void start_all(struct clock_scene *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        start(c, i);
}

static void scene_free(struct clock_scene *c)
{
    assert_true(support_stop_all(c->server));
    support_study_free(&c->s);
}

/* A command's exit code; its output is in told.log. */
#define TELL(c, ...) ANEW(file(c, "told.log"), 90, __VA_ARGS__)

static void says(struct clock_scene *c, const char *text)
{
    file_says(file(c, "told.log"), text);
}

static int share(struct clock_scene *c, unsigned owner)
{
    return TELL(c, "share", c->s.path, file(c, "o%u.csv", owner), "--key",
                file(c, "o%u.key", owner));
}

static int status(struct clock_scene *c)
{
    return TELL(c, "share", c->s.path, "--key", file(c, "o0.key"), "--status");
}

/*
 * Forwards and backwards while owners share and while a run is on; no two servers have the same
 * time.
 */
TEST(a_study_goes_on_whatever_the_clocks_do)
{
    static const int64_t jumps[] = {3600, -3600, 20 * YEAR, -20 * YEAR, 0};
    struct clock_scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .rounds = 12, .epsilon = 8));
    start_all(&c);
    set_clock(&c, 0, YEAR);
    set_clock(&c, 1, -YEAR);
    assert_int_equal(share(&c, 0), 0);
    assert_int_equal(TELL(&c, "check", c.s.path, "--receipt", file(&c, "o0.test.receipt")), 0);
    set_clock(&c, 0, -YEAR);
    set_clock(&c, 1, YEAR);
    assert_int_equal(share(&c, 0), 0); /* the same, and counts once */
    assert_int_equal(share(&c, 1), 0);
    assert_int_equal(status(&c), 0);
    says(&c, "  o0                   held by all three, ");
    pid_t run = START(file(&c, "run.log"), "run", c.s.path, "--key", file(&c, "a.key"), "--out",
                      file(&c, "out"));
    for (unsigned k = 0; k < sizeof jumps / sizeof *jumps; k++) {
        char round[16];
        snprintf(round, sizeof round, "\n%u/", 2 * k + 1);
        assert_true(support_wait_for(file(&c, "run.log"), round, 60));
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            set_clock(&c, i, jumps[(k + i) % (sizeof jumps / sizeof *jumps)]);
    }
    assert_int_equal(support_wait(run, 90), 0);
    assert_false(support_contains(file(&c, "run.log"), "rror: "));
    /* a server is restarted in the past, and still has the whole ledger */
    assert_true(support_stop_all(c.server));
    set_clocks(&c, -20 * YEAR);
    start_all(&c);
    assert_int_equal(
        TELL(&c, "run", c.s.path, "--key", file(&c, "a.key"), "--out", file(&c, "other")),
        EXIT_REFUSED);
    assert_int_equal(TELL(&c, "audit", file(&c, "server0/audit.log"), file(&c, "server1/audit.log"),
                          file(&c, "server2/audit.log")),
                     0);
    says(&c, "marginals fits worst");
}

/*
 * A key is good on its last day. A server whose clock is past that day refuses it for as long as it
 * is.
 */
TEST(a_key_expires_by_the_servers_clock)
{
    struct identity *old CLEAN(identity_free) = NULL, *renewed CLEAN(identity_free) = NULL;
    char was[IDENTITY_TEXT_SIZE], is[IDENTITY_TEXT_SIZE];
    struct clock_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = OWNERS));
    OK(identity_load(&old, file(&c, "o0.key"), &quiet));
    OK(identity_renew(&renewed, old, date_today() + 30, &quiet));
    OK(identity_save(renewed, file(&c, "o0.key"), true, &quiet));
    public_identity_text(&old->public, was);
    public_identity_text(&renewed->public, is);
    assert_true(support_edit(c.s.path, file(&c, "new.yaml"), (const char *const[]){was, is, NULL}));
    assert_int_equal(rename(file(&c, "new.yaml"), c.s.path), 0);
    start_all(&c);
    set_clock(&c, 2, 32 * DAY);
    assert_int_equal(share(&c, 0), EXIT_DISAGREES);
    says(&c, "server 2 (s2): the key of o0 was good until");
    set_clock(&c, 2, 29 * DAY);
    assert_int_equal(share(&c, 0), 0);
}

TEST(uploads_end_and_are_due_by_the_servers_clock)
{
    char more[128];
    const struct words_text until = date_text(date_now() + 10 * DAY);
    snprintf(more, sizeof more, "deadlines: {uploads: %s, ", until.text);
    struct clock_scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .more = "retain_days: 30\n"));
    assert_true(support_edit(c.s.path, file(&c, "new.yaml"),
                             (const char *const[]){"deadlines: {", more, NULL}));
    assert_int_equal(rename(file(&c, "new.yaml"), c.s.path), 0);
    start_all(&c);
    assert_int_equal(share(&c, 0), 0);
    set_clock(&c, 0, 11 * DAY);
    assert_int_equal(share(&c, 1), EXIT_REFUSED);
    says(&c, "uploads were taken until");
    set_clock(&c, 0, 0);
    assert_int_equal(share(&c, 1), 0);
    /* kept until it is due at that server, which says so in its log */
    assert_int_equal(status(&c), 0);
    says(&c, "operators are due to purge them from");
    assert_false(support_contains(file(&c, "server0.log"), "due to be purged"));
    set_clock(&c, 0, 31 * DAY);
    assert_true(support_wait_for(file(&c, "server0.log"), "the uploads are due to be purged", 10));
    assert_int_equal(support_stop(&c.server[0]), 0);
    set_clock(&c, 0, -YEAR);
    take_clock(&c, 0);
    assert_int_equal(TELL(&c, "serve", c.s.path, "--key", file(&c, "s0.key"), "--folder",
                          file(&c, "server0"), "--purge"),
                     EXIT_REFUSED);
    says(&c, "cannot be purged yet");
    set_clock(&c, 0, 31 * DAY);
    assert_int_equal(TELL(&c, "check", c.s.path), 0);
    says(&c, "That is on ");
    assert_int_equal(status(&c), 4); /* server 0 is down, the other two report it */
    says(&c, "The study's retain_days were over on");
    set_clock(&c, 0, 41 * DAY);
    assert_int_equal(TELL(&c, "check", c.s.path), 0);
    says(&c, "That time is over, on ");
    assert_int_equal(TELL(&c, "serve", c.s.path, "--key", file(&c, "s0.key"), "--folder",
                          file(&c, "server0"), "--purge"),
                     0);
    leave_clock();
}
