/*
 * method: train in a study: its mistakes, in words and with their place; its terms; what it may
 * spend; and what check, plan, train, predict and distill say.
 */
#include "harness/cmocka.h"
#include "tests/support/command.h"

#include "aim/run/train_run.h"
#include "harness/study.h"
#include "parties/exchange/price.h"
#include "parties/study/method.h"

#include <jansson.h>

static const char base_text[] =
    "study: loans\n"
    "domain:\n"
    "  - {name: a, kind: integer, min: 0, max: 15}\n"
    "  - {name: b, kind: integer, min: 0, max: 15}\n"
    "  - {name: y, kind: categorical, values: [\"no\", \"yes\"], missing: \"?\"}\n"
    "method: train\n"
    "train: {target: y}\n"
    "budget: {epsilon: 1, delta: 1e-6}\n"
    "servers:\n"
    "  - {name: s0, endpoint: \"tcp://127.0.0.1:7100\"}\n"
    "  - {name: s1, endpoint: \"tcp://127.0.0.1:7110\"}\n"
    "  - {name: s2, endpoint: \"tcp://127.0.0.1:7120\"}\n"
    "owners:\n"
    "  - {name: one, max_rows: 3000}\n"
    "  - {name: two, max_rows: 3000}\n"
    "analysts:\n"
    "  - {name: ana}\n";

#define NUMBERS "train: {target: y, numbers: all, norm: 20}"
#define BATCH(one, two)                                                                            \
    "  - {name: one, max_rows: 9, batch: b, columns: " one                                         \
    "}\n  - {name: two, max_rows: 9, batch: b, columns: " two "}\n"

/* The text with something replaced; the mark ^ is where a mistake is. */
static struct bytes edit(const char *find, const char *replace)
{
    const char *at = strstr(base_text, find);
    struct bytes text = {0};
    assert_non_null(at);
    bytes_put(&text, base_text, (size_t)(at - base_text));
    bytes_put_text(&text, replace);
    bytes_put_text(&text, at + strlen(find));
    return text;
}

static struct study *parsed(const char *find, const char *replace)
{
    struct bytes text CLEAN(bytes_clear) = edit(find, replace);
    struct study *study = MADE(study, study_parse_draft, "t.yaml", text.data, text.size, NULL);
    return study;
}

static void refused(const char *find, const char *replace, const char *place, const char *words)
{
    LOG_INTO(log, said, LOG_ERROR);
    struct bytes text CLEAN(bytes_clear) = edit(find, replace);
    struct study *study;
    GIVES(study_parse_draft(&study, "t.yaml", text.data, text.size, &log), ERR_STUDY, said, place);
    support_says(said, words);
}

TEST(mistakes_are_told_with_their_place)
{
    static const char train[] = "train: {target: y}", method[] = "method: train\n";
    refused(train, "train: {target: z}", "t.yaml:7:17", "no attribute \"z\"");
    refused(train, "train: {}", "t.yaml:7:8", "\"target\"");
    refused(train, "train: {target: y, steps: 9}", "t.yaml:7:27", "from 10 to 1000");
    refused(train, "train: {target: y, rate: 0}", "t.yaml:7:26", "from 0.1 to 10000");
    refused(train, "train: {target: y, numbers: some, norm: 3}", "t.yaml:7:29", "all");
    refused(train, "train: {target: y, numbers: all}", "t.yaml:7:8", "norm go together");
    refused(train, "train: {target: y, norm: 20}", "t.yaml:7:8", "norm go together");
    refused(train, "train: {target: y, numbers: all, norm: 241}", "t.yaml:7:40", "from 1 to 240");
    refused(train, "train: {target: a, numbers: all, norm: 20}", "t.yaml:7:17",
            "y is not of kind integer");
    refused(train, "rounds: 4", "t.yaml", "the key \"train\"");
    refused(train, "train: {target: y, test: {column: z, value: 1}}", "t.yaml:7:35",
            "no attribute \"z\"");
    refused(train, "train: {target: y, test: {column: y, value: \"no\"}}", "t.yaml:7:35",
            "the target cannot say");
    refused(train, "train: {target: y, test: {column: b, value: 16}}", "t.yaml:7:45",
            "b has no value \"16\"");
    refused(train, "train: {target: y, test: {column: b}}", "t.yaml:7:26", "\"value\"");
    refused(train, "train: {target: y, norm: 9, numbers: all, test: {column: b, value: 4}, a: 1}",
            "t.yaml:7:72", "\"a\"");
    refused(method, "method: train\nrounds: 4\n", "t.yaml:7:9", "method: train has steps");
    refused(method, "method: train\nscore: l2\n", "t.yaml:7:8", "nothing has a score");
    refused(method, "method: train\ncopula: {}\n", "t.yaml:7:9", "for method: copula alone");
    refused(method, "method: train\nworkload: {all: 1}\n", "t.yaml:7:11", "counts and gradients");
    refused(method, "method: train\nimpossible: [{a: 1, b: 2}]\n", "t.yaml:7:13", "impossible");
    refused(method, "method: train\nlate_uploads: join\n", "t.yaml:7:15", "write wait");
    refused(method, "method: copula\n", "t.yaml:7:8", "for method: train alone");
    refused(method, "rounds: 3\nworkload: {all: 1}\n", "t.yaml:8:8", "for method: train alone");
    refused("max_rows: 3000}", "max_rows: 3000, as: counts}", "t.yaml:14:5", "learns from rows");
    refused("max: 15}\n  - {name: y", "max: 15, repeat: 0}\n  - {name: y", "t.yaml:4:55", "from 1");
    refused("{name: b, kind: integer, min: 0, max: 15}",
            "{name: b, kind: integer, min: 0, max: 15}\n"
            "  - {name: b, kind: integer, min: 0, max: 15, repeat: 300}",
            "t.yaml:5:55", "from 1 to 256");
}

/* Columns of numbers that one row's owners share could not be shrunk. */
TEST(one_owner_of_a_batch_holds_the_numbers)
{
    static const char find[] = "train: {target: y}\n", owners[] = "owners:\n";
    struct bytes text CLEAN(bytes_clear) = edit(find, NUMBERS "\n");
    struct bytes all CLEAN(bytes_clear) = {0};
    LOG_INTO(log, said, LOG_ERROR);
    struct study *study CLEAN(study_free) = NULL;
    bytes_put_u8(&text, 0);
    const char *at = strstr((const char *)text.data, owners) + strlen(owners);
    for (unsigned good = 0; good < 2; good++) {
        bytes_clear(&all);
        bytes_put(&all, text.data, (size_t)(at - (const char *)text.data));
        bytes_put_text(&all, good ? BATCH("[a, b]", "[y]") : BATCH("[a]", "[b, y]"));
        bytes_put_text(&all, strstr(at, "analysts:"));
        assert_int_equal(study_parse_draft(&study, "t.yaml", all.data, all.size, &log),
                         good ? ERR_OK : ERR_STUDY);
    }
    support_says(said, "one holds 1 of the 2 columns of numbers");
}

static void other_terms(const char *find, const char *replace)
{
    struct study *one CLEAN(study_free) = parsed("study: loans", "study: loans");
    struct study *other CLEAN(study_free) = parsed(find, replace);
    assert_memory_not_equal(one->terms.digest, other->terms.digest, 32);
    for (size_t i = 0; i < one->terms.parts; i++)
        if (memcmp(one->terms.part[i].digest, other->terms.part[i].digest, 32) != 0)
            assert_string_equal(one->terms.part[i].name, "rounds");
}

TEST(everything_about_a_classifier_is_a_term)
{
    other_terms("{target: y}", "{target: a}");
    other_terms("{target: y}", "{target: y, steps: 61}");
    other_terms("{target: y}", "{target: y, rate: 100}");
    other_terms("{target: y}", "{target: y, numbers: all, norm: 20}");
    other_terms("{target: y}", "{target: y, test: {column: b, value: 4}}");
}

TEST(repeat_makes_columns_that_are_alike)
{
    struct study *s CLEAN(study_free) = parsed(
        "{name: b, kind: integer, min: 0, max: 15}",
        "{name: f, kind: integer, min: 0, max: 9, repeat: 3}");
    assert_int_equal(s->domain->attributes, 5);
    assert_string_equal(s->domain->attribute[1].name, "f1");
    assert_string_equal(s->domain->attribute[3].name, "f3");
    assert_int_equal(s->domain->attribute[3].size, 10);
}

/* One one-way, twice, and all numbers of each step; the tape has what they take. */
TEST(a_study_pays_for_its_target_and_its_steps)
{
    struct study *s CLEAN(study_free) = parsed("{target: y}", "{target: y, steps: 20}");
    struct ledger_limits limits;
    struct price_first first;
    const uint32_t weights = features_weights(s->features);
    assert_int_equal(weights, 33);
    OK(price_limits(s, &limits, NULL));
    OK(price_first(s, &first));
    assert_true(
        fabs((double)first.one_ways * (double)first.one_ways / 0x1p41 / (0.02 * limits.rho) - 1) <
        1e-2);
    assert_int_equal(price_noise(s).gauss, 4 + 20 * 34); /* three codes of the target */
    assert_int_equal(price_noise(s).gumbel, 0);
    assert_true(s->owner[0].records && s->owner[1].records);
    assert_int_equal(method_train_bytes(s), 4 * 33 * 2 * 3008);
    OK(method_served(s, NULL));
    s->owner[0].pad_to = 1 << 25;
    assert_int_equal(method_served(s, NULL), ERR_STUDY);
}

/* A table of two columns of 8 scores; the fold is no feature. Steps get less, to the last digit. */
TEST(a_study_pays_for_its_test)
{
    struct study *s CLEAN(study_free) = parsed(
        "{target: y}", "{target: y, steps: 20, test: {column: b, value: 4}}");
    struct study *other CLEAN(study_free) = parsed(
        "{target: y}", "{target: y, steps: 20, test: {column: b, value: 5}}");
    struct ledger_limits limits;
    struct price_steps steps;
    assert_int_equal(features_weights(s->features), 17);
    assert_int_equal(s->features->test_code, 4);
    assert_memory_not_equal(s->terms.digest, other->terms.digest, 32);
    OK(price_limits(s, &limits, NULL));
    OK(price_steps(s, &steps, NULL));
    assert_true(fabs(steps.rho / (0.95 * limits.rho) - 1) < 1e-9);
    assert_true(fabs(steps.sigma / sqrt(1 / (2 * 0.03 * limits.rho)) - 1) < 1e-9);
    assert_int_equal(price_noise(s).gauss, 4 + 20 * 18 + 16);
    s->left = limits.rho * (0.98 - 7 * 0.95 / 20); /* a run with 7 steps was before */
    OK(price_steps(s, &steps, NULL));
    assert_int_equal(steps.steps, 13);
    s->left = 0.03 * limits.rho;
    assert_int_equal(price_steps(s, &steps, NULL), ERR_BUDGET);
}

/* What a run leaves that counts its rows and stops after so many of its steps. */
static void leave_after(struct study *s, const struct price_steps *own, unsigned steps)
{
    const double k = s->rows_per_person;
    struct ledger_limits limits;
    struct price_first first;
    mpq_t cost;
    mpz_t moves;
    mpq_init(cost);
    mpz_init(moves);
    OK(price_limits(s, &limits, NULL));
    OK(price_first(s, &first));
    struct ledger *l CLEAN(ledger_free) = MADE(ledger, ledger_new, &limits, NULL);
    ledger_measure_cost(cost, first.one_ways, 1);
    for (unsigned t = 0; t <= steps; t++) {
        OK(ledger_debit(l, cost, NULL));
        const unsigned more = t < steps ? own->steps - t : 1;
        features_moves(moves, s->features,
                       train_multiplier(s->features, more, ledger_remaining(l) / (k * k)));
        ledger_forms_cost(cost, moves);
    }
    s->left = ledger_remaining(l);
    mpz_clear(moves);
    mpq_clear(cost);
}

/* Slack is set aside for the study's steps, so runs together take no more of them. */
TEST(a_run_takes_the_steps_that_others_left)
{
    for (unsigned done = 0; done <= 20; done++) {
        struct study *s CLEAN(study_free) = parsed("{target: y}", "{target: y, steps: 20}");
        struct price_steps own;
        s->rows_per_person = 1 + done % 2;
        OK(price_steps(s, &own, NULL));
        assert_int_equal(own.steps, 20);
        leave_after(s, &own, done);
        assert_int_equal(price_steps(s, &own, NULL), done < 20 ? ERR_OK : ERR_BUDGET);
        assert_int_equal(own.steps, 20 - done);
        for (unsigned all = done; own.steps > 5;) { /* and a third, and a fourth */
            leave_after(s, &own, 3);
            all += 3;
            OK(price_steps(s, &own, NULL));
            assert_in_range(own.steps, 20 - all - 2, 20 - all);
        }
    }
}

/* Servers keep a row for each that an owner sent, since nobody sees which of them were joined. */
TEST(rows_that_are_linked_take_the_memory_of_all_their_owners)
{
    struct study *s CLEAN(study_free) = parsed("study: loans", "study: loans");
    s->link.on = true;
    s->owner[1].batch = 0;
    s->owner[0].columns = 2;
    s->owner[1].columns = 1;
    s->owner[1].pad_to = 1000;
    assert_int_equal(method_train_bytes(s), 4 * 33 * (3008 + 1024));
    s->owner[0].pad_to = s->owner[1].pad_to = 3 << 23; /* 3.3 GB each */
    assert_int_equal(method_served(s, NULL), ERR_STUDY);
}

/* --- commands --------------------------------------------------------------------------------- */

struct train_stage {
    char folder[64], study[128], rows[128], out[128], err[128], result[128], predicted[128];
    struct command_outcome a;
};

static void path_in(const struct train_stage *g, char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", g->folder, name);
}

#define TREFOIL(code, g, ...)                                                                      \
    support_ends(code, &(g)->a, (g)->out, (g)->err, (const char *const[]){__VA_ARGS__, NULL})

/* A study, and rows whose class is whether a + b is above 15; some are too long for the norm. */
static struct train_stage stage(const char *train)
{
    struct train_stage g = {0};
    struct bytes study CLEAN(bytes_clear) = edit("train: {target: y}", train);
    struct bytes rows CLEAN(bytes_clear) = {0};
    struct random r = random_of(4);
    snprintf(g.folder, sizeof g.folder, "/tmp/test_study_train_XXXXXX");
    assert_non_null(mkdtemp(g.folder));
    path_in(&g, g.study, "study.yaml");
    path_in(&g, g.rows, "rows.csv");
    path_in(&g, g.out, "out");
    path_in(&g, g.err, "err");
    path_in(&g, g.result, "result");
    path_in(&g, g.predicted, "predicted.csv");
    bytes_put_text(&rows, "a,b,y\n");
    for (unsigned i = 0; i < 4000; i++) {
        const unsigned a = (unsigned)random_below(&r, 16), b = (unsigned)random_below(&r, 16);
        text_put(&rows, "%u,%u,%s\n", a, b, i % 100 == 7 ? "?" : a + b > 15 ? "yes" : "no");
    }
    OK(file_write(g.study, 0600, study.data, study.size, NULL));
    OK(file_write(g.rows, 0600, rows.data, rows.size, NULL));
    return g;
}

static void leave(struct train_stage *g)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", g->folder);
    assert_int_equal(system(command), 0);
}

/* The number behind a word of the output. */
static double figure(const struct train_stage *g, const char *word)
{
    const char *at = strstr(g->a.out, word);
    assert_non_null(at);
    return strtod(at + strlen(word), NULL);
}

TEST(check_and_plan_say_what_a_classifier_takes)
{
    struct train_stage g CLEAN(leave) = stage("train: {target: y}");
    TREFOIL(0, &g, "check", g.study);
    EACH(support_says, g.a.out, "a linear classifier of y, with 2 classes", "A row has 33 features",
         "then it takes 60 steps", "The weights are public", "send records once and may go",
         "noisy gradients, the weights and what a test says, never a share");
    TREFOIL(0, &g, "check", g.study, "--board");
    support_says(g.a.out, "the weights of a classifier, which are public; no rows are made");
    support_says(g.a.out, "Scores are no probabilities");
    assert_null(strstr(g.a.out, "ynthetic"));
    TREFOIL(0, &g, "plan", g.study);
    EACH(support_says, g.a.out, "794.1 kB at each server for the features of 6000 rows",
         "60, each of 17 exchanges (31 or more with security: abort)",
         "as records (11 bits a row)\n", "more: pairs (method: aim) do better", "2044 Gaussians");
}

/* Its line for the study's epsilon, and what a run with these counts takes. */
TEST(plan_says_the_rate_that_a_run_takes)
{
    static const char *const train[] = {"train: {target: y}", "train: {target: y, rate: 7}"};
    for (unsigned k = 0; k < 2; k++) {
        struct train_stage g CLEAN(leave) = stage(train[k]);
        double rho, nu, rate, from, rows;
        char path[256];
        TREFOIL(0, &g, "plan", g.study);
        assert_int_equal(sscanf(strstr(g.a.out, "\n        1  "), "%*f %lf %lf %lf %lf", &rho, &nu,
                                &rate, &from),
                         4);
        TREFOIL(0, &g, "train", g.study, g.rows, "--out", g.result);
        snprintf(path, sizeof path, "%s/trajectory.json", g.result);
        json_auto_t *run = json_load_file(path, 0, NULL);
        rows = json_number_value(json_object_get(run, "rows"));
        assert_true(fabs(json_number_value(json_object_get(run, "loudness")) * rows / 6000 - nu) <
                    1e-4);
        assert_true(fabs(from - (k == 0 ? 6000 * nu / 0.06 : 0)) < 10);
        assert_true((json_number_value(json_object_get(run, "rate")) >= rate) == (rows >= from));
    }
}

/* What the words say of a test, and that it says about what predict does of the same rows. */
TEST(rows_are_kept_back_to_see_how_good_it_is)
{
    struct train_stage g CLEAN(leave) = stage(
        "train: {target: y, steps: 40, test: {column: b, value: 9}}");
    struct bytes kept CLEAN(bytes_clear) = {0};
    char path[256], text[65536];
    bytes_put_text(&kept, "a,y\n");
    TREFOIL(0, &g, "check", g.study);
    EACH(support_says, g.a.out, "A row has 17 features", "Rows whose b is 9 teach nothing",
         "what a test says, never a share");
    TREFOIL(0, &g, "check", g.study, "--board");
    support_says(g.a.out, "is measured on rows that are kept back, with noise");
    TREFOIL(0, &g, "plan", g.study);
    EACH(support_says, g.a.out, "test: 16 noisy counts of rows by score and class",
         "in 20 exchanges (more", "accuracy deviates by at most");
    TREFOIL(0, &g, "train", g.study, g.rows, "--out", g.result);
    double tested = figure(&g, "rows; accuracy ");
    double error = figure(&g, " +- ");
    support_text(g.rows, text, sizeof text);
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) /* those that were kept back; b is not needed */
        if (strstr(line, ",9,") != NULL)
            text_put(&kept, "%.*s%s\n", (int)strcspn(line, ","), line, strrchr(line, ','));
    OK(file_write(g.rows, 0600, kept.data, kept.size, NULL));
    TREFOIL(0, &g, "predict", g.result, g.rows, "--check");
    assert_true(fabs(figure(&g, "accuracy ") - tested) < 5 * error);
    snprintf(path, sizeof path, "%s/report.html", g.result);
    support_text(path, text, sizeof text);
    EACH(support_says, text, "<h2>How good it is</h2>", "whose b is 9:", "AUC of yes");
    assert_null(strstr(text, "cannot be seen here"));
}

static unsigned times_in(const char *text, const char *what)
{
    unsigned n = 0;
    for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what))
        n++;
    return n;
}

/* A bar and a line for each step; a weight for each code of both columns, and of every row. */
static void check_report(const struct train_stage *g, unsigned steps)
{
    char path[256], text[65536];
    snprintf(path, sizeof path, "%s/report.html", g->result);
    support_text(path, text, sizeof text);
    EACH(support_says, text, "<h2>How it learned</h2>", "the length of the noise alone",
         "<summary>a</summary>", "<summary>b</summary>", "no interval is: none is proved");
    assert_int_equal(times_in(text, "<rect class=\"model\""), steps);
    assert_int_equal(times_in(text, "<path class=\"noisy\""), steps);
    const char *weights = strstr(text, "<h2>Weights</h2>");
    assert_int_equal(times_in(weights, "<th scope=\"row\">"), 2 * 16 + 1);
}

TEST(rows_of_labels_are_trained_on_and_predicted)
{
    struct train_stage g CLEAN(leave) = stage("train: {target: y, steps: 40}");
    char text[8192];
    TREFOIL(2, &g, "aim", g.study, g.rows, "--out", g.result);
    support_says(g.a.err, "has method: train; use trefoil train");
    TREFOIL(0, &g, "train", g.study, g.rows, "--out", g.result);
    support_says(g.a.out, "wrote classifier.json, trajectory.json and report.html");
    support_says(g.a.out, "The length of a gradient with its noise, and that of noise alone:");
    check_report(&g, 40);
    TREFOIL(0, &g, "predict", g.result, g.rows, "--check", "--out", g.predicted);
    support_says(g.a.out, "of 3960 rows: "); /* 40 have no class */
    assert_true(figure(&g, "accuracy ") > 0.85 && figure(&g, "AUC ") > 0.97);
    support_says(g.a.out, "not private");
    OK(file_write(g.rows, 0600, "b,a\n15,15\n0,0\n", 14, NULL));
    TREFOIL(0, &g, "predict", g.result, g.rows, "--out", g.predicted);
    support_text(g.predicted, text, sizeof text);
    EACH(support_says, text, "b,a,predicted,score\n", "15,15,yes,", "0,0,no,-");
    TREFOIL(6, &g, "predict", g.result, g.rows, "--check"); /* there is no target */
    TREFOIL(2, &g, "predict", g.result, g.rows);
    TREFOIL(2, &g, "distill", g.result);
    support_says(g.a.err, "without numbers: all");
}

TEST(rows_of_numbers_are_shrunk_trained_on_and_distilled)
{
    struct train_stage g CLEAN(leave) = stage(NUMBERS);
    char path[256], text[8192];
    TREFOIL(0, &g, "train", g.study, g.rows, "--out", g.result);
    support_says(g.a.err, "rows that are longer than norm, and were shrunk: 51");
    TREFOIL(0, &g, "predict", g.result, g.rows, "--check");
    assert_true(figure(&g, "AUC ") > 0.97);
    TREFOIL(0, &g, "distill", g.result, "--per-class", "2");
    support_says(g.a.out, "wrote 4 rows");
    snprintf(path, sizeof path, "%s/distilled.csv", g.result);
    support_text(path, text, sizeof text);
    EACH(support_says, text, "a,b,y\n", ",no\n", ",yes\n");
    snprintf(path, sizeof path, "%s/classifier.json", g.result);
    OK(file_write(path, 0600, "{}", 2, NULL));
    TREFOIL(6, &g, "predict", g.result, g.rows, "--check");
    support_says(g.a.err, "format must be trefoil-classifier-1");
}
