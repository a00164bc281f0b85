/* trefoil refit: the run's model again, byte for byte; zeros are zero; what is wrong is named. */
#include "harness/cmocka.h"

#include "aim/model/model_file.h"
#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "harness/process.h"
#include "parties/analyst/release.h"
#include "parties/command/command.h"
#include "parties/exchange/bounds.h"
#include "tests/support/result.h"

#include <jansson.h>

struct refit_stage {
    struct support_study s;
    struct command_outcome o;
};

#define path(...) support_path(&g.s, __VA_ARGS__)

/* A study of 300 rows, and the folder `result` that trefoil aim made of it. */
static struct refit_stage stage_of(const char *more, unsigned sweeps)
{
    struct refit_stage g = {
        .s = STUDY(NULL, .owners = 1, .rounds = 6, .sweeps = sweeps, .more = more)};
    const char *rows = support_path(&g.s, "rows.csv");
    OK(support_csv(rows, g.s.study->domain, 300, 1));
    TREFOIL(EXIT_OK, &g, "aim", g.s.path, rows, "--out", support_path(&g.s, "result"));
    return g;
}

static struct refit_stage stage_new(const char *more)
{
    return stage_of(more, 0);
}

static void stage_free(struct refit_stage *g)
{
    const char *const folders[] = {"result", "again", "joined"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        support_drop_result(&g->s, folders[i]);
    support_study_free(&g->s);
}

TEST(the_runs_model_comes_again)
{
    static const char *const files[] = {"model", "errors", "measurements.json", "synthetic.csv"};
    struct refit_stage g CLEAN(stage_free) = stage_new("impossible: [{age: 8, ward: d}]\n");
    TREFOIL(EXIT_OK, &g, "refit", path("result"), "--out", path("again"));
    support_says(g.o.out, "nothing is charged");
    for (size_t i = 0; i < 4; i++)
        assert_true(support_same_files(path("result/%s", files[i]), path("again/%s", files[i])));
    TREFOIL(EXIT_OK, &g, "refit", path("result"), "--out", path("again"), "--seed", "2");
    assert_true(support_same_files(path("result/model"), path("again/model")));
    assert_false(support_same_files(path("result/synthetic.csv"), path("again/synthetic.csv")));
    TREFOIL(EXIT_OK, &g, "refit", path("result"), "--out", path("again"), "--quick");
    assert_true(support_same_files(path("result/model"), path("again/model")));
    assert_false(file_is_there(path("again/errors")));
    TREFOIL(EXIT_OK, &g, "query", path("again"), "SELECT COUNT(*) FROM t");
    EACH(support_says, g.o.err, "no intervals", "trefoil refit");
}

/* Nothing else of a run has what its sweeps opened. */
TEST(scores_are_kept)
{
    struct refit_stage g CLEAN(stage_free) = stage_of(NULL, 2);
    TREFOIL(EXIT_OK, &g, "refit", path("result"), "--out", path("again"), "--quick");
    assert_true(
        support_same_files(path("result/measurements.json"), path("again/measurements.json")));
}

/* Next to the numbers, with what they rest on. */
TEST(answers_have_intervals)
{
    static const char text[] = "SELECT COUNT(*), MODE(ward) FROM t";
    struct refit_stage g CLEAN(stage_free) = stage_new(NULL);
    TREFOIL(EXIT_OK, &g, "query", path("result"), text, "--json");
    json_auto_t *root = json_loads(g.o.out, 0, NULL);
    json_t *one = json_array_get(root, 0);
    assert_true(json_real_value(json_object_get(one, "level")) == 0.95);
    json_t *answer = json_object_get(json_array_get(json_object_get(one, "lines"), 0), "answers");
    one = json_array_get(answer, 1);
    answer = json_array_get(answer, 0);
    assert_true(json_real_value(json_object_get(answer, "low")) <
                json_real_value(json_object_get(answer, "answer")));
    assert_true(json_real_value(json_object_get(answer, "high")) >
                json_real_value(json_object_get(answer, "answer")));
    assert_true(json_is_null(json_object_get(one, "low")));
    assert_true(json_real_value(json_object_get(one, "agreed")) > 0);
    TREFOIL(EXIT_OK, &g, "query", path("result/model"), text, "--csv", "--level", "0.5");
    support_says(g.o.out, "COUNT(*),COUNT(*) low,COUNT(*) high,MODE(ward),MODE(ward) low,");
    support_says(g.o.out, ",rows,together\n");
    TREFOIL(EXIT_OK, &g, "query", path("result"), text, "--level", "0.9");
    EACH(support_says, g.o.out, "90 %", " to ", "agree");
    TREFOIL(EXIT_OK, &g, "query", path("result"),
            "SELECT COUNT(*) FROM t WHERE age > 3 AND sex = 'm' AND died = "
            "'yes' AND ward = 'a'");
    support_says(g.o.out, "independence");
    for (const char *const *level = (const char *const[]){"1", "0.4", "x", NULL}; *level != NULL;
         level++) {
        TREFOIL(EXIT_USAGE, &g, "query", path("result"), text, "--level", *level);
        support_says(g.o.err, "--level must be a number from 0.5 to 0.9999");
    }
    OK(file_write(path("result/errors"), 0600, "x", 1, NULL));
    TREFOIL(EXIT_BAD_DATA, &g, "query", path("result"), text);
    support_says(g.o.err, "trefoil refit makes it anew");
}

static double cell(const char *model, uint16_t a, uint16_t b, uint32_t at)
{
    const struct clique c = {.n = 2, .attribute = {a, b}};
    struct domain *d CLEAN(domain_free) = NULL;
    double counts[64];
    struct model *m CLEAN(model_free) = MADE(model, model_load, &d, model, 1 << 20, NULL);
    assert_true(clique_cells(&c, d) <= 64);
    OK(model_marginal(m, &c, counts, NULL));
    return counts[at];
}

/* With combinations that cannot occur, from a file z.yaml. */
static void refit_impossible(int code, struct refit_stage *g, const char *zeros)
{
    const char *const file = support_path(&g->s, "z.yaml");
    OK(file_write(file, 0600, zeros, strlen(zeros), NULL));
    TREFOIL(code, g, "refit", support_path(&g->s, "result"), "--out", support_path(&g->s, "again"),
            "--impossible", file);
}

/*
 * The zeros of the file and those of the result; a line of columns of which the result has zeros.
 */
TEST(zeros_are_zero)
{
    static const char zeros[] = "impossible:\n"
                                "  - {sex: m, died: \"yes\"}\n"
                                "  - {age: 0, ward: a}\n";
    struct refit_stage g CLEAN(stage_free) = stage_new("impossible: [{age: 8, ward: d}]\n"
                                                       "model: {apart: [age, ward]}\n");
    /* apart: values that a run has merged take no zeros of their own */
    assert_true(cell(path("result/model"), 0, 2, 0) > 0 && cell(path("result/model"), 1, 4, 3) > 0);
    refit_impossible(EXIT_OK, &g, zeros);
    assert_true(cell(path("again/model"), 1, 4, 3) == 0);         /* sex m, died yes */
    assert_true(cell(path("again/model"), 0, 2, 0) == 0);         /* age 0, ward a */
    assert_true(cell(path("again/model"), 0, 2, 8 * 5 + 3) == 0); /* age 8, ward d */
    assert_true(cell(path("again/model"), 0, 2, 1) > 0);
}

/* Half of the rows cannot be a mistake in the data: the label is wrong. */
TEST(zeros_of_many_rows_are_doubted)
{
    static const char zeros[] = "impossible: [{sex: m}]\n";
    struct refit_stage g CLEAN(stage_free) = stage_new(NULL);
    refit_impossible(EXIT_OK, &g, zeros);
    support_says(g.o.err, "z.yaml: what cannot occur hardly fits what was measured");
    support_says(g.o.err, " rows were, of sex");
}

/* --- populations ------------------------------------------------------------------------------ */

/* People join during a run, before its second selection and again before its third. */
struct refit_joining {
    struct plaintext *few, *many;
    struct random random;
    struct plaintext_noise noise;
};

static enum err ask(void *self, const struct ask *a, struct ask_told *told)
{
    struct refit_joining *j = self;
    const struct aim_backend b = plaintext_backend(a->round > 1 ? j->many : j->few);
    told->population = a->round > 1 ? a->round : 0;
    return b.ask(b.self, a, told);
}

static void joining_clear(struct refit_joining *j)
{
    plaintext_free(&j->few);
    plaintext_free(&j->many);
}

static void joining_new(struct refit_joining *j, const struct refit_stage *g)
{
    const struct study *study = g->s.study;
    struct table *few CLEAN(table_free) = NULL, *many CLEAN(table_free) = NULL;
    OK(support_table(&few, study->domain, 300, 1));
    OK(support_table(&many, study->domain, 900, 2));
    j->random = random_of(1);
    j->noise = noise_from_random(&j->random);
    OK(plaintext_new(&j->few, study->workload, few, &j->noise, NULL));
    OK(plaintext_new(&j->many, study->workload, many, &j->noise, NULL));
}

/* What a run writes into the folder `joined`, except synthetic rows. */
static void run_joining(const struct refit_stage *g)
{
    const struct study *study = g->s.study;
    struct refit_joining j CLEAN(joining_clear) = {0};
    const struct aim_backend backend = {.self = &j, .ask = ask};
    struct bounds *bounds CLEAN(bounds_free) = NULL;
    struct aim_result *result CLEAN(aim_result_free) = NULL;
    struct aim_options options;
    joining_new(&j, g);
    OK(bounds_new(&bounds, study, NULL));
    OK(release_loop_options(study, bounds, &options, NULL));
    OK(aim_run(&result, &options, &backend, NULL));
    assert_true(result->measurement[0].total > 0);
    OK(file_folder(support_path(&g->s, "joined"), NULL));
    OK(release_write(&(struct release_terms){support_path(&g->s, "joined"), study, 1, 0, 1, NULL},
                     result));
}

TEST(who_joined_is_counted_as_in_the_run)
{
    struct refit_stage g CLEAN(stage_free) = stage_new(NULL);
    run_joining(&g);
    TREFOIL(EXIT_OK, &g, "refit", path("joined"), "--out", path("again"));
    assert_true(support_same_files(path("joined/model"), path("again/model")));
    assert_true(
        support_same_files(path("joined/measurements.json"), path("again/measurements.json")));
}

/* The run has the study's iterations, and the refit those of the command line. */
TEST(iterations_are_those_asked_for)
{
    struct refit_stage g CLEAN(stage_free) = stage_new(
        "model: {iterations: 1, final_iterations: 9}\n");
    run_joining(&g);
    TREFOIL(EXIT_OK, &g, "refit", path("joined"), "--out", path("again"), "--iterations", "9",
            "--between", "1");
    assert_true(support_same_files(path("joined/model"), path("again/model")));
    TREFOIL(EXIT_OK, &g, "refit", path("joined"), "--out", path("again"));
    assert_false(support_same_files(path("joined/model"), path("again/model")));
}

/* --- mistakes --------------------------------------------------------------------------------- */

#define AGE "\"measurements\":[{\"attributes\":[\"age\"],"

/* measurements.json, changed in one place. */
TEST(bad_files_name_their_field)
{
    static const struct {
        const char *find, *put, *words;
    } cases[] = {
        {"{\"format\"", "[\"format\"", "measurements.json:1: "},
        {"measurements-", "measurements-9", "its format is trefoil-measurements-9"},
        {"measurements-", "measures-", "format must be"},
        {"\"epsilon\":", "\"epsilon\":-", "epsilon must be above 0"},
        {"\"delta\":", "\"delta\":\"1\",\"was\":", "delta must be a number"},
        {"\"rows_per_person\":1", "\"rows_per_person\":1.5", "rows_per_person must be"},
        {"\"domain\":{\"age\":9", "\"domain\":{\"age\":8", "domain is not the model's"},
        {"\"measurements\":", "\"measured\":", "measurements must be a list"},
        {AGE, "\"measurements\":[{\"attributes\":[],", "measurements[0].attributes must be a list"},
        {AGE, "\"measurements\":[{\"attributes\":[\"ages\"],", "is no column of the model"},
        {AGE, "\"measurements\":[{\"attributes\":[\"sex\",\"age\"],", "in the order"},
        {AGE, AGE "\"total\":0,", "measurements[0].total must be above 0"},
        {AGE "\"sigma\":", AGE "\"sigma\":-", "measurements[0].sigma must be above 0"},
        {AGE, "\"measurements\":[{\"attributes\":[\"sex\"],",
         "measurements[0].values must be a list of 2 numbers"},
        {AGE,
         "\"measurements\":[{\"attributes\":[\"age\"],\"sigma\":1,"
         "\"values\":[1,2,null,4,5,6,7,8,9]},{\"attributes\":[\"age\"],",
         "measurements[0].values must be numbers"},
    };
    struct refit_stage g CLEAN(stage_free) = stage_new(NULL);
    OK(support_copy(path("result/measurements.json"), path("whole")));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(support_edit(path("whole"), path("result/measurements.json"),
                                 (const char *const[]){cases[i].find, cases[i].put, NULL}));
        TREFOIL(EXIT_BAD_DATA, &g, "refit", path("result"), "--out", path("again"));
        EACH(support_says, g.o.err, "measurements.json", cases[i].words);
        assert_false(file_is_there(path("again")));
    }
}

TEST(mistakes_are_answered)
{
    static const char unknown[] = "impossible:\n  - {age: 3, wart: a}\n";
    static const char other[] = "{\"terms\": \"of another study\"}";
    struct refit_stage g CLEAN(stage_free) = stage_new(NULL);
    refit_impossible(EXIT_CONFIG, &g, unknown);
    EACH(support_says, g.o.err, "z.yaml:2:14: ", "wart");
    TREFOIL(EXIT_CONFIG, &g, "refit", path("result"), "--out", path("again"), "--impossible",
            g.s.path);
    support_says(g.o.err, "impossible");
    TREFOIL(EXIT_USAGE, &g, "refit", path("result"), "--out", path("result/."));
    support_says(g.o.err, "name another folder");
    TREFOIL(EXIT_USAGE, &g, "refit", path("result"), "--out", path("again"), "--iterations", "0");
    TREFOIL(EXIT_USAGE, &g, "refit", path("result"), "--out", path("again"), "--study",
            g.s.path); /* aim keeps no numbers of a run */
    support_says(g.o.err, "result/stats.json, of which the report of a run is made");
    OK(file_write(path("result/stats.json"), 0600, other, sizeof other - 1, NULL));
    TREFOIL(EXIT_CONFIG, &g, "refit", path("result"), "--out", path("again"), "--study", g.s.path);
    support_says(g.o.err, "result does not belong to study");
    TREFOIL(EXIT_RUNTIME, &g, "refit", path("rows.csv"), "--out", path("again"));
    assert_false(file_is_there(path("again")));
}
