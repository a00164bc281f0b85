/*
 * Whether an upload is sorted by person is opened once, whoever forgets it or says so; and a server
 * that alters what is opened gets only so many tries (parties/settings/three/round_sorted.h).
 */
#include "tests/support/hooks.h"
#include "tests/support/stores.h"

#include "harness/session.h"
#include "parties/server/collect.h"
#include "parties/server/round.h"
#include "parties/settings/three/engine.h"
#include "parties/settings/three/split.h"
#include "parties/store/store_sorted.h"
#include "parties/study/study_uploads.h"

#define LIAR 0
#define OWNERS 2 /* the second does not sort */

enum round_sorted_lie {
    NONE,
    ALTERED,    /* the bits that it sends to be opened */
    TWO_FACED,  /* tells one neighbour that it knows, and the other that it does not */
    OTHER_BITS, /* says that it opened others */
    OTHERWISE,  /* says that it knows that nothing is sorted */
    IMPOSSIBLE, /* says more than a server can */
};

struct sorted_sorting {
    struct stores_bench b;
    struct upload parts[OWNERS][3]; /* for each server */
    uint8_t digest[OWNERS][32];
    struct bounds *bounds;
    enum round_sorted_lie lie;
    enum err result[STUDY_SERVERS_MOST];
    uint64_t opened[STUDY_SERVERS_MOST]; /* bits */
    bool left_out[STUDY_SERVERS_MOST][OWNERS];
    char said[STUDY_SERVERS_MOST][2048]; /* to the logs */
};

/* --- uploads ---------------------------------------------------------------------------------- */

/* All rows are invalid but one, which comes first or, where they are not sorted, second. */
static void make_parts(struct sorted_sorting *s, unsigned owner)
{
    const struct study *study = s->b.s.study;
    struct identity *me CLEAN(identity_free) = NULL;
    struct bytes packed CLEAN(bytes_clear) = {0};
    OK(identity_load(&me, support_path(&s->b.s, "o%u.key", owner), &quiet));
    bytes_extend(&packed, study_upload_bytes(study, owner));
    memset(packed.data, 0, packed.size);
    packed.data[0] = owner == 0 ? 1 : 2;
    OK(upload_make(s->parts[owner], &three_split, me, owner, (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                   study, UPLOAD_RECORDS, &packed));
}

static void store_parts(struct sorted_sorting *s, unsigned owner)
{
    bool complete;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        s->parts[owner][i].owner = owner;
        OK(store_put(s->b.store[i], &s->parts[owner][i], false, &complete));
        assert_true(complete);
    }
    upload_digest(&s->parts[owner][0], s->b.s.study->terms.digest, s->digest[owner]);
}

static struct sorted_sorting sorting_new(const char *more)
{
    static const char *const part[] = {"    max_rows: 900\n", "    max_rows: 900\n"};
    struct sorted_sorting s = {0};
    s.b.s = STUDY(&quiet, .owners = OWNERS, .part = part, .enforce = 1, .more = more);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(identity_load(&s.b.server[i], support_path(&s.b.s, "s%u.key", i), &quiet));
        OK(open_store(&s.b, i));
    }
    OK(bounds_new(&s.bounds, s.b.s.study, &quiet));
    for (unsigned owner = 0; owner < OWNERS; owner++) {
        make_parts(&s, owner);
        store_parts(&s, owner);
    }
    return s;
}

static void sorting_free(struct sorted_sorting *s)
{
    for (unsigned o = 0; o < OWNERS; o++)
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            upload_clear(&s->parts[o][i]);
    bounds_free(&s->bounds);
    bench_free(&s->b);
}

/* --- a session -------------------------------------------------------------------------------- */

/* What the server in this thread does. */
static _Thread_local struct {
    enum round_sorted_lie lie; /* NONE at the others */
    unsigned broadcasts;       /* so far, from the one of states on */
} here;

__typeof__(round_broadcast) __real_round_broadcast, __wrap_round_broadcast;
enum err __wrap_round_broadcast(struct net *net, const void *own, size_t size, void *prev,
                                void *next)
{
    /*
     * sorted: known, or as it was opened; not sorted; tried too often, though that is not counted
     */
    static const uint8_t words[] = {
        [TWO_FACED] = 1, [OTHER_BITS] = 1, [OTHERWISE] = 2, [IMPOSSIBLE] = 3};
    const uint8_t other[OWNERS] = {words[here.lie], words[here.lie]};
    struct net_exchange r = {.send = {own, own},
                             .send_size = {size, size},
                             .receive = {prev, next},
                             .receive_size = {size, size}};
    if (size != OWNERS || here.lie == NONE)
        return __real_round_broadcast(net, own, size, prev, next);
    here.broadcasts++;
    if (here.lie == TWO_FACED)
        r.send[NET_NEXT] = other;
    if ((here.lie == OTHER_BITS && here.broadcasts == 2) || here.lie >= OTHERWISE)
        r.send[NET_PREV] = r.send[NET_NEXT] = other;
    return net_exchange(net, &r);
}

static enum err flip(void *self, const struct hooks_sent *at, void *p, size_t n)
{
    *(uint8_t *)p ^= n > 0;
    return ERR_OK;
}

__typeof__(move_open) __real_move_open, __wrap_move_open;
enum err __wrap_move_open(struct party *p, enum party_reason reason, enum share_ring ring,
                          struct move_operand x, size_t n, uint64_t *out)
{
    static const struct hooks_tamper tamper = {.alter = flip};
    if (here.lie == ALTERED && reason == OPEN_SORTED)
        hooks_tamper(p, &tamper);
    enum err e = __real_move_open(p, reason, ring, x, n, out);
    hooks_tamper(p, NULL);
    return e;
}

static void forget(struct play *p)
{
    bytes_clear(&p->upload_ids);
}

static enum err count(struct sorted_sorting *s, struct three *g, const struct session *session)
{
    const unsigned i = g->party->index;
    atomic_uint adding = 0;
    struct log log = {.buffer = s->said[i], .buffer_size = sizeof s->said[i], .level = LOG_ERROR};
    struct play c CLEAN(forget) = {.study = s->b.s.study,
                                   .split = &three_split,
                                   .store = s->b.store[i],
                                   .net = g->party->net,
                                   .engine = three_table(g),
                                   .adding = &adding,
                                   .log = &log};
    g->store = s->b.store[i];
    g->session = session;
    g->log = &log;
    enum err e = collect_uploads(&c, (const uint8_t[REQUEST_RUN_SIZE]){1}, true);
    g->log = &quiet;
    memcpy(s->left_out[i], g->tally.keyed.left_out, sizeof s->left_out[i]);
    s->opened[i] = g->party->opened[OPEN_SORTED].values;
    return e;
}

static enum err sit(struct party *p, void *shared)
{
    struct sorted_sorting *s = shared;
    struct session *session CLEAN(session_free) = NULL;
    struct three *g CLEAN(three_free) = NULL;
    enum err e = session_for_test(&session, p->index, 5);
    here.lie = p->index == LIAR ? s->lie : NONE;
    here.broadcasts = 0;
    if (e == ERR_OK)
        e = three_check(p, s->b.s.study, &(const struct check_guard){0});
    if (e == ERR_OK)
        e = three_new(&g, p, s->b.s.study, s->bounds, (const uint8_t[TAPE_ID_SIZE]){1}, &quiet);
    if (e == ERR_OK)
        e = count(s, g, session);
    s->result[p->index] = e;
    if (e != ERR_OK)
        net_abort(p->net);
    return ERR_OK;
}

/* A session in which so many bits are opened, and both owners judged rightly. */
static void goes_well(struct sorted_sorting *s, unsigned opened)
{
    s->lie = NONE;
    OK(three_run(5, sit, s, NULL));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(s->result[i]);
        assert_int_equal(s->opened[i], opened);
        assert_false(s->left_out[i][0]);
        assert_true(s->left_out[i][1]);
    }
}

/* One that ends with this error, and these words in an honest log; the most bits opened there. */
static uint64_t goes_wrong(struct sorted_sorting *s, enum round_sorted_lie lie, enum err e,
                           const char *words)
{
    unsigned told = 0;
    s->lie = lie;
    memset(s->said, 0, sizeof s->said);
    OK(three_run(5, sit, s, NULL));
    for (unsigned i = 1; i < STUDY_SERVERS_MOST; i++) {
        told += s->result[i] == e && strstr(s->said[i], words) != NULL;
        if (s->result[i] != e && s->result[i] != ERR_PEER)
            fail_msg("server %u: %s", i, error_text(s->result[i]));
    }
    assert_in_range(told, 1, 2);
    return s->opened[1] > s->opened[2] ? s->opened[1] : s->opened[2];
}

/* --- what a server knows ---------------------------------------------------------------------- */

static struct store_sorted known(const struct sorted_sorting *s, unsigned server, unsigned owner)
{
    struct store_sorted found;
    OK(store_sorted(s->b.store[server], s->digest[owner], &found));
    return found;
}

static void expect_known(const struct sorted_sorting *s, unsigned servers)
{
    for (unsigned o = 0; o < OWNERS; o++)
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            assert_int_equal(known(s, i, o).known, servers >> i & 1);
            assert_int_equal(known(s, i, o).sorted, (servers >> i & 1) != 0 && o == 0);
        }
}

/* As if a server had crashed before it could write anything down. */
static void forgets(struct sorted_sorting *s, unsigned server)
{
    OK(store_execute(s->b.store[server], "DELETE FROM sorted"));
}

#define ONE "min_owners: 1\n"
#define DIFFERS "was opened otherwise at server"

TEST(what_is_sorted_is_opened_once)
{
    static const char *const more[] = {ONE, ONE "security: abort\n"};
    for (unsigned k = 0; k < 2; k++) {
        struct sorted_sorting s CLEAN(sorting_free) = sorting_new(more[k]);
        goes_well(&s, OWNERS);
        expect_known(&s, 7);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            assert_int_equal(known(&s, i, 0).attempts, k == 0);
            store_close(&s.b.store[i]);
            OK(open_store(&s.b, i));
        }
        goes_well(&s, 0);
        /* only what comes anew is opened */
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            OK(store_withdraw(s.b.store[i], 0));
        store_parts(&s, 0);
        assert_false(known(&s, 1, 0).known);
        goes_well(&s, 1);
    }
}

TEST(what_two_servers_know_is_not_opened_for_the_third)
{
    struct sorted_sorting s CLEAN(sorting_free) = sorting_new(ONE);
    goes_well(&s, OWNERS);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) { /* whoever says that it lacks it */
        forgets(&s, i);
        goes_well(&s, 0);
        expect_known(&s, 7);
    }
    forgets(&s, 0);
    forgets(&s, 1);
    goes_well(&s, OWNERS);
    expect_known(&s, 7);
}

TEST(a_server_that_alters_what_is_opened_gets_eight_tries)
{
    struct sorted_sorting s CLEAN(sorting_free) = sorting_new(ONE);
    for (unsigned k = 1; k <= SORTED_ATTEMPTS; k++) {
        assert_int_equal(goes_wrong(&s, ALTERED, ERR_CHEAT, DIFFERS), OWNERS);
        expect_known(&s, 0);
        for (unsigned i = 1; i < STUDY_SERVERS_MOST; i++)
            assert_int_equal(known(&s, i, 1).attempts, k);
    }
    assert_int_equal(goes_wrong(&s, ALTERED, ERR_REFUSED, "tries no more"), 0);
    forgets(&s, LIAR);
    assert_int_equal(goes_wrong(&s, NONE, ERR_REFUSED, "tries no more"), 0);
}

TEST(a_server_that_says_it_opened_other_bits_changes_nothing)
{
    struct sorted_sorting s CLEAN(sorting_free) = sorting_new(ONE);
    assert_int_equal(goes_wrong(&s, OTHER_BITS, ERR_CHEAT, DIFFERS), OWNERS);
    expect_known(&s, 1 << LIAR);
    goes_well(&s, OWNERS);
}

/*
 * One honest server knows: who says so as well, to it alone, would have the two go separate ways.
 */
TEST(two_honest_servers_open_the_same)
{
    struct sorted_sorting s CLEAN(sorting_free) = sorting_new(ONE);
    goes_well(&s, OWNERS);
    forgets(&s, LIAR);
    forgets(&s, 2);
    for (unsigned o = 0; o < OWNERS; o++) /* so that what the liar says fits */
        OK(store_put_sorted(s.b.store[1], s.digest[o], true));
    assert_int_equal(goes_wrong(&s, TWO_FACED, ERR_CHEAT, "was told of other uploads"), 0);
    for (unsigned i = 1; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(known(&s, i, 0).attempts, i == 1);
}

/*
 * What one server alone knows is opened again, and has to be the same: the other honest one does
 * not keep what all three open now, if that is another bit.
 */
TEST(what_was_known_stays)
{
    struct sorted_sorting s CLEAN(sorting_free) = sorting_new(ONE);
    goes_well(&s, OWNERS);
    forgets(&s, LIAR);
    forgets(&s, 2);
    OK(store_put_sorted(s.b.store[1], s.digest[1], true));
    assert_int_equal(goes_wrong(&s, NONE, ERR_CHEAT, "was opened otherwise"), OWNERS);
    assert_false(known(&s, 2, 0).known);
    assert_false(known(&s, 2, 1).known);
}

TEST(who_says_what_both_others_contradict_is_named)
{
    struct sorted_sorting s CLEAN(sorting_free) = sorting_new(ONE);
    goes_well(&s, OWNERS);
    goes_wrong(&s, OTHERWISE, ERR_CHEAT, "server 0 says otherwise than both others");
    forgets(&s, 2);
    goes_wrong(&s, OTHERWISE, ERR_CHEAT, "servers 0 and 1 differ");
    goes_well(&s, 0);
    sorting_free(&s);
    s = sorting_new(ONE "security: abort\n");
    goes_wrong(&s, IMPOSSIBLE, ERR_CHEAT, "server 0 says of an upload what no server can");
    goes_well(&s, OWNERS);
}
