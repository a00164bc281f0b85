/*
 * A run belongs to its analyst: others who learn its number (from a server's audit log, or from
 * what servers say about a spent budget) can neither ask for it, nor end its session, nor keep its
 * place, while the roster lists the analyst who began it.
 */
#include "harness/cmocka.h"

#include "harness/process.h"
#include "parties/exchange/client.h"
#include "parties/exchange/price.h"
#include "tests/support/store.h"

#define CONNECT_S support_slow(3)

static char logged[4096];

struct whose_run_scene {
    struct support_study s;
    struct study *study; /* with a second analyst, b */
    char path[SUPPORT_PATH];
    pid_t server[STUDY_SERVERS_MOST];
    struct identity *me[2]; /* a and b */
    struct netio *netio;
    struct log log;
};

#define TREFOIL(c, ...) ANEW(file(c, "said.log"), 60, __VA_ARGS__)

static struct whose_run_scene scene_new(void)
{
    char key[IDENTITY_TEXT_SIZE], analysts[IDENTITY_TEXT_SIZE + 64];
    struct whose_run_scene c = {
        .log = {.buffer = logged, .buffer_size = sizeof logged, .level = LOG_ERROR}};
    logged[0] = '\0';
    c.s = STUDY(&quiet, .owners = 1, .round_s = 5, .connect_s = CONNECT_S);
    assert_int_equal(TREFOIL(&c, "keygen", file(&c, "b.key")), 0);
    OK(identity_load(&c.me[0], file(&c, "a.key"), &quiet));
    OK(identity_load(&c.me[1], file(&c, "b.key"), &quiet));
    public_identity_text(&c.me[1]->public, key);
    snprintf(analysts, sizeof analysts, "analysts:\n  - name: b\n    key: %s\n", key);
    support_study_file(&c.s, "two.yaml", c.path);
    assert_true(
        support_edit(c.s.path, c.path, (const char *const[]){"analysts:\n", analysts, NULL}));
    OK(study_load(&c.study, c.path, &quiet));
    assert_true(support_serve_all(&c.s, c.path, c.server));
    OK(support_csv(file(&c, "o0.csv"), c.study->domain, 400, 1));
    assert_int_equal(TREFOIL(&c, "share", c.path, file(&c, "o0.csv"), "--key", file(&c, "o0.key")),
                     0);
    OK(netio_new(&c.netio, &quiet));
    return c;
}

static void scene_free(struct whose_run_scene *c)
{
    netio_free(&c->netio);
    identity_free(&c->me[0]);
    identity_free(&c->me[1]);
    study_free(&c->study);
    assert_true(support_stop_all(c->server));
    support_study_free(&c->s);
}

/* --- what was spent --------------------------------------------------------------------------- */

static void spent(struct whose_run_scene *c, int expected)
{
    char debits[32];
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        support_ask_store(&c->s, i, "SELECT COUNT(*) FROM ledger", debits, sizeof debits);
        assert_int_equal(atoi(debits), expected);
    }
}

/* The run's number in server 0's audit log, which anybody can read. */
static void run_number(struct whose_run_scene *c, char hex[2 * REQUEST_RUN_SIZE + 1])
{
    struct bytes text CLEAN(bytes_clear) = {0};
    OK(file_read(file(c, "server0/audit.log"), 1 << 20, &text, &quiet));
    bytes_put_u8(&text, 0);
    const char *at = strstr((const char *)text.data, " open run ");
    assert_non_null(at);
    snprintf(hex, 2 * REQUEST_RUN_SIZE + 1, "%s", at + 10);
}

/* --- steps of a run --------------------------------------------------------------------------- */

/* The one-ways with which a run begins, as planned with `left` of the budget. */
static void first_request(struct whose_run_scene *c, const uint8_t run[REQUEST_RUN_SIZE],
                          double left, struct bytes *bytes)
{
    struct request r CLEAN(request_clear) = {.ask.kind = ASK_MEASURE};
    struct study planned = *c->study;
    struct price_first first;
    planned.left = left;
    OK(price_first(&planned, &first));
    memcpy(r.run, run, sizeof r.run);
    r.ask.multiplier = first.one_ways;
    r.ask.queries = (uint32_t)c->study->workload->one_ways;
    r.ask.query = memory_array(r.ask.queries, sizeof *r.ask.query);
    for (uint32_t k = 0; k < r.ask.queries; k++)
        r.ask.query[k] = k;
    bytes_clear(bytes);
    OK(request_write(&r, bytes));
}

static void measure(const uint8_t run[REQUEST_RUN_SIZE], uint32_t sequence, uint32_t query,
                    struct bytes *bytes)
{
    struct request r = {
        .sequence = sequence,
        .ask = {.kind = ASK_MEASURE, .queries = 1, .query = &query, .multiplier = 4096}};
    memcpy(r.run, run, sizeof r.run);
    bytes_clear(bytes);
    OK(request_write(&r, bytes));
}

static void refused(struct whose_run_scene *c, enum err e)
{
    GIVES(e, ERR_REFUSED, logged, "this run belongs to analyst a, and no other may ask for it");
    logged[0] = '\0';
}

/*
 * Before anything is paid, what matters is whose session it is; afterwards whose round it is, even
 * without a session.
 */
TEST(another_cannot_ask_for_it_or_end_it)
{
    struct whose_run_scene c CLEAN(scene_free) = scene_new();
    struct client *a CLEAN(client_free) = NULL, *b CLEAN(client_free) = NULL;
    const uint8_t run[REQUEST_RUN_SIZE] = {42};
    struct client_opened opened;
    struct net_counters stats[STUDY_SERVERS_MOST][NET_PHASES];
    struct bytes first CLEAN(bytes_clear) = {0}, other CLEAN(bytes_clear) = {0};
    struct bytes result CLEAN(bytes_clear) = {0};
    OK(client_new(&a, c.netio, c.study, c.me[0], run, &quiet));
    OK(client_new(&b, c.netio, c.study, c.me[1], run, &c.log));
    first_request(&c, run, 0, &first);
    measure(run, 0, 1, &other);
    OK(client_open(a, &opened));
    refused(&c, client_open(b, &opened));
    refused(&c, client_result(b, &other, &result));
    spent(&c, 0);
    OK(client_result(a, &first, &result)); /* its session is there */
    spent(&c, 1);
    measure(run, 1, 1, &other);
    refused(&c, client_result(b, &other, &result));
    OK(client_close(a, stats));
    refused(&c, client_open(b, &opened));
    spent(&c, 1);
    OK(client_open(a, &opened));
    assert_int_equal(opened.rounds, 1);
    measure(run, 1, 2, &first);
    OK(client_result(a, &first, &result)); /* nothing was bound in its place */
    spent(&c, 2);
}

/* Whatever an analyst's own program asks for first, nobody gets the budget for next to nothing. */
TEST(no_run_begins_with_something_else)
{
    struct whose_run_scene c CLEAN(scene_free) = scene_new();
    struct client *a CLEAN(client_free) = NULL;
    const uint8_t run[REQUEST_RUN_SIZE] = {42};
    struct client_opened opened;
    struct bytes first CLEAN(bytes_clear) = {0}, other CLEAN(bytes_clear) = {0};
    struct bytes result CLEAN(bytes_clear) = {0};
    OK(client_new(&a, c.netio, c.study, c.me[0], run, &c.log));
    first_request(&c, run, 0, &first);
    measure(run, 0, 1, &other);
    OK(client_open(a, &opened));
    assert_int_equal(client_result(a, &other, &result), ERR_REFUSED);
    support_says(logged, "a run of this study begins with all one-ways");
    spent(&c, 0);
    OK(client_open(a, &opened));
    OK(client_result(a, &first, &result));
    spent(&c, 1);
}

/* b keeps saying that a's run lives, although its program has died: its place is still free. */
TEST(another_cannot_keep_its_place)
{
    struct whose_run_scene c CLEAN(scene_free) = scene_new();
    struct client *a = NULL, *b CLEAN(client_free) = NULL;
    const uint8_t run[REQUEST_RUN_SIZE] = {42};
    struct client_opened opened;
    int code;
    OK(client_new(&a, c.netio, c.study, c.me[0], run, &quiet));
    OK(client_open(a, &opened));
    OK(client_new(&b, c.netio, c.study, c.me[1], run, &c.log));
    client_free(&a);
    double end = support_deadline(20);
    do
        code = TREFOIL(&c, "run", c.path, "--key", file(&c, "a.key"), "--out", file(&c, "out"),
                       "--wait", "0");
    while (code == 5 && support_again(end));
    assert_int_equal(code, 0);
}

/*
 * a opens one session after the other, and pays for nothing. b's program waits, and has its turn in
 * the end: then it pays.
 */
TEST(another_gets_its_turn)
{
    struct whose_run_scene c CLEAN(scene_free) = scene_new();
    const uint8_t run[REQUEST_RUN_SIZE] = {42};
    struct client *a CLEAN(client_free) = NULL;
    struct client_opened opened;
    const double limit = support_deadline(60);
    pid_t b, ended;
    int code;
    OK(client_new(&a, c.netio, c.study, c.me[0], run, &quiet));
    OK(client_open(a, &opened));
    b = support_start(file(&c, "b.log"),
                      (const char *const[]){"run", c.path, "--key", file(&c, "b.key"), "--out",
                                            file(&c, "out"), NULL});
    while ((ended = waitpid(b, &code, WNOHANG)) == 0 && support_again(limit))
        (void)!client_open(a, &opened);
    if (ended == 0)
        support_kill(&b);
    assert_true(ended == b && WIFEXITED(code) && WEXITSTATUS(code) == 0);
    file_says(file(&c, "b.log"), "another run, of analyst a, is in progress");
}

/* --- handing over ----------------------------------------------------------------------------- */

static int go_on(struct whose_run_scene *c, const char *study, const char *who, const char *out,
                 const char *number)
{
    return TREFOIL(c, "run", study, "--key", file(c, "%s.key", who), "--out", file(c, "%s", out),
                   "--continue", number, "--wait", "0");
}

/* Servers with a roster that revokes a's key. */
static const char *leave_a_out(struct whose_run_scene *c)
{
    const char *const amended = file(c, "amended.yaml");
    char key[IDENTITY_TEXT_SIZE], revoked[IDENTITY_TEXT_SIZE + 64];
    assert_true(support_stop_all(c->server));
    public_identity_text(&c->me[0]->public, key);
    snprintf(revoked, sizeof revoked, "roster: 2\nrevoked: [%s]\nstudy: test\n", key);
    assert_true(
        support_edit(c->path, amended, (const char *const[]){"study: test\n", revoked, NULL}));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(TREFOIL(c, "roster", "sign", amended, "--key", file(c, "s%u.key", i)), 0);
    assert_true(support_serve_all(&c->s, amended, c->server));
    return amended;
}

/* Once the roster no longer lists a. */
TEST(a_run_is_handed_over_by_the_roster)
{
    struct whose_run_scene c CLEAN(scene_free) = scene_new();
    char number[2 * REQUEST_RUN_SIZE + 1];
    assert_int_equal(TREFOIL(&c, "run", c.path, "--key", file(&c, "a.key"), "--out",
                             file(&c, "out"), "--rounds", "1"),
                     0);
    run_number(&c, number);
    spent(&c, 2);
    assert_int_equal(go_on(&c, c.path, "b", "taken", number), 5);
    file_says(file(&c, "said.log"), "this run belongs to analyst a");
    spent(&c, 2);
    assert_int_equal(go_on(&c, leave_a_out(&c), "b", "taken", number), 0);
    spent(&c, 4);
}

static int run_of_b(struct whose_run_scene *c, const char *study, const char *out)
{
    return TREFOIL(c, "run", study, "--key", file(c, "b.key"), "--out", file(c, "%s", out),
                   "--wait", "0");
}

/* a pays for one-ways and leaves. Once the roster leaves a out, b has what a did not spend. */
TEST(another_run_begins_with_what_is_left)
{
    struct whose_run_scene c CLEAN(scene_free) = scene_new();
    const uint8_t run[REQUEST_RUN_SIZE] = {42};
    struct client_opened opened;
    struct net_counters stats[STUDY_SERVERS_MOST][NET_PHASES];
    struct bytes first CLEAN(bytes_clear) = {0}, result CLEAN(bytes_clear) = {0};
    char left[32];
    struct client *a = MADE(client, client_new, c.netio, c.study, c.me[0], run, &quiet);
    OK(client_open(a, &opened));
    assert_true(opened.may && !(opened.left > 0));
    first_request(&c, run, 0, &first);
    OK(client_result(a, &first, &result));
    OK(client_close(a, stats));
    OK(client_open(a, &opened));
    assert_true(opened.may && !(opened.left > 0)); /* its own run goes on as it began */
    snprintf(left, sizeof left, "%.17g", opened.remaining);
    client_free(&a);
    while (run_of_b(&c, c.path, "out") == 5 && /* a's place is still taken */
           support_contains(file(&c, "said.log"), "another run, of analyst a, is in progress"))
        ;
    file_says(file(&c, "said.log"), "an earlier run spent the rest");
    spent(&c, 1);
    const char *amended = leave_a_out(&c);
    assert_int_equal(TREFOIL(&c, "plan", amended, "--left", left), 0);
    file_says(file(&c, "said.log"), "to which earlier ones left a rho of");
    assert_int_equal(run_of_b(&c, amended, "out"), 0);
    file_says(file(&c, "said.log"), "earlier runs left this one a rho of");
    assert_int_equal(run_of_b(&c, amended, "out"), 0); /* nothing more to do */
    spent(&c, 5);
    ENDS(run_of_b(&c, amended, "more"), 5, file(&c, "said.log"), "an earlier run spent the rest");
    assert_int_equal(TREFOIL(&c, "audit", file(&c, "server0/audit.log"),
                             file(&c, "server1/audit.log"), file(&c, "server2/audit.log"),
                             "--study", amended),
                     0);
}
