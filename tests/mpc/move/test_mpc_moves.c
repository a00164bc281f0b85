/* mpc/move/move.h: both holders hold the same words, lanes past the end too; any can be altered. */
#include "harness/cmocka.h"

#include "mpc/circuits/argmax.h"
#include "mpc/move/open.h"
#include "tests/support/all.h"
#include "tests/support/hooks.h"

#define ROUNDS 16

/*
 * A run of one protocol, the components that each server then holds, and a word that one of them
 * alters.
 */
struct moves_run {
    size_t protocol, n;
    const uint64_t *values;
    struct bytes a[3], b[3];
    unsigned cheat; /* 3: nobody */
    uint64_t round;
    enum net_peer to;
    bool both; /* or to each of them */
    size_t message, word;
    unsigned altered;
    uint64_t rounds;            /* of the cheat */
    size_t bytes[ROUNDS][2][3]; /* of each of the first messages, by neighbour */
};

static void put(struct moves_run *r, const struct party *p, const void *a, const void *b,
                size_t bytes)
{
    bytes_put(&r->a[p->index], a, bytes);
    bytes_put(&r->b[p->index], b, bytes);
}

/* All vectors, in whole words. */
static void put_secrets(struct moves_run *r, const struct party *p, const struct all_secrets *s)
{
    const size_t planes = bits_words(s->n) * ALL_BITS * 8;
    put(r, p, s->x.a, s->x.b, s->n * 8);
    put(r, p, s->y.a, s->y.b, s->n * 8);
    put(r, p, s->out.a, s->out.b, s->n * 8);
    put(r, p, s->wide.a, s->wide.b, s->n * 16);
    put(r, p, s->x32.a, s->x32.b, s->n * 4);
    put(r, p, s->out32.a, s->out32.b, s->n * 4);
    put(r, p, s->x16.a, s->x16.b, s->n * 2);
    put(r, p, s->y16.a, s->y16.b, s->n * 2);
    put(r, p, s->out16.a, s->out16.b, s->n * 2);
    put(r, p, s->bits.a, s->bits.b, planes);
    put(r, p, s->more.a, s->more.b, planes);
}

static enum err alter(void *self, const struct hooks_sent *at, void *p, size_t n)
{
    struct moves_run *r = self;
    const size_t byte = 8 * r->word;
    r->rounds = at->exchange + 1;
    if (at->exchange < ROUNDS)
        r->bytes[at->exchange][at->to][at->message] = at->offset + n;
    if (at->exchange == r->round && (r->both || at->to == r->to) && at->message == r->message &&
        byte >= at->offset && byte < at->offset + n) {
        ((uint8_t *)p)[byte - at->offset] ^= 1;
        r->altered++;
    }
    return ERR_OK;
}

static enum err job(struct party *p, void *shared)
{
    struct moves_run *r = shared;
    const struct hooks_tamper tamper = {.alter = alter, .self = r};
    struct all_secrets s CLEAN(secrets_free) = {0};
    TRY(secrets_new(p, &s, r->values, r->n, 5));
    if (p->index == r->cheat)
        hooks_tamper(p, &tamper);
    TRY(all_protocols[r->protocol].run(p, &s));
    put_secrets(r, p, &s);
    return ERR_OK;
}

static void run_free(struct moves_run *r)
{
    for (unsigned s = 0; s < 3; s++) {
        bytes_clear(&r->a[s]);
        bytes_clear(&r->b[s]);
    }
}

static size_t protocol_named(const char *name)
{
    for (size_t k = 0; k < ALL_PROTOCOLS; k++)
        if (strcmp(all_protocols[k].name, name) == 0)
            return k;
    fail_msg("no protocol is called %s", name);
    return 0;
}

#define N_MAX 2100

TEST(both_holders_hold_the_same_words)
{
    static const size_t lengths[] = {61, 64, 65, 130, N_MAX};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t k = 0; k < ALL_PROTOCOLS; k++) {
            struct moves_run r CLEAN(run_free) = {
                .protocol = k, .n = lengths[l], .values = three_values(), .cheat = 3};
            OK(three_run(7, job, &r, NULL));
            for (unsigned s = 0; s < 3; s++) {
                const struct bytes *next = &r.a[(s + 1) % 3];
                assert_int_equal(r.b[s].size, next->size);
                if (memcmp(r.b[s].data, next->data, next->size) != 0)
                    fail_msg("%s of %zu: servers %u and %u hold different words",
                             all_protocols[k].name, r.n, s, (s + 1) % 3);
            }
        }
}

static bool same(const struct moves_run *x, const struct moves_run *y)
{
    for (unsigned s = 0; s < 3; s++)
        if (x->a[s].size != y->a[s].size || memcmp(x->a[s].data, y->a[s].data, x->a[s].size) != 0 ||
            memcmp(x->b[s].data, y->b[s].data, x->b[s].size) != 0)
            return false;
    return true;
}

/*
 * Every message of protocols in which no word is lost, at each server: its first word, then its
 * last.
 */
TEST(an_altered_word_shows)
{
    static const char *const names[] = {"multiply", "inner and matrix products", "bits to numbers"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (unsigned cheat = 0; cheat < 3; cheat++) {
            struct moves_run honest CLEAN(run_free) = {.protocol = protocol_named(names[k]),
                                                       .n = 130,
                                                       .values = three_values(),
                                                       .cheat = cheat,
                                                       .round = UINT64_MAX};
            unsigned tried = 0;
            OK(three_run(7, job, &honest, NULL));
            assert_int_equal(honest.altered, 0);
            assert_true(honest.rounds > 0 && honest.rounds <= ROUNDS);
            for (size_t t = 0; t < 12 * honest.rounds; t++) {
                const enum net_peer to = t / 6 % 2 == 0 ? NET_PREV : NET_NEXT;
                const size_t bytes = honest.bytes[t / 12][to][t / 2 % 3];
                struct moves_run r CLEAN(run_free) = {.protocol = honest.protocol,
                                                      .n = honest.n,
                                                      .values = honest.values,
                                                      .cheat = cheat,
                                                      .round = t / 12,
                                                      .to = to,
                                                      .message = t / 2 % 3,
                                                      .word = t % 2 == 0 ? 0 : (bytes - 1) / 8};
                if (bytes == 0)
                    continue;
                OK(three_run(7, job, &r, NULL));
                assert_int_equal(r.altered, 1);
                assert_false(same(&r, &honest));
                tried++;
            }
            assert_true(tried >= 2 * honest.rounds);
        }
}

/* --- openings --------------------------------------------------------------------------------- */

struct moves_opening {
    struct moves_run run;
    uint64_t opened[3];
    size_t index[3];
    enum err result[3];
};

static enum err open_one(struct party *p, void *shared)
{
    struct moves_opening *o = shared;
    const struct hooks_tamper tamper = {.alter = alter, .self = &o->run};
    uint64_t value = 42;
    struct share64 x CLEAN(share64_free);
    TRY(three_share64(p, &x, &value, 1, 3));
    if (p->index == o->run.cheat)
        hooks_tamper(p, &tamper);
    return open_ring64(p, OPEN_NOISY_MARGINAL, x, &o->opened[p->index]);
}

TEST(an_altered_opening_reaches_one_neighbour)
{
    for (unsigned cheat = 0; cheat < 3; cheat++) {
        struct moves_opening o = {.run = {.cheat = cheat, .to = NET_NEXT}};
        OK(three_run(8, open_one, &o, NULL));
        assert_int_equal(o.run.altered, 1);
        for (unsigned s = 0; s < 3; s++)
            assert_int_equal(o.opened[s] == 42, s != (cheat + 1) % 3);
    }
}

static enum err choose(struct party *p, void *shared)
{
    static const uint8_t seed[ARGMAX_SEED_SIZE] = {1};
    static const uint64_t values[] = {7, 3, 900, 5};
    struct moves_opening *o = shared;
    const struct hooks_tamper tamper = {.alter = alter, .self = &o->run};
    struct share64 x CLEAN(share64_free);
    TRY(three_share64(p, &x, values, 4, 3));
    if (p->index == o->run.cheat)
        hooks_tamper(p, &tamper);
    p->log = NULL;
    o->result[p->index] = argmax_open(p, x, 16, seed, &o->index[p->index]);
    return ERR_OK;
}

/*
 * In its last round argmax opens W_q R_q, which is 0 only for the largest. Here the neighbours get
 * no 0.
 */
TEST(an_altered_argmax_ends_in_an_error)
{
    struct moves_opening honest = {.run = {.cheat = 0, .round = UINT64_MAX}};
    struct moves_opening o = {.run = {.cheat = 0, .both = true, .word = 2}};
    OK(three_run(8, choose, &honest, NULL));
    for (unsigned s = 0; s < 3; s++) {
        OK(honest.result[s]);
        assert_int_equal(honest.index[s], 2);
    }
    o.run.round = honest.run.rounds - 1;
    OK(three_run(8, choose, &o, NULL));
    assert_int_equal(o.run.altered, 2); /* it goes to both */
    OK(o.result[0]);
    assert_int_equal(o.result[1], ERR_RANGE);
    assert_int_equal(o.result[2], ERR_RANGE);
}

MAIN(three_each_kernel())
