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
    "(roster: 2), and mail it to the three servers one after another. Each looks at\n"
    "what it changes (show), signs it (sign, which adds a line to the file) and mails\n"
    "it on. With three signatures it goes to everybody: owners and analysts use it\n"
    "from then on, and servers are started again with it. Servers refuse a roster\n"
    "that is older than theirs, and a run waits until all three have the same.\n"
    "\n"
    "  --since OLD   also say what has changed since the roster of the study file OLD\n"
    "  --key FILE    the private key of the server that signs\n"
    "\n"
    "example:\n"
    "  trefoil roster show study-2.yaml --since study.yaml\n"
    "  trefoil roster sign study-2.yaml --key north.key\n";

static enum err show(const char *path, const char *since, struct log *log)
{
    struct study *study = NULL, *earlier = NULL;
    enum err e = study_load(&study, path, log);
    if (e == ERR_OK && since != NULL)
        e = study_load(&earlier, since, log);
    if (e == ERR_OK)
        roster_describe(stdout, study);
    if (e == ERR_OK && earlier != NULL)
        e = roster_compare(stdout, earlier, study, log);
    study_free(&study);
    study_free(&earlier);
    return e;
}

static enum err sign(const char *path, const char *key, struct log *log)
{
    struct identity *me = NULL;
    struct study *study = NULL;
    char text[KEYS_SIGNATURE_TEXT_SIZE] = "";
    enum err e = identity_load(&me, key, log);
    if (e == ERR_OK)
        e = roster_sign_file(path, me, text, log);
    if (text[0] != '\0')
        printf("%s\n", text);
    if (e == ERR_OK)
        e = study_load(&study, path, log);
    if (e == ERR_OK)
        roster_describe(stdout, study);
    study_free(&study);
    identity_free(&me);
    return e;
}

static int run(int argc, char **argv, struct log *log)
{
    const char *words[2] = {NULL, NULL}, *since = NULL, *key = NULL;
    size_t given;
    const struct command_option options[] = {
        {.name = "since", .value = &since},
        {.name = "key", .value = &key},
    };
    enum err e = command_options(argc, argv, options, 2, words, 2, 2, &given, log);
    if (e == ERR_OK && strcmp(words[0], "show") == 0 && key == NULL)
        e = show(words[1], since, log);
    else if (e == ERR_OK && strcmp(words[0], "sign") == 0 && key != NULL && since == NULL)
        e = sign(words[1], key, log);
    else if (e == ERR_OK) {
        log_error(log, "roster takes show STUDY, or sign STUDY --key FILE");
        e = ERR_USAGE;
    }
    return command_end(e, log);
}

const struct command cmd_roster = {
    .name = "roster",
    .summary = "look at and sign an amended study file",
    .help = help,
    .run = run,
};
