#include "parties/command/command.h"
#include "parties/study/roster.h"

#include <string.h>

static const char help[] =
    "usage: trefoil roster show STUDY [--since OLD]\n"
    "       trefoil roster sign STUDY --key FILE\n"
    "\n"
    "The terms of a study are fixed. Its roster may be amended while it runs: keys of\n"
    "owners and analysts, renewed keys of servers, endpoints, deadlines, limits of\n"
    "the model, revoked keys. Edit a copy of the study file, give it the next number\n"
    "(roster: 2), and mail it to the servers one after another. Each looks at\n"
    "what it changes (show), signs it (sign, which adds a line to the file) and mails\n"
    "it on. With all signatures it goes to everybody: owners and analysts use it\n"
    "from then on, and servers are restarted with it. Servers refuse a roster that is\n"
    "older than theirs, and a run waits until all have the same one.\n"
    "\n"
    "  --since OLD   also say what has changed since the roster in the study file OLD\n"
    "  --key FILE    the private key of the server that signs\n"
    "\n"
    "example:\n"
    "  trefoil roster show study-2.yaml --since study.yaml\n"
    "  trefoil roster sign study-2.yaml --key north.key\n";

static enum err show(const char *path, const char *since, struct log *log)
{
    struct study *study CLEAN(study_free) = NULL;
    struct study *earlier CLEAN(study_free) = NULL;
    TRY(study_load(&study, path, log));
    if (since != NULL)
        TRY(study_load(&earlier, since, log));
    roster_describe(stdout, study);
    return earlier != NULL ? roster_compare(stdout, earlier, study, log) : ERR_OK;
}

static enum err sign(const char *path, const char *key, struct log *log)
{
    struct identity *me CLEAN(identity_free) = NULL;
    struct study *study CLEAN(study_free) = NULL;
    char text[IDENTITY_SIGNATURE_TEXT_SIZE] = "";
    enum err e;
    TRY(identity_load(&me, key, log));
    e = roster_sign_file(path, me, text, log);
    if (text[0] != '\0')
        printf("%s\n", text);
    TRY(e);
    TRY(study_load(&study, path, log));
    roster_describe(stdout, study);
    return ERR_OK;
}

static enum err run_roster(int argc, char **argv, struct log *log)
{
    const char *words[2] = {NULL, NULL}, *since = NULL, *key = NULL;
    const struct command_option options[] = {
        {.name = "since", .value = &since},
        {.name = "key", .value = &key},
    };
    TRY(command_options(argc, argv, COUNTED(options), words, 2, 2, NULL, log));
    if (strcmp(words[0], "show") == 0 && key == NULL)
        return show(words[1], since, log);
    if (strcmp(words[0], "sign") == 0 && key != NULL && since == NULL)
        return sign(words[1], key, log);
    return log_fail(log, ERR_USAGE, "roster takes show STUDY, or sign STUDY --key FILE");
}

DEFINE_COMMAND(roster, help, "look at and sign an amended study file");
