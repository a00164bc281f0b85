#include "harness/postgres.h"

#include "aim/sql/odbc.h"
#include "harness/process.h"

#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define WORDS 24

/* PostgreSQL refuses to run as root. */
static void become_nobody(void)
{
    const struct passwd *who = getpwnam("nobody");
    if (geteuid() != 0)
        return;
    if (who == NULL || setgroups(0, NULL) != 0 ||
        setresgid(who->pw_gid, who->pw_gid, who->pw_gid) != 0 ||
        setresuid(who->pw_uid, who->pw_uid, who->pw_uid) != 0)
        _exit(127);
}

/* A program of PostgreSQL, with NULL-terminated arguments; its output goes to `out`. */
static pid_t start(const struct support_postgres *p, const char *const *arguments, const char *out)
{
    const char *words[WORDS] = {0};
    char path[320];
    fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    snprintf(path, sizeof path, "%s/%s", p->bin, arguments[0]);
    for (size_t i = 0; i + 1 < WORDS && arguments[i] != NULL; i++)
        words[i] = arguments[i];
    if (freopen(out, "w", stdout) == NULL)
        _exit(127);
    if (strcmp(arguments[0], "psql") != 0) {
        if (chdir(p->folder) != 0)
            _exit(127);
        become_nobody();
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(127);
    }
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    execv(path, (char *const *)(void *)words);
    _exit(127);
}

static bool run(const struct support_postgres *p, const char *const *arguments, const char *out)
{
    int status = -1;
    pid_t pid = start(p, arguments, out);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static bool find_programs(struct support_postgres *p)
{
    glob_t found = {0};
    bool there = glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0;
    if (there)
        snprintf(p->bin, sizeof p->bin, "%.*s",
                 (int)(strlen(found.gl_pathv[found.gl_pathc - 1]) - strlen("/initdb")),
                 found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return there;
}

static bool answers(const struct support_postgres *p)
{
    const char *const ready[] = {"pg_isready", "-q", "-h", p->folder, "-U", "trefoil", NULL};
    for (double end = support_deadline(10); support_again(end);) {
        if (run(p, ready, "/dev/null"))
            return true;
        if (waitpid(p->pid, NULL, WNOHANG) != 0)
            return false;
    }
    return false;
}

bool support_postgres_start(struct support_postgres *p)
{
    const struct passwd *nobody = getpwnam("nobody");
    const char *const init[] = {"initdb", "-D", "data", "-U", "trefoil",    "-A",
                                "trust",  "-E", "UTF8", "-N", "--locale=C", NULL};
    const char *const server[] = {"postgres",
                                  "-D",
                                  "data",
                                  "-k",
                                  p->folder,
                                  "-c",
                                  "listen_addresses=",
                                  "-c",
                                  "fsync=off",
                                  "-c",
                                  "shared_buffers=256MB",
                                  NULL};
    *p = (struct support_postgres){.folder = "/tmp/trefoil-pg-XXXXXX"};
    if (!find_programs(p) || mkdtemp(p->folder) == NULL) {
        fprintf(stderr, "skipped: PostgreSQL is not installed\n");
        return false;
    }
    if ((geteuid() == 0 &&
         (nobody == NULL || chown(p->folder, nobody->pw_uid, nobody->pw_gid) != 0)) ||
        !run(p, init, "/dev/null")) {
        fprintf(stderr, "skipped: initdb of PostgreSQL fails here\n");
        support_postgres_stop(p);
        return false;
    }
    p->pid = start(p, server, "/dev/null");
    if (p->pid > 0 && answers(p))
        return true;
    fprintf(stderr, "skipped: PostgreSQL does not start here\n");
    support_postgres_stop(p);
    return false;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    return remove(path);
}

void support_postgres_stop(struct support_postgres *p)
{
    if (p->pid > 0) {
        kill(p->pid, SIGQUIT);
        waitpid(p->pid, NULL, 0);
    }
    if (strncmp(p->folder, "/tmp/trefoil-pg-", 16) == 0 && strchr(p->folder, 'X') == NULL)
        nftw(p->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    *p = (struct support_postgres){0};
}

bool support_postgres_run(const struct support_postgres *p, const char *path)
{
    const char *const a[] = {"psql",    "-X", "-q",       "-h", p->folder,         "-U",
                             "trefoil", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-f",
                             path,      NULL};
    return run(p, a, "/dev/null");
}

bool support_postgres_csv(const struct support_postgres *p, const char *select, const char *path)
{
    char copy[2000];
    const char *const a[] = {"psql",    "-X", "-q",       "-h", p->folder,         "-U",
                             "trefoil", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-c",
                             copy,      NULL};
    snprintf(copy, sizeof copy, "COPY (%s) TO STDOUT (FORMAT csv, HEADER)", select);
    return run(p, a, path);
}

void support_postgres_connection(const struct support_postgres *p, char *text, size_t size)
{
    snprintf(text, size, "Driver=PostgreSQL Unicode;Server=%s;Database=postgres;UID=trefoil",
             p->folder);
}

bool support_odbc(const char *driver)
{
    char text[128], words[1024] = "";
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_ERROR};
    struct odbc *o = NULL;
    /* a driver that exists refuses a server that does not */
    snprintf(text, sizeof text, "Driver=%s;Server=/nowhere;Database=/nowhere/at/all", driver);
    bool there = odbc_connect(&o, text, "odbc", &log) == ERR_OK ||
                 (strstr(words, "no SQL") == NULL && strstr(words, "Can't open lib") == NULL &&
                  strstr(words, "Data source name not found") == NULL);
    odbc_close(&o);
    if (!there)
        fprintf(stderr, "skipped: no ODBC driver %s: %s\n", driver, words);
    return there;
}
