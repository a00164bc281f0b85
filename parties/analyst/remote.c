#include "parties/analyst/remote.h"

#include "base/clock.h"
#include "base/memory.h"
#include "parties/exchange/price.h"

#include <sodium.h>

#define PAUSE_MS 500 /* before the first new try; doubled up to the most */
#define PAUSE_MOST_MS 5000
#define LOST_MOST 3 /* lost rounds in a row before the run stops */

/* --- asking, with patience -------------------------------------------------------------------- */

/* A run that cannot begin leaves the servers to others. If the message is lost, they notice. */
static enum err leave(struct remote *r, enum err reason)
{
    struct net_counters unused[STUDY_SERVERS_MOST][NET_PHASES];
    (void)!client_close(r->client, unused);
    r->open = false;
    return reason;
}

/*
 * A run begins if no other has spent more than looks, or with what those left whose analysts the
 * roster leaves out. A run whose folder is lost has had its part of the budget.
 */
static enum err may_begin(struct remote *r, const struct client_opened *opened)
{
    struct ledger_limits limits;
    char run[2 * REQUEST_RUN_SIZE + 1];
    if (r->state->lost != NULL) {
        if (opened->rounds > 0)
            return ERR_OK;
        return log_fail(r->log, ERR_REFUSED,
                        "the servers know no round of the run that --continue names: compare its "
                        "number with that in a server's audit log. Nothing was spent");
    }
    r->looks = opened->looks + 1;
    if (opened->may)
        return ERR_OK;
    TRY(price_limits(r->study, &limits, r->log));
    if (opened->looks >= LOOK_TRIES && opened->left >= (1 - r->study->link.look) * limits.rho)
        return log_fail(r->log, ERR_BUDGET,
                        "earlier runs took all %u looks that the study's budget has, and found too "
                        "few linked rows (min_linked): no run can begin any more. Nothing was "
                        "spent now. Make a new study once the owners have corrected their tables; "
                        "or one can begin without a look, once the roster no longer lists the "
                        "analysts who took these",
                        LOOK_TRIES);
    sodium_bin2hex(run, sizeof run, opened->last, sizeof opened->last);
    return log_fail(r->log, ERR_BUDGET,
                    "only %g of the study's budget rho is left: an earlier run spent the rest. "
                    "Nothing more was spent now. That run can be continued: trefoil run with its "
                    "--out, or if that folder is lost, with another one and --continue %s. Or "
                    "another run may begin with what is left, once the roster no longer lists the "
                    "analysts who spent the rest",
                    opened->remaining, run);
}

static enum err open_session(struct remote *r)
{
    struct client_opened opened;
    enum err e;
    TRY(client_open(r->client, &opened));
    r->open = true;
    if (run_state_begun(r->state))
        return ERR_OK;
    r->state->left = opened.left;
    e = may_begin(r, &opened);
    return e == ERR_OK ? ERR_OK : leave(r, e);
}

/* A try begins with a session, since after a failure the servers have none. */
static enum err try_once(struct remote *r, const struct bytes *request, struct bytes *result)
{
    enum err e = r->open ? ERR_OK : open_session(r);
    if (e == ERR_LOST) /* only a round can be lost, and the next number would not be the servers' */
        return ERR_MISMATCH;
    TRY(e);
    e = client_result(r->client, request, result);
    r->open = e == ERR_OK;
    if (e == ERR_REFUSED && r->state->lost != NULL)
        log_error(r->log, "this program does not ask what the lost run asked; continue it with the "
                          "version of trefoil, and on the kind of processor, that it ran with");
    return e;
}

static bool may_pass(enum err e)
{
    return e == ERR_PEER || e == ERR_TIMEOUT || e == ERR_AGAIN || e == ERR_MISUSE || e == ERR_BUSY;
}

/* Whether to try again after a failure; if so, says so, waits, and connects anew. */
static bool try_again(struct remote *r, enum err e, int64_t deadline, int64_t *pause)
{
    const int64_t left = clock_left_ms(deadline), now = *pause < left ? *pause : left;
    if (!may_pass(e) || left == 0)
        return false;
    log_warn(r->log,
             "trying again in %.1f s, for %lld s at most; the run can also be stopped, and "
             "continued by the same command",
             (double)now / 1000, (long long)(left + 999) / 1000);
    clock_pause(now);
    *pause = 2 * *pause < PAUSE_MOST_MS ? 2 * *pause : PAUSE_MOST_MS;
    return client_reconnect(r->client) == ERR_OK;
}

/* Tries until it works, or fails in a way that waiting does not mend. */
static enum err ask(struct remote *r, const struct bytes *request, struct bytes *result)
{
    int64_t deadline = clock_now_ms() + r->wait_ms, pause = PAUSE_MS;
    enum err e;
    do
        e = try_once(r, request, result);
    while (try_again(r, e, deadline, &pause));
    return e;
}

/*
 * If a server is not there, this fails at once. It waits for its turn, and for a server that leaves
 * while the session is made. For a shorter time it also waits for servers that wait for each other:
 * one may hold a session whose third server died silently, until deadlines.round is over; a try
 * takes deadlines.connect. If a server is not ready after such a wait, this waits no longer than
 * that: perhaps it lacks rows, and nobody has sent them.
 */
static enum err begin(struct remote *r)
{
    const int64_t wait = clock_now_ms() + r->wait_ms;
    const int64_t soon_ms = 1000 * ((int64_t)r->study->round_s + r->study->connect_s);
    int64_t soon = clock_now_ms() + soon_ms, pause = PAUSE_MS;
    bool waited = false, held, shortly;
    enum err e;
    do {
        e = open_session(r);
        waited = waited || e == ERR_PEER || e == ERR_BUSY;
        held = e == ERR_BUSY || (e == ERR_TIMEOUT && client_answered(r->client));
        if (waited && e != ERR_AGAIN)
            soon = clock_now_ms() + soon_ms; /* from when that was over */
        shortly = (!waited || e == ERR_AGAIN) && e != ERR_BUSY && soon < wait;
    } while ((waited || held) && try_again(r, e, shortly ? soon : wait, &pause));
    return e;
}

enum err remote_begin(struct remote *r)
{
    return run_state_begun(r->state) ? ERR_OK : begin(r);
}

static struct words_text name_of(const struct ask *ask)
{
    struct words_text name = {"the look"};
    if (ask->kind == ASK_TEST)
        return (struct words_text){"the test"};
    if (ask->kind == ASK_GRADIENT)
        snprintf(name.text, sizeof name.text, "step %u", ask->round);
    else if (ask->kind != ASK_LOOK)
        snprintf(name.text, sizeof name.text, "round %u", ask->round);
    return name;
}

/* A server that always fails would take the whole budget. */
static enum err lost_too_often(const struct remote *r, const char *what)
{
    return log_fail(r->log, ERR_LOST,
                    "%d %s in a row were lost, so the run stops before it spends more. Repair the "
                    "server that is named above, then continue with the same command",
                    LOST_MOST, what);
}

/* The request is lost, and so is what it cost: asks for it again as the next one. */
static enum err skip(struct remote *r, const struct ask *a, unsigned in_a_row,
                     const struct bytes **bytes)
{
    if (a->kind == ASK_FORMS)
        return log_fail(r->log, ERR_LOST,
                        "%s is lost, and with it all that was left of the budget: this run "
                        "cannot give a result any more",
                        name_of(a).text);
    log_warn(r->log, "%s is lost: what it took of the budget is spent, and it has no answer",
             name_of(a).text);
    if (in_a_row == LOST_MOST)
        return lost_too_often(r, "rounds");
    log_warn(r->log, "it is asked anew, at the same price");
    return run_state_skip(r->state, a, bytes);
}

/* A classifier's step is not asked again: the next one follows. Nor is a test. */
static enum err lose_step(struct remote *r, const struct ask *a, unsigned *lost)
{
    *lost = 1;
    log_warn(r->log, "%s is lost: what it took of the budget is spent%s", name_of(a).text,
             a->kind == ASK_GRADIENT ? ", and the classifier learns nothing from it" : "");
    return ++r->lost_steps < LOST_MOST ? ERR_OK : lost_too_often(r, "steps");
}

/* The answer is here already, or is asked for until it comes. *lost: how often it was lost. */
static enum err ask_round(struct remote *r, struct replies *kept, const struct ask *a,
                          struct bytes *result, unsigned *lost)
{
    const struct bytes *bytes;
    unsigned in_a_row = 0;
    enum err e;
    if (kept != NULL)
        TRY(replies_find(kept, a, result, lost));
    if (result->size > 0 || *lost > 0)
        return ERR_OK;
    if (!r->open && !run_state_begun(r->state))
        TRY(begin(r)); /* a run that cannot begin fails before it counts as begun */
    TRY(run_state_request(r->state, a, &bytes));
    while ((e = ask(r, bytes, result)) == ERR_LOST) {
        if (ask_trains(a))
            return lose_step(r, a, lost);
        TRY(skip(r, a, ++in_a_row, &bytes));
    }
    *lost = r->state->asked->skipped;
    r->lost_steps = 0;
    return e;
}

static void say(const struct remote *r, const char *what)
{
    if (r->wait != NULL)
        r->wait(r->self, what);
}

/* What the servers do, for people who wait. */
struct deed {
    char text[80];
};
static struct deed what(const struct ask *a)
{
    struct deed d = {""};
    switch (a->kind) {
    case ASK_MEASURE:
        if (a->round == 0)
            return (struct deed){"the servers make noise and measure all one-ways"};
        snprintf(d.text, sizeof d.text, "round %u: the servers measure %u marginals", a->round,
                 a->queries);
        break;
    case ASK_SELECT:
        snprintf(d.text, sizeof d.text,
                 "round %u: the servers choose one of %u marginals and measure it", a->round,
                 a->queries);
        break;
    case ASK_SCORES:
        snprintf(d.text, sizeof d.text, "round %u: the servers compare the model with %u marginals",
                 a->round, a->queries);
        break;
    case ASK_FORMS:
        return (struct deed){"the servers measure how each pair of attributes is related"};
    case ASK_LOOK:
        return (struct deed){"the servers link rows, and count them with noise"};
    case ASK_GRADIENT:
        snprintf(d.text, sizeof d.text, "step %u: the servers compute a gradient", a->round);
        break;
    case ASK_TEST:
        return (struct deed){"the servers try the classifier on the rows that are kept back"};
    }
    return d;
}

/* The same, timed and shown. */
static enum err ask_aloud(struct remote *r, struct replies *kept, const struct ask *a,
                          struct bytes *result, unsigned *lost)
{
    const double begin = clock_now_s();
    enum err e;
    say(r, what(a).text);
    e = ask_round(r, kept, a, result, lost);
    say(r, "fitting the model");
    r->seconds += clock_now_s() - begin;
    return e;
}

/* --- the backend ------------------------------------------------------------------------------ */

static enum err read_answer(const struct study *study, const struct ask *a,
                            const struct bytes *answer, struct ask_told *told)
{
    struct reader in = reader_of(answer->data, answer->size);
    const uint64_t selected = a->kind == ASK_SELECT ? reader_u64(&in) : 0;
    if (in.failed || (a->kind == ASK_SELECT && selected >= a->queries))
        return ERR_FORMAT;
    told->selected = (size_t)selected;
    told->values = (size_t)ask_cells(a, study->workload, study->features, told->selected);
    told->population = reader_u64(&in);
    TRY(memory_new(&told->value, told->values));
    for (size_t k = 0; k < told->values; k++)
        told->value[k] = (int64_t)reader_u64(&in);
    return reader_done(&in);
}

/* Asks, and keeps an answer that fits. */
static enum err ask_and_read(struct remote *r, struct replies *kept, const struct ask *a,
                             struct ask_told *told)
{
    struct bytes answer CLEAN(bytes_clear) = {0};
    enum err e;
    TRY(ask_aloud(r, kept, a, &answer, &told->lost));
    if (ask_trains(a) && told->lost > 0)
        return kept != NULL ? replies_keep(kept, a, &answer, told->lost) : ERR_OK;
    e = read_answer(r->study, a, &answer, told);
    if (e == ERR_FORMAT) /* the three agree on it: they have another version, or collude */
        return log_fail(r->log, ERR_FORMAT,
                        "the answer to %s does not fit what was asked; compare the servers' "
                        "version of trefoil and their study file with yours",
                        name_of(a).text);
    TRY(e);
    return kept != NULL ? replies_keep(kept, a, &answer, told->lost) : ERR_OK;
}

static enum err answer(void *self, const struct ask *a, struct ask_told *told)
{
    struct remote *r = self;
    return ask_and_read(r, r->replies, a, told);
}

static void meanwhile(void *self, enum err (*work)(void *worker), void *worker)
{
    struct remote *r = self;
    client_meanwhile(r->client, work, worker);
}

struct aim_backend remote_backend(struct remote *remote)
{
    return (struct aim_backend){
        .self = remote, .ask = answer, .keeps = true, .meanwhile = meanwhile};
}

enum err remote_look(struct remote *r, const char *path, int64_t *value)
{
    const struct ask a = {.kind = ASK_LOOK, .multiplier = r->look.multiplier};
    struct replies *kept CLEAN(replies_free) = NULL;
    struct ask_told told CLEAN(told_clear) = {0};
    TRY(replies_open(&kept, path, r->study, r->state->run, r->log));
    TRY(ask_and_read(r, kept, &a, &told));
    *value = told.value[0];
    r->looks += r->looks > 0 ? told.lost : 0;
    return ERR_OK;
}

static enum err close_once(struct remote *r, struct net_counters stats[][NET_PHASES])
{
    if (!r->open)
        TRY(open_session(r));
    r->open = false;
    return client_close(r->client, stats);
}

enum err remote_close(struct remote *r, struct net_counters stats[][NET_PHASES])
{
    int64_t deadline = clock_now_ms() + r->wait_ms, pause = PAUSE_MS;
    enum err e;
    if (!run_state_begun(r->state) || r->state->ended)
        return ERR_OK;
    do
        e = close_once(r, stats);
    while (try_again(r, e, deadline, &pause));
    return e == ERR_OK ? run_state_end(r->state) : e;
}
