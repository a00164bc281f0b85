#include "parties/server/worker_private.h"

#include "base/clock.h"
#include "base/date.h"
#include "base/memory.h"
#include "parties/exchange/cost.h"
#include "parties/server/collect.h"
#include "parties/server/round_ledger.h"
#include "parties/server/start.h"
#include "parties/study/roster.h"
#include "parties/study/study_setting.h"

#include <string.h>

/* --- what the operator may see ---------------------------------------------------------------- */

/* Adds what the links have carried since the last time. */
static void show_bytes(struct worker *w)
{
    struct net_counters all = {0};
    if (w->net != NULL) {
        all = net_total(w->net);
        atomic_fetch_add(&w->site->status.peer_sent, all.wire_sent - w->shown_sent);
        atomic_fetch_add(&w->site->status.peer_received, all.wire_received - w->shown_received);
    }
    w->shown_sent = all.wire_sent;
    w->shown_received = all.wire_received;
}

/* --- sessions --------------------------------------------------------------------------------- */

void worker_close_session(struct worker *w)
{
    const bool was_open = w->net != NULL;
    show_bytes(w);
    atomic_store(&w->site->status.session, false);
    w->play.engine = (struct engine){0};
    w->setting->close(w->part);
    w->net = NULL;
    bytes_clear(&w->play.upload_ids);
    bytes_clear(&w->play.openings.what);
    store_use(w->site->store, false);
    w->setting->drop(w->part);
    if (was_open) /* a batch of noise alone took 150 MiB, half of which would stay */
        memory_give_back();
}

void worker_heed_neighbours(struct worker *w)
{
    if (w->net != NULL && w->setting->listen(w->part) != ERR_OK)
        worker_close_session(w);
}

/* Notes that the run in progress was heard of; the front notes the same (MESSAGE_ALIVE). */
static void hear(struct worker *w)
{
    atomic_store(&w->site->status.run, status_run_word(w->run));
    atomic_store(&w->site->status.user, w->user);
    atomic_store(&w->site->status.heard_ms, clock_now_ms());
}

enum err worker_open_session(struct worker *w, const struct bytes *propose,
                             uint8_t attempt[REQUEST_ATTEMPT_SIZE])
{
    enum err e;
    worker_close_session(w);
    e = w->setting->open(w->part, propose, attempt, &w->net);
    if (e != ERR_OK) {
        worker_close_session(w);
        return e;
    }
    hear(w);
    w->shown_sent = w->shown_received = 0;
    atomic_store(&w->site->status.session, true);
    return ERR_OK;
}

/* --- whose a run is --------------------------------------------------------------------------- */

static const uint8_t *key_of(const struct worker *w, uint32_t user)
{
    return w->site->study->analyst[user & 0xffffff].key.sign;
}

static enum err may_open(struct worker *w, const struct worker_ask *ask)
{
    return ask->request.kind == REQUEST_OPEN ? worker_turn_may_open(w, ask->client.user) : ERR_OK;
}

enum err worker_may_ask(struct worker *w, const struct worker_ask *ask)
{
    const struct request *r = &ask->request;
    bool paid = false, open = worker_has_run(w) && memcmp(w->run, r->run, sizeof w->run) == 0;
    uint8_t key[32];
    const char *name;
    if (r->kind == REQUEST_OPEN)
        TRY(warrant_check(&r->warrant, w->site->study, key_of(w, ask->client.user), &w->log));
    TRY(store_analyst(w->site->store, r->run, key, &paid));
    /* an analyst who goes on with another's run owns it at once, even before the first payment */
    if (open && (r->kind != REQUEST_OPEN || worker_silent_ms(w) < worker_connect_ms(w)))
        memcpy(key, key_of(w, w->user), sizeof key);
    else if (!paid)
        return may_open(w, ask);
    name = roster_analyst(w->site->study, key);
    if (name == NULL || memcmp(key, key_of(w, ask->client.user), sizeof key) == 0)
        return may_open(w, ask);
    return log_fail(
        &w->log, ERR_REFUSED,
        "this run belongs to analyst %s, and no other may ask for it. Once the roster no longer "
        "lists %s, or lists its key as revoked, another may continue it: trefoil run --continue",
        name, name);
}

/* --- a request at every server alike ---------------------------------------------------------- */

/* Counts the uploads that a run begins or goes on with. */
static enum err load_uploads(struct worker *w)
{
    store_use(w->site->store, true); /* nothing is withdrawn or replaced until the session ends */
    return collect_uploads(&w->play, w->run, false);
}

/* Exchanges heads; makes the debit that a neighbour has made and this server has only staged. */
static enum err adopt_last(struct worker *w, const uint8_t open[32], struct store_head *head)
{
    struct store_round round;
    struct bytes staged CLEAN(bytes_clear) = {0};
    struct round_ledger own = {.study = w->site->study, .head = *head};
    struct vouchers vouchers;
    bool adopt;
    TRY(store_staged(w->site->store, &round, &staged));
    own.staged = staged;
    TRY(store_vouchers(w->site->store, &own.vouchers));
    TRY(round_ledger(w->net, open, &own, &adopt, &vouchers, &w->log));
    if (!adopt)
        return ERR_OK;
    TRY(store_bind(w->site->store, &round, &vouchers, head));
    log_warn(w->site->log, "took over a debit that the others made when this server was stopped");
    return ERR_OK;
}

enum err worker_show_budget(struct worker *w)
{
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_head head;
    double spent;
    TRY(store_ledger(w->site->store, &w->site->limits, &ledger, &head));
    spent = ledger_spent(ledger);
    atomic_store(&w->site->status.rho_spent, spent);
    atomic_store(&w->site->status.rho_limit, spent + ledger_remaining(ledger));
    return ERR_OK;
}

void worker_show_neighbours(struct worker *w)
{
    const unsigned standing = transport_standing(w->site->control);
    for (unsigned p = 0; p + 1 < w->site->study->servers; p++) {
        struct status_neighbour *n = &w->site->status.neighbour[p];
        const bool up = (standing >> p & 1) != 0;
        if (atomic_load(&n->since) == 0 || atomic_load(&n->connected) != up)
            atomic_store(&n->since, date_now());
        atomic_store(&n->connected, up);
    }
}

void worker_show_guard(struct worker *w)
{
    atomic_store(&w->site->status.guard, w->setting->verdict(w->part, NULL));
}

/* A round that one server debited is debited at all three; one that nobody debited is forgotten. */
static enum err agree_on_ledger(struct worker *w, const uint8_t open[32])
{
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_head head;
    TRY(store_ledger(w->site->store, &w->site->limits, &ledger, &head));
    TRY(adopt_last(w, open, &head));
    return store_unstage(w->site->store);
}

static enum err begin(struct worker *w)
{
    TRY(w->setting->begin(w->part, &(const struct engine_uploads){collect_again, &w->play},
                          &w->play.engine));
    memcpy(w->play.analyst, key_of(w, w->user), sizeof w->play.analyst);
    w->play.net = w->net;
    w->play.expect = w->setting->expects;
    w->play.expect_self = w->part;
    w->play.late = false;
    return ERR_OK;
}

/*
 * Tells what is left, and the last run: an analyst whose folder is lost needs its number. And what
 * this run begins, or began, with.
 */
static enum err tell_budget(struct worker *w, struct bytes *result)
{
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct store_head head;
    struct store_found last = {0};
    struct start start;
    uint32_t rounds = 0;
    TRY(store_ledger(w->site->store, &w->site->limits, &ledger, &head));
    TRY(store_run(w->site->store, w->run, &rounds, NULL));
    if (head.number > 0)
        TRY(store_round_of(w->site->store, head.number, &last));
    bytes_put_double(result, ledger_remaining(ledger));
    bytes_put(result, w->site->study->terms.digest, sizeof w->site->study->terms.digest);
    bytes_put_u32(result, rounds);
    bytes_put(result, last.round.run, sizeof last.round.run);
    TRY(start_of(&start, w->site->store, w->site->study, w->run));
    worker_turn_begins(w, start.begun);
    bytes_put_u8(result, start.may);
    bytes_put_double(result, start.left);
    bytes_put_u32(result, start.looks);
    return bytes_ok(result);
}

/* Sets what the audit log says about openings before the first round of a session. */
static enum err begin_openings(struct worker *w, const uint8_t open[32])
{
    struct ledger *ledger CLEAN(ledger_free) = NULL;
    struct audit_opening *o = &w->play.openings.common;
    struct store_head head;
    TRY(store_ledger(w->site->store, &w->site->limits, &ledger, &head));
    w->play.openings.heads = false;
    *o = (struct audit_opening){.spent = ledger_spent(ledger)};
    memcpy(o->run, w->run, sizeof o->run);
    memcpy(o->request, open, sizeof o->request);
    return store_run(w->site->store, w->run, &o->round, NULL);
}

enum err worker_name_left_out(struct worker *w, bool again)
{
    const struct study *study = w->site->study;
    const bool *left_out = worker_counted(w).left_out;
    for (size_t i = 0; left_out != NULL && i < study->owners; i++) {
        struct audit_entry line = {.kind = AUDIT_LEFT_OUT};
        struct status_owner *owner = &w->site->status.owner[i];
        const bool named = owner->named;
        owner->named = left_out[i];
        atomic_store(&owner->left_out, left_out[i]);
        if (!left_out[i] || (named && !again))
            continue;
        log_warn(&w->log,
                 "the upload of %s %s, and is left out; its owner should run trefoil share "
                 "--replace, before a run has paid for anything",
                 study->owner[i].name, study_setting(study)->left_out);
        memcpy(line.run, w->run, sizeof w->run);
        memcpy(line.owner, study->owner[i].name, sizeof line.owner);
        TRY(audit_note(w->site->audit, &line));
    }
    return ERR_OK;
}

/* Tells the analyst the same: how many, and which. */
static void tell_left_out(const struct worker *w, struct bytes *result)
{
    const struct study *study = w->site->study;
    const bool *left_out = worker_counted(w).left_out;
    uint32_t count = 0;
    for (size_t i = 0; left_out != NULL && i < study->owners; i++)
        count += left_out[i];
    bytes_put_u32(result, count);
    for (uint32_t i = 0; count > 0 && i < study->owners; i++)
        if (left_out[i])
            bytes_put_u32(result, i);
}

/* By what warrant the session's openings are made; before the first. */
static enum err note_warrant(struct worker *w, const struct warrant *warrant)
{
    struct audit_entry line = {.kind = AUDIT_WARRANT};
    struct bytes text CLEAN(bytes_clear) = {0};
    if (w->site->study->approvers.at_least == 0)
        return ERR_OK;
    w->play.warrant = *warrant;
    TRY(warrant_write(warrant, &text));
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '\n')
            text.data[i] = '|';
    bytes_put_u8(&text, 0);
    TRY(bytes_ok(&text));
    memcpy(line.run, w->run, sizeof w->run);
    line.what = (char *)text.data;
    return audit_note(w->site->audit, &line);
}

static enum err handle_open(struct worker *w, const struct worker_ask *ask, struct bytes *result)
{
    enum err loaded;
    TRY(w->setting->greet(w->part));
    TRY(agree_on_ledger(w, ask->digest));
    TRY(begin(w));
    TRY(begin_openings(w, ask->digest));
    TRY(note_warrant(w, &ask->request.warrant));
    loaded = load_uploads(w);
    TRY(worker_name_left_out(w, true)); /* also if too few are left */
    TRY(loaded);
    TRY(tell_budget(w, result));
    tell_left_out(w, result);
    return bytes_ok(result);
}

static enum err handle_close(struct worker *w, struct bytes *result)
{
    TRY(openings_sign_logs(&w->play.openings, w->net));
    TRY(store_end_run(w->site->store, w->run));
    cost_put(result, w->net);
    return bytes_ok(result);
}

static enum err dispatch(struct worker *w, const struct worker_ask *ask, struct bytes *result)
{
    const struct request *r = &ask->request;
    if (r->kind == REQUEST_OPEN) {
        memcpy(w->run, r->run, sizeof w->run);
        return handle_open(w, ask, result);
    }
    if (r->kind == REQUEST_CLOSE)
        return handle_close(w, result);
    TRY(start_allows(w->site->store, w->site->study, r, &w->log));
    TRY(play_round(&w->play, r, ask->digest, result));
    w->turn.begun = w->turn.begun || r->ask.kind != ASK_LOOK;
    return ERR_OK;
}

void worker_catch(struct worker *w, uint32_t round, enum err e)
{
    const struct setting_failure failure = w->setting->failed != NULL
                                               ? w->setting->failed(w->part, e)
                                               : (struct setting_failure){0};
    struct audit_entry line = {.kind = AUDIT_CAUGHT, .round = round, .check = failure.check};
    if (e == ERR_OK || w->setting->verdict(w->part, NULL) != ERR_CHEAT)
        return;
    memcpy(line.run, w->run, sizeof w->run);
    snprintf(line.phase, sizeof line.phase, "%s",
             failure.phase != NULL ? failure.phase : AUDIT_STATEMENT);
    if (audit_note(w->site->audit, &line) != ERR_OK)
        log_warn(w->site->log, "cannot write to the audit log that a check failed");
}

/* A server that no longer takes part does nothing; one that stops during the work says so. */
static enum err dispatch_guarded(struct worker *w, const struct worker_ask *ask,
                                 struct bytes *result)
{
    enum err e;
    TRY(w->setting->verdict(w->part, &w->log));
    e = dispatch(w, ask, result);
    if (e == ERR_OK)
        return ERR_OK;
    worker_catch(w, ask->request.sequence, e);
    if (w->setting->verdict(w->part, &w->log) == ERR_CHEAT)
        return ERR_CHEAT;
    return e == ERR_CHEAT ? ERR_MISMATCH /* before the three had agreed, or unproved */ : e;
}

enum err worker_handle(struct worker *w, const struct worker_ask *ask, struct bytes *result)
{
    const enum request_kind kind = ask->request.kind;
    enum err e = worker_may_ask(w, ask);
    if (e == ERR_OK) {
        w->user = ask->client.user;
        w->line = gate_number(&ask->client);
    }
    hear(w);
    if (kind == REQUEST_ROUND)
        atomic_store(&w->site->status.round, ask->request.sequence);
    if (e == ERR_OK)
        e = dispatch_guarded(w, ask, result);
    hear(w);
    worker_show_guard(w);
    w->setting->show(w->part);
    if (worker_show_budget(w) != ERR_OK)
        log_warn(w->site->log, "the status shows an old budget: the ledger cannot be read");
    show_bytes(w);
    atomic_fetch_add(&w->site->status.requests, 1);
    atomic_fetch_add(&w->site->status.requests_failed, e != ERR_OK);
    if (e != ERR_OK || kind == REQUEST_CLOSE)
        worker_close_session(w);
    return e;
}
