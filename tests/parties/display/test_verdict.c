/*
 * parties/display/report_verdict: tables whose columns are linked, and the same with each column
 * shuffled, by fixed rounds, annealed ones, sweeps and a copula. parties/display/card: what it puts
 * beside the table.
 */
#include "harness/cmocka.h"

#include "harness/process.h"
#include "parties/analyst/release.h"
#include "parties/analyst/run_stats.h"
#include "parties/command/methods.h"
#include "parties/display/card.h"
#include "parties/display/report.h"
#include "parties/study/method.h"

#include <jansson.h>

struct verdict_stage {
    struct support_study s;
    struct table *table;
    struct bytes text;
};

static void stage_clear(struct verdict_stage *g)
{
    bytes_clear(&g->text);
    table_free(&g->table);
    support_study_free(&g->s);
}

static struct verdict_stage stage_new(const struct study_options *o)
{
    struct verdict_stage g = {.s = support_study_of(o, &quiet)};
    OK(support_table(&g.table, g.s.study->domain, 3000, 5));
    return g;
}

/* As many rows of each value, but nothing joins the columns. */
static void shuffle(struct table *t)
{
    struct random random = random_of(3);
    for (size_t a = 0; a < t->domain->attributes; a++)
        for (size_t i = t->rows; i > 1; i--) {
            const size_t other = (size_t)random_below(&random, i);
            const uint16_t code = t->column[a][i - 1];
            t->column[a][i - 1] = t->column[a][other];
            t->column[a][other] = code;
        }
}

/* What a run of the study says of its table. */
static const char *verdict_of(struct verdict_stage *g)
{
    static const struct net_counters none[STUDY_SERVERS_MOST][NET_PHASES];
    static const uint8_t run[REQUEST_RUN_SIZE];
    const struct study *s = g->s.study;
    struct run_stats stats CLEAN(run_stats_clear) = {
        .study = s, .run = run, .server = none, .rho = 1};
    struct methods_made made CLEAN(methods_clear) = {0};
    const char *folder = support_path(&g->s, "result");
    const struct release_terms terms = {folder, s, 1, 10, 1, &quiet};
    OK(file_folder(folder, &quiet));
    OK(methods_central(&made, s, g->table, NULL, NULL, &quiet));
    for (size_t i = 0; made.model != NULL && i < made.model->measurements; i++)
        made.model->population[i] = s->owners;
    OK(methods_release(&made, &terms));
    methods_stats(&made, &stats);
    OK(run_stats_write(folder, &stats, &quiet));
    bytes_clear(&g->text);
    OK(report_write(folder, s, NULL, &g->text, &quiet));
    return (const char *)g->text.data;
}

static const struct study_options ways[] = {
    {.rounds = 4, .epsilon = 6},
    {.rounds = 3, .epsilon = 6, .workload = "{all: 3}"},
    {.annealed = true, .epsilon = 4},
    {.sweeps = 2, .epsilon = 6},
    {.copula = "method: copula\n", .epsilon = 1},
};
#define WAYS (sizeof ways / sizeof *ways)
#define TRIES 7 /* noise is fresh: one in 20 is allowed to be wrong, but never four */

static void expect_independent(struct verdict_stage *g)
{
    unsigned alone = 0;
    shuffle(g->table);
    for (unsigned i = 0; i < TRIES; i++)
        alone += strncmp(verdict_of(g), "No better than independent columns: ", 36) == 0;
    assert_in_range(alone, TRIES - 3, TRIES);
}

TEST(linked_columns_are_told_from_independent_ones)
{
    for (size_t k = 0; k < WAYS; k++) {
        struct verdict_stage g CLEAN(stage_clear) = stage_new(&ways[k]);
        support_says(verdict_of(&g), "pairs of columns were measured, and ");
        support_says(verdict_of(&g), " more than noise and chance would: ");
        expect_independent(&g);
    }
}

TEST(noise_in_a_copulas_sums_is_no_link)
{
    struct verdict_stage g CLEAN(stage_clear) = stage_new(
        OPTIONS(.copula = "method: copula\n", .epsilon = 0.3));
    expect_independent(&g);
}

TEST(single_columns_alone_are_said_so)
{
    struct verdict_stage g CLEAN(stage_clear) = stage_new(
        OPTIONS(.rounds = 1, .workload = "{all: 1}"));
    support_says(verdict_of(&g), "No better than independent columns: none of 10 pairs of columns "
                                 "was measured. ");
}

TEST(columns_of_which_values_exclude_others_are_joined)
{
    struct verdict_stage g CLEAN(stage_clear) = stage_new(
        OPTIONS(.rounds = 1, .workload = "{all: 1}",
                .more = "impossible:\n  - {sex: m, died: \"yes\"}\n"));
    support_says(verdict_of(&g), "as good as independent of all others: age, ward and bmi.\n");
}

static const char *json_at(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static json_t *metadata_of(struct verdict_stage *g)
{
    verdict_of(g);
    json_t *o = json_load_file(support_path(&g->s, "result/synthetic.csv-metadata.json"), 0, NULL);
    assert_non_null(o);
    return o;
}

TEST(what_a_study_says_of_itself_goes_beside_the_table)
{
    struct verdict_stage g CLEAN(stage_clear) = stage_new(
        OPTIONS(.rounds = 2, .epsilon = 4,
                .more = "title: \"Falls <b>| ages\"\ndescription: One line\n"
                        "purpose: research\nlicence: https://example.org/by\n"
                        "contact: data@example.org\n"));
    json_auto_t *o = NULL;
    o = metadata_of(&g);
    assert_string_equal(json_at(o, "dc:title"), "Falls <b>| ages");
    assert_string_equal(json_at(o, "https://w3id.org/dpv#hasPurpose"), "research");
    assert_string_equal(json_at(o, "dcat:contactPoint"), "data@example.org");
    assert_string_equal(json_at(json_object_get(o, "dc:license"), "@id"), "https://example.org/by");
    assert_int_equal(json_array_size(json_object_get(json_object_get(o, "tableSchema"), "columns")),
                     g.s.study->domain->attributes);
    const char *readme = support_path(&g.s, "result/README.md");
    EACH(file_says, readme, "# Falls \\<b\\>\\| ages\n\nOne line", "\nPurpose: research\n", "\n> ",
         "pairs of columns were measured", "- epsilon 4, delta 1e-6\n- unit: one row\n",
         "- Server s0 at 127.0.0.1: ", "| sex | ", "- age: sigma ", "## Known failures",
         "## Synthetic rows that equal real ones");
    file_says(support_path(&g.s, "result/report.html"), "<a href=\"README.md\">");
}

TEST(a_study_that_says_nothing_of_itself_has_its_name)
{
    struct verdict_stage g CLEAN(stage_clear) = stage_new(&ways[WAYS - 1]);
    json_auto_t *o = NULL;
    o = metadata_of(&g);
    assert_string_equal(json_at(o, "dc:title"), "test");
    assert_null(json_object_get(o, "dc:license"));
    EACH(file_says, support_path(&g.s, "result/README.md"), "# Synthetic table of study test\n",
         "- of each of 10 pairs of columns, sums of products of scores, with noise of deviation ",
         "two normal variables");
}

TEST(a_page_for_the_board)
{
    struct verdict_stage g CLEAN(stage_clear) = stage_new(
        OPTIONS(.rounds = 2, .more = "purpose: research\nretain_days: 30\n"));
    struct bytes page CLEAN(bytes_clear) = {0};
    OK(card_board(&page, g.s.study));
    bytes_put_u8(&page, 0);
    EACH(support_says, (const char *)page.data, "# Study test\n", "Purpose: research\n",
         study_fingerprint(g.s.study).text, "- Owner o0: ", "30 days", "- unit: one row\n",
         "| died | no, yes | 2 values | never |", "would be a leak");
    assert_null(strstr((const char *)page.data, "\n\n\n"));
}
