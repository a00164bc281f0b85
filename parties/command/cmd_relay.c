#include "parties/command/command.h"
#include "parties/display/owner_page.h"
#include "parties/server/relay.h"
#include "parties/study/roster.h"

#include <signal.h>

static const char help[] =
    "usage: trefoil relay STUDY --listen [ADDRESS:]PORT\n"
    "\n"
    "Runs a door for browsers, until SIGTERM or SIGINT: it shows the owner's page\n"
    "(trefoil page), takes the sealed pieces that the page sends, brings them to the\n"
    "servers and returns their answers. It has no key and keeps nothing. Put a proxy\n"
    "in front of it, with TLS and a host name of its own, which limits clients, and\n"
    "write that into the study's roster: relay: https://HOST.\n"
    "\n"
    "  --listen PORT   of 127.0.0.1, or ADDRESS:PORT. /healthz says ok\n"
    "\n"
    "example:\n"
    "  trefoil relay study.yaml --listen 8080\n";

static enum err run_relay(int argc, char **argv, struct log *log)
{
    const char *path, *listen = NULL;
    struct study *study CLEAN(study_free) = NULL;
    struct bytes file CLEAN(bytes_clear) = {0}, page CLEAN(bytes_clear) = {0};
    struct bytes beside CLEAN(bytes_clear) = {0}, policy CLEAN(bytes_clear) = {0};
    struct relay *relay CLEAN(relay_stop) = NULL;
    struct relay_options o = {.page = &page, .log = log};
    const struct command_option options[] = {
        {.name = "listen", .value = &listen, .needed = "PORT"},
    };
    sigset_t set;
    int got;
    TRY(command_options(argc, argv, COUNTED(options), &path, 1, 1, NULL, log));
    TRY(study_load(&study, path, log));
    TRY(roster_check(study, log));
    TRY(roster_servers_current(study, log));
    TRY(owner_page_files(study, path, &file, &beside, log));
    TRY(owner_page(study, &file, &beside, &page, &policy, log));
    bytes_put_u8(&policy, 0);
    TRY(bytes_ok(&policy));
    if (study->relay == NULL)
        log_warn(log, "the study's roster names no relay: pages will not send anything here");
    o.study = study;
    o.listen = listen;
    o.policy = (const char *)policy.data;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* also in the threads that follow */
    TRY(relay_start(&relay, &o));
    log_info(log, "the relay of study %s listens on %s", study->name, listen);
    (void)sigwait(&set, &got); /* fails only for an invalid set */
    log_info(log, "relay stopped");
    return ERR_OK;
}

DEFINE_COMMAND(relay, help, "bring browsers' sealed uploads to the servers");
