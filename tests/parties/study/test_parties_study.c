/* parties/study: what a study file means. */
#include "tests/support/parse.h"

#include "aim/budget/schedule.h"
#include "aim/budget/score.h"
#include "parties/analyst/release.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/price.h"
#include "parties/study/roster.h"
#include "parties/study/rounds.h"
#include "parties/study/study_ports.h"
#include "parties/study/study_uploads.h"
#include "protocols/tape.h"

/* --- meaning ---------------------------------------------------------------------------------- */

TEST(the_domain_is_read)
{
    struct parse_fixture *f = *state;
    const struct domain *d = f->base->domain;
    assert_int_equal(d->attributes, 4);
    assert_ptr_equal(d->attribute[0].kind, &column_whole);
    assert_int_equal(d->attribute[0].size, 10);
    assert_int_equal(d->attribute[0].policy, DOMAIN_CLIP);
    assert_null(d->attribute[0].missing);
    assert_int_equal(d->attribute[1].size, 4);
    assert_string_equal(d->attribute[1].labels[2], "c");
    assert_string_equal(d->attribute[1].missing, "?");
    assert_int_equal(d->attribute[1].policy, DOMAIN_AS_MISSING); /* by default */
    assert_int_equal(d->attribute[2].size, 2);
    assert_int_equal(d->attribute[2].policy, DOMAIN_CLIP);
    assert_true(d->attribute[2].edges[1] == 1.5);
    assert_int_equal(d->attribute[3].size, 5);
    for (int i = 0; i <= 5; i++)
        assert_true(d->attribute[3].edges[i] == 10 + 2 * i);
    assert_int_equal(f->base->workload->cliques, 2);
    assert_int_equal(f->base->workload->maximal_cells, 10 * 4 + 2 * 5);
    assert_int_equal(f->base->workload->queries, 6);
}

/* The edges of an attribute, from its description; an edge that occurs twice is a spike. */
static const struct {
    const char *find, *replace;
    double step;
    uint32_t values;
    double edges[8];
} bins[] = {
    {"    max: 9", "    max: 9\n    bins: 2", 1, 2, {0, 5, 9}},
    {"    max: 9", "    max: 9\n    bins: 4", 1, 4, {0, 3, 5, 8, 9}},
    {"    max: 9", "    max: 9\n    bins: 3\n    spikes: [0, 9]", 1, 5, {0, 0, 4, 7, 9, 9}},
    {"    min: 0\n    max: 9", "    edges: [0, 1, 9]\n    spikes: [0]", 1, 2, {0, 0, 9}},
    {"    min: 0\n    max: 9",
     "    edges: [0, 6, 9]\n    spikes: [3, 4]",
     1,
     5,
     {0, 3, 4, 4, 6, 9}},
    {"    min: 0\n    max: 9", "    edges: [0, 8, 9]\n    spikes: [8]", 1, 3, {0, 8, 8, 9}},
    {"    min: 0\n    max: 9", "    edges: [0, 6, 9]\n    step: 3", 3, 2, {0, 6, 9}},
    {"    edges: [0, 1.5, 3]", "    edges: [0, 1.5, 3]\n    spikes: [1]", 0, 4, {0, 1, 1, 1.5, 3}},
    {"    edges: [0, 1.5, 3]",
     "    edges: [0, 1.5, 3]\n    spikes: [1.5, -0]",
     0,
     4,
     {0, 0, 1.5, 1.5, 3}},
    {"    edges: [0, 1.5, 3]",
     "    edges: [0, 0.95, 3]\n    step: 0.1\n    spikes: [1]",
     0.1,
     3,
     {0, 1, 1, 3}},
};

TEST(bins_are_read)
{
    struct parse_fixture *f = *state;
    for (size_t i = 0; i < sizeof bins / sizeof bins[0]; i++) {
        struct study *s CLEAN(study_free) = NULL;
        uint64_t count;
        OK(parse_edit(f, bins[i].find, bins[i].replace, &s));
        const struct domain_attribute *a = &s->domain->attribute[i < 7 ? 0 : 2];
        assert_ptr_equal(a->kind, &column_bins);
        assert_int_equal(a->whole, i < 7);
        assert_true(a->step == bins[i].step);
        assert_int_equal(a->values, bins[i].values);
        for (uint32_t k = 0; k <= a->values; k++)
            assert_true(a->edges[k] == bins[i].edges[k]);
        for (uint32_t k = 0; a->step > 0 && k < a->values; k++) {
            domain_multiples(a, k, &count);
            assert_true(count > 0);
        }
    }
}

static void assert_edges(struct parse_fixture *f, size_t column, const char *find,
                         const char *replace, double (*edge)(int k, int n), int n)
{
    char text[100];
    snprintf(text, sizeof text, "%s\n    bins: %d", replace, n);
    struct study *s CLEAN(study_free) = MADE_LAST(study, parse_edit, f, find, text);
    for (int k = 0; k < n; k++)
        assert_true(s->domain->attribute[column].edges[k] == edge(k, n));
}

static double whole_edge(int k, int n)
{
    return (100 * k + n - 1) / n;
}

/* Nearest to k / 10; for 9 bins from 0 to 10 there are no such numbers. */
static double tenth(int k, int n)
{
    return n == 100 ? k / 10. : 10 * (k / 9.);
}

/* 100 * (11. / 20) is above 55, and 10 * (7. / 100) above 0.7. */
TEST(edges_of_even_bins_are_not_off_by_a_rounding)
{
    struct parse_fixture *f = *state;
    for (int n = 2; n <= 100; n++)
        assert_edges(f, 0, "    max: 9", "    max: 99", whole_edge, n);
    assert_edges(f, 2, "    edges: [0, 1.5, 3]", "    min: 0\n    max: 10", tenth, 100);
    assert_edges(f, 2, "    edges: [0, 1.5, 3]", "    min: 0\n    max: 10", tenth, 9);
}

TEST(what_is_missing_is_read)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    OK(parse_edit(f, "    max: 9",
                  "    max: 9\n    missing: [\"\", NA, \"-1\"]\n"
                  "    write: NA\n",
                  &s));
    const struct domain_attribute *a = &s->domain->attribute[0];
    assert_string_equal(a->missing, "NA");
    assert_int_equal(a->missing_too_count, 2);
    assert_int_equal(domain_code(a, "-1.0"), 10);
    assert_int_equal(domain_code(a, "NA"), 10);
    assert_int_equal(domain_code(a, ""), 10);
    assert_int_equal(domain_code(a, "-2"), 0);
}

/* Spikes are values of their own, and an edge that a spike took away is still one. */
TEST(what_is_impossible_of_bins_is_read)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    struct bytes b CLEAN(bytes_clear) = edited(
        base_text, "    edges: [0, 1.5, 3]",
        "    edges: [0, 1, 2, 3]\n    step: 1\n    spikes: [0, 3]");
    struct bytes c CLEAN(bytes_clear) = edited(
        (const char *)b.data, "workload:",
        "impossible:\n  - {bmi: [0, 3], ward: a}\n  - {bmi: {from: 1, to: 3}, ward: b}\nworkload:");
    static const uint32_t cells[] = {0, 3, 4 + 1, 4 + 2, 4 + 3};
    OK(parse_text(f, (const char *)c.data, &s));
    assert_int_equal(s->domain->attribute[2].values, 4); /* 0, 1, 2, 3 */
    assert_int_equal(s->zeros, 1);
    assert_int_equal(s->zero[0].cells, 5);
    assert_int_equal(s->zero[0].clique.attribute[0], 1);
    assert_memory_equal(s->zero[0].cell, cells, sizeof cells);
}

TEST(what_is_impossible_is_read)
{
    static const char *const same[] = {
        "impossible:\n"
        "  - {ward: [b, \"?\"], age: {from: 7, to: 8}}\n"
        "  - {bmi: {from: 1.5, to: 3}}\n"
        "workload:",
        "impossible: [{bmi: {to: 3, from: 1.5}},  {age: 8, ward: b}, {age: [7, 8], ward: \"?\"},\n"
        "    {age: {from: 7, to: 7}, ward: b}, {age: 8, ward: [b]}]\n"
        "workload:",
    };
    static const uint32_t cells[] = {7 * 4 + 1, 7 * 4 + 3, 8 * 4 + 1, 8 * 4 + 3};
    struct parse_fixture *f = *state;
    for (size_t i = 0; i < 2; i++) {
        struct study *s CLEAN(study_free) = MADE_LAST(study, parse_edit, f, "workload:", same[i]);
        assert_int_equal(s->zeros, 2);
        const struct workload_zeros *two = &s->zero[i];
        const struct workload_zeros *one = &s->zero[1 - i];
        assert_int_equal(two->clique.n, 2);
        assert_int_equal(two->clique.attribute[0], 0);
        assert_int_equal(two->clique.attribute[1], 1);
        assert_int_equal(two->cells, 4);
        assert_memory_equal(two->cell, cells, sizeof cells);
        assert_int_equal(one->clique.n, 1);
        assert_int_equal(one->cells, 1);
        assert_int_equal(one->cell[0], 1);
    }
}

TEST(the_rest_is_read)
{
    struct parse_fixture *f = *state;
    const struct study *s = f->base;
    assert_string_equal(s->name, "test");
    assert_true(s->epsilon == 1 && s->delta == 1e-6);
    assert_int_equal(s->rows_per_person, 2);
    assert_int_equal(s->noise, NOISE_BOX_MULLER);
    assert_int_equal(s->rounds, 4);
    assert_string_equal(s->server[2].name, "s2");
    assert_string_equal(s->server[2].host, "[::1]");
    assert_int_equal(s->server[1].port, 7110);
    assert_true(public_identity_equal(&s->server[1].key, &f->identity[1]->public));
    assert_int_equal(s->owners, 2);
    assert_int_equal(s->owner[0].max_rows, 500);
    assert_int_equal(s->owner[0].bits, 9);
    assert_int_equal(s->owner[1].bits, 9);
    assert_int_equal(s->count_bits, 10); /* 511 + 511 < 1024 */
    assert_int_equal(study_upload_bytes(s, 0), (50 * 9 + 7) / 8);
    assert_int_equal(s->analysts, 1);
    assert_int_equal(s->connect_s, 10);
    assert_int_equal(s->round_s, 20);
    assert_int_equal(s->max_mib, 40);
    assert_int_equal(s->iterations, 50);
    assert_int_equal(s->final_iterations, 60);
}

TEST(everybody_is_found_by_key)
{
    struct parse_fixture *f = *state;
    const struct study *s = f->base;
    struct roster_person p = {0};
    for (size_t i = 0; i < KEYS; i++) {
        const struct public_identity *who = &f->identity[i]->public;
        assert_true(roster_has(s, ROLE_SERVER, who) == (i < 3));
        assert_true(roster_has(s, ROLE_OWNER, who) == (i == 3 || i == 4));
        assert_true(roster_has(s, ROLE_ANALYST, who) == (i == 5));
        if (i <= 6)
            assert_true(roster_next(s, &p) == (i < 6));
        if (i < 6) {
            assert_true(public_identity_equal(p.key, who));
            assert_int_equal(p.index, i < 3 ? i : i < 5 ? i - 3 : 0);
        }
    }
}

TEST(endpoints_are_five_ports)
{
    struct parse_fixture *f = *state;
    char text[STUDY_ENDPOINT_SIZE];
    study_endpoint(f->base, 1, STUDY_GATE, text);
    assert_string_equal(text, "tcp://here:7110");
    study_endpoint(f->base, 2, STUDY_BULK_NEXT, text);
    assert_string_equal(text, "tcp://[::1]:7104");
    study_listen(f->base, 0, STUDY_CONTROL_PREV, NULL, 0, text);
    assert_string_equal(text, "tcp://0.0.0.0:7101");
    study_listen(f->base, 0, STUDY_CONTROL_NEXT, "127.0.0.1", 0, text);
    assert_string_equal(text, "tcp://127.0.0.1:7102");
    study_listen(f->base, 0, STUDY_CONTROL_NEXT, "127.0.0.1", 9000, text);
    assert_string_equal(text, "tcp://127.0.0.1:9002");
}

/* Up to where a server's ports would reach the next one's on the same host. */
TEST(lanes_are_as_many_as_ports_have_room_for)
{
    struct parse_fixture *f = *state;
    const struct study *s = f->base;
    char text[STUDY_ENDPOINT_SIZE];
    study_endpoint(s, 1, study_bulk(STUDY_BULK_PREV, 2), text);
    assert_string_equal(text, "tcp://here:7117");
    study_endpoint(s, 1, study_bulk(STUDY_BULK_NEXT, 2), text);
    assert_string_equal(text, "tcp://here:7118");
    assert_int_equal(study_lanes_most(s, 0), 3); /* here:7100 and here:7110 */
    assert_int_equal(study_lanes_most(s, 65536 - 5), 1);
    assert_int_equal(study_lanes_most(s, 65536 - 7), 2);
    assert_int_equal(study_lanes_most(s, 65536 - 100), 3);
}

TEST(bounds_give_the_bits_of_counts)
{
    static const struct {
        const char *rows;
        unsigned bits, count_bits;
    } cases[] = {
        {"1", 1, 10},    /* 1 + 511 = 512 */
        {"511", 9, 10},  /* 1022 */
        {"512", 10, 11}, /* 1023 + 511 */
        {"1073741823", 30, 31},
    };
    struct parse_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "max_rows: %s", cases[i].rows);
        struct study *s CLEAN(study_free) = MADE_LAST(study, parse_edit, f, "max_rows: 500", text);
        assert_int_equal(s->owner[0].bits, cases[i].bits);
        assert_int_equal(s->count_bits, cases[i].count_bits);
    }
}

TEST(defaults_are_the_documented_ones)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    struct bytes b CLEAN(bytes_clear) = edited(
        base_text,
        "deadlines:\n  connect: 10\n  round: 20\nmodel:\n  max_mib: 40\n  "
        "iterations: 50\n  final_iterations: 60\n",
        "");
    struct bytes c CLEAN(bytes_clear) = edited((const char *)b.data,
                                               "  rows_per_person: 2\nnoise: box-muller\n", "");
    OK(parse_text(f, (const char *)c.data, &s));
    assert_int_equal(s->rows_per_person, 1);
    assert_int_equal(s->connect_s, 30);
    assert_int_equal(s->round_s, 120);
    assert_int_equal(s->max_mib, 80);
    assert_int_equal(s->iterations, 100);
    assert_int_equal(s->final_iterations, 1000);
    assert_true(s->workload->clique_weight[0] + s->workload->clique_weight[1] == 3);
}

/* Records fit within the bounds of counts; counts do not fit within the bounds of records. */
TEST(the_forms_that_bounds_carry)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    const uint64_t answers = (50 * 9 + 7) / 8, records = study_records_bytes(f->base, 0);
    assert_int_equal(study_upload_form(f->base, 0), 9);
    assert_int_equal(study_form_bytes(f->base, 0, 9), answers);
    assert_int_equal(study_form_bytes(f->base, 0, 0), records);
    assert_int_equal(study_form_bytes(f->base, 0, 8), 0);
    OK(parse_edit(f, "max_rows: 500", "max_rows: 500, as: records", &s));
    assert_int_equal(study_upload_form(s, 0), 0);
    assert_int_equal(study_form_bytes(s, 0, 0), records);
    assert_int_equal(study_form_bytes(s, 0, 9), 0);
    study_free(&s);
    /* more padding than a cell of counts could hold */
    OK(parse_edit(f, "max_rows: 500", "max_rows: 500, pad_to: 512", &s));
    assert_int_equal(study_form_bytes(s, 0, 0), 0);
    study_free(&s);
    OK(parse_edit(f, "max_rows: 500", "max_rows: 500, pad_to: 511", &s));
    assert_int_equal(study_form_bytes(s, 0, 0), study_records_bytes(s, 0));
    assert_true(study_form_bytes(s, 0, 0) > records);
}

/* No marginal of more than four columns can be sent as records, whoever asks for it. */
TEST(large_marginals_have_no_records)
{
    struct parse_fixture *f = *state;
    struct bytes b CLEAN(bytes_clear) = edited(base_text, "attributes: [age, ward]",
                                               "attributes: [age, ward, a, b, c]");
    struct bytes c CLEAN(bytes_clear) = edited(
        (const char *)b.data, "workload:",
        "  - {name: a, kind: integer, min: 0, max: 1}\n"
        "  - {name: b, kind: integer, min: 0, max: 1}\n"
        "  - {name: c, kind: integer, min: 0, max: 1}\nworkload:");
    struct bytes d CLEAN(bytes_clear) = edited((const char *)c.data, "max_rows: 300",
                                               "max_rows: 300, as: records");
    struct study *s = MADE_LAST(study, parse_text, f, (const char *)c.data);
    assert_int_equal(study_records_bytes(s, 0), UINT64_MAX);
    assert_false(s->owner[0].records);
    assert_int_equal(study_form_bytes(s, 0, 0), 0);
    study_free(&s);
    assert_int_equal(parse_text(f, (const char *)d.data, &s), ERR_STUDY);
    support_says(f->sink, "t.yaml:38:5: o1 cannot send records, since a marginal has more "
                          "than 4 attributes; use as: counts");
}

TEST(a_random_workload_is_the_same_for_its_seed)
{
    static const char list[] = "workload:\n  - {attributes: [age, ward], weight: 2}\n"
                               "  - {attributes: [bmi, dose]}\n";
    struct parse_fixture *f = *state;
    struct study *s[3];
    OK(parse_edit(f, list, "workload: {random: 2, count: 3, seed: 5}\n", &s[0]));
    OK(parse_edit(f, list, "workload: {seed: 5, count: 3, random: 2}\n", &s[1]));
    OK(parse_edit(f, list, "workload: {random: 2, count: 6, seed: 0}\n", &s[2]));
    assert_int_equal(s[0]->workload->cliques, 3);
    assert_int_equal(s[2]->workload->cliques, 6); /* all that exist */
    assert_memory_equal(s[0]->terms.digest, s[1]->terms.digest, 32);
    assert_memory_not_equal(s[0]->terms.digest, s[2]->terms.digest, 32);
    for (size_t i = 0; i < 3; i++)
        study_free(&s[i]);
}

/* The bounds of a table of this many cells, where one owner has up to 2^30 - 1 rows. */
static enum err bounds_of(struct parse_fixture *f, unsigned first, unsigned second,
                          const char *rounds, struct bounds **bounds)
{
    char domain[256];
    struct study *s CLEAN(study_free) = NULL;
    snprintf(domain, sizeof domain,
             "  - {name: big, kind: integer, min: 1, max: %u}\n"
             "  - {name: second, kind: integer, min: 1, max: %u}\nworkload:\n"
             "  - {attributes: [big, second]}\n",
             first, second);
    struct bytes b CLEAN(bytes_clear) = edited(base_text, "workload:\n", domain);
    struct bytes c CLEAN(bytes_clear) = edited((const char *)b.data, "max_rows: 500",
                                               "max_rows: 1073741823, as: counts");
    struct bytes d CLEAN(bytes_clear) = edited((const char *)c.data, "rounds: 4\n", rounds);
    OK(parse_text(f, (const char *)d.data, &s));
    return bounds_new(bounds, s, &f->log);
}

static void expect_too_much(struct parse_fixture *f, unsigned first, unsigned second,
                            const char *rounds, const char *words)
{
    struct bounds *bounds = NULL;
    assert_int_equal(bounds_of(f, first, second, rounds, &bounds), ERR_RANGE);
    assert_null(bounds);
    if (strstr(f->sink, words) == NULL)
        fail_msg("not \"%s\" but %s", words, f->sink);
}

/* Listed or not: a square's sensitivity and the width of scores follow from the sum. */
TEST(bounds_are_of_all_owners_that_may_come)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    uint64_t cell = 0, rows = 0;
    OK(parse_edit(f, "rounds: 4",
                  "rounds: 4\nmin_owners: 2\nopen_owners: {issuer: @9, max: 900, max_rows: 70}",
                  &s));
    struct bounds *b CLEAN(bounds_free) = MADE(bounds, bounds_new, s, &f->log);
    for (size_t i = 0; i < s->owners; i++) {
        cell += s->owner[i].records ? 0u : 511u; /* of 300 rows, and of 500 */
        rows += s->owner[i].records ? s->owner[i].pad_to : 0;
    }
    cell += s->open.each.records ? 0u : 900u * 127;
    rows += s->open.each.records ? 900u * 70 : 0u;
    assert_true(b->counts.counts == cell && b->counts.rows == rows);
    assert_true(cell + rows < UINT64_C(1) << b->counts.bits);
}

TEST(counts_that_the_arithmetic_cannot_carry_are_refused)
{
    /* 46 bits in the one cell of `second` */
    expect_too_much(*state, 65535, 1, "rounds: 4\n",
                    "counts could need 46 bits, more than the 40 carried; lower max_rows");
    expect_too_much(*state, 65535, 17, "rounds: 4\n",
                    "the marginal big could count up to 1073742123 in each of 1114095 cells");
}

/* A study from which no run could select is refused before anything is spent on one-ways. */
TEST(scores_that_the_arithmetic_cannot_carry_are_refused)
{
    struct bounds *b CLEAN(bounds_free) = NULL;
    expect_too_much(*state, 64, 64, "rounds: 4\n",
                    "scores of counts of up to 2^37 could need more than 63 bits");
    expect_too_much(*state, 512, 64, "rounds: 4\n", "scores need 64 bits even at the coarsest");
    expect_too_much(*state, 512, 64, "rounds: annealed\n", "a round is too small to weigh age");
    OK(bounds_of(*state, 32, 64, "rounds: 4\n", &b));
    assert_int_equal(b->counts.bits, 37);
    assert_int_equal(b->counts.room, 39); /* less than the arithmetic carries otherwise */
    bounds_free(&b);
    expect_too_much(*state, 1000, 1000, "rounds: sweeps 2\n",
                    "scores of counts of up to 2^40 could be more than the arithmetic carries");
    OK(bounds_of(*state, 500, 500, "rounds: sweeps 2\n", &b));
}

/* --- prices ----------------------------------------------------------------------------------- */

/* The study's limits at this epsilon. */
static struct ledger_limits limits_at(const struct study *study, double epsilon)
{
    struct study s = *study;
    struct ledger_limits limits = {0};
    s.epsilon = epsilon;
    OK(price_limits(&s, &limits, NULL));
    assert_true(limits.delta_slack <= 0.01 * s.delta);
    assert_true(limits.rho < epsilon); /* the proof of the selection's ratios needs it */
    return limits;
}

/* A candidate's delta is that of its Gumbel plus the chance that the opening fails. */
static void expect_candidate(const struct study *study, double factor, double tau)
{
    const struct ask_term t = price_slack(study).candidate;
    assert_true(t.factor == factor && t.tau == tau + 2 * 0x1p-64);
}

/*
 * A small epsilon is priced in total variation, a large one by ratios; there is a largest, and its
 * message gives it.
 */
TEST(slack_does_not_grow_with_a_large_epsilon)
{
    struct parse_fixture *f = *state;
    struct study s = *f->base, discrete = s;
    struct ledger_limits ignored;
    double limit, before = 0;
    char words[64];
    s.delta = 1e-6;
    s.rounds = 10;
    s.rows_per_person = 1;
    assert_true(price_slack(&s).marginal == tape_slack(NOISE_BOX_MULLER, NOISE_GAUSS).epsilon);
    assert_true(price_slack(&s).select == tape_slack(NOISE_BOX_MULLER, NOISE_GUMBEL).epsilon);
    expect_candidate(&s, 1 + tape_rounded_up(exp(s.epsilon)),
                     tape_slack(NOISE_BOX_MULLER, NOISE_GUMBEL).tau);
    for (double epsilon = 0.01; epsilon < 42.5; epsilon *= 1.3) {
        const struct ledger_limits limits = limits_at(&s, epsilon);
        assert_true(limits.rho > before);
        before = limits.rho;
    }
    limit = price_epsilon_limit(&s);
    assert_in_range((long)(10 * limit), 425, 427); /* 64 + ln(0.01 delta / 18) */
    limits_at(&s, limit);
    s.epsilon = limit + 0.2;
    f->log.buffer[0] = '\0';
    assert_int_equal(price_limits(&s, &ignored, &f->log), ERR_STUDY);
    snprintf(words, sizeof words, "noise circuits allow: at most %.1f with a delta of 1e-06",
             floor(10 * limit) / 10);
    if (strstr(f->sink, words) == NULL)
        fail_msg("not \"%s\" but %s", words, f->sink);
    s.epsilon = 40;
    assert_true(price_slack(&s).marginal == tape_ratio(NOISE_BOX_MULLER).epsilon);
    assert_true(price_slack(&s).select < 3e-4);
    expect_candidate(&s, 1, tape_select_ratio((double)s.workload->queries, sqrt(8 * 40)).tail);
    s.rows_per_person = 3;
    assert_true(price_epsilon_limit(&s) < limit - 1);
    discrete.delta = 1e-6;
    discrete.rounds = 10;
    discrete.noise = NOISE_DISCRETE;
    assert_true(price_epsilon_limit(&discrete) > 50);
    s.delta = 1e-15; /* so small that nothing is left for any epsilon */
    s.rounds = 1000;
    s.rows_per_person = 10000;
    assert_true(price_epsilon_limit(&s) < 15);
}

/* Of columns with four codes each, all marginals of so many. */
static struct workload *all_of(struct domain **d, size_t columns, unsigned of)
{
    OK(domain_new(d));
    for (size_t a = 0; a < columns; a++)
        OK(domain_add_integer(*d, (const char[]){(char)('a' + a), '\0'}, 0, 3, NULL, DOMAIN_REJECT,
                              NULL));
    struct workload *w = MADE(workload, workload_all, *d, of, NULL);
    return w;
}

/* Servers keep the whole budget; what rounds begin with leaves room for the end. */
TEST(an_assessment_is_set_aside)
{
    struct parse_fixture *f = *state;
    struct study *base CLEAN(study_free) = NULL, s;
    struct ledger_limits limits, whole;
    struct aim_options o;
    struct schedule start, with;
    OK(parse_text(f, base_text, &base));
    s = *base;
    struct price_noise noise = price_noise(&s);
    struct bounds *bounds CLEAN(bounds_free) = MADE(bounds, bounds_new, &s, &f->log);
    OK(price_schedule(&s, &start));
    s.assess = 0.2;
    OK(price_limits(&s, &whole, &f->log));
    limits = whole;
    assert_true(fabs(price_reserve(&s, &limits) - 0.2 * whole.rho) < 1e-12);
    OK(release_loop_options(&s, bounds, &o, &f->log));
    assert_true(o.limits.rho == limits.rho && fabs(o.assess + o.limits.rho - whole.rho) < 1e-12);
    OK(price_schedule(&s, &with));
    assert_true(aim_sigma(&o) == with.alone && with.alone > 1.1 * start.alone);
    assert_int_equal(price_noise(&s).gauss,
                     noise.gauss + 2 * (assess_pairs(s.workload) + assess_pairs(s.workload) % 2));
}

static const struct rounds_terms usual = {.rows = 10000,
                                          .rows_most = 10000,
                                          .epsilon = 1,
                                          .rho = 0.036,
                                          .accounting = ACCOUNTING_GAUSSIAN,
                                          .l1 = true,
                                          .exact = false};

static void expect_kind(const char *word, size_t columns, unsigned of, struct rounds_terms t)
{
    struct domain *d CLEAN(domain_free) = NULL;
    struct workload *w CLEAN(workload_free) = all_of(&d, columns, of);
    t.workload = w;
    struct rounds_choice c = rounds_choose(&t);
    assert_string_equal(rounds_word(&c).text, word);
    assert_int_equal(c.mib, c.sweeps >= 4 && w->queries <= 1000 ? 40 : c.sweeps > 0 ? 8 : 0);
}

#define KIND(word, columns, of, ...)                                                               \
    do {                                                                                           \
        struct rounds_terms t = usual;                                                             \
        __VA_ARGS__;                                                                               \
        expect_kind(word, columns, of, t);                                                         \
    } while (0)

TEST(auto_goes_by_the_noise_of_scores)
{
    KIND("sweeps 2", 9, 3, );                /* noise: 2.6 % of the rows */
    KIND("sweeps 4", 9, 3, t.rows = 20000);  /* 1.3 % */
    KIND("sweeps 5", 9, 3, t.rows = 40000);  /* 0.7 % */
    KIND("sweeps 5", 26, 3, t.rows = 1e6);   /* 0.1 %, but 2951 marginals */
    KIND("sweeps 1", 9, 3, t.rows = 1000);   /* 26 % */
    KIND("sweeps 1", 9, 3, t.rho = 0.00036); /* 26 % */
    KIND("sweeps 2", 9, 3, t.rows = 5000);   /* 5.2 %, but 3.1 of pairs alone */
    KIND("sweeps 1", 9, 2, t.rows = 2900);   /* 5.1 %, of pairs and no more */
    KIND("annealed", 60, 2, t.rows = 1000);  /* 95 %, and 1830 marginals */
    KIND("sweeps 1", 60, 2, t.rows = 3000);  /* 32 % */
    KIND("sweeps 1", 40, 2, t.rows = 300);   /* 210 %, but 820 marginals */
    KIND("annealed", 9, 4, t.rows = 1e6);    /* marginals of four */
}

TEST(auto_chooses_nothing_that_a_study_cannot_have)
{
    KIND("annealed", 9, 3, t.l1 = false);
    KIND("annealed", 26, 3, t.epsilon = 0.05); /* slack of 2951 scores and of a set */
    KIND("sweeps 2", 26, 3, t.epsilon = 0.05; t.exact = true);
    KIND("annealed", 9, 3, t.rows_most = 1e12);                     /* sums beyond 63 bits */
    KIND("10", 9, 3, t.rho = 1e-7; t.epsilon = 1e-3; t.l1 = false); /* selections lost in slack */
}

/* The terms hold what it stands for; what the file says of the model goes first. */
TEST(auto_is_what_it_stands_for)
{
    static const char *const rows[] = {"500", "20000", "20000, expected_rows: 400"};
    static const char *const word[] = {"sweeps 1", "sweeps 5", "sweeps 1"};
    struct parse_fixture *f = *state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct study *study CLEAN(study_free) = NULL, *same CLEAN(study_free) = NULL;
        char owner[96], rounds[64];
        snprintf(owner, sizeof owner, "max_rows: %s", rows[k]);
        snprintf(rounds, sizeof rounds, "rounds: %s", word[k]);
        struct bytes text CLEAN(bytes_clear) = edited(base_text, "max_rows: 500", owner);
        struct bytes by_rule CLEAN(bytes_clear) = edited((const char *)text.data, "rounds: 4",
                                                         "rounds: auto");
        struct bytes by_hand CLEAN(bytes_clear) = edited((const char *)text.data, "rounds: 4",
                                                         rounds);
        OK(parse_text(f, (const char *)by_rule.data, &study));
        OK(parse_text(f, (const char *)by_hand.data, &same));
        assert_true(study->rounds_auto && !same->rounds_auto);
        assert_string_equal(study_fingerprint(study).text, study_fingerprint(same).text);
        assert_int_equal(study->rounds, same->rounds);
        assert_int_equal(study->sweeps, same->sweeps);
        assert_int_equal(study->annealed, same->annealed);
        assert_int_equal(study->max_mib, 40);
        assert_int_equal(study->iterations, 50);
    }
}

/* With a slack for discrete noise, and a larger limit all the same. */
TEST(gaussian_terms_give_more)
{
    struct parse_fixture *f = *state;
    for (unsigned k = 0; k < 4; k++) {
        struct study s = *f->base;
        s.noise = k % 2 == 0 ? NOISE_DISCRETE : NOISE_BOX_MULLER;
        s.epsilon = k < 2 ? 1 : 20; /* charged by variation, by ratio */
        const double zcdp = limits_at(&s, s.epsilon).rho;
        struct ask_slack before = price_slack(&s);
        s.accounting = ACCOUNTING_GAUSSIAN;
        struct ask_slack after = price_slack(&s);
        assert_true(limits_at(&s, s.epsilon).rho > 1.05 * zcdp);
        assert_true(after.marginal - before.marginal == (k % 2 == 0 ? 0x1p-30 : 0));
        assert_true(after.select == before.select);
    }
}

/* If the first noise would be larger than any that is made, the message gives the least epsilon. */
TEST(an_epsilon_that_buys_no_noise_is_refused)
{
    struct parse_fixture *f = *state;
    struct study s = *f->base;
    double before = 0;
    s.delta = 1e-6;
    for (unsigned k = 0; k < 4; k++) {
        struct ledger_limits limits = {0};
        struct schedule start;
        uint64_t multiplier;
        s.annealed = k == 3;
        s.rounds = k == 3 ? 16 * (unsigned)s.workload->one_ways : 10u << 2 * k;
        const double least = price_epsilon_least(&s);
        assert_true(least > 1.5 * before || k == 3);
        before = least;
        s.epsilon = least;
        OK(price_check_noise(&s, NULL));
        OK(price_limits(&s, &limits, NULL));
        OK(price_schedule(&s, &start));
        OK(measure_multiplier(start.sigma, &multiplier, NULL));
        assert_in_range(multiplier, SCORE_MULTIPLIER_MIN, 1.01 * SCORE_MULTIPLIER_MIN);
        s.epsilon = 0.99 * least;
        f->log.buffer[0] = '\0';
        assert_int_equal(price_check_noise(&s, &f->log), ERR_STUDY);
        support_says(f->sink, "than the noise circuits allow: at least 0.0");
        s.epsilon = strtod(strstr(f->sink, "at least ") + 9, NULL);
        assert_in_range(1e6 * s.epsilon, 1e6 * least, 1.11e6 * least);
        OK(price_check_noise(&s, NULL));
    }
    s.epsilon = 1;
    s.rounds = 10;
    s.annealed = false;
    for (unsigned k = 0; k < 2; k++) { /* of either method */
        s.rows_per_person = 10000;
        f->log.buffer[0] = '\0';
        GIVES(price_check_noise(&s, &f->log), ERR_STUDY, f->sink, "lower rows_per_person");
        s.rows_per_person = 1;
        OK(price_check_noise(&s, NULL));
        s.method = STUDY_COPULA;
        s.rounds = 0;
    }
    s.epsilon = price_epsilon_least(&s);
    assert_true(s.epsilon > 0);
    OK(price_check_noise(&s, NULL));
    s.epsilon *= 0.99;
    assert_int_equal(price_check_noise(&s, NULL), ERR_STUDY);
}

MAIN(support_run_tests(setup, teardown))
