/*
 * `trefoil plan`: its verdict, which has to be right about what rounds and copulas then make of
 * invented rows, and --simulate. Studies are drafts without a key.
 */
#include "harness/cmocka.h"
#include "tests/support/command.h"

#include "parties/command/command.h"

struct plan_fixture {
    char folder[40], study[80], rows[80], out[80], err[80];
    struct command_outcome o;
};

#define TREFOIL(code, f, ...)                                                                      \
    support_ends(code, &(f)->o, (f)->out, (f)->err, (const char *const[]){__VA_ARGS__, NULL})

static int setup(void **state)
{
    struct plan_fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return 1;
    strcpy(f->folder, "/tmp/trefoil-test-plan-XXXXXX");
    if (mkdtemp(f->folder) == NULL || setenv("TMPDIR", f->folder, 1) != 0)
        return 1;
    snprintf(f->study, sizeof f->study, "%s/study.yaml", f->folder);
    snprintf(f->rows, sizeof f->rows, "%s/rows.csv", f->folder);
    snprintf(f->out, sizeof f->out, "%s/out", f->folder);
    snprintf(f->err, sizeof f->err, "%s/err", f->folder);
    *state = f;
    return 0;
}

/* rmdir() fails if a simulation has left anything in $TMPDIR. */
static int teardown(void **state)
{
    struct plan_fixture *f = *state;
    unlink(f->study);
    unlink(f->rows);
    unlink(f->out);
    unlink(f->err);
    if (rmdir(f->folder) != 0)
        return 1;
    free(f);
    return 0;
}

struct made_study {
    unsigned numbers, labels, bins, rows; /* columns; the bins of each; expected */
    double epsilon;
    const char *method; /* a line */
};

static void write_study_of(const struct plan_fixture *f, const struct made_study *s,
                           const char *workload)
{
    FILE *out = fopen(f->study, "w");
    assert_non_null(out);
    fprintf(out, "study: planned\ndomain:\n");
    for (unsigned i = 0; i < s->numbers; i++)
        fprintf(out, "  - {name: n%u, kind: numeric, min: 0, max: 100, bins: %u}\n", i, s->bins);
    for (unsigned i = 0; i < s->labels; i++)
        fprintf(out, "  - {name: l%u, kind: categorical, values: [a, b, c, d, e, f, g]}\n", i);
    fprintf(out,
            "workload: {%s}\n"
            "budget: {epsilon: %g, delta: 1e-5, accounting: gaussian}\n%s\n"
            "servers:\n"
            "  - {name: north, endpoint: \"tcp://127.0.0.1:7100\"}\n"
            "  - {name: east, endpoint: \"tcp://127.0.0.1:7110\"}\n"
            "  - {name: west, endpoint: \"tcp://127.0.0.1:7120\"}\n"
            "owners:\n"
            "  - {name: clinic, max_rows: %u, expected_rows: %u}\n"
            "analysts:\n"
            "  - {name: office}\n",
            workload, s->epsilon, s->method, 2 * s->rows, s->rows);
    assert_int_equal(fclose(out), 0);
}

static void write_study(const struct plan_fixture *f, const struct made_study *s)
{
    write_study_of(f, s, "all: 2");
}

/* The verdict follows what a draft lacks, and is three lines. */
static void expect_verdict(struct plan_fixture *f, const struct made_study *s, const char *useful,
                           const char *helps, const char *better)
{
    static const char *const first[] = {"useful at ", "helps most: ", "better means: ", "study "};
    write_study(f, s);
    TREFOIL(EXIT_OK, f, "plan", f->study);
    support_says(f->o.out, "not yet: ");
    char *line = strchr(f->o.out, '\n');
    for (size_t i = 0; i < 4; i++, line = strchr(line + 1, '\n')) {
        assert_memory_equal(line + 1, first[i], strlen(first[i]));
        assert_true(strcspn(line + 1, "\n") <= 80);
    }
    *line = '\0'; /* the rest is not the verdict */
    support_says(f->o.out, useful);
    support_says(f->o.out, helps);
    support_says(f->o.out, better);
}

/* The number after these words, from there on in what was printed. */
static double figure(const char *from, const char *words)
{
    const char *at = strstr(from, words);
    assert_non_null(at);
    return strtod(at + strlen(words), NULL);
}

/* The mean error of correlations over seeds, and that of independent columns. */
static double simulate(struct plan_fixture *f, struct made_study s, const char *method,
                       double *none)
{
    enum { SEEDS = 3 };
    double sum = 0;
    s.method = method;
    write_study(f, &s);
    *none = 0;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        char number[12];
        snprintf(number, sizeof number, "%u", seed);
        TREFOIL(EXIT_OK, f, "plan", f->study, "--simulate", "--seed", number);
        const char *line = strstr(f->o.out, "mean error of a correlation: ");
        assert_non_null(line);
        sum += figure(line, "correlation: ") / SEEDS;
        *none += figure(line, "independent columns ") / SEEDS;
    }
    return sum;
}

#define ROUNDS "rounds: 10"
#define COPULA "method: copula"

/*
 * Where the verdict is a copula, its correlations are nearer than those of the study as it is, and
 * nearer than knowing nothing; where it is about right, they are not.
 */
TEST(a_copula_is_advised_where_its_correlations_are_nearer)
{
    static const struct made_study advised[] = {
        {8, 1, 10, 768, 1, ROUNDS}, {8, 1, 10, 768, 3, ROUNDS}, {5, 0, 40, 6000, 1, ROUNDS}};
    struct plan_fixture *f = *state;
    double rounds, copula, none;
    for (size_t i = 0; i < sizeof advised / sizeof *advised; i++) {
        expect_verdict(f, &advised[i], i == 0 ? "no relations" : "means",
                       "method: copula if you want correlations", "better means: correlations;");
        rounds = simulate(f, advised[i], ROUNDS, &none);
        copula = simulate(f, advised[i], COPULA, &none);
        assert_true(copula < 0.75 * rounds && copula < 0.75 * none);
    }
}

TEST(the_verdict_names_bins_or_an_epsilon_where_these_help)
{
    static const struct made_study few = {8, 1, 10, 228, 1, ROUNDS},
                                   fine = {2, 4, 60, 3000, 1, ROUNDS},
                                   labels = {0, 5, 0, 900, 1, ROUNDS},
                                   good = {0, 4, 0, 40000, 1, ROUNDS},
                                   small = {3, 2, 10, 12000, 1, ROUNDS},
                                   right = {8, 1, 10, 768, 2, COPULA},
                                   rich = {8, 1, 10, 90000, 1, COPULA};
    struct plan_fixture *f = *state;
    struct made_study enough = labels, apart = {8, 1, 10, 4000, 1, ROUNDS};
    expect_verdict(f, &few, "no columns (", "epsilon of at least ", "better means: correlations");
    support_says(f->o.out, "for this many rows, with method: copula");
    expect_verdict(f, &fine, "no relations", " bins a column", "tables of two columns");
    expect_verdict(f, &labels, "no relations", "epsilon of at least ", "tables of two columns");
    enough.epsilon = figure(f->o.out, "epsilon of at least ") * 1.05; /* it has two digits */
    expect_verdict(f, &enough, ", relations", "nothing", "tables of two columns");
    enough.epsilon *= 0.8;
    expect_verdict(f, &enough, "no relations", "epsilon of at least ", "tables of two columns");
    expect_verdict(f, &good, ", relations", "nothing", "tables of two columns");
    expect_verdict(f, &small, ", relations", "nothing", "tables of two columns");
    apart.method = ROUNDS "\nlate_uploads: join"; /* not with a copula */
    expect_verdict(f, &apart, "relations", " bins a column", "tables of two columns");
    expect_verdict(f, &right, ", relations", "nothing", "better means: correlations");
    expect_verdict(f, &rich, ", relations", "method: aim if you want tables", "correlations");
}

TEST(a_simulation_needs_no_key_and_repeats_by_its_seed)
{
    static const struct made_study s = {3, 1, 5, 500, 1, "rounds: 3"};
    static char first[sizeof((struct command_outcome *)0)->out];
    struct plan_fixture *f = *state;
    write_study(f, &s);
    TREFOIL(EXIT_OK, f, "plan", f->study, "--simulate", "--seed", "5");
    support_says(f->o.out, "simulation on 500 invented rows");
    support_says(f->o.out, "500 real rows, 500 synthetic rows, 6 marginals");
    assert_null(strstr(f->o.err, "NOT PRIVATE"));
    const char *figures = strstr(f->o.out, "500 real rows"); /* before it are times */
    assert_non_null(figures);
    strcpy(first, figures);
    TREFOIL(EXIT_OK, f, "plan", f->study, "--simulate", "--seed", "5");
    assert_string_equal(strstr(f->o.out, "500 real rows"), first);
    TREFOIL(EXIT_OK, f, "plan", f->study, "--simulate", "--seed", "6");
    assert_string_not_equal(strstr(f->o.out, "500 real rows"), first);
}

/* Rows of two columns that are the same. */
static void write_rows(const struct plan_fixture *f, unsigned rows)
{
    FILE *out = fopen(f->rows, "w");
    assert_non_null(out);
    fprintf(out, "n0,n1\n");
    for (unsigned i = 0; i < rows; i++)
        fprintf(out, "%u,%u\n", i % 100, i % 100);
    assert_int_equal(fclose(out), 0);
}

TEST(a_simulation_takes_public_rows)
{
    static const struct made_study s = {2, 0, 5, 300, 5, "rounds: 3"};
    struct plan_fixture *f = *state;
    write_study(f, &s);
    write_rows(f, 400);
    TREFOIL(EXIT_OK, f, "plan", f->study, "--simulate", "--like", f->rows);
    support_says(f->o.out, "simulation on the 400 rows of ");
    support_says(f->o.out, "  +1.000  "); /* the correlation of these rows */
    write_rows(f, 700);
    TREFOIL(EXIT_BAD_DATA, f, "plan", f->study, "--simulate", "--like", f->rows);
    support_says(f->o.err, "has 700 rows; the study's owners may have 600 (max_rows)");
    TREFOIL(EXIT_USAGE, f, "plan", f->study, "--like", f->rows);
}

/* What is set aside to assess the model is missing for both. */
TEST(check_and_plan_expect_the_same_noise_in_an_answer)
{
    static const struct made_study s = {2, 0, 10, 400, 1, "rounds: 3\nassess: 0.5"};
    static const char head[] = "error  question\n";
    struct plan_fixture *f = *state;
    double planned;
    FILE *questions = fopen(f->rows, "w");
    assert_non_null(questions);
    fprintf(questions, "SELECT COUNT(*) FROM t GROUP BY n0, n1;\n");
    assert_int_equal(fclose(questions), 0);
    write_study_of(f, &s, "queries: rows.csv");
    TREFOIL(EXIT_OK, f, "plan", f->study);
    const char *line = strstr(f->o.out, head);
    assert_non_null(line);
    assert_int_equal(sscanf(line + sizeof head - 1, "%*f %*f %lf", &planned), 1);
    TREFOIL(EXIT_OK, f, "check", f->study);
    assert_true(fabs(figure(f->o.out, "    noise ") / planned - 1) < 0.1);
}

int main(void)
{
    return support_run_each(setup, teardown);
}
