/*
 * A study with approvers: nothing is opened or debited without their warrant, whatever the
 * analyst's program and one server do; and what it permits is all that is ever spent.
 */
#include "harness/cmocka.h"

#include "base/date.h"
#include "harness/process.h"
#include "parties/audit/audit_compare.h"
#include "parties/exchange/client.h"
#include "parties/exchange/price.h"
#include "tests/support/store.h"

#define APPROVERS 3

/* In a server that lies: it takes every OPEN and debit as permitted. */
static bool permits;

__typeof__(warrant_check) __real_warrant_check, __wrap_warrant_check;
enum err __wrap_warrant_check(const struct warrant *w, const struct study *study,
                              const uint8_t analyst[32], struct log *log)
{
    return permits ? ERR_OK : __real_warrant_check(w, study, analyst, log);
}

__typeof__(warrant_allows) __real_warrant_allows, __wrap_warrant_allows;
enum err __wrap_warrant_allows(const struct warrant *w, double spent, double rho, uint32_t today,
                               struct log *log)
{
    return permits ? ERR_OK : __real_warrant_allows(w, spent, rho, today, log);
}

static char logged[4096];

struct warrants_scene {
    struct support_study s; /* s.study and s.path are those with approvers, at least 2 of 3 */
    pid_t server[STUDY_SERVERS_MOST];
    struct identity *me, *approver[APPROVERS];
    struct log log;
};

#define TREFOIL(c, ...) ANEW(file(c, "said.log"), 60, __VA_ARGS__)

static void add_approvers(struct warrants_scene *c)
{
    struct bytes lines CLEAN(bytes_clear) = {0};
    bytes_put_text(&lines, "approvers:\n  at_least: 2\n  people:\n");
    for (unsigned i = 0; i < APPROVERS; i++) {
        char key[IDENTITY_TEXT_SIZE], line[IDENTITY_TEXT_SIZE + 64];
        assert_int_equal(TREFOIL(c, "keygen", file(c, "p%u.key", i)), 0);
        OK(identity_load(&c->approver[i], file(c, "p%u.key", i), &quiet));
        public_identity_text(&c->approver[i]->public, key);
        snprintf(line, sizeof line, "    - {name: p%u, key: %s}\n", i, key);
        bytes_put_text(&lines, line);
    }
    bytes_put_text(&lines, "analysts:\n");
    bytes_put_u8(&lines, 0);
    OK(bytes_ok(&lines));
    OK(support_copy(c->s.path, file(c, "first.yaml")));
    assert_true(support_edit(file(c, "first.yaml"), c->s.path,
                             (const char *const[]){"analysts:\n", (char *)lines.data, NULL}));
    study_free(&c->s.study);
    OK(study_load(&c->s.study, c->s.path, &quiet));
}

static void send_rows(struct warrants_scene *c)
{
    OK(support_csv(file(c, "o0.csv"), c->s.study->domain, 400, 1));
    assert_int_equal(TREFOIL(c, "share", c->s.path, file(c, "o0.csv"), "--key", file(c, "o0.key")),
                     0);
}

static struct warrants_scene scene_of(bool two, const char *more, const char *train)
{
    struct warrants_scene c = {
        .log = {.buffer = logged, .buffer_size = sizeof logged, .level = LOG_ERROR}};
    logged[0] = '\0';
    c.s = STUDY(&quiet, .owners = 1, .rounds = 8, .two = two, .round_s = 20, .connect_s = 20,
                .more = more, .train = train);
    add_approvers(&c);
    OK(identity_load(&c.me, file(&c, "a.key"), &quiet));
    return c;
}

static struct warrants_scene scene_new(void)
{
    return scene_of(false, NULL, NULL);
}

static void scene_free(struct warrants_scene *c)
{
    identity_free(&c->me);
    for (unsigned i = 0; i < APPROVERS; i++)
        identity_free(&c->approver[i]);
    assert_true(support_stop_all(c->server));
    support_study_free(&c->s);
}

/* A warrant by the first `count` approvers. */
static struct warrant made(const struct warrants_scene *c, uint32_t share, const char *until,
                           unsigned count)
{
    struct warrant w = {.share = share, .purpose = "A test"};
    memcpy(w.terms, c->s.study->terms.digest, 32);
    memcpy(w.analyst, c->me->public.sign, 32);
    assert_true(date_parse_day(until, &w.last_day));
    for (unsigned i = 0; i < count; i++)
        OK(warrant_sign(&w, c->s.study, c->approver[i], &quiet));
    return w;
}

static void spent(struct warrants_scene *c, int expected)
{
    char debits[32];
    for (unsigned i = 0; i < c->s.study->servers; i++) {
        support_ask_store(&c->s, i, "SELECT COUNT(*) FROM ledger", debits, sizeof debits);
        assert_int_equal(atoi(debits), expected);
    }
}

static void nothing_opened(struct warrants_scene *c)
{
    for (unsigned i = 0; i < c->s.study->servers; i++) {
        struct audit_file *log CLEAN(audit_file_free) = NULL;
        OK(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet));
        for (size_t k = 0; k < log->entries; k++)
            assert_int_not_equal(log->entry[k].kind, AUDIT_OPEN);
    }
    spent(c, 0);
}

/* --- an analyst's program that checks nothing ------------------------------------------------- */

static void first_request(const struct warrants_scene *c, const uint8_t run[REQUEST_RUN_SIZE],
                          struct bytes *bytes)
{
    struct request r CLEAN(request_clear) = {.ask.kind = ASK_MEASURE};
    struct price_first first;
    OK(price_first(c->s.study, &first));
    memcpy(r.run, run, sizeof r.run);
    r.ask.multiplier = first.one_ways;
    r.ask.queries = (uint32_t)c->s.study->workload->one_ways;
    r.ask.query = memory_array(r.ask.queries, sizeof *r.ask.query);
    for (uint32_t k = 0; k < r.ask.queries; k++)
        r.ask.query[k] = k;
    OK(request_write(&r, bytes));
}

/* As a later program would have written it. */
static bool of_later;

__typeof__(warrant_write) __real_warrant_write, __wrap_warrant_write;
enum err __wrap_warrant_write(const struct warrant *w, struct bytes *out)
{
    const size_t before = out->size;
    const enum err e = __real_warrant_write(w, out);
    if (e == ERR_OK && of_later)
        out->data[before + 16] = '2';
    return e;
}

/*
 * Asks for the first round by this warrant, or none: what the servers say. The links end with it,
 * and their threads: with_liar() forks.
 */
static enum err ask(struct warrants_scene *c, const struct warrant *w)
{
    const uint8_t run[REQUEST_RUN_SIZE] = {42};
    struct netio *netio CLEAN(netio_free) = NULL;
    struct client *client CLEAN(client_free) = NULL;
    struct client_opened opened;
    struct bytes first CLEAN(bytes_clear) = {0}, result CLEAN(bytes_clear) = {0};
    logged[0] = '\0';
    first_request(c, run, &first);
    OK(netio_new(&netio, &quiet));
    OK(client_new(&client, netio, c->s.study, c->me, run, &c->log));
    client_permit(client, w);
    TRY(client_open(client, &opened));
    return client_result(client, &first, &result);
}

static void refused(struct warrants_scene *c, const struct warrant *w, const char *words)
{
    GIVES(ask(c, w), ERR_REFUSED, logged, words);
}

TEST(without_a_good_warrant_nothing_is_opened)
{
    struct warrants_scene c CLEAN(scene_free) = scene_new();
    assert_true(support_serve_all(&c.s, c.s.path, c.server));
    send_rows(&c);
    refused(&c, NULL, "nothing is opened without their warrant");
    struct warrant w = made(&c, WARRANT_ALL, "9999-12-31", 1);
    refused(&c, &w, "has 1 of the 2 signatures that the study asks for; not by p1, p2");
    w = made(&c, WARRANT_ALL, "9999-12-31", 2);
    w.share--;
    refused(&c, &w, "signature of p0 is not that of an approver");
    w = made(&c, WARRANT_ALL, "9999-12-31", 0);
    w.terms[0] ^= 1;
    for (unsigned i = 0; i < 2; i++)
        OK(warrant_sign(&w, c.s.study, c.approver[i], &quiet));
    refused(&c, &w, "the warrant is for another study");
    w = made(&c, WARRANT_ALL, "9999-12-31", 0);
    memcpy(w.analyst, c.approver[0]->public.sign, 32);
    for (unsigned i = 0; i < 2; i++)
        OK(warrant_sign(&w, c.s.study, c.approver[i], &quiet));
    refused(&c, &w, "the warrant is for another analyst's key");
    w = made(&c, WARRANT_ALL, "2020-02-29", 2);
    refused(&c, &w, "the warrant was good until 2020-02-29; nothing more was spent");
    w = made(&c, WARRANT_ALL, "9999-12-31", 2);
    of_later = true;
    assert_int_equal(ask(&c, &w), ERR_MISMATCH);
    of_later = false;
    support_says(logged, "the warrant is of a later trefoil than this server's");
    w = made(&c, 1, "9999-12-31", 2);
    GIVES(ask(&c, &w), ERR_BUDGET, logged, "the warrant permits 0.0001 % of the study's budget");
    nothing_opened(&c);
    w = made(&c, WARRANT_ALL, "9999-12-31", 2); /* and all of that was why */
    OK(ask(&c, &w));
    spent(&c, 1);
}

/* One takes everything as permitted; another does not. */
static void with_liar(unsigned liar, bool two)
{
    struct warrants_scene c CLEAN(scene_free) = scene_of(two, NULL, NULL);
    for (unsigned i = 0; i < c.s.study->servers; i++) {
        if (i != liar) {
            c.server[i] = support_serve(&c.s, i, c.s.path);
        } else if ((c.server[i] = fork()) == 0) {
            permits = true;
            support_serve_here(&c.s, i);
        }
    }
    for (unsigned i = 0; i < c.s.study->servers; i++)
        assert_true(support_wait_for(file(&c, "server%u.log", i), "is ready", 60));
    send_rows(&c);
    assert_int_not_equal(ask(&c, NULL), ERR_OK);
    struct warrant w = made(&c, WARRANT_ALL, "2020-02-29", 2);
    assert_int_not_equal(ask(&c, &w), ERR_OK);
    w = made(&c, 1, "9999-12-31", 3);
    assert_int_not_equal(ask(&c, &w), ERR_OK);
    nothing_opened(&c);
    w = made(&c, WARRANT_ALL, "9999-12-31", 3);
    OK(ask(&c, &w));
    support_kill(&c.server[liar]);
}

TEST(a_server_that_goes_on_without_goes_alone)
{
    with_liar(0, false);
    with_liar(2, false);
    with_liar(1, true);
}

/* --- as people do it -------------------------------------------------------------------------- */

static int run(struct warrants_scene *c, const char *out, const char *warrant)
{
    return TREFOIL(c, "run", c->s.path, "--key", file(c, "a.key"), "--out", file(c, "%s", out),
                   "--wait", "0", "--quick", warrant != NULL ? "--warrant" : NULL,
                   file(c, "%s", warrant != NULL ? warrant : ""));
}

static void approve(struct warrants_scene *c, const char *path, const char *share)
{
    assert_int_equal(TREFOIL(c, "approve", c->s.path, "--to", file(c, "%s", path), "--analyst", "a",
                             "--share", share, "--until", "9999-12-31", "--purpose",
                             "Wards, \xc3\xbc"
                             "ber 2026",
                             "--key", file(c, "p0.key")),
                     0);
    assert_int_equal(
        TREFOIL(c, "approve", c->s.path, "--to", file(c, "%s", path), "--key", file(c, "p2.key")),
        0);
}

static int audit(struct warrants_scene *c)
{
    return TREFOIL(c, "audit", file(c, "server0/audit.log"), file(c, "server1/audit.log"),
                   file(c, "server2/audit.log"), "--study", c->s.path);
}

/*
 * A share is a ceiling for all runs, restarts and warrants together: a run ends at it with a
 * result; another run, or another warrant of that share, adds nothing; a larger one lets it go on.
 */
TEST(the_share_is_a_ceiling)
{
    struct warrants_scene c CLEAN(scene_free) = scene_new();
    assert_true(support_serve_all(&c.s, c.s.path, c.server));
    send_rows(&c);
    assert_int_equal(TREFOIL(&c, "plan", c.s.path), 0);
    EACH(file_says, file(&c, "said.log"), "a warrant of 2 of 3 approvers", "34.6150 %, which");
    assert_int_equal(TREFOIL(&c, "check", c.s.path, "--key", file(&c, "p1.key")), 0);
    EACH(file_says, file(&c, "said.log"), "without a warrant that 2 of these 3 have signed",
         "You are the approver p1.");
    approve(&c, "some", "50%");
    file_says(file(&c, "said.log"), "  signed   p0\n  lacks    p1\n  signed   p2\n");
    ENDS(run(&c, "out", NULL), 5, file(&c, "said.log"), "nothing is opened without their warrant");
    assert_int_equal(run(&c, "out", "some"), 0);
    EACH(file_says, file(&c, "said.log"), "permits 50.0000 % of the study's budget",
         "what may still be spent is too little for another round: the run ends with round 1 of 8",
         "rho 0.01042 of 0.02436 is spent; 0.014 is left, too little for a run or beyond its "
         "warrant");
    assert_true(support_stop_all(c.server));
    assert_true(support_serve_all(&c.s, c.s.path, c.server));
    approve(&c, "again", "49.9999");
    assert_int_equal(run(&c, "out", "some"), 0);
    assert_int_equal(run(&c, "out", "again"), 0);
    assert_int_equal(run(&c, "other", "some"), 5);
    spent(&c, 2);
    approve(&c, "all", "100%");
    assert_int_equal(run(&c, "out", "all"), 0);
    spent(&c, 9);
    assert_int_equal(audit(&c), 0);
    EACH(file_says, file(&c, "said.log"), "for 50.0000 % of the budget, until 9999-12-31: Wards,",
         "signed by p0, p2", "for 100.0000 % of the budget");
}

/* A run that ends at its warrant is not over, and is assessed when it is. */
TEST(what_a_warrant_ends_is_not_assessed)
{
    struct warrants_scene c CLEAN(scene_free) = scene_of(false, "assess: 0.05\n", NULL);
    assert_true(support_serve_all(&c.s, c.s.path, c.server));
    send_rows(&c);
    approve(&c, "some", "50%");
    approve(&c, "all", "100%");
    ENDS(run(&c, "out", "some"), 0, file(&c, "said.log"), "the run ends with round 2 of 8");
    assert_false(support_contains(file(&c, "said.log"), "assess"));
    assert_int_equal(run(&c, "out", "all"), 0);
    EACH(file_says, file(&c, "said.log"), "\n8/8 ", "Assessed at the end of the run");
    assert_int_equal(audit(&c), 0);
}

/* Nor is a classifier tested; the step that was refused comes first. */
TEST(a_classifier_that_a_warrant_ends_goes_on)
{
    struct warrants_scene c CLEAN(scene_free) = scene_of(
        false, NULL,
        "method: train\ntrain: {target: died, steps: 10, test: {column: sex, value: f}}\n");
    assert_true(support_serve_all(&c.s, c.s.path, c.server));
    send_rows(&c);
    approve(&c, "some", "50%");
    approve(&c, "all", "100%");
    assert_int_equal(run(&c, "out", "some"), 0);
    EACH(file_says, file(&c, "said.log"), "no room for step 6 of 10: the run ends here",
         "wrote report.html, classifier.json");
    ENDS(run(&c, "out", "all"), 0, file(&c, "said.log"), "\ntest: about ");
    assert_int_equal(audit(&c), 0);
}

/* Whoever signs has seen what, whatever comes of it; a key that has expired signs nothing. */
TEST(approvers_see_what_they_sign)
{
    struct warrants_scene c CLEAN(scene_free) = scene_new();
    struct identity *late CLEAN(identity_free) = NULL;
    char was[IDENTITY_TEXT_SIZE], is[IDENTITY_TEXT_SIZE];
    struct bytes before CLEAN(bytes_clear) = {0}, after CLEAN(bytes_clear) = {0};
    approve(&c, "w", "50%");
    OK(file_read(file(&c, "w"), WARRANT_TEXT_MOST, &before, &quiet));
    OK(identity_renew(&late, c.approver[1], date_today() - 1, &quiet));
    OK(identity_save(late, file(&c, "late.key"), true, &quiet));
    public_identity_text(&c.approver[1]->public, was);
    public_identity_text(&late->public, is);
    assert_true(
        support_edit(c.s.path, file(&c, "late.yaml"), (const char *const[]){was, is, NULL}));
    assert_int_equal(TREFOIL(&c, "approve", file(&c, "late.yaml"), "--to", file(&c, "w"), "--key",
                             file(&c, "late.key")),
                     3);
    EACH(file_says, file(&c, "said.log"), "analyst  a, ", "purpose  Wards",
         "the key of p1 was good until ");
    /* nor by a roster that the servers have not signed: it says whose key `a` is */
    assert_true(support_edit(c.s.path, file(&c, "late.yaml"),
                             (const char *const[]){"study:", "roster: 2\nstudy:", NULL}));
    ENDS(TREFOIL(&c, "approve", file(&c, "late.yaml"), "--to", file(&c, "w"), "--key",
                 file(&c, "p1.key")),
         3, file(&c, "said.log"), "is not signed by server s0");
    OK(file_read(file(&c, "w"), WARRANT_TEXT_MOST, &after, &quiet));
    SAME_BYTES(&before, after.data, after.size);
}
