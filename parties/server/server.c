#include "parties/server/server.h"

#include "base/clock.h"
#include "base/cores.h"
#include "base/date.h"
#include "base/file.h"
#include "base/memory.h"
#include "netio/net.h"
#include "parties/exchange/price.h"
#include "parties/exchange/request.h"
#include "parties/server/forward.h"
#include "parties/server/front.h"
#include "parties/server/http.h"
#include "parties/server/worker.h"
#include "parties/study/roster.h"
#include "parties/study/sealing.h"
#include "parties/study/study_ports.h"

struct server {
    struct server_options o;
    struct log log; /* like the options' log, with a meter */
    struct site site;
    struct identity *sealing; /* or NULL */
    struct http *http;
    struct worker *worker;
    struct front *front;
};

/* --- links ------------------------------------------------------------------------------------ */

_Static_assert(STUDY_LANES_MAX == SESSION_LANES_MAX, "each lane has its ports");

/* `lane`: the one whose bulk links to make; NULL: the control links. */
static enum err make_links(struct server *s, const unsigned *lane, struct transport **t)
{
    const bool bulk = lane != NULL;
    const struct study *study = s->site.study;
    const unsigned from[2] = {bulk ? study_bulk(STUDY_BULK_PREV, *lane) : STUDY_CONTROL_PREV,
                              bulk ? study_bulk(STUDY_BULK_NEXT, *lane) : STUDY_CONTROL_NEXT};
    char listen[2][STUDY_ENDPOINT_SIZE], dial[2][STUDY_ENDPOINT_SIZE];
    struct transport_zmq_options o = {
        .netio = s->site.netio,
        .servers = study->servers,
        .index = s->site.index,
        .max_message = bulk ? NET_FRAME_BODY + NET_FRAME_OVERHEAD : WORKER_CONTROL_MAX,
        /* frames that wait in each direction: 2 for each lane, and 6 for all of them */
        .depth = bulk ? 2 + 6 / (int)s->site.lanes : 64,
        .log = s->site.log,
    };
    for (unsigned p = 0; p + 1 < study->servers; p++) {
        const enum net_peer peer = (enum net_peer)p;
        const unsigned other = net_neighbour_of(study->servers, s->site.index, peer);
        study_listen(study, s->site.index, from[p], s->o.listen, s->o.listen_port, listen[p]);
        study_endpoint(study, other, from[net_back(study->servers, peer)], dial[p]);
        o.listen[p] = listen[p];
        o.dial[p] = dial[p];
        o.peer_public[p] = bulk ? NULL : study->server[other].key.curve;
    }
    if (!bulk) {
        o.curve_public = s->site.me->public.curve;
        o.curve_secret = s->site.me->curve_secret;
    }
    return transport_zmq_new(t, &o);
}

/* Admits all on the roster whose key is not revoked. An expired one gets in, to be told so. */
static enum err admit(struct server *s)
{
    struct roster_person p = {0};
    while (roster_next(s->site.study, &p))
        if (study_revoked(s->site.study, p.key))
            log_warn(s->site.log, "the key of %s is revoked: connections with it are refused",
                     p.name);
        else if (p.role != ROLE_APPROVER && (p.role != ROLE_SERVER || p.index != s->site.index))
            TRY(netio_allow(s->site.netio, "gate", p.key->curve, role_user(p.role, p.index)));
    return s->site.study->open.most > 0 || s->sealing != NULL
               ? netio_allow_guests(s->site.netio, "gate")
               : ERR_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Opens what is in memory and on disk. */
static enum err open_folder(struct site *site, const char *folder)
{
    const struct study *study = site->study;
    TRY(bounds_new(&site->bounds, study, site->log));
    TRY(price_limits(study, &site->limits, site->log)); /* a study that cannot run takes no data */
    TRY(store_open(&site->store, folder, study, site->split, site->me, site->index, site->log));
    TRY(store_check_purged(site->store));
    return audit_open(&site->audit, folder, study, site->me, site->index, site->log);
}

static enum err open_links(struct server *s)
{
    char listen[STUDY_ENDPOINT_SIZE];
    struct gate_options gate = {
        .listen = listen,
        .curve_public = s->site.me->public.curve,
        .curve_secret = s->site.me->curve_secret,
        .log = s->site.log,
    };
    TRY(netio_new(&s->site.netio, s->site.log));
    TRY(admit(s));
    TRY(make_links(s, NULL, &s->site.control));
    for (unsigned k = 0; k < s->site.lanes; k++)
        TRY(make_links(s, &k, &s->site.bulk[k]));
    study_listen(s->site.study, s->site.index, STUDY_GATE, s->o.listen, s->o.listen_port, listen);
    gate.netio = s->site.netio;
    return gate_new(&s->site.gate, &gate);
}

static enum err start(struct server *s)
{
    struct site *site = &s->site;
    TRY(open_folder(site, s->o.folder));
    TRY(open_links(s));
    if (site->index == site->split->given && site->split->passed != SPLIT_NOBODY)
        TRY(forward_start(&site->forward, site));
    TRY(front_new(&s->front, site));
    TRY(worker_start(&s->worker, site, s->o.setting));
    return s->o.status != NULL ? http_start(&s->http, s->o.status, &site->status, site->log)
                               : ERR_OK;
}

/* Ends everything that has begun; returns what the worker ended with. */
static enum err end(struct server *s)
{
    struct site *site = &s->site;
    enum err e;
    atomic_store(site->stop, true);
    bell_ring(&site->bell);
    http_stop(&s->http);
    e = worker_stop(&s->worker);
    front_free(&s->front);
    forward_stop(&site->forward);
    gate_free(&site->gate);
    transport_free(&site->control);
    for (unsigned k = 0; k < site->lanes; k++)
        transport_free(&site->bulk[k]);
    netio_free(&site->netio);
    audit_close(&site->audit);
    store_close(&site->store);
    bounds_free(&site->bounds);
    return e;
}

/* By default one lane for each processor that this process may use, as far as there are ports. */
static enum err count_lanes(struct server *s)
{
    const unsigned room = study_lanes_most(s->site.study, s->o.listen_port),
                   most = room < s->o.setting->lanes ? room : s->o.setting->lanes;
    s->site.lanes = s->o.lanes;
    if (s->site.lanes > s->o.setting->lanes)
        return log_fail(s->site.log, ERR_USAGE,
                        "--lanes %u is more than the %u that a server of this study can use",
                        s->site.lanes, s->o.setting->lanes);
    if (s->site.lanes > most)
        return log_fail(
            s->site.log, ERR_USAGE,
            "--lanes %u takes %u ports in a row at each server; those in the study have room for "
            "%u %s before the next server's on the same host, or before 65536",
            s->site.lanes, study_bulk(STUDY_BULK_NEXT, s->site.lanes - 1) + 1, most,
            most == 1 ? "lane" : "lanes");
    if (s->site.lanes == 0) {
        const size_t cores = cores_count();
        s->site.lanes = cores < most ? (unsigned)cores : most;
    }
    return ERR_OK;
}

/* The secret half of the sealing key, in a study that has such keys. */
static enum err load_sealing(struct server *s)
{
    if (!study_seals(s->site.study))
        return s->o.sealing == NULL
                   ? ERR_OK
                   : log_fail(s->site.log, ERR_USAGE,
                              "the study does not list a sealing key of every server, so none is "
                              "used: leave --sealing out");
    if (s->o.sealing == NULL)
        return log_fail(s->site.log, ERR_USAGE,
                        "the study lists sealing keys: name the file of this server's with "
                        "--sealing");
    TRY(sealing_load(&s->sealing, s->site.study, s->site.index, s->o.sealing, s->site.log));
    s->site.sealing = s->sealing->curve_secret;
    return ERR_OK;
}

static enum err check_place(struct server *s)
{
    struct site *site = &s->site;
    struct roster_person self;
    TRY(roster_find(site->study, &site->me->public, ROLE_SERVER, &self, site->log));
    site->index = (unsigned)self.index;
    site->log->study = s->o.log->study = site->study->name;
    site->log->server = s->o.log->server = site->index;
    site->ahead_s = s->o.ahead_s;
    site->ranks = s->o.ranks;
    site->status.study = site->study;
    site->status.index = site->index;
    site->status.started_ms = clock_now_ms();
    atomic_store(&site->status.front_ms, site->status.started_ms);
    TRY(count_lanes(s));
    TRY(load_sealing(s));
    if (s->o.setting->check != NULL)
        TRY(s->o.setting->check(site));
    roster_warn(site->study, site->log);
    return roster_servers_current(site->study, site->log);
}

/* Removes a folder that was made for a server that did not start. */
static void drop_folder(const char *folder)
{
    static const char *const names[] = {
        "store.sqlite-wal", "store.sqlite-shm", "store.sqlite", "audit.log", "lock", NULL};
    file_drop_folder(folder, names);
}

/* Runs the server, from its folder and links to the end of its threads. */
static enum err serve(struct server *s)
{
    const struct study *study = s->site.study;
    bool is_new = !file_is_there(s->o.folder);
    enum err e = start(s), ended;
    if (e == ERR_OK) {
        log_info(s->o.log, "server %u (%s) of study %s is ready, with roster %u and %u %s",
                 s->site.index, study->server[s->site.index].name, study->name,
                 study->roster_version, s->site.lanes, s->site.lanes == 1 ? "lane" : "lanes");
        is_new = false;
        e = front_run(s->front);
    }
    ended = end(s);
    if (is_new)
        drop_folder(s->o.folder);
    return e == ERR_OK ? ended : e;
}

enum err server_run(const struct server_options *options)
{
    struct server *s CLEAN(memory_release) = NULL;
    enum err e;
    TRY(memory_new(&s, 1));
    s->o = *options;
    s->log = *options->log;
    s->site.study = options->study;
    s->site.split = options->setting->split;
    s->site.me = options->me;
    s->site.stop = options->stop;
    s->site.log = &s->log;
    bell_new(&s->site.bell);
    /* enough to log the acts of each owner a few times */
    s->log.meter = log_meter_new(100 + 4 * options->study->owners);
    e = s->log.meter != NULL ? check_place(s) : ERR_NOMEM;
    if (e == ERR_OK)
        e = serve(s);
    bell_free(&s->site.bell);
    identity_free(&s->sealing);
    log_meter_free(&s->log);
    return e;
}

/* Copies of blocks that somebody kept are of no use without it: before anything else, once due. */
static enum err purge_sealing(const struct server_options *o, unsigned index, struct store *store)
{
    struct identity *key CLEAN(identity_free) = NULL;
    int64_t due;
    if (o->sealing == NULL)
        return !study_seals(o->study)
                   ? ERR_OK
                   : log_fail(o->log, ERR_USAGE,
                              "the study lists sealing keys: name the file of this server's with "
                              "--sealing, to be deleted");
    TRY(store_due(store, &due));
    if (date_now() < due)
        return ERR_OK;
    if (!file_is_there(o->sealing)) {
        log_warn(o->log,
                 "there is no sealing key %s; unless it was deleted before, run this again and "
                 "name its file",
                 o->sealing);
        return ERR_OK;
    }
    if (!sealing_is_overwritten(o->sealing)) /* no other file is deleted */
        TRY(sealing_load(&key, o->study, index, o->sealing, o->log));
    return sealing_destroy(o->sealing, o->log);
}

enum err server_purge(const struct server_options *o)
{
    struct store *store CLEAN(store_close) = NULL;
    struct bytes statement CLEAN(bytes_clear) = {0};
    char path[FILE_PATH];
    struct roster_person self;
    TRY(roster_find(o->study, &o->me->public, ROLE_SERVER, &self, o->log));
    TRY(file_path(path, o->log, "%s/store.sqlite", o->folder));
    if (!file_is_there(path)) /* a new store would be due, and its statement say nothing */
        return log_fail(o->log, ERR_USAGE,
                        "there is no %s: name the folder with which this server has run; nothing "
                        "was deleted",
                        path);
    TRY(store_open(&store, o->folder, o->study, o->setting->split, o->me, (unsigned)self.index,
                   o->log));
    TRY(purge_sealing(o, (unsigned)self.index, store));
    TRY(store_purge(store, o->me, &statement));
    TRY(file_path(path, o->log, "%s/purge.txt", o->folder));
    TRY(file_write(path, 0644, statement.data, statement.size, o->log));
    log_info(o->log, "purged; the signed statement for the owners is %s", path);
    return ERR_OK;
}
