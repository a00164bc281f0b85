/*
 * Gradients and a test's tables under mpc/check/check.h: they equal those without it; nobody opens
 * what a server alters; and what it costs.
 */
#include "harness/cmocka.h"

#include "mpc/move/crew.h"
#include "mpc/move/open.h"
#include "protocols/mask.h"
#include "protocols/train_gradient.h"
#include "tests/support/check.h"

#include <limits.h>

#define ATTRIBUTES 4
#define SIZE(array) (sizeof(array) / sizeof *(array))
#define WEIGHTS_MAX 256

static const struct check_limits limits;

/* One-hot, of two classes and of three, one of which may be missing; numbers. */
static const struct {
    uint32_t size[ATTRIBUTES], classes, norm2;
    unsigned bits;
} kinds[] = {{{5, 2, 8, 3}, 2, 0, 5}, {{5, 4, 2, 2}, 3, 0, 4}, {{16, 12, 16, 9}, 12, 300, 3}};

/* A play runs one of these, by its number; the first four are swept. */
static const struct check_gradient_case {
    size_t kind, records;
    bool tests; /* the last column says which rows are kept back, and their tables are opened */
    unsigned exchanges; /* without a check */
} cases[] = {{0, 9, false, 15},    {1, 70, false, 15},    {2, 5, false, 15},   {1, 70, true, 32},
             {2, 3000, false, 15}, {0, 17000, false, 15}, {0, 17000, true, 24}};
#define THREE_BLOCKS 4

/* Components that are as good as random: records of any codes, about half of them valid. */
#define VECTOR ((size_t)1 << 16)
static uint8_t vector[VECTOR];

static const uint16_t columns[] = {0, 2, 3}, all_columns[] = {0, 1, 2, 3};

static struct train_shape shape_of(const struct check_gradient_case *c)
{
    const size_t kind = c->kind;
    return (struct train_shape){.records = {ATTRIBUTES, kinds[kind].size},
                                .target = 1,
                                .classes = kinds[kind].classes,
                                .column = columns,
                                .columns = SIZE(columns) - c->tests,
                                .tests = c->tests,
                                .test = 3,
                                .test_code = 1,
                                .norm2 = kinds[kind].norm2,
                                .bits = kinds[kind].bits};
}

/*
 * A cheat that keeps what it sends: one result of its kernel is off, so everything that it computes
 * and proves later fits. The squares of numbers, sums of matrices, or z.
 */
enum check_gradient_kind { LIE_PRODUCT, LIE_SUM, LIE_WEIGHED, LIES };
static struct check_gradient_lie {
    const struct kernel *honest;
    struct kernel kernel;
    enum check_gradient_kind kind;
    unsigned cheat, call, calls; /* which call is off; calls so far */
    uint16_t error;
    bool cancels; /* the next call is off by as much the other way */
} lie;

static uint16_t off_by(enum check_gradient_kind kind)
{
    const unsigned call = kind == lie.kind ? lie.calls++ : UINT_MAX;
    if (call == lie.call)
        return lie.error;
    return lie.cancels && call == lie.call + 1 ? (uint16_t)(0 - lie.error) : 0;
}

static void products(uint16_t *z, const uint16_t *f, const uint16_t *xa, const uint16_t *xb,
                     const uint16_t *ya, const uint16_t *yb, size_t n)
{
    lie.honest->multiply16(z, f, xa, xb, ya, yb, n);
    z[n / 2] = (uint16_t)(z[n / 2] + off_by(LIE_PRODUCT));
}

static void sums(uint16_t *c, uint16_t factor, const uint16_t *a, const uint16_t *b, size_t of_a,
                 size_t of_b, size_t n)
{
    lie.honest->matrix16(c, factor, a, b, of_a, of_b, n);
    c[of_b - 1] = (uint16_t)(c[of_b - 1] + off_by(LIE_SUM));
}

static void weighed(uint16_t *z, const uint16_t *w, const uint16_t *x, size_t rows, size_t stride,
                    size_t n)
{
    lie.honest->axpy16(z, w, x, rows, stride, n);
    z[n / 2] = (uint16_t)(z[n / 2] + off_by(LIE_WEIGHED));
}

static void begin_lie(struct party *p, const struct check_play *play)
{
    if (play->self != &lie || p->index != lie.cheat)
        return;
    lie.honest = p->kernel;
    lie.kernel = *p->kernel;
    lie.kernel.multiply16 = products;
    lie.kernel.matrix16 = sums;
    lie.kernel.axpy16 = weighed;
    lie.calls = 0;
    p->kernel = &lie.kernel;
}

static enum err make_rows(struct party *p, struct train_rows *rows, size_t records)
{
    static const uint8_t seeds[2][MASK_SEED_SIZE] = {{1}, {2}};
    struct records_part part = {
        .attributes = ATTRIBUTES, .attribute = all_columns, .vector = vector};
    const struct records_batch batch = {.records = records, .parts = 1, .part = &part};
    for (unsigned slot = 0; slot < 2; slot++)
        if ((p->index + slot) % 3 < 2)
            part.seed[slot] = seeds[(p->index + slot) % 3];
    TRY(train_rows_add(p, rows, &batch, 1));
    return train_rows_end(p, rows);
}

static enum err sum_and_open(struct party *p, struct check_play *play,
                             const struct train_rows *rows)
{
    struct share64 out CLEAN(share64_free) = {0};
    int64_t weight[WEIGHTS_MAX];
    uint64_t opened[WEIGHTS_MAX];
    const size_t weights = rows->labels.n,
                 cells = rows->shape->tests ? rows->outputs * TRAIN_CELLS_TEST : weights;
    for (size_t k = 0; k < weights; k++)
        weight[k] = (int64_t)(k * 7919 % 301) - 150;
    TRY(share64_new(&out, cells));
    TRY(record_prove(p));
    if (p->index == 0)
        play->before = net_total(p->net).exchanges;
    TRY((rows->shape->tests ? train_test : train_gradient)(p, rows, weight, out));
    TRY(open_ring64(p, OPEN_NOISY_MARGINAL, out, opened));
    bytes_put(&play->opened[p->index], opened, cells * sizeof *opened);
    return ERR_OK;
}

static enum err step(struct party *p, struct check_play *play)
{
    const struct train_shape shape = shape_of(&cases[play->n]);
    struct train_rows rows CLEAN(train_rows_free);
    train_rows_start(&rows, &shape);
    begin_lie(p, play);
    TRY(make_rows(p, &rows, cases[play->n].records));
    return sum_and_open(p, play, &rows);
}

/*
 * 15 exchanges without a check. With one: a flush of 6 for the sums of all blocks, and one before
 * the opening; carries of what is widened, twice.
 */
TEST(gradients_are_those_without_a_check)
{
    for (size_t k = 0; k < SIZE(cases); k++) {
        struct check_play plain CLEAN(play_free) = {.job = step, .cheat = NOBODY, .n = k};
        struct check_play play CLEAN(play_free) = {
            .job = step, .cheat = NOBODY, .n = k, .limits = &limits};
        play_run(&plain);
        play_run(&play);
        assert_int_equal(plain.rounds - plain.before, cases[k].exchanges);
        if (!cases[k].tests)
            assert_int_equal(play.rounds - play.before, 15 + 2 * 6 + 2);
        for (unsigned s = 0; s < 3; s++)
            assert_true(play_opened_all(&play, &plain, s));
    }
}

TEST(a_small_log_is_proved_more_often)
{
    static const struct check_limits few = {.log = (size_t)4 << 20};
    struct check_play plain CLEAN(play_free) = {.job = step, .cheat = NOBODY, .n = THREE_BLOCKS};
    struct check_play play CLEAN(play_free) = {
        .job = step, .cheat = NOBODY, .n = THREE_BLOCKS, .limits = &few};
    play_run(&plain);
    play_run(&play);
    assert_true(play.begun[0] > 5);
    for (unsigned s = 0; s < 3; s++)
        assert_true(play_opened_all(&play, &plain, s));
}

TEST(no_altered_word_opens_anything_else)
{
    for (size_t k = 0; k < 4; k++) {
        const struct check_play model = {.job = step, .limits = &limits, .n = k};
        play_sweep("gradient", &model, true); /* top bits of what is halved are not used */
    }
}

/* Plays `lie`, with numbers in three blocks. */
static void find_lie(void)
{
    struct check_play play CLEAN(play_free) = {
        .job = step, .cheat = lie.cheat, .limits = &limits, .self = &lie, .n = THREE_BLOCKS};
    play_run(&play);
    assert_true(lie.calls > lie.call + lie.cancels);
    for (unsigned s = 0; s < 3; s++)
        if (s != lie.cheat) {
            assert_int_equal(play.result[s], ERR_CHEAT);
            assert_int_equal(play.opened[s].size, 0);
        }
}

/* Sums of labels come first, of three blocks. */
#define FIRST_SUM 3

TEST(what_a_server_keeps_as_it_sends_it_is_found)
{
    for (unsigned k = 0; k < 3 * LIES * 2 * 2; k++) {
        lie = (struct check_gradient_lie){
            .cheat = k % 3, .kind = k / 3 % LIES, .error = k / 3 / LIES % 2 == 0 ? 1 : 1 << 15};
        if (k / 3 / LIES / 2 == 1)
            lie.call = lie.kind == LIE_SUM ? FIRST_SUM + 1 : 1;
        find_lie();
    }
}

/* The sums of two blocks, off by as much: were rows weighed alike in both, no relation would be. */
TEST(lies_about_two_blocks_do_not_cancel_out)
{
    for (unsigned k = 0; k < 3 * 2 * 2; k++) {
        lie = (struct check_gradient_lie){.cheat = k % 3,
                                          .kind = LIE_SUM,
                                          .call = k / 3 % 2 == 0 ? 0 : FIRST_SUM + 1,
                                          .error = k / 6 == 0 ? 1 : 1 << 15,
                                          .cancels = true};
        find_lie();
    }
}

int main(void)
{
    uint64_t seed = 9;
    for (size_t i = 0; i < sizeof vector; i++)
        vector[i] = (uint8_t)three_random(&seed);
    return support_run_tests(NULL, NULL);
}
