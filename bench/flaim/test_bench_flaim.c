/* bench/flaim: FLAIM against Algorithm 1 as the paper has it, its budget and its bytes. */
#include "bench/flaim/stage.h"
#include "harness/cmocka.h"

#include "aim/budget/score.h"
#include "aim/workload/tabulate.h"
#include "base/memory.h"
#include "bench/flaim/flaim.h"
#include "bench/flaim/joining.h"

#include <math.h>
#include <string.h>

#define MEASURED_MOST 400

/* Noisy sums in the order in which they were learned. */
struct history {
    size_t count;
    struct {
        uint32_t query;
        size_t clients;
        double people, y[CELLS_MOST];
        bool to_model; /* known to the transcription alone */
    } at[MEASURED_MOST];
    const struct workload *workload;
};

static void remember(void *self, uint32_t query, size_t clients, double people, const double *y)
{
    struct history *h = self;
    assert_true(h->count < MEASURED_MOST);
    h->at[h->count].query = query;
    h->at[h->count].clients = clients;
    h->at[h->count].people = people;
    memcpy(h->at[h->count++].y, y, h->workload->query[query].cells * sizeof *y);
}

/* --- Algorithm 1, as it stands --------------------------------------------------------------- */

struct sketch {
    const struct flaim_options *o;
    const struct workload *w;
    struct random coins, noise;
    double sigma, epsilon;
    uint64_t m;
    struct history *h;
    struct measurement x[MEASURED_MOST];
    size_t measurements;
    struct model *model;
    double proxy[4][8], proxy_weight[4]; /* the mean of noisy one-ways by (N / sigma)^2 */
};

static size_t draw(struct sketch *s, size_t *who)
{
    size_t n = 0;
    while (n == 0)
        for (size_t k = 0; k < CLIENTS; k++)
            if (random_double(&s->coins) < s->o->participation)
                who[n++] = k;
    return n;
}

static void shares(const struct table *t, const struct clique *c, uint64_t cells, double *out)
{
    int64_t counts[CELLS_MOST];
    tabulate_marginal(t, c, counts);
    for (uint64_t i = 0; i < cells; i++)
        out[i] = (double)counts[i] / (double)t->rows;
}

static double l1(const double *a, const double *b, uint64_t cells)
{
    double sum = 0;
    for (uint64_t i = 0; i < cells; i++)
        sum += fabs(a[i] - b[i]);
    return sum;
}

static void add_measurement(struct sketch *s, uint32_t query, const double *y, double people)
{
    struct measurement *x = &s->x[s->measurements++];
    *x = (struct measurement){
        .clique = s->w->query[query].clique, .sigma = s->sigma, .total = people};
    x->y = memory_array(CELLS_MOST, sizeof *x->y);
    memcpy(x->y, y, s->w->query[query].cells * sizeof *y);
}

/* The sum over some clients, each with its part of the noise. */
static void add_up(struct sketch *s, uint32_t query, const size_t *who, size_t n, bool one_way,
                   bool to_model)
{
    const struct workload_query *q = &s->w->query[query];
    double y[CELLS_MOST] = {0}, total = 0, people = 0;
    for (size_t i = 0; i < n; i++) {
        const struct table *t = s->o->split->client[who[i]];
        int64_t counts[CELLS_MOST];
        tabulate_marginal(t, &q->clique, counts);
        for (uint64_t j = 0; j < q->cells; j++)
            y[j] += (double)((int64_t)s->m * counts[j] +
                             llrint((double)random_gauss(&s->noise) / sqrt((double)n)));
        people += (double)t->rows;
    }
    for (uint64_t j = 0; j < q->cells; j++) {
        y[j] /= (double)s->m;
        total += y[j];
    }
    if (s->o->noisy_totals)
        people = fmax(1, total);
    remember(s->h, query, n, people, y);
    if (one_way) {
        double weight = people * people;
        s->proxy_weight[query] += weight;
        for (uint64_t j = 0; j < q->cells; j++)
            s->proxy[query][j] += (y[j] / people - s->proxy[query][j]) * weight /
                                  s->proxy_weight[query];
    }
    s->h->at[s->h->count - 1].to_model = to_model;
    if (to_model)
        add_measurement(s, query, y, people);
}

/* Every measurement by itself, each scaled by its own N: pooling must not change this. */
static struct model *fit(struct sketch *s, const struct measurement *own, size_t owns,
                         const struct model *warm)
{
    struct measurement x[MEASURED_MOST + 4];
    struct clique c[MEASURED_MOST + 4];
    struct model_fitted fitted;
    struct model *m;
    size_t n = 0;
    for (size_t i = 0; i < s->measurements; i++)
        x[n++] = s->x[i];
    for (size_t i = 0; i < owns; i++)
        x[n++] = own[i];
    for (size_t i = 0; i < n; i++)
        c[i] = x[i].clique;
    OK(model_new(&m,
                 &(struct model_terms){.domain = s->o->split->train->domain,
                                       .clique = c,
                                       .cliques = n,
                                       .limit_cells = 1 << 20,
                                       .warm = warm},
                 NULL));
    model_set_total(m, (double)s->o->split->train->rows);
    OK(model_fit(m, x, n, s->o->fit_round, &fitted, NULL));
    return m;
}

static double utility(struct sketch *s, const struct model *m, const struct table *t,
                      uint32_t query)
{
    const struct workload_query *q = &s->w->query[query];
    double mine[CELLS_MOST], other[CELLS_MOST], u, tau = 0;
    shares(t, &q->clique, q->cells, mine);
    OK(model_marginal(m, &q->clique, other, NULL));
    for (uint64_t i = 0; i < q->cells; i++)
        other[i] /= model_total(m);
    u = l1(mine, other, q->cells) -
        sqrt(2 / 3.14159265358979323846) * s->sigma * (double)q->cells / (double)t->rows;
    if (s->o->hetero == FLAIM_TRUE) {
        shares(s->o->split->train, &q->clique, q->cells, other);
        tau = l1(mine, other, q->cells);
    } else if (s->o->hetero != FLAIM_NAIVE) {
        for (unsigned i = 0; i < q->clique.n; i++) {
            uint32_t j = q->clique.attribute[i];
            const struct workload_query *way = &s->w->query[j];
            shares(t, &way->clique, way->cells, mine);
            if (s->o->hetero == FLAIM_MODEL) { /* of the model that the server sent */
                OK(model_marginal(s->model, &way->clique, other, NULL));
                for (uint64_t k = 0; k < way->cells; k++)
                    other[k] /= model_total(s->model);
            }
            tau += l1(mine, s->o->hetero == FLAIM_MODEL ? other : s->proxy[j], way->cells) /
                   q->clique.n;
        }
    }
    return q->weight * (u - tau);
}

static uint32_t exponential(struct sketch *s, const struct model *m, const struct table *t)
{
    double most = 0, best = -INFINITY;
    uint32_t choice = 0;
    for (uint32_t q = 0; q < s->w->queries; q++)
        if (!s->o->filter || s->w->query[q].clique.n > 1)
            most = fmax(most, s->w->query[q].weight);
    for (uint32_t q = 0; q < s->w->queries; q++) {
        double sensitivity = (s->o->hetero == FLAIM_NAIVE ? 1 : 2) * most / (double)t->rows, score;
        if (s->o->filter && s->w->query[q].clique.n == 1)
            continue;
        score = s->epsilon * utility(s, m, t, q) / (2 * sensitivity) +
                (double)random_gumbel(&s->noise) * 0x1p-24;
        if (score > best) {
            best = score;
            choice = q;
        }
    }
    return choice;
}

static void choose(struct sketch *s, size_t k, size_t at, bool chosen[QUERIES_MOST][CLIENTS])
{
    const struct table *t = s->o->split->client[k];
    struct measurement own[4] = {{.sigma = 0}};
    struct model *m CLEAN(model_free) = NULL;
    for (unsigned l = 0; l < s->o->steps; l++) {
        uint32_t q = exponential(s, m != NULL ? m : s->model, t);
        double scale = (double)s->o->split->train->rows / (double)t->rows;
        int64_t counts[CELLS_MOST];
        struct model *next;
        chosen[q][at] = true;
        if (l + 1 == s->o->steps)
            break;
        own[l] = (struct measurement){.clique = s->w->query[q].clique, .sigma = s->sigma * scale};
        own[l].y = memory_array(CELLS_MOST, sizeof(double));
        tabulate_marginal(t, &own[l].clique, counts);
        for (uint64_t i = 0; i < s->w->query[q].cells; i++)
            own[l].y[i] = ((double)counts[i] +
                           s->sigma * (double)random_gauss(&s->noise) * 0x1p-20) *
                          scale;
        next = fit(s, own, l + 1, m != NULL ? m : s->model);
        model_free(&m);
        m = next;
    }
    for (unsigned l = 0; l < 4; l++)
        memory_free(&own[l].y);
}

static void sketch_round(struct sketch *s, unsigned t, bool one_ways)
{
    size_t who[CLIENTS], n = draw(s, who);
    static bool chosen[QUERIES_MOST][CLIENTS];
    struct model *next;
    memset(chosen, 0, sizeof chosen);
    for (size_t i = 0; i < n; i++)
        choose(s, who[i], i, chosen);
    for (uint32_t q = 0; q < s->w->queries; q++) {
        size_t some[CLIENTS], count = 0;
        for (size_t i = 0; i < n; i++)
            if (chosen[q][i])
                some[count++] = who[i];
        if (count > 0)
            add_up(s, q, some, count, false, true);
    }
    for (uint32_t q = 0; one_ways && t < s->o->rounds && q < s->w->one_ways; q++)
        add_up(s, q, who, n, true, s->o->combine);
    next = fit(s, NULL, 0, s->model);
    model_free(&s->model);
    s->model = next;
}

static struct model *transcribe(const struct flaim_options *o, uint64_t seed, struct history *h)
{
    struct sketch *s CLEAN(memory_release) = memory_array(1, sizeof *s);
    double T = o->rounds, l = o->steps, d = (double)o->workload->one_ways;
    bool each_round = o->combine || o->hetero == FLAIM_NOISY;
    s->o = o;
    s->w = o->workload;
    s->h = h;
    s->coins = random_of(seed);
    s->noise = random_of(seed + 1);
    s->sigma = sqrt((each_round ? T * (l + d) : T * l + d) / (2 * 0.9 * o->rho));
    s->epsilon = sqrt(8 * 0.1 * o->rho / (T * l));
    s->m = (uint64_t)floor(1048576 / s->sigma);
    for (uint32_t j = 0; j < d; j++) {
        size_t who[CLIENTS], n = draw(s, who);
        add_up(s, j, who, n, true, true);
    }
    s->model = fit(s, NULL, 0, NULL);
    for (unsigned t = 1; t <= o->rounds; t++)
        sketch_round(s, t, each_round);
    for (size_t i = 0; i < s->measurements; i++)
        memory_free(&s->x[i].y);
    return s->model;
}

/* --- beside the program ---------------------------------------------------------------------- */

struct program {
    struct random coins, noise;
    struct flaim_options o;
};

static void prepare(struct program *p, const struct stage *s, uint64_t seed)
{
    p->coins = random_of(seed);
    p->noise = random_of(seed + 1);
    p->o.workload = s->workload;
    p->o.split = &s->split;
    p->o.rho = 0.5;
    p->o.rounds = p->o.annealed ? 0 : 4;
    p->o.steps = p->o.steps != 0 ? p->o.steps : 1;
    p->o.participation = 0.5;
    p->o.fit_round = p->o.fit_final = 4000;
    p->o.noise = noise_from_random(&p->noise);
    p->o.coins = &p->coins;
}

/*
 * How badly a model fits its input, each measurement by itself. (Noise may push the best fit to the
 * edge, where marginals creep; both sides lower the loss.)
 */
static double loss(const struct flaim_options *o, const struct history *h, const struct model *m)
{
    double sigma = flaim_sigma(o), sum = 0;
    for (size_t i = 0; i < h->count; i++) {
        const struct workload_query *q = &o->workload->query[h->at[i].query];
        double mu[CELLS_MOST], alpha = h->at[i].people / sigma;
        if (!h->at[i].to_model)
            continue;
        OK(model_marginal(m, &q->clique, mu, NULL));
        for (uint64_t k = 0; k < q->cells; k++) {
            double off = alpha * (mu[k] / model_total(m) - h->at[i].y[k] / h->at[i].people);
            sum += off * off / 2;
        }
    }
    return sum;
}

static void compare(const struct stage *s, struct flaim_options variant, uint64_t seed)
{
    struct program p = {.o = variant};
    struct history *mine CLEAN(memory_release) = memory_array(1, sizeof *mine);
    struct history *other CLEAN(memory_release) = memory_array(1, sizeof *other);
    struct flaim_result *r CLEAN(flaim_result_free);
    struct model *m CLEAN(model_free) = NULL;
    double fits[2];
    mine->workload = other->workload = s->workload;
    prepare(&p, s, seed);
    p.o.measured = remember;
    p.o.self = mine;
    OK(flaim_run(&r, &p.o, NULL));
    m = transcribe(&p.o, seed, other);
    assert_int_equal(mine->count, other->count);
    for (size_t i = 0; i < mine->count; i++) {
        assert_int_equal(mine->at[i].query, other->at[i].query);
        assert_int_equal(mine->at[i].clients, other->at[i].clients);
        for (uint64_t k = 0; k < s->workload->query[mine->at[i].query].cells; k++)
            assert_true(fabs(mine->at[i].y[k] - other->at[i].y[k]) < 1e-9);
        assert_true(fabs(mine->at[i].people - other->at[i].people) < 1e-6);
    }
    fits[0] = loss(&p.o, other, r->model);
    fits[1] = loss(&p.o, other, m);
    assert_true(fabs(fits[0] - fits[1]) < 1e-3 * fits[1]);
}

TEST(naive_and_true_are_algorithm_1)
{
    struct stage *s CLEAN(stage_free) = stage_new();
    for (uint64_t seed = 40; seed < 48; seed += 2) {
        compare(s, flaim_naive(), seed);
        compare(s, flaim_aug_true(), seed);
    }
}

TEST(the_private_variant_is_algorithm_1)
{
    struct stage *s CLEAN(stage_free) = stage_new();
    struct flaim_options model_proxy = flaim_aug_private();
    model_proxy.hetero = FLAIM_MODEL;
    for (uint64_t seed = 20; seed < 28; seed += 2) {
        compare(s, flaim_aug_private(), seed);
        compare(s, model_proxy, seed);
    }
}

TEST(so_are_its_parts_and_more_local_steps)
{
    struct stage *s CLEAN(stage_free) = stage_new();
    struct flaim_options o;
    for (unsigned flags = 0; flags < 8; flags++) {
        o = flaim_aug_private();
        o.hetero = (flags & 1) != 0 ? FLAIM_NOISY : FLAIM_NAIVE;
        o.combine = (flags & 2) != 0;
        o.filter = (flags & 4) != 0;
        compare(s, o, 30 + flags);
    }
    o = flaim_naive();
    o.steps = 2;
    compare(s, o, 40);
    o = flaim_aug_private();
    o.steps = 3;
    compare(s, o, 42);
}

/* --- budget and bytes ------------------------------------------------------------------------ */

TEST(the_budget_is_spent_and_no_more)
{
    struct stage *s CLEAN(stage_free) = stage_new();
    struct flaim_options variant[4] = {flaim_naive(), flaim_aug_true(), flaim_aug_private(),
                                       flaim_aug_private()};
    variant[3].steps = 2;
    for (int annealed = 0; annealed <= 1; annealed++)
        for (int i = 0; i < 4; i++) {
            struct program p = {.o = variant[i]};
            struct flaim_result *r CLEAN(flaim_result_free);
            p.o.annealed = annealed != 0;
            prepare(&p, s, 50);
            p.o.fit_round = p.o.fit_final = 50;
            OK(flaim_run(&r, &p.o, NULL));
            assert_true(r->spent <= p.o.rho && r->spent > 0.999 * p.o.rho);
            if (!p.o.annealed)
                assert_int_equal(r->rounds, 4);
            else
                assert_true(r->rounds >= 1 && r->rounds <= 8 * 4 + 1);
        }
}

TEST(messages_for_real_change_nothing_but_time)
{
    struct stage *s CLEAN(stage_free) = stage_new();
    struct flaim_result *r[2];
    for (int real = 0; real <= 1; real++) {
        struct program p = {.o = flaim_aug_private()};
        p.o.real_messages = real != 0;
        prepare(&p, s, 60);
        OK(flaim_run(&r[real], &p.o, NULL));
    }
    for (size_t k = 0; k < CLIENTS; k++) {
        assert_int_equal(r[0]->wire[k].sent, r[1]->wire[k].sent);
        assert_int_equal(r[0]->wire[k].received, r[1]->wire[k].received);
        assert_true(r[0]->wire[k].sent > r[0]->paper[k].sent / 2);
    }
    assert_int_equal(model_cells(r[0]->model), model_cells(r[1]->model));
    flaim_result_free(&r[0]);
    flaim_result_free(&r[1]);
}

/* One round in which everybody takes part: every byte computed by hand. */
TEST(the_papers_bytes_are_as_it_counts_them)
{
    struct stage *s CLEAN(stage_free) = stage_new();
    struct program p = {.o = flaim_aug_private()};
    struct history *h CLEAN(memory_release) = memory_array(1, sizeof *h);
    struct flaim_result *r CLEAN(flaim_result_free);
    uint64_t one_ways = 3 + 4 + 2 + 3, chosen = 0, sent = 0, received = 0;
    h->workload = s->workload;
    prepare(&p, s, 70);
    p.o.rounds = 2;
    p.o.participation = 1;
    p.o.measured = remember;
    p.o.self = h;
    OK(flaim_run(&r, &p.o, NULL));
    for (size_t i = 4; i < h->count; i++)
        if (h->at[i].query >= 4)
            chosen += h->at[i].clients * s->workload->query[h->at[i].query].cells;
    for (size_t k = 0; k < CLIENTS; k++) {
        sent += r->paper[k].sent;
        received += r->paper[k].received;
    }
    /* one-ways at the start and in round 1; in both rounds choice, marginal and decision */
    assert_int_equal(sent, 8 * (CLIENTS * 2 * one_ways + chosen + CLIENTS * 2 * 2));
    assert_true(received >= 2 * 8 * CLIENTS * one_ways);
    assert_int_equal(r->taken, CLIENTS);
}

/* --- DistAIM --------------------------------------------------------------------------------- */

/* The coins of one round, and who has come in by then. */
static void draw_again(struct random *coins, bool now[CLIENTS], bool here[CLIENTS])
{
    bool anybody = false;
    while (!anybody)
        for (size_t k = 0; k < CLIENTS; k++) {
            now[k] = random_double(coins) < 0.3;
            here[k] |= now[k];
            anybody |= now[k];
        }
}

/* With almost no noise, the opened values are the counts of those who are there. */
TEST(populations_grow_by_who_was_drawn)
{
    struct stage *s CLEAN(stage_free) = stage_new();
    const struct workload *w = s->workload;
    for (int kind = JOINING_STAY; kind <= JOINING_ROUND; kind++) {
        struct random coins, same, noise;
        struct joining_terms terms = {.workload = w,
                                      .split = &s->split,
                                      .kind = (enum joining_kind)kind,
                                      .participation = 0.3,
                                      .rounds = 5,
                                      .noise = noise_from_random(&noise),
                                      .coins = &coins};
        bool here[CLIENTS] = {false};
        struct joining *j CLEAN(joining_free);
        struct aim_backend backend;
        coins = random_of(9);
        same = random_of(9);
        noise = random_of(10);
        OK(joining_new(&j, &terms, NULL));
        backend = joining_backend(j);
        for (unsigned round = 0; round < 6; round++) {
            uint32_t query = 0;
            struct ask_told told CLEAN(told_clear) = {0};
            double rows = 0, opened = 0;
            bool now[CLIENTS];
            const struct ask ask = {.kind = ASK_MEASURE,
                                    .round = round,
                                    .queries = 1,
                                    .query = &query,
                                    .multiplier = UINT64_C(1) << 30};
            if (kind != JOINING_AHEAD || round == 0)
                draw_again(&same, now, here);
            for (unsigned more = 0; kind == JOINING_AHEAD && round == 0 && more < 5; more++)
                draw_again(&same, now, here);
            for (size_t k = 0; k < CLIENTS; k++)
                if (kind == JOINING_ROUND ? now[k] : here[k])
                    rows += (double)s->split.client[k]->rows;
            OK(backend.ask(backend.self, &ask, &told));
            for (uint64_t i = 0; i < w->query[0].cells; i++)
                opened += (double)told.value[i] * 0x1p-30;
            assert_true(fabs(opened - rows) < 0.5);
            assert_true(told.population > 0);
        }
    }
}
