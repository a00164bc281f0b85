/*
 * parties/display/report: what the page says, what it is made of, and that nobody's name becomes
 * markup.
 */
#include "tests/support_cmocka.h"

#include "aim/tabulate.h"
#include "base/file.h"
#include "parties/analyst/central.h"
#include "parties/analyst/release.h"
#include "parties/analyst/run_stats.h"
#include "parties/display/html.h"
#include "parties/display/report.h"
#include "parties/exchange/price.h"
#include "tests/support_process.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- a checker of markup ---------------------------------------------------------------------- */

/* Every tag is closed by its own; <meta>, <br>, <!DOCTYPE> and what ends in "/>" need not be. */
static void check_markup(const char *at)
{
    char open[64][16];
    size_t depth = 0;
    while ((at = strchr(at, '<')) != NULL) {
        const char *end = strchr(at, '>'), *name = at + 1 + (at[1] == '/');
        size_t n = 0;
        assert_non_null(end);
        while (isalnum((unsigned char)name[n]))
            n++;
        if (at[1] == '/') {
            assert_true(depth > 0);
            depth--;
            if (strlen(open[depth]) != n || memcmp(open[depth], name, n) != 0)
                fail_msg("<%s> is closed by %.*s", open[depth], (int)n + 3, at);
        } else if (at[1] != '!' && end[-1] != '/' && !(n == 4 && memcmp(name, "meta", 4) == 0) &&
                   !(n == 2 && memcmp(name, "br", 2) == 0)) {
            assert_in_range(n, 1, 15);
            assert_true(depth < 64);
            snprintf(open[depth++], sizeof open[0], "%.*s", (int)n, name);
        }
        at = end;
    }
    assert_int_equal(depth, 0);
}

/* --- a run ------------------------------------------------------------------------------------ */

struct stage {
    struct support_study s;
    struct table *table;
    size_t began_with, ended_with; /* owners */
    uint8_t run[REQUEST_RUN_SIZE];
    char rows[64]; /* as the page has to say */
    char folder[SUPPORT_PATH];
    struct bytes page; /* NUL-ended */
};

static char said[512];
static struct log quiet = {.buffer = said, .buffer_size = sizeof said};

/* Writes the report of what is in the folder, and reads it, whose markup is checked. */
static void write_page(struct stage *g, const char *folder, const struct report_truth *truth)
{
    char path[SUPPORT_PATH + 16];
    assert_int_equal(report_write(folder, g->s.study, truth, &quiet), ERR_OK);
    snprintf(path, sizeof path, "%s/report.html", folder);
    assert_int_equal(file_read(path, 1 << 24, &g->page, NULL), ERR_OK);
    bytes_put_u8(&g->page, 0);
    check_markup((const char *)g->page.data);
}

static const char *text_of(const struct stage *g)
{
    return (const char *)g->page.data;
}

static void expect(const struct stage *g, const char *text)
{
    if (strstr(text_of(g), text) == NULL)
        fail_msg("the page does not say: %s", text);
}

static void expect_not(const struct stage *g, const char *text)
{
    if (strstr(text_of(g), text) != NULL)
        fail_msg("the page says: %s", text);
}

/* As if a third of the rows had been there. */
static void count_a_third(const struct stage *g, struct measurement *m, double total)
{
    m->total = total;
    m->sigma /= 3;
    for (uint64_t i = 0; i < clique_cells(&m->clique, g->s.study->domain); i++)
        m->y[i] /= 3;
}

/* The rows and twice their standard error, from what was measured of all of them. */
static void note_error(struct stage *g, const struct aim_result *result)
{
    double weight = 0;
    for (size_t i = 0; i < result->measurements; i++) {
        const struct measurement *m = &result->measurement[i];
        if (!(m->total > 0))
            weight += 1 /
                      (m->sigma * m->sigma * (double)clique_cells(&m->clique, g->s.study->domain));
    }
    snprintf(g->rows, sizeof g->rows, "<b>%.0f &plusmn; %.0f</b>", model_total(result->model),
             2 / sqrt(weight));
}

/* A finished run's folder: central AIM in the servers' place, with invented counters. */
static void write_result(struct stage *g)
{
    struct aim_result *result CLEAN(aim_result_free) = NULL;
    struct net_counters server[STUDY_SERVERS][NET_PHASES];
    struct run_stats stats = {.study = g->s.study,
                              .mpc_s = 2,
                              .total_s = 3.5,
                              .analyst = {.sent = 45200, .received = 5400}};
    struct ledger_limits limits;
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        for (unsigned k = 0; k < NET_PHASES; k++)
            server[i][k] = (struct net_counters){
                .rounds = 3, .wire_sent = 1000000, .seconds = 0.25};
    assert_int_equal(price_limits(g->s.study, &limits, &quiet), ERR_OK);
    assert_int_equal(central_run(&result, g->s.study, g->table, NULL, NULL, &quiet), ERR_OK);
    for (size_t i = 0; i < result->measurements; i++) { /* what the servers would have said */
        bool early = i < g->s.study->workload->one_ways + 1;
        result->population[i] = early ? g->began_with : g->ended_with;
        if (early && g->began_with != g->ended_with)
            count_a_third(g, &result->measurement[i], model_total(result->model) / 3);
    }
    note_error(g, result);
    stats.result = result;
    stats.run = g->run;
    stats.server = (const struct net_counters(*)[NET_PHASES])server;
    stats.rho = limits.rho;
    assert_int_equal(release_write(g->folder, g->s.study, result, limits.rho, 10, 1, &quiet),
                     ERR_OK);
    assert_int_equal(run_stats_write(g->folder, &stats, &quiet), ERR_OK);
}

/*
 * A run that begins with the rows of so many owners (of all: 0), and from round 2 on has those of
 * so many.
 */
static void stage_joined(struct stage *g, const struct support_options *o, size_t began_with,
                         size_t ended_with)
{
    memset(g, 0, sizeof *g);
    if (support_study_new(&g->s, o, &quiet) != ERR_OK)
        fail_msg("%s", said);
    g->began_with = began_with > 0 ? began_with : g->s.study->owners;
    g->ended_with = ended_with > 0 ? ended_with : g->s.study->owners;
    assert_int_equal(support_table(&g->table, g->s.study->domain, 3000, 5), ERR_OK);
    support_study_file(&g->s, "result", g->folder);
    assert_int_equal(file_folder(g->folder, &quiet), ERR_OK);
    write_result(g);
}

static void stage_new(struct stage *g, const struct support_options *o)
{
    stage_joined(g, o, 0, 0);
}

static void stage_free(struct stage *g)
{
    bytes_clear(&g->page);
    table_free(&g->table);
    support_study_free(&g->s);
}

static size_t count_of(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        n++;
    return n;
}

/* --- tests ------------------------------------------------------------------------------------ */

TEST(a_run_in_words_and_pictures)
{
    const struct support_options o = {.rounds = 3};
    struct stage g CLEAN(stage_free);
    stage_new(&g, &o);
    write_page(&g, g.folder, NULL);
    expect(&g, "<h1>Study test</h1>");
    expect(&g, "Each server was trusted to follow the protocol (security: semi-honest).");
    expect(&g, "3 owners brought records: o0, o1 and o2. Three servers, s0, s1 and s2,");
    expect(&g, "measured each of 5 attributes once and then, 3 times, chose");
    expect(&g, " of 15</b><small>marginals measured");
    expect(&g, "(&epsilon; = 1, &delta; = 1e-6)-differentially private for adding or removing any "
               "one row");
    expect(&g, "The analyst's program sent 45.2 kB and received 5400 bytes; it waited 2.0 s");
    expect(&g, "<b>18.0 MB</b>"); /* 3 servers, 6 phases, a megabyte each */
    assert_int_equal(count_of(text_of(&g), "<figure>"), 5);
    assert_int_equal(count_of(text_of(&g), "<svg class=\"bar\""), 5 + 3);
    /* alone: nothing is fetched, nothing runs, and there is no truth in it */
    expect_not(&g, "://");
    expect_not(&g, "<script");
    expect_not(&g, "<link");
    expect_not(&g, "src=");
    expect_not(&g, "url(");
    expect_not(&g, "@import");
    expect_not(&g, "truth\"");
    expect_not(&g, "Demo only");
}

TEST(whose_rows_are_counted)
{
    const struct support_options o = {.rounds = 3};
    struct stage g;
    stage_joined(&g, &o, 2, 3);
    write_page(&g, g.folder, NULL);
    expect(&g, "3 owners could bring records: o0, o1 and o2. The rows of 2 of them were counted, "
               "from round 2 on those of 3; what was measured before an owner joined is scaled to "
               "the rows of the end. Three servers");
    expect(&g, g.rows);
    expect(&g, "the band does not cover how the others' rows differ");
    stage_free(&g);
    stage_joined(&g, &o, 2, 2);
    write_page(&g, g.folder, NULL);
    expect(&g, "The rows of 2 of them were counted. Three servers");
    expect(&g, g.rows);
    expect_not(&g, "the band does not cover");
    stage_free(&g);
}

/*
 * Each command of a run adds its bytes and seconds; those of another run in the same place are
 * gone.
 */
TEST(a_run_that_is_continued_is_counted_as_a_whole)
{
    const struct support_options o = {.rounds = 2};
    struct stage g CLEAN(stage_free);
    stage_new(&g, &o);
    write_page(&g, g.folder, NULL);
    expect(&g, "<b>3.5 s</b><small>at work</small>");
    expect(&g, "<b>18.0 MB</b><small>between the servers</small>");
    bytes_clear(&g.page);
    write_result(&g);
    write_page(&g, g.folder, NULL);
    expect(&g, "<b>7.0 s</b><small>at work</small>");
    expect(&g, "<b>36.0 MB</b><small>between the servers</small>");
    expect(&g, "sent 90.4 kB and received 10.8 kB; it waited 4.0 s for the servers, and its "
               "estimator took 3.0 s");
    bytes_clear(&g.page);
    g.run[0] ^= 1;
    write_result(&g);
    write_page(&g, g.folder, NULL);
    expect(&g, "<b>3.5 s</b><small>at work</small>");
}

static void copy_file(const char *from, const char *to, const char *name)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    char path[SUPPORT_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", from, name);
    assert_int_equal(file_read(path, 1 << 24, &b, NULL), ERR_OK);
    snprintf(path, sizeof path, "%s/%s", to, name);
    assert_int_equal(file_write(path, 0600, b.data, b.size, NULL), ERR_OK);
}

/*
 * Three files of opened values are all that it needs: the same ones give the same page elsewhere.
 */
TEST(it_is_made_of_opened_values_alone)
{
    static const char *const inputs[] = {"measurements.json", "model", "stats.json"};
    const struct support_options o = {.rounds = 2};
    struct stage g CLEAN(stage_free);
    struct bytes first CLEAN(bytes_clear) = {0};
    char other[SUPPORT_PATH];
    stage_new(&g, &o);
    write_page(&g, g.folder, NULL);
    bytes_put(&first, g.page.data, g.page.size);
    table_free(&g.table);
    support_study_file(&g.s, "other", other);
    assert_int_equal(file_folder(other, &quiet), ERR_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_not_equal(report_write(other, g.s.study, NULL, &quiet), ERR_OK);
        copy_file(g.folder, other, inputs[i]);
    }
    write_page(&g, other, NULL);
    assert_int_equal(g.page.size, first.size);
    assert_memory_equal(g.page.data, first.data, first.size);
}

#define MEASURED(attributes) "\"measurements\":[{\"attributes\":" attributes ","
#define FIRST MEASURED("[\"age\"]") "\"sigma\":"

/* Each is measurements.json or stats.json of a run, changed in one place. */
TEST(damaged_files_are_refused)
{
    static const char names[] = "measurements.json: measurements[0].attributes ",
                      other[] = "is not of study test";
    static const struct {
        const char *file, *find, *put;
        enum err e;
        const char *words;
    } cases[] = {
        {"measurements.json", "{\"format\"", "[\"format\"", ERR_FORMAT, "measurements.json:1: "},
        {"measurements.json", FIRST, "\"measured\":[{\"attributes\":[\"age\"],\"sigma\":",
         ERR_FORMAT, "measurements.json: measurements must be a list"},
        {"measurements.json", FIRST, MEASURED("[]") "\"sigma\":", ERR_FORMAT, names},
        {"measurements.json", FIRST, MEASURED("[\"size\"]") "\"sigma\":", ERR_FORMAT, names},
        {"measurements.json", FIRST, MEASURED("[1]") "\"sigma\":", ERR_FORMAT, names},
        {"measurements.json", FIRST, MEASURED("[\"age\",\"age\"]") "\"sigma\":", ERR_FORMAT, names},
        {"measurements.json", FIRST, MEASURED("[1,2,3,4,5,6,7,8,9]") "\"sigma\":", ERR_FORMAT,
         names},
        {"measurements.json", FIRST, MEASURED("[\"died\"]") "\"sigma\":", ERR_FORMAT,
         "measurements[0].values must be a list of 2"},
        {"measurements.json", FIRST, FIRST "-", ERR_FORMAT, "measurements[0].sigma must be"},
        {"stats.json", "\"rounds\": [", "\"rounds\": [], \"others\": [", ERR_MISMATCH, other},
        {"stats.json", "\"terms\": \"", "\"terms\": \"x", ERR_MISMATCH, other},
        {"stats.json", "\"terms\": \"", "\"terms\": 2, \"were\": \"", ERR_MISMATCH, other},
        {"stats.json", "\"finished\": ", "\"finished\": 2, \"was\": ", ERR_MISMATCH, other},
        {"stats.json", "\"finished\": ", "\"study\": ", ERR_FORMAT, "stats.json:"},
    };
    const struct support_options o = {.rounds = 2};
    char said_now[512];
    struct log log = {.buffer = said_now, .buffer_size = sizeof said_now};
    struct stage g CLEAN(stage_free);
    stage_new(&g, &o);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[SUPPORT_PATH + 32];
        struct bytes whole CLEAN(bytes_clear) = {0};
        snprintf(path, sizeof path, "%s/%s", g.folder, cases[i].file);
        assert_int_equal(file_read(path, 1 << 24, &whole, NULL), ERR_OK);
        assert_true(
            support_edit(path, path, (const char *const[]){cases[i].find, cases[i].put, NULL}));
        said_now[0] = '\0';
        assert_int_equal(report_write(g.folder, g.s.study, NULL, &log), cases[i].e);
        if (strstr(said_now, cases[i].words) == NULL)
            fail_msg("%s for %s: %s", cases[i].put, cases[i].find, said_now);
        assert_int_equal(file_write(path, 0600, whole.data, whole.size, NULL), ERR_OK);
    }
    assert_int_equal(report_write(g.folder, g.s.study, NULL, &log), ERR_OK);
}

/* A measured pair in a one-way's place: no chart has its counts. */
TEST(measurements_in_another_order_are_refused)
{
    const struct support_options o = {.rounds = 1};
    char said_now[512] = "", path[SUPPORT_PATH + 32];
    struct log log = {.buffer = said_now, .buffer_size = sizeof said_now};
    json_t *doc, *list;
    struct stage g CLEAN(stage_free);
    stage_new(&g, &o);
    snprintf(path, sizeof path, "%s/measurements.json", g.folder);
    doc = json_load_file(path, 0, NULL);
    list = json_object_get(doc, "measurements");
    assert_int_equal(json_array_size(list), 6);
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(json_array_insert(list, 2, json_array_get(list, k == 0 ? 5 : 0)), 0);
        assert_int_equal(json_dump_file(doc, path, 0), 0);
        said_now[0] = '\0';
        assert_int_equal(report_write(g.folder, g.s.study, NULL, &log), ERR_FORMAT);
        assert_non_null(strstr(said_now, "measurements[2].attributes comes too early"));
    }
    json_decref(doc);
}

/*
 * Folders with names such that "model" fits behind, but "measurements.json" does not; and not even
 * that.
 */
TEST(long_paths_are_refused)
{
    const struct support_options o = {.rounds = 1};
    static const size_t sizes[] = {4085, 4091};
    struct stage g CLEAN(stage_free);
    stage_new(&g, &o);
    for (size_t i = 0; i < 2; i++) {
        char folder[FILE_PATH] = "/", said_now[4500] = "";
        struct log log = {.buffer = said_now, .buffer_size = sizeof said_now};
        size_t n = sizes[i] - strlen(g.folder);
        for (size_t k = 1; k < n; k++)
            folder[k] = k % 2 == 1 && k + 1 < n ? '.' : '/';
        strcpy(folder + n, g.folder);
        assert_int_equal(report_write(folder, g.s.study, NULL, &log), ERR_SYSTEM);
        assert_non_null(strstr(said_now, "this path is too long: /./"));
    }
}

TEST(many_owners_persons_and_exact_noise_are_told)
{
    const struct support_options o = {.owners = 10, .rounds = 1};
    struct stage g CLEAN(stage_free);
    stage_new(&g, &o);
    g.s.study->rows_per_person = 2;
    g.s.study->noise = STUDY_DISCRETE;
    g.s.study->security = STUDY_ABORT;
    write_page(&g, g.folder, NULL);
    expect(&g, "The servers proved to each other what they computed (security: abort)");
    expect(&g, "10 owners brought records: o0, o1, o2, o3, o4, o5, o6 and 3 others. Three servers");
    expect(&g, "for adding or removing all rows of any one person");
    expect(&g, "with that person as without");
    expect(&g, "by exact coins.");
    expect(&g, "It holds for people with at most 2 rows.");
}

TEST(names_stay_text)
{
    const struct support_options o = {
        .rounds = 2,
        .domain = "domain:\n"
                  "  - {name: '<script>alert(1)</script>', kind: categorical, values: "
                  "['\"><i>&', 'größe der länge nach und noch viel mehr']}\n"
                  "  - {name: 'a&b', kind: integer, min: -5, max: 5, missing: '<i>'}\n"};
    struct stage g CLEAN(stage_free);
    stage_new(&g, &o);
    write_page(&g, g.folder, NULL);
    expect_not(&g, "<script");
    expect_not(&g, "<i>");
    expect(&g, "&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(&g, "&quot;&gt;&lt;i&gt;&amp;");
    expect(&g, ">größe der län..<"); /* 15 characters, none cut in two */
    expect(&g, ">a&amp;b<");
}

/* 1001 numbers are no thousand columns, 40 labels no forty rows; nothing is lost by adding up. */
TEST(large_attributes_are_added_up)
{
    char domain[2048] = "domain:\n  - {name: n, kind: integer, min: 0, max: 1000, missing: ''}\n"
                        "  - {name: m, kind: numeric, min: 0, max: 1, bins: 64}\n"
                        "  - {name: l, kind: categorical, values: [";
    const struct support_options o = {
        .rounds = 1,
        .domain = domain,
        .epsilon = 4,
        .more = "impossible:\n  - {l: [z25, a26, b27]}\n"}; /* alike: the model has 0 of each */
    struct stage g CLEAN(stage_free);
    const char *at;
    double sum = 0;
    for (unsigned i = 0; i < 40; i++)
        snprintf(domain + strlen(domain), sizeof domain - strlen(domain), "%s%c%u",
                 i > 0 ? ", " : "", 'a' + (char)(i % 26), i);
    strcat(domain, "]}\n");
    stage_new(&g, &o);
    write_page(&g, g.folder, NULL);
    at = strstr(text_of(&g), "<figcaption>n<");
    assert_non_null(at);
    assert_in_range(count_of(at, "class=\"band\""), 63 + 1 + 64 + 16, 64 + 1 + 64 + 16);
    expect(&g, "25 others");
    at = strstr(text_of(&g), "<figcaption>l<");
    assert_non_null(at);
    for (unsigned i = 0; i < 16; i++) {
        at = strstr(at, "class=\"t end n\">");
        assert_non_null(at);
        at += strlen("class=\"t end n\">");
        sum += strtod(at, NULL);
    }
    assert_true(sum > 2900 && sum < 3100);
}

TEST(a_demo_marks_the_truth)
{
    static const char *const names[] = {"this", "that & more"};
    static const double errors[] = {0.125, 1.5};
    const struct support_options o = {.rounds = 2};
    struct report_truth truth = {.rows = 3000, .comparisons = 2, .name = names, .error = errors};
    int64_t counts[5][16], *one_way[5];
    struct stage g CLEAN(stage_free);
    stage_new(&g, &o);
    for (unsigned a = 0; a < 5; a++) {
        one_way[a] = counts[a];
        tabulate_marginal(g.table, &g.s.study->workload->query[a].clique, counts[a]);
    }
    truth.one_way = (const int64_t *const *)one_way;
    write_page(&g, g.folder, &truth);
    expect(&g, "Demo only: compared with the truth");
    expect(&g, "Not private, and in no real report.");
    expect(&g, "there are 3000 rows");
    expect(&g, "that &amp; more");
    expect(&g, ">0.125<");
    /* 9 + 2 + 5 + 4 + 2 values, and the one of the key */
    assert_int_equal(count_of(text_of(&g), "class=\"truth\""), 22 + 1);
}

TEST(files_that_do_not_go_together_are_refused)
{
    const struct support_options o = {.rounds = 2};
    const struct support_options two = {
        .rounds = 2,
        .domain = "domain:\n  - {name: a, kind: integer, min: 0, max: 3}\n"
                  "  - {name: b, kind: integer, min: 0, max: 3}\n"};
    char text[512] = "";
    struct log log = {.buffer = text, .buffer_size = sizeof text};
    struct stage g, h CLEAN(stage_free);
    stage_new(&g, &o);
    stage_new(&h, &two);
    assert_int_equal(report_write(g.folder, h.s.study, NULL, &log), ERR_MISMATCH);
    assert_non_null(strstr(text, "is not of study test"));
    copy_file(g.folder, h.folder, "measurements.json");
    text[0] = '\0';
    assert_int_equal(report_write(h.folder, h.s.study, NULL, &log), ERR_FORMAT);
    assert_non_null(strstr(text, "measurements.json: domain is not the model's"));
    stage_free(&g);
}
