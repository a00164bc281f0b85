/*
 * Makes everything fail once in each process of a study: each allocation, write, sync, call to
 * ZeroMQ, SQLite and the rest, at a server, an owner or the analyst. After that a server still has
 * what it acknowledged, and what it lacks can be sent again.
 */
#include "harness/cmocka.h"

#include "base/date.h"
#include "parties/exchange/message.h"
#include "parties/study/study_uploads.h"
#include "tests/support/faults.h"
#include "tests/support/socket.h"

#define EXIT_BUDGET 5
#define IN_A_RUN 1500     /* calls of a server to ZeroMQ */
#define A_MONTH "2764800" /* seconds */

/* --- servers ---------------------------------------------------------------------------------- */

static void start_server(struct faults_scene *c, unsigned i)
{
    unlink(file(c, "server%u.log", i));
    c->server[i] = support_serve(&c->s, i, c->s.path);
}

static bool is_ready(const struct faults_scene *c, unsigned i)
{
    return support_wait_for(file(c, "server%u.log", i), "is ready", 60);
}

static bool has_ended(pid_t pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return true;
    if (fgets(text, sizeof text, f) == NULL)
        text[0] = '\0';
    fclose(f);
    return strstr(text, ") Z ") != NULL;
}

static bool ends(const struct faults_scene *c, unsigned i)
{
    double end = support_deadline(2);
    while (!has_ended(c->server[i]) && support_again(end))
        ;
    return has_ended(c->server[i]);
}

/* Waits until it is ready or has ended; false if it ended. */
static bool comes_up(const struct faults_scene *c, unsigned i)
{
    double end = support_deadline(20);
    while (support_again(end)) {
        if (support_contains(file(c, "server%u.log", i), "is ready"))
            return true;
        if (has_ended(c->server[i]))
            return false;
    }
    fail_msg("server %u neither got ready nor ended with %s", i, faults_last());
    return false;
}

/* It gives up on a server that has ended well before the test would. */
static int share(struct faults_scene *c)
{
    return ANEW(file(c, "share.log"), 60, "share", c->s.path, file(c, "o0.csv"), "--key",
                file(c, "o0.key"), "--retries", "2", "--accept-warnings");
}

static int ask_status(struct faults_scene *c)
{
    return ANEW(file(c, "status.log"), 60, "share", c->s.path, "--key", file(c, "o0.key"),
                "--retries", "2", "--status");
}

static int run_waiting(struct faults_scene *c, const char *seconds)
{
    return ANEW(file(c, "run.log"), 60, "run", c->s.path, "--key", file(c, "a.key"), "--out",
                file(c, "out"), "--wait", seconds);
}

static int run(struct faults_scene *c)
{
    return run_waiting(c, "120");
}

static void start_all(struct faults_scene *c)
{
    for (unsigned i = 0; i < c->s.study->servers; i++)
        start_server(c, i);
    for (unsigned i = 0; i < c->s.study->servers; i++)
        assert_true(is_ready(c, i));
}

/* Starts all, one of which has a fault; false if that one did not come up. */
static bool start_servers(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    for (unsigned i = 0; i < c->s.study->servers; i++) {
        if (i == victim)
            faults_arm(c, kind, n);
        start_server(c, i);
        faults_disarm();
    }
    bool up = comes_up(c, victim);
    for (unsigned i = 0; i < c->s.study->servers; i++)
        assert_true(i == victim || is_ready(c, i));
    return up;
}

/* The program that counts coverage writes no counts when it is killed. */
#ifdef TREFOIL_COVERAGE
#define END_SIGNAL SIGTERM
#else
#define END_SIGNAL SIGKILL
#endif

static void end_server(struct faults_scene *c, unsigned i)
{
    if (c->server[i] > 0) {
        kill(c->server[i], END_SIGNAL);
        (void)support_wait(c->server[i], 10);
    }
    c->server[i] = 0;
}

/*
 * If the victim still lives, it is killed, since what it acknowledged is on disk; or it is asked to
 * end, which it must do whatever has failed. Then a sound one starts.
 */
static void replace_server(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    bool ended = has_ended(c->server[victim]);
    if (!ended && n % 2 == 0)
        end_server(c, victim);
    else {
        int code = ended ? support_wait(c->server[victim], 1) : support_stop(&c->server[victim]);
        faults_expect_words(file(c, "server%u.log", victim), code, kind, n);
        assert_true(code != 0 || !ended);
    }
    c->server[victim] = 0;
    start_server(c, victim);
    if (!is_ready(c, victim)) {
        faults_show(file(c, "server%u.log", victim));
        fail_msg("%s%ld at server %u: no other is ready after it", kind, n, victim);
    }
}

static void end_servers(struct faults_scene *c)
{
    for (unsigned i = 0; i < c->s.study->servers; i++)
        if (c->server[i] > 0)
            kill(c->server[i], END_SIGNAL);
    for (unsigned i = 0; i < c->s.study->servers; i++)
        end_server(c, i);
}

static void clear_servers(struct faults_scene *c)
{
    for (unsigned i = 0; i < c->s.study->servers; i++)
        support_remove(file(c, "server%u", i));
    support_remove(file(c, "out"));
    support_forget(&c->s);
}

/* Saves the servers' folders, once, under another name; or restores them. */
static void keep_folders(struct faults_scene *c, const char *name)
{
    end_servers(c);
    for (unsigned i = 0; i < c->s.study->servers; i++)
        faults_copy(file(c, "server%u", i), file(c, "%s%u", name, i));
}

static bool have_folders(struct faults_scene *c, const char *name)
{
    clear_servers(c);
    if (access(file(c, "%s0", name), F_OK) != 0)
        return false;
    for (unsigned i = 0; i < c->s.study->servers; i++)
        faults_copy(file(c, "%s%u", name, i), file(c, "server%u", i));
    return true;
}

/* All servers have an upload; none of them runs. */
static void have_upload(struct faults_scene *c)
{
    if (have_folders(c, "shared"))
        return;
    start_all(c);
    assert_int_equal(share(c), 0);
    keep_folders(c, "shared");
}

/*
 * An upload at a server whose n-th call fails; then everything without a fault. False: no such
 * call.
 */
static bool upload_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    int shared = -1;
    clear_servers(c);
    if (start_servers(c, victim, kind, n)) {
        shared = share(c);
        faults_expect_words(file(c, "share.log"), shared, kind, n);
        faults_expect_words(file(c, "status.log"), ask_status(c), kind, n);
    }
    bool fired = faults_happened(c);
    replace_server(c, victim, kind, n);
    if (shared != 0)
        assert_int_equal(share(c), 0);
    assert_int_equal(run(c), 0);
    end_servers(c);
    return fired;
}

/* How far ahead the clock is at the server with the fault. */
static void set_clock(struct faults_scene *c, const char *seconds)
{
    OK(file_write(file(c, "clock"), 0600, seconds, strlen(seconds), NULL));
}

/* A vector that comes in parts, without a run. */
static bool parts_survive(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    clear_servers(c);
    if (start_servers(c, victim, kind, n))
        faults_expect_words(file(c, "share.log"), share(c), kind, n);
    bool fired = faults_happened(c);
    replace_server(c, victim, kind, n);
    ENDS(share(c), 0, file(c, "share.log"), "all three servers have stored the upload");
    end_servers(c);
    return fired;
}

/*
 * A run with such a server: the same command completes it, whatever has failed, and no other run
 * finds any budget.
 */
static bool run_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    have_upload(c);
    if (start_servers(c, victim, kind, n))
        faults_expect_words(file(c, "run.log"), run_waiting(c, "2"), kind, n);
    bool fired = faults_happened(c);
    replace_server(c, victim, kind, n);
    if (run(c) != 0) {
        faults_show(file(c, "run.log"));
        for (unsigned i = 0; i < c->s.study->servers; i++)
            faults_show(file(c, "server%u.log", i));
        fail_msg("%s%ld at server %u: the run does not go on", kind, n, victim);
    }
    support_remove(file(c, "out"));
    assert_int_equal(run(c), EXIT_BUDGET);
    end_servers(c);
    return fired;
}

/* A server gives up in the middle of the run, and another has the fault while it hears of that. */
static bool lost_run_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    const unsigned lost = (victim + 1) % c->s.study->servers;
    have_upload(c);
    for (unsigned i = 0; i < c->s.study->servers; i++) {
        if (i == victim)
            faults_arm(c, kind, n);
        else if (i == lost) {
            faults_arm(c, "link:", IN_A_RUN);
            unsetenv("FAULT_DONE");
        }
        start_server(c, i);
        faults_disarm();
    }
    bool up = comes_up(c, victim);
    if (up)
        faults_expect_words(file(c, "run.log"), run_waiting(c, "0"), kind, n);
    bool fired = faults_happened(c);
    support_kill(&c->server[lost]);
    start_server(c, lost);
    assert_true(is_ready(c, lost));
    replace_server(c, victim, kind, n);
    if (run(c) != 0)
        fail_msg("%s%ld at server %u: the run does not go on", kind, n, victim);
    end_servers(c);
    return fired;
}

/* The analyst's program has the fault: the same command, without it, completes the run. */
static bool analyst_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    have_upload(c);
    start_all(c);
    faults_arm(c, kind, n);
    int code = run(c);
    faults_disarm();
    bool fired = faults_happened(c);
    faults_expect_words(file(c, "run.log"), code, kind, n);
    if (code != 0 && run(c) != 0)
        fail_msg("%s%ld at the analyst: the run does not go on", kind, n);
    support_remove(file(c, "out"));
    assert_int_equal(run(c), EXIT_BUDGET);
    end_servers(c);
    return fired;
}

static int withdraw_under(struct faults_scene *c, const char *study)
{
    return ANEW(file(c, "share.log"), 60, "share", study, "--key", file(c, "o0.key"), "--retries",
                "2", "--withdraw");
}

static int withdraw(struct faults_scene *c)
{
    return withdraw_under(c, c->s.path);
}

static int replace(struct faults_scene *c)
{
    return ANEW(file(c, "share.log"), 60, "share", c->s.path, file(c, "other.csv"), "--key",
                file(c, "o0.key"), "--retries", "2", "--replace");
}

/* An existing upload is replaced and withdrawn, at a server whose n-th call fails. */
static bool withdrawal_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    have_upload(c);
    if (start_servers(c, victim, kind, n)) {
        faults_expect_words(file(c, "share.log"), replace(c), kind, n);
        faults_expect_words(file(c, "share.log"), withdraw(c), kind, n);
    }
    bool fired = faults_happened(c);
    replace_server(c, victim, kind, n);
    assert_int_equal(withdraw(c), 0);
    ENDS(ask_status(c), 0, file(c, "status.log"), "withdrawn");
    end_servers(c);
    return fired;
}

/* Asks the servers themselves, whatever this key has shared under before. */
static int share_under(struct faults_scene *c, const char *study)
{
    unlink(file(c, "o0.pins"));
    return ANEW(file(c, "share.log"), 60, "share", study, file(c, "o0.csv"), "--key",
                file(c, "o0.key"), "--retries", "2", "--accept-warnings");
}

/*
 * A refusal, for its terms or for a key that has expired at a server, is reported, or the request
 * is repeated.
 */
static bool refusal_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    clear_servers(c);
    set_clock(c, "0\n");
    setenv("FAULT_CLOCK", file(c, "clock"), 1);
    if (start_servers(c, victim, kind, n)) {
        int code = share_under(c, file(c, "other.yaml"));
        assert_int_not_equal(code, 0);
        faults_expect_words(file(c, "share.log"), code, kind, n);
        code = withdraw_under(c, file(c, "other.yaml"));
        assert_int_not_equal(code, 0);
        faults_expect_words(file(c, "share.log"), code, kind, n);
        set_clock(c, A_MONTH "\n");
        code = share_under(c, c->s.path);
        assert_int_not_equal(code, 0);
        faults_expect_words(file(c, "share.log"), code, kind, n);
    }
    unsetenv("FAULT_CLOCK");
    bool fired = faults_happened(c);
    replace_server(c, victim, kind, n);
    assert_int_equal(share_under(c, c->s.path), 0);
    end_servers(c);
    return fired;
}

/*
 * The owner's program has the fault: the same command, without it, sends the upload, and another
 * withdraws it.
 */
static bool owner_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    int (*const step[])(struct faults_scene *) = {share, ask_status, withdraw};
    const char *const log[] = {"share.log", "status.log", "share.log"};
    bool fired = false;
    clear_servers(c);
    start_all(c);
    for (unsigned i = 0; i < 3; i++) {
        faults_arm(c, kind, n);
        int code = step[i](c);
        faults_disarm();
        fired = fired || faults_happened(c);
        faults_expect_words(file(c, "%s", log[i]), code, kind, n);
        if (step[i](c) != 0)
            fail_msg("%s%ld at the owner: it does not go on", kind, n);
    }
    end_servers(c);
    return fired;
}

/* Everything is as before the run at server 0, which does not run. */
static void set_back(struct faults_scene *c)
{
    if (!have_folders(c, "ran")) {
        have_upload(c);
        start_all(c);
        assert_int_equal(run(c), 0);
        keep_folders(c, "ran");
    }
    support_remove(file(c, "server0"));
    faults_copy(file(c, "shared0"), file(c, "server0"));
}

static int recover(struct faults_scene *c)
{
    return ANEW(file(c, "recover.log"), 60, "recover", c->s.path, "--key", file(c, "s0.key"),
                "--folder", file(c, "server0"));
}

/*
 * Server 0 takes over what it lacks, whatever has failed, in its own program or at a neighbour that
 * it asks; then it may serve.
 */
static bool recovery_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    bool fired, up = true;
    set_back(c);
    for (unsigned i = 1; i < c->s.study->servers; i++) {
        if (i == victim)
            faults_arm(c, kind, n);
        start_server(c, i);
        faults_disarm();
        up = comes_up(c, i) && up;
    }
    if (victim == 0)
        faults_arm(c, kind, n);
    if (up)
        faults_expect_words(file(c, "recover.log"), recover(c), kind, n);
    faults_disarm();
    fired = faults_happened(c);
    if (victim != 0)
        replace_server(c, victim, kind, n);
    if (recover(c) != 0)
        fail_msg("%s%ld in recover: it does not go on", kind, n);
    start_server(c, 0);
    assert_true(is_ready(c, 0));
    support_remove(file(c, "out"));
    assert_int_equal(run(c), EXIT_BUDGET);
    end_servers(c);
    return fired;
}

/* --- what is no session ----------------------------------------------------------------------- */

/* The last line of its audit log was cut off when it died. */
static void have_torn_log(struct faults_scene *c)
{
    have_upload(c);
    FILE *f = fopen(file(c, "server0/audit.log"), "a");
    assert_true(f != NULL && fputs("17 half a li", f) > 0 && fclose(f) == 0);
}

/* A page may be missing once, or at the place where the server ends. */
static bool status_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    static const char *const page[] = {"GET /", "GET /metrics", "GET /healthz", "GET /none"};
    const uint16_t port = support_ports(1);
    struct bytes answer CLEAN(bytes_clear) = {0};
    char at[16];
    snprintf(at, sizeof at, "%u", port);
    have_torn_log(c);
    unlink(file(c, "server0.log"));
    faults_arm(c, kind, n);
    c->server[0] = START(file(c, "server0.log"), "serve", c->s.path, "--key", file(c, "s0.key"),
                         "--folder", file(c, "server0"), "--listen", c->s.host, "--status", at);
    faults_disarm();
    if (comes_up(c, 0))
        for (unsigned k = 0; k < 2 * sizeof page / sizeof *page; k++) {
            const char *text = support_ask(port, page[k / 2], &answer);
            bool missing = text[0] == '\0' && (k % 2 == 0 || ends(c, 0));
            if (!missing && strncmp(text, "HTTP/1.1 ", 9) != 0)
                fail_msg("%s with %s%ld: %s", page[k / 2], kind, n, text);
        }
    faults_expect_words(file(c, "server0.log"), support_stop(&c->server[0]), kind, n);
    return faults_happened(c);
}

/* A test that a study of these options survives each of the faults: struct faults_sweep. */
#define SURVIVES(test, options, trial, servers, ...)                                               \
    TEST_OF(test, options)                                                                         \
    {                                                                                              \
        static const struct faults_sweep of[] = {__VA_ARGS__};                                     \
        faults_sweep(*state, trial, servers, of, sizeof of / sizeof *of);                          \
    }

/* Twelve owners, the first neighbour of both links and the rest fill the room of admission. */
static struct study_options many = {.owners = 12, .round_s = 5};

SURVIVES(status_pages_survive_faults, &many, status_survives, 1, {"alloc@", 0, 61},
         {"library@", 0, 35}, {"call@", 0, 5}, {"link@", 0, 61})

static int purge(struct faults_scene *c)
{
    return ANEW(file(c, "purge.log"), 60, "serve", c->s.path, "--key", file(c, "s0.key"),
                "--folder", file(c, "server0"), "--purge");
}

/* The same command purges, whatever has failed, and the owners get a statement of it. */
static bool purge_survives(struct faults_scene *c, unsigned victim, const char *kind, long n)
{
    have_upload(c);
    faults_arm(c, kind, n);
    int code = purge(c);
    faults_disarm();
    faults_expect_words(file(c, "purge.log"), code, kind, n);
    if (purge(c) != 0 || COMMAND(file(c, "check.log"), 60, "check", c->s.path, "--statement",
                                 file(c, "server0/purge.txt")) != 0)
        fail_msg("%s%ld in a purge: it does not go on", kind, n);
    return faults_happened(c);
}

TEST(a_purge_survives_faults)
{
    static const struct faults_sweep of[] = {
        {"sync:", 0, 7},   {"write:", 0, 61}, {"sql@", 0, 23},
        {"alloc@", 0, 41}, {"call@", 0, 5},   {"library@", 0, 17},
    };
    struct faults_scene *c = *state;
    char statement[SUPPORT_PATH];
    const char *const check[] = {"check", c->s.path, "--statement", statement, NULL};
    faults_sweep(c, purge_survives, 1, of, sizeof of / sizeof *of);
    support_study_file(&c->s, "server0/purge.txt", statement);
    faults_command(c, &(struct faults_command){check, 0, 17, NULL});
}

/* --- sessions --------------------------------------------------------------------------------- */

SURVIVES(uploads_survive_faults, NULL, upload_survives, STUDY_SERVERS_MOST, {"sync:", 0, 7},
         {"write:", 1, 41}, {"short:", 2, 61}, {"read:", 0, 20}, {"sql@", 1, 47}, {"alloc@", 1, 93},
         {"call@", 2, 3}, {"library@", 0, 25}, {"signal@", 1, 17}, {"link@", 2, 61},
         {"sql+", 0, 61}, {"write+", 2, 47}, {"alloc+", 1, 151}, {"alloc+1<sql@", 2, 55},
         {"call+1<short:", 1, 61})

TEST(withdrawals_survive_faults)
{
    static const struct faults_sweep of[] = {
        {"sync:", 0, 5}, {"sql@", 2, 55}, {"alloc@", 1, 91}, {"library@", 1, 31}};
    struct faults_scene *c = *state;
    OK(support_csv(file(c, "other.csv"), c->s.study->domain, 150, 2));
    faults_sweep(c, withdrawal_survives, STUDY_SERVERS_MOST, of, sizeof of / sizeof *of);
}

/* The owner's key is good for a month; other.yaml has another budget. */
static void amend_study(struct faults_scene *c)
{
    struct identity *old CLEAN(identity_free) = NULL, *renewed CLEAN(identity_free) = NULL;
    char was[IDENTITY_TEXT_SIZE], is[IDENTITY_TEXT_SIZE];
    OK(identity_load(&old, file(c, "o0.key"), NULL));
    OK(identity_renew(&renewed, old, date_today() + 30, NULL));
    OK(identity_save(renewed, file(c, "o0.key"), true, NULL));
    public_identity_text(&old->public, was);
    public_identity_text(&renewed->public, is);
    assert_true(support_edit(c->s.path, file(c, "new.yaml"), (const char *const[]){was, is, NULL}));
    assert_int_equal(rename(file(c, "new.yaml"), c->s.path), 0);
    assert_true(support_edit(c->s.path, file(c, "other.yaml"),
                             (const char *const[]){"epsilon: 1,", "epsilon: 2,", NULL}));
}

TEST(refusals_survive_faults)
{
    static const struct faults_sweep of[] = {{"alloc@", 0, 91}, {"link@", 2, 61}};
    amend_study(*state);
    faults_sweep(*state, refusal_survives, STUDY_SERVERS_MOST, of, sizeof of / sizeof *of);
}

SURVIVES(runs_survive_faults, NULL, run_survives, STUDY_SERVERS_MOST, {"sync:", 1, 10},
         {"write:", 2, 61}, {"read:", 0, 41}, {"sql@", 2, 73}, {"alloc@", 0, 227},
         {"library@", 1, 61}, {"signal@", 2, 129}, {"call@", 1, 5}, {"link@", 2, 241},
         {"sql+", 1, 193}, {"write+", 0, 55}, {"library+", 2, 700}, {"alloc+", 0, 397},
         {"call+1<sync:", 2, 10}, {"library+1<link@", 0, 227})

SURVIVES(lost_runs_survive_faults, NULL, lost_run_survives, STUDY_SERVERS_MOST, {"library@", 0, 61})

static const char *const records[] = {"    max_rows: 1000\n    as: records\n"};
static struct study_options other = {.owners = 1,
                                     .rounds = 1,
                                     .round_s = 5,
                                     .part = records,
                                     .noise = "discrete",
                                     .more = "score: l2\nlate_uploads: join\n"};

/* With records, other noise and another score. */
SURVIVES(other_runs_survive_faults, &other, run_survives, STUDY_SERVERS_MOST, {"alloc@", 1, 227},
         {"sql@", 2, 70})

static struct study_options proved = {
    .owners = 1, .rounds = 1, .round_s = 5, .more = "security: abort\n"};

/* With a check, whose begin and end are also on disk. */
SURVIVES(proved_runs_survive_faults, &proved, run_survives, STUDY_SERVERS_MOST, {"sync:", 2, 17},
         {"alloc@", 0, 300}, {"link@", 1, 400})

static struct study_options trained = {.owners = 1,
                                       .round_s = 5,
                                       .epsilon = 5,
                                       .train = "method: train\ntrain: {target: died, steps: 10}\n",
                                       .more = "security: abort\n"};

/* Rows are kept in memory for as many steps as a session has. */
SURVIVES(trained_runs_survive_faults, &trained, run_survives, STUDY_SERVERS_MOST,
         {"alloc@", 1, 600}, {"link@", 2, 700})

/* A provider and a keeper: encrypted rows are counted, and noise is made by both. */
static struct study_options two = {.owners = 1,
                                   .rounds = 1,
                                   .round_s = 5,
                                   .two = true,
                                   .part = records,
                                   .more = "noise_by: joint\n"};

SURVIVES(uploads_to_two_survive_faults, &two, upload_survives, 2, {"sync:", 1, 7},
         {"alloc@", 0, 93}, {"link@", 1, 61})

SURVIVES(runs_of_two_survive_faults, &two, run_survives, 2, {"sync:", 0, 10}, {"write:", 1, 61},
         {"sql@", 0, 73}, {"alloc@", 1, 260}, {"library@", 0, 61}, {"call@", 1, 5},
         {"link@", 0, 241}, {"sql+", 1, 193})

SURVIVES(lost_runs_of_two_survive_faults, &two, lost_run_survives, 2, {"library@", 1, 61})

SURVIVES(recovery_of_two_survives_faults, &two, recovery_survives, 2, {"sql@", 0, 20},
         {"link@", 1, 61})

/* What is made of a server's folder while it does not run. */
TEST(folders_are_whole_or_absent)
{
    struct faults_scene *c = *state;
    char folder[SUPPORT_PATH], saved[SUPPORT_PATH], logs[2][SUPPORT_PATH], made[SUPPORT_PATH];
    const char *const backup[] = {"backup", folder, made, NULL};
    const char *const restore[] = {"restore", saved, c->folder, NULL};
    const char *const audit[] = {"audit", logs[0], logs[1], "--study", c->s.path, NULL};
    support_study_file(&c->s, "server0", folder);
    support_study_file(&c->s, "saved.backup", saved);
    support_study_file(&c->s, "server0/audit.log", logs[0]);
    support_study_file(&c->s, "server1/audit.log", logs[1]);
    support_study_file(&c->s, "work/made", made);
    have_upload(c);
    start_all(c);
    assert_int_equal(run(c), 0);
    end_servers(c);
    EXPECT(0, file(c, "first.log"), 60, "backup", folder, saved);
    faults_command(c, &(struct faults_command){backup, 1, 1, NULL});
    faults_command(c, &(struct faults_command){restore, 2, 1, NULL});
    faults_command(c, &(struct faults_command){audit, 0, 17, NULL});
}

static const char *const padded[] = {"    max_rows: 1000\n    as: records\n    pad_to: 200000\n"};
static struct study_options large = {.owners = 1, .round_s = 5, .part = padded};

TEST_OF(long_uploads_survive_faults, &large)
{
    static const struct faults_sweep of[] = {
        {"sync:", 1, 7}, {"sql@", 1, 57}, {"alloc@", 1, 91}, {"library@", 1, 31}};
    static const struct faults_sweep at_owner[] = {{"alloc@", 0, 61}, {"link@", 0, 31}};
    struct faults_scene *c = *state;
    assert_true(study_upload_bytes(c->s.study, 0) > MESSAGE_PART_MAX);
    faults_sweep(c, parts_survive, STUDY_SERVERS_MOST, of, sizeof of / sizeof *of);
    faults_sweep(c, owner_survives, 1, at_owner, sizeof at_owner / sizeof *at_owner);
}

SURVIVES(an_upload_survives_faults_of_the_owner, NULL, owner_survives, 1, {"write:", 0, 1},
         {"rename:", 0, 1}, {"call@", 0, 6}, {"alloc@", 0, 61}, {"library@", 0, 17},
         {"signal@", 0, 11}, {"link@", 0, 31})

SURVIVES(recovery_survives_faults, NULL, recovery_survives, STUDY_SERVERS_MOST, {"sync:", 0, 5},
         {"sql@", 1, 20}, {"call@", 0, 7}, {"alloc@", 0, 61}, {"library@", 2, 31}, {"link@", 0, 61})

SURVIVES(a_run_survives_faults_of_the_analyst, NULL, analyst_survives, 1, {"write:", 0, 13},
         {"sync:", 0, 13}, {"rename:", 0, 5}, {"call@", 0, 10}, {"alloc@", 0, 91},
         {"library@", 0, 31}, {"signal@", 0, 7}, {"link@", 0, 31})

int main(int argc, char **argv)
{
    if (support_has_ipv6())
        many.host = "[::1]";
    return faults_main(argc, argv);
}
