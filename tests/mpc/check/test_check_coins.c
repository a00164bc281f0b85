/*
 * Coins of mpc/check/check.h: a server that corrects an error once it knows a coin is noticed by
 * what comes next, and nobody knows a coin while they can still correct what that coin judges.
 */
#include "harness/cmocka.h"

#include "harness/patience.h"
#include "mpc/circuits/bits.h"
#include "tests/support/check.h"

static const struct check_limits limits;

/* --- errors that are corrected ---------------------------------------------------------------- */

/* For one AND: its flush in rounds 1 to 6, the opening in round 7. */
#define FLUSH 1
#define LANES 700
#define ROW_WORDS 8

struct check_coins_attack {
    unsigned level;       /* corrections, one more after each coin */
    size_t word[2];       /* whose lane 5 is wrong: the second only if it is a different one */
    uint64_t error, next; /* how far the sum at row 0 is off, then that of the elements */
    uint64_t last;        /* then z */
};

static void draw(struct check_play *play, uint64_t round, uint64_t *to, size_t n)
{
    struct prg *weights CLEAN(prg_free) = MADE_LAST(prg, play_coin, play, round);
    OK(prg_fill(weights, to, n * sizeof *to));
}

/* The weight at r of point 0, which is row 0's. */
static uint64_t weight_of_row_0(const uint64_t r[6])
{
    uint64_t w = 1;
    for (unsigned v = 0; v < 6; v++)
        w = kernel_field_product(w, r[v] ^ 1);
    return w;
}

static void add_to(void *p, size_t word, uint64_t error)
{
    uint64_t w;
    memcpy(&w, (uint8_t *)p + 8 * word, 8);
    w ^= error;
    memcpy((uint8_t *)p + 8 * word, &w, 8);
}

static enum err correct(struct check_play *play, const struct hooks_sent *at, void *p, size_t n)
{
    struct check_coins_attack *a = play->self;
    uint64_t drawn[6 + 8];
    if (at->offset != 0)
        return ERR_OK;
    if (at->exchange == 0)
        for (unsigned k = 0; k < 2; k++)
            if (k == 0 || a->word[1] != a->word[0])
                add_to(p, a->word[k], 1 << 5);
    if (at->exchange == FLUSH + 1 && a->level > 0) {
        draw(play, FLUSH, drawn, 14); /* row 0's weight is on both sides */
        a->error = kernel_field_product(drawn[6], 1 << 5);
        add_to(p, 0, a->error);
    }
    if (at->exchange == FLUSH + 3 && a->level > 1) {
        draw(play, FLUSH + 2, drawn, 6);
        a->next = kernel_field_product(a->error, weight_of_row_0(drawn));
        add_to(p, 0, a->next); /* row 0 weighs 1 */
    }
    if (at->exchange == FLUSH + 5 && a->level > 2 && at->to == NET_NEXT) {
        draw(play, FLUSH + 4, drawn, 6);
        a->last = kernel_field_product(a->next, weight_of_row_0(drawn));
        add_to(p, n / 8 - 3, a->last);
    }
    return ERR_OK;
}

TEST(errors_that_are_corrected_after_a_coin)
{
    static const size_t words[][2] = {{0, 0}, {0, 1}, {0, 8}, {2, 9}};
    for (unsigned level = 0; level < 4; level++)
        for (unsigned w = 0; w < (level == 0 ? 4 : 1); w++)
            for (unsigned cheat = 0; cheat < 3; cheat++) {
                struct check_coins_attack a = {.level = level, .word = {words[w][0], words[w][1]}};
                struct check_play play CLEAN(play_free) = {.job = play_and,
                                                           .n = LANES,
                                                           .limits = &limits,
                                                           .cheat = cheat,
                                                           .alter = correct,
                                                           .self = &a};
                play_run(&play);
                for (unsigned s = 0; s < 3; s++)
                    if (s != cheat) {
                        assert_int_equal(play.result[s], ERR_CHEAT);
                        assert_int_equal(play.opened[s].size, 0);
                    }
            }
}

/* --- coins ------------------------------------------------------------------------------------ */

/* A message that the coin judges is held back until nothing more comes without it. */
struct holding {
    uint64_t round, coin;
    bool before_came;
};

static enum err hold(struct check_play *play, const struct hooks_sent *at, void *p, size_t n)
{
    struct holding *h = play->self;
    const unsigned before = (play->cheat + 2) % 3;
    if (at->exchange != h->round || at->to != NET_PREV)
        return ERR_OK;
    support_pause_ms(30); /* the others go on */
    h->before_came = play_has_sent(play, before, h->coin, NET_NEXT);
    play->altered++;
    return ERR_OK;
}

/*
 * Server i lacks a half from each of its two neighbours, and the one that it keeps waiting has
 * shown none.
 */
TEST(nobody_knows_a_coin_early)
{
    for (unsigned cheat = 0; cheat < 3; cheat++)
        for (unsigned c = 0; c < 3; c++) {
            struct holding h = {.round = 2 * c, .coin = FLUSH + 2 * c};
            struct check_play play CLEAN(play_free) = {.job = play_and,
                                                       .n = 130,
                                                       .limits = &limits,
                                                       .cheat = cheat,
                                                       .alter = hold,
                                                       .self = &h};
            play_run(&play);
            assert_int_equal(play.altered, 1);
            assert_false(h.before_came);
            for (unsigned s = 0; s < 3; s++)
                OK(play.result[s]);
        }
}

/* --- tries ------------------------------------------------------------------------------------ */

static enum err leave(struct check_play *play, const struct hooks_sent *at, void *p, size_t n)
{
    const uint64_t *round = play->self;
    return at->exchange == *round ? ERR_PEER : ERR_OK;
}

/* Whoever may know a coin and hangs up has used a try at both others. */
TEST(a_check_that_is_left_has_begun)
{
    for (unsigned cheat = 0; cheat < 3; cheat++)
        for (uint64_t round = FLUSH; round < FLUSH + 6; round++) {
            struct check_play play CLEAN(play_free) = {.job = play_and,
                                                       .n = 130,
                                                       .limits = &limits,
                                                       .cheat = cheat,
                                                       .alter = leave,
                                                       .self = &round};
            play_run(&play);
            for (unsigned s = 0; s < 3; s++)
                if (s != cheat) {
                    assert_int_equal(play.begun[s], 1);
                    assert_int_equal(play.ended[s], 0);
                    assert_int_equal(play.failed[s], 0);
                }
        }
}

static enum err gates_twice(struct party *p, struct check_play *play)
{
    TRY(play_and(p, play));
    return play_and(p, play);
}

static enum err allow_one(void *self)
{
    unsigned *begun = self;
    return (*begun)++ == 0 ? ERR_OK : ERR_REFUSED;
}

/* If the guard refuses a check, not even its first coin leaves. */
TEST(no_coin_leaves_before_the_guard_agrees)
{
    unsigned begun = 0;
    struct check_play play CLEAN(play_free) = {.job = gates_twice,
                                               .n = 130,
                                               .limits = &limits,
                                               .cheat = 0,
                                               .guard[0] = {.begin = allow_one, .self = &begun}};
    play_run(&play);
    assert_int_equal(play.result[0], ERR_REFUSED);
    assert_true(play_has_sent(&play, 0, FLUSH + 7, NET_PREV)); /* the second AND */
    assert_false(play_has_sent(&play, 0, FLUSH + 8, NET_PREV));
    for (unsigned s = 0; s < 3; s++)
        assert_int_equal(play.ended[s], 1);
}

/* --- what all must have alike ----------------------------------------------------------------- */

/* play->n gates, or none; the cheating server computes on something else. */
static enum err alike(struct party *p, struct check_play *play)
{
    const uint8_t on = p->index == play->cheat;
    struct planes x CLEAN(planes_free) = {0};
    TRY(record_alike(p, &on, sizeof on));
    assert_true(!party_proves(p) || !check_clean(p));
    if (play->n > 0)
        TRY(planes_new(&x, 1, play->n));
    if (play->n > 0)
        TRY(bits_and(p, planes_flat(&x), planes_flat(&x), planes_flat(&x)));
    return record_prove(p);
}

/* No message is wrong, and yet a flush sends nothing but its first coin, or nothing at all. */
TEST(who_computes_on_something_else_is_noticed_first)
{
    for (unsigned cheat = 0; cheat <= NOBODY; cheat++)
        for (unsigned k = 0; k < 4; k++) {
            struct check_play play CLEAN(play_free) = {.job = alike,
                                                       .n = k % 2 == 0 ? 0 : 130,
                                                       .limits = k / 2 == 0 ? &limits : NULL,
                                                       .cheat = cheat};
            const bool caught = play.limits != NULL && cheat != NOBODY;
            play_run(&play);
            for (unsigned s = 0; s < 3; s++) {
                assert_int_equal(play.result[s], caught ? ERR_CHEAT : ERR_OK);
                assert_int_equal(play.failed[s], caught);
            }
            assert_int_equal(play.rounds, play.n / 130 + (play.limits == NULL     ? 0
                                                          : caught || play.n == 0 ? 1
                                                                                  : 6));
        }
}

/*
 * The same words of the same gates: one server makes two terms of what is one term at the others.
 */
static enum err in_terms(struct party *p, struct check_play *play)
{
    struct planes x;
    struct move_term term[2];
    TRY(party_planes(p, &x, 1, 128));
    bits_zero(planes_flat(&x));
    const struct move_operand first = {x.a, x.b}, second = {x.a + 1, x.b + 1};
    const bool two = p->index == play->cheat;
    term[0] = (struct move_term){first, first, first, {NULL, NULL}, two ? 1 : 2};
    term[1] = (struct move_term){second, second, second, {NULL, NULL}, 1};
    TRY(bits_sums(p, term, two ? 2 : 1, 1));
    return record_prove(p);
}

TEST(a_script_has_the_terms_of_each_move)
{
    for (unsigned cheat = 0; cheat <= NOBODY; cheat++) {
        struct check_play play CLEAN(play_free) = {
            .job = in_terms, .limits = &limits, .cheat = cheat};
        play_run(&play);
        for (unsigned s = 0; s < 3; s++)
            assert_int_equal(play.result[s], cheat == NOBODY ? ERR_OK : ERR_CHEAT);
    }
}
