/*
 * What idle workers do: they make noise for a later run, in a session of their own
 * (parties/server/ahead.h).
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
#include "base/clock.h"
#include "base/hash.h"
#include "mpc/crew.h"
#include "parties/server/round.h"
#include "parties/server/worker_private.h"
#include "protocols/range.h"

#include <string.h>

/* What PROPOSE says instead of an attempt, which is random. */
static const uint8_t about_noise[REQUEST_ATTEMPT_SIZE] = "noise ahead v1";

#define PAUSE_LEAST_MS 5000
#define PAUSE_MOST_MS 600000

enum wish {
    GO_ON,
    LATER, /* somebody asks for something, or this server ends */
    NEVER  /* --noise-ahead off, or the budget is spent, or the guard refuses */
};

/* --- a session for noise ---------------------------------------------------------------------- */

struct making {
    struct worker *w;
    struct price_ahead plan;
    struct ahead_blocks blocks; /* those that all have */
    struct tape tape;
    size_t made[TAPE_KINDS]; /* blocks made in this session */
    enum wish heard;         /* the least willing of the three */
};

static void clear(struct making *m)
{
    tape_free(&m->tape);
}

static enum wish own_wish(struct worker *w)
{
    if (w->site->ahead_s == 0 || worker_is_spent(w) || guard_verdict(&w->guard) != ERR_OK)
        return NEVER;
    return bell_has_rung(&w->site->bell) || atomic_load(w->site->stop) ? LATER : GO_ON;
}

/* Asks whether all three go on. From here on the bell ends nothing until it is armed again. */
static enum err ask_all(struct making *m)
{
    uint8_t own, came[2];
    bell_disarm(&m->w->site->bell);
    own = (uint8_t)own_wish(m->w);
    TRY(round_broadcast(m->w->net, &own, 1, &came[0], &came[1]));
    m->heard = (enum wish)own;
    for (unsigned p = 0; p < 2; p++)
        if (came[p] > NEVER)
            return ERR_FORMAT;
        else if (came[p] > m->heard)
            m->heard = (enum wish)came[p];
    return ERR_OK;
}

/* If the lists differ, so do the streams that mask what follows from them. */
static enum err set_topic(struct making *m)
{
    uint8_t digest[32], topic[SESSION_ID_SIZE];
    round_ahead_digest(&m->w->ahead, digest);
    hash_labelled(topic, "trefoil-ahead-1", digest, sizeof digest, NULL, 0);
    TRY(crew_topic(m->w->party, m->w->session, topic));
    return check_alike(m->w->party, digest, sizeof digest);
}

static enum err compare(struct making *m)
{
    struct worker *w = m->w;
    size_t dropped;
    TRY(store_ahead(w->site->store, &m->blocks));
    round_ahead(&w->ahead, w->net, &m->blocks);
    TRY(ask_all(m));
    m->blocks = w->ahead.common;
    TRY(store_ahead_keep(w->site->store, &m->blocks, &dropped));
    return set_topic(m);
}

/* The kind that is furthest from complete; false: nothing is missing. */
static bool next_kind(const struct making *m, enum tape_kind *kind)
{
    const size_t *have = m->blocks.count, *plan = m->plan.blocks;
    *kind = have[TAPE_GAUSS] * plan[TAPE_GUMBEL] <= have[TAPE_GUMBEL] * plan[TAPE_GAUSS] &&
                    have[TAPE_GAUSS] < plan[TAPE_GAUSS]
                ? TAPE_GAUSS
                : TAPE_GUMBEL;
    return have[*kind] < plan[*kind];
}

static enum err keep_block(struct making *m, enum tape_kind kind)
{
    size_t count[TAPE_KINDS] = {0};
    struct bytes noise CLEAN(bytes_clear) = {0};
    struct tape block CLEAN(tape_free) = {0};
    uint8_t name[AHEAD_NAME];
    count[kind] = m->plan.samples[kind];
    TRY(range_cut(&m->tape, count, &block));
    TRY(range_write(&block, &noise));
    ahead_name(m->w->session->id, kind, m->made[kind]++, name);
    TRY(store_ahead_put(m->w->site->store, kind, name, &noise));
    m->blocks.count[kind]++;
    worker_show_ahead(m->w);
    return ERR_OK;
}

/* Asked before a check, whose tries are counted: once all three have said that they go on, nobody
 * leaves it. */
static enum err may_prove(void *self)
{
    struct making *m = self;
    TRY(ask_all(m));
    return m->heard == GO_ON ? ERR_OK : ERR_AGAIN;
}

static enum err make_block(struct making *m, enum tape_kind kind)
{
    struct worker *w = m->w;
    enum err e;
    bell_arm(&w->site->bell, &w->ended);
    e = tape_reserve(w->party, &m->tape, kind, m->plan.samples[kind]);
    if (e == ERR_OK)
        e = check_flush(w->party);
    bell_disarm(&w->site->bell);
    if (m->heard != GO_ON) /* it ended before a check, which is not an error */
        return ERR_OK;
    TRY(e);
    return keep_block(m, kind);
}

static enum err make_blocks(struct making *m)
{
    enum tape_kind kind;
    tape_start(&m->tape, m->w->session->id, m->w->site->study->noise);
    net_enter(m->w->net, NET_NOISE);
    TRY(compare(m));
    while (m->heard == GO_ON && next_kind(m, &kind)) {
        TRY(make_block(m, kind));
        if (m->heard == GO_ON)
            TRY(ask_all(m));
    }
    return ERR_OK;
}

/* Its log goes only to `words`: it is not an error that it ends whenever somebody asks for
 * something. */
static void hush(struct worker *w)
{
    w->log.file = NULL;
    for (unsigned k = 0; k < w->here; k++)
        w->lane[k].log.file = NULL;
}

static void tell(struct worker *w, const struct making *m, enum err e)
{
    struct log *log = w->site->log;
    const size_t made = m->made[TAPE_GAUSS] + m->made[TAPE_GUMBEL];
    enum tape_kind ignored;
    const bool was_whole = w->idle.whole;
    w->idle.whole = !next_kind(m, &ignored);
    if (made > 0 || (w->idle.whole && !was_whole))
        log_info(log, "noise ahead: %zu Gaussians and %zu Gumbels are here%s",
                 m->blocks.count[TAPE_GAUSS] * m->plan.samples[TAPE_GAUSS],
                 m->blocks.count[TAPE_GUMBEL] * m->plan.samples[TAPE_GUMBEL],
                 w->idle.whole ? ", all that a run may take" : "; more when there is time");
    if (e == ERR_OK && m->heard == NEVER && !w->idle.told) {
        log_info(log, "noise ahead: none is made, because a server was started with --noise-ahead "
                      "off, has spent its budget or no longer takes part in the study");
        w->idle.told = true;
    }
    if (e != ERR_OK && !bell_has_rung(&w->site->bell))
        log_info(log, "noise ahead: stopped for now: %s",
                 w->words[0] != '\0' ? log_first(w->words) : error_text(e));
}

/* Makes noise in an open session; true: there is no reason for another until something changes. */
static bool make_ahead(struct worker *w)
{
    struct making m CLEAN(clear) = {.w = w, .plan = price_ahead(w->site->study)};
    /* then it only says so to the others, and nothing that ends this is a lie once more */
    const bool stopped = guard_verdict(&w->guard) != ERR_OK;
    enum err e;
    hush(w);
    memset(w->run, 0, sizeof w->run);
    atomic_store(&w->site->status.session, false);
    w->play.openings.common = (struct audit_opening){
        .spent = atomic_load(&w->site->status.rho_spent)};
    w->play.openings.confirmed = false;
    guard_asks(&w->guard, may_prove, &m);
    e = make_blocks(&m);
    guard_asks(&w->guard, NULL, NULL);
    bell_disarm(&w->site->bell);
    if (!stopped)
        worker_catch(w, 0, e);
    if (!stopped && e != ERR_OK && guard_verdict(&w->guard) == ERR_CHEAT)
        log_error(w->site->log, "noise ahead: %s", log_first(w->words));
    else
        tell(w, &m, e);
    worker_show_guard(w);
    worker_close_session(w);
    w->log.file = w->site->log->file;
    return e == ERR_OK && m.heard != LATER;
}

void worker_make_ahead(struct worker *w)
{
    (void)make_ahead(w);
}

/* --- when ------------------------------------------------------------------------------------- */

void worker_idle_from_now(struct worker *w)
{
    w->idle.due = clock_now_ms() + (int64_t)w->site->ahead_s * 1000;
    w->idle.pause = 0;
}

bool worker_is_about_noise(const uint8_t about[REQUEST_ATTEMPT_SIZE])
{
    return memcmp(about, about_noise, sizeof about_noise) == 0;
}

/* If a session made all, or found that none is to be made, the next waits for something new. */
static void wait_for_next(struct worker *w, bool never)
{
    int64_t pause = w->idle.pause > 0 ? 2 * w->idle.pause : (int64_t)w->site->ahead_s * 1000;
    pause = pause < PAUSE_LEAST_MS ? PAUSE_LEAST_MS : pause;
    w->idle.pause = pause < PAUSE_MOST_MS ? pause : PAUSE_MOST_MS;
    w->idle.due = never ? INT64_MAX : clock_now_ms() + w->idle.pause;
}

void worker_tend_ahead(struct worker *w)
{
    const unsigned standing = transport_standing(w->site->control);
    uint8_t about[REQUEST_ATTEMPT_SIZE];
    bool never = false;
    if (standing != w->idle.standing)
        worker_idle_from_now(w);
    w->idle.standing = standing;
    if (w->site->ahead_s == 0 || w->session != NULL || standing != 3 || worker_is_spent(w) ||
        clock_now_ms() < w->idle.due || bell_has_rung(&w->site->bell))
        return;
    memcpy(about, about_noise, sizeof about);
    w->words[0] = '\0';
    if (worker_open_session(w, NULL, about) == ERR_OK)
        never = make_ahead(w);
    wait_for_next(w, never);
}
