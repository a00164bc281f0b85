/*
 * aim/answer: every aggregate of random questions to random models, against a twin that enumerates
 * the joint distribution of all columns, with the numbers inside bins, and evaluates the condition
 * for each of its cells in three-valued logic.
 */
#include "harness/cmocka.h"
#include "harness/model.h"

#include "aim/answer/answer.h"
#include "aim/model/model_densities.h"
#include "aim/model/model_private.h"

#define COLUMNS 5
#define ATOMS 16
#define ROWS 1000.0
#define NEAR 1e-9

static const double cuts[] = {0, 1, 2, 3.5, 5, 7, 10}; /* literals of the column without a step */

/* A piece of a column: a label, a number, an interval between two cuts, or the missing value. */
struct atom {
    uint32_t code;
    bool missing;
    double low, below, middle; /* `middle` is used to test conditions */
    double share;              /* of its code */
};

struct answer_world {
    struct domain *domain;
    struct model *model;
    struct model_sums *sums;
    struct densities inside;
    size_t atoms[COLUMNS];
    struct atom atom[COLUMNS][ATOMS];
};

static void add_atoms(struct answer_world *w, unsigned column, uint32_t code)
{
    const struct domain_attribute *a = &w->domain->attribute[column];
    const struct density *d = w->inside.of[column];
    double at[16];
    size_t n = 0;
    if (code >= a->values || !domain_has_order(a)) {
        w->atom[column][w->atoms[column]++] = (struct atom){
            code, code >= a->values, code, code, code, 1};
        return;
    }
    if (domain_has_bins(a) && a->step == 0)
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
            at[n++] = cuts[i];
    else
        for (int v = 0; v < 10; v++)
            at[n++] = v;
    for (size_t i = 0; i < n; i++) {
        double below = i + 1 < n ? at[i + 1] : INFINITY;
        struct density_part part = density_part(d, code, at[i], below);
        if (part.share > 0)
            w->atom[column][w->atoms[column]++] = (struct atom){code,  false,     at[i],
                                                                below, part.mean, part.share};
    }
}

/* Labels, integers, multiples of 1 with a spike at 0, any numbers, labels; two may be missing. */
static struct domain *make_domain(void)
{
    static const char *const wards[] = {"a", "it's"}, *const flags[] = {"no", "yes"};
    static const double days[] = {0, 0, 3, 6}, loads[] = {0, 2, 5, 10};
    struct domain *d = MADE(domain, domain_new);
    OK(domain_add_categorical(d, "ward", wards, 2, "?", DOMAIN_AS_MISSING, NULL));
    OK(domain_add_integer(d, "n", 2, 4, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_numeric(d, "days", days, 4, "", DOMAIN_AS_MISSING, NULL));
    OK(domain_set_step(d, 1, false, NULL));
    OK(domain_add_numeric(d, "PM2.5", loads, 4, NULL, DOMAIN_REJECT, NULL));
    OK(domain_add_categorical(d, "flag", flags, 2, NULL, DOMAIN_REJECT, NULL));
    return d;
}

/* A model of random pairs and triples, with random parameters. */
/* For a world that has its domain; r NULL: its model is uniform. */
static void world_model(struct answer_world *w, const struct clique *cliques, size_t n,
                        size_t cells, struct random *r)
{
    OK(model_plain(&w->model, w->domain, cliques, n, cells, NULL));
    for (size_t i = 0; r && i < w->model->parameters; i++)
        w->model->theta[i] = 3 * random_double(r);
    model_propagate(w->model, true);
    model_set_total(w->model, ROWS);
    OK(model_densities(&w->inside, w->model, NULL));
    OK(model_sums_new(&w->sums, w->model));
}

static void world_new(struct answer_world *w, struct random *r)
{
    struct clique cliques[4];
    *w = (struct answer_world){.domain = make_domain()};
    for (unsigned i = 0; i < 4; i++) {
        unsigned first = (unsigned)random_below(r, COLUMNS - 1);
        cliques[i] = (struct clique){.n = 2, .attribute = {(uint16_t)first, 0}};
        cliques[i].attribute[1] = (uint16_t)(first + 1 + random_below(r, COLUMNS - 1 - first));
    }
    world_model(w, cliques, 4, 1 << 20, r);
    for (unsigned c = 0; c < COLUMNS; c++)
        for (uint32_t code = 0; code < w->domain->attribute[c].size; code++)
            add_atoms(w, c, code);
}

static void world_free(struct answer_world *w)
{
    densities_clear(&w->inside);
    model_sums_free(&w->sums);
    model_free(&w->model);
    domain_free(&w->domain);
}

/* --- conditions ------------------------------------------------------------------------------- */

enum answer_kind { TERM, BOTH, EITHER, OPPOSITE };
enum answer_relation { EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST, BETWEEN, AMONG, NONE, SOME };
enum truth { FALSE, UNKNOWN, TRUE };

struct node_of {
    enum answer_kind kind;
    unsigned left, right; /* nodes */
    unsigned column;
    enum answer_relation relation;
    double value[2];
};

struct condition {
    size_t nodes;
    struct node_of node[16];
};

static double literal(const struct answer_world *w, unsigned column, struct random *r)
{
    const struct domain_attribute *a = &w->domain->attribute[column];
    if (!domain_has_order(a))
        return (double)random_below(r, a->values);
    if (domain_has_bins(a) && a->step == 0)
        return cuts[random_below(r, sizeof cuts / sizeof *cuts)];
    return (double)random_below(r, 8);
}

static unsigned make_node(struct condition *c, const struct answer_world *w, unsigned depth,
                          struct random *r)
{
    unsigned at = (unsigned)c->nodes++;
    struct node_of n = {.kind = depth == 0 ? TERM : (enum answer_kind)random_below(r, 4)};
    if (n.kind == TERM) {
        n.column = (unsigned)random_below(r, COLUMNS);
        n.relation = (enum answer_relation)random_below(r, 10);
        if (!domain_has_order(&w->domain->attribute[n.column]) && n.relation > UNEQUAL &&
            n.relation < AMONG)
            n.relation = AMONG;
        n.value[0] = literal(w, n.column, r);
        n.value[1] = literal(w, n.column, r);
    } else {
        n.left = make_node(c, w, depth - 1, r);
        if (n.kind != OPPOSITE)
            n.right = make_node(c, w, depth - 1, r);
    }
    c->node[at] = n;
    return at;
}

/* Whether an atom is among numbers or labels that equal v; intervals have almost none of them. */
static bool equals(const struct answer_world *w, unsigned column, const struct atom *a, double v)
{
    const struct domain_attribute *x = &w->domain->attribute[column];
    return (!domain_has_bins(x) || x->step > 0) && a->middle == v;
}

static bool holds(const struct answer_world *w, const struct node_of *n, const struct atom *a)
{
    double x = a->middle, v = n->value[0], u = n->value[1];
    switch (n->relation) {
    case EQUAL:
        return equals(w, n->column, a, v);
    case UNEQUAL:
        return !equals(w, n->column, a, v);
    case LESS:
        return x < v;
    case AT_MOST:
        return x <= v;
    case MORE:
        return x > v;
    case AT_LEAST:
        return x >= v;
    case BETWEEN:
        return x >= v && x <= u;
    case AMONG:
        return equals(w, n->column, a, v) || equals(w, n->column, a, u);
    case NONE:
    case SOME:
        break;
    }
    return false;
}

static enum truth truth_of(const struct answer_world *w, const struct condition *c, unsigned at,
                           const struct atom *const *x)
{
    const struct node_of *n = &c->node[at];
    if (n->kind == TERM) {
        bool missing = x[n->column]->missing;
        if (n->relation == NONE || n->relation == SOME)
            return missing == (n->relation == NONE) ? TRUE : FALSE;
        return missing ? UNKNOWN : holds(w, n, x[n->column]) ? TRUE : FALSE;
    }
    enum truth left = truth_of(w, c, n->left, x);
    if (n->kind == OPPOSITE)
        return (enum truth)(TRUE - left);
    enum truth right = truth_of(w, c, n->right, x);
    if (n->kind == BOTH)
        return left < right ? left : right;
    return left > right ? left : right;
}

static void put_literal(struct bytes *out, const struct domain_attribute *a, double v)
{
    if (domain_has_order(a))
        text_put(out, "%g", v);
    else
        text_put(out, "'%s'",
                 strcmp(a->labels[(size_t)v], "it's") == 0 ? "it''s" : a->labels[(size_t)v]);
}

static void put_term(struct bytes *out, const struct answer_world *w, const struct node_of *n)
{
    static const char *const words[] = {"=",  "<>",      "<",    "<=",      ">",
                                        ">=", "BETWEEN", "IN (", "IS NULL", "IS NOT NULL"};
    const struct domain_attribute *a = &w->domain->attribute[n->column];
    text_put(out, "\"%s\" %s ", a->name, words[n->relation]);
    if (n->relation >= NONE)
        return;
    put_literal(out, a, n->value[0]);
    if (n->relation < BETWEEN)
        return;
    text_put(out, n->relation == BETWEEN ? " AND " : ", ");
    put_literal(out, a, n->value[1]);
    text_put(out, n->relation == AMONG ? ")" : "");
}

static void put_condition(struct bytes *out, const struct answer_world *w,
                          const struct condition *c, unsigned at)
{
    const struct node_of *n = &c->node[at];
    if (n->kind == TERM) {
        put_term(out, w, n);
        return;
    }
    text_put(out, n->kind == OPPOSITE ? "NOT (" : "(");
    put_condition(out, w, c, n->left);
    if (n->kind != OPPOSITE) {
        text_put(out, n->kind == BOTH ? ") AND (" : ") OR (");
        put_condition(out, w, c, n->right);
    }
    text_put(out, ")");
}

/* --- the twin --------------------------------------------------------------------------------- */

/* Probability of a cell of all columns, up to a factor. */
static double weight_of(const struct model *m, const struct atom *const *x)
{
    double sum = 0;
    for (size_t k = 0; k < m->potentials; k++) {
        const struct model_potential *p = &m->potential[k];
        size_t cell = 0;
        for (unsigned i = 0; i < p->clique.n; i++)
            cell = cell * m->domain->attribute[p->clique.attribute[i]].size +
                   x[p->clique.attribute[i]]->code;
        sum += m->theta[p->offset + cell];
    }
    return exp(sum);
}

/* Rows of each atom of y that meet the condition and are in a group, for each code of the group. */
struct answer_twin {
    double rows[COLUMNS][ATOMS]; /* [code of the group][atom of y] */
};

static void enumerate(const struct answer_world *w, const struct condition *c, unsigned y,
                      unsigned group, struct answer_twin *t)
{
    size_t at[COLUMNS] = {0};
    double z = 0;
    memset(t, 0, sizeof *t);
    for (bool more = true; more;) {
        const struct atom *x[COLUMNS];
        for (unsigned i = 0; i < COLUMNS; i++)
            x[i] = &w->atom[i][at[i]];
        double p = weight_of(w->model, x);
        for (unsigned i = 0; i < COLUMNS; i++)
            p *= x[i]->share;
        z += p;
        if (truth_of(w, c, 0, x) == TRUE)
            t->rows[group < COLUMNS ? x[group]->code : 0][at[y]] += p;
        more = false;
        for (unsigned i = 0; i < COLUMNS && !more; i++) {
            more = ++at[i] < w->atoms[i];
            at[i] = more ? at[i] : 0;
        }
    }
    for (unsigned g = 0; g < COLUMNS; g++)
        for (unsigned i = 0; i < ATOMS; i++)
            t->rows[g][i] *= ROWS / z;
}

static struct density_part part_of(const struct answer_world *w, unsigned y, size_t i)
{
    const struct atom *a = &w->atom[y][i];
    if (a->missing || w->inside.of[y] == NULL)
        return (struct density_part){0};
    return density_part(w->inside.of[y], a->code, a->low, a->below);
}

/* The number with this many rows at or below it. */
static double number_at(const struct answer_world *w, unsigned y, const double *rows, double place)
{
    double before = 0;
    size_t last = 0;
    for (size_t i = 0; i < w->atoms[y]; i++) {
        const struct atom *a = &w->atom[y][i];
        if (a->missing || !(rows[i] > 0))
            continue;
        last = i;
        if (before + rows[i] >= place)
            return density_quantile(w->inside.of[y], a->code, a->low, a->below,
                                    (place - before) / rows[i]);
        before += rows[i];
    }
    return w->atom[y][last].middle;
}

static double percentile(const struct answer_world *w, unsigned y, const double *rows, double sum,
                         double p)
{
    double n = rint(sum), place = p * (n - 1), low = floor(place), first;
    if (n < 2)
        return number_at(w, y, rows, p * sum);
    first = number_at(w, y, rows, (low + 0.5) / n * sum);
    if (!(place > low))
        return first;
    return first + (place - low) * (number_at(w, y, rows, (low + 1.5) / n * sum) - first);
}

static double mode(const struct answer_world *w, unsigned y, const double *rows)
{
    double of[ATOMS] = {0};
    uint32_t best = 0;
    for (size_t i = 0; i < w->atoms[y]; i++)
        if (!w->atom[y][i].missing)
            of[w->atom[y][i].code] += rows[i];
    for (uint32_t code = 0; code < ATOMS; code++)
        if (of[code] > of[best] * (1 + 1e-12))
            best = code;
    return best;
}

static double twin_value(const struct answer_world *w, const struct question_item *item,
                         const double *rows, double *count)
{
    unsigned y = item->column;
    double n = 0, sum = 0, variance = 0;
    for (size_t i = 0; i < w->atoms[y]; i++)
        if (item->rows || !w->atom[y][i].missing) {
            n += rows[i];
            sum += rows[i] * part_of(w, y, i).mean;
        }
    for (size_t i = 0; i < w->atoms[y]; i++)
        if (!w->atom[y][i].missing) {
            struct density_part part = part_of(w, y, i);
            double away = part.mean - sum / n;
            variance += rows[i] * (fmax(0, part.square - part.mean * part.mean) + away * away);
        }
    *count = n;
    switch (item->aggregate) {
    case AGGREGATE_COUNT:
        return n;
    case AGGREGATE_SUM:
        return sum;
    case AGGREGATE_AVG:
        return sum / n;
    case AGGREGATE_VARIANCE:
        return variance / n;
    case AGGREGATE_STDDEV:
        return sqrt(variance / n);
    case AGGREGATE_MODE:
        return mode(w, y, rows);
    case AGGREGATE_MIN:
        return number_at(w, y, rows, fmin(0.5, 3 / sqrt(n)) * n);
    case AGGREGATE_MAX:
        return number_at(w, y, rows, (1 - fmin(0.5, 3 / sqrt(n))) * n);
    case AGGREGATE_RANGE:
        return number_at(w, y, rows, (1 - fmin(0.5, 3 / sqrt(n))) * n) -
               number_at(w, y, rows, fmin(0.5, 3 / sqrt(n)) * n);
    case AGGREGATE_MEDIAN:
    case AGGREGATE_PERCENTILE:
    case AGGREGATE_SHARE: /* not asked here */
    case AGGREGATE_CORR:
    case AGGREGATE_ARITHMETIC:
        break;
    }
    return percentile(w, y, rows, n, item->p);
}

static void assert_near(double a, double b, const char *text)
{
    if (!(fabs(a - b) <= NEAR * fmax(1, fabs(b))))
        fail_msg("%.15g where the twin has %.15g: %s", a, b, text);
}

/* All aggregates of a column under one condition, in one question. */
static void put_question(struct bytes *out, const struct answer_world *w, unsigned y,
                         unsigned group, const struct condition *c)
{
    const char *name = w->domain->attribute[y].name;
    text_put(out, "select Count(*), COUNT(\"%s\"), MODE(\"%s\")", name, name);
    if (domain_has_order(&w->domain->attribute[y])) {
        for (unsigned i = AGGREGATE_SUM; i <= AGGREGATE_RANGE; i++)
            if (i != AGGREGATE_PERCENTILE && i != AGGREGATE_MODE)
                text_put(out, ", %s(\"%s\")", aggregate_name((enum question_aggregate)i), name);
        text_put(out, ", PERCENTILE(\"%s\", .9)", name);
    }
    text_put(out, " FROM t WHERE ");
    put_condition(out, w, c, 0);
    if (group < COLUMNS)
        text_put(out, " GROUP BY \"%s\"", w->domain->attribute[group].name);
    bytes_put_u8(out, 0);
}

/* Whether the question split into few enough cases to be answered. */
static bool compare(const struct answer_world *w, unsigned y, unsigned group,
                    const struct condition *c)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    struct question *q CLEAN(question_free) = NULL;
    struct answer_twin t;
    LOG_INTO(log, said, LOG_ERROR);
    put_question(&text, w, y, group, c);
    struct question_text from = {.text = (const char *)text.data};
    if (question_parse(&q, w->domain, &from, &log) != ERR_OK) {
        support_says(said, "cases");
        return false;
    }
    struct answer *a CLEAN(answer_free) = MADE(answer, answer_new, w->sums, &w->inside, q, NULL);
    enumerate(w, c, y, group, &t);
    for (size_t line = 0; line < a->lines; line++)
        for (size_t i = 0; i < q->items; i++) {
            struct answer_value v = a->value[line * q->items + i];
            struct question_item item = q->item[i];
            double count, expected;
            item.column = (uint16_t)y;
            expected = twin_value(w, &item, t.rows[line], &count);
            assert_near(v.rows, count, (const char *)text.data);
            if (!v.known || count < 1e-6)
                continue;
            assert_near(v.number, expected, (const char *)text.data);
        }
    return true;
}

TEST(answers_are_those_of_the_joint_distribution)
{
    struct random r = random_of(22);
    size_t answered = 0;
    for (unsigned trial = 0; trial < 40; trial++) {
        struct answer_world w CLEAN(world_free);
        world_new(&w, &r);
        for (unsigned i = 0; i < 15; i++) {
            struct condition c = {.nodes = 0};
            make_node(&c, &w, (unsigned)random_below(&r, 4), &r);
            answered += compare(&w, (unsigned)random_below(&r, COLUMNS),
                                (unsigned)random_below(&r, COLUMNS + 2), &c);
        }
    }
    assert_true(answered > 500);
}

static struct answer *answered(const struct answer_world *w, const char *text, struct question **q)
{
    struct question_text from = {.text = text};
    OK(question_parse(q, w->domain, &from, NULL));
    struct answer *a = MADE(answer, answer_new, w->sums, &w->inside, *q, NULL);
    return a;
}

/* Of each value of two columns, the counts by a third add up to that of both. */
static void three_groups_add_up(const struct answer_world *w, const struct answer *both,
                                const char *columns)
{
    struct question *q CLEAN(question_free) = NULL;
    char text[400];
    snprintf(text, sizeof text, "SELECT COUNT(*) FROM t GROUP BY %s, \"%s\"", columns,
             w->domain->attribute[2].name);
    struct answer *three CLEAN(answer_free) = answered(w, text, &q);
    for (size_t line = 0; line < both->lines; line++) {
        const size_t codes = three->lines / both->lines;
        double sum = 0;
        for (size_t k = 0; k < codes; k++)
            sum += three->rows[line * codes + k];
        assert_near(sum, both->rows[line], text);
    }
}

/* HAVING, ORDER BY and LIMIT choose among the same lines and change none. */
static size_t check_lines(const struct answer_world *w)
{
    struct question *q CLEAN(question_free) = NULL, *ordered CLEAN(question_free) = NULL;
    size_t *lines CLEAN(memory_release) = NULL, *shown CLEAN(memory_release) = NULL;
    char text[600], columns[200];
    size_t n, m, above = 0;
    double mean = 0;
    snprintf(columns, sizeof columns, "\"%s\", \"%s\"", w->domain->attribute[0].name,
             w->domain->attribute[1].name);
    snprintf(text, sizeof text, "SELECT COUNT(*) FROM t GROUP BY %s", columns);
    struct answer *all CLEAN(answer_free) = answered(w, text, &q);
    OK(answer_shown(all, &shown, &m));
    for (size_t i = 0; i < m; i++)
        mean += all->rows[shown[i]] / (double)m;
    for (size_t i = 0; i < m; i++)
        above += all->rows[shown[i]] > mean;
    snprintf(text, sizeof text,
             "SELECT COUNT(*) AS n FROM t GROUP BY %s HAVING n > %.17g ORDER BY n DESC, \"%s\" "
             "LIMIT 3",
             columns, mean, w->domain->attribute[1].name);
    struct answer *some CLEAN(answer_free) = answered(w, text, &ordered);
    OK(answer_shown(some, &lines, &n));
    assert_int_equal(n, above < 3 ? above : 3);
    for (size_t i = 0; i < n; i++) {
        const double rows = some->rows[lines[i]];
        size_t larger = 0;
        assert_true(rows == all->rows[lines[i]] && rows > mean);
        assert_true(i == 0 || rows <= some->rows[lines[i - 1]]);
        for (size_t k = 0; k < m; k++)
            larger += all->rows[shown[k]] > rows;
        assert_true(larger <= i);
    }
    three_groups_add_up(w, all, columns);
    return n;
}

TEST(lines_are_chosen_and_ordered)
{
    struct random r = random_of(9);
    size_t chosen = 0;
    for (unsigned trial = 0; trial < 20; trial++) {
        struct answer_world w CLEAN(world_free);
        world_new(&w, &r);
        chosen += check_lines(&w);
    }
    assert_true(chosen > 20);
}

/* The ends are multiples of the step, whatever fraction of a row there is: nothing lies between. */
TEST(numbers_of_a_step_are_exact)
{
    static const char text[] = "SELECT PERCENTILE(days, 0), PERCENTILE(days, 1), MIN(days), "
                               "MAX(days) FROM t GROUP BY days";
    struct random r = random_of(5);
    struct answer_world w CLEAN(world_free);
    struct question *q CLEAN(question_free) = NULL;
    world_new(&w, &r);
    OK(question_parse(&q, w.domain, &(struct question_text){.text = text}, NULL));
    struct answer *a CLEAN(answer_free) = MADE(answer, answer_new, w.sums, &w.inside, q, NULL);
    for (size_t i = 0; i < a->lines * q->items; i++)
        assert_true(a->value[i].number == rint(a->value[i].number));
}

/* Of rows where a condition holds or does not, whatever else is asked, and of each line. */
TEST(shares_are_those_of_counts)
{
    static const char *const conditions[] = {"ward = 'a'", "days > 1 AND flag = 'yes'",
                                             "n = 3 OR \"PM2.5\" < 2.5", "ward IS NULL",
                                             "NOT (days >= 2)"};
    static const char *const where[] = {"n > 2", "days < 4 OR ward = 'a'", "ward IS NULL"};
    struct random r = random_of(8);
    struct answer_world w CLEAN(world_free);
    size_t known = 0;
    world_new(&w, &r);
    for (size_t i = 0; i < 15; i++) {
        const char *c = conditions[i % 5], *all = where[i / 5];
        struct bytes text CLEAN(bytes_clear) = {0};
        struct answer *a[3] = {NULL};
        struct question *q[3] = {NULL};
        text_put(&text, "SELECT SHARE(%s) FROM t WHERE %s GROUP BY flag, ward;", c, all);
        text_put(&text, "SELECT COUNT(*) FROM t WHERE (%s) AND (%s) GROUP BY flag, ward;", c, all);
        text_put(&text, "SELECT COUNT(*) FROM t WHERE NOT(%s) AND(%s) GROUP BY flag, ward", c, all);
        bytes_put_u8(&text, 0);
        struct question_text from = {.text = (const char *)text.data};
        for (size_t k = 0; k < 3; k++) {
            OK(question_parse(&q[k], w.domain, &from, NULL));
            OK(answer_new(&a[k], w.sums, &w.inside, q[k], NULL));
        }
        for (size_t line = 0; line < a[0]->lines; line++) {
            const struct answer_value *v = &a[0]->value[line];
            const double yes = a[1]->rows[line], no = a[2]->rows[line];
            assert_true(v->known == (yes + no > 0));
            known += v->known;
            assert_near(v->rows, yes + no, (const char *)text.data);
            if (v->known)
                assert_near(v->number, 100 * yes / (yes + no), (const char *)text.data);
        }
        for (size_t k = 0; k < 3; k++) {
            answer_free(&a[k]);
            question_free(&q[k]);
        }
    }
    assert_true(known > 50);
}

/* An operation gives what it gives on the answers to its two sides, on every line. */
TEST(arithmetic_is_that_of_the_answers)
{
    static const struct {
        const char *left, *right; /* items, or numbers */
        char op;
    } asked[] = {{"SUM(days)", "COUNT(*)", '/'},   {"AVG(n)", "AVG(days)", '-'},
                 {"100", "AVG(n)", '-'},           {"COUNT(days)", "1e3", '*'},
                 {"STDDEV(n)", "0.5", '+'},        {"2", "COUNT(*)", '/'},
                 {"MEDIAN(n)", "VARIANCE(n)", '-'}};
    struct random r = random_of(11);
    struct answer_world w CLEAN(world_free);
    size_t known = 0;
    world_new(&w, &r);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const char *rest = "FROM t WHERE n > 2 OR ward = 'a' GROUP BY flag, ward";
        const bool numbers[2] = {asked[i].left[0] <= '9', asked[i].right[0] <= '9'};
        char text[3][200];
        struct answer *a[3];
        struct question *q[3];
        snprintf(text[0], sizeof text[0], "SELECT COUNT(*), %s %c %s AS x %s", asked[i].left,
                 asked[i].op, asked[i].right, rest);
        for (unsigned k = 0; k < 2; k++)
            snprintf(text[1 + k], sizeof text[0], "SELECT %s %s",
                     numbers[k] ? "COUNT(*)"
                     : k == 0   ? asked[i].left
                                : asked[i].right,
                     rest);
        for (unsigned k = 0; k < 3; k++)
            a[k] = answered(&w, text[k], &q[k]);
        for (size_t line = 0; line < a[0]->lines; line++) {
            const struct answer_value *v = &a[0]->value[2 * line + 1],
                                      *of[2] = {&a[1]->value[line], &a[2]->value[line]};
            const double x = numbers[0] ? strtod(asked[i].left, NULL) : of[0]->number;
            const double y = numbers[1] ? strtod(asked[i].right, NULL) : of[1]->number;
            const double right = asked[i].op == '+'   ? x + y
                                 : asked[i].op == '-' ? x - y
                                 : asked[i].op == '*' ? x * y
                                                      : x / y;
            assert_true(v->known == ((numbers[0] || of[0]->known) && (numbers[1] || of[1]->known) &&
                                     isfinite(right)));
            known += v->known;
            if (v->known)
                assert_near(v->number, right, text[0]);
        }
        for (unsigned k = 0; k < 3; k++) {
            answer_free(&a[k]);
            question_free(&q[k]);
        }
    }
    assert_true(known > 30);
}

/* The twin asks for each pair of numbers; "PM2.5" has any numbers, and a variance inside bins. */
TEST(correlations_are_those_of_all_pairs)
{
    static const struct clique cliques[] = {{.n = 4, .attribute = {1, 2, 3, 4}}};
    struct random r = random_of(9);
    struct answer_world w CLEAN(world_free) = {.domain = make_domain()};
    world_model(&w, cliques, 1, 1 << 20, &r);
    for (int flag = 0; flag < 2; flag++) {
        double rows = 0, x[3] = {0}, xx[3] = {0}, nx[3] = {0};
        struct bytes text CLEAN(bytes_clear) = {0};
        struct question_text from;
        struct question *q CLEAN(question_free) = NULL;
        struct answer *a CLEAN(answer_free) = NULL;
        for (int n = 2; n <= 4; n++)
            for (int days = 0; days <= 6; days++) {
                struct bytes one CLEAN(bytes_clear) = {0};
                struct question *asked CLEAN(question_free) = NULL;
                struct answer *b CLEAN(answer_free) = NULL;
                double c, values[3];
                text_put(&one,
                         "SELECT AVG(\"PM2.5\"), VARIANCE(\"PM2.5\") FROM t WHERE n = %d AND "
                         "days = %d AND flag = '%s' AND \"PM2.5\" > 1",
                         n, days, flag ? "yes" : "no");
                bytes_put_u8(&one, 0);
                from = (struct question_text){.text = (const char *)one.data};
                OK(question_parse(&asked, w.domain, &from, NULL));
                OK(answer_new(&b, w.sums, &w.inside, asked, NULL));
                c = b->rows[0];
                values[0] = n;
                values[1] = days;
                values[2] = b->value[0].number;
                rows += c;
                for (int i = 0; i < 3; i++) {
                    x[i] += c * values[i];
                    xx[i] += c * (values[i] * values[i] + (i == 2 ? b->value[1].number : 0));
                    nx[i] += c * values[0] * values[i];
                }
            }
        text_put(&text, "SELECT CORR(n, days), CORR(\"PM2.5\", n), CORR(n, \"PM2.5\") FROM t WHERE "
                        "days IS NOT NULL AND \"PM2.5\" > 1 GROUP BY flag");
        bytes_put_u8(&text, 0);
        from = (struct question_text){.text = (const char *)text.data};
        OK(question_parse(&q, w.domain, &from, NULL));
        OK(answer_new(&a, w.sums, &w.inside, q, NULL));
        for (int i = 0; i < 3; i++) {
            const int k = i == 0 ? 1 : 2;
            const struct answer_value *v = &a->value[3 * flag + i];
            assert_true(v->known);
            assert_near(v->rows, rows, "rows of CORR");
            assert_near(v->number,
                        (nx[k] * rows - x[0] * x[k]) /
                            sqrt((xx[0] * rows - x[0] * x[0]) * (xx[k] * rows - x[k] * x[k])),
                        "CORR");
        }
    }
}

TEST(correlations_that_were_not_measured_are_refused)
{
    static const struct clique cliques[] = {{.n = 2, .attribute = {1, 2}},
                                            {.n = 2, .attribute = {2, 3}}};
    static const char *const texts[] = {"SELECT CORR(n, days) FROM t",
                                        "SELECT CORR(n, \"PM2.5\") FROM t",
                                        "SELECT CORR(n, days) FROM t GROUP BY flag"};
    struct answer_world w CLEAN(world_free) = {.domain = make_domain()};
    world_model(&w, cliques, 2, 1 << 20, NULL);
    for (size_t i = 0; i < 3; i++) {
        struct question *q CLEAN(question_free) = NULL;
        struct answer *a CLEAN(answer_free) = NULL;
        LOG_INTO(log, said, LOG_ERROR);
        OK(question_parse(&q, w.domain, &(struct question_text){.text = texts[i]}, NULL));
        assert_int_equal(answer_new(&a, w.sums, &w.inside, q, &log),
                         i == 0 ? ERR_OK : ERR_QUESTION);
        if (i == 0) /* independent */
            assert_true(a->value[0].known && fabs(a->value[0].number) < NEAR);
        else
            support_says(said, "no measured marginal holds all of the columns");
    }
}

TEST(what_no_double_holds_is_not_known)
{
    static const double edges[] = {-1e200, 0, 1e200};
    static const struct clique all = {.n = 1, .attribute = {0}};
    static const char text[] = "SELECT AVG(x), VARIANCE(x) FROM t";
    struct answer_world w CLEAN(world_free) = {.model = NULL};
    struct question *q CLEAN(question_free) = NULL;
    OK(domain_new(&w.domain));
    OK(domain_add_numeric(w.domain, "x", edges, 3, NULL, DOMAIN_CLIP, NULL));
    world_model(&w, &all, 1, 1 << 20, NULL);
    OK(question_parse(&q, w.domain, &(struct question_text){.text = text}, NULL));
    struct answer *a CLEAN(answer_free) = MADE(answer, answer_new, w.sums, &w.inside, q, NULL);
    assert_true(a->value[0].known);
    assert_false(a->value[1].known);
}

/* Each case has its own table: the bound is on all of them together. */
TEST(answers_of_many_cells_and_cases_are_refused)
{
    static const char *const names[] = {"a", "b", "c"};
    static const char text[] = "SELECT AVG(c) FROM t WHERE a < 3 OR b < 3 OR c < 3 GROUP BY a, b";
    static const struct clique single[] = {
        {.n = 1, .attribute = {0}}, {.n = 1, .attribute = {1}}, {.n = 1, .attribute = {2}}};
    struct answer_world w CLEAN(world_free) = {.model = NULL};
    struct question *q CLEAN(question_free) = NULL;
    struct answer *a;
    LOG_INTO(log, said, LOG_ERROR);
    OK(domain_new(&w.domain));
    for (int i = 0; i < 3; i++)
        OK(domain_add_integer(w.domain, names[i], 0, 299, NULL, DOMAIN_CLIP, NULL));
    world_model(&w, single, 3, 1 << 26, NULL);
    OK(question_parse(&q, w.domain, &(struct question_text){.text = text}, NULL));
    assert_int_equal(answer_new(&a, w.sums, &w.inside, q, &log), ERR_RANGE);
    support_says(said, "27000000 cells in each of 3 cases");
}
