/*
 * Relations of numbers under mpc/check/check.h: correct ones are accepted whatever their length,
 * and nobody opens what a server alters.
 */
#include "harness/cmocka.h"

#include "mpc/check/check_prime.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/open.h"
#include "tests/support/check.h"

#define N_MAX 3000

static const struct check_limits limits;

/* --- protocols -------------------------------------------------------------------------------- */

static enum err open_and_note(struct party *p, struct check_play *play, struct share64 x)
{
    static uint64_t out[3][N_MAX];
    TRY(open_ring64(p, OPEN_NOISY_MARGINAL, x, out[p->index]));
    bytes_put(&play->opened[p->index], out[p->index], x.n * sizeof out[0][0]);
    return ERR_OK;
}

/* x = x y, y = y y, in place */
static enum err run_multiply(struct party *p, struct check_play *play, struct share64 x,
                             struct share64 y)
{
    TRY(ring64_multiply(p, x, x, y));
    TRY(ring64_multiply(p, y, y, y));
    TRY(open_and_note(p, play, x));
    return open_and_note(p, play, y);
}

static enum err run_inner(struct party *p, struct check_play *play, struct share64 x,
                          struct share64 y)
{
    const size_t start[4] = {0, 0, x.n / 3, x.n};
    struct share64 out;
    TRY(party_share64(p, &out, 3));
    TRY(ring64_inner(p, out, x, y, start));
    return open_and_note(p, play, out);
}

/* Sums of three products modulo 2^128, of words whose components are wide. */
static enum err run_sums(struct party *p, struct check_play *play, struct share64 x,
                         struct share64 y)
{
    struct share128 v[4];
    struct move_term terms[3];
    for (unsigned k = 0; k < 4; k++)
        TRY(party_share128(p, &v[k], x.n));
    for (size_t i = 0; i < x.n; i++) {
        v[0].a[i] = (word128)x.a[i] << 64 | y.a[i];
        v[0].b[i] = (word128)x.b[i] << 64 | y.b[i];
        v[1].a[i] = (word128)y.a[i] << 64 | x.a[i];
        v[1].b[i] = (word128)y.b[i] << 64 | x.b[i];
    }
    ring128_copy(v[2], v[1]);
    ring128_scale(v[2], v[2], 5);
    for (unsigned l = 0; l < 3; l++)
        terms[l] = ring128_product(v[3], v[l], v[(l + 1) % 3]);
    TRY(ring128_sums(p, terms, 1, 3));
    TRY(ring128_multiply(p, v[0], v[3], v[0]));
    for (size_t i = 0; i < x.n; i++) {
        x.a[i] = (uint64_t)(v[0].a[i] >> 64);
        x.b[i] = (uint64_t)(v[0].b[i] >> 64);
    }
    return open_and_note(p, play, x);
}

/* Words of 16 bits; what is opened are their components' sums, which is as telling. */
static enum err run_narrow(struct party *p, struct check_play *play, struct share64 x,
                           struct share64 y)
{
    struct share16 u, v;
    TRY(party_share16(p, &u, x.n));
    TRY(party_share16(p, &v, x.n));
    for (size_t i = 0; i < x.n; i++) {
        u.a[i] = (uint16_t)x.a[i];
        u.b[i] = (uint16_t)x.b[i];
        v.a[i] = (uint16_t)y.a[i];
        v.b[i] = (uint16_t)y.b[i];
    }
    const struct move_term terms[2] = {{OPERAND(u), OPERAND(u), OPERAND(v), .words = u.n},
                                       {OPERAND(v), OPERAND(v), OPERAND(v), .words = u.n}};
    TRY(move_sums(p, &(struct move_sums){RING_16, terms, 2, 1, false, false}));
    for (size_t i = 0; i < x.n; i++) {
        x.a[i] = u.a[i];
        x.b[i] = u.b[i];
    }
    return open_and_note(p, play, x);
}

/* A number in component 1 times one of 32 bits: each holder multiplies what it has. */
static enum err run_alone(struct party *p, struct check_play *play, struct share64 x,
                          struct share64 y)
{
    struct share32 u, z;
    uint32_t *v, *ones;
    TRY(scratch_array(p->scratch, &v, x.n));
    TRY(party_share32(p, &u, x.n));
    TRY(party_share32(p, &z, x.n));
    for (size_t i = 0; i < x.n; i++) {
        v[i] = (uint32_t)three_values()[i];
        u.a[i] = (uint32_t)x.a[i];
        u.b[i] = (uint32_t)x.b[i];
        z.a[i] = u.a[i] * v[i] * -3u + u.a[i];
        z.b[i] = u.b[i] * v[i] * -3u + u.b[i];
    }
    TRY(scratch_array(p->scratch, &ones, x.n));
    for (size_t i = 0; i < x.n; i++)
        ones[i] = 1;
    const struct move_operand alone = {p->index == 1 ? v : NULL, p->index == 0 ? v : NULL};
    const struct move_operand one = {p->index == 0 ? ones : NULL, p->index == 2 ? ones : NULL};
    const struct record_product products[2] = {{alone, OPERAND(u), .c = -3},
                                               {OPERAND(u), one, .c = 1}};
    TRY(record_numbers(p, RING_32, &(struct record_sums){.products = products, .count = 2},
                       OPERAND(z), x.n));
    return open_and_note(p, play, y);
}

static enum err run_all(struct party *p, struct check_play *play, struct share64 x,
                        struct share64 y)
{
    TRY(run_alone(p, play, x, y));
    TRY(ring64_multiply(p, y, x, y));
    TRY(run_sums(p, play, x, y));
    return run_narrow(p, play, y, y);
}

static enum err with_inputs(struct party *p, struct check_play *play,
                            enum err (*run)(struct party *p, struct check_play *play,
                                            struct share64 x, struct share64 y))
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct share64 x CLEAN(share64_free) = {0}, y CLEAN(share64_free) = {0};
    TRY(three_share64(p, &x, three_values(), play->n, 5));
    TRY(three_share64(p, &y, three_values() + 1, play->n, 6));
    play_secret(p, play, x.a, x.b, x.n, NULL);
    play_secret(p, play, y.a, y.b, y.n, NULL);
    return run(p, play, x, y);
}

#define JOB(name)                                                                                  \
    static enum err name(struct party *p, struct check_play *play)                                 \
    {                                                                                              \
        return with_inputs(p, play, run_##name);                                                   \
    }
JOB(multiply)
JOB(inner)
JOB(sums)
JOB(narrow)
JOB(alone)
JOB(all)

static const struct {
    const char *name;
    enum err (*job)(struct party *p, struct check_play *play);
    unsigned flushes;
} jobs[] = {{"products in place", multiply, 1},
            {"inner products", inner, 1},
            {"sums mod 2^128", sums, 1},
            {"mod 2^16", narrow, 1},
            {"carried by one component", alone, 1},
            {"all", all, 3}};
#define JOBS (sizeof jobs / sizeof *jobs)

TEST(what_is_right_is_accepted)
{
    static const size_t lengths[] = {0, 1, 2, 15, 63, 64, 65, 130, 257, 1000, 2999};
    static const struct check_limits few[] = {{0}, {.groups = 1}, {.log = 5000, .groups = 1}};
    for (size_t k = 0; k < JOBS; k++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            struct check_play plain CLEAN(play_free) = {
                .job = jobs[k].job, .n = lengths[l], .cheat = NOBODY};
            play_run(&plain);
            for (size_t f = 0; f < sizeof few / sizeof *few; f++) {
                struct check_play checked CLEAN(play_free) = plain;
                memset(&checked, 0, sizeof checked);
                checked.job = jobs[k].job;
                checked.n = lengths[l];
                checked.cheat = NOBODY;
                checked.limits = &few[f];
                play_run(&checked);
                for (unsigned s = 0; s < 3; s++)
                    assert_true(play_opened_all(&checked, &plain, s));
                if (f == 0 && lengths[l] > 0)
                    assert_int_equal(checked.rounds, plain.rounds + 6 * jobs[k].flushes);
            }
        }
}

TEST(no_altered_word_opens_anything_else)
{
    for (size_t k = 0; k + 1 < JOBS; k++) {
        const struct check_play model = {.job = jobs[k].job, .n = 70, .limits = &limits};
        play_sweep(jobs[k].name, &model, false);
    }
}

/* --- one who knows what each coin has said ---------------------------------------------------- */

/* Rounds: a flush, products modulo 2^64 and 2^128, and their flush. */
enum {
    FIRST_CHOICE = 3,
    PRODUCTS = 7,
    WIDE = 8,
    COIN = 9,
    CLAIMS_LEFT = 10,
    CHOICE = 11,
    SUMS = 12,
    LAST = 13,
    OPENED = 14
};

static enum err run_attacked(struct party *p, struct check_play *play, struct share64 x,
                             struct share64 y)
{
    struct share128 v;
    struct share64 first;
    TRY(party_share64(p, &first, x.n));
    TRY(ring64_multiply(p, first, x, y));
    TRY(record_prove(p));
    TRY(party_share128(p, &v, x.n));
    for (size_t i = 0; i < x.n; i++) {
        v.a[i] = (word128)x.a[i] << 64 | y.a[i];
        v.b[i] = (word128)x.b[i] << 64 | y.b[i];
    }
    TRY(ring64_multiply(p, x, x, y));
    TRY(ring128_multiply(p, v, v, v));
    return open_and_note(p, play, x);
}
JOB(attacked)

enum check_ring_attack {
    TWO_THAT_CANCEL,  /* errors of two products add up to 0 */
    TOP_ONLY,         /* an error of 2^63, which half of all weights do not see */
    CLAIMED,          /* a product is wrong, and claims are as if it were correct */
    CLAIMED_AND_SUMS, /* and so are the sums at points */
    ANOTHER_MULTIPLE, /* a claim is off by 2^64, and all products are correct */
    OTHER_RING,       /* a product modulo 2^128 is off by 2^64, which a claim of 2^64 balances */
    OLD_PRIME,        /* claims are wrong by multiples of the prime of the flush before */
    ATTACKS
};

struct attacking {
    enum check_ring_attack attack;
    struct prime old, field;
    uint64_t error;       /* of the sums */
    uint64_t theta, wide; /* of the relations that are attacked */
};
#define ATTACKED 3

/* Adds to a number of so many words from `at` on. */
static void add_at(void *p, size_t at, size_t words, __int128 x)
{
    uint64_t w[8], carry = 0;
    memcpy(w, (uint8_t *)p + 8 * at, 8 * words);
    for (size_t k = 0; k < words; k++, x >>= 64) {
        const word128 sum = (word128)w[k] + (uint64_t)x + carry;
        w[k] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
    memcpy((uint8_t *)p + 8 * at, w, 8 * words);
}

static struct prg *coin_of(struct check_play *play, uint64_t round, size_t skipped)
{
    uint64_t words[8];
    struct prg *coin = MADE_LAST(prg, play_coin, play, round);
    OK(prg_fill(coin, words, skipped * sizeof *words));
    return coin;
}

static void take_coins(struct check_play *play, struct attacking *a)
{
    uint64_t theta[2 * N_MAX];
    struct prg *coin = coin_of(play, FIRST_CHOICE, 6);
    OK(prime_choose(&a->old, coin));
    prg_free(&coin);
    coin = coin_of(play, COIN, 6);
    OK(prg_fill(coin, theta, 2 * play->n * sizeof *theta));
    prg_free(&coin);
    a->theta = theta[ATTACKED];
    a->wide = theta[play->n + ATTACKED];
}

static void add_modulo(const struct prime *f, void *p, size_t at, uint64_t x)
{
    uint64_t w;
    memcpy(&w, (uint8_t *)p + 8 * at, sizeof w);
    w = prime_add(f, w, x);
    memcpy((uint8_t *)p + 8 * at, &w, sizeof w);
}

/* What an error of 1 in the relation amounts to modulo p. */
static void take_choice(struct check_play *play, struct attacking *a)
{
    struct prg *coin CLEAN(prg_free) = coin_of(play, CHOICE, 6);
    uint64_t y, kappa, sum = 0;
    OK(prime_choose(&a->field, coin));
    OK(prime_draw(&a->field, coin, &y, 1));
    OK(prime_draw(&a->field, coin, &kappa, 1));
    for (unsigned t = 64; t-- > 0;)
        sum = prime_add(&a->field, prime_times(&a->field, sum, y), a->theta >> t & 1);
    a->error = prime_times(&a->field, sum, kappa);
}

/*
 * That component is opened as its other holder has it: Z* where the sum at the first point has the
 * error too, otherwise the error of the sums.
 */
static void alter_opened(struct check_play *play, const struct attacking *a, void *p)
{
    struct prg *coin CLEAN(prg_free) = coin_of(play, LAST, 7);
    const size_t columns = 4 * ((2 * play->n + 63) / 64);
    uint64_t r[4], error = a->error;
    OK(prime_draw(&a->field, coin, r, 4));
    if (a->attack == CLAIMED) {
        add_modulo(&a->field, p, 3 + 2 * columns + 1, prime_less(&a->field, 0, error));
        return;
    }
    for (unsigned v = 0; v < 4; v++)
        error = prime_times(&a->field, error, prime_less(&a->field, 1, r[v]));
    add_modulo(&a->field, p, 3 + 2 * columns, error);
}

/*
 * Claims of 4 words for Z_2^64 come before those of 6 words for Z_2^128. The cheat keeps its own z,
 * so its claims are as if it had sent correct values: off by theta as whole numbers.
 */
static void alter_claims(const struct attacking *a, void *p)
{
    uint64_t inverse = a->old.p;
    for (unsigned k = 0; k < 6; k++) /* modulo 2^64 */
        inverse *= 2 - inverse * a->old.p;
    for (unsigned t = 0; t < 64; t++) {
        const uint64_t theta = a->theta >> t & 1, wide = a->wide >> t & 1;
        if (a->attack == ANOTHER_MULTIPLE && t == 5)
            add_at(p, 4 * t + 1, 3, 1);
        if (a->attack == OTHER_RING && wide)
            add_at(p, 4 * t + 1, 3, -1);
        if (a->attack == OLD_PRIME && theta)
            add_at(p, 4 * t, 4, (__int128)inverse * (__int128)a->old.p - 1);
    }
}

static enum err attack(struct check_play *play, const struct hooks_sent *at, void *p, size_t n)
{
    struct attacking *a = play->self;
    const bool claimed = a->attack == CLAIMED || a->attack == CLAIMED_AND_SUMS;
    const bool wrong = claimed || a->attack == OLD_PRIME || a->attack == TWO_THAT_CANCEL;
    if (at->to == NET_NEXT && at->exchange == OPENED && claimed)
        alter_opened(play, a, p);
    if (at->to != NET_PREV)
        return ERR_OK;
    assert_true(at->offset == 0 && n > 0);
    if (at->exchange == PRODUCTS && (wrong || a->attack == TOP_ONLY))
        add_at(p, ATTACKED, 1, a->attack == TOP_ONLY ? (__int128)1 << 63 : 1);
    if (at->exchange == PRODUCTS && a->attack == TWO_THAT_CANCEL)
        add_at(p, ATTACKED + 1, 1, -1);
    if (at->exchange == WIDE && a->attack == OTHER_RING)
        add_at(p, 2 * ATTACKED + 1, 1, 1);
    if (at->exchange == CLAIMS_LEFT && at->message == 2) {
        take_coins(play, a);
        alter_claims(a, p);
        play->altered++;
    }
    if (at->exchange == SUMS && at->message == 2 && claimed)
        take_choice(play, a);
    if (at->exchange == SUMS && at->message == 2 && a->attack == CLAIMED_AND_SUMS)
        add_modulo(&a->field, p, 0, a->error);
    return ERR_OK;
}

TEST(who_knows_the_coins_so_far_opens_nothing_else)
{
    struct check_play honest CLEAN(play_free) = {
        .job = attacked, .n = 70, .limits = &limits, .cheat = NOBODY};
    play_run(&honest);
    for (unsigned k = 0; k < 3 * ATTACKS; k++) {
        struct attacking a = {.attack = k / 3};
        struct check_play play CLEAN(play_free) = {.job = attacked,
                                                   .n = 70,
                                                   .limits = &limits,
                                                   .cheat = k % 3,
                                                   .alter = attack,
                                                   .self = &a};
        char what[32];
        play_run(&play);
        assert_int_equal(play.altered, 1);
        snprintf(what, sizeof what, "attack %d", (int)a.attack);
        play_judge(&play, &honest, PRODUCTS, what, false);
    }
}

/* Each word that a flush opens beside products is enough, when altered, to refuse it. */
TEST(every_word_that_should_be_zero_is_looked_at)
{
    struct check_prime n = {.words = 1, .columns = 2, .remainders = 3};
    uint64_t joined[2 * 2 + 1 + 3 + 2 * 2] = {0};
    const size_t words = sizeof joined / sizeof *joined;
    prime_prepare(&n.field, ((uint64_t)1 << 58) + 69);
    n.claims[CLAIMS_KINDS - 1].count = 2;
    assert_int_equal(check_prime_opened(&n), words);
    assert_true(check_prime_hold(&n, joined));
    for (size_t at = 4; at < words; at++) {
        joined[at] = 1;
        assert_false(check_prime_hold(&n, joined));
        joined[at] = 0;
    }
}
