/*
 * parties/settings/three/engine.c and gradients: a classifier's run on three parties equals the
 * plaintext one on the same noise; what it opens; how many exchanges a step takes; what is refused.
 */
#include "tests/support/whole.h"

#include "aim/run/train_run.h"

#define STEPS 10

struct trainings {
    struct whole w;
    struct train_result *result[3];
    unsigned steps[3]; /* made so far, at each party */
    unsigned rounds;   /* of every step but the first, which also makes the rows */
};

/* --- a run ------------------------------------------------------------------------------------ */

struct train_seat {
    struct whole_seat seat;
    struct trainings *of;
};

static enum err ask_step(void *self, const struct ask *a, struct ask_told *told)
{
    struct train_seat *s = self;
    struct trainings *t = s->of;
    const unsigned i = s->seat.index;
    TRY(seat_ask(&s->seat, a, told));
    if (a->kind == ASK_GRADIENT && t->steps[i]++ > 0 && t->w.exchanges[i] != t->rounds)
        return ERR_RANGE;
    return ERR_OK;
}

static enum err run_steps(struct party *p, void *shared)
{
    struct trainings *t = shared;
    struct train_seat s = {{.w = &t->w, .index = p->index}, t};
    const struct aim_backend backend = {.self = &s, .ask = ask_step};
    struct train_options options;
    enum err e = marks_begin(p);
    if (e == ERR_OK)
        e = load_engine(&t->w, p, &s.seat.engine);
    if (e == ERR_OK)
        e = release_train_options(t->w.s.study, t->w.bounds, &options, p->log);
    if (e == ERR_OK)
        e = train_run(&t->result[p->index], &options, &backend, p->log);
    three_free(&s.seat.engine);
    return e;
}

static enum err run_plain(struct trainings *t, struct train_result **result,
                          struct whole_replay *replay)
{
    const struct plaintext_noise noise = {replay, replay_gauss, replay_gumbel};
    const struct study *study = t->w.s.study;
    struct plaintext *plain CLEAN(plaintext_free) = NULL;
    struct slope *rows CLEAN(slope_free) = NULL;
    struct train_options options;
    TRY(release_train_options(study, t->w.bounds, &options, NULL));
    TRY(plaintext_new(&plain, study->workload, t->w.all, &noise, NULL));
    TRY(slope_new(&rows, study->features, t->w.all));
    plaintext_train(plain, rows);
    struct aim_backend backend = plaintext_backend(plain);
    return train_run(result, &options, &backend, NULL);
}

static void same_result(const struct train_result *a, const struct train_result *b, size_t cells)
{
    int64_t any = 0;
    assert_int_equal(a->steps, STEPS);
    for (unsigned k = 0; k < STEPS; k++) {
        assert_false(a->step[k].lost);
        assert_memory_equal(a->step[k].weight, b->step[k].weight,
                            a->weights * sizeof *a->step[k].weight);
        assert_memory_equal(a->step[k].value, b->step[k].value,
                            a->weights * sizeof *a->step[k].value);
        any |= a->step[k].weight[0];
    }
    assert_int_not_equal(any, 0);
    assert_memory_equal(a->weight, b->weight, a->weights * sizeof *a->weight);
    assert_true(a->rows == b->rows && a->spent == b->spent && a->rows > 50);
    assert_int_equal(a->test.value != NULL, cells > 0);
    if (cells > 0) {
        assert_memory_equal(a->test.weight, b->test.weight, a->weights * sizeof *a->test.weight);
        assert_memory_equal(a->test.value, b->test.value, cells * sizeof *a->test.value);
    }
}

static void equals(const struct study_options *o, const struct whole_persons *persons, bool twice)
{
    const bool proved = o->more != NULL && strstr(o->more, "abort") != NULL;
    struct trainings *t CLEAN(memory_release) = memory_array(1, sizeof *t);
    struct train_result *plain CLEAN(train_result_free) = NULL;
    struct whole_replay replay = {.w = &t->w};
    struct three_costs costs;
    whole_fill(&t->w, o, persons);
    t->w.twice = twice;
    t->rounds = proved ? 2 + 29 : 2 + 15;
    size_t weights = features_weights(t->w.s.study->features);
    size_t cells = t->w.s.study->features->tests ? features_cells(t->w.s.study->features) : 0;
    size_t codes = t->w.s.study->domain->attribute[t->w.s.study->features->target].size;
    OK(three_run_wrapped(78, run_steps, t, &costs, marks_wrap));
    OK(run_plain(t, &plain, &replay));
    for (unsigned i = 0; i < 3; i++)
        same_result(t->result[i], plain, cells);
    assert_int_equal(costs.opened_calls[OPEN_NOISY_MARGINAL], (1 + twice) * (1 + (cells > 0)));
    assert_int_equal(costs.opened_values[OPEN_NOISY_MARGINAL], (1u + twice) * (codes + cells));
    assert_int_equal(costs.opened_calls[OPEN_NOISY_GRADIENT], (1 + twice) * STEPS);
    assert_int_equal(costs.opened_values[OPEN_NOISY_GRADIENT], (1u + twice) * STEPS * weights);
    assert_int_equal(costs.opened_calls[OPEN_SELECTED_INDEX], 0);
    assert_int_equal(replay.next[NOISE_GAUSS], codes + STEPS * weights + cells);
    assert_in_range(price_noise(t->w.s.study).gauss, codes + STEPS * weights + cells,
                    codes + 1 + STEPS * (weights + 1) + cells);
    for (unsigned i = 0; i < 3; i++)
        train_result_free(&t->result[i]);
    whole_free(&t->w);
}

static const char numbers_domain[] = "domain:\n"
                                     "  - {name: f, kind: integer, min: 0, max: 15, repeat: 5}\n"
                                     "  - {name: g, kind: integer, min: 2, max: 11}\n"
                                     "  - {name: y, kind: integer, min: 0, max: 9}\n";
static const char classes_domain[] = "domain:\n"
                                     "  - {name: age, kind: integer, min: 0, max: 8}\n"
                                     "  - {name: y, kind: integer, min: 1, max: 21}\n"
                                     "  - {name: z, kind: integer, min: 0, max: 1}\n";

#define TRAIN(what) "method: train\ntrain: {" what ", steps: 10}\n"
#define RECORDS "    max_rows: 1400\n"

/* Two classes, three, ten and 21; one-hot, numbers; columns at several owners; values missing. */
TEST(a_classifier_equals_the_plaintext_one)
{
    static const char *const columns[] = {
        "    max_rows: 900\n    batch: city\n    columns: [died, age]\n", NULL,
        "    max_rows: 900\n    batch: city\n    columns: [bmi, sex, ward]\n"};
    static const struct study_options data[] = {
        {.train = TRAIN("target: died"), .epsilon = 3},
        {.train = TRAIN("target: ward"), .part = columns, .epsilon = 3},
        {.train = TRAIN("target: ward"), .domain = SUPPORT_LINKED_DOMAIN, .noise = "discrete"},
        {.train = TRAIN("target: y, numbers: all, norm: 22"), .domain = numbers_domain},
        {.train = TRAIN("target: y"), .domain = classes_domain, .epsilon = 5},
        {.train = TRAIN("target: died, test: {column: ward, value: c}"),
         .part = columns,
         .epsilon = 3},
        {.train = TRAIN("target: y, numbers: all, norm: 22, test: {column: g, value: 5}"),
         .domain = numbers_domain}};
    for (size_t k = 0; k < sizeof data / sizeof *data; k++) {
        struct study_options o = data[k];
        o.owners = OWNERS;
        equals(&o, &(const struct whole_persons){0}, k == 1);
    }
}

/* Few enough lanes for a check without folds. */
TEST(a_classifier_that_is_proved_equals_too)
{
    static const char few_classes[] = "domain:\n"
                                      "  - {name: f, kind: integer, min: 0, max: 15, repeat: 5}\n"
                                      "  - {name: y, kind: integer, min: 0, max: 3}\n";
    equals(
        OPTIONS(.owners = OWNERS,
                .train = TRAIN("target: y, numbers: all, norm: 22, test: {column: f1, value: 3}"),
                .domain = few_classes, .more = "security: abort\n"),
        &(const struct whole_persons){0}, true);
}

/* The rows of a person that stay are those of every step; they are made once. */
TEST(a_classifier_whose_persons_are_bounded_equals_too)
{
    static const struct whole_persons persons[] = {{.count = 400}, {.count = 50, .unsorted = 3}};
    for (unsigned k = 0; k < 2; k++) {
        equals(OPTIONS(.owners = OWNERS, .train = TRAIN("target: died"), .enforce = 3 - k,
                       .epsilon = 5, .more = k == 0 ? "security: abort\n" : NULL),
               &persons[k], true);
    }
}

/* The same for linked owners, beside one of whole records, which are read again. */
TEST(a_classifier_whose_owners_are_linked_equals_too)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: x\n    columns: [age, sex, ward]\n",
        "    max_rows: 800\n    batch: x\n    columns: [bmi, died]\n", RECORDS};
    for (unsigned k = 0; k < 2; k++) {
        equals(OPTIONS(.owners = OWNERS, .train = TRAIN("target: died"), .part = part,
                       .link = "true", .epsilon = 5, .more = k == 0 ? "security: abort\n" : NULL),
               &(const struct whole_persons){.count = 270}, k == 1);
    }
}

/* --- requests --------------------------------------------------------------------------------- */

/* Requests that a server prepares; without rows. */
struct engine_train_desk {
    struct support_study s;
    struct bounds *bounds;
};

static bool refuses(struct three *g, const struct ask *a)
{
    struct engine_step step;
    const enum err e = three_prepare(g, a, &step);
    if (e == ERR_OK)
        three_step_clear(&step);
    assert_true(e == ERR_OK || e == ERR_REFUSED);
    return e == ERR_REFUSED;
}

static void ask_for_gradients(struct three *g)
{
    const size_t weights = features_weights(g->study->features);
    int64_t *weight CLEAN(memory_release) = NULL;
    uint32_t query = 0;
    struct ask a = {.kind = ASK_GRADIENT, .multiplier = 1000, .weights = weights};
    OK(memory_new(&weight, weights + 1));
    a.weight = weight;
    assert_false(refuses(g, &a));
    weight[3] = -32768;
    assert_true(refuses(g, &a));
    weight[3] = -32767;
    assert_false(refuses(g, &a));
    a.weights++;
    assert_true(refuses(g, &a));
    a.weights = weights;
    a.multiplier = 0;
    assert_true(refuses(g, &a));
    a.multiplier = UINT64_C(1) << 30;
    assert_true(refuses(g, &a));
    a.multiplier = 1000;
    assert_false(refuses(g, &a));
    a.kind = ASK_TEST;
    assert_int_equal(refuses(g, &a), !g->study->features->tests);
    a.weights++;
    assert_true(refuses(g, &a));
    a = (struct ask){.kind = ASK_FORMS};
    assert_true(refuses(g, &a));
    a = (struct ask){.kind = ASK_SELECT, .queries = 1, .query = &query, .multiplier = 1000};
    assert_true(refuses(g, &a));
}

static void ask_without_a_classifier(struct three *g)
{
    int64_t weight[24] = {0};
    struct ask a = {.kind = ASK_GRADIENT, .multiplier = 1000, .weights = 24, .weight = weight};
    assert_true(refuses(g, &a));
    a.kind = ASK_TEST;
    assert_true(refuses(g, &a));
}

static enum err sit(struct party *p, void *shared)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    struct engine_train_desk *d = shared;
    struct three *g CLEAN(three_free) = NULL;
    p->log->file = NULL;
    TRY(three_new(&g, p, d->s.study, d->bounds, id, p->log));
    TRY(three_finish(g));
    if (p->index == 0 && d->s.study->features != NULL)
        ask_for_gradients(g);
    else if (p->index == 0)
        ask_without_a_classifier(g);
    return ERR_OK;
}

TEST(servers_refuse_gradients_that_are_not_of_the_study)
{
    static const char *const train[] = {TRAIN("target: died"),
                                        TRAIN("target: died, test: {column: sex, value: f}"), NULL};
    for (unsigned k = 0; k < 3; k++) {
        struct engine_train_desk d = {.bounds = NULL};
        d.s = STUDY(NULL, .owners = 1, .train = train[k]);
        OK(bounds_new(&d.bounds, d.s.study, NULL));
        OK(three_run(1, sit, &d, NULL));
        bounds_free(&d.bounds);
        support_study_free(&d.s);
    }
}
