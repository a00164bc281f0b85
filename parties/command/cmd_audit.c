#include "parties/audit/audit_compare.h"
#include "parties/command/command.h"

static const char help[] =
    "usage: trefoil audit LOG [LOG LOG] [--study FILE]\n"
    "\n"
    "Checks servers' audit logs, and prints what was ever opened and what it cost.\n"
    "One log is checked in itself: no line was altered, left out or put in, and what\n"
    "the two other servers signed fits. Two or three are compared: none is shorter\n"
    "than a neighbour has seen it, and all tell the same. Needs no key, and no\n"
    "server. Exit code 6 if anything does not hold.\n"
    "\n"
    "  LOG            audit.log of a server's folder, or a copy\n"
    "  --study FILE   also check that the logs are of this study and its servers'\n"
    "                 keys: else a log is believed about whose it is\n"
    "\n"
    "example:\n"
    "  trefoil audit north.log east.log west.log --study study.yaml\n";

#define LOGS 3

static enum err check_study(struct audit_file *const *files, size_t count, const char *path,
                            struct log *log)
{
    struct study *study = NULL;
    enum err e = study_load(&study, path, log);
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        e = audit_is_of(files[i], study, log);
    study_free(&study);
    return e;
}

/* A log that is looked at has to end where a line ends; only a server may mend that. */
static enum err read_whole(struct audit_file **file, const char *path, struct log *log)
{
    TRY(audit_file_read(file, path, log));
    if ((*file)->entries > 0 && (*file)->torn == 0)
        return ERR_OK;
    log_error(log, "%s is empty, or its last line is cut", path);
    return ERR_DATA;
}

static enum err audit(const char *const *paths, size_t count, const char *study, struct log *log)
{
    struct audit_file *files[LOGS] = {NULL};
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        e = read_whole(&files[i], paths[i], log);
    if (e == ERR_OK && study != NULL)
        e = check_study(files, count, study, log);
    if (e == ERR_OK)
        audit_describe(files, count, stdout);
    if (e == ERR_OK)
        e = audit_compare(files, count, stdout, log);
    if (e == ERR_OK)
        puts(count == LOGS
                 ? "the three logs fit together"
                 : "all that was compared fits; give all three servers' logs to compare all");
    for (size_t i = 0; i < count; i++)
        audit_file_free(&files[i]);
    return e;
}

static int run(int argc, char **argv, struct log *log)
{
    const char *paths[LOGS], *study = NULL;
    size_t given;
    const struct command_option options[] = {{.name = "study", .value = &study}};
    enum err e = command_options(argc, argv, options, 1, paths, 1, LOGS, &given, log);
    if (e == ERR_OK)
        e = audit(paths, given, study, log);
    return command_end(e, log);
}

const struct command cmd_audit = {
    .name = "audit",
    .summary = "check servers' audit logs, and list what was opened",
    .help = help,
    .run = run,
};
