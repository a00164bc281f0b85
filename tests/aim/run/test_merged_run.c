/* Runs that merge codes with few rows: what they ask, their files, the commands that read these. */
#include "harness/cmocka.h"

#include "aim/model/model_file.h"
#include "aim/run/loop.h"
#include "aim/run/output.h"
#include "aim/run/plaintext.h"
#include "aim/table/csv.h"
#include "aim/table/series.h"
#include "harness/process.h"
#include "parties/command/command.h"
#include "tests/support/result.h"

#define ROWS 3000

struct merged_run_stage {
    struct support_study s;
    struct command_outcome o;
    struct bytes csv;
};

#define path(...) support_path(&g.s, __VA_ARGS__)

/* Nearly all have age 0 to 2 or 12, and a third of these work 5 or 6 hours. */
static void put_rows(struct bytes *out)
{
    text_put(out, "age,hours,sex\n");
    for (unsigned i = 0; i < ROWS; i++) {
        const unsigned age = i % 300 == 7 ? 3 + i / 300 : i % 4 == 3 ? 12 : i % 4;
        text_put(out, "%u,%s,%s\n", age,
                 i % 3 == 0   ? i % 2 == 0 ? "5" : "6"
                 : i % 3 == 1 ? "0"
                              : "",
                 i % 5 < 2 ? "f" : "m");
    }
}

static struct merged_run_stage stage_new(void)
{
    struct merged_run_stage g = {
        .s = STUDY(
            NULL, .owners = 2, .rounds = 5, .epsilon = 20,
            .domain = "domain:\n"
                      "  - {name: age, kind: integer, min: 0, max: 15}\n"
                      "  - {name: hours, kind: numeric, min: 0, max: 10, bins: 10, missing: \"\"}\n"
                      "  - {name: sex, kind: categorical, values: [f, m, x, y]}\n")};
    put_rows(&g.csv);
    OK(file_write(support_path(&g.s, "rows.csv"), 0600, g.csv.data, g.csv.size, NULL));
    return g;
}

static void stage_free(struct merged_run_stage *g)
{
    const char *const folders[] = {"result", "again", "more"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        support_drop_result(&g->s, folders[i]);
    bytes_clear(&g->csv);
    support_study_free(&g->s);
}

/* --- what is asked ---------------------------------------------------------------------------- */

/* Passes requests on, and looks at them. */
struct merged_run_watch {
    struct aim_backend inner;
    const struct domain *domain;
    const struct workload *workload;
    unsigned selections;
};

static enum err watch(void *self, const struct ask *a, struct ask_told *told)
{
    struct merged_run_watch *w = self;
    uint64_t cells = 0;
    if (a->kind == ASK_MEASURE) {
        assert_null(a->merges);
        return w->inner.ask(w->inner.self, a, told);
    }
    assert_non_null(a->merges);
    assert_memory_equal(a->merges->group[2], ((uint32_t[]){0, 1, 2, 2}), 4 * sizeof(uint32_t));
    assert_int_equal(a->merges->group[1][10], a->merges->groups[1] - 1);
    for (uint32_t i = 0; i < a->queries; i++)
        cells += merges_query_cells(a->merges, &w->workload->query[a->query[i]]);
    assert_int_equal(a->estimates, cells);
    w->selections++;
    return w->inner.ask(w->inner.self, a, told);
}

/* `w` may be NULL. */
static struct aim_result *run(const struct merged_run_stage *g, struct aim_options *o,
                              struct merged_run_watch *w, struct random *r)
{
    struct plaintext_noise noise = noise_from_random(r);
    struct plaintext *p CLEAN(plaintext_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    const struct aim_backend watching = {.self = w, .ask = watch};
    struct aim_result *result;
    OK(table_read_csv(&t, g->s.study->domain, support_path(&g->s, "rows.csv"), NULL, NULL));
    OK(plaintext_new(&p, g->s.study->workload, t, &noise, NULL));
    struct aim_backend backend = plaintext_backend(p);
    if (w != NULL)
        *w = (struct merged_run_watch){backend, g->s.study->domain, g->s.study->workload, 0};
    OK(aim_run(&result, o, w != NULL ? &watching : &backend, NULL));
    return result;
}

TEST(a_run_merges_after_the_first_round_and_goes_on_from_its_state)
{
    struct merged_run_stage g CLEAN(stage_free) = stage_new();
    struct aim_result *whole CLEAN(aim_result_free) = NULL, *part CLEAN(aim_result_free) = NULL,
                             *rest CLEAN(aim_result_free) = NULL;
    struct merged_run_watch w;
    struct aim_options o = {.domain = g.s.study->domain,
                            .workload = g.s.study->workload,
                            .limits = {.rho = 2, .epsilon_slack = 1e-3},
                            .rounds = 4,
                            .bounds = {.bits = 13},
                            .slack = {.select = 1e-6, .marginal = 7.7e-6},
                            .fit_final = 50};
    struct random r = random_of(3);
    whole = run(&g, &o, &w, &r);
    assert_int_equal(w.selections, 4);
    assert_true(whole->merges->groups[0] >= 4 && whole->merges->groups[0] < 16);
    assert_null(whole->measurement[0].merges);
    for (size_t i = 3; i < whole->measurements; i++)
        assert_ptr_equal(whole->measurement[i].merges,
                         merges_touch(whole->merges, &whole->measurement[i].clique) ? whole->merges
                                                                                    : NULL);
    o.state_file = path("state");
    r = random_of(3);
    o.wish.rounds = 2;
    part = run(&g, &o, &w, &r);
    o.wish.rounds = 0;
    o.resume = true;
    rest = run(&g, &o, &w, &r);
    assert_int_equal(w.selections, 2);
    assert_true(merges_equal(whole->merges, rest->merges));
    OK(model_save(path("a"), whole->model, NULL));
    OK(model_save(path("b"), rest->model, NULL));
    assert_true(support_same_files(path("a"), path("b")));
    assert_int_equal(merges_query_cells(whole->merges, &o.workload->query[5]),
                     3 * whole->merges->groups[1]);
}

/* 13 to 15, which have no rows, are merged with 12. */
TEST(what_noise_does_not_hide_is_not_merged)
{
    struct merged_run_stage g CLEAN(stage_free) = stage_new();
    struct aim_options o = {.domain = g.s.study->domain,
                            .workload = g.s.study->workload,
                            .limits = {.rho = 2e6, .epsilon_slack = 1e-3},
                            .rounds = 1,
                            .bounds = {.bits = 13, .epsilon = 50},
                            .slack = {.select = 1e-6, .marginal = 7.7e-6},
                            .fit_final = 50};
    struct random r = random_of(4);
    struct aim_result *result CLEAN(aim_result_free) = run(&g, &o, NULL, &r);
    assert_int_equal(result->merges->groups[0], 13);
}

/* Owners that join later may have values that the current ones do not have. */
TEST(nothing_is_merged_before_all_have_come)
{
    static const char late[] = "late_uploads: join\n";
    struct merged_run_stage g CLEAN(stage_free) = stage_new();
    struct output_found found CLEAN(output_found_clear) = {0};
    struct bytes study CLEAN(bytes_clear) = {0};
    OK(file_read(g.s.path, 1 << 20, &study, NULL));
    bytes_put_text(&study, late);
    OK(file_write(path("s.yaml"), 0600, study.data, study.size, NULL));
    TREFOIL(EXIT_OK, &g, "aim", path("s.yaml"), path("rows.csv"), "--out", path("more"), "--quick");
    OK(output_read(&found, path("more/measurements.json"), g.s.study->domain, NULL));
    assert_false(found.merges != NULL && merges_any(found.merges));
}

/* Owners of counts may fill every cell of a group: codes that scores could not hold stay apart. */
TEST(a_run_merges_what_scores_have_room_for)
{
    struct merged_run_stage g CLEAN(stage_free) = stage_new();
    struct merges kept CLEAN(merges_clear) = {0};
    struct random r;
    unsigned seen = 0;
    struct aim_options o = {.domain = g.s.study->domain,
                            .workload = g.s.study->workload,
                            .limits = {.rho = 2, .epsilon_slack = 1e-3},
                            .rounds = 1,
                            .bounds = {.bits = 10, .counts = 63},
                            .slack = {.select = 1e-6, .marginal = 7.7e-6},
                            .fit_final = 5};
    for (unsigned room = 16; room >= o.bounds.bits; room--) {
        struct score_bounds merged;
        unsigned some = 0;
        o.bounds.room = room;
        r = random_of(3);
        struct aim_result *result CLEAN(aim_result_free) = run(&g, &o, NULL, &r);
        if (kept.attributes == 0)
            OK(merges_copy(&kept, result->merges));
        for (;; merges_part(&kept)) {
            OK(score_merged(&merged, &o.bounds, o.workload, &kept));
            if (merged.bits <= room || !merges_any(&kept))
                break;
        }
        assert_true(merges_equal(&kept, result->merges));
        for (size_t i = 0; i < 3; i++)
            some += kept.group[i] != NULL;
        seen |= 1u << some;
    }
    assert_int_equal(seen, 13); /* of three columns, of two, of none */
}

/* The same holds for merges from a state: whatever chose them expected more room. */
TEST(a_state_with_merges_beyond_the_room_is_refused)
{
    struct merged_run_stage g CLEAN(stage_free) = stage_new();
    const struct aim_backend nobody = {.self = NULL};
    struct aim_result *part CLEAN(aim_result_free) = NULL, *rest CLEAN(aim_result_free) = NULL;
    struct aim_options o = {.domain = g.s.study->domain,
                            .workload = g.s.study->workload,
                            .limits = {.rho = 2, .epsilon_slack = 1e-3},
                            .rounds = 2,
                            .wish.rounds = 1,
                            .bounds = {.bits = 10, .counts = 63, .room = 16},
                            .slack = {.select = 1e-6, .marginal = 7.7e-6},
                            .fit_final = 5,
                            .state_file = path("state"),
                            .resume = true};
    struct random r = random_of(3);
    part = run(&g, &o, NULL, &r);
    assert_true(merges_any(part->merges));
    o.bounds.room = o.bounds.bits;
    assert_int_equal(aim_run(&rest, &o, &nobody, NULL), ERR_MISMATCH);
    o.bounds.room = 16;
    OK(aim_run(&rest, &o, &nobody, NULL));
}

/* --- files and commands ----------------------------------------------------------------------- */

static void aim(struct merged_run_stage *g)
{
    TREFOIL(EXIT_OK, g, "aim", g->s.path, support_path(&g->s, "rows.csv"), "--out",
            support_path(&g->s, "result"));
}

TEST(the_runs_model_comes_again)
{
    static const char *const files[] = {"model", "errors", "measurements.json", "synthetic.csv"};
    struct merged_run_stage g CLEAN(stage_free) = stage_new();
    struct bytes json CLEAN(bytes_clear) = {0};
    aim(&g);
    OK(file_read(path("result/measurements.json"), 1 << 20, &json, NULL));
    bytes_put_u8(&json, 0);
    EACH(support_says, (const char *)json.data, "\"format\":\"trefoil-measurements-2\"",
         "\"merged\":{\"age\":[0,1,2,3,3,", "\"merged\":true");
    TREFOIL(EXIT_OK, &g, "refit", path("result"), "--out", path("again"));
    for (size_t i = 0; i < 4; i++)
        assert_true(support_same_files(path("result/%s", files[i]), path("again/%s", files[i])));
    TREFOIL(EXIT_OK, &g, "query", path("again"),
            "SELECT AVG(age), COUNT(*) FROM t WHERE hours > 5.5");
    TREFOIL(EXIT_OK, &g, "eval", g.s.path, path("rows.csv"), path("result/synthetic.csv"),
            "--model", path("result/model"));
}

TEST(known_totals_of_a_merged_column_are_met_alone)
{
    static const double truth[] = {750, 750, 750, 3, 0, 1, 1, 1, 0, 1, 1, 1, 741, 0, 0, 0};
    const struct clique age = {1, {0}};
    struct merged_run_stage g CLEAN(stage_free) = stage_new();
    struct bytes text CLEAN(bytes_clear) = {0};
    struct domain *d CLEAN(domain_free) = NULL;
    struct model *m CLEAN(model_free) = NULL;
    double counts[16];
    aim(&g);
    text_put(&text, "age,count\n");
    for (int i = 0; i < 16; i++)
        text_put(&text, "%d,%g\n", i, truth[i]);
    OK(file_write(path("k.csv"), 0600, text.data, text.size, NULL));
    for (int i = 0; i < 2; i++) { /* and again, from the results of the first */
        TREFOIL(EXIT_OK, &g, "refit", path(i == 0 ? "result" : "again"), "--out",
                path(i == 0 ? "again" : "more"), i == 0 ? "--known" : "--quick",
                i == 0 ? path("k.csv") : NULL);
    }
    OK(model_load(&m, &d, path("more/model"), 1 << 20, NULL));
    OK(model_marginal(m, &age, counts, NULL));
    for (int i = 0; i < 16; i++)
        assert_true(fabs(counts[i] - truth[i]) < 1e-5);
    assert_true(
        support_edit(path("again/measurements.json"), path("again/measurements.json"),
                     (const char *const[]){"\"known\":[{", "\"known\":[{\"merged\":true,", NULL}));
    TREFOIL(EXIT_BAD_DATA, &g, "refit", path("again"), "--out", path("more"), "--quick");
    support_says(g.o.err, "known[0].merged is said of known counts");
    bytes_clear(&text);
    text_put(&text, "age,sex,count\n");
    for (int i = 0; i < 64; i++)
        text_put(&text, "%d,%c,%d\n", i / 4, "fmxy"[i % 4], i % 4 < 2 ? 94 : 0);
    OK(file_write(path("k.csv"), 0600, text.data, text.size, NULL));
    TREFOIL(EXIT_BAD_DATA, &g, "refit", path("result"), "--out", path("more"), "--known",
            path("k.csv"));
    support_says(g.o.err, "the known counts of age x sex cannot be met: the run measured");
}

/* Codes that cannot occur together stay apart, as do those that the study keeps apart. */
TEST(combinations_that_cannot_occur_are_not_merged)
{
    struct merged_run_stage g CLEAN(stage_free) = stage_new();
    struct output_found found CLEAN(output_found_clear) = {0};
    static const char zeros[] = "impossible: [{age: 9, sex: f}]\n";
    struct bytes study CLEAN(bytes_clear) = {0};
    OK(file_write(path("z.yaml"), 0600, zeros, sizeof zeros - 1, NULL));
    aim(&g);
    TREFOIL(EXIT_BAD_DATA, &g, "refit", path("result"), "--out", path("again"), "--impossible",
            path("z.yaml")); /* too late */
    support_says(g.o.err, "merged values with few rows");
    OK(file_read(g.s.path, 1 << 20, &study, NULL));
    bytes_put_text(&study, zeros);
    bytes_put_text(&study, "model: {apart: [sex]}\n");
    OK(file_write(path("s.yaml"), 0600, study.data, study.size, NULL));
    TREFOIL(EXIT_OK, &g, "aim", path("s.yaml"), path("rows.csv"), "--out", path("more"), "--quick");
    OK(output_read(&found, path("more/measurements.json"), g.s.study->domain, NULL));
    /* of those beside 9, with next to no rows, none joins it, nor another across it */
    assert_non_null(found.merges->group[0]);
    assert_true(found.merges->group[0][8] == found.merges->group[0][7]);
    assert_true(found.merges->group[0][9] == found.merges->group[0][8] + 1);
    assert_true(found.merges->group[0][10] == found.merges->group[0][9] + 1);
    assert_non_null(found.merges->group[1]);
    assert_null(found.merges->group[2]);
}

/* --- events ----------------------------------------------------------------------------------- */

/* 2000 persons with up to 5 stays; next to none are in the wards 3 to 7, or have 5 stays. */
static void put_stays(struct bytes *persons, struct bytes *stays)
{
    struct random r = random_of(31);
    bytes_put_text(persons, "who,age\n");
    bytes_put_text(stays, "who,ward,end\n");
    for (unsigned i = 0; i < 2000; i++) {
        const unsigned n = i % 150 == 7 ? 5 : (unsigned)random_below(&r, 4);
        text_put(persons, "%u,%u\n", i, i % 4);
        for (unsigned j = 0; j < n; j++) {
            const bool rare = random_below(&r, 60) == 0;
            const unsigned ward = (unsigned)random_below(&r, rare ? 5 : 3) + (rare ? 3 : 0);
            text_put(stays, "%u,w%u,%s\n", i, ward, j + 1 == n && i % 3 == 0 ? "died" : "home");
        }
    }
}

/* How many lines of a file, without its header, of each person; none ends so. */
static size_t lines_of(const struct merged_run_stage *g, const char *name, const char *end,
                       size_t of[400])
{
    struct bytes text CLEAN(bytes_clear) = {0};
    size_t lines = 0;
    char *rest, *line;
    OK(file_read(support_path(&g->s, "%s", name), 1 << 20, &text, NULL));
    bytes_put_u8(&text, 0);
    rest = strchr((char *)text.data, '\n') + 1;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        const unsigned long who = strtoul(line, NULL, 10);
        assert_in_range(who, 1, 399);
        of[who]++;
        lines++;
        assert_true(strlen(line) > strlen(end));
        assert_string_not_equal(line + strlen(line) - strlen(end), end);
    }
    return lines;
}

/* Persons on condition, which cuts a bin of the number, and their events. */
static void check_condition(struct merged_run_stage *g)
{
    size_t persons[400] = {0}, events[400] = {0};
    TREFOIL(EXIT_OK, g, "synth", support_path(&g->s, "more/model"), "--where",
            "age >= 1 AND number >= 5", "--rows", "300", "--out", support_path(&g->s, "more"));
    assert_int_equal(lines_of(g, "more/persons.csv", ",0", persons), 300);
    assert_in_range(lines_of(g, "more/stays.csv", ",?", events), 1500, 2100);
    for (size_t i = 1; i <= 300; i++)
        assert_true(persons[i] == 1 && events[i] >= 5 && events[i] <= 7);
    TREFOIL(EXIT_USAGE, g, "synth", support_path(&g->s, "more/model"), "--where", "ward = 'w0'",
            "--out", support_path(&g->s, "more"));
    support_says(g->o.err, "ward is a column of events");
}

/* Wards are merged, those of the event before, too; what ends, and how many there are, is not. */
TEST(events_are_merged_where_what_cannot_occur_allows_it)
{
    static const char visits[] =
        "domain:\n"
        "  - {name: age, kind: integer, min: 0, max: 3}\n"
        "  - {name: number, kind: integer, edges: [0, 1, 2, 3, 4, 7]}\n"
        "  - {name: ward, kind: categorical, values: [w0, w1, w2, w3, w4, w5, w6, w7]}\n"
        "  - {name: end, kind: categorical, values: [home, died]}\n"
        "events: {name: stays, by: who, number: number, columns: [ward, end],\n"
        "         ends: {end: [died]}}\n";
    struct merged_run_stage g CLEAN(stage_free) = {0};
    struct output_found found CLEAN(output_found_clear) = {0};
    struct bytes persons CLEAN(bytes_clear) = {0}, stays CLEAN(bytes_clear) = {0};
    g.s = STUDY(NULL, .owners = 2, .rounds = 8, .epsilon = 4, .domain = visits);
    const struct domain *d = g.s.study->domain;
    uint32_t ward = domain_find(d, "ward");
    uint32_t before = domain_find(d, "previous.ward");
    put_stays(&persons, &stays);
    OK(file_write(path("p.csv"), 0600, persons.data, persons.size, NULL));
    OK(file_write(path("v.csv"), 0600, stays.data, stays.size, NULL));
    TREFOIL(EXIT_OK, &g, "aim", g.s.path, path("p.csv"), "--events", path("v.csv"), "--out",
            path("more"), "--quick");
    OK(output_read(&found, path("more/measurements.json"), d, NULL));
    assert_null(found.merges->group[d->series->number]);
    assert_null(found.merges->group[d->series->stage]);
    assert_null(found.merges->group[domain_find(d, "end")]);
    assert_non_null(found.merges->group[ward]);
    assert_non_null(found.merges->group[before]);
    assert_true(found.merges->groups[ward] < 8 && found.merges->group[ward][0] == 0);
    /* nothing contradicts itself: eval, which reads what was made, leaves nothing out */
    TREFOIL(EXIT_OK, &g, "eval", g.s.path, path("p.csv"), path("more"), "--events", path("v.csv"));
    assert_null(strstr(g.o.err, "left out"));
    check_condition(&g);
}
