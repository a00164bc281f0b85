#include "harness/cmocka.h"

#include "aim/table/csv.h"
#include "tests/support/command.h"
#include "tests/support/faults.h"

#include <dirent.h>

#define CODES 6 /* documented exit codes are 0 to 6 */
#define LOG_SIZE 8192

/*
 * A study of one owner, whose table is o0.csv; the test's initial state may hold other
 * study_options.
 */
static int faults_new(void **state)
{
    static struct faults_scene c;
    static const struct study_options small = {
        .owners = 1,
        .rounds = 1,
        .epsilon = 1,
        .round_s = 5, /* what a fault takes away is waited for so long */
        .more = "impossible: [{age: 8, ward: d}]\n"};
    const struct study_options *o = *state != NULL ? *state : &small;
    struct table *t CLEAN(table_free) = NULL;
    memset(&c, 0, sizeof c);
    *state = &c;
    if (support_study_new(&c.s, o, &quiet) != ERR_OK ||
        support_table(&t, c.s.study->domain, 200, 1) != ERR_OK ||
        table_write_csv(file(&c, "o0.csv"), t, NULL, 1, NULL, &quiet) != ERR_OK)
        return -1;
    support_study_file(&c.s, "work", c.folder);
    support_study_file(&c.s, "done", c.done);
    return 0;
}

static int faults_free(void **state)
{
    struct faults_scene *c = *state;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
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

void faults_arm(const struct faults_scene *c, const char *kind, long n)
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

bool faults_happened(const struct faults_scene *c)
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

/* Every fault at a server, or only some of what fails from then on. */
static unsigned sweep_all(struct faults_scene *c, faults_trial survives, unsigned i,
                          const struct faults_sweep *w)
{
    bool for_good = w->kind[strlen(w->kind) - 1] == '+';
    long step = for_good ? (w->step + 31) / 32 : 1;
    unsigned faults = 0;
    for (long n = 1 + i; survives(c, i, w->kind, n); n += step)
        faults++;
    return faults;
}

static void sweep(struct faults_scene *c, faults_trial survives, unsigned servers,
                  const struct faults_sweep *w)
{
    long one = wanted(w->kind), first = 1 + w->victim;
    unsigned faults = 0;
    if (one < 0)
        return;
    for (unsigned i = 0; i < servers; i++)
        if (one > 0)
            faults += survives(c, i, w->kind, one);
        else if (getenv("TREFOIL_LONG") != NULL)
            faults += sweep_all(c, survives, i, w);
        else if (i == w->victim)
            faults += survives(c, i, w->kind, first + w->step) || survives(c, i, w->kind, first);
    printf("# %s %u faults\n", w->kind, faults);
    assert_true(faults > 0);
}

void faults_sweep(struct faults_scene *c, faults_trial survives, unsigned servers,
                  const struct faults_sweep *of, size_t sweeps)
{
    for (size_t i = 0; i < sweeps; i++)
        sweep(c, survives, servers, &of[i]);
}

int faults_main(int argc, char **argv)
{
#if defined(__SANITIZE_THREAD__)
    const bool has_allocation = true;
#else
    const bool has_allocation = false;
#endif
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    if (!has_allocation)
        return support_run_each(faults_new, faults_free);
    printf("# SKIP a sanitizer has allocation for itself\nok 1 - faults # SKIP\n1..1\n");
    return 0;
}

/* --- commands --------------------------------------------------------------------------------- */

/* "@": at the first call from each place; ":": at each call. */
static const char *const kinds[] = {"alloc@", "library@", "call@", "sql@",    "write:",
                                    "short:", "sync:",    "read:", "rename:", "open:"};
#define KINDS (sizeof kinds / sizeof *kinds)

/* Whether the fault happened; if not, the command has done what it should. */
static bool try_command(struct faults_scene *c, const struct faults_command *t, const char *kind,
                        long n)
{
    const char *log = file(c, "command.log");
    support_remove(c->folder);
    assert_int_equal(mkdir(c->folder, 0700), 0);
    if (t->copy != NULL)
        faults_copy(t->copy, c->folder);
    unlink(log);
    faults_arm(c, kind, n);
    int code = support_run(log, 60, t->arguments);
    faults_disarm();
    faults_expect_words(log, code, kind, n);
    if (code == 0)
        assert_int_equal(faults_entries(c->folder), t->files);
    else if (faults_entries(c->folder) > t->files)
        fail_msg("%s with %s%ld left something half written", t->arguments[0], kind, n);
    if (!faults_happened(c))
        assert_int_equal(code, 0);
    return faults_happened(c);
}

void faults_command(struct faults_scene *c, const struct faults_command *t)
{
    unsigned faults = 0;
    for (size_t k = 0; k < KINDS; k++) {
        bool often = strcmp(kinds[k], "alloc@") == 0 || strcmp(kinds[k], "read:") == 0;
        long later = often && t->step > 1 ? 1 + t->step : 3;
        if (getenv("TREFOIL_LONG") != NULL)
            for (long n = 1; try_command(c, t, kinds[k], n); n++)
                faults++;
        else
            for (long n = 1; n <= later && try_command(c, t, kinds[k], n); n += later - 1)
                faults++;
    }
    printf("# %s: %u faults\n", t->arguments[0], faults);
    assert_true(faults > 0);
}

/* --- files ------------------------------------------------------------------------------------ */

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
