#include "parties/analyst/remote.h"

#include "aim/forms.h"
#include "aim/merge.h"
#include "base/clock.h"
#include "base/memory.h"

#include <sodium.h>
#include <string.h>

#define PAUSE_MS 500 /* before the first new try; doubled up to the most */
#define PAUSE_MOST_MS 5000
#define LOST_MOST 3 /* lost rounds in a row before the run stops */

/* --- asking, with patience -------------------------------------------------------------------- */

/* A run that cannot begin leaves the servers to others. If the message is lost, they notice. */
static enum err leave(struct remote *r, enum err reason)
{
    struct net_counters unused[STUDY_SERVERS][NET_PHASES];
    (void)!client_close(r->client, unused);
    r->open = false;
    return reason;
}

/* What this many looks cost. */
static double price_of(const struct remote *r, unsigned looks)
{
    const double k = r->study->rows_per_person;
    return looks * k * k * look_rho(&r->look);
}

/* Whether runs before this one took no more than so many looks, and nothing else. */
static bool only_looked(const struct remote *r, const struct client_opened *opened, unsigned looks)
{
    return opened->remaining >= (r->rho - price_of(r, looks)) * (1 - 0x1p-40);
}

/*
 * A run that begins needs the whole budget except looks, and one look; a run whose folder is lost
 * has had its part of the budget.
 */
static enum err may_begin(struct remote *r, const struct client_opened *opened)
{
    char run[2 * REQUEST_RUN_SIZE + 1];
    if (run_state_lost(r->state)) {
        if (opened->rounds > 0)
            return ERR_OK;
        return log_fail(r->log, ERR_REFUSED,
                        "the servers know no round of the run that --continue names: compare its "
                        "number with that in a server's audit log. Nothing was spent");
    }
    for (r->looks = 1; r->looks <= LOOK_TRIES; r->looks++)
        if (only_looked(r, opened, r->looks - 1))
            return ERR_OK;
    if (only_looked(r, opened, LOOK_TRIES))
        return log_fail(r->log, ERR_BUDGET,
                        "earlier runs took all %u looks that the study's budget has, and found too "
                        "few linked rows (min_linked): no run can begin any more. Nothing was "
                        "spent now. Make a new study once the owners have corrected their tables",
                        LOOK_TRIES);
    sodium_bin2hex(run, sizeof run, opened->last, sizeof opened->last);
    return log_fail(r->log, ERR_BUDGET,
                    "only %g of the study's budget rho = %g is left: an earlier run spent the "
                    "rest. Nothing more was spent now. That run can be continued: trefoil run with "
                    "its --out, or if that folder is lost, with another one and --continue %s",
                    opened->remaining, r->rho, run);
}

static enum err open_session(struct remote *r)
{
    struct client_opened opened;
    enum err e;
    TRY(client_open(r->client, &opened));
    r->open = true;
    e = run_state_begun(r->state) ? ERR_OK : may_begin(r, &opened);
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
    if (e == ERR_REFUSED && run_state_lost(r->state))
        log_error(r->log, "this program does not ask what the lost run asked; continue it with the "
                          "version of trefoil, and on the kind of processor, that it ran with");
    return e;
}

static bool may_pass(enum err e)
{
    return e == ERR_PEER || e == ERR_TIMEOUT || e == ERR_AGAIN || e == ERR_MISUSE;
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
 * If a server is not there, this fails at once. It waits for one that leaves while the session is
 * made. For a shorter time it also waits for servers that wait for each other: one may hold a
 * session whose third server died silently, until deadlines.round is over; a try takes
 * deadlines.connect. If a server lacks rows when it is back, this waits no longer than that:
 * perhaps nobody has sent them.
 */
static enum err begin(struct remote *r)
{
    const int64_t wait = clock_now_ms() + r->wait_ms;
    const int64_t soon_ms = 1000 * ((int64_t)r->study->round_s + r->study->connect_s);
    int64_t soon = clock_now_ms() + soon_ms, pause = PAUSE_MS;
    bool left = false, held, shortly;
    enum err e;
    do {
        e = open_session(r);
        left = left || e == ERR_PEER;
        held = e == ERR_TIMEOUT && client_answered(r->client);
        if (left && e != ERR_AGAIN)
            soon = clock_now_ms() + soon_ms; /* from when it is back */
        shortly = (!left || e == ERR_AGAIN) && soon < wait;
    } while ((left || held) && try_again(r, e, shortly ? soon : wait, &pause));
    return e;
}

static struct phrase name_of(unsigned round)
{
    struct phrase name = {"the look"};
    if (round != RUN_STATE_LOOK)
        snprintf(name.text, sizeof name.text, "round %u", round);
    return name;
}

/*
 * Asks for a round of the loop. If the servers have lost it, it is paid for, and asked again as the
 * next one. *lost: how often.
 */
static enum err ask_round(struct remote *r, unsigned round, struct request *request,
                          struct bytes *result, unsigned *lost)
{
    const struct bytes *bytes;
    unsigned in_a_row = 0;
    enum err e;
    if (r->replies != NULL)
        TRY(replies_find(r->replies, round, request, result, lost));
    if (result->size > 0)
        return ERR_OK;
    if (!r->open && !run_state_begun(r->state))
        TRY(begin(r)); /* a run that cannot begin fails before it counts as begun */
    TRY(run_state_request(r->state, round, request, &bytes));
    while ((e = ask(r, bytes, result)) == ERR_LOST) {
        if (request->kind == REQUEST_FORMS)
            return log_fail(r->log, e,
                            "%s is lost, and with it all that was left of the budget: this run "
                            "cannot give a result any more",
                            name_of(round).text);
        log_warn(r->log, "%s is lost: what it took of the budget is spent, and it has no answer",
                 name_of(round).text);
        if (++in_a_row == LOST_MOST) /* else a server that always fails takes the whole budget */
            return log_fail(
                r->log, e,
                "%d rounds in a row were lost, so the run stops before it spends more. Repair the "
                "server that is named above, then continue with the same command",
                LOST_MOST);
        log_warn(r->log, "it is asked anew, at the same price");
        TRY(run_state_skip(r->state, request, &bytes));
    }
    *lost = run_state_skipped(r->state);
    return e;
}

static void say(const struct remote *r, const char *what)
{
    if (r->wait != NULL)
        r->wait(r->self, what);
}

/* The same, timed and shown. */
static enum err ask_aloud(struct remote *r, const char *what, unsigned round,
                          struct request *request, struct bytes *result, unsigned *lost)
{
    const double begin = clock_now_s();
    enum err e;
    say(r, what);
    e = ask_round(r, round, request, result, lost);
    say(r, "fitting the model");
    r->seconds += clock_now_s() - begin;
    return e;
}

/* The three agree on an invalid answer: they have another version, or collude. */
static enum err misfit(const struct remote *r, unsigned round)
{
    return log_fail(r->log, ERR_FORMAT,
                    "the answer to %s does not fit what was asked; compare the servers' version of "
                    "trefoil and their study file with yours",
                    name_of(round).text);
}

/* Keeps an answer that fits. */
static enum err keep(struct remote *r, unsigned round, const struct request *request,
                     const struct reader *in, const struct bytes *answer, unsigned lost)
{
    if (reader_done(in) != ERR_OK)
        return misfit(r, round);
    return r->replies != NULL ? replies_keep(r->replies, round, request, answer, lost) : ERR_OK;
}

/* --- the backend ------------------------------------------------------------------------------ */

/* How many values a marginal has. */
static uint64_t cells_of(const struct remote *r, const struct merges *m, uint32_t query)
{
    return merges_query_cells(m, &r->study->workload->query[query]);
}

static enum err measure(void *self, const struct aim_measure *m)
{
    struct remote *r = self;
    struct request request CLEAN(request_clear) = {
        .kind = REQUEST_MEASURE,
        .queries = (uint32_t)m->queries,
        .multiplier = m->multiplier,
    };
    struct bytes answer CLEAN(bytes_clear) = {0};
    struct reader in;
    size_t at = 0;
    TRY(memory_new(&request.query, m->queries));
    memcpy(request.query, m->query, m->queries * sizeof *m->query);
    TRY(request_merge(&request, m->merges));
    TRY(ask_aloud(r, "the servers make noise and measure all one-ways", m->round, &request, &answer,
                  m->lost));
    in = reader_of(answer.data, answer.size);
    *m->population = reader_u64(&in);
    for (size_t k = 0; k < m->queries; k++)
        for (uint64_t j = 0; j < cells_of(r, m->merges, m->query[k]); j++)
            m->values[at++] = (int64_t)reader_u64(&in);
    return keep(r, m->round, &request, &in, &answer, *m->lost);
}

static enum err open_forms(void *self, const struct aim_forms *f)
{
    struct remote *r = self;
    const size_t codes = products_codes(r->study->workload);
    struct request request CLEAN(request_clear) = {
        .kind = REQUEST_FORMS,
        .weights = 2 * codes,
    };
    struct bytes answer CLEAN(bytes_clear) = {0};
    struct reader in;
    TRY(memory_new(&request.weight, request.weights));
    memcpy(request.weight, f->factor, codes * sizeof *f->factor);
    memcpy(request.weight + codes, f->group, codes * sizeof *f->group);
    TRY(ask_aloud(r, "the servers measure how each pair of attributes is related", f->round,
                  &request, &answer, f->lost));
    in = reader_of(answer.data, answer.size);
    *f->population = reader_u64(&in);
    for (size_t k = 0; k < f->forms; k++)
        f->values[k] = (int64_t)reader_u64(&in);
    return keep(r, f->round, &request, &in, &answer, *f->lost);
}

static enum err read_selection(const struct remote *r, struct aim_select *s,
                               const struct bytes *answer)
{
    struct reader in = reader_of(answer->data, answer->size);
    uint64_t selected = reader_u64(&in), cells;
    if (in.failed || selected >= s->candidates)
        return misfit(r, s->round);
    s->selected = (size_t)selected;
    cells = cells_of(r, s->merges, s->query[selected]);
    *s->population = reader_u64(&in);
    for (uint64_t j = 0; j < cells; j++)
        s->values[j] = (int64_t)reader_u64(&in);
    return reader_done(&in) == ERR_OK ? ERR_OK : misfit(r, s->round);
}

static enum err select_worst(void *self, struct aim_select *s)
{
    struct remote *r = self;
    struct request request CLEAN(request_clear) = {
        .kind = REQUEST_SELECT,
        .queries = (uint32_t)s->candidates,
        .estimates = s->estimates,
        .epsilon = s->epsilon,
        .sigma = s->sigma,
        .multiplier = s->multiplier,
    };
    struct bytes answer CLEAN(bytes_clear) = {0};
    char what[80];
    enum err e;
    TRY(memory_new(&request.query, s->candidates));
    TRY(memory_new(&request.estimate, s->estimates));
    TRY(request_merge(&request, s->merges));
    snprintf(what, sizeof what, "round %u: the servers choose one of %zu marginals and measure it",
             s->round, s->candidates);
    memcpy(request.query, s->query, s->candidates * sizeof *s->query);
    memcpy(request.estimate, s->estimate, s->estimates * sizeof *s->estimate);
    client_meanwhile(r->client, s->meanwhile, s->loop);
    e = ask_aloud(r, what, s->round, &request, &answer, s->lost);
    client_meanwhile(r->client, NULL, NULL); /* in case the request never left */
    return e == ERR_OK ? read_selection(r, s, &answer) : e;
}

struct aim_backend remote_backend(struct remote *remote)
{
    return (struct aim_backend){.self = remote,
                                .keeps = true,
                                .measure = measure,
                                .select = select_worst,
                                .forms = open_forms};
}

static enum err ask_look(struct remote *r, struct replies *kept, struct request *request,
                         struct bytes *answer, unsigned *lost)
{
    TRY(replies_find(kept, 0, request, answer, lost));
    if (answer->size > 0)
        return ERR_OK;
    return ask_aloud(r, "the servers link rows, and count them with noise", RUN_STATE_LOOK, request,
                     answer, lost);
}

enum err remote_look(struct remote *r, const char *path, int64_t *value)
{
    struct request request CLEAN(request_clear) = {.kind = REQUEST_LOOK,
                                                   .multiplier = r->look.multiplier};
    struct replies *kept CLEAN(replies_free) = NULL;
    struct bytes answer CLEAN(bytes_clear) = {0};
    struct reader in;
    unsigned lost = 0;
    TRY(replies_open(&kept, path, r->study, run_state_run(r->state), r->log));
    TRY(ask_look(r, kept, &request, &answer, &lost));
    in = reader_of(answer.data, answer.size);
    (void)reader_u64(&in); /* how many owners are counted */
    *value = (int64_t)reader_u64(&in);
    if (reader_done(&in) != ERR_OK)
        return misfit(r, RUN_STATE_LOOK);
    r->looks += r->looks > 0 ? lost : 0;
    return replies_keep(kept, 0, &request, &answer, lost);
}

static enum err close_once(struct remote *r, struct net_counters stats[STUDY_SERVERS][NET_PHASES])
{
    if (!r->open)
        TRY(open_session(r));
    r->open = false;
    return client_close(r->client, stats);
}

enum err remote_close(struct remote *r, struct net_counters stats[STUDY_SERVERS][NET_PHASES])
{
    int64_t deadline = clock_now_ms() + r->wait_ms, pause = PAUSE_MS;
    enum err e;
    if (!run_state_begun(r->state) || run_state_ended(r->state))
        return ERR_OK;
    do
        e = close_once(r, stats);
    while (try_again(r, e, deadline, &pause));
    return e == ERR_OK ? run_state_end(r->state) : e;
}
