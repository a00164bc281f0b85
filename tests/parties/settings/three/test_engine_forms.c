/*
 * parties/settings/three/engine.c and forms: a copula's run on three parties equals the plaintext
 * one on the same noise; what forms cost is what a row can move; what is refused.
 */
#include "tests/support/whole.h"

#include "aim/budget/forms.h"
#include "aim/copula/copula.h"
#include "aim/run/copula_run.h"
#include "protocols/measure.h"

struct copulas {
    struct whole w;
    struct copula_result *result[3];
};

/* --- a run ------------------------------------------------------------------------------------ */

static enum err run_copula(struct party *p, void *shared)
{
    struct copulas *c = shared;
    struct whole_seat seat = {.w = &c->w, .index = p->index};
    const struct aim_backend backend = {.self = &seat, .ask = seat_ask};
    struct copula_options options;
    enum err e = marks_begin(p);
    if (e == ERR_OK)
        e = load_engine(&c->w, p, &seat.engine);
    if (e == ERR_OK)
        e = release_copula_options(c->w.s.study, c->w.bounds, &options, p->log);
    if (e == ERR_OK)
        e = copula_run(&c->result[p->index], &options, &backend, p->log);
    three_free(&seat.engine);
    return e;
}

static enum err run_plain(struct copulas *c, struct copula_result **result,
                          struct whole_replay *replay)
{
    const struct plaintext_noise noise = {replay, replay_gauss, replay_gumbel};
    const struct study *study = c->w.s.study;
    struct plaintext *plain CLEAN(plaintext_free) = NULL;
    struct copula_options options;
    TRY(release_copula_options(study, c->w.bounds, &options, NULL));
    TRY(plaintext_new(&plain, study->workload, c->w.all, &noise, NULL));
    struct aim_backend backend = plaintext_backend(plain);
    return copula_run(result, &options, &backend, NULL);
}

static void same_result(const struct copula_result *a, const struct copula_result *b)
{
    const struct domain *d = a->model->domain;
    assert_int_equal(a->measurements, d->attributes);
    assert_in_range(a->forms, forms_pairs(d->attributes), copula_forms_most(d));
    for (size_t i = 0; i < d->attributes; i++) {
        const size_t size = d->attribute[i].size * sizeof(double);
        assert_memory_equal(a->measurement[i].y, b->measurement[i].y, size);
        assert_memory_equal(a->score[i], b->score[i], size);
        assert_memory_equal(a->model->share[i], b->model->share[i], size);
    }
    for (size_t k = 0; k < a->forms; k++)
        assert_true(a->form[k].value == b->form[k].value && a->form[k].value != 0);
    assert_memory_equal(a->model->correlation, b->model->correlation,
                        a->model->first[d->attributes] * a->model->first[d->attributes] *
                            sizeof(double));
    assert_true(a->round[1].spent == b->round[1].spent && a->model->total == b->model->total);
}

static void equals(const struct study_options *o, const struct whole_persons *persons, bool twice)
{
    struct copulas *c CLEAN(memory_release) = memory_array(1, sizeof *c);
    struct copula_result *plain;
    struct whole_replay replay = {.w = &c->w};
    struct three_costs costs;
    whole_fill(&c->w, o, persons);
    c->w.twice = twice;
    OK(three_run_wrapped(78, run_copula, c, &costs, marks_wrap));
    OK(run_plain(c, &plain, &replay));
    for (unsigned i = 0; i < 3; i++)
        same_result(c->result[i], plain);
    /* one opening of all one-ways and one of all forms, nothing else */
    size_t cells = workload_one_way_cells(c->w.s.study->workload);
    assert_int_equal(costs.opened_calls[OPEN_NOISY_MARGINAL], 1 + twice);
    assert_int_equal(costs.opened_values[OPEN_NOISY_MARGINAL], (1 + twice) * cells);
    assert_int_equal(costs.opened_calls[OPEN_NOISY_FORM], 1 + twice);
    assert_int_equal(costs.opened_values[OPEN_NOISY_FORM], (1 + twice) * plain->forms);
    assert_int_equal(costs.opened_calls[OPEN_SELECTED_INDEX], 0);
    assert_int_equal(costs.opened_calls[OPEN_SORTED], persons->count > 0);
    assert_int_equal(replay.next[NOISE_GAUSS], cells + plain->forms);
    assert_int_equal(c->w.used[NOISE_GUMBEL][0], 0);
    /* no more noise is planned than that, except for rare labels and pairs of Gaussians */
    assert_in_range(price_noise(c->w.s.study).gauss, cells + plain->forms,
                    cells + copula_forms_most(c->w.s.study->domain) + 2);
    assert_int_equal(price_noise(c->w.s.study).gumbel, 0);
    for (unsigned i = 0; i < 3; i++)
        copula_result_free(&c->result[i]);
    copula_result_free(&plain);
    whole_free(&c->w);
}

static void mpc_equals_plaintext(const struct study_options *o, bool twice)
{
    equals(o, &(const struct whole_persons){0}, twice);
}

static const char copula[] = "method: copula\n";
#define RECORDS "    max_rows: 1400\n    as: records\n"
static const char *const records[] = {RECORDS, RECORDS, RECORDS};
static const char *const columns[] = {
    "    max_rows: 900\n    batch: city\n    columns: [died, age]\n", NULL,
    "    max_rows: 900\n    batch: city\n    columns: [bmi, sex, ward]\n"};

/*
 * Counts, records beside counts, columns at several owners, records alone, for which no pairs are
 * counted; a workload is only for eval.
 */
TEST(a_copula_equals_the_plaintext_copula)
{
    static const struct study_options data[] = {
        {.copula = copula, .workload = "\n  - {attributes: [age, ward, bmi, sex, died]}"},
        {.copula = copula, .domain = wide_domain, .noise = "discrete", .epsilon = 3},
        {.copula = "method: copula\ncopula: {clip: 1.5, share: 0.2}\n", .part = columns},
        {.copula = copula, .domain = wide_domain, .part = records}};
    for (size_t k = 0; k < 4; k++) {
        struct study_options o = data[k];
        o.owners = OWNERS;
        mpc_equals_plaintext(&o, k == 0);
    }
}

TEST(a_copula_that_is_proved_equals_too)
{
    struct study_options o = {.owners = OWNERS, .copula = copula, .more = "security: abort\n"};
    mpc_equals_plaintext(&o, true);
    o.part = records;
    mpc_equals_plaintext(&o, true);
}

/* Sums of products are over the rows of a person that stay, in every round; they are made once. */
TEST(a_copula_whose_persons_are_bounded_equals_too)
{
    static const struct whole_persons persons[] = {{.count = 400}, {.count = 50, .unsorted = 3}};
    for (unsigned k = 0; k < 2; k++) {
        equals(OPTIONS(.owners = OWNERS, .copula = copula, .enforce = 3 - k,
                       .more = k == 0 ? "security: abort\n" : NULL),
               &persons[k], true);
    }
}

/* The same for linked owners, beside one of whole records, which are read again. */
TEST(a_copula_whose_owners_are_linked_equals_too)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: x\n    columns: [age, sex, ward]\n",
        "    max_rows: 800\n    batch: x\n    columns: [bmi, died]\n", RECORDS};
    for (unsigned k = 0; k < 2; k++) {
        equals(OPTIONS(.owners = OWNERS, .copula = copula, .part = part, .link = "true",
                       .more = k == 0 ? "security: abort\n" : NULL),
               &(const struct whole_persons){.count = 270}, k == 1);
    }
}

/* --- requests --------------------------------------------------------------------------------- */

/* A study's engine without any rows, and requests that its server prepares. */
struct engine_forms_desk {
    const struct support_study *s;
    const struct bounds *bounds;
    void (*ask)(struct three *g);
};

static enum err sit(struct party *p, void *shared)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    const struct engine_forms_desk *d = shared;
    struct three *g CLEAN(three_free) = NULL;
    TRY(three_new(&g, p, d->s->study, d->bounds, id, NULL));
    TRY(three_finish(g));
    if (p->index == 0)
        d->ask(g);
    return ERR_OK;
}

static void at_desk(const char *method, const char *const *part, void (*ask)(struct three *g))
{
    struct support_study s CLEAN(support_study_free);
    struct engine_forms_desk d = {.s = &s, .ask = ask};
    OK(support_study_new(&s, &(struct study_options){.owners = 1, .copula = method, .part = part},
                         NULL));
    struct bounds *bounds CLEAN(bounds_free) = MADE(bounds, bounds_new, s.study, NULL);
    d.bounds = bounds;
    OK(three_run(1, sit, &d, NULL));
}

/* `moved`: the most forms that a row moves. */
static enum err prepare(struct three *g, const struct ask *r, double *cost, size_t *forms,
                        size_t moved)
{
    struct engine_step step CLEAN(three_step_clear) = {0};
    TRY(three_prepare(g, r, &step));
    assert_true(mpq_equal(step.price.cost, step.price.measuring));
    *cost = mpq_get_d(step.price.cost) * 0x1p41;
    *forms = three_step(&step)->noise[NOISE_GAUSS];
    assert_true(step.price.epsilon_slack == (double)moved * g->slack.marginal);
    assert_true(step.price.delta_slack > 0 && three_step(&step)->noise[NOISE_GUMBEL] == 0);
    return ERR_OK;
}

/* The sum over all pairs of the squared move when a row with code a[i] in column i is added. */
static double moved(const struct workload *w, const int64_t *u, const uint32_t *a)
{
    double sum = 0;
    for (size_t i = 0; i < w->one_ways; i++)
        for (size_t j = 0; j < i; j++) {
            const double v = (double)(u[w->query[i].offset + a[i]] * u[w->query[j].offset + a[j]]);
            sum += v * v;
        }
    return sum;
}

/* Tries every possible row: the price is what the worst of them moves, no less and no more. */
static double most_moved(const struct workload *w, const int64_t *u)
{
    uint32_t a[DOMAIN_ATTRIBUTES_MAX] = {0};
    double most = 0;
    for (size_t i = 0; i < w->one_ways;) {
        most = fmax(most, moved(w, u, a));
        for (i = 0; i < w->one_ways && ++a[i] == w->query[i].cells; i++)
            a[i] = 0;
    }
    return most;
}

static void ask_products(struct three *g)
{
    const struct workload *w = g->study->workload;
    const size_t codes = workload_one_way_cells(w), pairs = forms_pairs(w->one_ways);
    struct ask r CLEAN(ask_clear) = {.kind = ASK_FORMS, .weights = 2 * codes};
    double cost;
    size_t forms;
    r.weight = memory_array(r.weights, sizeof *r.weight);
    for (size_t k = 0; k < codes; k++)
        r.weight[k] = (int64_t)(k * k * 7919 % 2003) - 1001;
    OK(prepare(g, &r, &cost, &forms, pairs));
    assert_int_equal(forms, pairs);
    assert_true(cost == most_moved(w, r.weight));
    /* more forms at the same price, if a row moves no more of them; a group has one factor */
    r.weight[codes + 1] = 1;
    assert_int_equal(prepare(g, &r, &cost, &forms, pairs), ERR_REFUSED);
    for (size_t k = 0; k < w->query[2].offset; k++)
        r.weight[k] = k == 1 ? -700 : 500;
    r.weight[codes + 1] = 1;
    r.weight[codes + w->query[1].offset] = 1;
    OK(prepare(g, &r, &cost, &forms, pairs));
    assert_int_equal(forms, pairs + 1 + 2 + 2 * (w->one_ways - 2));
    assert_true(cost == most_moved(w, r.weight));
    r.weight[codes + 1] = (int64_t)w->query[0].cells;
    assert_int_equal(prepare(g, &r, &cost, &forms, pairs), ERR_REFUSED);
    r.weight[codes + 1] = 0;
    r.weight[0] = FORMS_FACTOR_MAX + 1;
    assert_int_equal(prepare(g, &r, &cost, &forms, pairs), ERR_REFUSED);
    /* the sum of products over so many rows could wrap */
    r.weight[0] = FORMS_FACTOR_MAX;
    r.weight[w->query[1].offset] = 1 << 16;
    assert_int_equal(prepare(g, &r, &cost, &forms, pairs),
                     g->bounds->counts.bits < 20 ? ERR_OK : ERR_REFUSED);
}

static void ask_other(struct three *g)
{
    const struct workload *w = g->study->workload;
    struct ask r CLEAN(ask_clear) = {.queries = 1,
                                     .query = memory_array(1, sizeof *r.query),
                                     .multiplier = 50000,
                                     .epsilon = 0.1,
                                     .sigma = 10};
    struct engine_step step CLEAN(three_step_clear);
    r.kind = g->study->method == STUDY_COPULA ? ASK_SELECT : ASK_FORMS;
    r.weights = 2 * workload_one_way_cells(w);
    r.estimates = w->query[0].cells;
    r.weight = memory_array(r.weights, sizeof *r.weight);
    r.estimate = memory_array(r.estimates, sizeof *r.estimate);
    assert_int_equal(three_prepare(g, &r, &step), ERR_REFUSED);
    r.kind = ASK_MEASURE;
    assert_int_equal(three_prepare(g, &r, &step), ERR_REFUSED); /* a multiplier each, of one? */
    r.weights = 0;
    OK(three_prepare(g, &r, &step));
}

/* What has not been counted cannot be measured. */
static void ask_uncounted(struct three *g)
{
    uint32_t query = (uint32_t)g->study->workload->one_ways;
    const struct ask r = {.kind = ASK_MEASURE, .queries = 1, .query = &query, .multiplier = 50000};
    struct engine_step step;
    assert_int_equal(three_prepare(g, &r, &step), ERR_REFUSED);
}

/* Only a study that asks for a number of linked rows looks at how many there are. */
static void ask_look(struct three *g)
{
    const struct ask r = {.kind = ASK_LOOK, .multiplier = 50000};
    struct engine_step step;
    assert_int_equal(three_prepare(g, &r, &step), ERR_REFUSED);
}

/* One number, at the price of a marginal and within its bounds. */
static void ask_look_price(struct three *g)
{
    struct study study = *g->study;
    struct ask r = {.kind = ASK_LOOK, .multiplier = 50000};
    double cost;
    size_t numbers;
    study.link.min_linked = 5;
    g->study = &study;
    OK(prepare(g, &r, &cost, &numbers, 1));
    assert_int_equal(numbers, 1);
    assert_true(cost == 50000.0 * 50000.0);
    r.multiplier = MEASURE_MULTIPLIER_MIN - 1;
    assert_int_equal(prepare(g, &r, &cost, &numbers, 1), ERR_REFUSED);
    r.multiplier = MEASURE_MULTIPLIER_MAX + 1;
    assert_int_equal(prepare(g, &r, &cost, &numbers, 1), ERR_REFUSED);
}

TEST(of_records_only_products_of_pairs_are_opened)
{
    at_desk(copula, records, ask_uncounted);
}

TEST(forms_cost_what_a_row_can_move)
{
    at_desk(copula, NULL, ask_products);
    at_desk(copula, records, ask_products);
}

TEST(each_method_opens_its_own)
{
    at_desk(copula, NULL, ask_other);
    at_desk(copula, records, ask_other);
    at_desk(NULL, NULL, ask_other);
    at_desk(NULL, NULL, ask_look);
    at_desk(copula, records, ask_look);
    at_desk(NULL, NULL, ask_look_price);
    at_desk(copula, records, ask_look_price);
}
