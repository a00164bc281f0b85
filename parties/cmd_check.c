#include "parties/bounds.h"
#include "parties/command.h"
#include "parties/engine.h"
#include "parties/keys.h"
#include "parties/study.h"

static const char help[] =
    "usage: trefoil check STUDY [--key FILE] [--fingerprint]\n"
    "\n"
    "Reads a study file and says in words what it means: who takes part and sees what, what is\n"
    "guaranteed and what is not, what it costs. Everybody should run it before sending anything, "
    "and\n"
    "compare the fingerprint of the terms.\n"
    "\n"
    "  --key FILE      also say what part the holder of this private key has\n"
    "  --fingerprint   print the fingerprint of the terms, nothing else\n"
    "\n"
    "example:\n"
    "  trefoil check study.yaml --key hospital-a.key\n";

/* What only the servers' arithmetic knows: that counts and noise fit, and the budget in their units. */
static enum err check_arithmetic(const struct study *study, double *rho, struct log *log)
{
    struct bounds *bounds = NULL;
    struct ledger_limits limits;
    enum err e = bounds_new(&bounds, study, log);
    if (e == ERR_OK)
        e = engine_limits(study, &limits, log);
    if (e == ERR_OK)
        *rho = limits.rho;
    bounds_free(&bounds);
    return e;
}

static enum err check(const char *path, const char *key, bool fingerprint, struct log *log)
{
    struct study *study = NULL;
    struct identity *me = NULL;
    double rho = 0;
    enum err e = study_load(&study, path, log);
    if (e == ERR_OK)
        e = check_arithmetic(study, &rho, log);
    if (e == ERR_OK && key != NULL)
        e = identity_load(&me, key, log);
    if (e == ERR_OK && fingerprint) {
        char text[STUDY_FINGERPRINT_SIZE];
        study_fingerprint(study, text);
        puts(text);
    } else if (e == ERR_OK) {
        study_describe(stdout, study, me != NULL ? &me->public : NULL);
        printf("\nEach server enforces this as rho = %.9g of zero-concentrated differential "
               "privacy.\n",
               rho);
    }
    identity_free(&me);
    study_free(&study);
    return e;
}

static int run(int argc, char **argv, struct log *log)
{
    const char *file = NULL, *key = NULL;
    bool fingerprint = false;
    size_t given;
    const struct command_option options[] = {
        {.name = "key", .value = &key},
        {.name = "fingerprint", .flag = &fingerprint},
    };
    enum err e = command_options(argc, argv, options, 2, &file, 1, 1, &given, log);
    if (e == ERR_OK)
        e = check(file, key, fingerprint, log);
    return command_end(e, log);
}

const struct command cmd_check = {
    .name = "check",
    .summary = "say in words what a study file means",
    .help = help,
    .run = run,
};
