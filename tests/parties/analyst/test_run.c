/*
 * The analyst's end of a run: what it keeps in its folder (parties/analyst/run_state.c), and what
 * it makes of the servers' answers (parties/analyst/remote.c), which the test gives itself.
 */
#include "harness/cmocka.h"

#include "aim/budget/forms.h"
#include "base/digest.h"
#include "base/hash.h"
#include "harness/process.h"
#include "parties/analyst/release.h"
#include "parties/analyst/remote.h"
#include "parties/command/methods.h"
#include "tests/support/gates.h"

#include <pthread.h>

#define STEPS 32
#define RHO 0.5

/* The answer of all three servers to one request. */
struct run_step {
    enum err status;
    const char *text;
    struct bytes payload;
    bool same; /* from all three; otherwise servers 1 and 2 give its digest */
};

struct run_scene {
    struct support_study s;
    struct identity *analyst;
    struct netio *netio;
    struct gates *gates;
    struct run_state *state;
    struct client *client;
    struct remote remote;
    pthread_mutex_t lock; /* of what follows */
    struct run_step step[STEPS];
    size_t steps, at[STUDY_SERVERS_MOST];
    char words[4096];
    struct log log;
};

static struct run_scene *scene_new(void)
{
    struct run_scene *c = memory_array(1, sizeof *c);
    assert_non_null(c);
    pthread_mutex_init(&c->lock, NULL);
    c->log = (struct log){.buffer = c->words, .buffer_size = sizeof c->words, .level = LOG_WARN};
    c->s = STUDY(&c->log, .owners = 1, .rounds = 2, .connect_s = support_slow(3), .round_s = 1);
    OK(file_folder(file(c, "out"), &c->log));
    return c;
}

static void clear_steps(struct run_scene *c)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->steps; i++)
        bytes_clear(&c->step[i].payload);
    c->steps = 0;
    memset(c->at, 0, sizeof c->at);
    c->words[0] = '\0';
    pthread_mutex_unlock(&c->lock);
}

static void scene_free(struct run_scene **scene)
{
    struct run_scene *c = *scene;
    client_free(&c->client);
    run_state_close(&c->state);
    gates_free(&c->gates);
    netio_free(&c->netio);
    identity_free(&c->analyst);
    clear_steps(c);
    pthread_mutex_destroy(&c->lock);
    support_study_free(&c->s);
    memory_free(scene);
}

static enum err open_state(struct run_scene *c, const uint8_t *lost)
{
    c->words[0] = '\0';
    return run_state_open(&c->state, file(c, "out"), c->s.study, lost, &c->log);
}

/* --- the folder ------------------------------------------------------------------------------- */

/* A request for two one-ways. */
static void ask_for(struct run_scene *c, uint32_t round, uint64_t multiplier, enum err expected)
{
    const struct bytes *bytes = NULL;
    uint32_t query[] = {0, 1};
    const struct ask a = {.kind = ASK_MEASURE,
                          .round = round,
                          .queries = 2,
                          .query = query,
                          .multiplier = multiplier};
    assert_int_equal(run_state_request(c->state, &a, &bytes), expected);
    assert_true(bytes->size > 0);
}

static void expect_refused(struct run_scene *c, enum err expected, const char *words)
{
    assert_int_equal(open_state(c, NULL), expected);
    assert_null(c->state);
    support_says(c->words, words);
}

/* The content of a run's file after it has asked for its first round. */
static void state_of_one_round(struct run_scene *c, char path[SUPPORT_PATH], struct bytes *whole)
{
    support_study_file(&c->s, "out/run.state", path);
    OK(open_state(c, NULL));
    ask_for(c, 0, 1000, ERR_OK);
    run_state_close(&c->state);
    OK(file_read(path, 1 << 20, whole, &c->log));
}

TEST(a_state_that_was_cut_or_altered_is_refused)
{
    struct run_scene *c CLEAN(scene_free) = scene_new();
    struct bytes whole CLEAN(bytes_clear) = {0};
    char path[SUPPORT_PATH];
    state_of_one_round(c, path, &whole);
    for (size_t i = 0; i < whole.size; i += 3) {
        OK(file_write(path, 0600, whole.data, i, &c->log));
        expect_refused(c, ERR_FORMAT, "run.state is ");
        whole.data[i] ^= 1;
        OK(file_write(path, 0600, whole.data, whole.size, &c->log));
        expect_refused(c, ERR_FORMAT, "run.state is ");
        whole.data[i] ^= 1;
    }
    OK(file_write(path, 0600, whole.data, whole.size, &c->log));
    OK(open_state(c, NULL));
    assert_true(run_state_begun(c->state));
    run_state_close(&c->state);
}

/* The first n bytes of a file, with a correct digest. */
static void write_state(const char *path, const struct bytes *from, size_t n)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    bytes_put(&out, from->data, n);
    digest_append(&out);
    OK(file_write(path, 0600, out.data, out.size, NULL));
}

/* From another version of the program, say: whole, but not readable. */
TEST(a_state_of_another_form_is_refused)
{
    struct run_scene *c CLEAN(scene_free) = scene_new();
    struct bytes whole CLEAN(bytes_clear) = {0};
    char path[SUPPORT_PATH];
    state_of_one_round(c, path, &whole);
    size_t n = whole.size - DIGEST_SIZE;
    for (size_t i = 0; i < n; i++) {
        write_state(path, &whole, i);
        expect_refused(c, ERR_FORMAT, "is cut or altered");
    }
    whole.data[12]++; /* the number of the form */
    write_state(path, &whole, n);
    expect_refused(c, ERR_FORMAT, "its format is trefoil-run-5, and this one");
    whole.data[12]--;
    whole.data[14 + 32 + 16 + 8 + 2 * 4 +
               4]++; /* the version of the request, which is then invalid */
    write_state(path, &whole, n);
    OK(open_state(c, NULL));
    ask_for(c, 0, 1000, ERR_MISMATCH);
    support_says(c->words, "continue with the version of trefoil that began this run");
    run_state_close(&c->state);
}

/* Without what it opened, a run would take another look instead of the round it asked for. */
TEST(a_run_keeps_its_look)
{
    const struct bytes *bytes = NULL;
    const struct ask look = {.kind = ASK_LOOK, .multiplier = 1000};
    struct run_scene *c CLEAN(scene_free) = scene_new();
    c->s.study->link.min_linked = 5;
    OK(open_state(c, NULL));
    OK(run_state_request(c->state, &look, &bytes));
    run_state_close(&c->state);
    OK(open_state(c, NULL));
    ask_for(c, 0, 1000, ERR_OK);
    run_state_close(&c->state);
    expect_refused(c, ERR_DATA, "look.state is gone: this run cannot go on from here. Its answers");
    OK(file_write(file(c, "out/look.state"), 0600, "", 0, NULL));
    OK(open_state(c, NULL));
    run_state_close(&c->state);
}

TEST(a_folder_has_one_run_of_one_study)
{
    static const uint8_t other_run[REQUEST_RUN_SIZE] = {7};
    struct run_state *second = NULL;
    struct run_scene *c CLEAN(scene_free) = scene_new();
    struct study *other CLEAN(study_free) = NULL;
    OK(open_state(c, NULL));
    GIVES(run_state_open(&second, file(c, "out"), c->s.study, NULL, &c->log), ERR_REFUSED, c->words,
          "another trefoil run works in");
    ask_for(c, 0, 1000, ERR_OK);
    ask_for(c, 0, 1000, ERR_OK);
    ask_for(c, 0, 1001, ERR_MISMATCH); /* the same round, with another request */
    support_says(c->words, "round 0 was asked before for other marginals");
    ask_for(c, 1, 1000, ERR_OK);
    run_state_close(&c->state);

    /* only the last request may be repeated, or the one before, whose answer may be lost */
    OK(open_state(c, NULL));
    ask_for(c, 0, 1000, ERR_OK);
    ask_for(c, 1, 1001, ERR_MISMATCH);
    ask_for(c, 2, 1000, ERR_OK);
    ask_for(c, 1, 1000, ERR_OK);
    ask_for(c, 0, 1000, ERR_DATA);
    support_says(c->words, "loop.state is older than");
    run_state_close(&c->state);

    /* the loop's state is gone, and then the other way round */
    expect_refused(c, ERR_DATA, "loop.state is gone: this run cannot go on from here. Its answers");
    assert_int_equal(rename(file(c, "out/run.state"), file(c, "out/loop.state")), 0);
    expect_refused(c, ERR_DATA, "run.state is gone: this run cannot go on from here. Its answers");
    assert_int_equal(rename(file(c, "out/loop.state"), file(c, "out/run.state")), 0);
    assert_int_equal(open_state(c, other_run), ERR_MISMATCH);
    support_says(c->words, "belongs to another run than the one that --continue names");
    assert_true(support_edit(c->s.path, file(c, "other.yaml"),
                             (const char *const[]){"rounds: 2", "rounds: 3", NULL}));
    OK(study_load(&other, file(c, "other.yaml"), &c->log));
    assert_int_equal(run_state_open(&second, file(c, "out"), other, NULL, &c->log), ERR_MISMATCH);
    support_says(c->words, "belongs to a run of another study; use another --out");

    /* a lock that is not one */
    assert_int_equal(unlink(file(c, "out/run.lock")), 0);
    assert_int_equal(mkdir(file(c, "out/run.lock"), 0700), 0);
    expect_refused(c, ERR_SYSTEM, "run.lock: Is a directory");
    assert_int_equal(rmdir(file(c, "out/run.lock")), 0);
}

/* --- the servers ------------------------------------------------------------------------------ */

static void answer(void *self, unsigned i, const struct bytes *message, struct bytes *out)
{
    struct run_scene *c = self;
    uint8_t digest[REQUEST_DIGEST_SIZE];
    enum err e;
    if (message->data[0] == MESSAGE_ALIVE)
        return;
    pthread_mutex_lock(&c->lock);
    const struct run_step *s = &c->step[c->at[i] < c->steps ? c->at[i] : c->steps - 1];
    c->at[i]++;
    hash_bytes(s->payload.data, s->payload.size, digest);
    if (s->status != ERR_OK)
        e = reply_write(message->data[0], s->status, s->text, NULL, 0, out);
    else if (i == 0 || s->same)
        e = gates_write_answer(message->data[0], s->payload.data, s->payload.size, out);
    else
        e = gates_write_answer(message->data[0], digest, sizeof digest, out);
    pthread_mutex_unlock(&c->lock);
    OK(e);
}

static struct run_step *add_step(struct run_scene *c, enum err status, const char *text)
{
    struct run_step *s = &c->step[c->steps++];
    assert_true(c->steps <= STEPS);
    *s = (struct run_step){.status = status, .text = text};
    return s;
}

static void add_opened(struct run_scene *c, double remaining, uint32_t rounds)
{
    static const uint8_t last[REQUEST_RUN_SIZE] = {3};
    struct bytes *b = &add_step(c, ERR_OK, "")->payload;
    bytes_put_double(b, remaining);
    bytes_put(b, c->s.study->terms.digest, 32);
    bytes_put_u32(b, rounds);
    bytes_put(b, last, sizeof last);
    bytes_put_u8(b, remaining >= RHO); /* whether it may begin */
    bytes_put_double(b, remaining < RHO ? remaining : 0);
    bytes_put_u32(b, 0); /* looks */
    bytes_put_u32(b, 0); /* nobody is left out */
}

/* `head` (if any), the population, and n counts 0, 1, 2 .. */
static void add_values(struct run_scene *c, const uint64_t *head, uint64_t n)
{
    struct bytes *b = &add_step(c, ERR_OK, "")->payload;
    if (head != NULL)
        bytes_put_u64(b, *head);
    bytes_put_u64(b, 1);
    for (uint64_t i = 0; i < n; i++)
        bytes_put_u64(b, i);
}

static struct run_scene *begin(const uint8_t *lost)
{
    struct run_scene *c = scene_new();
    OK(identity_load(&c->analyst, file(c, "a.key"), &c->log));
    OK(netio_new(&c->netio, &c->log));
    gates_new(&c->gates, &c->s, &c->analyst->public, answer, c);
    OK(open_state(c, lost));
    OK(client_new(&c->client, c->netio, c->s.study, c->analyst, c->state->run, &c->log));
    c->remote = (struct remote){
        .study = c->s.study, .client = c->client, .state = c->state, .log = &c->log};
    return c;
}

/* From here on the gates' threads see all steps. */
static void hand_over(struct run_scene *c)
{
    pthread_mutex_lock(&c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* Asks the servers; the answer's values count from 0. */
static enum err ask_servers(struct run_scene *c, const struct ask *a, unsigned *lost)
{
    const struct aim_backend backend = remote_backend(&c->remote);
    struct ask_told told CLEAN(told_clear) = {0};
    hand_over(c);
    enum err e = backend.ask(backend.self, a, &told);
    *lost = told.lost;
    for (size_t i = 0; e == ERR_OK && i < told.values; i++)
        assert_int_equal(told.value[i], i);
    return e;
}

/* The first one-way, in round 0. */
static enum err measure(struct run_scene *c, unsigned *lost)
{
    uint32_t query = 0;
    return ask_servers(
        c, &(struct ask){.kind = ASK_MEASURE, .queries = 1, .query = &query, .multiplier = 1000},
        lost);
}

static enum err select_of_two(struct run_scene *c)
{
    uint64_t estimate[64] = {0};
    uint32_t query[] = {0, 1};
    const struct workload_query *all = c->s.study->workload->query;
    unsigned lost;
    return ask_servers(c,
                       &(struct ask){.kind = ASK_SELECT,
                                     .epsilon = 1,
                                     .sigma = 10,
                                     .queries = 2,
                                     .query = query,
                                     .estimates = all[0].cells + all[1].cells,
                                     .estimate = estimate,
                                     .multiplier = 1000},
                       &lost);
}

TEST(a_round_that_is_lost_is_asked_until_it_is_not)
{
    unsigned lost = 0;
    struct run_scene *c CLEAN(scene_free) = begin(NULL);
    add_opened(c, RHO, 0);
    for (unsigned i = 0; i < 2; i++) {
        add_step(c, ERR_LOST, "the noise is gone");
        add_opened(c, RHO, 0);
    }
    add_values(c, NULL, c->s.study->workload->query[0].cells);
    OK(measure(c, &lost));
    assert_int_equal(lost, 2);
    support_says(c->words, "round 0 is lost: what it took of the budget is spent");
    support_says(c->words, "it is asked anew, at the same price");
    assert_int_equal(select_of_two(c), ERR_MISMATCH); /* as the same round */
    support_says(c->words, "round 0 was asked before for other marginals");
    /* also with the program that goes on after a crash */
    run_state_close(&c->state);
    OK(open_state(c, NULL));
    assert_int_equal(c->state->asked->skipped, 2);
}

/* Pauses between tries, in a test that does not wait for them. */
static _Thread_local struct run_pauses {
    int64_t ms[STEPS];
    size_t count;
} * pauses;

void __real_clock_pause(int64_t ms), __wrap_clock_pause(int64_t ms);
void __wrap_clock_pause(int64_t ms)
{
    if (pauses == NULL) {
        __real_clock_pause(ms);
        return;
    }
    assert_true(pauses->count < STEPS);
    pauses->ms[pauses->count++] = ms;
}

/*
 * However long a server is away, it is asked again 5 s later at most: with a second for its links
 * (tests/netio/test_netio_gate.c) a server that comes back is met within 10 s.
 */
TEST(tries_are_never_more_than_five_seconds_apart)
{
    static const int64_t right[] = {500, 1000, 2000, 4000, 5000, 5000, 5000};
    const size_t tries = sizeof right / sizeof *right;
    struct run_pauses made = {.count = 0};
    struct run_scene *c CLEAN(scene_free) = begin(NULL);
    c->remote.wait_ms = INT64_C(1000) * 3600 * 24;
    for (size_t i = 0; i < tries; i++)
        add_step(c, ERR_PEER, "server 1 is away");
    add_opened(c, RHO, 0);
    hand_over(c);
    pauses = &made;
    OK(remote_begin(&c->remote));
    pauses = NULL;
    assert_int_equal(made.count, tries);
    assert_memory_equal(made.ms, right, sizeof right);
}

/*
 * A server that breaks every round must not use up the whole budget: the run stops, and goes on
 * when it is told to.
 */
TEST(a_run_that_loses_round_after_round_stops)
{
    unsigned lost = 0;
    struct run_scene *c CLEAN(scene_free) = begin(NULL);
    for (unsigned i = 0; i < 3; i++) {
        add_opened(c, RHO, 0);
        add_step(c, ERR_LOST, "round 0 stays without an answer");
    }
    GIVES(measure(c, &lost), ERR_LOST, c->words, "3 rounds in a row were lost, so the run stops");
    assert_int_equal(c->state->asked->skipped, 2);
    clear_steps(c);
    /* the same command: the third one is lost, and the fourth is not */
    add_opened(c, RHO, 0);
    add_step(c, ERR_LOST, "round 0 stays without an answer");
    add_opened(c, RHO, 0);
    add_values(c, NULL, c->s.study->workload->query[0].cells);
    OK(measure(c, &lost));
    assert_int_equal(lost, 3);
}

/* Its turn has come, and a server still has requests of those before it to answer. */
TEST(a_run_that_waited_for_its_turn_goes_on_waiting)
{
    unsigned lost = 0;
    struct run_scene *c CLEAN(scene_free) = begin(NULL);
    c->remote.wait_ms = 3600 * 1000;
    add_step(c, ERR_BUSY, "another run is in progress");
    add_step(c, ERR_AGAIN, "this server is busy with other requests, or about to end");
    add_opened(c, RHO, 0);
    add_values(c, NULL, c->s.study->workload->query[0].cells);
    OK(measure(c, &lost));
}

/*
 * A server left as it was when the run began. Once it is back rows are missing, and waiting cannot
 * help.
 */
TEST(a_run_that_lacks_rows_does_not_wait_for_long)
{
    unsigned lost = 0;
    struct run_scene *c CLEAN(scene_free) = begin(NULL);
    c->remote.wait_ms = 3600 * 1000;
    add_step(c, ERR_PEER, "server 1 closed its connection");
    for (unsigned i = 0; i < 3 + support_slow(1); i++) /* it sees at most three, in four seconds */
        add_step(c, ERR_AGAIN, "0 of 1 owners' rows are here");
    add_opened(c, RHO, 0);
    add_values(c, NULL, c->s.study->workload->query[0].cells);
    GIVES(measure(c, &lost), ERR_AGAIN, c->words, "trying again in 0.5 s, for");
}

static enum err open_forms(struct run_scene *c, int64_t factor)
{
    const size_t codes = workload_one_way_cells(c->s.study->workload);
    int64_t *u CLEAN(memory_release) = memory_array(2 * codes, sizeof *u);
    unsigned lost;
    u[0] = factor;
    return ask_servers(
        c, &(struct ask){.kind = ASK_FORMS, .round = 1, .weights = 2 * codes, .weight = u}, &lost);
}

#define REPLIES_HEAD (sizeof "trefoil-replies-2" + 32 + REQUEST_RUN_SIZE)

/* Where the reply that begins at `from` ends, without its digest. */
static size_t reply_end(const struct bytes *text, size_t from)
{
    struct reader in = reader_of(text->data + from, text->size - from);
    size_t n;
    reader_u32(&in);
    reader_block(&in, &n);
    reader_block(&in, &n);
    assert_false(in.failed);
    return text->size - in.left;
}

/* Both replies are had. */
static void check_had(struct run_scene *c, const char *path)
{
    unsigned lost;
    OK(replies_open(&c->remote.replies, path, c->s.study, c->state->run, &c->log));
    c->remote.open = false;
    OK(measure(c, &lost));
    OK(open_forms(c, 5));
    clear_steps(c);
    replies_free(&c->remote.replies);
}

/* The second is asked for again; then the file is as it was. */
static void check_goes_on(struct run_scene *c, const char *path, const struct bytes *text)
{
    struct bytes now CLEAN(bytes_clear) = {0};
    add_opened(c, RHO, 0);
    add_values(c, NULL, forms_pairs(c->s.study->workload->one_ways));
    check_had(c, path);
    OK(file_read(path, 1 << 20, &now, &c->log));
    SAME_BYTES(&now, text->data, text->size);
}

/* Two replies, cut at byte i by a crash, or with that byte altered. */
static void check_broken(struct run_scene *c, const char *path, struct bytes *text, size_t i)
{
    for (unsigned altered = 0; altered < 2; altered++) {
        struct replies *replies = NULL;
        text->data[i] ^= (uint8_t)altered;
        OK(file_write(path, 0600, text->data, altered ? text->size : i, &c->log));
        text->data[i] ^= (uint8_t)altered;
        if (i >= reply_end(text, REPLIES_HEAD) + DIGEST_SIZE) {
            check_goes_on(c, path, text);
            continue;
        }
        assert_int_equal(replies_open(&replies, path, c->s.study, c->state->run, &c->log),
                         ERR_DATA);
        assert_null(replies);
    }
}

/* The same replies as the first version wrote them; the next reply writes all of them anew. */
static void check_first_version(struct run_scene *c, const char *path, const struct bytes *text)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    const size_t end = reply_end(text, REPLIES_HEAD);
    for (unsigned both = 0; both < 2; both++) {
        bytes_set(&out, text->data, REPLIES_HEAD);
        out.data[sizeof "trefoil-replies-" - 1] = '1';
        bytes_put_u32(&out, 1 + both);
        bytes_put(&out, text->data + REPLIES_HEAD, end - REPLIES_HEAD);
        if (both)
            bytes_put(&out, text->data + end + DIGEST_SIZE, text->size - end - 2 * DIGEST_SIZE);
        write_state(path, &out, out.size);
        if (!both)
            check_goes_on(c, path, text);
    }
    check_had(c, path);
}

/* The replies to a run without a loop's state: good ones are kept, and not asked for again. */
TEST(replies_are_kept_and_had_again)
{
    struct replies *replies = NULL;
    struct run_scene *c CLEAN(scene_free) = begin(NULL);
    struct bytes text CLEAN(bytes_clear) = {0};
    unsigned lost = 0;
    uint64_t cells = c->s.study->workload->query[0].cells;
    const char *path = support_path(&c->s, "out/loop.state");
    for (unsigned k = 0; k < 3; k++) {
        OK(replies_open(&replies, path, c->s.study, c->state->run, &c->log));
        c->remote.replies = replies;
        if (k < 2) { /* one that does not fit, then one that is lost before it arrives */
            add_opened(c, RHO, 0);
            if (k == 1) {
                add_step(c, ERR_LOST, "the noise is gone");
                add_opened(c, RHO, 0);
            }
            add_values(c, NULL, cells - (k == 0));
        }
        c->remote.open = false;
        assert_int_equal(measure(c, &lost), k == 0 ? ERR_FORMAT : ERR_OK);
        assert_int_equal(lost, k > 0);
        assert_int_equal(access(path, F_OK) == 0, k > 0);
        clear_steps(c);
        if (k < 2)
            replies_free(&replies);
    }
    /* the forms are lost once: the rest of the budget is gone with them */
    add_opened(c, RHO, 0);
    add_step(c, ERR_LOST, "the noise is gone");
    assert_int_equal(open_forms(c, 5), ERR_LOST);
    support_says(c->words, "round 1 is lost, and with it all that was left of the budget");
    clear_steps(c);
    assert_int_equal(open_forms(c, 6), ERR_MISMATCH); /* other ones, as the same round */
    clear_steps(c);
    add_opened(c, RHO, 0);
    add_values(c, NULL, forms_pairs(c->s.study->workload->one_ways));
    c->remote.open = false;
    OK(open_forms(c, 5));
    clear_steps(c);
    OK(open_forms(c, 5));
    GIVES(open_forms(c, 6), ERR_MISMATCH, c->words, "has an answer to another request");
    replies_free(&replies);
    OK(file_read(path, 1 << 20, &text, &c->log));
    for (size_t i = 0; i < text.size; i += 61)
        check_broken(c, path, &text, i);
    check_first_version(c, path, &text);
    OK(file_write(path, 0600, text.data, text.size, &c->log));
    assert_int_equal(replies_open(&replies, path, c->s.study, (const uint8_t[16]){9}, &c->log),
                     ERR_DATA); /* of another run */
    text.data[sizeof "trefoil-replies-" - 1] = '9';
    OK(file_write(path, 0600, text.data, text.size, &c->log));
    assert_int_equal(replies_open(&replies, path, c->s.study, c->state->run, &c->log), ERR_FORMAT);
    support_says(c->words, "its format is trefoil-replies-9, and this one, " TREFOIL_VERSION);
    unlink(path);
    c->remote.replies = NULL;
}

static enum err open_gradient(struct run_scene *c, unsigned round, unsigned *lost)
{
    int64_t weight[5] = {3, -4, 0, 32767, (int64_t)round};
    return ask_servers(
        c,
        &(struct ask){
            .kind = ASK_GRADIENT, .round = round, .multiplier = 7, .weights = 5, .weight = weight},
        lost);
}

static enum err open_test(struct run_scene *c, unsigned round, unsigned *lost)
{
    int64_t weight[5] = {3};
    return ask_servers(
        c,
        &(struct ask){
            .kind = ASK_TEST, .round = round, .multiplier = 7, .weights = 5, .weight = weight},
        lost);
}

/* A step of a classifier, or its test, is not asked again, now or by a run that goes on. */
TEST(a_gradient_that_is_lost_is_kept_as_lost)
{
    struct replies *replies = NULL;
    unsigned lost = 0;
    struct run_scene *c CLEAN(scene_free) = begin(NULL);
    for (unsigned k = 0; k < 2; k++) {
        OK(replies_open(&replies, file(c, "out/loop.state"), c->s.study, c->state->run, &c->log));
        c->remote.replies = replies;
        if (k == 0) { /* the second time all is in the file */
            add_opened(c, RHO, 0);
            add_values(c, NULL, c->s.study->workload->query[0].cells);
            add_step(c, ERR_LOST, "the noise is gone");
            add_opened(c, RHO, 0);
            add_values(c, NULL, 5);
            add_step(c, ERR_LOST, "the noise is gone");
        }
        OK(measure(c, &lost));
        assert_int_equal(lost, 0);
        OK(open_gradient(c, 1, &lost));
        assert_int_equal(lost, 1);
        OK(open_gradient(c, 2, &lost));
        assert_int_equal(lost, 0);
        OK(open_test(c, 3, &lost));
        assert_int_equal(lost, 1);
        assert_int_equal(strstr(c->words, "the test is lost") != NULL, k == 0);
        assert_int_equal(strstr(c->words, "step 1 is lost") != NULL, k == 0);
        clear_steps(c);
        replies_free(&replies);
    }
    c->remote.replies = NULL;
    c->remote.open = false;
    c->remote.lost_steps = 0;
    for (unsigned k = 0; k < 3; k++) { /* a server that always fails does not take the budget */
        add_opened(c, RHO, 0);
        add_step(c, ERR_LOST, "the noise is gone");
        assert_int_equal(open_gradient(c, 4 + k, &lost), k < 2 ? ERR_OK : ERR_LOST);
        clear_steps(c);
    }
}

/* Answers on which the servers agree, but that do not fit. */
TEST(answers_that_do_not_fit_are_refused)
{
    const uint64_t third = 2, second = 1;
    unsigned lost = 0;
    struct run_scene *c CLEAN(scene_free) = begin(NULL);
    uint64_t cells = c->s.study->workload->query[0].cells;
    for (unsigned i = 0; i < 2; i++) {
        add_opened(c, RHO, 0);
        add_values(c, NULL, i == 0 ? cells - 1 : cells + 1);
        c->remote.open = false;
        assert_int_equal(measure(c, &lost), ERR_FORMAT);
        support_says(c->words, "the answer to round 0 does not fit what was asked");
        clear_steps(c);
    }
    scene_free(&c);
    c = begin(NULL);
    cells = c->s.study->workload->query[1].cells;
    for (unsigned i = 0; i < 4; i++) {
        add_opened(c, RHO, 0);
        if (i == 3)
            bytes_put_u32(&add_step(c, ERR_OK, "")->payload, 0);
        else
            add_values(c, i == 0 ? &third : &second, i == 1 ? cells - 1 : cells + i - 1);
        c->remote.open = false;
        assert_int_equal(select_of_two(c), ERR_FORMAT);
        support_says(c->words, "the answer to round 0 does not fit what was asked");
        clear_steps(c);
    }
    add_opened(c, RHO, 0);
    add_values(c, &second, cells);
    c->remote.open = false;
    OK(select_of_two(c));
}

/*
 * A run without the whole budget leaves the servers to others and says why, even if closing its
 * session fails.
 */
TEST(a_run_that_cannot_begin_says_why)
{
    unsigned lost = 0;
    struct run_scene *c CLEAN(scene_free) = begin(NULL);
    add_opened(c, RHO / 2, 0);
    add_step(c, ERR_SYSTEM, "no");
    assert_int_equal(measure(c, &lost), ERR_BUDGET);
    support_says(c->words, "only 0.25 of the study's budget rho is left: an earlier run");
    support_says(c->words, "--continue 03000000000000000000000000000000");
    assert_false(run_state_begun(c->state));
    assert_false(c->remote.open);
}

/* The counters of a server that has been idle. */
static void add_costs(struct run_scene *c)
{
    struct run_step *s = add_step(c, ERR_OK, "");
    s->same = true;
    for (unsigned k = 0; k < NET_PHASES; k++) {
        for (unsigned i = 0; i < 5; i++)
            bytes_put_u64(&s->payload, 0);
        bytes_put_double(&s->payload, 0);
    }
}

static enum err close_run(struct run_scene *c)
{
    struct net_counters stats[STUDY_SERVERS_MOST][NET_PHASES];
    hand_over(c);
    return remote_close(&c->remote, stats);
}

/* The servers are told once that a run has ended, by whichever program continues it. */
TEST(a_run_is_ended_once)
{
    struct run_scene *c CLEAN(scene_free) = begin(NULL);
    OK(close_run(c)); /* nothing was begun */
    ask_for(c, 0, 1000, ERR_OK);
    add_opened(c, RHO, 1);
    add_step(c, ERR_SYSTEM, "the disk is full");
    assert_int_equal(close_run(c), ERR_SYSTEM);
    assert_false(c->state->ended);
    support_says(c->words, "they say: the disk is full");
    clear_steps(c);
    c->remote.wait_ms = 10000;
    add_opened(c, RHO, 1);
    add_step(c, ERR_PEER, "a server has gone"); /* may pass */
    add_opened(c, RHO, 1);
    add_costs(c);
    OK(close_run(c));
    support_says(c->words, "trying again in 0.5 s");
    assert_true(c->state->ended);
    clear_steps(c);
    OK(close_run(c)); /* nobody is asked */
}

TEST(a_lost_run_is_asked_for_as_it_was)
{
    static const uint8_t run[REQUEST_RUN_SIZE] = {9};
    unsigned lost = 0;
    struct run_scene *c CLEAN(scene_free) = begin(run);
    assert_memory_equal(c->state->run, run, sizeof run);
    add_opened(c, 0, 3);
    add_step(c, ERR_REFUSED, "bound to another request\033[2J\xc2\x9b\x9b\nfor ever");
    assert_int_equal(measure(c, &lost), ERR_REFUSED);
    support_says(c->words, "they say: bound to another request?[2J???\nfor ever");
    support_says(c->words, "this program does not ask what the lost run asked");
}

/* --- results ---------------------------------------------------------------------------------- */

/* A folder takes the place of each file, in the order in which they are written. */
TEST(results_that_cannot_be_written_are_told)
{
    static const char *const names[] = {"measurements.json", "model", "synthetic.csv"};
    struct run_scene *c CLEAN(scene_free) = scene_new();
    struct table *t CLEAN(table_free) = NULL;
    struct methods_made made CLEAN(methods_clear) = {0};
    char longer[FILE_PATH];
    struct release_terms terms = {support_path(&c->s, "out"), c->s.study, RHO, 10, 1, &c->log};
    OK(support_table(&t, c->s.study->domain, 300, 1));
    OK(methods_central(&made, c->s.study, t, NULL, NULL, &c->log));
    for (size_t i = 0; i < 3; i++) {
        char said[128];
        c->words[0] = '\0';
        assert_int_equal(mkdir(file(c, "out/%s", names[i]), 0700), 0);
        assert_int_equal(methods_release(&made, &terms), ERR_SYSTEM);
        snprintf(said, sizeof said, "out/%s", names[i]);
        support_says(c->words, said);
        assert_int_equal(rmdir(file(c, "out/%s", names[i])), 0);
    }
    terms.rows = 0;
    OK(methods_release(&made, &terms));
    terms.folder = longer;
    memset(longer, 'x', sizeof longer);
    for (size_t room = 5; room < 12; room += 6) { /* no name fits; only the shortest one does */
        longer[FILE_PATH - room] = '\0';
        c->words[0] = '\0';
        assert_int_equal(methods_release(&made, &terms), ERR_SYSTEM);
        assert_int_equal(run_state_open(&c->state, longer, c->s.study, NULL, &c->log), ERR_SYSTEM);
        support_says(c->words, "this path is too long");
        longer[FILE_PATH - room] = 'x';
    }
}
