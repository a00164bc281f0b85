#include "parties/server/worker.h"

#include "base/memory.h"
#include "base/secret.h"
#include "base/thread.h"
#include "parties/server/worker_private.h"

/*
 * A session whose run is not heard of for so many times deadlines.connect is closed, also when
 * nobody else wants its place: while it is open no owner can withdraw or replace an upload.
 */
#define SILENT_TIMES 2

static enum err work(struct worker *w)
{
    struct bytes message = {0};
    enum err e = ERR_OK;
    while (e == ERR_OK && !atomic_load(w->o.stop)) {
        e = worker_once(w, &message);
        worker_heed_neighbours(w);
        if (w->session != NULL && worker_silent_ms(w) > SILENT_TIMES * worker_connect_ms(w)) {
            log_warn(w->o.log, "the run was not heard of for too long; its session is closed");
            worker_close_session(w);
        }
    }
    worker_close_session(w);
    bytes_clear(&message);
    return e;
}

static void *run(void *arg)
{
    struct worker *w = arg;
    w->result = work(w);
    atomic_store(&w->o.status->worker_ended, true);
    atomic_store(w->o.stop, true);
    return NULL;
}

enum err worker_start(struct worker **worker, const struct worker_options *options)
{
    struct worker *w = memory_array(1, sizeof *w);
    enum err e;
    *worker = w;
    if (w == NULL)
        return ERR_NOMEM;
    w->o = *options;
    w->guard.store = options->store;
    w->guard.log = options->log;
    w->log = *options->log;
    w->log.buffer = w->words;
    w->log.buffer_size = sizeof w->words;
    w->port = gate_port(options->gate);
    worker_show_guard(w);
    e = w->port != NULL ? worker_show_budget(w) : ERR_NOMEM;
    if (e == ERR_OK)
        e = thread_start(&w->thread, run, w, options->log);
    w->started = e == ERR_OK;
    if (e != ERR_OK)
        (void)worker_stop(worker);
    return e;
}

enum err worker_stop(struct worker **worker)
{
    struct worker *w = *worker;
    enum err e;
    if (w == NULL)
        return ERR_OK;
    if (w->started)
        pthread_join(w->thread, NULL);
    e = w->result;
    gate_port_free(&w->port);
    secret_wipe(w, sizeof *w);
    memory_free(worker);
    return e;
}
