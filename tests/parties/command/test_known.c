/*
 * trefoil refit --known: the model agrees with what is published, against proportional fitting of
 * the whole joint distribution; margins that contradict each other or the noisy counts are refused.
 */
#include "harness/cmocka.h"
#include "tests/support/domain.h"

#include "aim/model/model_file.h"
#include "aim/model/model_private.h"
#include "aim/workload/tabulate.h"
#include "parties/command/command.h"
#include "tests/support/result.h"

#define CELLS 120

/* --- the mathematics -------------------------------------------------------------------------- */

/* The cell of a pair of columns that contains a cell of the joint. */
static size_t pair_cell(const uint32_t *size, const struct clique *c, size_t joint)
{
    size_t code[4];
    for (unsigned a = 4; a-- > 0; joint /= size[a])
        code[a] = joint % size[a];
    return code[c->attribute[0]] * size[c->attribute[1]] + code[c->attribute[1]];
}

static void meet_joint(double *p, const uint32_t *size, const struct clique *c, const double *y)
{
    double sum[20] = {0};
    for (size_t i = 0; i < CELLS; i++)
        sum[pair_cell(size, c, i)] += p[i];
    for (size_t i = 0; i < CELLS; i++) {
        size_t cell = pair_cell(size, c, i);
        p[i] *= sum[cell] > 0 ? y[cell] / sum[cell] : 0;
    }
}

TEST(known_counts_are_met_as_in_the_joint)
{
    static const struct clique c[] = {{2, {0, 1}}, {2, {1, 2}}, {2, {2, 3}}, {2, {0, 3}}};
    static const struct clique all = {4, {0, 1, 2, 3}};
    static const uint32_t size[] = {2, 3, 4, 5}, zero[] = {1};
    const struct workload_zeros zeros = {.clique = c[1], .cells = 1, .cell = zero};
    struct domain *d CLEAN(domain_free) = support_domain(size, 4);
    struct model *m CLEAN(model_free) = NULL;
    double p[CELLS], met[CELLS], truth[CELLS], y[2][20] = {{0}}, off, total = 0;
    struct measurement known[2] = {{.clique = c[0], .y = y[0]}, {.clique = c[1], .y = y[1]}};
    OK(model_new(&m,
                 &(struct model_terms){.domain = d,
                                       .clique = c,
                                       .cliques = 4,
                                       .zero = &zeros,
                                       .zeros = 1,
                                       .limit_cells = 1000},
                 NULL));
    for (size_t i = 0; i < m->parameters; i++)
        m->theta[i] = (double)(i * 7 % 5) * 0.5;
    model_propagate(m, true);
    for (size_t i = 0; i < CELLS; i++) { /* some rows, with known margins */
        truth[i] = pair_cell(size, &c[1], i) == zero[0] ? 0 : (double)(i * 13 % 17);
        total += truth[i];
        for (unsigned k = 0; k < 2; k++)
            y[k][pair_cell(size, &c[k], i)] += truth[i];
    }
    model_set_total(m, total);
    OK(model_marginal(m, &all, p, NULL));
    for (int sweep = 0; sweep < 200; sweep++)
        for (unsigned k = 0; k < 2; k++)
            meet_joint(p, size, &c[k], y[k]);
    OK(model_meet(m, known, 2, &off, NULL));
    assert_true(off <= 2 * MODEL_MET * total);
    OK(model_marginal(m, &all, met, NULL));
    for (size_t i = 0; i < CELLS; i++)
        assert_true(fabs(met[i] - p[i]) < 1e-6 * total);
    known[1].clique = (struct clique){2, {1, 3}};
    assert_int_equal(model_meet(m, known, 2, &off, NULL), ERR_MISMATCH);
}

/* --- the command ------------------------------------------------------------------------------ */

struct known_stage {
    struct support_study s;
    struct table *rows;
    struct command_outcome o;
};

#define path(...) support_path(&g.s, __VA_ARGS__)

static void stage_new(struct known_stage *g)
{
    g->s = STUDY(NULL, .owners = 1, .rounds = 4);
    OK(support_table(&g->rows, g->s.study->domain, 400, 1));
    const char *rows = support_path(&g->s, "rows.csv");
    OK(support_csv(rows, g->s.study->domain, 400, 1));
    TREFOIL(EXIT_OK, g, "aim", g->s.path, rows, "--out", support_path(&g->s, "result"));
}

static void stage_free(struct known_stage *g)
{
    const char *const folders[] = {"result", "again", "more"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        support_drop_result(&g->s, folders[i]);
    table_free(&g->rows);
    support_study_free(&g->s);
}

/* Columns of the default study: sex (1), bmi in 4 bins (3), died (4). */
static const char *const labels[2][2] = {{"f", "m"}, {"no", "yes"}};

/* The rows' own sex x died, or bmi as numbers within its bins, in the format of a file. */
static void put_margin(struct bytes *out, const struct known_stage *g, bool bmi)
{
    static const struct clique sex_died = {2, {1, 4}}, only_bmi = {1, {3}};
    static const double edges[] = {10, 18.5, 25, 30};
    int64_t counts[4];
    tabulate_marginal(g->rows, bmi ? &only_bmi : &sex_died, counts);
    text_put(out, bmi ? "bmi,count\n" : "died, sex ,Count\n");
    for (size_t i = 0; i < 4; i++)
        if (bmi) /* two lines for each bin */
            text_put(out, "%g,%lld\n%g,1\n", edges[i], (long long)counts[i] - 1, edges[i] + 0.5);
        else
            text_put(out, "%s,%s,%lld\n", labels[1][i % 2], labels[0][i / 2], (long long)counts[i]);
}

static void write_text(const struct known_stage *g, const char *text)
{
    OK(file_write(support_path(&g->s, "k.csv"), 0600, text, strlen(text), NULL));
}

static void check_margin(const struct known_stage *g, const char *model, const struct clique *c)
{
    struct domain *d CLEAN(domain_free) = NULL;
    double counts[16];
    int64_t truth[16];
    struct model *m CLEAN(model_free) = MADE(model, model_load, &d, model, 1 << 20, NULL);
    OK(model_marginal(m, c, counts, NULL));
    tabulate_marginal(g->rows, c, truth);
    assert_true(fabs(model_total(m) - 400) < 1e-9);
    for (uint64_t i = 0; i < clique_cells(c, d); i++)
        assert_true(fabs(counts[i] - (double)truth[i]) < 1e-5);
}

TEST(what_is_known_is_in_the_model)
{
    static const struct clique sex_died = {2, {1, 4}}, only_bmi = {1, {3}}, sex = {1, {1}};
    struct known_stage g CLEAN(stage_free);
    struct bytes text CLEAN(bytes_clear) = {0}, json CLEAN(bytes_clear) = {0};
    stage_new(&g);
    put_margin(&text, &g, false);
    put_margin(&text, &g, true);
    bytes_put_u8(&text, 0);
    write_text(&g, (const char *)text.data);
    TREFOIL(EXIT_OK, &g, "refit", path("result"), "--out", path("again"), "--known", path("k.csv"));
    support_says(g.o.out, "known totals: 2 margins, met within ");
    check_margin(&g, path("again/model"), &sex_died);
    check_margin(&g, path("again/model"), &only_bmi);
    check_margin(&g, path("again/model"), &sex);
    OK(file_read(path("again/measurements.json"), 1 << 20, &json, NULL));
    bytes_put_u8(&json, 0);
    support_says((const char *)json.data,
                 "\"known\":[{\"attributes\":[\"sex\",\"died\"],\"values\"");
    TREFOIL(EXIT_OK, &g, "refit", path("again"), "--out", path("more"), "--iterations",
            "50"); /* a result keeps what it was given */
    check_margin(&g, path("more/model"), &sex_died);
    check_margin(&g, path("more/model"), &only_bmi);
}

TEST(what_cannot_be_is_refused)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"sex,count\nf,10\n", "k.csv:1: the margin that begins here has no line for sex=m"},
        {"f,10\nm,20\n", "k.csv:1: the first line should name columns and end with `count`"},
        {"sexx,count\n", "k.csv:1:1: no column is called \"sexx\"; did you mean \"sex\"?"},
        {"sex,sex,count\n", "k.csv:1:2: sex is there twice"},
        {"count\n", "k.csv:1: columns should stand before"},
        {"sex,count\nf,10\nw,20\n", "k.csv:3:1: sex is 'w'; it must be one of 'f', 'm'"},
        {"sex,count\nf,ten\n", "k.csv:2:2: the count is 'ten'"},
        {"sex,count\nf,-1\n", "k.csv:2:2: the count is '-1'"},
        {"sex,count\nf,1,2\n", "k.csv:2: the line has 3 fields, its header 2"},
        {"sex,count\nf,1\nf,2\n", "k.csv:3: this combination has had its count"},
        {"sex,count\n\"f\"x,1\n", "k.csv:2:1: a quote stands where"},
        {"ward,count\na,1\nb,2\nc,3\nd,4\n", "has no line for ward=?"},
        {"\n", "there is no margin in"},
        {"sex,count\nf,200\nm,200\ndied,count\nno,300\nyes,200\n", "k.csv:4 has 500 rows in all, "},
        {"sex,count\nf,100\nm,300\ndied,sex,count\nno,f,150\nno,m,50\nyes,f,150\nyes,m,50\n",
         "k.csv:4 has 300 rows of sex=f, "},
        {"sex,count\nf,4000\nm,4000\n", "do not fit what was measured of"},
        {"sex,count\nf,0\nm,0\n", "add up to 0 rows"},
    };
    struct known_stage g CLEAN(stage_free);
    stage_new(&g);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(&g, cases[i].text);
        TREFOIL(EXIT_BAD_DATA, &g, "refit", path("result"), "--out", path("again"), "--known",
                path("k.csv"));
        support_says(g.o.err, cases[i].says);
        assert_false(file_is_there(path("again")));
    }
}
