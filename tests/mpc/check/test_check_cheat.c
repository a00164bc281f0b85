/*
 * A server that departs from the protocol, against mpc/check/check.h: whatever word it alters or
 * inputs, and wherever it hangs up, each of the two others opens what it would have opened anyway,
 * or stops before.
 */
#include "harness/cmocka.h"

#include "mpc/circuits/adder.h"
#include "mpc/circuits/argmax.h"
#include "mpc/circuits/below.h"
#include "mpc/circuits/bits.h"
#include "mpc/circuits/compare.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/leading.h"
#include "mpc/move/open.h"
#include "protocols/coin.h"
#include "tests/support/check.h"

#define WIDTH 5
#define N_MAX 700

static const struct check_limits limits;

/* --- protocols -------------------------------------------------------------------------------- */

struct check_cheat_inputs {
    struct planes x, y;
    struct share64 v;
};

static enum err take_inputs(const struct party *p, size_t n, struct check_cheat_inputs *in)
{
    const uint64_t *values = three_values();
    TRY(three_share_planes(p, &in->x, values, n, WIDTH, 3));
    TRY(three_share_planes(p, &in->y, values + 1, n, WIDTH, 4));
    return three_share64(p, &in->v, values, n, 5);
}

static enum err with_inputs(struct party *p, struct check_play *play,
                            enum err (*run)(struct party *p, struct check_play *play,
                                            struct check_cheat_inputs *in))
{
    struct check_cheat_inputs in = {0};
    enum err e = take_inputs(p, play->n, &in);
    if (e == ERR_OK) {
        play_secret(p, play, in.x.a, in.x.b, in.x.width * bits_words(in.x.n), NULL);
        play_secret(p, play, in.y.a, in.y.b, in.y.width * bits_words(in.y.n), NULL);
        play_secret(p, play, in.v.a, in.v.b, in.v.n, NULL);
    }
    if (e == ERR_OK)
        e = run(p, play, &in);
    planes_free(&in.x);
    planes_free(&in.y);
    share64_free(&in.v);
    return e;
}

static enum err run_and(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    struct planes x = planes_view(&in->x, 0, 1), y = planes_view(&in->y, 0, 1);
    TRY(bits_and(p, planes_flat(&x), planes_flat(&x), planes_flat(&y)));
    return play_open(p, play, &x);
}

static enum err run_all(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    struct planes out = planes_view(&in->y, 0, 1);
    TRY(bits_and_all(p, planes_flat(&out), &in->x));
    return play_open(p, play, &out);
}

static enum err run_adder(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    struct planes top = planes_view(&in->y, WIDTH - 1, 1);
    TRY(adder_add(p, in->y, &in->x, &in->y, true));
    return play_open(p, play, &top);
}

static enum err run_save(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    struct planes sum, carry, top;
    TRY(party_planes(p, &sum, WIDTH, in->x.n));
    TRY(party_planes(p, &carry, WIDTH, in->x.n));
    TRY(adder_save(p, &sum, &carry, &in->x, &in->y, &in->x));
    top = planes_view(&carry, WIDTH - 1, 1);
    return play_open(p, play, &top);
}

static enum err run_below(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    static const uint64_t constants[] = {13};
    struct planes out = planes_view(&in->y, 0, 1);
    TRY(below_constants(p, &out, &in->x, WIDTH, constants));
    return play_open(p, play, &out);
}

static enum err run_compare(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    struct planes out = planes_view(&in->y, 0, 1);
    TRY(compare_top_bit(p, planes_flat(&out), in->v, 64));
    return play_open(p, play, &out);
}

static enum err run_narrow(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    struct planes out = planes_view(&in->y, 0, 3), one = planes_view(&in->x, 0, 1);
    TRY(convert_to_bits(p, &out, in->v));
    TRY(compare_top_bit(p, planes_flat(&one), in->v, 1));
    TRY(play_open(p, play, &one));
    return play_open(p, play, &out);
}

static enum err run_join(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    uint64_t out[N_MAX];
    TRY(convert_to_ring64(p, in->v, &in->x));
    TRY(open_ring64(p, OPEN_NOISY_MARGINAL, in->v, out));
    bytes_put(&play->opened[p->index], out, in->v.n * sizeof *out);
    return ERR_OK;
}

static enum err run_coins(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    static const uint64_t constants[] = {(uint64_t)5 << 60, (uint64_t)3 << 62};
    struct planes out = planes_view(&in->y, 0, 2), one = planes_view(&in->y, 0, 1);
    TRY(coin_flip(p, &out, constants));
    return play_open(p, play, &one);
}

static enum err run_argmax(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    static const uint8_t seed[ARGMAX_SEED_SIZE] = {1, 2, 3};
    size_t index;
    for (size_t i = 0; i < in->v.n; i++) { /* of 60 bits */
        in->v.a[i] &= ((uint64_t)1 << 58) - 1;
        in->v.b[i] &= ((uint64_t)1 << 58) - 1;
    }
    TRY(argmax_open(p, in->v, 62, seed, &index));
    bytes_put_u64(&play->opened[p->index], index);
    return ERR_OK;
}

/* Ten digits are two groups. */
static enum err run_leading(struct party *p, struct check_play *play, struct check_cheat_inputs *in)
{
    struct planes digits, high, low, place, out;
    TRY(party_planes(p, &digits, 2 * WIDTH, in->x.n));
    TRY(party_planes(p, &place, 2 * WIDTH + 1, in->x.n));
    TRY(party_planes(p, &out, 3, in->x.n));
    low = planes_view(&digits, 0, WIDTH);
    high = planes_view(&digits, WIDTH, WIDTH);
    bits_copy(planes_flat(&low), planes_flat(&in->x));
    bits_copy(planes_flat(&high), planes_flat(&in->y));
    TRY(leading_places(p, &place, &digits));
    TRY(leading_digits(p, &out, &place, &digits));
    return play_open(p, play, &out);
}

#define JOB(name)                                                                                  \
    static enum err name(struct party *p, struct check_play *play)                                 \
    {                                                                                              \
        return with_inputs(p, play, run_##name);                                                   \
    }
JOB(and)
JOB(all)
JOB(adder)
JOB(save)
JOB(below)
JOB(compare)
JOB(narrow)
JOB(join)
JOB(coins)
JOB(argmax)
JOB(leading)

static const struct {
    const char *name;
    enum err (*job)(struct party *p, struct check_play *play);
    size_t n;
    uint64_t more; /* rounds of the checked protocol, apart from a flush */
} jobs[] = {{"AND in place", and, 130, 0},
            {"AND of all", all, 61, 0},
            {"adder", adder, 130, 0},
            {"carry save", save, 65, 0},
            {"constants", below, 130, 0},
            {"top bit", compare, 200, 0},
            {"few bits, and one", narrow, 200, 0},
            {"bits to a number", join, 3, 0},
            {"coins", coins, 64, 0},
            {"argmax", argmax, 13, 0},
            {"leading digits", leading, 61, 0}};
#define BITS_JOB 6
#define ARGMAX_JOB 9
#define JOBS (sizeof jobs / sizeof *jobs)

static struct check_play honest_run(size_t job, bool checked)
{
    struct check_play play = {.job = jobs[job].job,
                              .n = jobs[job].n,
                              .limits = checked ? &limits : NULL,
                              .cheat = NOBODY};
    play_run(&play);
    return play;
}

TEST(a_check_changes_nothing_that_is_opened)
{
    for (size_t k = 0; k < JOBS; k++) {
        struct check_play plain CLEAN(play_free) = honest_run(k, false),
                                checked CLEAN(play_free) = honest_run(k, true);
        for (unsigned s = 0; s < 3; s++)
            assert_true(play_opened_all(&checked, &plain, s));
        assert_int_equal(checked.rounds, plain.rounds + 6 + jobs[k].more);
    }
}

TEST(no_altered_word_opens_anything_else)
{
    for (size_t k = 0; k < JOBS; k++) {
        const struct check_play model = {.job = jobs[k].job, .n = jobs[k].n, .limits = &limits};
        play_sweep(jobs[k].name, &model, k == ARGMAX_JOB);
    }
}

/* --- what a server alone knows ---------------------------------------------------------------- */

/* It inputs a wrong bit, and goes on as if that were right. */
static void input_wrongly(struct check_play *play, const struct planes *u, size_t begin, size_t end)
{
    const struct check_altering *a = play->self;
    const size_t words = end - begin, at = a->word % (words * u->width);
    u->b[at / words * bits_words(u->n) + begin + at % words] ^= 4;
    play->altered++;
}

/* Carries in turn; lane 2 is one of x in each part. */
TEST(what_is_input_must_be_right)
{
    struct check_play honest CLEAN(play_free) = honest_run(BITS_JOB, true);
    for (unsigned cheat = 0; cheat < 3; cheat++)
        for (size_t word = 0; word < 2; word++) {
            struct check_altering a = {.word = word};
            struct check_play play CLEAN(play_free) = {.job = honest.job,
                                                       .n = honest.n,
                                                       .limits = &limits,
                                                       .cheat = cheat,
                                                       .input = input_wrongly,
                                                       .self = &a};
            play_run(&play);
            assert_int_equal(play.altered, 1);
            play_judge(&play, &honest, 0, "input", false);
        }
}

/* --- two versions of a component -------------------------------------------------------------- */

/* Carries of two digits, the first g of which is revealed. */
static enum err reveal_carries(struct party *p, struct check_play *play)
{
    static const uint8_t width[] = {2, 1};
    uint64_t known[8] = {0}, room[4][4] = {{0}}, out[2] = {0};
    const struct party_part j = party_parts(p, play->n, 64).j;
    struct move_carries t = {.known = known,
                             .digits = 2,
                             .width = width,
                             .g = {room[0], room[1], play->n, 2},
                             .p = {room[2], room[3], play->n, 2}};
    for (size_t w = 0; w < 2; w++) /* j's numbers are 0, the others' lowest digits are 2, or 1 */
        known[(play->other ? 0 : 2) + w] = 64 * w >= j.begin && 64 * w < j.end ? 0 : UINT64_MAX;
    TRY(move_carries(p, &t));
    t.g.width = 1;
    TRY(move_reveal(p, 0, &t.g, out));
    bytes_put(&play->opened[p->index], out, sizeof out);
    return ERR_OK;
}

/* Server 1 gives server 2 a different value of y(2), which b = 2 chooses. */
static enum err tell_one_otherwise(struct check_play *play, const struct hooks_sent *at, void *p,
                                   size_t n)
{
    uint64_t w;
    if (at->exchange == 0 && at->to == NET_NEXT && at->message == 0) {
        assert_true(n >= 16);
        memcpy(&w, (uint8_t *)p + 8, 8);
        w ^= 1;
        memcpy((uint8_t *)p + 8, &w, 8);
        play->altered++;
    }
    return ERR_OK;
}

/*
 * Servers 0 and 2 then hold two versions of component 0, which differ where b is 2. A reveal would
 * give server 1 one of them and the digest of the other, which fits if its guess at b is wrong: so
 * it does not begin, whatever b is.
 */
TEST(two_versions_of_a_component_do_not_leave)
{
    struct check_play honest CLEAN(play_free) = {
        .job = reveal_carries, .n = 100, .limits = &limits, .cheat = NOBODY};
    play_run(&honest);
    assert_int_equal(honest.rounds, 3);
    assert_int_equal(honest.sent[0][2][NET_NEXT][0].size, 16);
    for (unsigned other = 0; other < 2; other++) {
        struct check_play play CLEAN(play_free) = {.job = reveal_carries,
                                                   .n = 100,
                                                   .limits = &limits,
                                                   .cheat = 1,
                                                   .alter = tell_one_otherwise,
                                                   .other = other};
        play_run(&play);
        assert_int_equal(play.altered, 1);
        assert_int_equal(play.noticed, 2);
        for (unsigned s = 0; s < 3; s += 2) {
            assert_int_equal(play.result[s], ERR_CHEAT);
            for (unsigned to = 0; to < 2; to++)
                assert_int_equal(play.sent[s][2][to][0].size, 0);
        }
    }
}

/* --- hanging up ------------------------------------------------------------------------------- */

static enum err hang_up(struct check_play *play, const struct hooks_sent *at, void *p, size_t n)
{
    const uint64_t *round = play->self;
    return at->exchange == *round ? ERR_PEER : ERR_OK;
}

TEST(who_hangs_up_opens_nothing)
{
    struct check_play honest CLEAN(play_free) = honest_run(0, true);
    for (unsigned cheat = 0; cheat < 3; cheat++)
        for (uint64_t round = 0; round < honest.rounds; round++) {
            struct check_play play CLEAN(play_free) = {.job = jobs[0].job,
                                                       .n = jobs[0].n,
                                                       .limits = &limits,
                                                       .cheat = cheat,
                                                       .alter = hang_up,
                                                       .self = &round};
            play_run(&play);
            play_judge(&play, &honest, round, "hanging up", false);
        }
}

/* --- products that ride ----------------------------------------------------------------------- */

/* What the cheat does to an index once it has gone on with the flush. */
struct ending {
    uint64_t products, opening; /* rounds */
    bool leaves;
};

/* Adds to every product, and to what it shows of them; or leaves when it has heard the others. */
static enum err end_badly(struct check_play *play, const struct hooks_sent *at, void *p, size_t n)
{
    const struct ending *end = play->self;
    uint64_t *words = p;
    if (end->leaves)
        return at->exchange == end->opening ? ERR_PEER : ERR_OK;
    if ((at->exchange == end->products && at->to == NET_PREV && at->message == 1) ||
        (at->exchange == end->opening && at->to == NET_NEXT && at->message == 0))
        for (size_t i = 0; i < n / sizeof *words; i++, play->altered++)
            words[i] ^= 1;
    return ERR_OK;
}

/*
 * Nothing checks them: so a server that spoils an index is caught, and one that leaves has used a
 * try.
 */
TEST(an_index_that_is_not_opened_is_a_try)
{
    struct check_play honest CLEAN(play_free) = honest_run(ARGMAX_JOB, true);
    assert_int_equal(honest.ended[0], 1);
    for (unsigned k = 0; k < 6; k++) {
        struct ending end = {honest.rounds - 6, honest.rounds - 1, k / 3};
        struct check_play play CLEAN(play_free) = {.job = honest.job,
                                                   .n = honest.n,
                                                   .limits = &limits,
                                                   .cheat = k % 3,
                                                   .alter = end_badly,
                                                   .self = &end};
        play_run(&play);
        assert_int_equal(play.altered, end.leaves ? 0 : 2 * play.n);
        for (unsigned s = 0; s < 3; s++) {
            if (s == play.cheat)
                continue;
            assert_int_equal(play.result[s], end.leaves ? ERR_PEER : ERR_CHEAT);
            assert_int_equal(play.failed[s], !end.leaves);
            assert_int_equal(play.begun[s] - play.ended[s], 1);
            assert_int_equal(play.opened[s].size, 0);
        }
    }
}
