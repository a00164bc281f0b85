/*
 * Fail everything once: real programs, of which one call after another fails (tests/preload_fault.c): each
 * allocation, write, sync, rename, open for writing, call to ZeroMQ. A program may do without, or end with a documented
 * exit code and words; it never dies, and leaves whole files or none. What a server acknowledged it
 * still has after that, and what it lacks can be sent again.
 */
#include "tests/support_cmocka.h"

#include "base/clock.h"
#include "tests/support_command.h"
#include "tests/support_process.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODES 6 /* documented exit codes are 0 to 6 */
#define EXIT_BUDGET 5
#define LOG_SIZE 8192
#define SHIM "preload_fault.so"

/* "@": at the first call from each place; ":": at each call. */
static const char *const kinds[] = {
    "alloc@", "library@", "call@", "write:", "short:", "sync:", "rename:", "open:"};
#define KINDS (sizeof kinds / sizeof *kinds)

struct scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS];
    char shim[SUPPORT_PATH], folder[SUPPORT_PATH], done[SUPPORT_PATH];
};

static struct log quiet = {.file = NULL, .level = LOG_ERROR};

#define file(scene, ...) support_path(&(scene)->s, __VA_ARGS__)

/* How far apart the calls are that fail: every one in the long tests. */
static long stride(long step)
{
    return getenv("TREFOIL_LONG") != NULL ? 1 : step;
}

static int scene_new(void **state)
{
    static struct scene c;
    const struct support_options o = {.owners = 1, .rounds = 1, .epsilon = 1, .round_s = 5};
    const char *program = getenv("TREFOIL"), *slash;
    struct table *t;
    memset(&c, 0, sizeof c);
    *state = &c;
    if (program == NULL || (slash = strrchr(program, '/')) == NULL)
        return -1;
    snprintf(c.shim, sizeof c.shim, "%.*s/tests/" SHIM, (int)(slash - program), program);
    if (support_study_new(&c.s, &o, &quiet) != ERR_OK ||
        support_table(&t, c.s.study->domain, 200, 1) != ERR_OK ||
        table_write_csv(file(&c, "o0.csv"), t, 1, &quiet) != ERR_OK)
        return -1;
    table_free(&t);
    support_study_file(&c.s, "work", c.folder);
    support_study_file(&c.s, "done", c.done);
    return 0;
}

static int scene_free(void **state)
{
    struct scene *c = *state;
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        support_kill(&c->server[i]);
    support_study_free(&c->s);
    return 0;
}

/* --- one fault ------------------------------------------------------------------------------------- */

static void arm(const struct scene *c, const char *kind, long n)
{
    char fault[32];
    snprintf(fault, sizeof fault, "%s%ld", kind, n);
    unlink(c->done);
    setenv("FAULT", fault, 1);
    setenv("FAULT_DONE", c->done, 1);
    setenv("LD_PRELOAD", c->shim, 1);
    /* a sanitizer wants to be first, but need not be */
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
}

static void disarm(void)
{
    unsetenv("FAULT");
    unsetenv("FAULT_DONE");
    unsetenv("LD_PRELOAD");
    unsetenv("ASAN_OPTIONS");
}

static bool happened(const struct scene *c)
{
    return access(c->done, F_OK) == 0;
}

static void remove_folder(const char *path)
{
    char command[SUPPORT_PATH + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static unsigned entries(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    unsigned n = 0;
    while (d != NULL && (e = readdir(d)) != NULL)
        n += e->d_name[0] != '.';
    if (d != NULL)
        closedir(d);
    return n;
}

static void show(const char *log)
{
    char text[LOG_SIZE];
    support_text(log, text, sizeof text);
    print_error("%s:\n%s\n", log, text);
}

/* Also, messages where the last one says that there are. */
static void expect_words(const char *log, int code, const char *kind, long n)
{
    bool said = support_contains(log, "error: "), told = support_contains(log, "trefoil: ");
    if (code < 0 || code > CODES || (code > 0 && !said && !told) ||
        (support_contains(log, "see the messages") && !said)) {
        show(log);
        fail_msg("exit code %d with %s%ld, and not the words for it", code, kind, n);
    }
}

/* --- commands -------------------------------------------------------------------------------------- */

/* What a command leaves in the folder `work`: so many files if it succeeds, none or as many if not. */
struct command_test {
    const char *const *arguments;
    unsigned files;
    long step;        /* of allocations and of reads; all others are failed one by one */
    const char *copy; /* is there before, unless NULL */
};

static long step_of(const struct command_test *t, const char *kind)
{
    return strcmp(kind, "alloc@") == 0 || strcmp(kind, "read:") == 0 ? stride(t->step) : 1;
}

static void copy(const char *from, const char *to)
{
    char command[2 * SUPPORT_PATH + 16];
    snprintf(command, sizeof command, "cp -a '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static void fail_each(struct scene *c, const struct command_test *t)
{
    const char *log = file(c, "command.log");
    unsigned faults = 0;
    for (size_t k = 0; k < KINDS; k++)
        for (long n = 1;; n += step_of(t, kinds[k])) {
            int code;
            remove_folder(c->folder);
            assert_int_equal(mkdir(c->folder, 0700), 0);
            if (t->copy != NULL)
                copy(t->copy, c->folder);
            unlink(log);
            arm(c, kinds[k], n);
            code = support_run(log, 60, t->arguments);
            disarm();
            expect_words(log, code, kinds[k], n);
            if (code == 0)
                assert_int_equal(entries(c->folder), t->files);
            else if (entries(c->folder) > t->files)
                fail_msg("%s with %s%ld left something half written", t->arguments[0], kinds[k], n);
            if (!happened(c)) {
                assert_int_equal(code, 0);
                break;
            }
            faults++;
        }
    printf("# %s: %u faults\n", t->arguments[0], faults);
    assert_true(faults > 0);
}

static void keys_are_whole_or_absent(void **state)
{
    struct scene *c = *state;
    const char *const a[] = {"keygen", file(c, "work/k.key"), NULL};
    fail_each(c, &(struct command_test){a, 1, 1, NULL});
}

static void studies_are_read_or_refused(void **state)
{
    struct scene *c = *state;
    const char *const check[] = {"check", c->s.path, NULL}, *const plan[] = {"plan", c->s.path,
                                                                             NULL};
    const char *const init[] = {"init", file(c, "work/new.yaml"), NULL};
    fail_each(c, &(struct command_test){init, 1, 1, NULL});
    fail_each(c, &(struct command_test){check, 0, 7, NULL});
    fail_each(c, &(struct command_test){plan, 0, 17, NULL});
}

static void a_roster_is_signed_or_as_it_was(void **state)
{
    struct scene *c = *state;
    const char *amended = file(c, "amended.yaml"), *signs = file(c, "work/amended.yaml");
    const char *const sign[] = {"roster", "sign", signs, "--key", file(c, "s1.key"), NULL};
    const char *const show[] = {"roster", "show", amended, "--since", c->s.path, NULL};
    assert_true(support_edit(c->s.path, amended,
                             (const char *const[]){"study:", "roster: 2\nstudy:", NULL}));
    fail_each(c, &(struct command_test){sign, 1, 13, amended});
    fail_each(c, &(struct command_test){show, 0, 13, NULL});
}

static void a_table_is_read_or_refused(void **state)
{
    struct scene *c = *state;
    const char *const a[] = {"share",     c->s.path, file(c, "o0.csv"), "--key", file(c, "o0.key"),
                             "--dry-run", NULL};
    fail_each(c, &(struct command_test){a, 0, 13, NULL});
}

static void results_are_whole_or_absent(void **state)
{
    struct scene *c = *state;
    char model[SUPPORT_PATH], real[SUPPORT_PATH];
    const char *const first[] = {"aim",   c->s.path,        file(c, "o0.csv"),
                                 "--out", file(c, "first"), NULL};
    snprintf(model, sizeof model, "%s", file(c, "first/model"));
    snprintf(real, sizeof real, "%s", file(c, "o0.csv"));
    assert_int_equal(support_run(file(c, "first.log"), 60, first), 0);
    const char *const aim[] = {"aim", c->s.path, real, "--out", c->folder, NULL};
    fail_each(c, &(struct command_test){aim, entries(file(c, "first")), 97, NULL});
    const char *const synth[] = {"synth", model, "--out", file(c, "work/rows.csv"), NULL};
    fail_each(c, &(struct command_test){synth, 1, 29, NULL});
    const char *const eval[] = {"eval",    c->s.path, real, file(c, "first/synthetic.csv"),
                                "--model", model,     NULL};
    fail_each(c, &(struct command_test){eval, 0, 41, NULL});
}

/* --- servers --------------------------------------------------------------------------------------- */

static void start_server(struct scene *c, unsigned i)
{
    unlink(file(c, "server%u.log", i));
    c->server[i] = support_serve(&c->s, i, c->s.path);
}

static bool is_ready(const struct scene *c, unsigned i)
{
    return support_wait_for(file(c, "server%u.log", i), "is ready", 10);
}

static bool has_ended(pid_t pid)
{
    char path[64];
    char text[256] = "";
    FILE *f;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "r");
    if (f == NULL)
        return true;
    if (fgets(text, sizeof text, f) == NULL)
        text[0] = '\0';
    fclose(f);
    return strstr(text, ") Z ") != NULL;
}

/* Until it is ready or has ended; false if it ended. */
static bool comes_up(const struct scene *c, unsigned i)
{
    double end = clock_now_s() + 20;
    while (clock_now_s() < end) {
        if (support_contains(file(c, "server%u.log", i), "is ready"))
            return true;
        if (has_ended(c->server[i]))
            return false;
        usleep(2000);
    }
    fail_msg("server %u neither got ready nor ended with %s", i, getenv("FAULT"));
    return false;
}

/* Gives up a server that has ended well before the test would. */
static int share(struct scene *c)
{
    const char *const a[] = {
        "share", c->s.path, file(c, "o0.csv"), "--key", file(c, "o0.key"), "--retries", "2", NULL};
    unlink(file(c, "share.log"));
    return support_run(file(c, "share.log"), 60, a);
}

/* The same. */
static int run(struct scene *c)
{
    const char *const a[] = {
        "run", c->s.path, "--key", file(c, "a.key"), "--out", file(c, "out"), "--wait", "20", NULL};
    unlink(file(c, "run.log"));
    return support_run(file(c, "run.log"), 60, a);
}

/* Starts the three, one of which has a fault; false if that one did not come up. */
static bool start_servers(struct scene *c, unsigned victim, const char *kind, long n)
{
    bool up;
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        if (i == victim)
            arm(c, kind, n);
        start_server(c, i);
        disarm();
    }
    up = comes_up(c, victim);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        assert_true(i == victim || is_ready(c, i));
    return up;
}

/*
 * If the victim still lives it is killed, since what it said that it has is on disk; or asked to end, which it must,
 * whatever has failed. Then a sound one.
 */
static void replace_server(struct scene *c, unsigned victim, const char *kind, long n)
{
    bool ended = has_ended(c->server[victim]);
    if (!ended && n % 2 == 0)
        support_kill(&c->server[victim]);
    else {
        int code = ended ? support_wait(c->server[victim], 1) : support_stop(&c->server[victim]);
        expect_words(file(c, "server%u.log", victim), code, kind, n);
        assert_true(code != 0 || !ended);
    }
    c->server[victim] = 0;
    start_server(c, victim);
    if (!is_ready(c, victim)) {
        show(file(c, "server%u.log", victim));
        fail_msg("%s%ld at server %u: no other is ready after it", kind, n, victim);
    }
}

static void stop_servers(struct scene *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        assert_int_equal(support_stop(&c->server[i]), 0);
}

static void clear_servers(struct scene *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        remove_folder(file(c, "server%u", i));
    remove_folder(file(c, "out"));
}

/* An upload at a server of which the n-th call fails; then all without a fault. False: no such call. */
static bool upload_survives(struct scene *c, unsigned victim, const char *kind, long n)
{
    int shared = -1;
    bool fired;
    clear_servers(c);
    if (start_servers(c, victim, kind, n)) {
        shared = share(c);
        expect_words(file(c, "share.log"), shared, kind, n);
    }
    fired = happened(c);
    replace_server(c, victim, kind, n);
    if (shared != 0)
        assert_int_equal(share(c), 0);
    assert_int_equal(run(c), 0);
    stop_servers(c);
    return fired;
}

/* The same with a run: the same command ends it, whatever has failed, and no other run finds any budget. */
static bool run_survives(struct scene *c, unsigned victim, const char *kind, long n)
{
    bool fired;
    clear_servers(c);
    assert_true(start_servers(c, 0, "alloc:", 0));
    assert_int_equal(share(c), 0);
    stop_servers(c);
    if (start_servers(c, victim, kind, n))
        expect_words(file(c, "run.log"), run(c), kind, n);
    fired = happened(c);
    replace_server(c, victim, kind, n);
    if (run(c) != 0) {
        show(file(c, "run.log"));
        for (unsigned i = 0; i < STUDY_SERVERS; i++)
            show(file(c, "server%u.log", i));
        fail_msg("%s%ld at server %u: the run does not go on", kind, n, victim);
    }
    remove_folder(file(c, "out"));
    assert_int_equal(run(c), EXIT_BUDGET);
    stop_servers(c);
    return fired;
}

/* The analyst's program is the one with the fault: the same command, without it, ends the run. */
static bool analyst_survives(struct scene *c, unsigned victim, const char *kind, long n)
{
    bool fired;
    int code;
    (void)victim;
    clear_servers(c);
    assert_true(start_servers(c, 0, "alloc:", 0));
    assert_int_equal(share(c), 0);
    arm(c, kind, n);
    code = run(c);
    disarm();
    fired = happened(c);
    expect_words(file(c, "run.log"), code, kind, n);
    if (code != 0 && run(c) != 0)
        fail_msg("%s%ld at the analyst: the run does not go on", kind, n);
    remove_folder(file(c, "out"));
    assert_int_equal(run(c), EXIT_BUDGET);
    stop_servers(c);
    return fired;
}

static int withdraw(struct scene *c)
{
    const char *const a[] = {"share",     c->s.path, "--key",      file(c, "o0.key"),
                             "--retries", "2",       "--withdraw", NULL};
    unlink(file(c, "share.log"));
    return support_run(file(c, "share.log"), 60, a);
}

/* The owner's program is: the same command, without a fault, sends the upload, and another takes it back. */
static bool owner_survives(struct scene *c, unsigned victim, const char *kind, long n)
{
    int (*const step[])(struct scene *) = {share, withdraw};
    bool fired = false;
    (void)victim;
    clear_servers(c);
    assert_true(start_servers(c, 0, "alloc:", 0));
    for (unsigned i = 0; i < 2; i++) {
        int code;
        arm(c, kind, n);
        code = step[i](c);
        disarm();
        fired = fired || happened(c);
        expect_words(file(c, "share.log"), code, kind, n);
        if (step[i](c) != 0)
            fail_msg("%s%ld at the owner: it does not go on", kind, n);
    }
    stop_servers(c);
    return fired;
}

/* All is as it was before the run, at server 0. */
static void set_back(struct scene *c)
{
    clear_servers(c);
    remove_folder(file(c, "saved"));
    assert_true(start_servers(c, 0, "alloc:", 0));
    assert_int_equal(share(c), 0);
    assert_int_equal(support_stop(&c->server[0]), 0);
    copy(file(c, "server0"), file(c, "saved"));
    start_server(c, 0);
    assert_true(is_ready(c, 0));
    assert_int_equal(run(c), 0);
    assert_int_equal(support_stop(&c->server[0]), 0);
    remove_folder(file(c, "server0"));
    copy(file(c, "saved"), file(c, "server0"));
}

static int recover(struct scene *c)
{
    const char *const a[] = {"recover",  c->s.path,          "--key", file(c, "s0.key"),
                             "--folder", file(c, "server0"), NULL};
    unlink(file(c, "recover.log"));
    return support_run(file(c, "recover.log"), 60, a);
}

/* The server takes over what it lacks, whatever has failed; then it may serve. */
static bool recovery_survives(struct scene *c, unsigned victim, const char *kind, long n)
{
    bool fired;
    int code;
    (void)victim;
    set_back(c);
    arm(c, kind, n);
    code = recover(c);
    disarm();
    fired = happened(c);
    expect_words(file(c, "recover.log"), code, kind, n);
    if (recover(c) != 0)
        fail_msg("%s%ld in recover: it does not go on", kind, n);
    start_server(c, 0);
    assert_true(is_ready(c, 0));
    remove_folder(file(c, "out"));
    assert_int_equal(run(c), EXIT_BUDGET);
    stop_servers(c);
    return fired;
}

typedef bool (*trial)(struct scene *c, unsigned victim, const char *kind, long n);

/* Of one kind: at the victim, `step` apart; in the long tests all, at each server. */
struct sweep {
    const char *kind;
    unsigned victim;
    long step;
};

/*
 * TREFOIL_SWEEP may name one kind, or one fault, such as link@87, to be tried at each server; an argument of the program
 * names the tests. -1: not this kind, 0: all of it, else which.
 */
static long wanted(const char *kind)
{
    const char *only = getenv("TREFOIL_SWEEP");
    if (only == NULL)
        return 0;
    return strncmp(only, kind, strlen(kind)) == 0 ? atol(only + strlen(kind)) : -1;
}

static void sweep(struct scene *c, trial survives, unsigned servers, const struct sweep *w)
{
    bool all = getenv("TREFOIL_LONG") != NULL;
    long one = wanted(w->kind);
    unsigned faults = 0;
    if (one < 0)
        return;
    for (unsigned i = 0; i < servers; i++)
        if (one > 0)
            faults += survives(c, i, w->kind, one);
        else
            for (long n = 1 + i; (all || i == w->victim) && survives(c, i, w->kind, n);
                 n += stride(w->step))
                faults++;
    printf("# %s %u faults\n", w->kind, faults);
    assert_true(faults > 0);
}

static void uploads_survive_faults(void **state)
{
    static const struct sweep of[] = {
        {"sync:", 0, 5},   {"write:", 1, 41}, {"short:", 2, 61}, {"read:", 0, 41},
        {"sql@", 1, 23},   {"alloc@", 1, 37}, {"call@", 2, 3},   {"library@", 0, 17},
        {"signal@", 1, 9}, {"link@", 2, 31},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        sweep(*state, upload_survives, STUDY_SERVERS, &of[i]);
}

static void runs_survive_faults(void **state)
{
    static const struct sweep of[] = {
        {"sync:", 1, 5},   {"write:", 2, 31},   {"read:", 0, 41},   {"sql@", 2, 37},
        {"alloc@", 0, 91}, {"library@", 1, 41}, {"signal@", 2, 11}, {"link@", 2, 61},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        sweep(*state, run_survives, STUDY_SERVERS, &of[i]);
}

/* What is made of a server's folder while it does not run. */
static void folders_are_whole_or_absent(void **state)
{
    struct scene *c = *state;
    char folder[SUPPORT_PATH], saved[SUPPORT_PATH], logs[2][SUPPORT_PATH], made[SUPPORT_PATH];
    const char *const first[] = {"backup", folder, saved, NULL};
    const char *const backup[] = {"backup", folder, made, NULL};
    const char *const restore[] = {"restore", saved, made, NULL};
    const char *const audit[] = {"audit", logs[0], logs[1], "--study", c->s.path, NULL};
    support_study_file(&c->s, "server0", folder);
    support_study_file(&c->s, "saved.backup", saved);
    support_study_file(&c->s, "server0/audit.log", logs[0]);
    support_study_file(&c->s, "server1/audit.log", logs[1]);
    support_study_file(&c->s, "work/made", made);
    assert_true(start_servers(c, 0, "alloc:", 0));
    assert_int_equal(share(c), 0);
    assert_int_equal(run(c), 0);
    stop_servers(c);
    assert_int_equal(support_run(file(c, "first.log"), 60, first), 0);
    fail_each(c, &(struct command_test){backup, 1, 1, NULL});
    fail_each(c, &(struct command_test){restore, 1, 1, NULL});
    fail_each(c, &(struct command_test){audit, 0, 17, NULL});
}

static void an_upload_survives_faults_of_the_owner(void **state)
{
    static const struct sweep of[] = {
        {"write:", 0, 3},    {"rename:", 0, 1}, {"alloc@", 0, 61},
        {"library@", 0, 17}, {"signal@", 0, 5}, {"link@", 0, 31},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        sweep(*state, owner_survives, 1, &of[i]);
}

static void recovery_survives_faults(void **state)
{
    static const struct sweep of[] = {
        {"sync:", 0, 3}, {"sql@", 0, 41}, {"alloc@", 0, 91}, {"library@", 0, 31}, {"link@", 0, 61},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        sweep(*state, recovery_survives, 1, &of[i]);
}

static void a_run_survives_faults_of_the_analyst(void **state)
{
    static const struct sweep of[] = {
        {"write:", 0, 3},    {"sync:", 0, 3},   {"rename:", 0, 3}, {"alloc@", 0, 91},
        {"library@", 0, 31}, {"signal@", 0, 7}, {"link@", 0, 31},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        sweep(*state, analyst_survives, 1, &of[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_are_whole_or_absent, scene_new, scene_free),
        cmocka_unit_test_setup_teardown(studies_are_read_or_refused, scene_new, scene_free),
        cmocka_unit_test_setup_teardown(a_roster_is_signed_or_as_it_was, scene_new, scene_free),
        cmocka_unit_test_setup_teardown(a_table_is_read_or_refused, scene_new, scene_free),
        cmocka_unit_test_setup_teardown(results_are_whole_or_absent, scene_new, scene_free),
        cmocka_unit_test_setup_teardown(uploads_survive_faults, scene_new, scene_free),
        cmocka_unit_test_setup_teardown(runs_survive_faults, scene_new, scene_free),
        cmocka_unit_test_setup_teardown(folders_are_whole_or_absent, scene_new, scene_free),
        cmocka_unit_test_setup_teardown(an_upload_survives_faults_of_the_owner, scene_new,
                                        scene_free),
        cmocka_unit_test_setup_teardown(recovery_survives_faults, scene_new, scene_free),
        cmocka_unit_test_setup_teardown(a_run_survives_faults_of_the_analyst, scene_new,
                                        scene_free),
    };
#if defined(__SANITIZE_THREAD__)
    (void)argc, (void)argv, (void)tests;
    printf("# SKIP a sanitizer has allocation for itself\nok 1 - faults # SKIP\n1..1\n");
    return 0;
#else
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
