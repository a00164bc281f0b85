#include "base/secret.h"
#include "parties/command/command.h"
#include "parties/command/settings.h"
#include "parties/server/server.h"
#include "parties/settings/three/ranks.h"
#include "parties/study/study_ports.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define FILES 4096
#define AHEAD_S 60

static const char help[] =
    "usage: trefoil serve STUDY --key FILE --folder DIR [--listen ADDRESS[:PORT]]\n"
    "                     [--lanes N] [--noise-ahead SECONDS|off]\n"
    "                     [--status [ADDRESS:]PORT] [--log FORMAT]\n"
    "                     [--sealing FILE] [--purge]\n"
#ifdef TREFOIL_MPI
    "                     [--ranks HOST:PORT,..]\n"
#endif
    "\n"
    "Runs one of the study's servers until it receives SIGTERM or SIGINT. It\n"
    "takes owners' uploads, and computes with the others when an analyst\n"
    "runs the study. It listens on five ports, starting with the port of its\n"
    "endpoint, and on two more for each lane beyond the first.\n"
    "\n"
    "  --key FILE         this server's private key; its public half is in the study\n"
    "                     file\n"
    "  --folder DIR       where its uploads, ledger and audit log are; for this study\n"
    "                     and this server alone\n"
    "  --listen ADDRESS[:PORT]   listen on this address instead of all, and on ports\n"
    "                     from PORT on instead of the endpoint's, where a router\n"
    "                     forwards those\n"
    "  --lanes N          compute on N threads, 1 to 16; default: one for each\n"
    "                     processor. A session uses as many as the server with the\n"
    "                     fewest\n"
#ifdef TREFOIL_MPI
    "  --ranks HOST:PORT,..   where the two other servers reach the ranks that mpirun\n"
    "                     started beside this one; --lanes then applies to each rank\n"
#endif
    "  --noise-ahead SECONDS   make noise for a future run once the servers have been\n"
    "                     idle for this long, default 60; a request ends that at\n"
    "                     once. The noise stays on disk until a run takes it. off:\n"
    "                     this server takes no part in that\n"
    "  --status PORT      show status pages on 127.0.0.1: /, /metrics (Prometheus)\n"
    "                     and /healthz. ADDRESS:PORT for another address; note that\n"
    "                     they have no password\n"
    "  --log FORMAT       json: write each message as a line of JSON, with time,\n"
    "                     level, study, server, kind and text\n"
    "  --sealing FILE     this server's sealing key, where the study lists such keys\n"
    "                     (trefoil keygen --sealing). Never back it up: --purge\n"
    "                     deletes it first\n"
    "  --purge            instead of serving, end the study here: delete all uploads\n"
    "                     and noise, and write a signed statement of that for the\n"
    "                     owners to DIR/purge.txt. Refused before the study's\n"
    "                     retain_days are over. The ledger stays\n"
    "\n"
    "example:\n"
    "  trefoil serve study.yaml --key north.key --folder /var/lib/trefoil/north\n";

/* The only mutable global: a signal handler has nothing else that it can write to. */
static atomic_bool stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    atomic_store(&stop_requested, true);
}

static void stop_on_signals(void)
{
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL); /* fails only for an invalid signal number */
    (void)sigaction(SIGINT, &action, NULL);
}

/* Connections are descriptors: as many as the operator's hard limit allows, up to a bound. */
static void raise_file_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= FILES)
        return;
    files.rlim_cur = files.rlim_max < FILES ? files.rlim_max : FILES;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

struct arguments {
    const char *study, *key, *listen, *ranks, *log, *ahead;
    int64_t lanes;
    bool purge;
    char host[STUDY_HOST_SIZE];
    struct server_options server;
};

/* ADDRESS, ADDRESS:PORT, [IPv6] or [IPv6]:PORT. */
static enum err take_listen(struct arguments *a, struct log *log)
{
    const char *from = a->listen[0] == '[' ? strchr(a->listen, ']') : a->listen;
    const char *colon = from != NULL ? strchr(from, ':') : NULL;
    size_t n = colon != NULL ? (size_t)(colon - a->listen) : strlen(a->listen);
    int64_t port = 0;
    if (from == NULL || n == 0 || n >= sizeof a->host)
        return log_fail(log, ERR_USAGE,
                        "--listen is \"%s\"; write ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT",
                        a->listen);
    memcpy(a->host, a->listen, n);
    if (colon != NULL)
        TRY(command_integer("listen's port", colon + 1, 1, 65536 - STUDY_PORTS, &port, log));
    a->server.listen = a->host;
    a->server.listen_port = (uint16_t)port;
    return ERR_OK;
}

/* SECONDS, or off. */
static enum err take_ahead(struct arguments *a, struct log *log)
{
    int64_t seconds = 0;
    if (strcmp(a->ahead, "off") != 0)
        TRY(command_integer("noise-ahead (off, or the seconds)", a->ahead, 1, 86400, &seconds,
                            log));
    a->server.ahead_s = (unsigned)seconds;
    return ERR_OK;
}

/* Runs the server, which is rank 0 if there are several ranks. */
static enum err serve(const struct arguments *a, struct ranks *ranks, struct log *log)
{
    struct study *study CLEAN(study_free) = NULL;
    struct identity *me CLEAN(identity_free) = NULL;
    struct server_options options = a->server;
    enum err e;
    umask(077); /* only the operator may use what is made in the folder */
    raise_file_limit();
    stop_on_signals();
    TRY(study_load(&study, a->study, log));
    TRY(identity_load(&me, a->key, log));
    options.ranks = ranks;
    options.study = study;
    options.setting = settings_of(study);
    if (a->ranks != NULL && study->servers == 2)
        return log_fail(log, ERR_USAGE,
                        "--ranks goes with three servers; a provider and a keeper run on one "
                        "machine each");
    options.me = me;
    log->dated = true;
    e = a->purge ? server_purge(&options) : server_run(&options);
    if (e == ERR_OK && !a->purge)
        log_info(log, "server stopped");
    log->dated = false;
    log->study = NULL; /* goes with the study */
    return e;
}

/* Only rank 0 reads files; the others end when it does, and ignore signals until then. */
static enum err serve_or_follow(const struct arguments *a, struct log *log)
{
    const struct ranks_options options = {.places = a->ranks, .lanes = a->server.lanes, .log = log};
    struct ranks *ranks CLEAN(ranks_stop) = NULL;
    TRY(secret_harden_process(log));
    secret_lock_process(log);
    TRY(ranks_start(&ranks, &options));
    if (ranks_is_first(ranks))
        return serve(a, ranks, log);
    raise_file_limit();
    stop_on_signals();
    return ranks_follow(ranks);
}

static enum err run_serve(int argc, char **argv, struct log *log)
{
    struct arguments a = {.server = {.ahead_s = AHEAD_S, .stop = &stop_requested, .log = log}};
    const struct command_option options[] = {
        {.name = "key", .value = &a.key, .needed = "FILE"},
        {.name = "folder", .value = &a.server.folder, .needed = "DIR"},
        {.name = "listen", .value = &a.listen},
        {.name = "lanes", .number = &a.lanes, .least = 1, .most = STUDY_LANES_MAX},
#ifdef TREFOIL_MPI
        {.name = "ranks", .value = &a.ranks},
#endif
        {.name = "noise-ahead", .value = &a.ahead},
        {.name = "status", .value = &a.server.status},
        {.name = "log", .value = &a.log},
        {.name = "sealing", .value = &a.server.sealing},
        {.name = "purge", .flag = &a.purge},
    };
    TRY(command_options(argc, argv, COUNTED(options), &a.study, 1, 1, NULL, log));
    if (a.log != NULL && strcmp(a.log, "json") != 0)
        return log_fail(log, ERR_USAGE, "--log is \"%s\"; the only other form is json", a.log);
    log->json = a.log != NULL;
    a.server.lanes = (unsigned)a.lanes;
    if (a.listen != NULL)
        TRY(take_listen(&a, log));
    if (a.ahead != NULL)
        TRY(take_ahead(&a, log));
    return serve_or_follow(&a, log);
}

DEFINE_COMMAND(serve, help, "run one of a study's compute servers");
