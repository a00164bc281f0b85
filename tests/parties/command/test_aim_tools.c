/*
 * aim/evaluate's likelihood, and the commands synth, query, eval and plan, each as a process of its
 * own.
 */
#include "harness/cmocka.h"
#include "tests/support/command.h"
#include "tests/support/domain.h"

#include "aim/answer/evaluate.h"
#include "aim/model/model_file.h"
#include "aim/model/model_private.h"
#include "aim/model/sample.h"
#include "aim/table/csv.h"
#include "harness/model.h"
#include "harness/study.h"
#include "parties/command/command.h"

#include <jansson.h>

struct tools_stage {
    struct support_study s;
    char real[SUPPORT_PATH], rows[SUPPORT_PATH], model[SUPPORT_PATH], out[SUPPORT_PATH],
        err[SUPPORT_PATH];
};

#define TREFOIL(code, outcome, stage, ...)                                                         \
    support_ends(code, outcome, (stage)->out, (stage)->err,                                        \
                 (const char *const[]){__VA_ARGS__, NULL})

/* A model of the first attributes together; `first` is the parameter of their first cell. */
static void save_model(const struct tools_stage *g, const struct domain *d, double first)
{
    const struct clique c = {.n = d->attributes > 1 ? 2 : 1, .attribute = {0, 1}};
    struct model *m CLEAN(model_free) = MADE(model, model_plain, d, &c, 1, 1 << 20, NULL);
    for (size_t i = 0; i < m->parameters; i++)
        m->theta[i] = i == 0 ? first : (double)(i % 5) * 0.3;
    model_propagate(m, true);
    model_set_total(m, 321.4);
    OK(model_save(g->model, m, NULL));
}

/* A study, 400 rows, and the model of independent attributes with a little added. */
static struct tools_stage stage_new(const struct study_options *o)
{
    struct tools_stage g = {0};
    struct table *t CLEAN(table_free) = NULL;
    struct model *m CLEAN(model_free) = NULL;
    g.s = support_study_of(o, NULL);
    support_study_file(&g.s, "real.csv", g.real);
    support_study_file(&g.s, "rows.csv", g.rows);
    support_study_file(&g.s, "model", g.model);
    support_study_file(&g.s, "out", g.out);
    support_study_file(&g.s, "err", g.err);
    OK(support_table(&t, g.s.study->domain, 400, 1));
    OK(table_write_csv(g.real, t, NULL, 1, NULL, NULL));
    OK(model_plain(&m, g.s.study->domain, g.s.study->workload->clique,
                   g.s.study->workload->cliques > 2 ? 2 : 1, 1 << 20, NULL));
    for (size_t i = 0; i < m->parameters; i++)
        m->theta[i] = (double)(i % 5) * 0.3;
    model_propagate(m, true);
    model_set_total(m, 321.4);
    OK(model_save(g.model, m, NULL));
    return g;
}

static void stage_free(struct tools_stage *g)
{
    support_study_free(&g->s);
}

TEST(rows_are_made_from_a_file)
{
    struct command_outcome a;
    struct tools_stage g CLEAN(stage_free) = stage_new(OPTIONS(.owners = 2));
    struct table *t CLEAN(table_free) = NULL;
    struct bytes first CLEAN(bytes_clear) = {0}, second CLEAN(bytes_clear) = {0};
    TREFOIL(EXIT_OK, &a, &g, "synth", g.model, "--out", g.rows);
    support_says(a.out, "wrote 321 rows");
    OK(table_read_csv(&t, g.s.study->domain, g.rows, NULL, NULL));
    assert_int_equal(t->rows, 321);
    TREFOIL(EXIT_OK, &a, &g, "synth", g.model, "--out", g.rows, "--rows", "50", "--seed", "7",
            "--sampling", "independent");
    OK(file_read(g.rows, 1 << 20, &first, NULL));
    TREFOIL(EXIT_OK, &a, &g, "synth", g.model, "--out", g.rows, "--rows", "50", "--seed", "7",
            "--sampling", "independent");
    OK(file_read(g.rows, 1 << 20, &second, NULL));
    SAME_BYTES(&first, second.data, second.size);
    TREFOIL(EXIT_BAD_DATA, &a, &g, "synth", g.real, "--out", g.rows);
    support_says(a.err, "is no model of this version");
    TREFOIL(EXIT_USAGE, &a, &g, "synth", g.model);
    TREFOIL(EXIT_USAGE, &a, &g, "synth", g.model, "--out", g.rows, "--sampling", "other");
    support_says(a.err, "rounded or independent");
}

/* What Excel reads in many countries: nothing but the marks differs. */
TEST(csv_is_written_for_other_programs)
{
    static const char *const refused[][4] = {{"--delimiter", ",", "--decimal", ","},
                                             {"--delimiter", "1", "--decimal", "."}};
    struct command_outcome a;
    struct tools_stage g CLEAN(stage_free) = stage_new(OPTIONS(.owners = 2));
    struct bytes first CLEAN(bytes_clear) = {0}, second CLEAN(bytes_clear) = {0};
    static const char text[] = "SELECT age, COUNT(*) FROM t GROUP BY age";
    size_t numbers = 0;
    TREFOIL(EXIT_OK, &a, &g, "query", g.model, text, "--csv", "--quick");
    char *plain = strdup(a.out);
    TREFOIL(EXIT_OK, &a, &g, "query", g.model, text, "--csv", "--quick", "--delimiter", ";",
            "--decimal", ",", "--bom");
    assert_memory_equal(a.out, "\xef\xbb\xbf", 3);
    assert_int_equal(strlen(a.out), strlen(plain) + 3);
    char *at = a.out + 3;
    for (size_t i = 0; plain[i] != '\0'; i++) {
        numbers += plain[i] == '.';
        assert_int_equal(at[i], plain[i] == ',' ? ';' : plain[i] == '.' ? ',' : plain[i]);
    }
    assert_true(numbers > 3);
    free(plain);
    TREFOIL(EXIT_USAGE, &a, &g, "query", g.model, text, "--bom");
    support_says(a.err, "are for --csv");
    TREFOIL(EXIT_OK, &a, &g, "synth", g.model, "--out", g.rows);
    OK(file_read(g.rows, 1 << 20, &first, NULL));
    for (size_t i = 0; i < 2; i++) {
        TREFOIL(EXIT_USAGE, &a, &g, "synth", g.model, "--out", g.rows, refused[i][0], refused[i][1],
                refused[i][2], refused[i][3]);
    }
    TREFOIL(EXIT_OK, &a, &g, "synth", g.model, "--out", g.rows, "--delimiter", "tab", "--bom");
    OK(file_read(g.rows, 1 << 20, &second, NULL));
    assert_memory_equal(second.data, "\xef\xbb\xbf", 3);
    assert_int_equal(second.size, first.size + 3);
    for (size_t i = 0; i < first.size; i++)
        assert_int_equal(second.data[3 + i], first.data[i] == ',' ? '\t' : first.data[i]);
}

/* For programs, numbers have as few digits as give them back. */
TEST(json_has_the_digits_that_matter)
{
    struct command_outcome a;
    struct tools_stage g CLEAN(stage_free) = stage_new(OPTIONS(.owners = 2));
    char best[64];
    TREFOIL(EXIT_OK, &a, &g, "query", g.model,
            "SELECT age, COUNT(*) AS \"0.10000000000000001\" FROM t GROUP BY age ORDER BY age DESC",
            "--json");
    support_says(a.out, "\"0.10000000000000001\"");
    json_auto_t *root = json_loads(a.out, 0, NULL);
    json_t *line = json_array_get(json_object_get(json_array_get(root, 0), "lines"), 0);
    double rows = json_real_value(json_object_get(line, "rows"));
    assert_true(rows > 0);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(best, sizeof best, "\"rows\": %.*g,", digits, rows);
        if (strtod(best + 8, NULL) == rows)
            break;
    }
    support_says(a.out, best);
}

/* The folder of a result works like its model; JSON has what the text has. */
TEST(questions_are_answered)
{
    struct command_outcome a;
    struct tools_stage g CLEAN(stage_free) = stage_new(OPTIONS(.owners = 2));
    char text[256];
    const char *name = g.s.study->domain->attribute[0].name;
    TREFOIL(EXIT_OK, &a, &g, "query", g.model, "SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM t");
    assert_string_equal(a.out,
                        "COUNT(*)  rows\n   321.4   321\n\nCOUNT(*)  rows\n   321.4   321\n");
    snprintf(text, sizeof text, "SELECT \"%s\", COUNT(*) FROM t GROUP BY \"%s\"", name, name);
    TREFOIL(EXIT_OK, &a, &g, "query", g.s.folder, text, "--json");
    json_auto_t *root = json_loads(a.out, 0, NULL);
    json_t *line = json_array_get(json_object_get(json_array_get(root, 0), "lines"), 0);
    assert_non_null(json_object_get(json_object_get(line, "group"), name));
    assert_true(json_real_value(json_object_get(line, "rows")) > 1);
    assert_true(json_is_true(json_object_get(json_array_get(root, 0), "together")));
    TREFOIL(EXIT_OK, &a, &g, "query", g.model, text, "--csv");
    support_says(a.out, ",COUNT(*),rows,together\n");
    support_says(a.err, "no intervals");
    TREFOIL(EXIT_OK, &a, &g, "query", g.model, "--columns");
    support_says(a.out, name);
}

/* The model holds the first two columns together: an item that adds the third rests on less. */
TEST(items_that_rest_on_independence_are_named)
{
    static const char text[] = "SELECT COUNT(*), MODE(ward), MODE(sex) FROM t GROUP BY age";
    struct command_outcome a;
    struct tools_stage g CLEAN(stage_free) = stage_new(OPTIONS(.owners = 2));
    json_t *root, *answers;
    save_model(&g, g.s.study->domain, 0);
    TREFOIL(EXIT_OK, &a, &g, "query", g.model, text);
    support_says(a.out, "\nMODE(ward): no measured marginal holds these columns together");
    TREFOIL(EXIT_OK, &a, &g, "query", g.model, text, "--json");
    root = json_loads(a.out, 0, NULL);
    answers = json_object_get(json_array_get(json_object_get(json_array_get(root, 0), "lines"), 0),
                              "answers");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(json_object_get(json_array_get(answers, i), "together") != NULL, i == 1);
    json_decref(root);
}

TEST(evaluation_warns_and_compares)
{
    struct command_outcome a;
    static const uint32_t nine = 9;
    struct tools_stage g CLEAN(stage_free) = stage_new(OPTIONS(.owners = 2));
    TREFOIL(EXIT_OK, &a, &g, "eval", g.s.path, g.real, g.real);
    support_says(a.err, "NOT PRIVATE");
    EACH(support_says, a.out, "400 real rows, 400 synthetic rows",
         "mean L1 error of a marginal: 0.0000", "     +0.00 %     +0.00 %  ",
         "mean error of a correlation: 0.0000  (independent columns ",
         "\n    real  synth.  indep.  resample\n");
    TREFOIL(EXIT_OK, &a, &g, "synth", g.model, "--out", g.rows);
    TREFOIL(EXIT_OK, &a, &g, "eval", g.s.path, g.real, g.rows, "--model", g.model, "--worst", "1");
    support_says(a.out, "negative log-likelihood of a real row under the model: ");
    support_says(a.out, "more (--worst 0 for all)");
    TREFOIL(EXIT_BAD_DATA, &a, &g, "eval", g.s.path, g.real, g.rows, "--model", g.real);
    TREFOIL(EXIT_OK, &a, &g, "eval", g.s.path, g.real, g.rows, "--worst", "0");
    assert_null(strstr(a.out, "more (--worst"));
    save_model(&g, g.s.study->domain, -2000);
    TREFOIL(EXIT_OK, &a, &g, "eval", g.s.path, g.real, g.rows, "--model", g.model);
    support_says(a.out, "rows are impossible under the model");
    struct domain *other CLEAN(domain_free) = support_domain(&nine, 1);
    save_model(&g, other, 0);
    TREFOIL(EXIT_CONFIG, &a, &g, "eval", g.s.path, g.real, g.rows, "--model", g.model);
    support_says(a.err, "is a model whose domain is not the study's");
    TREFOIL(EXIT_USAGE, &a, &g, "eval", g.s.path, g.real);
}

/* No more rows of a person are compared than servers count. */
TEST(evaluation_bounds_persons)
{
    struct command_outcome a;
    struct tools_stage g CLEAN(stage_free) = stage_new(OPTIONS(.owners = 2, .enforce = 1));
    struct bytes real CLEAN(bytes_clear) = {0}, twice CLEAN(bytes_clear) = {0};
    char *line, *rest;
    unsigned row = 0;
    const char *path = support_path(&g.s, "twice.csv");
    OK(file_read(g.real, 1 << 20, &real, NULL));
    bytes_put_u8(&real, 0);
    rest = (char *)real.data;
    text_put(&twice, "who,%s\n", strtok_r(rest, "\n", &rest));
    for (char *first = rest; (line = strtok_r(rest, "\n", &rest)) != NULL; row++)
        text_put(&twice, "P %u,%s\np%u,%s\n", row, line, row,
                 first); /* its first row's once more */
    OK(file_write(path, 0600, twice.data, twice.size, NULL));
    TREFOIL(EXIT_OK, &a, &g, "eval", g.s.path, path, g.real);
    support_says(a.err, "rows beyond the first 1 of their person, which are not counted: 400");
    support_says(a.out, "400 real rows, 400 synthetic rows");
    support_says(a.out, "mean L1 error of a marginal: 0.0000");
    TREFOIL(EXIT_BAD_DATA, &a, &g, "eval", g.s.path, g.real, g.real);
    support_says(a.err, "no column is named who");
}

static double figure(const json_t *root, const char *path)
{
    char names[128], *rest = names;
    snprintf(names, sizeof names, "%s", path);
    for (char *name = strtok_r(rest, ".", &rest); name != NULL; name = strtok_r(NULL, ".", &rest))
        root = *name >= '0' && *name <= '9' ? json_array_get(root, (size_t)atoi(name))
                                            : json_object_get(root, name);
    assert_true(json_is_number(root));
    return json_number_value(root);
}

/* Real rows as another program writes them, compared with themselves as the rows of a result. */
TEST(evaluation_takes_other_files_results_and_questions)
{
    static const char sql[] = "SELECT COUNT(*), AVG(bmi) FROM t WHERE age >= 3;\n"
                              "SELECT MODE(ward), COUNT(*) FROM t GROUP BY sex;\n"
                              "SELECT SUM(age) / COUNT(*) FROM t;\n"
                              "SELECT CORR(age, bmi) FROM t;";
    struct command_outcome a;
    struct tools_stage g CLEAN(stage_free) = stage_new(OPTIONS(.owners = 2));
    struct bytes real CLEAN(bytes_clear) = {0};
    const char *path = support_path(&g.s, "synthetic.csv");
    const char *queries = support_path(&g.s, "q.sql");
    OK(support_copy(g.real, path));
    OK(file_write(queries, 0600, sql, sizeof sql - 1, NULL));
    OK(file_read(g.real, 1 << 20, &real, NULL));
    for (size_t i = 0; i < real.size; i++)
        real.data[i] = real.data[i] == ',' ? ';' : real.data[i] == '.' ? ',' : real.data[i];
    OK(file_write(g.real, 0600, real.data, real.size, NULL));
    TREFOIL(EXIT_OK, &a, &g, "eval", g.s.path, g.real, g.s.folder, "--json", "--delimiter", ";",
            "--decimal", ",", "--queries", queries);
    json_auto_t *root = json_loads(strchr(a.out, '{'), JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(root);
    assert_true(json_is_false(json_object_get(root, "private")));
    assert_true(figure(root, "real_rows") == 400 && figure(root, "synthetic_rows") == 400);
    assert_true(figure(root, "marginals.mean.synthetic") < 1e-12);
    assert_true(figure(root, "marginals.mean.resample") > 0.01);
    assert_true(figure(root, "marginals.mean.independent") >
                figure(root, "marginals.mean.resample"));
    assert_true(figure(root, "columns.0.mean.real") == figure(root, "columns.0.mean.synthetic"));
    assert_true(figure(root, "correlations.0.real") == figure(root, "correlations.0.synthetic"));
    assert_true(figure(root, "likelihood.codes.model") < 0);
    assert_true(figure(root, "likelihood.numbers.independent") < 0);
    for (size_t i = 0; i < json_array_size(json_object_get(root, "questions")); i++)
        assert_true(figure(json_array_get(json_object_get(root, "questions"), i), "synthetic.max") <
                    1e-12);
    assert_int_equal(json_array_size(json_object_get(root, "questions")), 5);
    support_says(a.err, "since trefoil query refuses it: SELECT CORR(age, bmi) FROM t\n");
    assert_true(figure(root, "questions.0.resample.max") > 0);
    assert_true(figure(root, "questions.0.model.median") > 0);
    TREFOIL(EXIT_OK, &a, &g, "eval", g.s.path, path, g.s.folder, "--queries", queries);
    support_says(a.out, "relative errors of the answers to 4 questions\n");
    support_says(a.out, "  MODE        by group      2  model ");
    support_says(a.out, "  arithmetic                1  model ");
    support_says(a.out, "log-likelihood of its numbers as written, in deviations: ");
    TREFOIL(EXIT_USAGE, &a, &g, "eval", g.s.path, path, path, "--queries", path);
    support_says(a.err, "synthetic.csv:1:1: SELECT should stand here");
}

TEST(plans_say_what_a_study_takes)
{
    static const char *const words[] = {"attributes, at most",
                                        " with the smaller ones they contain",
                                        "then 3; each about 9",
                                        "model: about",
                                        "as counts (",
                                        "as records (",
                                        "noise: at most",
                                        "disk: servers 1 and 2",
                                        "eps of round",
                                        "study's own",
                                        "6 more with security: abort",
                                        "(this study)"};
    struct command_outcome a;
    struct tools_stage g CLEAN(stage_free) = stage_new(
        OPTIONS(.owners = 2, .rounds = 3, .epsilon = 3));
    TREFOIL(EXIT_OK, &a, &g, "plan", g.s.path);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        support_says(a.out, words[i]);
    TREFOIL(EXIT_CONFIG, &a, &g, "plan", g.real);
    stage_free(&g);
    g = stage_new(OPTIONS(.owners = 2, .enforce = 2));
    TREFOIL(EXIT_OK, &a, &g, "plan", g.s.path);
    support_says(a.out, "the servers merge 3000 rows of all owners, and\nkeep 2 of a person.");
    stage_free(&g);
    g = stage_new(OPTIONS(.owners = 2, .rounds = 900, .epsilon = 0.0005));
    TREFOIL(EXIT_CONFIG, &a, &g, "plan", g.s.path);
    assert_string_equal(a.out, "");
}

/* What an unusual study says of its owners, budgets and model. */
TEST(plans_of_unusual_studies)
{
    static const char *const parts[] = {
        "    max_rows: 900\n    batch: city\n    columns: [age, sex]\n",
        "    max_rows: 900\n    batch: city\n    columns: [ward, bmi, died]\n",
        "    max_rows: 4\n    as: records\n",
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        NULL};
    static const struct {
        struct study_options o;
        int code;
        const char *words;
    } cases[] = {
        {{.owners = 12, .part = parts}, EXIT_OK, "bits a row) of its 2 columns"},
        {{.owners = 12, .part = parts}, EXIT_OK, "bits a row): sends records"},
        {{.owners = 12, .part = parts}, EXIT_OK, "  ...     and 2 more owners\n"},
        {{.more = "model: {max_mib: 1}\n",
          .workload = "{all: 1}",
          .domain = "domain:\n  - {name: a, kind: integer, min: 0, max: 60000}\n"
                    "  - {name: b, kind: integer, min: 0, max: 60000}\n"
                    "  - {name: c, kind: integer, min: 0, max: 60000}\n"},
         EXIT_BAD_DATA,
         "the one-ways alone take 180003 cells, the model may have 131072"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct command_outcome a;
        struct tools_stage g CLEAN(stage_free) = stage_new(&cases[i].o);
        TREFOIL(cases[i].code, &a, &g, "plan", g.s.path);
        support_says(cases[i].code == EXIT_OK ? a.out : a.err, cases[i].words);
    }
}

/* -ln p compared with the full joint. */
TEST(likelihoods_match_the_joint)
{
    static const struct clique c[] = {{2, {0, 1}}, {2, {1, 2}}, {1, {3}}};
    static const struct clique all = {4, {0, 1, 2, 3}};
    double p[120], sum = 0, mean;
    size_t impossible;
    static const uint32_t size[] = {2, 3, 4, 5};
    struct domain *d CLEAN(domain_free) = support_domain(size, 4);
    struct model *m CLEAN(model_free) = MADE(model, model_plain, d, c, 3, 1000, NULL);
    for (size_t i = 0; i < m->parameters; i++)
        m->theta[i] = (double)(i * 7 % 5) * 0.5;
    model_propagate(m, true);
    model_set_total(m, 1);
    OK(model_marginal(m, &all, p, NULL));
    struct table *t CLEAN(table_free) = MADE(table, sample_independent, m, 300, 1, NULL);
    for (size_t row = 0; row < 300; row++)
        sum -= log(p[((t->column[0][row] * 3u + t->column[1][row]) * 4u + t->column[2][row]) * 5u +
                     t->column[3][row]]);
    OK(evaluate_likelihood(m, t, &mean, &impossible));
    assert_true(fabs(mean - sum / 300) < 1e-9);
    assert_int_equal(impossible, 0);
    m->theta[m->potential[2].offset] = -2000; /* the first value of the last attribute */
    model_propagate(m, true);
    OK(evaluate_likelihood(m, t, &mean, &impossible));
    assert_true(impossible > 10 && isfinite(mean));
}
