#include "parties/server/play.h"

#include "base/date.h"
#include "base/hash.h"
#include "base/memory.h"
#include "parties/server/collect.h"
#include "parties/server/round.h"

#include <string.h>

/* A round in hand. */
struct play_round {
    struct play *p;
    const struct request *request;
    struct engine_step step;
    struct store_round round;
    enum store_standing standing; /* as found here; NONE: the round is new */
    enum round_obstacle obstacle;
    uint64_t selected;
    struct bytes values;           /* those that it opened, if it has */
    void *stake;                   /* the round's noise; NULL: it is not here */
    struct ledger *ledger, *after; /* before the debit; after it, if the round is new */
    struct store_head head;
    uint8_t next[32];        /* the head after the debit, once the round is staged */
    struct audit_head audit; /* as this server stated it to the others */
    struct round_talk talk;
};

static enum net_phase phase_of(const struct request *request)
{
    return request->ask.kind == ASK_SELECT ? NET_SELECT : NET_MEASURE;
}

/* --- prepare ---------------------------------------------------------------------------------- */

/*
 * The noise of a round that is bound. It may be gone: the run went on, or this server was restored
 * from a backup. What was altered in the store is as good as gone.
 */
static enum err load_noise(struct play_round *r)
{
    const struct engine *g = &r->p->engine;
    struct bytes noise CLEAN(bytes_clear) = {0};
    enum err e = store_noise(r->p->store, &r->round, &noise);
    if (e == ERR_OK)
        e = g->ops->take_stake(g->self, &r->round.stake, &noise, &r->stake);
    if (e == ERR_AUTH || e == ERR_FORMAT)
        log_error(r->p->log,
                  "the noise of round %u does not unseal in this server's store, which was altered",
                  r->round.sequence);
    return e == ERR_LOST || e == ERR_AUTH || e == ERR_FORMAT ? ERR_OK : e;
}

static enum round_obstacle obstacle(const struct play_round *r, const struct store_found *found)
{
    if (r->stake == NULL || found->standing == STANDING_LOST)
        return ROUND_NO_NOISE;
    if (found->attempts >= ROUND_ATTEMPTS)
        return ROUND_TRIED;
    return memcmp(found->round.uploads, r->p->uploads, sizeof r->p->uploads) == 0
               ? ROUND_READY
               : ROUND_OTHER_UPLOADS;
}

/* For a round that is already bound: only the very same request is answered. */
static enum err take_up(struct play_round *r, const struct store_found *found)
{
    struct log *log = r->p->log;
    if (memcmp(found->round.request, r->round.request, sizeof r->round.request) != 0)
        return log_fail(log, ERR_REFUSED,
                        "round %u of this run is bound to another request for ever",
                        r->round.sequence);
    r->standing = found->standing;
    r->selected = found->selected;
    r->round = found->round;
    if (r->request->ask.kind == ASK_SELECT && r->standing >= STANDING_INDEX &&
        r->selected >= r->request->ask.queries)
        return log_fail(
            log, ERR_MISMATCH,
            "what round %u selected is not among its candidates; this server's store was altered",
            r->round.sequence);
    if (r->standing == STANDING_OPENED)
        TRY(store_values(r->p->store, &r->round, &r->values));
    TRY(load_noise(r));
    r->obstacle = obstacle(r, found);
    return ERR_OK;
}

/* A new round: it has to be the run's next, and within budget and warrant. */
static enum err price(struct play_round *r)
{
    uint32_t next;
    TRY(store_run(r->p->store, r->round.run, &next, NULL));
    if (r->round.sequence != next)
        return log_fail(r->p->log, ERR_REFUSED, "this run has %u rounds; round %u cannot come next",
                        next, r->round.sequence);
    TRY(ledger_copy(&r->after, r->ledger));
    TRY(ask_debit(&r->step.price, 1, r->after, r->p->log));
    return r->p->study->approvers.at_least == 0
               ? ERR_OK
               : warrant_allows(&r->p->warrant, ledger_spent(r->after), r->p->limits->rho,
                                date_today(), r->p->log);
}

static enum err prepare(struct play_round *r, const uint8_t digest[REQUEST_DIGEST_SIZE])
{
    struct play *p = r->p;
    struct store_found found;
    memcpy(r->round.run, r->request->run, sizeof r->round.run);
    r->round.sequence = r->request->sequence;
    memcpy(r->round.request, digest, sizeof r->round.request);
    memcpy(r->round.uploads, p->uploads, sizeof r->round.uploads);
    memcpy(r->round.analyst, p->analyst, sizeof r->round.analyst);
    TRY(store_ledger(p->store, p->limits, &r->ledger, &r->head));
    p->openings.common = (struct audit_opening){.round = r->round.sequence,
                                                .spent = ledger_spent(r->ledger)};
    memcpy(p->openings.common.run, r->round.run, sizeof p->openings.common.run);
    memcpy(p->openings.common.request, digest, sizeof p->openings.common.request);
    TRY(p->engine.ops->prepare(p->engine.self, &r->request->ask, &r->step));
    TRY(store_find_round(p->store, r->round.run, r->round.sequence, &found));
    if (found.standing > STANDING_STAGED)
        return take_up(r, &found);
    TRY(price(r));
    r->round.stake = r->step.place;
    return ERR_OK;
}

/* --- agree ------------------------------------------------------------------------------------ */

static enum err state_digests(struct play_round *r, struct round_statement *own)
{
    const struct engine *g = &r->p->engine;
    round_digest_stake(&r->round.stake, own->range);
    TRY(g->ops->digests(g->self, &r->step, r->stake, own->step, own->replica));
    return collect_late(r->p, &own->late);
}

/*
 * Whether a new round is on disk here, so that its debit is known. The head after that debit is
 * stated then, in place of the head before: whoever agrees has the same to sign.
 */
static bool is_staged(const struct play_round *r)
{
    return r->standing == STANDING_NONE && r->stake != NULL;
}

/* Completes the statement if `verdict` is ERR_OK, lets it ride, and returns its verdict. */
static enum err agree(struct play_round *r, enum err verdict, enum round_intent intent)
{
    struct round_statement own = {.intent = (uint8_t)intent,
                                  .standing = (uint8_t)r->standing,
                                  .obstacle = (uint8_t)r->obstacle,
                                  .selected = r->selected};
    uint8_t topic[ENGINE_TOPIC];
    if (r->standing == STANDING_OPENED)
        hash_bytes(r->values.data, r->values.size, own.values);
    memcpy(own.request, r->round.request, sizeof own.request);
    memcpy(own.uploads, r->round.uploads, sizeof own.uploads);
    memcpy(own.roster, r->p->study->roster, sizeof own.roster);
    memcpy(own.analyst, r->round.analyst, sizeof own.analyst);
    memcpy(own.ledger, is_staged(r) ? r->next : r->head.head, sizeof own.ledger);
    if (verdict == ERR_OK)
        verdict = audit_head(r->p->openings.audit, &r->audit);
    own.audit = r->audit;
    if (verdict == ERR_OK)
        verdict = state_digests(r, &own);
    if (verdict == ERR_OK && intent == ROUND_BIND) {
        /* until they agree, masks come from streams shared only by servers that compute alike */
        round_topic(r->p->net, &own, topic);
        verdict = r->p->engine.ops->topic(r->p->engine.self, topic, NULL);
    }
    if (verdict == ERR_OK && is_staged(r))
        verdict = voucher_sign(r->p->study, r->p->me, r->next, own.voucher);
    own.verdict = (uint8_t)verdict;
    round_agree(&r->talk, &own);
    return verdict;
}

static enum err make_noise(struct play_round *r)
{
    (void)agree(r, ERR_OK, ROUND_NOISE);
    TRY(net_settle(r->p->net));
    net_enter(r->p->net, NET_NOISE);
    TRY(r->p->engine.ops->reserve(r->p->engine.self, &r->step));
    net_enter(r->p->net, phase_of(r->request));
    return ERR_OK;
}

/* Nothing that still has to be proved is kept or answered. */
static enum err is_proved(const struct play_round *r)
{
    return r->p->engine.ops->proved(r->p->engine.self) ? ERR_OK : ERR_MISUSE;
}

/* Sets the round's noise aside, and puts it on disk before anybody can bind it. */
static enum err stage(struct play_round *r)
{
    const struct engine *g = &r->p->engine;
    struct bytes noise CLEAN(bytes_clear) = {0};
    TRY(is_proved(r));
    TRY(g->ops->stake(g->self, &r->step, &r->stake, &noise));
    memcpy(r->next, r->head.head, sizeof r->next);
    return store_stage(r->p->store, &r->round, r->after, &r->p->upload_ids, &noise, r->next);
}

/* --- agreed, confirmed ------------------------------------------------------------------------ */

static void expect(const struct play *p, bool heard)
{
    if (p->expect != NULL)
        p->expect(p->expect_self, heard);
}

/* All three have signed that a new round is staged, or one states a debit that it did not sign. */
static enum err is_signed(const struct play_round *r)
{
    unsigned without;
    if (vouchers_good(r->p->study, r->next, &r->talk.agreement.vouchers, &without))
        return ERR_OK;
    return log_fail(r->p->log, ERR_CHEAT,
                    "server %u did not sign the debit that it agrees to; nothing was debited",
                    without);
}

/* Debits and binds a new round. */
static enum err bind(struct play_round *r)
{
    r->p->openings.common.spent = ledger_spent(r->after);
    return store_bind(r->p->store, &r->round, &r->talk.agreement.vouchers, &r->head);
}

/* All three say the same: the round is bound here, and that is confirmed. */
static enum err hear_agreed(void *self)
{
    struct play_round *r = self;
    struct openings *o = &r->p->openings;
    uint8_t signature[2][64] = {{0}};
    enum err e = ERR_OK;
    expect(r->p, true);
    collect_hear_late(r->p, r->talk.agreement.late);
    if (r->talk.agreement.course >= ROUND_GIVE)
        return ERR_OK;
    TRY(openings_may(o, r->talk.agreement.obstacle));
    if (r->standing == STANDING_NONE) {
        TRY(is_signed(r));
        e = bind(r);
    }
    if (e == ERR_OK)
        e = openings_sign(o, r->p->net, &r->audit, r->talk.agreement.audit, signature);
    round_confirm(&r->talk, e, signature);
    return ERR_OK;
}

/* The round is paid for at all three, and each has signed what the others have logged so far. */
static enum err hear_confirmed(void *self)
{
    struct play_round *r = self;
    struct openings *o = &r->p->openings;
    TRY(openings_keep(o, r->p->net, &r->audit, r->talk.signature));
    /* under a check what is opened is right, however often: the guard counts checks instead */
    if (!r->p->engine.ops->proves(r->p->engine.self))
        TRY(store_attempt(r->p->store, &r->round));
    /* a round that is asked for again costs nothing */
    openings_price(o, r->standing == STANDING_NONE ? ledger_rows_per_person(r->ledger) : 0,
                   &r->step);
    o->confirmed = true;
    return ERR_OK;
}

/* --- open ------------------------------------------------------------------------------------- */

static enum err write_result(const struct play_round *r, struct bytes *result)
{
    if (r->request->ask.kind == ASK_SELECT)
        bytes_put_u64(result, r->selected);
    bytes_put(result, r->values.data, r->values.size);
    return bytes_ok(result);
}

static enum err select_one(struct play_round *r)
{
    const struct engine *g = &r->p->engine;
    size_t selected = 0;
    TRY(g->ops->select(g->self, &r->step, r->stake, r->talk.seed, &selected));
    r->selected = selected;
    TRY(is_proved(r));
    return store_put_index(r->p->store, &r->round, r->selected);
}

/* Takes the index that the two others state: round_agree() has found them equal. */
static enum err take_index(struct play_round *r)
{
    const uint64_t selected = r->talk.agreement.selected;
    if (selected >= r->request->ask.queries)
        return log_fail(r->p->log, ERR_MISMATCH,
                        "what the others say that round %u selected is not among its candidates; "
                        "their stores were altered",
                        r->round.sequence);
    r->selected = selected;
    return store_put_index(r->p->store, &r->round, r->selected);
}

static enum err measure(struct play_round *r, struct bytes *result)
{
    const struct engine *g = &r->p->engine;
    int64_t *cells CLEAN(memory_release) = NULL;
    size_t measured = 0;
    TRY(memory_new(&cells, r->step.price.cells));
    net_enter(r->p->net, NET_MEASURE);
    TRY(openings_name(&r->p->openings, r->p->study, &r->step, (size_t)r->selected));
    TRY(g->ops->measure(g->self, &r->step, r->stake, (size_t)r->selected, cells, &measured));
    bytes_clear(&r->values);
    bytes_put_u64(&r->values, g->ops->counted(g->self).owners);
    for (size_t i = 0; i < measured; i++)
        bytes_put_u64(&r->values, (uint64_t)cells[i]);
    TRY(is_proved(r));
    TRY(bytes_ok(&r->values));
    TRY(store_put_values(r->p->store, &r->round, &r->values));
    return write_result(r, result);
}

/* Two have the values on disk; the third gets them, and nothing is opened. */
static enum err give_values(struct play_round *r)
{
    bool lacks = r->standing != STANDING_OPENED;
    if (lacks && r->request->ask.kind == ASK_SELECT)
        TRY(take_index(r));
    if (lacks) {
        size_t cells = r->p->engine.ops->cells(&r->step, (size_t)r->selected);
        bytes_extend(&r->values, sizeof(uint64_t) * (1 + cells));
        TRY(bytes_ok(&r->values));
    }
    TRY(round_values(r->p->net, &r->talk.agreement, &r->values, r->p->log));
    return lacks ? store_put_values(r->p->store, &r->round, &r->values) : ERR_OK;
}

static enum err open_values(struct play_round *r, struct bytes *result)
{
    const struct engine *g = &r->p->engine;
    if (r->request->ask.kind == ASK_SELECT)
        TRY(r->talk.agreement.course == ROUND_SELECT ? select_one(r) : take_index(r));
    TRY(measure(r, result));
    /*
     * All three have the same stake and have measured the same cells with it. A server that plays
     * this round again has the index or finds the same one, so it takes no more of the stake.
     */
    return r->standing == STANDING_NONE ? g->ops->return_stake(g->self, r->stake) : ERR_OK;
}

/* --- the round -------------------------------------------------------------------------------- */

/*
 * A new selection computes before it is bound: agree and confirm ride on its first two exchanges.
 * One candidate alone needs none. A measurement opens in its first.
 */
static bool rides(const struct play_round *r, enum err verdict)
{
    return verdict == ERR_OK && r->standing == STANDING_NONE &&
           r->request->ask.kind == ASK_SELECT && r->request->ask.queries > 1;
}

static enum err play_steps(struct play_round *r, enum err verdict, struct bytes *result)
{
    bool made = false;
    if (verdict == ERR_OK && r->standing == STANDING_NONE) {
        /* noise that was made ahead is used first */
        verdict = r->p->engine.ops->supply(r->p->engine.self, &r->step, &made);
        if (verdict == ERR_OK && !made)
            TRY(make_noise(r));
        if (verdict == ERR_OK)
            verdict = stage(r);
    }
    r->talk.agreed = hear_agreed;
    r->talk.confirmed = hear_confirmed;
    expect(r->p, false);
    verdict = agree(r, verdict, ROUND_BIND);
    if (!rides(r, verdict))
        TRY(net_settle(r->p->net));
    if (r->talk.agreement.course < ROUND_GIVE)
        return open_values(r, result);
    if (r->talk.agreement.course == ROUND_GIVE)
        TRY(give_values(r));
    return write_result(r, result);
}

enum err play_round(struct play *p, const struct request *request,
                    const uint8_t digest[REQUEST_DIGEST_SIZE], struct bytes *result)
{
    struct play_round r = {.p = p, .request = request, .talk = {.net = p->net, .log = p->log}};
    enum err e;
    r.talk.self = &r;
    p->openings.confirmed = false;
    e = prepare(&r, digest);
    net_enter(p->net, phase_of(request));
    e = play_steps(&r, e, result);
    expect(p, true);
    net_enter(p->net, NET_OTHER);
    p->openings.confirmed = false;
    ledger_free(&r.ledger);
    ledger_free(&r.after);
    p->engine.ops->free_stake(&r.stake);
    bytes_clear(&r.values);
    p->engine.ops->clear(&r.step);
    return e;
}
