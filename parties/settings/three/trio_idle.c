/*
 * What idle servers do: they make noise for a later run, in a session of their own
 * (parties/settings/three/ahead.h).
 *
 *   0 -> 1, 2    PROPOSE      about nobody's attempt, once server 0 has been idle for a while
 *   all -> all   names        of the blocks that each has; those that not all have are dropped
 *   all -> all   wish         whether to go on; before each block
 *   all          a block      like any noise, independent of data
 *   all -> all   wish         before each check: nobody leaves once one has begun
 *   each         store        the block, sealed: on disk
 *
 * The blocks that all have determine which one is next. A request ends this at once at the server
 * that gets it, unless that is in a check, and so at all three (parties/server/bell.h): what is not
 * on disk by then is lost.
 */
#include "base/hash.h"
#include "mpc/check/check.h"
#include "mpc/move/crew.h"
#include "parties/server/round.h"
#include "parties/settings/three/trio.h"
#include "protocols/range.h"

/* --- what is there ---------------------------------------------------------------------------- */

void trio_show(void *self)
{
    const struct trio *t = self;
    ahead_show(t->site);
}

void trio_drop(void *self)
{
    const struct trio *t = self;
    ahead_drop(t->site);
}

enum err trio_greet(void *self)
{
    struct trio *t = self;
    struct ahead_blocks own;
    TRY(store_ahead(t->site->store, &own));
    ahead_talk(&t->ahead, t->net, &own);
    return ERR_OK;
}

/* --- making it -------------------------------------------------------------------------------- */

enum idle_wish {
    GO_ON,
    LATER, /* somebody asks for something, or this server ends */
    NEVER  /* --noise-ahead off, or the budget is spent, or the guard refuses */
};

struct idle_making {
    struct trio *t;
    struct price_ahead plan;
    struct ahead_blocks blocks; /* those that all have */
    struct tape tape;
    size_t made[NOISE_LAWS]; /* blocks made in this session */
    enum idle_wish heard;    /* the least willing of the three */
};

static void clear(struct idle_making *m)
{
    tape_free(&m->tape);
}

static enum idle_wish own_wish(struct trio *t)
{
    if (t->site->ahead_s == 0 || site_is_spent(t->site) || guard_verdict(&t->guard) != ERR_OK)
        return NEVER;
    return bell_has_rung(&t->site->bell) || atomic_load(t->site->stop) ? LATER : GO_ON;
}

/* Asks whether all three go on. From here on the bell ends nothing until it is armed again. */
static enum err ask_all(struct idle_making *m)
{
    uint8_t own, came[2];
    bell_disarm(&m->t->site->bell);
    own = (uint8_t)own_wish(m->t);
    TRY(round_broadcast(m->t->net, &own, 1, &came[0], &came[1]));
    m->heard = (enum idle_wish)own;
    for (unsigned p = 0; p < 2; p++)
        if (came[p] > NEVER)
            return ERR_FORMAT;
        else if (came[p] > m->heard)
            m->heard = (enum idle_wish)came[p];
    return ERR_OK;
}

/* If the lists differ, so do the streams that mask what follows from them. */
static enum err set_topic(struct idle_making *m)
{
    uint8_t digest[32], topic[SESSION_ID_SIZE];
    ahead_digest(&m->t->ahead, digest);
    hash_labelled(topic, "trefoil-ahead-1", digest, sizeof digest, NULL, 0);
    TRY(crew_topic(m->t->party, m->t->session, topic));
    return record_alike(m->t->party, digest, sizeof digest);
}

static enum err compare(struct idle_making *m)
{
    struct trio *t = m->t;
    TRY(store_ahead(t->site->store, &m->blocks));
    ahead_talk(&t->ahead, t->net, &m->blocks);
    TRY(ask_all(m));
    m->blocks = t->ahead.common;
    TRY(store_ahead_keep(t->site->store, &m->blocks));
    return set_topic(m);
}

/* The kind that is furthest from complete; false: nothing is missing. */
static bool next_kind(const struct idle_making *m, enum noise_law *kind)
{
    const size_t *have = m->blocks.count, *plan = m->plan.blocks;
    *kind = have[NOISE_GAUSS] * plan[NOISE_GUMBEL] <= have[NOISE_GUMBEL] * plan[NOISE_GAUSS] &&
                    have[NOISE_GAUSS] < plan[NOISE_GAUSS]
                ? NOISE_GAUSS
                : NOISE_GUMBEL;
    return have[*kind] < plan[*kind];
}

static enum err keep_block(struct idle_making *m, enum noise_law kind)
{
    size_t count[NOISE_LAWS] = {0};
    struct bytes noise CLEAN(bytes_clear) = {0};
    struct tape block CLEAN(tape_free) = {0};
    uint8_t name[AHEAD_NAME];
    count[kind] = m->plan.samples[kind];
    TRY(range_cut(&m->tape, count, &block));
    TRY(range_write(&block, &noise));
    ahead_name(m->t->session->id, kind, m->made[kind]++, name);
    TRY(store_ahead_put(m->t->site->store, kind, name, &noise));
    m->blocks.count[kind]++;
    trio_show(m->t);
    return ERR_OK;
}

/* Asked before a check, whose tries are counted: once all three have said that they go on, nobody
 * leaves it. */
static enum err may_prove(void *self)
{
    struct idle_making *m = self;
    TRY(ask_all(m));
    return m->heard == GO_ON ? ERR_OK : ERR_AGAIN;
}

static enum err make_block(struct idle_making *m, enum noise_law kind)
{
    struct trio *t = m->t;
    enum err e;
    bell_arm(&t->site->bell, &t->ended);
    e = tape_reserve(t->party, &m->tape, kind, m->plan.samples[kind]);
    if (e == ERR_OK)
        e = record_prove(t->party);
    bell_disarm(&t->site->bell);
    if (m->heard != GO_ON) /* it ended before a check, which is not an error */
        return ERR_OK;
    TRY(e);
    return keep_block(m, kind);
}

static enum err make_blocks(struct idle_making *m)
{
    enum noise_law kind;
    tape_start(&m->tape, m->t->session->id, m->t->site->study->noise);
    net_enter(m->t->net, NET_NOISE);
    TRY(compare(m));
    while (m->heard == GO_ON && next_kind(m, &kind)) {
        TRY(make_block(m, kind));
        if (m->heard == GO_ON)
            TRY(ask_all(m));
    }
    return ERR_OK;
}

static void tell(struct trio *t, const struct idle_making *m, enum err e)
{
    struct log *log = t->site->log;
    const size_t made = m->made[NOISE_GAUSS] + m->made[NOISE_GUMBEL];
    enum noise_law ignored;
    const bool was_whole = t->whole;
    t->whole = !next_kind(m, &ignored);
    if (made > 0 || (t->whole && !was_whole))
        log_info(log, "noise ahead: %zu Gaussians and %zu Gumbels are here%s",
                 m->blocks.count[NOISE_GAUSS] * m->plan.samples[NOISE_GAUSS],
                 m->blocks.count[NOISE_GUMBEL] * m->plan.samples[NOISE_GUMBEL],
                 t->whole ? ", all that a run may take" : "; more when there is time");
    if (e == ERR_OK && m->heard == NEVER && !t->told) {
        log_info(log, "noise ahead: none is made, because a server was started with --noise-ahead "
                      "off, has spent its budget or no longer takes part in the study");
        t->told = true;
    }
    if (e != ERR_OK && !bell_has_rung(&t->site->bell))
        log_info(log, "noise ahead: stopped for now: %s",
                 t->log->buffer[0] != '\0' ? log_first(t->log->buffer) : error_text(e));
}

enum err trio_idle(void *self, bool *done)
{
    struct trio *t = self;
    struct idle_making m CLEAN(clear) = {.t = t, .plan = price_ahead(t->site->study)};
    /* then it only says so to the others, and nothing that ends this is a lie once more */
    const bool stopped = guard_verdict(&t->guard) != ERR_OK;
    enum err e;
    for (unsigned k = 0; k < t->here; k++)
        t->lane[k].log.file = NULL; /* as the server's own, for now */
    check_waits_for_first(t->party);
    guard_asks(&t->guard, may_prove, &m);
    e = make_blocks(&m);
    guard_asks(&t->guard, NULL, NULL);
    bell_disarm(&t->site->bell);
    if (!stopped)
        (void)trio_failed(t, e);
    if (stopped || e == ERR_OK || guard_verdict(&t->guard) != ERR_CHEAT)
        tell(t, &m, e);
    *done = m.heard != LATER;
    return e;
}
