#include "parties/server/play.h"

#include "base/memory.h"
#include "base/secret.h"
#include "parties/server/round.h"

#include <stdio.h>
#include <string.h>

/* A round in hand. */
struct hand {
    struct play *p;
    struct request *request;
    struct engine_step step;
    struct store_round round;
    enum standing standing; /* here, as it was found */
    enum round_obstacle obstacle;
    uint64_t selected;
    struct bytes values; /* that it opened, if it has */
    struct tape range;   /* the round's noise, if `noise` */
    bool noise;
    struct ledger *ledger, *after; /* before the debit; after it, if the round is new */
    struct store_head head;
    struct audit_head audit; /* as it was told the others */
};

static enum net_phase phase_of(const struct hand *h)
{
    return h->request->kind == REQUEST_SELECT ? NET_SELECT : NET_MEASURE;
}

/* --- the audit log ------------------------------------------------------------------------------- */

enum err play_audit(void *self, enum open_reason reason, size_t values)
{
    const struct play *p = self;
    struct audit_opening o = p->opening;
    snprintf(o.reason, sizeof o.reason, "%s", open_reason_name(reason));
    o.values = values;
    o.what = "-";
    if (reason == OPEN_SELECTED_INDEX)
        o.cost = p->select_cost;
    if (reason == OPEN_NOISY_MARGINAL) {
        o.cost = p->measure_cost;
        o.what = (const char *)p->what.data;
    }
    return audit_write(p->audit, &o);
}

/* What nobody has to guess at: letters, digits and a few signs as they are, other bytes as %XX. */
static void put_name(struct bytes *out, const char *name)
{
    static const char digits[] = "0123456789ABCDEF";
    for (; *name != '\0'; name++) {
        uint8_t c = (uint8_t)*name;
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     c == '_' || c == '-' || c == '.' || c >= 0x80;
        bytes_put_u8(out, plain ? c : '%');
        if (!plain) {
            bytes_put_u8(out, (uint8_t)digits[c >> 4]);
            bytes_put_u8(out, (uint8_t)digits[c & 15]);
        }
    }
}

/* Names the marginals that are about to be measured. */
static enum err name_marginals(struct play *p, const uint32_t *query, size_t count)
{
    bytes_clear(&p->what);
    for (size_t k = 0; k < count; k++) {
        const struct clique *c = &p->study->workload->query[query[k]].clique;
        if (k > 0)
            bytes_put_u8(&p->what, ',');
        for (unsigned a = 0; a < c->n; a++) {
            if (a > 0)
                bytes_put_u8(&p->what, '*');
            put_name(&p->what, p->study->domain->attribute[c->attribute[a]].name);
        }
    }
    bytes_put_u8(&p->what, 0);
    return bytes_ok(&p->what);
}

/* Tells the log whose openings follow. What a round is asked for again costs nothing. */
static void begin_openings(struct hand *h, bool is_new)
{
    struct play *p = h->p;
    double k = ledger_rows_per_person(h->ledger);
    mpq_t measured;
    mpq_init(measured);
    ledger_measure_cost(measured, h->request->multiplier,
                        h->request->kind == REQUEST_SELECT ? 1 : h->request->queries);
    p->measure_cost = is_new ? k * k * mpq_get_d(measured) : 0;
    mpq_sub(measured, h->step.cost, measured);
    p->select_cost = is_new ? k * k * mpq_get_d(measured) : 0;
    mpq_clear(measured);
}

/* Notes the neighbours' heads, and signs them. */
static enum err sign_logs(struct play *p, const struct audit_head theirs[2],
                          uint8_t signature[2][64])
{
    for (unsigned peer = 0; peer < 2; peer++)
        TRY(audit_see(p->audit, net_index_of(net_index(p->net), (enum net_peer)peer), &theirs[peer],
                      signature[peer]));
    return ERR_OK;
}

static enum err keep_signatures(struct play *p, const struct audit_head *ours,
                                uint8_t signature[2][64])
{
    for (unsigned peer = 0; peer < 2; peer++)
        TRY(audit_keep(p->audit, net_index_of(net_index(p->net), (enum net_peer)peer), ours,
                       signature[peer]));
    return ERR_OK;
}

enum err play_sign_logs(struct play *p)
{
    struct audit_head ours, theirs[2];
    uint8_t signature[2][64] = {{0}};
    audit_head(p->audit, &ours);
    TRY(round_heads(p->net, &ours, theirs));
    TRY(sign_logs(p, theirs, signature));
    TRY(round_signatures(p->net, signature));
    return keep_signatures(p, &ours, signature);
}

/* --- prepare ------------------------------------------------------------------------------------- */

/*
 * The noise of a round that is bound. It may be gone: the run went on, or this server was restored
 * from a backup.
 */
static enum err load_noise(struct hand *h)
{
    struct bytes noise = {0};
    enum err e = store_noise(h->p->store, &h->round, &noise);
    if (e == ERR_OK)
        e = range_read(&h->range, &h->round.range, h->p->engine->tape.noise, &noise);
    bytes_clear(&noise);
    h->noise = e == ERR_OK;
    if (e == ERR_AUTH)
        log_error(h->p->log,
                  "the noise of round %u does not unseal in this server's store, which was altered",
                  h->round.sequence);
    return e == ERR_LOST ? ERR_OK : e;
}

static enum round_obstacle obstacle(const struct hand *h, const struct store_found *found)
{
    if (!h->noise || found->standing == STANDING_LOST)
        return ROUND_NO_NOISE;
    if (found->attempts >= ROUND_ATTEMPTS)
        return ROUND_TRIED;
    return memcmp(found->round.uploads, h->p->uploads, sizeof h->p->uploads) == 0
               ? ROUND_READY
               : ROUND_OTHER_UPLOADS;
}

/* The request is for a round that is bound: only the very same one is answered. */
static enum err take_up(struct hand *h, const struct store_found *found)
{
    struct log *log = h->p->log;
    if (memcmp(found->round.request, h->round.request, sizeof h->round.request) != 0) {
        log_error(log, "round %u of this run is bound to another request, for ever",
                  h->round.sequence);
        return ERR_REFUSED;
    }
    h->standing = found->standing;
    h->selected = found->selected;
    h->round = found->round;
    if (h->standing >= STANDING_INDEX && h->selected >= h->request->queries) {
        log_error(log,
                  "what round %u selected is not among its candidates; this server's store was "
                  "altered",
                  h->round.sequence);
        return ERR_MISMATCH;
    }
    if (h->standing == STANDING_OPENED)
        TRY(store_values(h->p->store, &h->round, &h->values));
    TRY(load_noise(h));
    h->obstacle = obstacle(h, found);
    return ERR_OK;
}

/* A new round: it has to be the run's next, and within the budget. */
static enum err price(struct hand *h)
{
    uint32_t next;
    TRY(store_run(h->p->store, h->round.run, &next, NULL));
    if (h->round.sequence != next) {
        log_error(h->p->log, "this run has %u rounds; round %u cannot come next", next,
                  h->round.sequence);
        return ERR_REFUSED;
    }
    TRY(ledger_copy(&h->after, h->ledger));
    TRY(ledger_debit(h->after, h->step.cost, h->p->log));
    return ledger_slack(h->after, h->step.epsilon_slack, h->step.delta_slack, h->p->log);
}

static enum err prepare(struct hand *h, const uint8_t digest[REQUEST_DIGEST_SIZE])
{
    struct play *p = h->p;
    struct store_found found;
    memcpy(h->round.run, h->request->run, sizeof h->round.run);
    h->round.sequence = h->request->sequence;
    memcpy(h->round.request, digest, sizeof h->round.request);
    memcpy(h->round.uploads, p->uploads, sizeof h->round.uploads);
    memcpy(h->round.analyst, p->analyst, sizeof h->round.analyst);
    TRY(store_ledger(p->store, p->limits, &h->ledger, &h->head));
    p->opening = (struct audit_opening){.round = h->round.sequence,
                                        .spent = ledger_spent(h->ledger)};
    memcpy(p->opening.run, h->round.run, sizeof p->opening.run);
    memcpy(p->opening.request, digest, sizeof p->opening.request);
    TRY(engine_prepare(p->engine, h->request, &h->step));
    TRY(store_find_round(p->store, h->round.run, h->round.sequence, &found));
    if (found.standing > STANDING_STAGED)
        return take_up(h, &found);
    TRY(price(h));
    engine_range(p->engine, &h->step, &h->round.range);
    return ERR_OK;
}

/* --- agree --------------------------------------------------------------------------------------- */

static enum err digest_range(const struct hand *h, uint8_t digest[32])
{
    struct bytes b = {0};
    enum err e;
    bytes_put(&b, h->round.range.tape, sizeof h->round.range.tape);
    for (unsigned k = 0; k < TAPE_KINDS; k++) {
        bytes_put_u64(&b, h->round.range.from[k]);
        bytes_put_u64(&b, h->round.range.count[k]);
    }
    e = bytes_ok(&b);
    if (e == ERR_OK)
        request_digest(b.data, b.size, digest);
    bytes_clear(&b);
    return e;
}

/* Keyed digests of the two components of noise that are here. */
static enum err digest_noise(const struct hand *h, uint8_t replica[2][32])
{
    unsigned i = net_index(h->p->net);
    for (unsigned peer = 0; peer < 2; peer++) {
        uint8_t key[RANGE_KEY_SIZE];
        enum err e = session_prg_key(h->p->session, (i + peer) % 3, 0, "noise of a round", key);
        if (e == ERR_OK)
            range_digest(&h->range, peer, key, replica[peer]);
        secret_wipe(key, sizeof key);
        TRY(e);
    }
    return ERR_OK;
}

/* Whether rows are here that may join the run, and are not counted yet. */
static enum err look_for_late(struct play *p, uint8_t *late)
{
    const struct study *study = p->study;
    bool *has;
    enum err e;
    *late = 0;
    if (!study->late_join)
        return ERR_OK;
    if (p->patience > 0) {
        p->patience--;
        return ERR_OK;
    }
    has = memory_array(study->owners, sizeof *has);
    e = has == NULL ? ERR_NOMEM : store_owners(p->store, has);
    if (e == ERR_OK) {
        p->here = study_taking_part(study, has);
        *late = p->here > p->engine->tally.owners;
    }
    memory_free(&has);
    return e;
}

static enum err agree(struct hand *h, enum err verdict, enum round_intent intent,
                      struct round_agreement *agreement)
{
    struct round_statement own = {.intent = (uint8_t)intent,
                                  .standing = (uint8_t)h->standing,
                                  .obstacle = (uint8_t)h->obstacle};
    integer_put(own.selected, h->selected, 8);
    if (h->standing == STANDING_OPENED)
        request_digest(h->values.data, h->values.size, own.values);
    memcpy(own.request, h->round.request, sizeof own.request);
    memcpy(own.uploads, h->round.uploads, sizeof own.uploads);
    memcpy(own.roster, h->p->study->roster, sizeof own.roster);
    memcpy(own.analyst, h->round.analyst, sizeof own.analyst);
    memcpy(own.ledger, h->head.head, sizeof own.ledger);
    audit_head(h->p->audit, &h->audit);
    round_put_head(&h->audit, own.audit);
    if (verdict == ERR_OK)
        verdict = engine_step_digest(&h->step, own.step);
    if (verdict == ERR_OK)
        verdict = digest_range(h, own.range);
    if (verdict == ERR_OK && h->noise)
        verdict = digest_noise(h, own.replica);
    if (verdict == ERR_OK)
        verdict = look_for_late(h->p, &own.late);
    own.verdict = (uint8_t)verdict;
    return round_agree(h->p->net, &own, agreement, h->p->log);
}

static enum err make_noise(struct hand *h)
{
    struct round_agreement ignored;
    TRY(agree(h, ERR_OK, ROUND_NOISE, &ignored));
    net_enter(h->p->net, NET_NOISE);
    TRY(engine_reserve(h->p->engine, &h->step));
    net_enter(h->p->net, phase_of(h));
    return ERR_OK;
}

/* Takes the round's noise off the tape, and puts it on disk before anybody can bind it. */
static enum err stage(struct hand *h)
{
    struct bytes noise = {0};
    enum err e = engine_cut(h->p->engine, &h->step, &h->range);
    h->noise = e == ERR_OK;
    if (e == ERR_OK)
        e = range_write(&h->range, &noise);
    if (e == ERR_OK)
        e = store_stage(h->p->store, &h->round, h->after, &h->p->upload_ids, &noise);
    bytes_clear(&noise);
    return e;
}

/* --- open ---------------------------------------------------------------------------------------- */

static enum err bind(struct hand *h)
{
    TRY(store_bind(h->p->store, &h->round, &h->head));
    h->p->opening.spent = ledger_spent(h->after);
    return ERR_OK;
}

static enum err write_result(const struct hand *h, struct bytes *result)
{
    if (h->request->kind == REQUEST_SELECT)
        bytes_put_u64(result, h->selected);
    bytes_put(result, h->values.data, h->values.size);
    return bytes_ok(result);
}

static enum err select_one(struct hand *h, const uint8_t *seed)
{
    size_t selected = 0;
    TRY(engine_select(h->p->engine, &h->step, &h->range, seed, &selected));
    h->selected = selected;
    return store_put_index(h->p->store, &h->round, h->selected);
}

/* The index that the two others state; who has one has the same (round_agree()). */
static enum err take_index(struct hand *h, uint64_t selected)
{
    if (selected >= h->request->queries) {
        log_error(h->p->log,
                  "what the others say that round %u selected is not among its candidates; their "
                  "stores were altered",
                  h->round.sequence);
        return ERR_MISMATCH;
    }
    h->selected = selected;
    return store_put_index(h->p->store, &h->round, h->selected);
}

static enum err measure(struct hand *h, struct bytes *result)
{
    int64_t *cells = memory_array(h->step.cells, sizeof *cells);
    size_t measured = 0;
    enum err e = cells == NULL ? ERR_NOMEM : ERR_OK;
    net_enter(h->p->net, NET_MEASURE);
    if (e == ERR_OK)
        e = name_marginals(h->p,
                           h->request->kind == REQUEST_SELECT ? &h->request->query[h->selected]
                                                              : h->request->query,
                           h->request->kind == REQUEST_SELECT ? 1 : h->request->queries);
    if (e == ERR_OK)
        e = engine_measure(h->p->engine, &h->step, &h->range, (size_t)h->selected, cells,
                           &measured);
    bytes_clear(&h->values);
    bytes_put_u64(&h->values, h->p->engine->tally.owners);
    for (size_t i = 0; e == ERR_OK && i < measured; i++)
        bytes_put_u64(&h->values, (uint64_t)cells[i]);
    memory_free(&cells);
    TRY(e);
    TRY(bytes_ok(&h->values));
    TRY(store_put_values(h->p->store, &h->round, &h->values));
    return write_result(h, result);
}

/* Two have the values on disk; the third gets them, and nothing is opened. */
static enum err give_values(struct hand *h, const struct round_agreement *agreement)
{
    bool lacks = h->standing != STANDING_OPENED;
    if (lacks && h->request->kind == REQUEST_SELECT)
        TRY(take_index(h, agreement->selected));
    if (lacks) {
        size_t cells = engine_cells(h->p->engine, &h->step, (size_t)h->selected);
        bytes_extend(&h->values, sizeof(uint64_t) * (1 + cells));
        TRY(bytes_ok(&h->values));
    }
    TRY(round_values(h->p->net, agreement, &h->values, h->p->log));
    return lacks ? store_put_values(h->p->store, &h->round, &h->values) : ERR_OK;
}

/* ------------------------------------------------------------------------------------------------- */

/*
 * A round that some server cannot open, and that no two have opened, is lost: paid for, and never
 * answered.
 */
static enum err may_open(const struct hand *h, const struct round_agreement *agreement)
{
    static const char *const why[] = {
        [ROUND_TRIED] = "has tried it as often as it may, and it was interrupted each time",
        [ROUND_NO_NOISE] = "has its noise no more: the run has gone on without the round, or that "
                           "server was restored from a backup",
        [ROUND_OTHER_UPLOADS] = "holds other uploads now than those it was bound with",
    };
    enum err e = ERR_OK;
    for (unsigned i = 0; i < 3; i++)
        if (agreement->obstacle[i] != ROUND_READY) {
            log_error(h->p->log,
                      "round %u stays without an answer, and its debit stays: server %u %s",
                      h->round.sequence, i, why[agreement->obstacle[i]]);
            e = ERR_LOST;
        }
    return e;
}

/* From here on the round is paid for at all three, and each has signed what the others have logged so far. */
static enum err commit(struct hand *h, bool is_new, const struct round_agreement *agreement,
                       uint8_t seed[32])
{
    uint8_t signature[2][64] = {{0}};
    enum err e = is_new ? bind(h) : ERR_OK;
    if (e == ERR_OK)
        e = sign_logs(h->p, agreement->audit, signature);
    TRY(round_confirm(h->p->net, e, agreement, signature, seed, h->p->log));
    return keep_signatures(h->p, &h->audit, signature);
}

static enum err open_values(struct hand *h, bool is_new, const struct round_agreement *agreement,
                            struct bytes *result)
{
    uint8_t seed[32];
    TRY(may_open(h, agreement));
    TRY(commit(h, is_new, agreement, seed));
    TRY(store_attempt(h->p->store, &h->round));
    begin_openings(h, is_new);
    if (h->request->kind == REQUEST_SELECT)
        TRY(agreement->course == ROUND_SELECT ? select_one(h, seed)
                                              : take_index(h, agreement->selected));
    TRY(measure(h, result));
    /*
     * All three have the same range of this session's tape and have measured the same cells of it.
     * Who plays this round again has the index, or finds the same one, and so takes no more of the
     * range than that.
     */
    return is_new ? engine_return(h->p->engine, &h->range) : ERR_OK;
}

static enum err play(struct hand *h, enum err verdict, struct bytes *result)
{
    struct round_agreement agreement;
    bool is_new = verdict == ERR_OK && h->standing == STANDING_NONE;
    if (is_new && !engine_has_noise(h->p->engine, &h->step))
        TRY(make_noise(h));
    if (is_new)
        verdict = stage(h);
    TRY(agree(h, verdict, ROUND_BIND, &agreement));
    h->p->late = agreement.late;
    if (agreement.course < ROUND_GIVE)
        return open_values(h, is_new, &agreement, result);
    if (agreement.course == ROUND_GIVE)
        TRY(give_values(h, &agreement));
    return write_result(h, result);
}

enum err play_round(struct play *p, struct request *request,
                    const uint8_t digest[REQUEST_DIGEST_SIZE], struct bytes *result)
{
    struct hand h = {.p = p, .request = request};
    enum err e = prepare(&h, digest);
    net_enter(p->net, phase_of(&h));
    e = play(&h, e, result);
    net_enter(p->net, NET_OTHER);
    ledger_free(&h.ledger);
    ledger_free(&h.after);
    tape_free(&h.range);
    bytes_clear(&h.values);
    engine_step_clear(&h.step);
    return e;
}
