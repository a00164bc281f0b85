/*
 * Counts of records under mpc/check/check.h: they equal those without it, whatever the batches;
 * nobody opens what a server alters; and what it costs.
 */
#include "harness/cmocka.h"

#include "mpc/move/open.h"
#include "protocols/mask.h"
#include "protocols/records.h"
#include "tests/support/check.h"

#define ATTRIBUTES 5
#define QUERIES 7
#define SIZE(array) (sizeof(array) / sizeof *(array))

static const struct check_limits limits;

/* A batch of so many records, its columns in two parts or in one. */
struct owners {
    size_t records, parts;
};

/* Marginals of all orders; in the second kind attributes are so large that some are split. */
struct check_records_kind {
    uint32_t size[ATTRIBUTES];
    size_t queries;
    struct {
        size_t n;
        uint16_t attribute[RECORDS_ORDER_MAX];
    } query[QUERIES];
};
static const struct check_records_kind kinds[] = {
    {{5, 1, 8, 3, 2},
     7,
     {{1, {0}},
      {1, {1}},
      {2, {0, 2}},
      {2, {1, 4}},
      {3, {0, 2, 3}},
      {3, {2, 3, 4}},
      {4, {0, 2, 3, 4}}}},
    {{12, 18, 13, 2, 1}, 4, {{3, {0, 1, 2}}, {3, {1, 2, 3}}, {1, {4}}, {4, {0, 1, 2, 3}}}},
};

struct check_records_batches {
    const struct check_records_kind *kind;
    size_t count;
    struct owners owner[3];
};

/* A play runs one of these, by its number; the first two are swept. */
static const struct check_records_batches scenes[] = {
    {&kinds[0], 2, {{5, 1}, {3, 2}}},           {&kinds[1], 1, {{9, 1}}},
    {&kinds[0], 3, {{1, 2}, {130, 2}, {3, 1}}}, {&kinds[1], 2, {{100, 1}, {29, 2}}},
    {&kinds[0], 2, {{64, 1}, {70, 2}}},         {&kinds[0], 1, {{5000, 1}}},
};

static size_t cells_of(const struct check_records_kind *kind, size_t query)
{
    size_t cells = 1;
    for (size_t k = 0; k < kind->query[query].n; k++)
        cells *= kind->size[kind->query[query].attribute[k]];
    return cells;
}

/* Components that are as good as random: records of any codes, about half of them valid. */
#define VECTOR ((size_t)1 << 15)
static uint8_t vectors[6 * VECTOR + 1];

static void make_vectors(void)
{
    uint64_t seed = 9;
    for (size_t i = 0; i < sizeof vectors; i++)
        vectors[i] = (uint8_t)three_random(&seed);
}

struct check_records_held {
    struct records_part part[3][2];
    struct records_batch batch[3];
    struct records_query query[QUERIES];
};

static const uint16_t columns[2][ATTRIBUTES] = {{0, 2, 4}, {1, 3}};
static const uint16_t all_columns[ATTRIBUTES] = {0, 1, 2, 3, 4};

static void hold(struct check_records_held *h, const struct check_records_batches *b,
                 const struct check_play *play, unsigned index)
{
    static const uint8_t seeds[4][MASK_SEED_SIZE] = {{1}, {2}, {3}, {4}};
    const unsigned other = play->other ? (play->cheat + 2) % 3 : NOBODY; /* whose secret is */
    for (size_t i = 0; i < b->count; i++) {
        const bool whole = b->owner[i].parts == 1;
        for (size_t k = 0; k < b->owner[i].parts; k++) {
            h->part[i][k] = (struct records_part){
                .attributes = whole ? ATTRIBUTES : 3 - k,
                .attribute = whole ? all_columns : columns[k],
                .vector = vectors + (2 * i + k) * VECTOR + (other == 2),
            };
            for (unsigned slot = 0; slot < 2; slot++)
                if ((index + slot) % 3 < 2)
                    h->part[i][k].seed[slot] =
                        seeds[(index + slot) % 3 + ((index + slot) % 3 == other ? 2 : 0)];
        }
        h->batch[i] = (struct records_batch){
            .records = b->owner[i].records, .parts = b->owner[i].parts, .part = h->part[i]};
    }
}

static enum err count_and_open(struct party *p, struct check_play *play,
                               const struct check_records_batches *b, struct check_records_held *h)
{
    static uint64_t out[3][1 << 14];
    const struct records_shape shape = {ATTRIBUTES, b->kind->size};
    TRY(records_count(p, &shape, h->batch, b->count, h->query, b->kind->queries));
    for (size_t q = 0; q < b->kind->queries; q++) {
        TRY(open_ring64(p, OPEN_NOISY_MARGINAL, h->query[q].out, out[p->index]));
        bytes_put(&play->opened[p->index], out[p->index], h->query[q].out.n * sizeof out[0][0]);
    }
    return ERR_OK;
}

/*
 * A cheat that keeps what it sends: one result of its kernel is off, in products that make sides or
 * in sums of such. So everything that it computes and proves later fits.
 */
struct check_records_lie {
    const struct kernel *honest;
    struct kernel kernel;
    bool of_sums;
    unsigned cheat, call, calls; /* which call is off; calls so far */
    uint16_t error;
};
static struct check_records_lie lie;

static uint16_t off_by(bool of_sums)
{
    return of_sums == lie.of_sums && lie.calls++ == lie.call ? lie.error : 0;
}

static void products(uint16_t *z, const uint16_t *f, const uint16_t *xa, const uint16_t *xb,
                     const uint16_t *ya, const uint16_t *yb, size_t n)
{
    lie.honest->multiply16(z, f, xa, xb, ya, yb, n);
    z[n / 2] = (uint16_t)(z[n / 2] + off_by(false));
}

static void sums(uint16_t *c, uint16_t factor, const uint16_t *a, const uint16_t *b, size_t of_a,
                 size_t of_b, size_t n)
{
    lie.honest->matrix16(c, factor, a, b, of_a, of_b, n);
    c[of_b - 1] = (uint16_t)(c[of_b - 1] + off_by(true)); /* of moments, one above the diagonal */
}

static void begin_lie(struct party *p, const struct check_play *play)
{
    if (play->self != &lie || p->index != lie.cheat)
        return;
    lie.honest = p->kernel;
    lie.kernel = *p->kernel;
    lie.kernel.multiply16 = products;
    lie.kernel.matrix16 = sums;
    lie.calls = 0;
    p->kernel = &lie.kernel;
}

/* Scores of any value, of 7 bits or fewer, and of the fourth attribute of 11. */
static enum err moments_and_open(struct party *p, struct check_play *play,
                                 const struct check_records_batches *b,
                                 struct check_records_held *h)
{
    int64_t score[ATTRIBUTES][18], *of[ATTRIBUTES];
    const struct records_shape shape = {ATTRIBUTES, b->kind->size};
    uint64_t opened[ATTRIBUTES * (ATTRIBUTES - 1) / 2];
    struct share64 out CLEAN(share64_free) = {0};
    TRY(share64_new(&out, SIZE(opened)));
    for (int64_t a = 0; a < ATTRIBUTES; a++) {
        of[a] = score[a];
        for (int64_t v = 0; v < 18; v++)
            score[a][v] = (v - 7) * (a == 3 ? 100 : a + 2);
    }
    TRY(records_moments(p, &shape, h->batch, b->count, (const int64_t *const *)of, NULL, out));
    TRY(open_ring64(p, OPEN_NOISY_MARGINAL, out, opened));
    bytes_put(&play->opened[p->index], opened, sizeof opened);
    return ERR_OK;
}

static enum err moments(struct party *p, struct check_play *play)
{
    struct check_records_held h = {0};
    begin_lie(p, play);
    hold(&h, &scenes[play->n], play, p->index);
    return moments_and_open(p, play, &scenes[play->n], &h);
}

static enum err count(struct party *p, struct check_play *play)
{
    const struct check_records_batches *b = &scenes[play->n];
    struct check_records_held h = {0};
    enum err e = ERR_OK;
    begin_lie(p, play);
    hold(&h, b, play, p->index);
    for (size_t q = 0; q < b->kind->queries && e == ERR_OK; q++) {
        h.query[q].n = b->kind->query[q].n;
        memcpy(h.query[q].attribute, b->kind->query[q].attribute, sizeof h.query[q].attribute);
        e = share64_new(&h.query[q].out, cells_of(b->kind, q));
    }
    if (e == ERR_OK)
        e = count_and_open(p, play, b, &h);
    for (size_t q = 0; q < b->kind->queries; q++)
        share64_free(&h.query[q].out);
    return e;
}

typedef enum err job_of(struct party *p, struct check_play *play);

static void play_both(job_of *job, size_t scene, const struct check_limits *checked)
{
    struct check_play plain CLEAN(play_free) = {.job = job, .cheat = NOBODY, .n = scene};
    struct check_play play CLEAN(play_free) = {
        .job = job, .cheat = NOBODY, .n = scene, .limits = checked};
    play_run(&plain);
    play_run(&play);
    /* a flush for the sums, one for what they are widened to; carries of both; an agreement */
    if (checked == &limits && scenes[scene].owner[0].records < 1000) {
        assert_int_equal(play.begun[0], 2);
        assert_int_equal(play.rounds, plain.rounds + 2 * 6 + 3);
    }
    for (unsigned s = 0; s < 3; s++)
        assert_true(play_opened_all(&play, &plain, s));
}

/* Batches that share a block, of whole rows and of columns apart; and blocks of several tiles. */
TEST(counts_are_those_without_a_check)
{
    static const struct check_limits few = {.log = (size_t)1 << 20, .groups = 1};
    for (size_t k = 0; k < SIZE(scenes); k++) {
        play_both(count, k, &limits);
        play_both(moments, k, &limits);
        if (k == 2 || k == 3) {
            play_both(count, k, &few);
            play_both(moments, k, &few);
        }
    }
}

TEST(no_altered_word_opens_anything_else)
{
    for (size_t k = 0; k < 2; k++) {
        const struct check_play model = {.job = count, .limits = &limits, .n = k};
        play_sweep("records", &model, true); /* top bits of what is halved are not used */
    }
    const struct check_play model = {.job = moments, .limits = &limits};
    play_sweep("moments", &model, true);
}

TEST(what_a_server_keeps_as_it_sends_it_is_found)
{
    for (unsigned k = 0; k < 2 * 2 * 3 * 3; k++) {
        const bool of_moments = k / 12 == 2; /* one sum of all */
        struct check_play play CLEAN(play_free) = {
            .job = of_moments ? moments : count, .cheat = k % 3, .limits = &limits, .self = &lie};
        lie = (struct check_records_lie){.cheat = k % 3,
                                         .of_sums = of_moments || k / 3 % 2,
                                         .error = k / 6 % 2 == 0 ? 1 : 1 << 15,
                                         .call = k / 12 == 1 ? 3 : 0};
        play.n = k % 2;
        play_run(&play);
        assert_true(lie.calls > lie.call);
        for (unsigned s = 0; s < 3; s++)
            if (s != lie.cheat) {
                assert_int_equal(play.result[s], ERR_CHEAT);
                assert_int_equal(play.opened[s].size, 0);
            }
    }
}

int main(void)
{
    make_vectors();
    return support_run_tests(NULL, NULL);
}
