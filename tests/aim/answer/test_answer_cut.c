/*
 * What remains uncertain if a condition takes only some codes of a group (aim/answer/answer_cut.c):
 * against sums over all combinations of codes, and by how often intervals hold what was drawn.
 */
#include "harness/cmocka.h"

#include "aim/answer/answer_private.h"
#include "aim/model/model_densities.h"
#include "base/memory.h"

#define A 12 /* codes of a: four that are alone, two groups of four; */
#define B 4  /* of b; */
#define C 5  /* of c: two that are alone, a group of three */
#define JOINT (A * B * C)
#define MEASURED 5
#define NEAR 1e-9

struct answer_cut_world {
    struct domain *domain;
    struct merges merges;
    struct model *model;
    struct model_sums *sums;
    struct densities inside;
    struct errors *errors;
    struct measurement x[MEASURED];
    double y[MEASURED][A * B], truth[JOINT], joint[JOINT];
};

static const struct clique cliques[MEASURED] = {
    {1, {0}}, {1, {1}}, {1, {2}}, {2, {0, 1}}, {2, {1, 2}}};

/* Each code of a has the same number of rows in every world; b follows from a's group, c from b. */
static void draw_rows(struct answer_cut_world *w, struct random *r)
{
    static const unsigned rows[A] = {400, 300, 300, 400, 15, 20, 10, 25, 12, 18, 30, 10};
    for (unsigned a = 0; a < A; a++)
        for (unsigned i = 0; i < rows[a]; i++) {
            const unsigned group = w->merges.group[0][a];
            const unsigned b = (unsigned)random_below(r, group % 2 == 0 ? B : 2);
            const unsigned c = random_below(r, 4) < b ? (unsigned)random_below(r, C) : 0;
            w->truth[(a * B + b) * C + c]++;
        }
}

/* For a clique that may be over groups. */
static void count(const struct answer_cut_world *w, const struct measurement *x, double *counts)
{
    const uint32_t size[] = {A, B, C};
    for (unsigned i = 0; i < JOINT; i++) {
        const unsigned code[] = {i / C / B, i / C % B, i % C};
        size_t cell = 0;
        for (unsigned k = 0; k < x->clique.n; k++) {
            const uint16_t c = x->clique.attribute[k];
            const bool grouped = x->merges != NULL && w->merges.group[c] != NULL;
            cell = cell * (x->merges != NULL ? w->merges.groups[c] : size[c]) +
                   (grouped ? w->merges.group[c][code[c]] : code[c]);
        }
        counts[cell] += w->truth[i];
    }
}

static void make_domain(struct answer_cut_world *w)
{
    static const double a[A] = {400, 300, 300, 400, 18, 18, 18, 18, 18, 18, 18, 18},
                        b[B] = {500, 500, 500, 500},
                        c[C] = {500, 500, 18, 18, 18}, *const counts[] = {a, b, c};
    const char *const names[] = {"a", "b", "c"};
    const int sizes[] = {A, B, C};
    OK(domain_new(&w->domain));
    for (int i = 0; i < 3; i++)
        OK(domain_add_integer(w->domain, names[i], 0, sizes[i] - 1, NULL, DOMAIN_REJECT, NULL));
    OK(merges_choose(&w->merges, w->domain, counts, &(struct merges_least){50, 50}, NULL));
    assert_int_equal(w->merges.groups[0], 6);
    assert_null(w->merges.group[1]);
    assert_int_equal(w->merges.groups[2], 3);
}

static void world_new(struct answer_cut_world *w, uint64_t seed, double sigma)
{
    const struct clique all = {3, {0, 1, 2}};
    struct model_fitted result;
    struct random r = random_of(seed);
    *w = (struct answer_cut_world){.domain = NULL};
    make_domain(w);
    draw_rows(w, &r);
    for (unsigned k = 0; k < MEASURED; k++) {
        struct measurement *x = &w->x[k];
        *x = (struct measurement){.clique = cliques[k], .sigma = sigma, .y = w->y[k]};
        x->merges = cliques[k].n > 1 ? &w->merges : NULL;
        count(w, x, w->y[k]);
        for (uint64_t i = measurement_cells(x, w->domain); i-- > 0;)
            w->y[k][i] += sigma * ldexp((double)random_gauss(&r), -RANDOM_GAUSS_BITS);
    }
    struct model_terms t = {.domain = w->domain,
                            .merges = &w->merges,
                            .clique = cliques,
                            .cliques = MEASURED,
                            .limit_cells = 1 << 20};
    OK(model_new(&w->model, &t, NULL));
    model_set_total(w->model, model_estimate_total(w->domain, w->x, MEASURED));
    OK(model_fit(w->model, w->x, MEASURED, 300, &result, NULL));
    OK(model_densities(&w->inside, w->model, NULL));
    OK(model_sums_new(&w->sums, w->model));
    OK(model_marginal(w->model, &all, w->joint, NULL));
}

static void world_free(struct answer_cut_world *w)
{
    densities_clear(&w->inside);
    model_sums_free(&w->sums);
    errors_free(&w->errors);
    model_free(&w->model);
    merges_clear(&w->merges);
    domain_free(&w->domain);
}

/* --- against the joint ------------------------------------------------------------------------ */

/*
 * For the rows in groups of column `cut` (0 or 2) that a condition cuts: those that meet all else
 * times the variance of weights in their group; and the same less what a group's own number of rows
 * takes off, group by group. `line`: a code of b, or B for all.
 */
struct naive {
    double rows, drawn, less;
};

static struct naive naive_cut(const struct answer_cut_world *w, unsigned cut, const double *by[3],
                              unsigned line)
{
    struct naive sum = {0};
    for (unsigned g = 0; g < w->merges.groups[cut]; g++) {
        double all = 0, meet = 0, mean = 0, square = 0;
        for (unsigned i = 0; i < JOINT; i++) {
            const unsigned code[] = {i / C / B, i / C % B, i % C};
            const unsigned other = 2 - cut;
            const double weight = by[cut] != NULL ? by[cut][code[cut]] : 1;
            const double rest = (by[other] != NULL ? by[other][code[other]] : 1) *
                                (by[1] != NULL ? by[1][code[1]] : 1) *
                                (line == B || line == code[1]);
            if (w->merges.group[cut][code[cut]] != g)
                continue;
            all += w->joint[i];
            meet += w->joint[i] * rest;
            mean += w->joint[i] * weight;
            square += w->joint[i] * weight * weight;
            sum.rows += w->joint[i] * weight * rest;
        }
        square = square / all - mean * mean / all / all;
        sum.drawn += meet * square;
        sum.less += meet * meet / all * square;
    }
    return sum;
}

static struct question *parse(const struct answer_cut_world *w, const char *text)
{
    struct question_text t = {.text = text};
    struct question *q = MADE(question, question_parse, w->domain, &t, NULL);
    return q;
}

static void cut_of(const struct answer_cut_world *w, const double *by[3], bool by_b,
                   struct answer_cut *cell)
{
    const struct question question = {.domain = w->domain};
    const struct answer_state all = {.question = &question,
                                     .y = ANSWER_ROWS,
                                     .asked = {by_b ? 1 : 0, {1}},
                                     .cells = by_b ? B : 1,
                                     .cell = cell};
    struct model_weight weight[3];
    size_t weights = 0;
    for (uint16_t i = 0; i < 3; i++)
        if (by[i] != NULL)
            weight[weights++] = (struct model_weight){i, by[i]};
    memset(cell, 0, all.cells * sizeof *cell);
    OK(answer_cut_case(&all, w->sums, weight, weights, NULL));
}

static bool near(double x, double y)
{
    return fabs(x - y) <= NEAR * (1 + fabs(y));
}

static const double first[A] = {0, 1, 0, 1, 1, 1, .25}, last[A] = {[9] = 1, [10] = 1},
                    whole[A] = {[3] = 1, [4] = 1, [5] = 1, [6] = 1, [7] = 1},
                    both[A] = {[5] = 1, [8] = .5, [9] = 1}, some[B] = {0, 1, .5, 1},
                    least[C] = {0, 1, 1};

TEST(a_cut_group_is_drawn_from_as_the_joint_says)
{
    static const double *const asked[][3] = {
        {first, some, NULL}, {last, some, NULL},  {last, NULL, least}, {first, some, least},
        {both, some, NULL},  {NULL, some, least}, {NULL, NULL, least}, {last, NULL, NULL}};
    struct answer_cut_world w CLEAN(world_free);
    world_new(&w, 1, 1);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        for (unsigned line = 0; line <= B; line++) {
            const double *by[3] = {asked[i][0], asked[i][1], asked[i][2]};
            const struct naive a = naive_cut(&w, 0, by, line), c = naive_cut(&w, 2, by, line);
            const double drawn = a.drawn + c.drawn, less = a.less + c.less;
            struct answer_cut cell[B];
            const struct answer_cut *cut = &cell[line == B ? 0 : line];
            if (line < B && by[1] != NULL)
                continue;
            cut_of(&w, by, line < B, cell);
            assert_true(near(cut->each, drawn) && drawn > 0);
            /* for several groups of a column no more is taken off than for each */
            assert_true(by[0] == both ? cut->less > 0 && cut->less < less : near(cut->less, less));
            assert_true(near(answer_cut_variance(cut, 1, true), cut->each - cut->less));
        }
}

TEST(a_group_that_is_taken_whole_is_not_cut)
{
    static const double *by[3] = {whole, some, NULL};
    struct answer_cut_world w CLEAN(world_free);
    struct answer_cut cell[B];
    world_new(&w, 2, 1);
    cut_of(&w, by, true, cell);
    for (unsigned b = 0; b < B; b++)
        assert_true(cell[b].each == 0 && cell[b].less == 0);
}

/* --- intervals -------------------------------------------------------------------------------- */

static struct answer_value ask(const struct answer_cut_world *w, const char *text, size_t line)
{
    const struct answer_terms terms = {
        .model = w->sums, .inside = &w->inside, .errors = w->errors, .level = 0.95};
    struct question *q CLEAN(question_free) = parse(w, text);
    struct answer *a CLEAN(answer_free) = MADE(answer, answer_new, w->sums, &w->inside, q, NULL);
    OK(answer_intervals(&a, 1, &terms));
    assert_true(a->value[line].bounded);
    return a->value[line];
}

/* For rows with a within bounds, and b at least some number: their number, sums of b and of c. */
static void true_sums(const struct answer_cut_world *w, unsigned from, unsigned to, unsigned b,
                      double sum[3])
{
    sum[0] = sum[1] = sum[2] = 0;
    for (unsigned i = 0; i < JOINT; i++)
        if (i / C / B >= from && i / C / B <= to && i / C % B >= b) {
            sum[0] += w->truth[i];
            sum[1] += w->truth[i] * (i / C % B);
            sum[2] += w->truth[i] * (i % C);
        }
}

/*
 * There is hardly any noise: only what groups leave open makes these intervals wider than points.
 */
TEST(intervals_of_cut_groups_hold_what_was_drawn)
{
    enum { WORLDS = 60, ASKED = 5 };
    static const struct {
        const char *text;
        size_t line;
        unsigned from, to, b, of; /* of 1, 2: sums; 3: the mean of b */
    } asked[ASKED] = {
        {"SELECT COUNT(*) FROM t WHERE a <= 5 AND b >= 1", 0, 0, 5, 1, 0},
        {"SELECT COUNT(*) FROM t WHERE a BETWEEN 10 AND 11 AND b = 3", 0, 10, 11, 3, 0},
        {"SELECT SUM(b) FROM t WHERE a >= 10", 0, 10, 11, 0, 1},
        {"SELECT AVG(b) FROM t WHERE a IN (5, 6)", 0, 5, 6, 0, 3},
        {"SELECT COUNT(*) FROM t WHERE b >= 1 GROUP BY a", 10, 10, 10, 1, 0}};
    unsigned held[ASKED] = {0};
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct answer_cut_world w CLEAN(world_free);
        world_new(&w, seed, 0.05);
        OK(errors_new(&w.errors, w.model, w.x, MEASURED, NULL, NULL));
        for (unsigned i = 0; i < ASKED; i++) {
            const struct answer_value v = ask(&w, asked[i].text, asked[i].line);
            double sum[3], truth;
            true_sums(&w, asked[i].from, asked[i].to, asked[i].b, sum);
            truth = asked[i].of == 3 ? sum[1] / sum[0] : sum[asked[i].of];
            held[i] += v.low <= truth && truth <= v.high;
        }
    }
    for (unsigned i = 0; i < ASKED; i++)
        assert_in_range(held[i], WORLDS * 0.87, WORLDS);
}

/* The codes of a group were counted: the number of rows of each and of all is known. */
TEST(what_was_counted_has_its_noise_alone)
{
    struct answer_cut_world w CLEAN(world_free);
    world_new(&w, 3, 0.05);
    OK(errors_new(&w.errors, w.model, w.x, MEASURED, NULL, NULL));
    struct answer_value cut = ask(&w, "SELECT COUNT(*) FROM t WHERE a = 10", 0);
    assert_true(cut.high - cut.low < 0.5);
    cut = ask(&w, "SELECT COUNT(*) FROM t GROUP BY a", 10);
    assert_true(cut.high - cut.low < 0.5);
    struct answer_value not = ask(&w, "SELECT COUNT(*) FROM t WHERE a >= 8 AND b = 0", 0);
    assert_true(not .high - not .low < 0.5);
    cut = ask(&w, "SELECT COUNT(*) FROM t WHERE a >= 9 AND b = 0", 0);
    assert_true(cut.high - cut.low > 3);
}

/* Lines may be by a lookup that takes codes of a group from here and there. */
TEST(codes_that_are_apart_in_a_group_are_one_part_of_its_count)
{
    struct answer_cut_world w CLEAN(world_free);
    struct answer_counted line[A] = {{0}};
    world_new(&w, 3, 1);
    OK(errors_new(&w.errors, w.model, w.x, MEASURED, NULL, NULL));
    const struct answer_terms terms = {.model = w.sums, .inside = &w.inside, .errors = w.errors};
    struct question *q CLEAN(question_free) = parse(
        &w, "SELECT COUNT(*) FROM t WHERE b = 0 GROUP BY a");
    OK(memory_new(&q->group[0].first, A));
    for (uint32_t a = 0; a < A; a++)
        q->group[0].first[a] = a < 8 ? a % 2 : 8;
    struct answer *a CLEAN(answer_free) = MADE(answer, answer_new, w.sums, &w.inside, q, NULL);
    OK(answer_counted(&terms, a, 0, line));
    const double *share = model_share(w.model, 0), part = share[4] + share[6];
    assert_true(near(line[0].rows_variance, 2 + part * part) && line[0].parted);
    assert_true(near(line[8].rows_variance, 1) && !line[8].parted);
}
