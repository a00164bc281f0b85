/*
 * mpc/check/check.h on several lanes: each proves what it computed, and all have done so before any
 * value opens.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "mpc/check/check.h"
#include "mpc/check/check_matrix.h"
#include "mpc/circuits/bits.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/crew.h"
#include "mpc/move/open.h"
#include "tests/support/hooks.h"

#include <pthread.h>
#include <stdatomic.h>

#define WORDS 96
#define TILE 8 /* words */
#define TILES (WORDS / TILE)
#define LANES 3

struct check_lanes_bench {
    uint64_t x[WORDS], opened[3][WORDS];
    bool checked;
    unsigned cheat, lane; /* who alters its messages, on which lane; 3: nobody */
    uint64_t rounds;
    bool apart; /* they have not heard the same, before jobs begin */
    size_t taken[3];
};

/* What the guard of all lanes is told; they flush side by side. */
struct told {
    atomic_uint begun, ended;
};

struct check_lanes_seat {
    struct check_lanes_bench *b;
    struct bits x, out;
    unsigned index;
    struct told *told;
};

static enum err alter(void *self, const struct hooks_sent *at, void *p, size_t n)
{
    uint64_t w;
    if (at->exchange > 0 || n < sizeof w)
        return ERR_OK;
    memcpy(&w, p, sizeof w);
    w ^= 1;
    memcpy(p, &w, sizeof w);
    return ERR_OK;
}

static enum err multiply(void *self, struct party *lane, size_t tile)
{
    static const struct hooks_tamper tamper = {.alter = alter};
    const struct check_lanes_seat *s = self;
    const size_t at = tile * TILE, n = (size_t)64 * TILE;
    const struct bits x = {s->x.a + at, s->x.b + at, n}, out = {s->out.a + at, s->out.b + at, n};
    if (s->b->cheat == lane->index && s->b->lane == lane->lane)
        hooks_tamper(lane, &tamper);
    return bits_and(lane, out, x, x);
}

static enum err job(struct party *p, void *shared)
{
    static const struct check_limits limits;
    struct check_lanes_bench *b = shared;
    struct share64 x CLEAN(share64_free) = {0}, out CLEAN(share64_free) = {0};
    TRY(b->checked ? check_new(p, &limits) : ERR_OK);
    TRY(share64_new(&x, WORDS));
    TRY(share64_new(&out, WORDS));
    struct check_lanes_seat s = {.b = b,
                                 .x = {x.a, x.b, (size_t)64 * WORDS},
                                 .out = {out.a, out.b, (size_t)64 * WORDS},
                                 .index = p->index};
    memcpy(p->index == 0 ? x.a : x.b, b->x, p->index == 1 ? 0 : sizeof b->x);
    TRY(crew_run(p, TILES, multiply, &s));
    if (check_clean(p) != !b->checked)
        return ERR_FORMAT;
    TRY(open_bits(p, OPEN_NOISY_MARGINAL, s.out, b->opened[p->index]));
    if (!check_clean(p))
        return ERR_FORMAT;
    if (p->index == 0)
        b->rounds = net_exchanges(p->net);
    return ERR_OK;
}

static void run(struct check_lanes_bench *b, enum err results[3])
{
    uint64_t seed = 2;
    for (size_t w = 0; w < WORDS; w++)
        b->x[w] = three_random(&seed);
    (void)three_run_lanes(7, LANES, 4, job, b, NULL, results);
}

TEST(lanes_prove_side_by_side)
{
    struct check_lanes_bench plain = {.cheat = 3}, checked = {.checked = true, .cheat = 3};
    enum err results[3];
    run(&plain, results);
    run(&checked, results);
    for (unsigned s = 0; s < 3; s++) {
        OK(results[s]);
        assert_memory_equal(checked.opened[s], plain.x, sizeof plain.x);
    }
    assert_int_equal(checked.rounds, plain.rounds + 6);
}

TEST(a_lie_on_any_lane_opens_nothing)
{
    for (unsigned k = 0; k < 3 * LANES; k++) {
        struct check_lanes_bench b = {.checked = true, .cheat = k % 3, .lane = k / 3};
        static const uint64_t nothing[WORDS];
        enum err results[3];
        run(&b, results);
        for (unsigned s = 0; s < 3; s++)
            if (s != b.cheat) {
                assert_int_not_equal(results[s], ERR_OK);
                assert_memory_equal(b.opened[s], nothing, sizeof nothing);
            }
    }
}

/* --- who is asked ----------------------------------------------------------------------------- */

struct check_lanes_asked {
    pthread_t first;
    atomic_bool proving;
    atomic_uint asks, unasked;
};

static enum err ask(void *self)
{
    ((struct check_lanes_asked *)self)->asks++;
    return ERR_OK;
}

static enum err note_who_begins(void *self)
{
    struct check_lanes_asked *a = self;
    a->unasked += !a->proving && !pthread_equal(a->first, pthread_self());
    return ERR_OK;
}

/* Every log is full at once. */
static enum err fill_logs(struct party *p, void *shared)
{
    struct check_lanes_asked a = {.first = pthread_self()};
    const struct check_limits limits = {
        .log = 1, .guard = {.begin = note_who_begins, .ready = ask, .self = &a}};
    struct check_lanes_seat s = {.b = shared, .index = p->index};
    struct planes x, out;
    TRY(check_new(p, &limits));
    check_waits_for_first(p);
    TRY(party_planes(p, &x, 1, (size_t)64 * WORDS));
    TRY(party_planes(p, &out, 1, (size_t)64 * WORDS));
    bits_zero(planes_flat(&x));
    s.x = planes_flat(&x);
    s.out = planes_flat(&out);
    TRY(crew_run(p, TILES, multiply, &s));
    a.proving = true;
    TRY(record_prove(p));
    return a.asks > 0 && a.unasked == 0 && check_clean(p) ? ERR_OK : ERR_DATA;
}

TEST(no_lane_begins_a_check_before_the_first_has_asked)
{
    struct check_lanes_bench b = {.cheat = 3};
    OK(three_run_lanes(7, LANES, 4, fill_logs, &b, NULL, NULL));
}

/* --- jobs ------------------------------------------------------------------------------------- */

static enum err note_begin(void *self)
{
    ((struct told *)self)->begun++;
    return ERR_OK;
}

static enum err note_end(void *self)
{
    ((struct told *)self)->ended++;
    return ERR_OK;
}

/* When a lane gets work, the disk already says that a check has begun. */
static enum err put_nothing(void *self, size_t lane, struct bytes *arguments)
{
    const struct check_lanes_seat *s = self;
    return s->told->begun == 1 ? bytes_ok(arguments) : ERR_DATA;
}

/* Lane k's tiles are those of its number. */
static enum err multiply_some(void *self, struct party *lane, struct reader *arguments,
                              struct bytes *result)
{
    TRY(multiply(self, lane, lane->lane));
    bytes_put_u8(result, 1);
    return ERR_OK;
}

static enum err take_one(void *self, size_t lane, struct reader *result)
{
    const struct check_lanes_seat *s = self;
    s->b->taken[s->index] += lane + reader_u8(result);
    return ERR_OK;
}

/* Lanes other than the first only do jobs. Their work is proved when the results are taken. */
static enum err do_jobs(struct party *p, void *shared)
{
    struct check_lanes_bench *b = shared;
    struct told told = {0};
    const struct check_limits limits = {
        .guard = {.begin = note_begin, .end = note_end, .self = &told}};
    struct check_lanes_seat s = {.b = b, .index = p->index, .told = &told};
    struct planes x, out;
    const struct crew_job job = {CREW_COUNT, put_nothing, multiply_some, take_one, &s};
    TRY(check_new(p, &limits));
    TRY(party_planes(p, &x, 1, (size_t)64 * WORDS));
    TRY(party_planes(p, &out, 1, (size_t)64 * WORDS));
    bits_zero(planes_flat(&x));
    s.x = planes_flat(&x);
    s.out = planes_flat(&out);
    TRY(b->apart ? record_alike(p, &p->index, sizeof p->index) : ERR_OK);
    enum err e = crew_jobs(p, &job);
    /* of this lane: around the jobs, and within them for its own flush */
    if (b->apart)
        return told.begun == 0 ? e : ERR_DATA;
    if (told.begun == 0 || (told.ended == told.begun) != (e == ERR_OK))
        return ERR_DATA;
    return e != ERR_OK || check_clean(p) ? e : ERR_DATA;
}

TEST(results_of_jobs_are_taken_once_all_lanes_have_proved_them)
{
    for (unsigned k = 0; k < 3 * LANES + 1; k++) {
        struct check_lanes_bench b = {
            .checked = true, .cheat = k % 3, .lane = k / 3}; /* the last: nobody */
        enum err results[3];
        (void)three_run_dealt(7, LANES, 1, do_jobs, &b, NULL, results);
        for (unsigned s = 0; s < 3; s++)
            if (b.lane == LANES) {
                OK(results[s]);
                assert_int_equal(b.taken[s], LANES + LANES * (LANES - 1) / 2);
            } else if (s != b.cheat) {
                assert_true(results[s] == ERR_CHEAT || results[s] == ERR_PEER);
                assert_int_equal(b.taken[s], 0);
            }
    }
}

TEST(no_job_begins_where_servers_have_not_heard_the_same)
{
    struct check_lanes_bench b = {.checked = true, .lane = LANES, .apart = true};
    enum err results[3];
    (void)three_run_dealt(7, LANES, 1, do_jobs, &b, NULL, results);
    for (unsigned s = 0; s < 3; s++) {
        assert_true(results[s] == ERR_CHEAT || results[s] == ERR_PEER);
        assert_int_equal(b.taken[s], 0);
    }
}

/* --- what one lane heard, and another one uses ------------------------------------------------ */

struct passing {
    struct bits x;
    struct share64 number[TILES]; /* of each tile; tile i's is used by another lane */
};

static enum err make_numbers(void *self, struct party *lane, size_t tile)
{
    const struct passing *s = self;
    return convert_bit64(lane, s->number[tile], (struct bits){s->x.a + tile, s->x.b + tile, 64});
}

/* Nothing is revealed: so that is not why lanes agree. */
static enum err use_numbers(void *self, struct party *lane, size_t tile)
{
    const struct passing *s = self;
    const struct share64 other = s->number[(tile + 1) % TILES];
    struct share64 out;
    TRY(party_share64(lane, &out, 64));
    return ring64_multiply(lane, out, other, other);
}

static enum err pass_on(struct party *p, void *shared)
{
    static const struct check_limits limits;
    struct check_lanes_bench *b = shared;
    struct passing s = {{b->x, b->x, (size_t)64 * TILES}, {{0}}};
    for (size_t i = 0; i < TILES; i++)
        TRY(party_share64(p, &s.number[i], 64));
    if (b->checked)
        TRY(check_new(p, &limits));
    TRY(crew_run(p, TILES, make_numbers, &s));
    uint64_t before = net_exchanges(p->net);
    TRY(crew_run(p, TILES, use_numbers, &s));
    if (p->index == 0)
        b->rounds = net_exchanges(p->net) - before;
    return record_prove(p);
}

static enum err note_on_one(void *self, struct party *lane, size_t tile)
{
    struct planes x;
    TRY(party_planes(lane, &x, 1, 64));
    bits_zero(planes_flat(&x));
    return tile == 1 ? bits_and(lane, planes_flat(&x), planes_flat(&x), planes_flat(&x)) : ERR_OK;
}

static enum err note_and_flush(struct party *p, void *shared)
{
    static const struct check_limits limits;
    TRY(check_new(p, &limits));
    TRY(crew_run(p, LANES, note_on_one, NULL));
    if (check_clean(p))
        return ERR_DATA;
    TRY(record_prove(p));
    return check_clean(p) ? ERR_OK : ERR_DATA;
}

TEST(what_another_lane_notes_is_proved_too)
{
    OK(three_run_lanes(7, LANES, 4, note_and_flush, NULL, NULL, NULL));
}

static enum err fail_twice(void *self, struct party *lane, size_t tile)
{
    return tile == 0 ? ERR_RANGE : ERR_CHEAT;
}

static enum err be_caught_first(struct party *p, void *shared)
{
    static const struct check_limits limits;
    const uint8_t said = p->index == 0;
    struct check_failure *failure = shared;
    TRY(check_new(p, &limits));
    net_enter(p->net, NET_COMPUTE);
    TRY(record_alike(p, &said, 1));
    if (crew_run(p, LANES, fail_twice, NULL) != ERR_CHEAT)
        return ERR_DATA;
    failure[p->index] = check_failure(p);
    return crew_each(p, fail_twice, NULL) == ERR_CHEAT ? ERR_OK : ERR_DATA;
}

TEST(a_failure_before_any_flush_and_of_any_lane_is_told)
{
    struct check_failure failure[3] = {{0}};
    OK(three_run_lanes(7, LANES, 4, be_caught_first, failure, NULL, NULL));
    for (unsigned s = 0; s < 3; s++) {
        assert_true(failure[s].failed);
        assert_int_equal(failure[s].phase, NET_COMPUTE);
        assert_int_equal(failure[s].check, 0);
    }
}

TEST(lanes_compare_what_they_heard_before_others_use_it)
{
    struct check_lanes_bench plain = {.cheat = 3}, checked = {.checked = true, .cheat = 3};
    OK(three_run_lanes(7, LANES, 4, pass_on, &plain, NULL, NULL));
    OK(three_run_lanes(7, LANES, 4, pass_on, &checked, NULL, NULL));
    assert_int_equal(checked.rounds, plain.rounds + 1);
}

/* --- what one lane made, another uses --------------------------------------------------------- */

#define COIN 2 /* lane 0's round of its flush's first coin; lane 1's is the one before */

struct check_lanes_held {
    unsigned cheat, failed; /* the honest: their checks, or what they heard of the other's */
    bool more;              /* an honest server's lane 0 went on behind the coin */
    bool matrices;          /* lane 0 proves this by itself; otherwise it opens what all made */
    uint64_t x[3 * 8], opened[3][64 * 24];
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

struct holder {
    struct check_lanes_held *h;
    unsigned index, lane;
};

static void tell(struct check_lanes_held *h, bool more)
{
    pthread_mutex_lock(&h->lock);
    h->more = h->more || more;
    h->failed += !more;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

/* On lane 1 the cheat tells one server something else, and holds back its coin: lane 0 goes on. */
static enum err hold(void *self, const struct hooks_sent *at, void *p, size_t n)
{
    const struct holder *who = self;
    struct check_lanes_held *h = who->h;
    const bool cheat = who->index == h->cheat;
    if (!cheat && who->lane == 0 && at->exchange > COIN)
        tell(h, true);
    if (cheat && who->lane == 1 && at->exchange == 0 && at->to == NET_NEXT && at->message == 1)
        ((uint8_t *)p)[7] ^= 0x80;
    pthread_mutex_lock(&h->lock);
    while (cheat && who->lane == 1 && at->exchange > 0 && !h->more && h->failed < 2)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
    return ERR_OK;
}

static void on_failed(void *self)
{
    const struct holder *who = self;
    if (who->index != who->h->cheat)
        tell(who->h, false);
}

struct held_seat {
    struct holder who[2];
    struct hooks_tamper tamper[2];
    struct bits x;
    struct share64 out;
};

static enum err to_numbers(void *self, struct party *lane, size_t tile)
{
    const struct held_seat *s = self;
    const size_t words = s->x.n / 128;
    const struct bits x = {s->x.a + tile * words, s->x.b + tile * words, 64 * words};
    hooks_tamper(lane, &s->tamper[tile]);
    return convert_bit64(lane, share64_view(s->out, tile * x.n, x.n), x);
}

/* One cell, of sides of zeros. */
static enum err prove_matrices(struct party *p)
{
    static const size_t rows[] = {1, 1};
    static const struct check_pair pair = {0, 1};
    struct check_plans plans = {.rows = rows, .sides = 2, .pair = &pair, .pairs = 1};
    struct share16 side;
    uint16_t sum = 0;
    TRY(party_share16(p, &side, 64));
    memset(side.a, 0, 64 * sizeof *side.a);
    memset(side.b, 0, 64 * sizeof *side.b);
    const struct check_tile tile = {64, (const struct share16[]){side, side}, NULL};
    struct check_matrices m = {.plans = &plans, .tile = &tile, .tiles = 1};
    TRY(party_share16(p, &m.z, 1));
    TRY(check_plans(p, &plans));
    return move_settle(p, RING_16, OPERAND(m.z), &sum, 1, &(struct record_sums){.matrices = &m});
}

static enum err use_both(struct party *p, void *shared)
{
    struct check_lanes_held *h = shared;
    struct held_seat s = {.who = {{h, p->index, 0}, {h, p->index, 1}}};
    const struct check_limits limits = {.guard = {.failed = on_failed, .self = &s.who[0]}};
    struct planes x CLEAN(planes_free) = {0};
    enum err e = check_new(p, &limits);
    for (unsigned lane = 0; lane < 2; lane++)
        s.tamper[lane] = (struct hooks_tamper){.alter = hold, .self = &s.who[lane]};
    p->log->file = NULL;
    if (e == ERR_OK)
        e = planes_new(&x, 1, sizeof h->x * 8);
    if (e == ERR_OK)
        e = share64_new(&s.out, x.n);
    if (e == ERR_OK) {
        s.x = planes_flat(&x);
        memcpy(p->index == 0 ? x.a : x.b, h->x, p->index == 1 ? 0 : sizeof h->x);
        e = crew_run(p, 2, to_numbers, &s);
    }
    if (e == ERR_OK)
        e = h->matrices ? prove_matrices(p) : ring64_multiply(p, s.out, s.out, s.out);
    if (e == ERR_OK && !h->matrices)
        e = open_ring64(p, OPEN_NOISY_MARGINAL, s.out, h->opened[p->index]);
    share64_free(&s.out);
    if (e != ERR_OK && e != ERR_CHEAT && p->index != h->cheat)
        tell(h, false);
    return e;
}

TEST(no_lane_proves_what_it_made_of_two_versions)
{
    for (unsigned k = 0; k < 8; k++) {
        const unsigned cheat = k % 4;
        unsigned caught = 0;
        struct check_lanes_held h = {.cheat = cheat, .matrices = k > 3, .x = {0x0123456789abcdef}};
        enum err results[3];
        pthread_mutex_init(&h.lock, NULL);
        pthread_cond_init(&h.changed, NULL);
        (void)three_run_lanes(7, 2, 64, use_both, &h, NULL, results);
        for (unsigned s = 0; s < 3; s++) {
            caught += s != cheat && results[s] == ERR_CHEAT;
            /* a server that hears that the other honest one gave up may end for that reason */
            if (s != cheat && results[s] != ERR_CHEAT)
                assert_int_equal(results[s], cheat < 3 ? ERR_PEER : ERR_OK);
        }
        assert_in_range(caught, cheat < 3, cheat < 3 ? 2 : 0);
        assert_int_equal(h.more, cheat == 3);
        pthread_mutex_destroy(&h.lock);
        pthread_cond_destroy(&h.changed);
    }
}
