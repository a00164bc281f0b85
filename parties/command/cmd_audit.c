#include "base/date.h"
#include "parties/audit/audit_compare.h"
#include "parties/command/command.h"
#include "parties/exchange/price.h"
#include "parties/exchange/witness.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: trefoil audit LOG [LOG LOG] [--study FILE [--heads FILE]]\n"
    "\n"
    "Checks servers' audit logs, and prints what was ever opened and what it cost.\n"
    "One log is checked by itself: no line was altered, removed or added, and the two\n"
    "other servers' signatures fit. Two or three logs are also compared: none is\n"
    "shorter than another server has seen it, and all say the same. Needs no key and\n"
    "no server. Exit code 6 if a check fails.\n"
    "\n"
    "  LOG            audit.log from a server's folder, or a copy\n"
    "  --study FILE   also check that the logs belong to this study and its servers;\n"
    "                 without it, nothing tells whose log it really is\n"
    "  --heads FILE   also check that the logs continue what their servers signed\n"
    "                 about them: the file `heads` in the --out of a run, or beside\n"
    "                 the key of an owner or analyst. This shows whether all\n"
    "                 logs were rolled back\n"
    "\n"
    "example:\n"
    "  trefoil audit north.log east.log west.log --study study.yaml \\\n"
    "      --heads result/heads\n";

#define LOGS 3

struct audit_terms {
    const char *path[LOGS];
    size_t logs;
    const char *study, *heads; /* NULL if not given */
};

/* Looks at all logs, even after one that does not hold. */
static enum err check_heads(struct audit_file *const *files, const struct audit_terms *t,
                            const struct study *study, struct log *log)
{
    struct witness w = {.study = study, .log = log};
    enum err worst = ERR_OK;
    if (access(t->heads, F_OK) != 0)
        return log_fail(log, ERR_SYSTEM, "cannot open %s: %s", t->heads, strerror(errno));
    TRY(witness_add(&w, t->heads));
    for (size_t i = 0; i < t->logs; i++) {
        const struct head *seen = &w.seen[files[i]->server];
        struct audit_head head = {.entries = seen->log.length};
        memcpy(head.hash, seen->log.hash, sizeof head.hash);
        if (seen->ledger.length > 0 &&
            audit_continues(files[i], &head, date_text(seen->time).text, stdout, log) != ERR_OK)
            worst = ERR_DATA;
    }
    return worst;
}

static enum err check_study(struct audit_file *const *files, const struct audit_terms *t,
                            struct log *log)
{
    struct study *study CLEAN(study_free) = NULL;
    struct ledger_limits limits = {0};
    TRY(study_load(&study, t->study, log));
    if (study->approvers.at_least > 0)
        TRY(price_limits(study, &limits, log));
    for (size_t i = 0; i < t->logs; i++)
        TRY(audit_is_of(files[i], study, limits.rho, log));
    return t->heads != NULL ? check_heads(files, t, study, log) : ERR_OK;
}

/* A log that is looked at has to end at the end of a line; only a server may mend that. */
static enum err read_whole(struct audit_file **file, const char *path, struct log *log)
{
    TRY(audit_file_read(file, path, log));
    if ((*file)->entries > 0 && (*file)->torn == 0)
        return ERR_OK;
    return log_fail(log, ERR_DATA, "%s is empty, or its last line is cut", path);
}

static void free_files(struct audit_file *(*files)[LOGS])
{
    for (size_t i = 0; i < LOGS; i++)
        audit_file_free(&(*files)[i]);
}

static enum err audit(const struct audit_terms *t, struct log *log)
{
    struct audit_file *files[LOGS] CLEAN(free_files) = {NULL};
    const size_t count = t->logs;
    for (size_t i = 0; i < count; i++)
        TRY(read_whole(&files[i], t->path[i], log));
    if (t->study != NULL)
        TRY(check_study(files, t, log));
    audit_describe(files, count, stdout);
    TRY(audit_compare(files, count, stdout, log));
    if (count < files[0]->servers)
        puts("all that was compared fits; give all servers' logs to compare all");
    else
        printf("the %s logs fit together\n", count == 2 ? "two" : "three");
    return ERR_OK;
}

static enum err run_audit(int argc, char **argv, struct log *log)
{
    struct audit_terms t = {0};
    const struct command_option options[] = {{.name = "study", .value = &t.study},
                                             {.name = "heads", .value = &t.heads}};
    TRY(command_options(argc, argv, COUNTED(options), t.path, 1, LOGS, &t.logs, log));
    if (t.heads != NULL && t.study == NULL)
        return log_fail(log, ERR_USAGE,
                        "--heads needs --study, which says whose signatures they are");
    return audit(&t, log);
}

DEFINE_COMMAND(audit, help, "check servers' audit logs, and list what was opened");
