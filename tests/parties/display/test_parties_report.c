/*
 * parties/display/report: what the page says, what it is made of, and that nobody's name becomes
 * markup.
 */
#include "harness/cmocka.h"

#include "aim/answer/association.h"
#include "aim/model/model_densities.h"
#include "aim/model/model_file.h"
#include "aim/run/output.h"
#include "aim/workload/tabulate.h"
#include "harness/process.h"
#include "parties/analyst/release.h"
#include "parties/analyst/run_stats.h"
#include "parties/command/methods.h"
#include "parties/display/report.h"
#include "parties/exchange/price.h"

#include <ctype.h>

/* --- a checker of markup ---------------------------------------------------------------------- */

/* Every tag is closed; <meta>, <br>, <!DOCTYPE> and what ends in "/>" need not be. */
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

struct report_stage {
    struct support_study s;
    struct table *table;
    size_t began_with, ended_with; /* owners */
    size_t knowns;                 /* of the margins below, which the result was given */
    uint8_t run[REQUEST_RUN_SIZE];
    char rows[64]; /* as the page should say */
    char folder[SUPPORT_PATH];
    struct bytes page; /* NUL-terminated */
};

static char said[512];
static struct log silent = {.buffer = said, .buffer_size = sizeof said};

/* Writes the report on the folder's content, reads it and checks its markup. */
static void write_page(struct report_stage *g, const char *folder, const struct report_truth *truth)
{
    char path[SUPPORT_PATH + 16];
    OK(report_write(folder, g->s.study, truth, NULL, &silent));
    snprintf(path, sizeof path, "%s/report.html", folder);
    OK(file_read(path, 1 << 24, &g->page, NULL));
    bytes_put_u8(&g->page, 0);
    check_markup((const char *)g->page.data);
}

static const char *text_of(const struct report_stage *g)
{
    return (const char *)g->page.data;
}

static void expect(const struct report_stage *g, const char *text)
{
    if (strstr(text_of(g), text) == NULL)
        fail_msg("the page does not say: %s", text);
}

static void expect_not(const struct report_stage *g, const char *text)
{
    if (strstr(text_of(g), text) != NULL)
        fail_msg("the page says: %s", text);
}

/* As if only a third of the rows had been there. */
static void count_a_third(const struct report_stage *g, struct measurement *m, double total)
{
    m->total = total;
    m->sigma /= 3;
    for (uint64_t i = 0; i < measurement_cells(m, g->s.study->domain); i++)
        m->y[i] /= 3;
}

/* The rows and twice their standard error, from all that was measured of them. */
static void note_error(struct report_stage *g, const struct aim_result *result)
{
    double weight = 0;
    for (size_t i = 0; i < result->measurements; i++) {
        const struct measurement *m = &result->measurement[i];
        if (!(m->total > 0))
            weight += 1 / (m->sigma * m->sigma * (double)measurement_cells(m, g->s.study->domain));
    }
    snprintf(g->rows, sizeof g->rows, "<b>%.0f &plusmn; %.0f</b>", model_total(result->model),
             2 / sqrt(weight));
}

static double known_rows[] = {1500, 1500};
static const struct measurement given[] = {{.clique = {1, {1}}, .y = known_rows},
                                           {.clique = {1, {4}}, .y = known_rows}};

/* A finished run's folder: central AIM instead of servers, with invented counters. */
static void write_result(struct report_stage *g)
{
    struct methods_made made CLEAN(methods_clear) = {0};
    struct net_counters server[STUDY_SERVERS_MOST][NET_PHASES];
    struct run_stats stats CLEAN(run_stats_clear) = {.study = g->s.study,
                                                     .mpc_s = 2,
                                                     .total_s = 3.5,
                                                     .analyst = {.sent = 45200, .received = 5400}};
    struct ledger_limits limits;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        for (unsigned k = 0; k < NET_PHASES; k++)
            server[i][k] = (struct net_counters){
                .exchanges = 3, .wire_sent = 1000000, .seconds = 0.25};
    OK(price_limits(g->s.study, &limits, &silent));
    OK(methods_central(&made, g->s.study, g->table, NULL, NULL, &silent));
    struct aim_result *result = made.model;
    for (size_t i = 0; i < result->measurements; i++) { /* what the servers would have reported */
        bool early = i < g->s.study->workload->one_ways + 1;
        result->population[i] = early ? g->began_with : g->ended_with;
        if (early && g->began_with != g->ended_with)
            count_a_third(g, &result->measurement[i], model_total(result->model) / 3);
    }
    note_error(g, result);
    run_stats_aim(&stats, result);
    stats.run = g->run;
    stats.server = (const struct net_counters(*)[NET_PHASES])server;
    stats.rho = limits.rho;
    result->known = given;
    result->knowns = g->knowns;
    OK(release_write(&(struct release_terms){g->folder, g->s.study, limits.rho, 10, 1, &silent},
                     result));
    OK(run_stats_write(g->folder, &stats, &silent));
}

/*
 * A run that begins with the rows of so many owners (0: of all), and from round 2 on has those of
 * so many.
 */
static struct report_stage stage_joined(const struct study_options *o, size_t began_with,
                                        size_t ended_with)
{
    struct report_stage g = {0};
    if (support_study_new(&g.s, o, &silent) != ERR_OK)
        fail_msg("%s", said);
    g.began_with = began_with > 0 ? began_with : g.s.study->owners;
    g.ended_with = ended_with > 0 ? ended_with : g.s.study->owners;
    OK(support_table(&g.table, g.s.study->domain, 3000, 5));
    support_study_file(&g.s, "result", g.folder);
    OK(file_folder(g.folder, &silent));
    write_result(&g);
    return g;
}

static struct report_stage stage_new(const struct study_options *o)
{
    return stage_joined(o, 0, 0);
}

static void stage_free(struct report_stage *g)
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
    struct report_stage g CLEAN(stage_free) = stage_new(OPTIONS(.rounds = 3));
    write_page(&g, g.folder, NULL);
    EACH(expect, &g, "<h1>Study test</h1>",
         "Each server was trusted to follow the protocol (security: semi-honest).",
         "3 owners brought records: o0, o1 and o2. Three servers, s0, s1 and s2,",
         "measured each of 5 attributes once and then, 3 times, chose",
         " of 15</b><small>marginals measured",
         "(&epsilon; = 1, &delta; = 1e-6)-differentially private for adding or removing any "
         "one row",
         "The analyst's program sent 45.2 kB and received 5400 bytes; it waited 2.0 s");
    expect(&g, "<b>18.0 MB</b>"); /* 3 servers, 6 phases, a megabyte each */
    assert_int_equal(count_of(text_of(&g), " alt=") + count_of(text_of(&g), "<img"), 0);
    assert_int_equal(count_of(text_of(&g), "role=\"img\" aria-label=\""),
                     count_of(text_of(&g), "role=\"img\""));
    assert_int_equal(count_of(text_of(&g), "<tr><td class=\"n hide\">"), 5 + 3);
    assert_int_equal(count_of(text_of(&g), "<th>"), 0); /* each says what it is the heading of */
    EACH(expect, &g, "<a href=\"synthetic.csv\">", "<a href=\"model\">",
         "<a href=\"measurements.json\">", "<a href=\"stats.json\">");
    /* self-contained: nothing is fetched, nothing runs, and there is no truth in it */
    EACH(expect_not, &g, "://", "<script", "<link", "src=", "url(", "@import");
    /* a browser would not do it either: said before anything that could */
    expect(&g, "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
               "content=\"default-src 'none'; style-src 'unsafe-inline'; ");
    EACH(expect_not, &g, "truth\"", "Demo only");
}

TEST(whose_rows_are_counted)
{
    const struct study_options o = {.rounds = 3};
    struct report_stage g CLEAN(stage_free) = stage_joined(&o, 2, 3);
    write_page(&g, g.folder, NULL);
    EACH(expect, &g,
         "3 owners could bring records: o0, o1 and o2. The rows of 2 of them were counted, "
         "from round 2 on those of 3; what was measured before an owner joined is scaled to "
         "the final number of rows. Three servers",
         g.rows, "the band does not cover how the others' rows differ");
    stage_free(&g);
    g = stage_joined(&o, 2, 2);
    write_page(&g, g.folder, NULL);
    EACH(expect, &g, "The rows of 2 of them were counted. Three servers", g.rows);
    expect_not(&g, "the band does not cover");
}

TEST(published_margins_are_named)
{
    struct report_stage g CLEAN(stage_free) = stage_new(OPTIONS(.rounds = 1));
    write_page(&g, g.folder, NULL);
    expect_not(&g, "published margin");
    g.knowns = 2;
    write_result(&g);
    write_page(&g, g.folder, NULL);
    expect(&g, "The model was given 2 published margins, which it matches exactly and on which no "
               "budget was spent: sex; died.</p>");
}

/*
 * Each command of a run adds its bytes and seconds; those of another run in the same place are
 * dropped.
 */
TEST(a_run_that_is_continued_is_counted_as_a_whole)
{
    struct report_stage g CLEAN(stage_free) = stage_new(OPTIONS(.rounds = 2));
    write_page(&g, g.folder, NULL);
    expect(&g, "<b>3.5 s</b><small>at work</small>");
    expect(&g, "<b>18.0 MB</b><small>between the servers</small>");
    bytes_clear(&g.page);
    write_result(&g);
    write_page(&g, g.folder, NULL);
    EACH(expect, &g, "<b>7.0 s</b><small>at work</small>",
         "<b>36.0 MB</b><small>between the servers</small>",
         "sent 90.4 kB and received 10.8 kB; it waited 4.0 s for the servers, and its "
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
    OK(file_read(path, 1 << 24, &b, NULL));
    snprintf(path, sizeof path, "%s/%s", to, name);
    OK(file_write(path, 0600, b.data, b.size, NULL));
}

/*
 * Three files of opened values are all that it needs: the same files give the same page elsewhere.
 */
TEST(it_is_made_of_opened_values_alone)
{
    static const char *const inputs[] = {"measurements.json", "model", "stats.json"};
    struct report_stage g CLEAN(stage_free) = stage_new(OPTIONS(.rounds = 2));
    struct bytes first CLEAN(bytes_clear) = {0};
    write_page(&g, g.folder, NULL);
    bytes_put(&first, g.page.data, g.page.size);
    table_free(&g.table);
    const char *other = support_path(&g.s, "other");
    OK(file_folder(other, &silent));
    for (size_t i = 0; i < 3; i++) {
        assert_int_not_equal(report_write(other, g.s.study, NULL, NULL, &silent), ERR_OK);
        copy_file(g.folder, other, inputs[i]);
    }
    write_page(&g, other, NULL);
    SAME_BYTES(&g.page, first.data, first.size);
}

#define MEASURED(attributes) "\"measurements\":[{\"attributes\":" attributes ","
#define FIRST MEASURED("[\"age\"]") "\"sigma\":"

/* Each is a run's measurements.json or stats.json, changed in one place. */
TEST(damaged_files_are_refused)
{
    static const char names[] = "measurements.json: measurements[0].attributes ",
                      other[] = "does not belong to study test";
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
        {"measurements.json", FIRST, "\"merged\":{\"age\":[0,1]}," FIRST, ERR_FORMAT,
         "merged must have as many numbers as the column has codes"},
        {"measurements.json", FIRST, "\"merged\":{\"died\":[0,0]}," FIRST, ERR_FORMAT,
         "\"merged\" is not what the model has merged"},
        {"measurements.json", FIRST, FIRST "-", ERR_FORMAT, "measurements[0].sigma must be"},
        {"stats.json", "\"rounds\": [", "\"rounds\": [], \"others\": [", ERR_MISMATCH, other},
        {"stats.json", "\"terms\": \"", "\"terms\": \"x", ERR_MISMATCH, other},
        {"stats.json", "\"terms\": \"", "\"terms\": 2, \"were\": \"", ERR_MISMATCH, other},
        {"stats.json", "\"finished\": ", "\"finished\": 2, \"was\": ", ERR_MISMATCH, other},
        {"stats.json", "\"finished\": ", "\"study\": ", ERR_FORMAT, "stats.json:"},
    };
    char said_now[512];
    struct log log = {.buffer = said_now, .buffer_size = sizeof said_now};
    struct report_stage g CLEAN(stage_free) = stage_new(OPTIONS(.rounds = 2));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[SUPPORT_PATH + 32];
        struct bytes whole CLEAN(bytes_clear) = {0};
        snprintf(path, sizeof path, "%s/%s", g.folder, cases[i].file);
        OK(file_read(path, 1 << 24, &whole, NULL));
        assert_true(
            support_edit(path, path, (const char *const[]){cases[i].find, cases[i].put, NULL}));
        said_now[0] = '\0';
        assert_int_equal(report_write(g.folder, g.s.study, NULL, NULL, &log), cases[i].e);
        if (strstr(said_now, cases[i].words) == NULL)
            fail_msg("%s for %s: %s", cases[i].put, cases[i].find, said_now);
        OK(file_write(path, 0600, whole.data, whole.size, NULL));
    }
    OK(report_write(g.folder, g.s.study, NULL, NULL, &log));
}

/* A measured pair instead of a one-way: no chart has its counts. */
TEST(measurements_in_another_order_are_refused)
{
    char said_now[512] = "", path[SUPPORT_PATH + 32];
    struct log log = {.buffer = said_now, .buffer_size = sizeof said_now};
    struct report_stage g CLEAN(stage_free) = stage_new(OPTIONS(.rounds = 1));
    snprintf(path, sizeof path, "%s/measurements.json", g.folder);
    json_auto_t *doc = json_load_file(path, 0, NULL);
    json_t *list = json_object_get(doc, "measurements");
    assert_int_equal(json_array_size(list), 6);
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(json_array_insert(list, 2, json_array_get(list, k == 0 ? 5 : 0)), 0);
        assert_int_equal(json_dump_file(doc, path, 0), 0);
        said_now[0] = '\0';
        assert_int_equal(report_write(g.folder, g.s.study, NULL, NULL, &log), ERR_FORMAT);
        support_says(said_now, "measurements[2].attributes comes too early");
    }
}

/*
 * Folder names with room for "model" after them, but not for "measurements.json"; and not even for
 * "model".
 */
TEST(long_paths_are_refused)
{
    static const size_t sizes[] = {4085, 4091};
    struct report_stage g CLEAN(stage_free) = stage_new(OPTIONS(.rounds = 1));
    for (size_t i = 0; i < 2; i++) {
        char folder[FILE_PATH] = "/", said_now[4500] = "";
        struct log log = {.buffer = said_now, .buffer_size = sizeof said_now};
        size_t n = sizes[i] - strlen(g.folder);
        for (size_t k = 1; k < n; k++)
            folder[k] = k % 2 == 1 && k + 1 < n ? '.' : '/';
        strcpy(folder + n, g.folder);
        assert_int_equal(report_write(folder, g.s.study, NULL, NULL, &log), ERR_SYSTEM);
        support_says(said_now, "this path is too long: /./");
    }
}

TEST(many_owners_persons_and_exact_noise_are_told)
{
    struct report_stage g CLEAN(stage_free) = stage_new(OPTIONS(.owners = 10, .rounds = 1));
    g.s.study->rows_per_person = 2;
    g.s.study->noise = NOISE_DISCRETE;
    g.s.study->security = STUDY_ABORT;
    write_page(&g, g.folder, NULL);
    EACH(expect, &g, "The servers proved to each other what they computed (security: abort)",
         "10 owners brought records: o0, o1, o2, o3, o4, o5, o6 and 3 others. Three servers",
         "for adding or removing all rows of any one person", "with that person as without",
         "by exact coins.", "It holds for people with at most 2 rows.", "(zcdp), of which ");
    expect_not(&g, "as private as one count");
    /* if servers enforce it, one row is also a person's */
    g.s.study->rows_per_person = 1;
    g.s.study->enforce_person = true;
    g.s.study->accounting = ACCOUNTING_GAUSSIAN;
    write_page(&g, g.folder, NULL);
    expect(&g, "is spent, as private as one count with Gaussian noise of standard deviation 4.53");
    expect(&g, "for adding or removing all rows of any one person");
    expect(&g, "no more than 1 counted: the servers made sure of that, whatever owners sent");
    expect_not(&g, "It holds for people");
}

TEST(names_stay_text)
{
    struct report_stage g CLEAN(stage_free) = stage_new(
        OPTIONS(.rounds = 2,
                .domain = "domain:\n"
                          "  - {name: '<script>alert(1)</script>', kind: categorical, values: "
                          "['\"><i>&', 'größe der länge nach und noch viel mehr']}\n"
                          "  - {name: 'a&b', kind: integer, min: -5, max: 5, missing: '<i>'}\n"));
    write_page(&g, g.folder, NULL);
    EACH(expect_not, &g, "<script", "<i>");
    EACH(expect, &g, "&lt;script&gt;alert(1)&lt;/script&gt;", "&quot;&gt;&lt;i&gt;&amp;");
    expect(&g, ">größe der län..<"); /* 15 characters, none cut in two */
    expect(&g, ">a&amp;b<");
}

/* --- pictures against the model --------------------------------------------------------------- */

/* What the report reads, read again. */
struct report_opened {
    struct domain *d;
    struct model *m;
    struct densities inside;
    struct output_found found;
};

static void opened_free(struct report_opened *o)
{
    output_found_clear(&o->found);
    densities_clear(&o->inside);
    model_free(&o->m);
    domain_free(&o->d);
}

static struct report_opened open_result(const struct report_stage *g)
{
    char path[SUPPORT_PATH + 32];
    struct report_opened o = {0};
    snprintf(path, sizeof path, "%s/model", g->folder);
    OK(model_load(&o.m, &o.d, path, MODEL_FILE_CELLS, &silent));
    snprintf(path, sizeof path, "%s/measurements.json", g->folder);
    OK(output_read(&o.found, path, o.d, &silent));
    OK(model_densities(&o.inside, o.m, &silent));
    return o;
}

/* The model's counts of one or two attributes. */
static double *counts_of(const struct report_opened *o, const struct clique *c)
{
    double *counts;
    OK(memory_new(&counts, clique_cells(c, o->d)));
    OK(model_marginal(o->m, c, counts, &silent));
    return counts;
}

/* For a path "M x y H x V y H x z" or "M x y L x y .. V y z": its left, its right, its area. */
struct report_shape {
    double left, right, area;
};

static const char *next_shape(const char *at, struct report_shape *s)
{
    double x, y, x0, y0, base;
    char *end;
    assert_int_equal(*at, 'M');
    x = x0 = s->left = strtod(at + 1, &end);
    y = y0 = base = strtod(end, &end);
    s->area = 0;
    s->right = x;
    while (*end != 'z') {
        const char how = *end++;
        const double px = x, py = y;
        x = how == 'V' ? x : strtod(end, &end);
        y = how == 'H' ? y : strtod(end, &end);
        s->right = fmax(s->right, x);
        s->area += (x - px) * (base - (y + py) / 2);
    }
    s->area += (x0 - x) * (base - (y0 + y) / 2);
    s->area = fabs(s->area);
    return end + 1;
}

/* The path of a class in the figure of an attribute. */
static const char *path_of(const struct report_stage *g, const char *attribute, const char *class)
{
    char words[96];
    snprintf(words, sizeof words, "<figcaption>%s</figcaption>", attribute);
    const char *at = strstr(text_of(g), words);
    assert_non_null(at);
    snprintf(words, sizeof words, "<path class=\"%s\" d=\"", class);
    at = strstr(at, words);
    assert_non_null(at);
    return at + strlen(words);
}

/*
 * Edges of different widths, a single number and a missing value, which have no width. The curve
 * inside a bin does not change its area.
 */
TEST(bins_are_drawn_to_their_width)
{
    static const double edges[] = {0, 10, 15, 40, 70, 90};
    struct report_stage g CLEAN(stage_free) = stage_new(
        OPTIONS(.rounds = 1, .epsilon = 4,
                .domain = "domain:\n"
                          "  - {name: x, kind: numeric, edges: [0, 10, 15, 40, 70, 90], "
                          "spikes: [0], missing: ''}\n"
                          "  - {name: y, kind: integer, min: 0, max: 3}\n"));
    struct report_shape s[5];
    double all = 0, area = 0;
    write_page(&g, g.folder, NULL);
    struct report_opened r CLEAN(opened_free) = open_result(&g);
    double *counts CLEAN(memory_release) = counts_of(&r, &(struct clique){1, {0}});
    const char *at = path_of(&g, "x", "model");
    for (unsigned i = 0; i < 5; i++) {
        at = next_shape(at, &s[i]);
        all += counts[i + 1];
        area += s[i].area;
    }
    assert_int_equal(*at, '"');
    for (unsigned i = 0; i < 5; i++) {
        const double share = (edges[i + 1] - edges[i]) / 90;
        assert_true(fabs((s[i].right - s[i].left + 2) / (s[4].right - s[0].left + 2) - share) <
                    0.01);
        assert_true(fabs(s[i].area / area - counts[i + 1] / all) < 0.03);
    }
    EACH(expect, &g, "Histogram of x, 5 bars from 0 to 90; highest: ", "rows per 5</text>",
         ">just 0</text>", ">missing</text>", "rows a value</text>");
    expect_not(&g, "drawn shorter");
    expect(&g, "Inside bins rows have any numbers, with an assumed density");
}

TEST(bins_that_would_leave_no_room_are_drawn_otherwise)
{
    static const struct {
        const char *edges, *says;
        size_t breaks;
    } cases[] = {{"[0, 10, 20, 30, 100000]", "The last bin is drawn shorter than it is", 1},
                 {"[-9999, 0, 10, 20, 30, 100000]",
                  "The first and the last bin are drawn shorter than they are", 2},
                 {"[0, 500, 510, 520]", "The first bin is drawn shorter than it is", 1},
                 {"[1, 10, 100, 1000, 10000, 100000]",
                  "The bins' widths differ too much to be drawn to scale", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char domain[256];
        snprintf(domain, sizeof domain, "domain:\n  - {name: x, kind: numeric, edges: %s}\n",
                 cases[i].edges);
        struct report_stage g CLEAN(stage_free) = stage_new(
            OPTIONS(.rounds = 0, .workload = "{all: 1}", .domain = domain));
        write_page(&g, g.folder, NULL);
        expect(&g, cases[i].says);
        assert_int_equal(count_of(text_of(&g), "<path class=\"break\""), cases[i].breaks);
        expect_not(&g, "Pairs of attributes"); /* of one column */
    }
}

/* By itself, within a larger marginal, or not: what measurements.json has. */
static void expect_marks(const struct report_stage *g, const struct report_opened *o, uint16_t x,
                         uint16_t y)
{
    const struct clique pair = {2, {x, y}};
    const char *a = o->d->attribute[x].name, *b = o->d->attribute[y].name;
    double *counts CLEAN(memory_release) = counts_of(o, &pair);
    struct association with, without;
    char words[256];
    double weight = 0;
    size_t times = 0, alone = 0, round = 0;
    for (size_t i = 0; i < o->found.measurements; i++) {
        const struct measurement *m = &o->found.measurement[i];
        if (!clique_contains(&m->clique, &pair))
            continue;
        weight += (double)clique_cells(&pair, o->d) /
                  ((double)clique_cells(&m->clique, o->d) * m->sigma * m->sigma);
        alone += clique_equal(&m->clique, &pair);
        round = i - o->d->attributes + 1;
        times++;
    }
    OK(association_of(&without, o->d, x, y, counts, 0, &o->inside));
    snprintf(words, sizeof words, "<title>%s and %s: %s, %s %.2f</title>", a, b,
             times == 0  ? "not measured"
             : alone > 0 ? "measured"
                         : "measured with others",
             association_word(without.kind), without.value);
    expect(g, words);
    if (times != 1)
        return;
    OK(association_of(&with, o->d, x, y, counts, sqrt(1 / weight), &o->inside));
    snprintf(words, sizeof words, "%s &times; %s<small>measured in round %zu%s</small></th>", a, b,
             round, alone > 0 ? "" : ", with others");
    expect(g, words);
    snprintf(words, sizeof words, "<td class=\"n\">%s %.2f &plusmn; %.2f</td>",
             association_word(with.kind), with.value, 2 * with.error);
    expect(g, words);
}

TEST(measured_pairs_are_marked_and_no_others)
{
    static const char *const workloads[] = {"{all: 2}", "{all: 3}"};
    for (size_t i = 0; i < 2; i++) {
        struct report_stage g CLEAN(stage_free) = stage_new(
            OPTIONS(.rounds = 3, .workload = workloads[i], .epsilon = 4));
        write_page(&g, g.folder, NULL);
        struct report_opened r CLEAN(opened_free) = open_result(&g);
        for (uint16_t y = 1; y < r.d->attributes; y++)
            for (uint16_t x = 0; x < y; x++)
                expect_marks(&g, &r, x, y);
        size_t discs = count_of(text_of(&g), "<circle class=\"disc\"") -
                       1; /* and those of the key */
        size_t rings = count_of(text_of(&g), "<circle class=\"ring\"") - 1;
        assert_int_equal(discs, count_of(text_of(&g), ": measured, "));
        assert_int_equal(rings, count_of(text_of(&g), ": measured with others, "));
        assert_int_equal(10 - discs - rings, count_of(text_of(&g), ": not measured, "));
        assert_true(i == 0 ? rings == 0 && discs > 0 : rings > 0);
        assert_int_equal(count_of(text_of(&g), " (across) and "), discs + rings);
    }
}

/*
 * Signs where the model has more or fewer rows in a cell than independent attributes would: by a
 * tenth where there is little noise, or by more than noise explains.
 */
static void expect_signs(const char *b_values, double epsilon, bool some)
{
    char domain[256], words[96], *path CLEAN(memory_release) = NULL;
    double of_a[2] = {0}, of_b[8] = {0}, all = 0, known = 0, noise;
    size_t cells, more = 0, fewer = 0;
    snprintf(domain, sizeof domain,
             "domain:\n  - {name: a, kind: categorical, values: [p, q]}\n"
             "  - {name: b, kind: categorical, values: %s}\n",
             b_values);
    struct report_stage g CLEAN(stage_free) = stage_new(
        OPTIONS(.rounds = 4, .epsilon = epsilon, .domain = domain));
    write_page(&g, g.folder, NULL);
    struct report_opened r CLEAN(opened_free) = open_result(&g);
    for (size_t i = 2; i < r.found.measurements; i++)
        if (r.found.measurement[i].clique.n == 2)
            known += 1 / pow(r.found.measurement[i].sigma, 2);
    if (!(known > 0)) { /* noise may have led to single attributes only */
        expect(&g, "0 of 1 pairs were measured together");
        return;
    }
    noise = 2 / sqrt(known);
    double *counts CLEAN(memory_release) = counts_of(&r, &(struct clique){2, {0, 1}});
    cells = 2 * r.d->attribute[1].size;
    for (size_t i = 0; i < cells; i++) {
        of_a[i / (cells / 2)] += counts[i];
        of_b[i % (cells / 2)] += counts[i];
        all += counts[i];
    }
    for (size_t i = 0; i < cells; i++) {
        const double even = of_a[i / (cells / 2)] * of_b[i % (cells / 2)] / all;
        if (fabs(counts[i] - even) <= fmax(noise, even / 10))
            continue;
        more += counts[i] > even;
        fewer += counts[i] < even;
    }
    assert_true(!some || (more > 0 && fewer > 0));
    snprintf(words, sizeof words, "; %zu of %zu cells differ from independence", more + fewer,
             cells);
    expect(&g, words);
    if (more + fewer > 0) {
        const char *at = path_of(&g, "a across, b down", "sign");
        path = strndup(at, (size_t)(strchr(at, '"') - at));
    }
    assert_int_equal(path != NULL ? count_of(path, "v6") : 0, more);
    assert_int_equal(path != NULL ? count_of(path, "h6") : 0, more + fewer);
}

TEST(signs_stand_where_rows_differ_from_independence)
{
    expect_signs("[s, t, u, v]", 4, true);
    expect_signs("[s, t, u, v, w, x, y]", 4, false);
    for (unsigned i = 0; i < 4; i++)
        expect_signs("[s, t, u, v, w, x, y]", 0.5, false);
}

/* 1001 numbers are not a thousand columns, nor 40 labels forty rows; adding up loses nothing. */
TEST(large_attributes_are_added_up)
{
    char domain[2048] = "domain:\n  - {name: n, kind: integer, min: 0, max: 1000, missing: ''}\n"
                        "  - {name: m, kind: numeric, min: 0, max: 1, bins: 64}\n"
                        "  - {name: l, kind: categorical, values: [";
    const struct study_options o = {
        .rounds = 1,
        .domain = domain,
        .epsilon = 4,
        .more = "impossible:\n  - {l: [z25, a26, b27]}\n"}; /* the same: the model has 0 of each */
    struct report_shape s;
    const char *at;
    double sum = 0;
    size_t bars = 0;
    for (unsigned i = 0; i < 40; i++)
        snprintf(domain + strlen(domain), sizeof domain - strlen(domain), "%s%c%u",
                 i > 0 ? ", " : "", 'a' + (char)(i % 26), i);
    strcat(domain, "]}\n");
    struct report_stage g CLEAN(stage_free) = stage_new(&o);
    write_page(&g, g.folder, NULL);
    for (at = path_of(&g, "n", "model"); *at == 'M'; bars++)
        at = next_shape(at, &s);
    assert_int_equal(bars, 101); /* of ten numbers, and the last */
    bars = 0;
    for (at = path_of(&g, "m", "band"); *at == 'M'; bars++)
        at = next_shape(at, &s);
    assert_int_equal(bars, 64);
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

/* Many columns and rounds: the page says what it leaves out, and stays small. */
TEST(what_has_no_room_is_left_out_and_said)
{
    char domain[4096] = "domain:\n";
    for (unsigned i = 0; i < 40; i++)
        snprintf(domain + strlen(domain), sizeof domain - strlen(domain),
                 "  - {name: c%u, kind: categorical, values: [a, b]}\n", i);
    struct report_stage g CLEAN(stage_free) = stage_new(
        OPTIONS(.rounds = 60, .domain = domain, .epsilon = 8,
                .workload = "{random: 2, count: 90, seed: 1}"));
    write_page(&g, g.folder, NULL);
    expect(&g, "Of 100 marginals, the 30 with the worst fit beside their noise:");
    expect(&g, "<details><summary>All 100, in the order in which they were measured</summary>");
    assert_int_equal(count_of(text_of(&g), "<tr><td class=\"n hide\">"), 30 + 100);
    expect(&g, "The matrix has the 30 attributes with the most measured pairs; 10 are left out.");
    assert_int_equal(count_of(text_of(&g), "<title>c"), 30 * 29 / 2);
    assert_int_equal(count_of(text_of(&g), " (across) and "), 12);
    EACH(expect, &g, " pairs, the 12 strongest are drawn.", " weaker measured pairs are left out.",
         "2 rounds a bar</text>");
    assert_int_equal(count_of(text_of(&g), "<rect class=\"select\""), 1 + 30 + 1); /* and the key */
    assert_true(g.page.size < 400000);
}

TEST(a_demo_marks_the_truth)
{
    static const char *const names[] = {"this", "that & more"};
    static const double errors[] = {0.125, 1.5};
    struct report_truth truth = {.rows = 3000, .comparisons = 2, .name = names, .error = errors};
    int64_t counts[5][16], *one_way[5];
    struct report_stage g CLEAN(stage_free) = stage_new(OPTIONS(.rounds = 2));
    for (unsigned a = 0; a < 5; a++) {
        one_way[a] = counts[a];
        tabulate_marginal(g.table, &g.s.study->workload->query[a].clique, counts[a]);
    }
    truth.one_way = (const int64_t *const *)one_way;
    write_page(&g, g.folder, &truth);
    EACH(expect, &g, "Demo only: compared with the truth", "Not private, and in no real report.",
         "there are 3000 rows", "that &amp; more", ">0.125<");
    /* 9 + 2 + 5 + 4 + 2 values, and the one of the key */
    assert_int_equal(count_of(text_of(&g), "l3 3-3 3-3-3z"), 9 + 4);
    assert_int_equal(count_of(text_of(&g), "l4 4-4 4-4-4z"), 2 + 5 + 2);
    expect(&g, "the truth (this is a demo)");
}

TEST(files_that_do_not_go_together_are_refused)
{
    char text[512] = "";
    struct log log = {.buffer = text, .buffer_size = sizeof text};
    struct report_stage g CLEAN(stage_free) = stage_new(OPTIONS(.rounds = 2));
    struct report_stage h CLEAN(stage_free) = stage_new(
        OPTIONS(.rounds = 2, .domain = "domain:\n  - {name: a, kind: integer, min: 0, max: 3}\n"
                                       "  - {name: b, kind: integer, min: 0, max: 3}\n"));
    assert_int_equal(report_write(g.folder, h.s.study, NULL, NULL, &log), ERR_MISMATCH);
    support_says(text, "does not belong to study test");
    copy_file(g.folder, h.folder, "measurements.json");
    text[0] = '\0';
    assert_int_equal(report_write(h.folder, h.s.study, NULL, NULL, &log), ERR_FORMAT);
    support_says(text, "measurements.json: domain is not the model's");
}
