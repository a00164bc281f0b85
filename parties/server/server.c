#include "parties/server/server.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "netio/gate.h"
#include "netio/net.h"
#include "parties/exchange/price.h"
#include "parties/exchange/request.h"
#include "parties/server/forward.h"
#include "parties/server/front.h"
#include "parties/server/http.h"
#include "parties/server/worker.h"
#include "parties/study/bounds.h"
#include "parties/study/roster.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

struct server {
    struct server_options o;
    struct log log; /* as the options', with a meter */
    unsigned index;
    struct bounds *bounds;
    struct ledger_limits limits;
    struct store *store;
    struct audit *audit;
    struct netio *netio;
    struct transport *control, *bulk[STUDY_LANES_MAX];
    unsigned lanes;
    struct gate *gate;
    struct forward *forward;
    struct status status;
    struct http *http;
    struct worker *worker;
    struct front *front;
};

/* --- links ------------------------------------------------------------------------------------ */

_Static_assert(STUDY_LANES_MAX == SESSION_LANES_MAX, "each lane has its ports");

/* `lane`: of bulk links; NULL: the control links. */
static enum err make_links(struct server *s, const unsigned *lane, struct transport **t)
{
    const bool bulk = lane != NULL;
    const struct study *study = s->o.study;
    unsigned prev = (s->index + 2) % 3, next = (s->index + 1) % 3;
    unsigned from_prev = bulk ? study_bulk(STUDY_BULK_PREV, *lane) : STUDY_CONTROL_PREV;
    unsigned from_next = bulk ? study_bulk(STUDY_BULK_NEXT, *lane) : STUDY_CONTROL_NEXT;
    char listen[2][STUDY_ENDPOINT_SIZE], dial[2][STUDY_ENDPOINT_SIZE];
    struct transport_zmq_options o = {
        .netio = s->netio,
        .index = s->index,
        .listen = {listen[0], listen[1]},
        .dial = {dial[0], dial[1]},
        .max_message = bulk ? NET_FRAME_BODY + NET_FRAME_OVERHEAD : WORKER_CONTROL_MAX,
        /* frames that wait in each direction: 2 for each lane, and 6 for all of them */
        .depth = bulk ? 2 + 6 / (int)s->lanes : 64,
        .log = s->o.log,
    };
    study_listen(study, s->index, from_prev, s->o.listen, s->o.listen_port, listen[NET_PREV]);
    study_listen(study, s->index, from_next, s->o.listen, s->o.listen_port, listen[NET_NEXT]);
    /* to the previous server we are its next one, and the other way round */
    study_endpoint(study, prev, from_next, dial[NET_PREV]);
    study_endpoint(study, next, from_prev, dial[NET_NEXT]);
    if (!bulk) {
        o.curve_public = s->o.me->public.curve;
        o.curve_secret = s->o.me->curve_secret;
        o.peer_public[NET_PREV] = study->server[prev].key.curve;
        o.peer_public[NET_NEXT] = study->server[next].key.curve;
    }
    return transport_zmq_new(t, &o);
}

/* Everybody on the roster whose key is not revoked. One that has expired gets in, to be told so. */
static enum err admit(struct server *s)
{
    struct roster_person p = {0};
    while (roster_next(s->o.study, &p))
        if (study_revoked(s->o.study, p.key))
            log_warn(s->o.log, "the key of %s is revoked: it is turned away", p.name);
        else if (p.role != ROLE_SERVER || p.index != s->index)
            TRY(netio_allow(s->netio, "gate", p.key->curve, role_user(p.role, p.index)));
    return ERR_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

/* What is in memory and on disk. */
static enum err open_folder(struct server *s)
{
    const struct study *study = s->o.study;
    TRY(bounds_new(&s->bounds, study, s->o.log));
    TRY(price_limits(study, &s->limits, s->o.log)); /* a study that cannot run takes no data */
    TRY(store_open(&s->store, s->o.folder, study, s->o.me, s->index, s->o.log));
    TRY(store_check_purged(s->store));
    return audit_open(&s->audit, s->o.folder, study, s->o.me, s->index, s->o.log);
}

static enum err open_links(struct server *s)
{
    char listen[STUDY_ENDPOINT_SIZE];
    struct gate_options gate = {
        .listen = listen,
        .curve_public = s->o.me->public.curve,
        .curve_secret = s->o.me->curve_secret,
        .log = s->o.log,
    };
    TRY(netio_new(&s->netio, s->o.log));
    TRY(admit(s));
    TRY(make_links(s, NULL, &s->control));
    for (unsigned k = 0; k < s->lanes; k++)
        TRY(make_links(s, &k, &s->bulk[k]));
    study_listen(s->o.study, s->index, STUDY_GATE, s->o.listen, s->o.listen_port, listen);
    gate.netio = s->netio;
    return gate_new(&s->gate, &gate);
}

static enum err make_front(struct server *s)
{
    const struct front_options o = {
        .study = s->o.study,
        .me = s->o.me,
        .index = s->index,
        .store = s->store,
        .audit = s->audit,
        .gate = s->gate,
        .forward = s->forward,
        .status = &s->status,
        .stop = s->o.stop,
        .log = s->o.log,
    };
    return front_new(&s->front, &o);
}

static enum err start_worker(struct server *s)
{
    const struct worker_options o = {
        .study = s->o.study,
        .me = s->o.me,
        .bounds = s->bounds,
        .limits = &s->limits,
        .index = s->index,
        .store = s->store,
        .audit = s->audit,
        .status = &s->status,
        .control = s->control,
        .bulk = s->bulk,
        .lanes = s->lanes,
        .gate = s->gate,
        .stop = s->o.stop,
        .log = s->o.log,
    };
    return worker_start(&s->worker, &o);
}

static enum err start(struct server *s)
{
    TRY(open_folder(s));
    TRY(open_links(s));
    if (s->index == 1)
        TRY(forward_start(&s->forward, s->netio, s->store, s->o.study, s->o.me, s->o.log));
    TRY(make_front(s));
    TRY(start_worker(s));
    return s->o.status != NULL ? http_start(&s->http, s->o.status, &s->status, s->o.log) : ERR_OK;
}

/* What the worker ended with. */
static enum err end(struct server *s)
{
    enum err e;
    atomic_store(s->o.stop, true);
    http_stop(&s->http);
    e = worker_stop(&s->worker);
    front_free(&s->front);
    forward_stop(&s->forward);
    gate_free(&s->gate);
    transport_free(&s->control);
    for (unsigned k = 0; k < s->lanes; k++)
        transport_free(&s->bulk[k]);
    netio_free(&s->netio);
    audit_close(&s->audit);
    store_close(&s->store);
    bounds_free(&s->bounds);
    return e;
}

/* If nobody said how many: one for each processor that this process may use, as far as ports go. */
static enum err count_lanes(struct server *s)
{
    const unsigned most = study_lanes_most(s->o.study, s->o.listen_port);
    cpu_set_t cores;
    s->lanes = s->o.lanes;
    if (s->lanes > most)
        return log_fail(
            s->o.log, ERR_USAGE,
            "--lanes %u takes %u ports in a row at each server; those in the study have room "
            "for %u %s before the next server's on the same host, or before 65536",
            s->lanes, study_bulk(STUDY_BULK_NEXT, s->lanes - 1) + 1, most,
            most == 1 ? "lane" : "lanes");
    if (s->lanes == 0) {
        s->lanes = sched_getaffinity(0, sizeof cores, &cores) == 0 ? (unsigned)CPU_COUNT(&cores)
                                                                   : 1;
        s->lanes = s->lanes < most ? s->lanes : most;
    }
    return ERR_OK;
}

static enum err check_place(struct server *s)
{
    struct roster_person self;
    TRY(roster_find(s->o.study, &s->o.me->public, ROLE_SERVER, &self, s->o.log));
    s->index = (unsigned)self.index;
    s->status.study = s->o.study;
    s->status.index = s->index;
    s->status.started_ms = clock_now_ms();
    s->status.front_ms = s->status.started_ms;
    TRY(count_lanes(s));
    roster_warn(s->o.study, s->o.log);
    return roster_servers_current(s->o.study, s->o.log);
}

/* A folder that was made for a server which did not start. */
static void drop_folder(const char *folder)
{
    static const char *const names[] = {
        "store.sqlite-wal", "store.sqlite-shm", "store.sqlite", "audit.log", "lock", NULL};
    file_drop_folder(folder, names);
}

enum err server_run(const struct server_options *options)
{
    struct server *s = memory_array(1, sizeof *s);
    bool is_new = !file_is_there(options->folder);
    enum err e, ended;
    if (s == NULL)
        return ERR_NOMEM;
    s->o = *options;
    s->log = *options->log;
    s->o.log = &s->log;
    /* so that what each owner does is told, some times */
    s->log.meter = log_meter_new(100 + 4 * options->study->owners);
    e = s->log.meter != NULL ? check_place(s) : ERR_NOMEM;
    if (e == ERR_OK) {
        e = start(s);
        if (e == ERR_OK) {
            log_info(options->log, "server %u (%s) of study %s is ready, with roster %u and %u %s",
                     s->index, options->study->server[s->index].name, options->study->name,
                     options->study->roster_version, s->lanes, s->lanes == 1 ? "lane" : "lanes");
            is_new = false;
            e = front_run(s->front);
        }
        ended = end(s);
        if (is_new)
            drop_folder(options->folder);
        e = e == ERR_OK ? ended : e;
    }
    log_meter_free(&s->log);
    memory_free(&s);
    return e;
}

static enum err purge(const struct server_options *o)
{
    struct store *store CLEAN(store_close) = NULL;
    struct bytes statement CLEAN(bytes_clear) = {0};
    char path[FILE_PATH];
    struct roster_person self;
    TRY(roster_find(o->study, &o->me->public, ROLE_SERVER, &self, o->log));
    TRY(store_open(&store, o->folder, o->study, o->me, (unsigned)self.index, o->log));
    TRY(store_purge(store, o->me, &statement));
    TRY(file_path(path, o->log, "%s/purge.txt", o->folder));
    TRY(file_write(path, 0644, statement.data, statement.size, o->log));
    log_info(o->log, "purged; the signed statement for the owners is %s", path);
    return ERR_OK;
}

enum err server_purge(const struct server_options *options)
{
    const bool is_new = !file_is_there(options->folder);
    const enum err e = purge(options);
    if (e != ERR_OK && is_new)
        drop_folder(options->folder);
    return e;
}
