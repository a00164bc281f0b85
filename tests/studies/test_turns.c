/*
 * Real servers and several who want them: a run that fails takes nobody with it, a run whose
 * program lives keeps its place, and one whose program has died gives it up.
 */
#include "harness/cmocka.h"

#include "harness/process.h"
#include "parties/exchange/client.h"
#include "parties/exchange/dials.h"
#include "tests/support/store.h"

/* Silent for so long, a run loses its place; whoever asks waits for so long for a session. */
#define CONNECT_S support_slow(3)
#define TRIES 20

struct turns_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
    struct identity *me;
    struct netio *netio;
};

static struct turns_scene scene_with(const char *domain, unsigned connect_s)
{
    struct turns_scene c = {.s = STUDY(&quiet, .owners = 1, .rounds = 2,
                                       .round_s = connect_s > 60 ? connect_s : 60,
                                       .connect_s = connect_s, .domain = domain)};
    assert_true(support_serve_all(&c.s, c.s.path, c.server));
    OK(support_csv(file(&c, "o.csv"), c.s.study->domain, 400, 10));
    EXPECT(0, file(&c, "share.log"), 30, "share", c.s.path, file(&c, "o.csv"), "--key",
           file(&c, "o0.key"));
    OK(identity_load(&c.me, file(&c, "a.key"), &quiet));
    OK(netio_new(&c.netio, &quiet));
    return c;
}

static struct turns_scene scene_new(const char *domain)
{
    return scene_with(domain, CONNECT_S);
}

static void scene_free(struct turns_scene *c)
{
    netio_free(&c->netio);
    identity_free(&c->me);
    assert_true(support_stop_all(c->server));
    support_study_free(&c->s);
}

/* --- an analyst's program, step by step ------------------------------------------------------- */

struct analyst {
    struct dial *dial[STUDY_SERVERS_MOST];
    uint8_t run[REQUEST_RUN_SIZE];
};

static void connect_all(struct turns_scene *c, struct analyst *a)
{
    secret_random(a->run, sizeof a->run);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(dials_new(&a->dial[i], c->netio, c->s.study, c->me, i, &quiet));
        OK(dial_reach(a->dial[i], support_end_ms(10)));
    }
}

static void disconnect_all(struct analyst *a)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        dial_free(&a->dial[i]);
}

/* A request to one server, as part of an attempt. */
static void tell(struct analyst *a, unsigned server, const uint8_t *attempt,
                 const struct request *r)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    bytes_put_u8(&message, MESSAGE_REQUEST);
    bytes_put(&message, attempt, REQUEST_ATTEMPT_SIZE);
    bytes_put_u64(&message, 0);
    OK(request_write(r, &message));
    OK(dial_send(a->dial[server], false, message.data, message.size, support_end_ms(5)));
}

/* The message to server `lost` does not reach it. */
static void ask_without(struct analyst *a, enum request_kind kind, unsigned lost)
{
    struct request r = {.kind = kind, .ask.kind = ASK_MEASURE};
    uint8_t attempt[REQUEST_ATTEMPT_SIZE];
    memcpy(r.run, a->run, sizeof r.run);
    secret_random(attempt, sizeof attempt);
    for (unsigned i = STUDY_SERVERS_MOST; i-- > 0;)
        if (i != lost)
            tell(a, i, attempt, &r);
}

static void ask(struct analyst *a, enum request_kind kind)
{
    ask_without(a, kind, STUDY_SERVERS_MOST);
}

static enum err answer_of(struct analyst *a, unsigned server)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    enum err e = dial_receive(a->dial[server], &message, support_end_ms(20));
    OK(e);
    OK(reply_read(&reply, &message));
    return reply.status;
}

/* What it has told a server is with the server's worker: the front answers what comes after it. */
static void wait_until_heard(struct analyst *a, unsigned server)
{
    static const uint8_t status = MESSAGE_STATUS;
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    OK(dial_send(a->dial[server], false, &status, 1, support_end_ms(5)));
    OK(dial_receive(a->dial[server], &message, support_end_ms(20)));
    OK(reply_read(&reply, &message));
    assert_int_equal(reply.kind, MESSAGE_STATUS);
}

/* Asks for a session until servers 1 and 2 are in one; then server 0 is, too. */
static void open_at_last(struct analyst *a)
{
    enum err one = ERR_TIMEOUT, two = ERR_TIMEOUT;
    unsigned asked = 0;
    while (one != ERR_OK || two != ERR_OK) {
        assert_true(asked++ < TRIES);
        ask(a, REQUEST_OPEN);
        one = answer_of(a, 1);
        two = answer_of(a, 2);
    }
    while (--asked > 0)
        (void)answer_of(a, 0);
    OK(answer_of(a, 0));
}

static int withdraw(struct turns_scene *c, unsigned owner)
{
    return COMMAND(file(c, "withdraw.log"), 60, "share", c->s.path, "--key",
                   file(c, "o%u.key", owner), "--withdraw");
}

/* --- tests ------------------------------------------------------------------------------------ */

/*
 * Server 2 hangs while one analyst opens, and is back for the next one, whose request has meanwhile
 * waited at server 1.
 */
TEST(a_failure_is_told_to_whom_it_concerns)
{
    struct turns_scene c CLEAN(scene_free) = scene_new(NULL);
    struct analyst first CLEAN(disconnect_all), next CLEAN(disconnect_all);
    connect_all(&c, &first);
    connect_all(&c, &next);
    assert_int_equal(kill(c.server[2], SIGSTOP), 0);
    ask(&first, REQUEST_OPEN);
    wait_until_heard(&first, 0);
    wait_until_heard(&first, 1);
    ask(&next, REQUEST_OPEN);
    assert_int_equal(answer_of(&first, 0), ERR_TIMEOUT);
    assert_int_equal(kill(c.server[2], SIGCONT), 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(answer_of(&next, i));
}

/* To a CLOSE, once the run that has the place is not heard of any more. */
static enum err answer_when_free(struct analyst *a, unsigned server)
{
    static const uint8_t attempt[REQUEST_ATTEMPT_SIZE] = {7};
    struct request r = {.kind = REQUEST_CLOSE};
    double end = support_deadline(20);
    enum err e;
    memcpy(r.run, a->run, sizeof r.run);
    do {
        tell(a, server, attempt, &r);
        e = answer_of(a, server);
    } while (e == ERR_BUSY && support_again(end));
    return e;
}

/* A request that opens nothing needs the session of its own run. */
TEST(a_request_has_to_be_of_the_session)
{
    struct turns_scene c CLEAN(scene_free) = scene_new(NULL);
    struct analyst first CLEAN(disconnect_all), other CLEAN(disconnect_all);
    connect_all(&c, &first);
    connect_all(&c, &other);
    ask(&first, REQUEST_ROUND);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(answer_of(&first, i), ERR_PEER);
    ask(&first, REQUEST_OPEN);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(answer_of(&first, i));
    ask(&other, REQUEST_CLOSE);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(answer_of(&other, i), ERR_BUSY); /* the first one has the place */
    /* then the place is free, but it cannot have another's session */
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(answer_when_free(&other, i), ERR_MISUSE);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        file_says(file(&c, "server%u.log", i), "the session is that of another run");
}

/*
 * An analyst who tells only some servers is not served. One who tells server 0 alone holds up
 * nobody else, however short the others' wait for a session is.
 */
TEST(a_request_that_not_all_have_is_not_answered)
{
    static const uint8_t attempt[REQUEST_ATTEMPT_SIZE] = {5};
    struct request r = {.kind = REQUEST_OPEN, .run = {3}};
    struct turns_scene c CLEAN(scene_free) = scene_with(NULL, 1);
    struct analyst odd CLEAN(disconnect_all), next CLEAN(disconnect_all);
    connect_all(&c, &odd);
    connect_all(&c, &next);
    tell(&odd, 1, attempt, &r); /* without server 0 nothing begins */
    assert_int_equal(answer_of(&odd, 1), ERR_TIMEOUT);
    tell(&odd, 0, attempt, &r); /* and without the others nothing goes on */
    wait_until_heard(&odd, 0);
    open_at_last(&next);
    assert_int_not_equal(answer_of(&odd, 0), ERR_OK);
}

/* An analyst who names a different run to each: nobody is served. */
TEST(a_request_that_names_other_runs_elsewhere_is_not_answered)
{
    static const uint8_t attempt[REQUEST_ATTEMPT_SIZE] = {6};
    struct request r = {.kind = REQUEST_OPEN, .run = {3}};
    struct turns_scene c CLEAN(scene_free) = scene_with(NULL, support_slow(20));
    struct analyst odd CLEAN(disconnect_all);
    connect_all(&c, &odd);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        r.run[1] = i == 1;
        tell(&odd, i, attempt, &r);
    }
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_not_equal(answer_of(&odd, i), ERR_OK);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        file_says(file(&c, "server%u.log", i), "was asked to open another run, or in another way");
}

/*
 * A connection to one server breaks during a request. The analyst's next request ends the wait for
 * it at all three.
 */
TEST(a_request_that_was_lost_is_not_waited_for)
{
    struct turns_scene c CLEAN(scene_free) = scene_with(NULL,
                                                        900); /* longer than the test may take */
    struct analyst a CLEAN(disconnect_all);
    connect_all(&c, &a);
    for (unsigned lost = 1; lost < STUDY_SERVERS_MOST; lost++) {
        ask(&a, REQUEST_OPEN);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            OK(answer_of(&a, i));
        ask_without(&a, REQUEST_CLOSE, lost);
        support_pause_ms(500); /* the other two wait for it */
        ask(&a, REQUEST_OPEN);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            if (i != lost)
                assert_int_equal(answer_of(&a, i), ERR_PEER);
            OK(answer_of(&a, i));
        }
    }
}

static int run_rounds(struct turns_scene *c, const char *folder, const char *rounds)
{
    return COMMAND(file(c, "%s.log", folder), 60, "run", c->s.path, "--key", file(c, "a.key"),
                   "--out", file(c, "%s", folder), "--wait=0", rounds);
}

static int run_into(struct turns_scene *c, const char *folder)
{
    return run_rounds(c, folder, NULL);
}

TEST(a_run_keeps_its_place_while_its_program_lives)
{
    struct turns_scene c CLEAN(scene_free) = scene_new(NULL);
    uint8_t run[REQUEST_RUN_SIZE] = {7};
    struct client_opened opened;
    int code;
    struct client *client = MADE(client, client_new, c.netio, c.s.study, c.me, run, &quiet);
    OK(client_open(client, &opened));
    /* it asks for nothing, like one whose estimator takes long */
    support_pause_ms((int64_t)c.s.study->connect_s * 2000);
    assert_int_equal(run_into(&c, "second"), 5);
    EACH(file_says, file(&c, "second.log"), "another run, of analyst a, is in progress since 20",
         "or continue that run");
    assert_false(support_contains(file(&c, "second.log"), "did not answer"));
    OK(client_open(client, &opened)); /* it has lost nothing */
    client_free(&client);
    double end = support_deadline(30);
    while ((code = run_into(&c, "second")) == 5 && support_again(end))
        ;
    assert_int_equal(code, 0);
}

/* Until a run has paid, owners may change their minds, whoever keeps a session open. */
TEST(a_withdrawal_ends_a_session)
{
    struct turns_scene c CLEAN(scene_free) = scene_with(NULL, 20); /* nothing else ends it */
    struct client *client CLEAN(client_free) = NULL;
    uint8_t run[REQUEST_RUN_SIZE] = {7};
    struct client_opened opened;
    struct net_counters stats[STUDY_SERVERS_MOST][NET_PHASES];
    OK(client_new(&client, c.netio, c.s.study, c.me, run, &quiet));
    OK(client_open(client, &opened));
    assert_int_equal(withdraw(&c, 0), 0);
    file_says(file(&c, "server0.log"), "an owner withdraws or replaces an upload: the session");
    assert_int_equal(client_close(client, stats), ERR_PEER);  /* there is no session */
    assert_int_equal(client_open(client, &opened), ERR_BUSY); /* the owner may not have done yet */
}

/*
 * An analyst whose program is dead holds a session for a few seconds, not more: then owners can
 * withdraw what they sent.
 */
TEST(a_run_that_is_not_heard_of_ends)
{
    struct turns_scene c CLEAN(scene_free) = scene_with(NULL, 1);
    struct analyst dead;
    connect_all(&c, &dead);
    ask(&dead, REQUEST_OPEN);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(answer_of(&dead, i));
    disconnect_all(&dead);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_true(support_wait_for(file(&c, "server%u.log", i),
                                     "nothing was heard from the run's program for too long", 10));
    assert_int_equal(withdraw(&c, 0), 0);
}

/*
 * One that came meanwhile, and cannot have the budget, does not block the one that has begun to
 * spend it.
 */
TEST(a_run_that_has_paid_goes_on_before_others)
{
    struct turns_scene c CLEAN(scene_free) = scene_new(NULL);
    struct client *client CLEAN(client_free) = NULL;
    uint8_t run[REQUEST_RUN_SIZE] = {7};
    struct client_opened opened;
    assert_int_equal(run_rounds(&c, "first", "--rounds=1"), 0);
    OK(client_new(&client, c.netio, c.s.study, c.me, run, &quiet));
    OK(client_open(client, &opened));
    assert_int_equal(run_into(&c, "first"), 0);
}

/* A server with a damaged disk says so to the analyst, and names the owners of the rows. */
TEST(an_upload_that_is_damaged_is_told)
{
    struct turns_scene c CLEAN(scene_free) = scene_new(NULL);
    support_alter(&c.s, 1, "UPDATE uploads SET sealed = zeroblob(200)");
    assert_int_not_equal(run_into(&c, "out"), 0);
    file_says(file(&c, "out.log"), "the upload of o0 cannot be read here; this server's log says");
    file_says(file(&c, "server1.log"),
              "the upload of owner 0 on disk does not unseal; restore a backup");
}

static void start_again(struct turns_scene *c)
{
    c->server[1] = support_serve_ready(&c->s, 1, c->s.path);
}

/*
 * A server that only lacks the last debit, because it was restored from a backup and did not crash,
 * takes it over with trefoil recover and not from a neighbour in a session.
 */
TEST(a_debit_that_was_not_staged_needs_a_recovery)
{
    struct turns_scene c CLEAN(scene_free) = scene_new(NULL);
    assert_int_equal(run_rounds(&c, "first", "--rounds=1"), 0);
    EXPECT(0, file(&c, "backup.log"), 30, "backup", file(&c, "server1"), file(&c, "backup"));
    assert_int_equal(run_rounds(&c, "first", "--rounds=2"), 0);
    assert_int_equal(support_stop(&c.server[1]), 0);
    assert_int_equal(rename(file(&c, "server1"), file(&c, "lost1")), 0);
    EXPECT(0, file(&c, "backup.log"), 30, "restore", file(&c, "backup"), file(&c, "server1"));
    start_again(&c);
    ENDS(run_into(&c, "second"), 3, file(&c, "second.log"),
         "that its privacy ledger had 3 debits; now it signs that it has 2;");
    assert_int_equal(unlink(file(&c, "a.test.heads")), 0); /* somebody who has not seen it */
    ENDS(run_into(&c, "third"), 3, file(&c, "third.log"), ", which server 1 has not prepared");
    file_says(file(&c, "third.log"), "run trefoil recover STUDY --key KEY");
    assert_int_equal(support_stop(&c.server[1]), 0);
    EXPECT(0, file(&c, "recover.log"), 30, "recover", c.s.path, "--key", file(&c, "s1.key"),
           "--folder", file(&c, "server1"));
    start_again(&c);
    assert_int_equal(run_into(&c, "third"), 5);
}

/* It is sent in pieces: 40000 estimates of 8 bytes. */
TEST(a_request_may_be_long)
{
    struct turns_scene c CLEAN(scene_free) = scene_new(
        "domain:\n"
        "  - {name: x, kind: integer, min: 0, max: 199}\n"
        "  - {name: y, kind: integer, min: 0, max: 199}\n");
    assert_in_range(c.s.study->workload->cells * 8, MESSAGE_PART_MAX, SIZE_MAX);
    assert_int_equal(run_into(&c, "out"), 0);
}
