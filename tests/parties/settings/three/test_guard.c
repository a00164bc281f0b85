/*
 * A server's guard (parties/settings/three/guard.h): checks that a lying server abandons are
 * counted on disk, one that fails is remembered, and then the server takes no part until its
 * operator says so.
 */
#include "tests/support/stores.h"

#include "harness/process.h"
#include "parties/settings/three/guard.h"
#include "tests/support/check.h"
#include "tests/support/socket.h"

struct guard_watch {
    struct stores_bench b;
    struct audit *audit[STUDY_SERVERS_MOST];
    struct guard guard[STUDY_SERVERS_MOST];
};

static void open_guard(struct guard_watch *w, unsigned i)
{
    if (w->b.store[i] == NULL)
        OK(open_store(&w->b, i));
    OK(audit_open(&w->audit[i], support_path(&w->b.s, "server%u", i), w->b.s.study, w->b.server[i],
                  i, &quiet));
    guard_start(&w->guard[i], w->b.store[i], &quiet);
}

static struct guard_watch watch_new(void)
{
    struct guard_watch w = {0};
    w.b = bench_new();
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        open_guard(&w, i);
    return w;
}

static void watch_free(struct guard_watch *w)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        audit_close(&w->audit[i]);
    bench_free(&w->b);
}

/* As after a crash. */
static void open_again(struct guard_watch *w, unsigned i)
{
    audit_close(&w->audit[i]);
    store_close(&w->b.store[i]);
    open_guard(w, i);
}

static struct store_guard found(const struct guard_watch *w, unsigned i)
{
    struct store_guard g;
    OK(store_guard(w->b.store[i], &g));
    return g;
}

static void expect(const struct guard_watch *w, unsigned i, uint64_t begun, uint64_t tries,
                   bool failed)
{
    const struct store_guard g = found(w, i);
    assert_int_equal(g.begun, begun);
    assert_int_equal(g.tries, tries);
    assert_int_equal(g.failed, failed);
}

static unsigned lines_of(const struct guard_watch *w, unsigned i, enum audit_kind kind)
{
    struct audit_file *f CLEAN(audit_file_free) = NULL;
    unsigned n = 0;
    OK(audit_file_read(&f, support_path(&w->b.s, "server%u/audit.log", i), &quiet));
    for (size_t k = 0; k < f->entries; k++)
        n += f->entry[k].kind == kind;
    return n;
}

/* --- on disk ---------------------------------------------------------------------------------- */

TEST(tries_are_counted_on_disk)
{
    LOG_INTO(log, words, LOG_ERROR);
    struct guard_watch w CLEAN(watch_free) = watch_new();
    struct check_guard g = guard_of(&w.guard[0]);
    OK(g.begin(g.self));
    OK(g.end(g.self));
    OK(g.begin(g.self));
    open_again(&w, 0);
    expect(&w, 0, 2, 1, false);
    OK(guard_allows(&w.guard[0], &quiet));
    for (unsigned k = 1; k < STORE_GUARD_TRIES; k++) {
        g = guard_of(&w.guard[0]); /* of another session */
        OK(g.begin(g.self));
        if (k % 100 == 0)
            open_again(&w, 0);
    }
    expect(&w, 0, STORE_GUARD_TRIES + 1, STORE_GUARD_TRIES, false);
    g = guard_of(&w.guard[0]);
    assert_int_equal(g.begin(g.self), ERR_REFUSED);
    expect(&w, 0, STORE_GUARD_TRIES + 1, STORE_GUARD_TRIES, false);
    assert_int_equal(guard_allows(&w.guard[0], &log), ERR_REFUSED);
    support_says(words, "because too many checks were broken off before they ended");
}

/* It does not matter which of them is left: the session ends for all. */
TEST(checks_of_lanes_that_run_together_are_one_try)
{
    struct check_guard g;
    struct guard_watch w CLEAN(watch_free) = watch_new();
    for (unsigned session = 0; session < 3; session++) {
        g = guard_of(&w.guard[2]);
        for (unsigned lane = 0; lane < 4; lane++) {
            OK(g.begin(g.self));
            expect(&w, 2, 2 * session + 1, session + 1, false);
        }
        for (unsigned lane = 0; lane < 3; lane++)
            OK(g.end(g.self));
        OK(g.begin(g.self)); /* its next one, while another still runs */
        OK(g.end(g.self));
        expect(&w, 2, 2 * session + 1, session + 1, false);
        OK(g.end(g.self));
        expect(&w, 2, 2 * session + 1, session, false);
        for (unsigned lane = 0; lane < 4; lane++)
            OK(g.begin(g.self));
        OK(g.end(g.self));
        expect(&w, 2, 2 * session + 2, session + 1, false);
    }
}

struct waiting {
    struct check_guard guard;
    enum err result;
};

static void *begin_elsewhere(void *self)
{
    struct waiting *w = self;
    w->result = w->guard.begin(w->guard.self);
    return NULL;
}

/* For a lane that may compute what only this server was asked: no try, and no failure. */
TEST(no_check_of_another_lane_begins_before_all_agree)
{
    struct guard_watch w CLEAN(watch_free) = watch_new();
    for (unsigned k = 0; k < 3; k++) {
        struct waiting lane = {.guard = guard_of(&w.guard[k])};
        atomic_bool ended = false;
        pthread_t thread;
        guard_expects(&w.guard[k], &ended);
        assert_int_equal(pthread_create(&thread, NULL, begin_elsewhere, &lane), 0);
        support_pause_ms(20);
        expect(&w, k, 0, 0, false);
        lane.guard.failed(lane.guard.self);
        expect(&w, k, 0, 0, false);
        OK(guard_verdict(&w.guard[k]));
        if (k == 0)
            atomic_store(&ended, true);
        else
            guard_hears(&w.guard[k]);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(lane.result, k == 0 ? ERR_PEER : ERR_OK);
        expect(&w, k, k > 0, k > 0, false);
        if (k > 0)
            OK(lane.guard.end(lane.guard.self));
        guard_expects(&w.guard[k], &ended); /* the first lane hears this before it gets that far */
        OK(lane.guard.begin(lane.guard.self));
        guard_hears(&w.guard[k]);
        lane.guard.failed(lane.guard.self);
        assert_int_equal(guard_verdict(&w.guard[k]), ERR_CHEAT);
    }
}

/* What a server stated; but not what follows from something that was no failure. */
TEST(what_ends_a_session_with_a_catch_is_remembered)
{
    struct guard_watch w CLEAN(watch_free) = watch_new();
    atomic_bool ended = false;
    struct check_guard g = guard_of(&w.guard[0]);
    guard_expects(&w.guard[0], &ended);
    g.failed(g.self);
    guard_hears(&w.guard[0]);
    guard_catches(&w.guard[0]);
    OK(guard_verdict(&w.guard[0]));
    (void)guard_of(&w.guard[0]); /* the next session */
    guard_catches(&w.guard[0]);
    assert_int_equal(guard_verdict(&w.guard[0]), ERR_CHEAT);
    open_again(&w, 0);
    assert_int_equal(guard_verdict(&w.guard[0]), ERR_CHEAT);
}

TEST(a_check_that_failed_is_remembered_until_the_operator_says_so)
{
    LOG_INTO(log, words, LOG_ERROR);
    struct store_guard before;
    struct guard_watch w CLEAN(watch_free) = watch_new();
    struct check_guard g = guard_of(&w.guard[1]);
    OK(g.begin(g.self));
    g.failed(g.self);
    open_again(&w, 1);
    g = guard_of(&w.guard[1]);
    assert_int_equal(g.begin(g.self), ERR_REFUSED);
    expect(&w, 1, 1, 1, true);
    assert_int_equal(guard_allows(&w.guard[1], &log), ERR_CHEAT);
    support_says(words, "because a check failed: another server departs");
    support_says(words, "trefoil recover STUDY --key KEY --folder FOLDER --resume");
    OK(guard_lift(w.b.store[1], w.audit[1], &before));
    assert_true(before.failed && before.begun == 1 && before.tries == 1);
    open_again(&w, 1);
    g = guard_of(&w.guard[1]);
    expect(&w, 1, 1, 0, false);
    OK(guard_allows(&w.guard[1], &quiet));
    OK(g.begin(g.self));
    assert_int_equal(lines_of(&w, 1, AUDIT_RESUMED), 1);
    /* if nothing was wrong, nothing is logged */
    OK(guard_lift(w.b.store[1], w.audit[1], &before));
    expect(&w, 1, 2, 1, false);
    assert_int_equal(lines_of(&w, 1, AUDIT_RESUMED), 1);
}

/*
 * A disk that refuses to store it: the process still knows, and a guard that cannot be read
 * refuses.
 */
TEST(what_the_disk_does_not_take_is_known_to_the_process)
{
    struct guard_watch w CLEAN(watch_free) = watch_new();
    struct check_guard g = guard_of(&w.guard[2]);
    support_alter(&w.b.s, 2,
                  "CREATE TRIGGER full BEFORE UPDATE ON guard BEGIN SELECT RAISE(ABORT, 'full'); "
                  "END");
    assert_int_equal(g.begin(g.self), ERR_SYSTEM); /* so no coin leaves */
    g.failed(g.self);
    expect(&w, 2, 0, 0, false);
    assert_int_equal(g.begin(g.self), ERR_REFUSED);
    assert_int_equal(guard_allows(&w.guard[2], &quiet), ERR_CHEAT);
    open_again(&w, 2);
    support_alter(&w.b.s, 2, "DELETE FROM guard");
    assert_int_equal(guard_allows(&w.guard[2], &quiet), ERR_CHEAT);
}

/* --- three servers ---------------------------------------------------------------------------- */

#define LAST_COIN 5 /* round 0 is the AND, rounds 1 to 6 the flush, round 7 the opening */

/* Takes the last coin's halves, and leaves. */
static enum err leave(struct check_play *play, const struct hooks_sent *at, void *p, size_t n)
{
    return at->exchange == LAST_COIN ? ERR_PEER : ERR_OK;
}

/* Sends another word than it has made, in the given round. */
static enum err alter(struct check_play *play, const struct hooks_sent *at, void *p, size_t n)
{
    const uint64_t *round = play->self;
    if (at->exchange == *round && at->to == NET_PREV)
        *(uint8_t *)p ^= 1;
    return ERR_OK;
}

static void play_as(struct guard_watch *w, struct check_play *play, unsigned cheat)
{
    static const struct check_limits as_said;
    play->job = play_and;
    play->n = 100;
    play->limits = &as_said;
    play->cheat = cheat;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        if (i != cheat)
            play->guard[i] = guard_of(&w->guard[i]);
    play_run(play);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        if (i != cheat && play->result[i] != ERR_OK)
            assert_int_equal(play->opened[i].size, 0);
}

/* However often it asks again: the two others stop, and nothing is opened before that. */
TEST(who_hangs_up_after_a_coin_has_a_number_of_tries)
{
    struct guard_watch w CLEAN(watch_free) = watch_new();
    unsigned plays = 0;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        support_alter(&w.b.s, i, "UPDATE guard SET tries = 253");
    for (;;) {
        struct check_play play = {.alter = leave};
        play_as(&w, &play, 1);
        plays++;
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i += 2)
            if (plays <= 3)
                expect(&w, i, plays, 253 + plays, false);
        if (play.begun[0] == 0) {
            assert_int_equal(play.result[0], ERR_REFUSED);
            assert_false(play_has_sent(&play, 0, 1, NET_NEXT) ||
                         play_has_sent(&play, 2, 1, NET_NEXT));
            play_free(&play);
            break;
        }
        play_free(&play);
        open_again(&w, 0);
    }
    assert_int_equal(plays, 4);
    expect(&w, 0, 3, STORE_GUARD_TRIES, false);
    expect(&w, 2, 3, STORE_GUARD_TRIES, false);
}

/* A product, a sum of the flush, the digest of what is opened. */
TEST(one_wrong_word_stops_both)
{
    static const uint64_t rounds[] = {0, 2, 7};
    for (unsigned k = 0; k < 3; k++) {
        uint64_t round = rounds[k];
        const unsigned cheat = k;
        struct check_play wrong CLEAN(play_free) = {.alter = alter, .self = &round},
                                again CLEAN(play_free) = {0};
        struct guard_watch w CLEAN(watch_free) = watch_new();
        play_as(&w, &wrong, cheat);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            if (i != cheat && wrong.result[i] == ERR_CHEAT)
                expect(&w, i, 1, round == 7 ? 0 : 1, true);
        assert_true(wrong.result[(cheat + 2) % 3] == ERR_CHEAT);
        again.alter = leave; /* whatever it does then */
        play_as(&w, &again, cheat);
        assert_int_equal(again.result[(cheat + 2) % 3], ERR_REFUSED);
    }
}

/* --- a server --------------------------------------------------------------------------------- */

static int run_study(const struct support_study *s)
{
    return ANEW(support_path(s, "run.log"), 60, "run", s->path, "--key", support_path(s, "a.key"),
                "--out", support_path(s, "out"), "--rounds=1");
}

static int resume(const struct support_study *s, unsigned i)
{
    return ANEW(support_path(s, "resume.log"), 30, "recover", s->path, "--key",
                support_path(s, "s%u.key", i), "--folder", support_path(s, "server%u", i),
                "--resume");
}

/* Killed at each sync, it never let the server go on without a line in the audit log. */
TEST(a_resumption_that_is_killed_is_told_or_not_made)
{
    static const char *const when[] = {"kill-before:", "kill-after:"};
    int code = -1;
    unsigned k;
    for (k = 0; code != 0; k++) {
        struct guard_watch w CLEAN(watch_free) = watch_new();
        char fault[32];
        support_alter(&w.b.s, 0, "UPDATE guard SET begun = 3, failed = 1");
        audit_close(&w.audit[0]);
        store_close(&w.b.store[0]);
        snprintf(fault, sizeof fault, "%s%u", when[k % 2], 1 + k / 2);
        support_preload();
        setenv("FAULT", fault, 1);
        setenv("FAULT_UNDER", support_path(&w.b.s, "server0/"), 1);
        code = resume(&w.b.s, 0);
        unsetenv("FAULT");
        unsetenv("FAULT_UNDER");
        support_unload();
        open_guard(&w, 0);
        assert_true(found(&w, 0).failed || lines_of(&w, 0, AUDIT_RESUMED) == 1);
        if (code == 0)
            assert_false(found(&w, 0).failed);
        audit_close(&w.audit[0]);
        store_close(&w.b.store[0]);
        assert_int_equal(resume(&w.b.s, 0), 0);
        open_guard(&w, 0);
        expect(&w, 0, 3, 0, false);
        assert_in_range(lines_of(&w, 0, AUDIT_RESUMED), 1, 2);
    }
    assert_in_range(k, 5, 40); /* at each of its syncs, and then at none */
}

static pid_t serve_with_status(const struct support_study *s, uint16_t port)
{
    char text[16];
    snprintf(text, sizeof text, "%u", port);
    return START(support_path(s, "server2.log"), "serve", s->path, "--key",
                 support_path(s, "s2.key"), "--folder", support_path(s, "server2"), "--listen",
                 s->host, "--status", text);
}

static void expect_health(uint16_t port, const char *code, const char *words)
{
    struct bytes answer CLEAN(bytes_clear) = {0};
    const int fd = support_connect("127.0.0.1", port);
    assert_int_equal(write(fd, "GET /healthz HTTP/1.0\r\n\r\n", 25), 25);
    support_says(support_answer(fd, &answer), code);
    support_says((const char *)answer.data, words);
}

/* A stopped server says so to analyst and operator, and goes on when the operator says so. */
TEST(a_server_that_stopped_serves_no_run)
{
    pid_t server[STUDY_SERVERS_MOST];
    struct support_study s CLEAN(support_study_free) = STUDY(&quiet, .owners = 1, .rounds = 1);
    uint16_t status = support_ports(1);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        server[i] = i == 2 ? serve_with_status(&s, status) : support_serve(&s, i, s.path);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_true(support_wait_for(support_path(&s, "server%u.log", i), "is ready", 60));
    OK(support_csv(support_path(&s, "o.csv"), s.study->domain, 400, 10));
    EXPECT(0, support_path(&s, "share.log"), 30, "share", s.path, support_path(&s, "o.csv"),
           "--key", support_path(&s, "o0.key"));
    support_alter(&s, 2, "UPDATE guard SET begun = 9, tries = 1, failed = 1");
    expect_health(status, " 200 ", "ok");
    assert_int_equal(run_study(&s), 7);
    expect_health(status, " 503 ", "a check failed: this server takes part in no run");
    file_says(support_path(&s, "run.log"), "no longer takes part in the study");
    assert_int_equal(resume(&s, 2), 1); /* it runs */
    assert_int_equal(support_stop(&server[2]), 0);
    unlink(support_path(&s, "server2.log"));
    server[2] = serve_with_status(&s, status);
    assert_true(support_wait_for(support_path(&s, "server2.log"), "is ready", 60));
    expect_health(status, " 503 ", "a check failed: this server takes part in no run");
    assert_int_equal(support_stop(&server[2]), 0);
    ENDS(resume(&s, 2), 0, support_path(&s, "resume.log"), "can be started again");
    file_says(support_path(&s, "server2/audit.log"), " resumed checks 9 left 1 failed 1 ");
    ENDS(resume(&s, 2), 0, support_path(&s, "resume.log"), "nothing stopped this server");
    server[2] = support_serve_ready(&s, 2, s.path);
    assert_int_equal(run_study(&s), 0);
    EXPECT(0, support_path(&s, "audit.txt"), 20, "audit", support_path(&s, "server0/audit.log"),
           support_path(&s, "server1/audit.log"), support_path(&s, "server2/audit.log"));
    file_says(support_path(&s, "audit.txt"), "take part again: of 9 checks one had failed");
    assert_true(support_stop_all(server));
}
