#include "parties/server/worker.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/server/worker_private.h"

/*
 * A session whose run is not heard of for this many times deadlines.connect is closed, even if
 * nobody else wants its place: while it is open no owner can withdraw or replace an upload.
 */
#define SILENT_TIMES 2

/* Closes the session, if there is a reason. */
static void end_turn(struct worker *w, const char *why)
{
    if (why == NULL)
        return;
    log_warn(w->site->log, "%s: the session, whose run has not paid, is closed", why);
    worker_close_session(w);
}

static enum err work(struct worker *w)
{
    struct bytes message = {0};
    enum err e = ERR_OK;
    while (e == ERR_OK && !atomic_load(w->site->stop)) {
        const int64_t before = clock_now_ms();
        e = worker_once(w, &message);
        worker_heed_neighbours(w);
        end_turn(w, worker_turn_passes(w, clock_now_ms() - before));
        worker_show_neighbours(w);
        if (w->net != NULL && worker_silent_ms(w) > SILENT_TIMES * worker_connect_ms(w)) {
            log_warn(
                w->site->log,
                "nothing was heard from the run's program for too long; its session is closed");
            worker_close_session(w);
        }
    }
    worker_close_session(w);
    bytes_clear(&message);
    return e;
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    w->result = work(w);
    atomic_store(&w->site->status.worker_ended, true);
    atomic_store(w->site->stop, true);
    return NULL;
}

enum err worker_start(struct worker **worker, struct site *site, const struct setting *setting)
{
    struct worker *w;
    TRY(memory_new(worker, 1));
    w = *worker;
    w->site = site;
    w->play = (struct play){.study = site->study,
                            .split = site->split,
                            .me = site->me,
                            .limits = &site->limits,
                            .store = site->store,
                            .openings = {.audit = site->audit, .log = &w->log},
                            .adding = &site->status.adding,
                            .log = &w->log};
    w->log = *site->log;
    w->log.buffer = w->words;
    w->log.buffer_size = sizeof w->words;
    w->setting = setting;
    TRY(setting->start(&w->part, &(const struct setting_host){site, &w->play.openings, &w->log}));
    w->port = gate_port(site->gate);
    worker_show_guard(w);
    TRY(w->port != NULL ? worker_show_budget(w) : ERR_NOMEM);
    setting->drop(w->part);
    setting->show(w->part);
    worker_idle_from_now(w);
    return thread_start(&w->thread, run_worker, w, site->log);
}

enum err worker_stop(struct worker **worker)
{
    struct worker *w = *worker;
    enum err e;
    if (w == NULL)
        return ERR_OK;
    thread_join(&w->thread);
    e = w->result;
    gate_port_free(&w->port);
    w->setting->stop(&w->part);
    secret_wipe(w, sizeof *w);
    memory_free(worker);
    return e;
}
