/*
 * Real servers, and an analyst who asks for what the study does not permit, for more than the
 * budget, or for a bound round in other words: each is refused, costs nothing, and opens nothing.
 * What was bound is answered as often as it is asked.
 */
#include "harness/cmocka.h"

#include "aim/budget/forms.h"
#include "aim/budget/score.h"
#include "harness/process.h"
#include "parties/analyst/release.h"
#include "parties/audit/audit_file.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/client.h"
#include "parties/exchange/dials.h"
#include "parties/exchange/price.h"
#include "tests/support/caller.h"

struct refusals_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
    struct bounds *bounds;
    struct aim_options options;
    struct identity *me;
    struct netio *netio;
    struct client *client;
    uint8_t run[REQUEST_RUN_SIZE];
};

static void scene_new(struct refusals_scene *c, const struct study_options *o)
{
    memset(c, 0, sizeof *c);
    c->s = support_study_of(o, &quiet);
    assert_true(support_serve_all(&c->s, c->s.path, c->server));
    for (unsigned i = 0; i < c->s.owners; i++) {
        OK(support_csv(file(c, "o.csv"), c->s.study->domain, 400, 10 + i));
        EXPECT(0, file(c, "share.log"), 30, "share", c->s.path, file(c, "o.csv"), "--key",
               file(c, "o%u.key", i));
    }
    OK(bounds_new(&c->bounds, c->s.study, &quiet));
    OK(release_loop_options(c->s.study, c->bounds, &c->options, &quiet));
    OK(identity_load(&c->me, file(c, "a.key"), &quiet));
    OK(netio_new(&c->netio, &quiet));
    secret_random(c->run, sizeof c->run);
    OK(client_new(&c->client, c->netio, c->s.study, c->me, c->run, &quiet));
}

static void scene_free(struct refusals_scene *c)
{
    client_free(&c->client);
    netio_free(&c->netio);
    assert_true(support_stop_all(c->server));
    identity_free(&c->me);
    bounds_free(&c->bounds);
    support_study_free(&c->s);
}

/*
 * What is left in the servers' ledgers; also begins a new session if a refusal has ended the last
 * one.
 */
static double remaining(struct refusals_scene *c)
{
    struct client_opened opened;
    OK(client_open(c->client, &opened));
    return opened.remaining;
}

static enum err ask(struct refusals_scene *c, struct request *r, struct bytes *result)
{
    struct bytes bytes CLEAN(bytes_clear) = {0};
    memcpy(r->run, c->run, sizeof r->run);
    OK(request_write(r, &bytes));
    return client_result(c->client, &bytes, result);
}

/* Asked in a session of its own, it is refused in this way, and costs nothing. */
static void refused(struct refusals_scene *c, struct request *r, enum err how)
{
    struct bytes result CLEAN(bytes_clear) = {0};
    double before = remaining(c);
    assert_int_equal(ask(c, r, &result), how);
    assert_true(remaining(c) == before);
}

/*
 * A selection among all queries of two columns, as the AIM loop would ask for it, with flat
 * estimates.
 */
static struct request selection(struct refusals_scene *c, uint32_t sequence)
{
    const struct workload *w = c->s.study->workload;
    struct request r = {.sequence = sequence,
                        .ask = {.kind = ASK_SELECT,
                                .queries = (uint32_t)(w->queries - w->one_ways),
                                .epsilon = aim_epsilon(&c->options)}};
    OK(measure_multiplier(aim_sigma_later(&c->options), &r.ask.multiplier, &quiet));
    r.ask.sigma = measure_sigma(r.ask.multiplier, NOISE_BY_ALL);
    r.ask.query = memory_array(r.ask.queries, sizeof *r.ask.query);
    for (uint32_t k = 0; k < r.ask.queries; k++) {
        r.ask.query[k] = (uint32_t)w->one_ways + k;
        r.ask.estimates += w->query[r.ask.query[k]].cells;
    }
    r.ask.estimate = memory_array(r.ask.estimates, sizeof *r.ask.estimate);
    for (size_t k = 0; k < r.ask.estimates; k++)
        r.ask.estimate[k] = 20 << 10;
    return r;
}

static struct request one_ways(struct refusals_scene *c)
{
    struct request r = {
        .ask = {.kind = ASK_MEASURE, .queries = (uint32_t)c->s.study->workload->one_ways}};
    struct price_first first;
    OK(price_first(c->s.study, &first));
    r.ask.multiplier = first.one_ways;
    r.ask.query = memory_array(r.ask.queries, sizeof *r.ask.query);
    for (uint32_t k = 0; k < r.ask.queries; k++)
        r.ask.query[k] = k;
    return r;
}

/* Openings in server i's log so far. */
static size_t openings(struct refusals_scene *c, unsigned i)
{
    struct audit_file *f CLEAN(audit_file_free) = NULL;
    size_t n = 0;
    OK(audit_file_read(&f, file(c, "server%u/audit.log", i), &quiet));
    for (size_t k = 0; k < f->entries; k++)
        n += f->entry[k].kind == AUDIT_OPEN;
    return n;
}

/* For less, an analyst would have the study's budget for himself: its first debit is the plan's. */
static void a_run_begins_as_planned(struct refusals_scene *c)
{
    struct request r CLEAN(request_clear) = one_ways(c);
    const uint64_t planned = r.ask.multiplier;
    r.sequence = 1; /* there has been no round before */
    refused(c, &r, ERR_REFUSED);
    r.sequence = 0;
    for (unsigned k = 0; k < 3; k++) {
        r.ask.multiplier = (const uint64_t[]){256, planned - 1, planned + 1}[k];
        refused(c, &r, ERR_REFUSED);
    }
    r.ask.multiplier = planned;
    r.ask.queries--;
    refused(c, &r, ERR_REFUSED);
    r.ask.queries = 1;
    refused(c, &r, ERR_REFUSED);
    r.ask.queries = (uint32_t)c->s.study->workload->one_ways;
    refused(c, &(struct request){.ask = {.kind = ASK_LOOK, .multiplier = planned}}, ERR_REFUSED);
    if (c->s.study->method == STUDY_COPULA)
        return;
    struct request other CLEAN(request_clear) = selection(c, 0);
    refused(c, &other, ERR_REFUSED);
}

/* After the one-ways, which have been paid. */
static void what_the_study_does_not_permit_is_refused(struct refusals_scene *c)
{
    struct request r = one_ways(c);
    refused(c,
            &(struct request){.sequence = 1,
                              .ask = {.kind = ASK_MEASURE, .multiplier = r.ask.multiplier}},
            ERR_REFUSED);
    r.sequence = 2; /* there has been no round before */
    refused(c, &r, ERR_REFUSED);
    r.sequence = 1;
    r.ask.multiplier = 255; /* more noise than the proof of the arithmetic covers */
    refused(c, &r, ERR_REFUSED);
    r.ask.multiplier = UINT64_C(1) << 31; /* or less */
    refused(c, &r, ERR_REFUSED);
    r.ask.multiplier = 1 << 20; /* sigma = 1: far more than the budget */
    refused(c, &r, ERR_BUDGET);
    request_clear(&r);
    r = one_ways(c);
    r.sequence = 1;
    r.ask.query[1] = r.ask.query[0]; /* the same marginal twice */
    refused(c, &r, ERR_FORMAT);
    r.ask.query[1] = UINT32_MAX; /* or one that is not in the workload */
    refused(c, &r, ERR_FORMAT);
    request_clear(&r);

    r = selection(c, 1);
    r.ask.epsilon = 50;
    refused(c, &r, ERR_BUDGET);
    r.ask.epsilon = -1;
    refused(c, &r, ERR_REFUSED);
    r.ask.epsilon = NAN;
    refused(c, &r, ERR_REFUSED);
    r.ask.epsilon = 1e-9; /* the scores would round to nothing */
    refused(c, &r, ERR_RANGE);
    request_clear(&r);
    r = selection(c, 1);
    r.ask.sigma = INFINITY;
    refused(c, &r, ERR_REFUSED);
    request_clear(&r);
    r = selection(c, 1);
    r.ask.estimate[0] = UINT64_C(1) << 60; /* more than a cell can hold */
    refused(c, &r, ERR_REFUSED);
    r.ask.estimate[0] = 0;
    for (uint64_t k = 0; k < c->s.study->workload->query[r.ask.query[0]].cells; k++)
        r.ask.estimate[k] = UINT64_C(1) << (10 + c->s.study->count_bits); /* or in a marginal */
    refused(c, &r, ERR_REFUSED);
    r.ask.estimates--; /* a request with its end cut off */
    refused(c, &r, ERR_FORMAT);
    request_clear(&r);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(openings(c, i), 1);
}

/* Weights and sensitivity are the study's: a request has no place for others. */
static void the_price_is_the_servers_own(struct refusals_scene *c)
{
    struct request r CLEAN(request_clear) = one_ways(c);
    struct bytes first CLEAN(bytes_clear) = {0}, again CLEAN(bytes_clear) = {0};
    double whole = remaining(c), cost, paid;
    cost = r.ask.queries * ldexp((double)(r.ask.multiplier * r.ask.multiplier), -41);
    OK(ask(c, &r, &first));
    OK(ask(c, &r, &again)); /* in the same session */
    paid = whole - remaining(c);
    assert_true(fabs(paid - cost) < 1e-12);
    SAME_BYTES(&first, again.data, again.size);
    OK(ask(c, &r, &again)); /* and in another */
    assert_memory_equal(first.data, again.data, first.size);
    assert_true(whole - remaining(c) == paid);
}

/* An analyst who does not like the result cannot ask for the round in another way. */
static void a_bound_round_has_one_request(struct refusals_scene *c)
{
    struct request r CLEAN(request_clear) = selection(c, 1);
    struct bytes first CLEAN(bytes_clear) = {0}, again CLEAN(bytes_clear) = {0};
    remaining(c);
    OK(ask(c, &r, &first));
    r.ask.estimate[3]++;
    refused(c, &r, ERR_REFUSED);
    r.ask.estimate[3]--;
    r.ask.queries--; /* or with one candidate less */
    r.ask.estimates -= c->s.study->workload->query[r.ask.query[r.ask.queries]].cells;
    refused(c, &r, ERR_REFUSED);
    r.ask.estimates += c->s.study->workload->query[r.ask.query[r.ask.queries]].cells;
    r.ask.queries++;
    r.sequence = 0; /* the round before it is bound to the one-ways */
    refused(c, &r, ERR_REFUSED);
    r.sequence = 3; /* and one after the next round cannot come yet */
    refused(c, &r, ERR_REFUSED);
    r.sequence = 1;
    remaining(c);
    OK(ask(c, &r, &again));
    SAME_BYTES(&first, again.data, again.size);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(openings(c, i), 3); /* each once */
}

/* An analyst asks server 2 for something else: both others hear of it, and nothing is opened. */
static void a_request_that_is_another_at_one_server_opens_nothing(struct refusals_scene *c)
{
    struct dial *dial[STUDY_SERVERS_MOST] = {NULL};
    struct request r CLEAN(request_clear) = selection(c, 2);
    struct reply reply;
    int64_t deadline = support_end_ms(20);
    double before = remaining(c);
    memcpy(r.run, c->run, sizeof r.run);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(dials_new(&dial[i], c->netio, c->s.study, c->me, i, &quiet));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        struct bytes message CLEAN(bytes_clear) = {0};
        bytes_put_u8(&message, MESSAGE_REQUEST);
        bytes_extend(&message, REQUEST_HEAD_SIZE - 1);
        memset(message.data + 1, 0, REQUEST_HEAD_SIZE - 1);
        r.ask.estimate[0] += i == 2 ? 1024 : 0;
        OK(request_write(&r, &message));
        OK(dial_send(dial[i], false, message.data, message.size, deadline));
    }
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        struct bytes message CLEAN(bytes_clear) = {0};
        OK(dial_receive(dial[i], &message, deadline));
        OK(reply_read(&reply, &message));
        GIVES(reply.status, ERR_MISMATCH, reply.text, "has another request");
    }
    assert_true(remaining(c) == before);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        assert_int_equal(openings(c, i), 3);
        dial_free(&dial[i]);
    }
}

/* What a network held back until the run's program has asked on another connection. */
static void a_request_that_comes_late_moves_nothing(struct refusals_scene *c)
{
    struct support_caller early CLEAN(support_caller_free) = support_caller_new(&c->s, "a.key", 1);
    struct request r CLEAN(request_clear) = selection(c, 2), open = {.kind = REQUEST_OPEN};
    struct request *const late[] = {&r, &open};
    support_caller_begin(&early, MESSAGE_STATUS);
    bytes_put(&early.message, c->s.study->terms.digest, 32);
    OK(support_call(&early));
    OK(client_reconnect(c->client));
    remaining(c);
    for (unsigned k = 0; k < 2; k++) {
        memcpy(late[k]->run, c->run, sizeof c->run);
        support_caller_begin(&early, MESSAGE_REQUEST);
        bytes_extend(&early.message, REQUEST_HEAD_SIZE - 1);
        memset(early.message.data + 1, 0, REQUEST_HEAD_SIZE - 1);
        OK(request_write(late[k], &early.message));
        GIVES(support_call(&early), ERR_AGAIN, early.reply.text, "on a later connection since");
    }
}

/*
 * Down to the last of the budget, and no further: the third of three selections fits, a fourth does
 * not.
 */
static void the_budget_ends(struct refusals_scene *c)
{
    struct bytes result CLEAN(bytes_clear) = {0};
    struct request r CLEAN(request_clear);
    for (uint32_t round = 2; round < 4; round++) {
        r = selection(c, round);
        remaining(c);
        OK(ask(c, &r, &result));
        request_clear(&r);
    }
    r = selection(c, 4);
    refused(c, &r, ERR_BUDGET);
}

TEST(servers_refuse_what_they_should)
{
    struct refusals_scene c CLEAN(scene_free);
    scene_new(&c, &(const struct study_options){.owners = 2, .rounds = 3});
    a_run_begins_as_planned(&c);
    the_price_is_the_servers_own(&c);
    what_the_study_does_not_permit_is_refused(&c);
    a_bound_round_has_one_request(&c);
    a_request_that_is_another_at_one_server_opens_nothing(&c);
    a_request_that_comes_late_moves_nothing(&c);
    the_budget_ends(&c);
}

/* --- forms ------------------------------------------------------------------------------------ */

/* A factor for every code, with a sign from the last bit of its number; all are in one group. */
static struct request products(struct refusals_scene *c, uint32_t sequence, int64_t factor)
{
    struct request r = {
        .sequence = sequence,
        .ask = {.kind = ASK_FORMS, .weights = 2 * workload_one_way_cells(c->s.study->workload)}};
    r.ask.weight = memory_array(r.ask.weights, sizeof *r.ask.weight);
    for (size_t k = 0; k < r.ask.weights / 2; k++)
        r.ask.weight[k] = k % 2 == 0 ? factor : -factor;
    return r;
}

static void forms_that_do_not_fit_are_refused(struct refusals_scene *c)
{
    const struct workload *w = c->s.study->workload;
    struct request r CLEAN(request_clear) = products(c, 1, 1 << 20);
    refused(c, &r, ERR_BUDGET);
    r.ask.weight[3] = INT64_MIN;
    refused(c, &r, ERR_REFUSED);
    r.ask.weight[3] = 0;
    r.ask.weight[r.ask.weights - 1] =
        (int64_t)w->query[w->one_ways - 1].cells; /* one group too many */
    refused(c, &r, ERR_REFUSED);
    r.ask.weights--;
    refused(c, &r, ERR_FORMAT);
    request_clear(&r);
    r = (struct request){
        .sequence = 1,
        .ask = {.kind = ASK_FORMS, .queries = 1, .weights = w->query[w->one_ways].cells}};
    r.ask.query = memory_array(1, sizeof *r.ask.query);
    r.ask.weight = memory_array(r.ask.weights, sizeof *r.ask.weight);
    r.ask.query[0] = (uint32_t)w->one_ways; /* forms are of all pairs, and name none */
    refused(c, &r, ERR_FORMAT);
}

/* The price of the forms; the same request again, and no other, is free. */
static void forms_are_bound(struct refusals_scene *c, uint32_t sequence, int64_t factor)
{
    const double pairs = (double)forms_pairs(c->s.study->workload->one_ways);
    const double whole = remaining(c), u = (double)factor;
    struct bytes first CLEAN(bytes_clear) = {0}, again CLEAN(bytes_clear) = {0};
    struct request r CLEAN(request_clear) = products(c, sequence, factor);
    OK(ask(c, &r, &first));
    assert_true(fabs(whole - remaining(c) - pairs * u * u * u * u / 0x1p41) < 1e-12);
    r.ask.weight[0]++;
    refused(c, &r, ERR_REFUSED);
    r.ask.weight[0]--;
    remaining(c);
    OK(ask(c, &r, &again));
    SAME_BYTES(&first, again.data, again.size);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(openings(c, i), sequence + 1);
}

/* With records, which are read again for each request. */
TEST(an_analyst_may_ask_for_other_forms_than_a_copula)
{
    static const char *const records[] = {"    max_rows: 500\n    as: records\n",
                                          "    max_rows: 500\n    as: records\n"};
    struct refusals_scene c CLEAN(scene_free);
    scene_new(&c, &(const struct study_options){
                      .owners = 2, .copula = "method: copula\n", .part = records});
    a_run_begins_as_planned(&c);
    struct request zero CLEAN(request_clear) = products(&c, 0, 100);
    refused(&c, &zero, ERR_REFUSED);
    request_clear(&zero);
    the_price_is_the_servers_own(&c);
    forms_that_do_not_fit_are_refused(&c);
    forms_are_bound(&c, 1, 100);
    zero = products(&c, 2, 0); /* its part of delta is spent */
    refused(&c, &zero, ERR_BUDGET);
}
