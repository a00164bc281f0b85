/*
 * protocols/records_plan.c, records_place.c: which products make which marginals, of real tables
 * and invented ones.
 */
#include "harness/cmocka.h"

#include "protocols/records_tile.h"

#define QUERIES_MAX 64
#define SIZE(array) (sizeof(array) / sizeof *(array))

/* A table's attributes, and 64 marginals of three; in these a is the first attribute. */
struct records_plan_table {
    const char *name;
    struct records_shape shape;
    const char *triples;
    size_t made;  /* products */
    double cells; /* of products, relative to those of marginals, at most */
};

static const uint32_t adult[] = {32, 9, 32, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42, 2},
                      adult_pgm[] = {85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2},
                      mushroom[] = {2, 6, 4, 10, 2, 9, 2, 2, 2, 12, 2,
                                    5, 4, 4, 9,  9, 4, 3, 5, 9, 6,  7},
                      nursery[] = {3, 5, 4, 4, 3, 2, 3, 3, 5};
static const char of_adult[] = "fglgijcfibjkcilghjabeeklefmelmchjjkmgmncdgdhklmnagnainbciadibejhlme"
                               "fjaglejkaklabhbcedhjabkamncgm"
                               "demcfjabgbhmhilcdfbcdfgidfhajmbfghkndeiehjachilmeimehibdgaikcgigkma"
                               "hlbclbcmafnahiblmaghegifhkefg";
static const char of_mushroom[] = "kmodlnehvdgtejulprabnjnsijlknvfhjhkqlqvdkofprtuvbfpbjobnvahvcjmb"
                                  "lsprsbetimnbjkachbnrfnuacublrejn"
                                  "gjldsvacfcpslrsdikbovjkufntbivclnilrfhvinuaflqtuipviknbrvbgiehkb"
                                  "mubescdfcdqbcqbekdlpbcmilvlmnhkr";
static const char of_nursery[] = "befbdeaeiaehbehcdfdefbcibdgafgadecegeghafhehighiahiabhcgiefgacfcg"
                                 "hcefbceceicfgdehbfgcdgbegacicfh"
                                 "adgdhiabcdfiefhbcdabicehbchbgiacgbhideibdhabddghbfibghaegdfhdegbf"
                                 "hegiachbdfacdchiadfdgiaghbcgcde";

static const struct records_plan_table tables[] = {
    {"adult", {SIZE(adult), adult}, of_adult, 2524, 1.02},
    {"adult_pgm", {SIZE(adult_pgm), adult_pgm}, of_adult, 6897, 1.001},
    {"mushroom", {SIZE(mushroom), mushroom}, of_mushroom, 355, 1.01},
    {"nursery", {SIZE(nursery), nursery}, of_nursery, 90, 1.01},
};

struct records_plan_scene {
    struct party party; /* plans only use its scratch */
    struct records_query query[QUERIES_MAX];
    size_t queries;
    struct records_plans plans;
};

static void ask(struct records_plan_scene *s, const struct records_shape *shape,
                const uint16_t *attribute, size_t n)
{
    struct records_query *q = &s->query[s->queries++];
    *q = (struct records_query){.n = n, .out.n = 1};
    for (size_t k = 0; k < n; k++) {
        q->attribute[k] = attribute[k];
        q->out.n *= shape->size[attribute[k]];
    }
}

static void scene_new(struct records_plan_scene *s)
{
    *s = (struct records_plan_scene){.party.scratch = scratch_new()};
    assert_non_null(s->party.scratch);
}

static void scene_free(struct records_plan_scene *s)
{
    scratch_free(&s->party.scratch);
}

static void plan(struct records_plan_scene *s, const struct records_shape *shape)
{
    OK(records_plans_new(&s->party, &s->plans, shape, s->query, s->queries));
}

static void ask_triples(struct records_plan_scene *s, const struct records_plan_table *t,
                        bool backwards)
{
    for (size_t k = 0; k < strlen(t->triples) / 3; k++) {
        const char *at = t->triples + 3 * (backwards ? strlen(t->triples) / 3 - 1 - k : k);
        const uint16_t attribute[] = {(uint16_t)(at[0] - 'a'), (uint16_t)(at[1] - 'a'),
                                      (uint16_t)(at[2] - 'a')};
        ask(s, &t->shape, attribute, 3);
    }
}

/* The values that a row of a side represents: digits of the query's attributes, added up. */
static void add_values(const struct records_shape *shape, const struct records_side *side,
                       size_t row, const struct records_query *q, size_t *value)
{
    for (unsigned k = side->factors; k-- > 0;) {
        const struct records_factor *f = &side->factor[k];
        const size_t rows = records_factor_rows(shape, f);
        for (size_t a = 0; a < q->n; a++)
            if (q->attribute[a] == f->attribute)
                value[a] += row % rows * (f->digit == RECORDS_HIGH ? f->base : 1);
        row /= rows;
    }
}

/* Each cell of a marginal occurs in its product once, and records_place() finds it there. */
static void expect_each_cell_once(struct records_plan_scene *s, const struct records_shape *shape,
                                  const struct records_plan *p)
{
    const struct records_side *left = &s->plans.side[p->left], *right = &s->plans.side[p->right];
    const struct records_query *q = p->query;
    uint16_t *parts CLEAN(memory_release) = memory_array(left->rows * right->rows, sizeof *parts);
    uint16_t *cells CLEAN(memory_release) = memory_array(q->out.n, sizeof *cells);
    uint8_t *found CLEAN(memory_release) = memory_array(q->out.n, 1);
    for (size_t i = 0; i < left->rows * right->rows; i++)
        parts[i] = (uint16_t)(i * 40503 >> 3);
    OK(records_place(&s->party, shape, &s->plans, p, parts, cells));
    for (size_t i = 0; i < left->rows * right->rows; i++) {
        size_t value[RECORDS_ORDER_MAX] = {0}, at = 0;
        bool right_value = true;
        add_values(shape, left, i / right->rows, q, value);
        add_values(shape, right, i % right->rows, q, value);
        for (size_t a = 0; a < q->n; a++) {
            right_value = right_value && value[a] < shape->size[q->attribute[a]];
            at = at * shape->size[q->attribute[a]] + value[a];
        }
        if (!right_value)
            continue;
        assert_int_equal(found[at]++, 0);
        assert_int_equal(cells[at], parts[i]);
    }
    for (size_t c = 0; c < q->out.n; c++)
        assert_int_equal(found[c], 1);
}

TEST(plans_of_tables_cost_what_is_known)
{
    for (size_t t = 0; t < SIZE(tables); t++) {
        struct records_plan_scene s CLEAN(scene_free);
        scene_new(&s);
        ask_triples(&s, &tables[t], false);
        plan(&s, &tables[t].shape);
        print_message("# %s: %zu products, %zu rows, %zu cells of %zu\n", tables[t].name,
                      s.plans.made, s.plans.rows, s.plans.parts, s.plans.cells);
        assert_int_equal(s.plans.made, tables[t].made);
        assert_true((double)s.plans.parts <= tables[t].cells * (double)s.plans.cells);
        for (size_t k = 0; k < s.plans.plans; k++)
            expect_each_cell_once(&s, &tables[t].shape, &s.plans.plan[k]);
    }
}

/*
 * --- a lower bound: a marginal pays for a side at least the share of all marginals that could use
 * it -------
 */

#define SIDES_MAX 4000

/* Two factors that are an attribute, or a digit of it to a base. */
struct priced {
    uint64_t key;
    double made;
    unsigned uses;
    size_t last; /* the last marginal that was seen here */
};

struct prices {
    struct priced side[SIDES_MAX];
    size_t sides;
    bool known; /* all uses */
};

static struct priced *find(struct prices *all, uint64_t key, size_t made)
{
    for (size_t k = 0; k < all->sides; k++)
        if (all->side[k].key == key)
            return &all->side[k];
    assert_true(all->sides < SIDES_MAX);
    all->side[all->sides] = (struct priced){key, (double)made, 0, SIZE_MAX};
    return &all->side[all->sides++];
}

/* What a marginal pays for a side; before all uses are known, notes that it could use the side. */
static double share(struct prices *all, size_t marginal, uint64_t key, size_t made)
{
    struct priced *p = find(all, key, made);
    if (!all->known) {
        p->uses += p->last != marginal;
        p->last = marginal;
    }
    return p->made / p->uses;
}

/*
 * The least that marginal m pays, over x y | z and x high(y) | low(y) z for all orders of its
 * attributes.
 */
static double least_of(struct prices *all, const struct records_plan_table *t, size_t m)
{
    static const unsigned orders[][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1},
                                         {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
    double least = 1e9;
    for (size_t o = 0; o < SIZE(orders); o++) {
        const uint64_t x = (uint64_t)(t->triples[3 * m + orders[o][0]] - 'a'),
                       y = (uint64_t)(t->triples[3 * m + orders[o][1]] - 'a'),
                       z = (uint64_t)(t->triples[3 * m + orders[o][2]] - 'a');
        const size_t a = t->shape.size[x], b = t->shape.size[y], c = t->shape.size[z];
        const double pair = share(all, m, x < y ? x << 8 | y : y << 8 | x, (a - 1) * (b - 1));
        least = pair < least ? pair : least;
        for (uint64_t base = 2; base < b; base++) {
            const size_t high = (b + base - 1) / base;
            if ((b + high - 1) / high != base)
                continue;
            const double both = share(all, m, 1 << 30 | base << 16 | x << 8 | y,
                                      (a - 1) * (high - 1)) +
                                share(all, m, (uint64_t)2 << 30 | base << 16 | z << 8 | y,
                                      (c - 1) * (base - 1));
            least = both < least ? both : least;
        }
    }
    return least;
}

TEST(the_lower_bounds_of_the_documents)
{
    static const size_t documented[] = {1563, 3862, 286, 47};
    struct prices *all CLEAN(memory_release) = memory_array(1, sizeof *all);
    for (size_t t = 0; t < SIZE(tables); t++) {
        double bound = 0;
        all->sides = 0;
        all->known = false;
        for (size_t m = 0; m < strlen(tables[t].triples) / 3; m++)
            (void)least_of(all, &tables[t], m);
        all->known = true;
        for (size_t m = 0; m < strlen(tables[t].triples) / 3; m++)
            bound += least_of(all, &tables[t], m);
        assert_int_equal((size_t)(bound + 0.5), documented[t]);
        assert_true(bound <= (double)tables[t].made);
    }
}

static void expect_same_side(const struct records_side *a, const struct records_side *b)
{
    assert_int_equal(a->factors, b->factors);
    assert_true(a->rows == b->rows && a->made == b->made);
    for (unsigned f = 0; f < a->factors; f++) {
        const struct records_factor *x = &a->factor[f], *y = &b->factor[f];
        assert_true(x->attribute == y->attribute && x->digit == y->digit && x->base == y->base);
        assert_true(a->factors < 2 || a->number[f] == b->number[f]);
    }
}

/* The same products for the same marginals, whatever their order. */
TEST(plans_do_not_depend_on_the_order)
{
    for (size_t t = 0; t < SIZE(tables); t++) {
        struct records_plan_scene s CLEAN(scene_free), back CLEAN(scene_free);
        scene_new(&s);
        scene_new(&back);
        ask_triples(&s, &tables[t], false);
        ask_triples(&back, &tables[t], true);
        plan(&s, &tables[t].shape);
        plan(&back, &tables[t].shape);
        assert_int_equal(s.plans.sides, back.plans.sides);
        for (size_t k = 0; k < s.plans.sides; k++)
            expect_same_side(&s.plans.side[k], &back.plans.side[k]);
        for (size_t k = 0; k < s.plans.plans; k++) {
            const struct records_plan *a = &s.plans.plan[k], *b = &back.plans.plan[k];
            assert_memory_equal(a->query->attribute, b->query->attribute,
                                sizeof a->query->attribute);
            assert_true(a->left == b->left && a->right == b->right && a->parts == b->parts);
        }
    }
}

/* Every order and every size, one value included: each way to split occurs for some size. */
TEST(every_size_is_covered)
{
    for (uint32_t size = 1; size <= 130; size += size < 40 ? 1 : 9) {
        const uint32_t sizes[] = {7, size, 5, 3};
        const struct records_shape shape = {4, sizes};
        static const uint16_t attribute[] = {0, 1, 2, 3};
        struct records_plan_scene s CLEAN(scene_free);
        scene_new(&s);
        for (size_t n = 1; n <= 4; n++)
            ask(&s, &shape, attribute, n);
        ask(&s, &shape, attribute + 1, 3);
        ask(&s, &shape, attribute + 1, 1);
        plan(&s, &shape);
        assert_int_equal(s.plans.plans, 6);
        for (size_t k = 0; k < s.plans.plans; k++)
            expect_each_cell_once(&s, &shape, &s.plans.plan[k]);
    }
}

/* A tile's matrices take 4 MiB, a block's numbers 64, or what 2048 records need. */
TEST(tiles_and_blocks_are_bounded)
{
    for (uint32_t size = 2; size < 100000; size *= 3) {
        const struct records_shape shape = {1, &size};
        const size_t n = records_block_length(&shape, NULL);
        assert_true(n % 64 == 0 && n >= 2048 && n <= 16384);
        assert_true(n == 2048 || 4 * (size + 1) * n <= (size_t)64 << 20);
    }
    for (size_t rows = 10; rows < 100000; rows *= 3) {
        const struct records_plans plans = {.rows = rows, .made = rows / 2};
        const size_t n = records_tile_length(&plans), words = plans.rows + plans.made;
        assert_true(n % 64 == 0 && n >= 2048);
        assert_true(n == 2048 || 2 * words * n <= (size_t)4 << 20);
    }
}
