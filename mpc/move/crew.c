#include "mpc/move/crew.h"

#include "base/memory.h"
#include "base/thread.h"

struct crew {
    size_t lanes;                          /* lanes that do all kinds of work */
    size_t here, all;                      /* lanes of this process; of the session */
    size_t most;                           /* the most that one process has of these */
    const struct crew_far *far;            /* or NULL */
    bool busy;                             /* known to lane 0's thread */
    struct party *lane[SESSION_LANES_MAX]; /* the first is borrowed */
};

/* --- life ------------------------------------------------------------------------------------- */

/* The audit hook of all lanes but the first. */
static enum err refuse_to_open(void *self, enum party_reason reason, size_t values)
{
    struct party *p = self;
    (void)values;
    return log_fail(p->log, ERR_MISUSE, "lane %u was to open values (%s): only lane 0 does",
                    p->lane, party_reason_name(reason));
}

void crew_never_opens(struct party *lane)
{
    lane->audit = refuse_to_open;
    lane->audit_self = lane;
}

static enum err add_lane(struct crew *c, struct net *net, const struct session *session)
{
    struct party *p;
    TRY(party_new(&p, net, session, (uint32_t)c->lanes, net_log(net)));
    crew_never_opens(p);
    c->lane[c->lanes++] = p;
    return ERR_OK;
}

enum err crew_new(struct crew **crew, struct party *first, struct net *const *nets, size_t lanes,
                  const struct session *session)
{
    struct crew *c CLEAN(crew_free) = NULL;
    *crew = NULL;
    if (lanes == 0 || lanes > SESSION_LANES_MAX)
        return ERR_RANGE;
    TRY(memory_new(&c, 1));
    c->lane[c->lanes++] = first;
    while (c->lanes < lanes)
        TRY(add_lane(c, nets[c->lanes], session));
    for (size_t k = 0; k < lanes; k++)
        scratch_share(c->lane[k]->scratch, lanes);
    c->here = c->all = lanes;
    c->most = lanes;
    first->crew = c;
    return memory_hand_over(crew, &c);
}

void crew_free(struct crew **crew)
{
    struct crew *c = *crew;
    if (c == NULL)
        return;
    c->lane[0]->crew = NULL;
    for (size_t k = 1; k < SESSION_LANES_MAX; k++)
        party_free(&c->lane[k]);
    memory_free(crew);
}

void crew_extend(struct crew *c, size_t near, size_t all, size_t most, const struct crew_far *far)
{
    c->most = most;
    c->lanes = near;
    c->all = all;
    c->far = far;
}

enum err crew_topic(struct party *p, const struct session *session,
                    const uint8_t topic[SESSION_ID_SIZE])
{
    TRY(party_topic(p, session, topic));
    for (size_t k = 1; p->crew != NULL && k < p->crew->here; k++)
        TRY(party_topic(p->crew->lane[k], session, topic));
    return crew_far(p) != NULL ? crew_far(p)->topic(crew_far(p)->self, topic) : ERR_OK;
}

/*
 * The crew that may work for a party now. Without one, or in the midst of work, the party is alone.
 */
static const struct crew *crew_of(const struct party *p)
{
    static const struct crew alone = {.lanes = 1, .here = 1, .all = 1, .most = 1};
    return p->crew != NULL && !p->crew->busy ? p->crew : &alone;
}

size_t crew_lanes(const struct party *p)
{
    return crew_of(p)->lanes;
}

size_t crew_all(const struct party *p)
{
    return crew_of(p)->all;
}

bool crew_deals(const struct party *p)
{
    return crew_all(p) > crew_lanes(p);
}

size_t crew_here(const struct party *p)
{
    return crew_of(p)->here;
}

size_t crew_most(const struct party *p)
{
    return crew_of(p)->most;
}

const struct crew_far *crew_far(const struct party *p)
{
    return p->crew != NULL ? p->crew->far : NULL;
}

const struct party *crew_lane(const struct party *p, size_t k)
{
    return k == 0 ? p : p->crew->lane[k];
}

/* --- work ------------------------------------------------------------------------------------- */

/* What one lane has to do: the tiles from `tile` on, `step` apart. */
struct errand {
    enum err (*work)(void *self, struct party *lane, size_t tile);
    void *self;
    struct party *party;
    size_t tile, step, tiles;
    uint64_t since; /* see net_part() */
    struct thread thread;
    enum err result;
};

static void *go(void *arg)
{
    struct errand *r = arg;
    for (size_t i = r->tile; i < r->tiles && r->result == ERR_OK; i += r->step) {
        const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(r->party->scratch);
        r->result = r->work(r->self, r->party, i);
    }
    if (r->result != ERR_OK)
        net_abort(r->party->net);
    return NULL;
}

static void start(struct errand *r, const struct party *first)
{
    enum err e;
    r->since = net_part(first->net, r->party->net);
    e = thread_start(&r->thread, go, r, r->party->log);
    if (e != ERR_OK) {
        r->result = e; /* else it is the thread's */
        net_abort(r->party->net);
    }
}

static void finish(struct errand *r, const struct party *first)
{
    thread_join(&r->thread);
    net_join(first->net, r->party->net, r->since);
}

enum err crew_worse(enum err e, enum err other)
{
    if (e == ERR_OK || e == ERR_PEER || other == ERR_CHEAT)
        return other != ERR_OK ? other : e;
    return e;
}

/* Neighbours that are already done with the lane that failed hear of it on lane 0. */
static enum err worst(const struct errand *errand, size_t lanes)
{
    enum err e = ERR_OK;
    for (size_t k = 0; k < lanes; k++)
        e = crew_worse(e, errand[k].result);
    if (e != ERR_OK)
        net_abort(errand[0].party->net);
    return e;
}

enum err crew_tiles(struct party *p, size_t crew, size_t tiles,
                    enum err (*work)(void *self, struct party *lane, size_t tile), void *self)
{
    struct errand errand[SESSION_LANES_MAX] = {0};
    const size_t lanes = tiles < crew ? tiles : crew;
    const bool was_busy = p->crew != NULL && p->crew->busy;
    for (size_t k = 0; k < lanes; k++)
        errand[k] = (struct errand){.work = work,
                                    .self = self,
                                    .party = k == 0 ? p : p->crew->lane[k],
                                    .tile = k,
                                    .step = lanes,
                                    .tiles = tiles};
    if (p->crew != NULL)
        p->crew->busy = true;
    for (size_t k = 1; k < lanes; k++)
        start(&errand[k], p);
    if (lanes > 0)
        go(&errand[0]);
    for (size_t k = 1; k < lanes; k++)
        finish(&errand[k], p);
    if (p->crew != NULL)
        p->crew->busy = was_busy;
    return worst(errand, lanes);
}

enum err crew_each(struct party *p, enum err (*work)(void *self, struct party *lane, size_t k),
                   void *self)
{
    return crew_tiles(p, crew_lanes(p), crew_lanes(p), work, self);
}

enum err crew_each_here(struct party *p, enum err (*work)(void *self, struct party *lane, size_t k),
                        void *self)
{
    return crew_tiles(p, crew_here(p), crew_here(p), work, self);
}
