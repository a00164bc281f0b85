#include "base/secret.h"
#include "parties/command.h"
#include "parties/server.h"

#include <signal.h>
#include <sys/stat.h>

static const char help[] =
    "usage: trefoil serve STUDY --key FILE --folder DIR [--listen ADDRESS]\n"
    "\n"
    "Runs one of the study's three compute servers until it gets SIGTERM or SIGINT: takes owners'\n"
    "uploads, and computes with the two other servers when an analyst runs the study. Listens on "
    "five\n"
    "ports from the one of its endpoint on.\n"
    "\n"
    "  --key FILE         this server's private key; its public half stands in the study\n"
    "  --folder DIR       its uploads, ledger and audit log; of this study and server alone\n"
    "  --listen ADDRESS   listen on this address instead of all\n"
    "\n"
    "example:\n"
    "  trefoil serve study.yaml --key north.key --folder /var/lib/trefoil/north\n";

/* The one mutable global: a signal handler is told nothing else to write to. */
static atomic_bool stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    atomic_store(&stop_requested, true);
}

static enum err stop_on_signals(void)
{
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0)
        return ERR_SYSTEM;
    return ERR_OK;
}

static enum err serve(const char *path, const char *key, const char *folder, const char *listen,
                      struct log *log)
{
    struct study *study = NULL;
    struct identity *me = NULL;
    enum err e = secret_harden_process();
    umask(077); /* whatever is made in the folder is the operator's alone */
    if (e == ERR_OK)
        e = study_load(&study, path, log);
    if (e == ERR_OK)
        e = identity_load(&me, key, log);
    if (e == ERR_OK)
        e = stop_on_signals();
    if (e == ERR_OK) {
        const struct server_options options = {.study = study,
                                               .me = me,
                                               .folder = folder,
                                               .listen = listen,
                                               .stop = &stop_requested,
                                               .log = log};
        e = server_run(&options);
        log_info(log, "server stopped");
    }
    identity_free(&me);
    study_free(&study);
    return e;
}

static int run(int argc, char **argv, struct log *log)
{
    const char *file = NULL, *key = NULL, *folder = NULL, *listen = NULL;
    size_t given;
    const struct command_option options[] = {
        {.name = "key", .value = &key},
        {.name = "folder", .value = &folder},
        {.name = "listen", .value = &listen},
    };
    enum err e = command_options(argc, argv, options, 3, &file, 1, 1, &given, log);
    if (e == ERR_OK && (key == NULL || folder == NULL)) {
        log_error(log, "serve needs --key FILE and --folder DIR");
        e = ERR_USAGE;
    }
    if (e == ERR_OK)
        e = serve(file, key, folder, listen, log);
    return command_end(e, log);
}

const struct command cmd_serve = {
    .name = "serve",
    .summary = "run one of the three compute servers",
    .help = help,
    .run = run,
};
