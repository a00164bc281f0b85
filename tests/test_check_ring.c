/*
 * Relations of numbers under mpc/check.h: what is right is accepted whatever its length, what a
 * server alters is opened by nobody.
 */
#include "tests/support_cmocka.h"

#include "mpc/open.h"
#include "mpc/ring.h"
#include "tests/support_check.h"

#include <string.h>

#define N_MAX 3000

static const struct check_limits limits;

static const uint64_t *some_values(void)
{
    static uint64_t values[N_MAX + 1];
    uint64_t seed = 4;
    for (size_t i = 0; i <= N_MAX; i++)
        values[i] = three_random(&seed);
    return values;
}

/* --- protocols -------------------------------------------------------------------------------- */

static enum err open_and_note(struct party *p, struct play *play, struct share64 x)
{
    static uint64_t out[3][N_MAX];
    TRY(open_ring64(p, OPEN_MASKED, x, out[p->index]));
    bytes_put(&play->opened[p->index], out[p->index], x.n * sizeof out[0][0]);
    return ERR_OK;
}

/* x = x y, y = y y, in place */
static enum err run_multiply(struct party *p, struct play *play, struct share64 x, struct share64 y)
{
    TRY(ring64_multiply(p, x, x, y));
    TRY(ring64_multiply(p, y, y, y));
    TRY(open_and_note(p, play, x));
    return open_and_note(p, play, y);
}

static enum err run_inner(struct party *p, struct play *play, struct share64 x, struct share64 y)
{
    const size_t start[4] = {0, 0, x.n / 3, x.n};
    struct share64 out;
    TRY(party_share64(p, &out, 3));
    TRY(ring64_inner(p, out, x, y, start));
    return open_and_note(p, play, out);
}

/* Sums of three products modulo 2^128, of words whose components are wide. */
static enum err run_sums(struct party *p, struct play *play, struct share64 x, struct share64 y)
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
static enum err run_narrow(struct party *p, struct play *play, struct share64 x, struct share64 y)
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
    TRY(move_sums(p, &(struct move_sums){RING_16, terms, 2, 1, false}));
    for (size_t i = 0; i < x.n; i++) {
        x.a[i] = u.a[i];
        x.b[i] = u.b[i];
    }
    return open_and_note(p, play, x);
}

/* A number that component 1 carries, times one of 32 bits: each holder multiplies what it has. */
static enum err run_alone(struct party *p, struct play *play, struct share64 x, struct share64 y)
{
    struct share32 u, z;
    uint32_t *v = scratch_take(p->scratch, x.n, sizeof *v);
    TRY(party_share32(p, &u, x.n));
    TRY(party_share32(p, &z, x.n));
    for (size_t i = 0; i < x.n; i++) {
        v[i] = (uint32_t)some_values()[i];
        u.a[i] = (uint32_t)x.a[i];
        u.b[i] = (uint32_t)x.b[i];
        z.a[i] = u.a[i] * v[i] * -3u + u.a[i];
        z.b[i] = u.b[i] * v[i] * -3u + u.b[i];
    }
    uint32_t *ones = scratch_take(p->scratch, x.n, sizeof *ones);
    for (size_t i = 0; i < x.n; i++)
        ones[i] = 1;
    const struct operand alone = {p->index == 1 ? v : NULL, p->index == 0 ? v : NULL};
    const struct operand one = {p->index == 0 ? ones : NULL, p->index == 2 ? ones : NULL};
    const struct check_product products[2] = {{alone, OPERAND(u), -3}, {OPERAND(u), one, 1}};
    TRY(check_ring(p, RING_32, products, 2, NULL, OPERAND(z), x.n));
    return open_and_note(p, play, y);
}

static enum err run_all(struct party *p, struct play *play, struct share64 x, struct share64 y)
{
    TRY(run_alone(p, play, x, y));
    TRY(ring64_multiply(p, y, x, y));
    TRY(run_sums(p, play, x, y));
    return run_narrow(p, play, y, y);
}

static enum err with_inputs(struct party *p, struct play *play,
                            enum err (*run)(struct party *p, struct play *play, struct share64 x,
                                            struct share64 y))
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    struct share64 x = {0}, y = {0};
    enum err e = three_share64(p, &x, some_values(), play->n, 5);
    if (e == ERR_OK)
        e = three_share64(p, &y, some_values() + 1, play->n, 6);
    if (e == ERR_OK)
        e = run(p, play, x, y);
    share64_free(&x);
    share64_free(&y);
    return scratch_done(p->scratch, mark, e);
}

#define JOB(name)                                                                                  \
    static enum err name(struct party *p, struct play *play)                                       \
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
    enum err (*job)(struct party *p, struct play *play);
    unsigned flushes;
} jobs[] = {{"products in place", multiply, 1},
            {"inner products", inner, 1},
            {"sums mod 2^128", sums, 1},
            {"mod 2^16", narrow, 1},
            {"carried by one component", alone, 1},
            {"all", all, 3}};
#define JOBS (sizeof jobs / sizeof *jobs)

static void what_is_right_is_accepted(void **state)
{
    static const size_t lengths[] = {0, 1, 2, 15, 63, 64, 65, 130, 257, 1000, 2999};
    static const struct check_limits few[] = {{0}, {.groups = 1}, {.log = 5000, .groups = 1}};
    (void)state;
    for (size_t k = 0; k < JOBS; k++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            struct play plain = {.job = jobs[k].job, .n = lengths[l], .cheat = NOBODY};
            play_run(&plain);
            for (size_t f = 0; f < sizeof few / sizeof *few; f++) {
                struct play checked = plain;
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
                play_free(&checked);
            }
            play_free(&plain);
        }
}

static void no_altered_word_opens_anything_else(void **state)
{
    (void)state;
    for (size_t k = 0; k + 1 < JOBS; k++) {
        const struct play model = {.job = jobs[k].job, .n = 70, .limits = &limits};
        play_sweep(jobs[k].name, &model, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_is_accepted),
        cmocka_unit_test(no_altered_word_opens_anything_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
