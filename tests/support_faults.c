#include "tests/support_cmocka.h"

#include "aim/table/csv.h"
#include "tests/support_command.h"
#include "tests/support_faults.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODES 6 /* documented exit codes are 0 to 6 */
#define LOG_SIZE 8192

/* How far apart the failing calls are: in the long tests every call fails once. */
static long faults_stride(long step)
{
    return getenv("TREFOIL_LONG") != NULL ? 1 : step;
}

/*
 * A study of one owner, whose table is o0.csv; the test's initial state may hold other
 * support_options.
 */
static int faults_new(void **state)
{
    static struct scene c;
    static const struct support_options small = {
        .owners = 1,
        .rounds = 1,
        .epsilon = 1,
        .round_s = 5, /* what a fault takes away is waited for so long */
        .more = "impossible: [{age: 8, ward: d}]\n"};
    const struct support_options *o = *state != NULL ? *state : &small;
    struct table *t;
    memset(&c, 0, sizeof c);
    *state = &c;
    if (support_study_new(&c.s, o, &quiet) != ERR_OK ||
        support_table(&t, c.s.study->domain, 200, 1) != ERR_OK ||
        table_write_csv(file(&c, "o0.csv"), t, NULL, 1, &quiet) != ERR_OK)
        return -1;
    table_free(&t);
    support_study_file(&c.s, "work", c.folder);
    support_study_file(&c.s, "done", c.done);
    return 0;
}

static int faults_free(void **state)
{
    struct scene *c = *state;
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        support_kill(&c->server[i]);
    support_study_free(&c->s);
    return 0;
}

/* --- one fault -------------------------------------------------------------------------------- */

static char last[32];

const char *faults_last(void)
{
    return last;
}

void faults_arm(const struct scene *c, const char *kind, long n)
{
    snprintf(last, sizeof last, "%s%ld", kind, n);
    unlink(c->done);
    setenv("FAULT", last, 1);
    setenv("FAULT_ALONE", "1", 1);
    setenv("FAULT_DONE", c->done, 1);
    support_preload();
}

void faults_disarm(void)
{
    unsetenv("FAULT");
    unsetenv("FAULT_ALONE");
    unsetenv("FAULT_DONE");
    support_unload();
}

bool faults_happened(const struct scene *c)
{
    return access(c->done, F_OK) == 0;
}

void faults_expect_words(const char *log, int code, const char *kind, long n)
{
    bool said = support_contains(log, "error: "), told = support_contains(log, "trefoil: ");
    if (code < 0 || code > CODES || (code > 0 && !said && !told) ||
        (support_contains(log, "see the messages") && !said)) {
        faults_show(log);
        fail_msg("exit code %d with %s%ld, and not the words for it", code, kind, n);
    }
}

/* --- one after another ------------------------------------------------------------------------ */

/* -1: not this kind, 0: all of it, otherwise which call. */
static long wanted(const char *kind)
{
    const char *only = getenv("TREFOIL_SWEEP");
    if (only == NULL)
        return 0;
    return strncmp(only, kind, strlen(kind)) == 0 ? atol(only + strlen(kind)) : -1;
}

static void sweep(struct scene *c, faults_trial survives, unsigned servers, const struct sweep *w)
{
    bool all = getenv("TREFOIL_LONG") != NULL, for_good = w->kind[strlen(w->kind) - 1] == '+';
    long one = wanted(w->kind), step = faults_stride(w->step);
    unsigned faults = 0;
    if (one < 0)
        return;
    if (all && for_good) /* everything fails from then on, not one place each */
        step = (w->step + 31) / 32;
    for (unsigned i = 0; i < servers; i++)
        if (one > 0)
            faults += survives(c, i, w->kind, one);
        else
            for (long n = 1 + i; all || (i == w->victim && faults < 2); n += step) {
                if (!survives(c, i, w->kind, n))
                    break;
                faults++;
            }
    printf("# %s %u faults\n", w->kind, faults);
    assert_true(faults > 0);
}

void faults_sweep(struct scene *c, faults_trial survives, unsigned servers, const struct sweep *of,
                  size_t sweeps)
{
    for (size_t i = 0; i < sweeps; i++)
        sweep(c, survives, servers, &of[i]);
}

int faults_main(int argc, char **argv)
{
#if defined(__SANITIZE_THREAD__)
    (void)argc, (void)argv;
    printf("# SKIP a sanitizer has allocation for itself\nok 1 - faults # SKIP\n1..1\n");
    return 0;
#else
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return support_run_each(faults_new, faults_free);
#endif
}

/* --- commands --------------------------------------------------------------------------------- */

/* "@": at the first call from each place; ":": at each call. */
static const char *const kinds[] = {"alloc@", "library@", "call@", "sql@",    "write:",
                                    "short:", "sync:",    "read:", "rename:", "open:"};
#define KINDS (sizeof kinds / sizeof *kinds)

/* For frequent calls, such as writes: the first eight, then some others. */
static long step_of(const struct faults_command *t, const char *kind, long n)
{
    if (strcmp(kind, "alloc@") == 0 || strcmp(kind, "read:") == 0)
        return faults_stride(t->step);
    return n < 8 ? 1 : faults_stride(7);
}

void faults_command(struct scene *c, const struct faults_command *t)
{
    const char *log = file(c, "command.log");
    unsigned faults = 0;
    for (size_t k = 0; k < KINDS; k++)
        for (long n = 1;; n += step_of(t, kinds[k], n)) {
            int code;
            faults_remove(c->folder);
            assert_int_equal(mkdir(c->folder, 0700), 0);
            if (t->copy != NULL)
                faults_copy(t->copy, c->folder);
            unlink(log);
            faults_arm(c, kinds[k], n);
            code = support_run(log, 60, t->arguments);
            faults_disarm();
            faults_expect_words(log, code, kinds[k], n);
            if (code == 0)
                assert_int_equal(faults_entries(c->folder), t->files);
            else if (faults_entries(c->folder) > t->files)
                fail_msg("%s with %s%ld left something half written", t->arguments[0], kinds[k], n);
            if (!faults_happened(c)) {
                assert_int_equal(code, 0);
                break;
            }
            faults++;
        }
    printf("# %s: %u faults\n", t->arguments[0], faults);
    assert_true(faults > 0);
}

/* --- files ------------------------------------------------------------------------------------ */

void faults_remove(const char *path)
{
    char command[SUPPORT_PATH + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

void faults_copy(const char *from, const char *to)
{
    char command[2 * SUPPORT_PATH + 16];
    snprintf(command, sizeof command, "cp -a '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

unsigned faults_entries(const char *folder)
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

void faults_show(const char *log)
{
    char text[LOG_SIZE];
    support_text(log, text, sizeof text);
    print_error("%s:\n%s\n", log, text);
}
