/* parties/study: what the digests of a study depend on, and what they do not. */
#include "tests/support/parse.h"

#include <sodium.h>

static bool same_terms(const struct study *a, const struct study *b)
{
    return memcmp(a->terms.digest, b->terms.digest, sizeof a->terms.digest) == 0;
}

TEST(the_parts_are_the_documented_ones)
{
    static const char *const names[] = {"study", "domain", "workload", "budget",
                                        "noise", "rounds", "bounds",   "servers"};
    struct parse_fixture *f = *state;
    assert_int_equal(f->base->terms.parts, 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(f->base->terms.part[i].name, names[i]);
}

static const struct {
    const char *find, *replace, *changes;
} changes[] = {
    {"study: test", "study: test2", "study"},
    {"    min: 0\n", "    min: 1\n", "domain"},
    {"    max: 9\n", "    max: 8\n", "domain"},
    {"    outside: clip", "    outside: error", "domain"},
    {"    outside: clip", "    outside: clip\n    missing: \"\"", "domain"},
    {"    outside: clip", "    outside: missing\n    missing: \"\"", "domain"},
    {"values: [a, b, c]", "values: [a, b, d]", "domain"},
    {"values: [a, b, c]", "values: [b, a, c]", "domain"},
    {"values: [a, b, c]", "values: [a, b]", "domain"},
    {"missing: \"?\"", "missing: \"\"", "domain"},
    {"    missing: \"?\"\n", "", "domain"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.25, 3]", "domain"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 3, 4]", "domain"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 3]\n    step: 0.1", "domain"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 3]\n    spikes: [0]", "domain"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 3]\n    tail: exponential", "domain"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 3]\n    tail: {typical: 2}", "domain"},
    {"missing: \"?\"", "missing: [\"?\"]", ""},
    {"missing: \"?\"", "missing: \"?\"\n    write: \"?\"", ""},
    {"missing: \"?\"", "missing: [\"?\", \"\"]", "domain"},
    {"missing: \"?\"", "missing: \"?\"\n    write: \"\"", "domain"},
    {"    max: 9", "    max: 9\n    bins: 10", "domain"},
    {"    min: 10", "    min: 9", "domain"},
    {"    max: 20", "    max: 21", "domain"},
    {"    bins: 5", "    bins: 6", "domain"},
    {"workload:", "impossible:\n  - {age: 1, ward: a}\nworkload:", "domain"},
    {"[age, ward]", "[age, ward, bmi]", "workload"},
    {"weight: 2", "weight: 2.5", "workload"},
    {"[bmi, dose]", "[bmi, dose], weight: 3", "workload"},
    {"epsilon: 1\n", "epsilon: 1.0000001\n", "budget"},
    {"delta: 1e-6", "delta: 1.1e-6", "budget"},
    {"rows_per_person: 2", "rows_per_person: 3", "budget"},
    {"rows_per_person: 2", "rows_per_person: 2\n  enforce_person: false", ""},
    {"rows_per_person: 2", "rows_per_person: 2\n  accounting: gaussian", "budget"},
    {"rows_per_person: 2", "rows_per_person: 2\n  accounting: zcdp", ""},
    {"noise: box-muller", "noise: discrete", "noise"},
    {"rounds: 4", "rounds: annealed", "rounds"},
    {"rounds: 4", "rounds: 5", "rounds"},
    {"rounds: 4", "rounds: sweeps", "rounds"},
    {"rounds: 4", "rounds: 4\nassess: 0.05", "rounds"},
    {"rounds: 4", "rounds: auto", "rounds"},
    {"rounds: 4", "method: aim\nrounds: 4", ""},
    {"rounds: 4", "method: copula", "rounds"},
    {"rounds: 4", "method: copula\ncopula: {clip: 2}", "rounds"},
    {"rounds: 4", "method: copula\ncopula: {share: 0.25}", "rounds"},
    {"rounds: 4", "rounds: 4\nscore: l2", "rounds"},
    {"rounds: 4", "rounds: 4\nsecurity: abort", "servers"},
    {"name: s0", "name: sx", "servers"},
    {"key: @0", "key: @9", "servers roster"},
    {"tcp://here:7100", "tcp://there:7100", "roster"},
    {"tcp://here:7100", "tcp://here:7090", "roster"},
    {"key: @0", "key: @0, ranks: [calc1, calc2]", "roster"},
    {"name: o0", "name: ox", "bounds"},
    {"max_rows: 500", "max_rows: 501", "bounds"},
    {"max_rows: 500", "max_rows: 500, min_rows: 1", "bounds"},
    {"max_rows: 500", "max_rows: 500, min_rows: 0", ""},
    {"max_rows: 500", "max_rows: 500, pad_to: 501", "bounds"},
    {"max_rows: 500", "max_rows: 500, as: records", "bounds"},
    {"study: test", "study: test\ncolumns_from: a codebook", "domain"},
    {"study: test", "study: test\ntitle: Falls", "study"},
    {"study: test", "study: test\ndescription: Falls", "study"},
    {"study: test", "study: test\npurpose: research", "study"},
    {"study: test", "study: test\nlicence: CC-BY-4.0", "study"},
    {"study: test", "study: test\ncontact: data@example.org", "study"},
    {"max_rows: 500", "max_rows: 500, expected_rows: 400", "roster"},
    {"rounds: 4", "rounds: 4\nroster: 2", "roster"},
    {"rounds: 4", "rounds: 4\nrevoked: [@9]", "roster"},
    {"rounds: 4", "rounds: 4\nrevoked: [@3]", "roster"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [age, ward, bmi, dose]", ""},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [age, ward, bmi, dose], rows: 400",
     "roster"},
    {"rounds: 4", "rounds: 4\nmin_owners: 2", ""},
    {"rounds: 4", "rounds: 4\nmin_owners: 1", "bounds"},
    {"rounds: 4", "rounds: 4\nlate_uploads: join", "bounds"},
    {"rounds: 4", "rounds: 4\nlate_uploads: wait", ""},
    {"key: @3", "key: @9", "roster"},
    {"  - {name: o1, max_rows: 300, key: @4}\n", "", "bounds roster"},
    {"name: a0", "name: ax", "roster"},
    {"key: @5", "key: @9", "roster"},
    {"{name: a0, key: @5}", "{name: a0, key: @5}\n  - {name: a1, key: @9}", "roster"},
    {"connect: 10", "connect: 11", "roster"},
    {"round: 20", "round: 21", "roster"},
    {"round: 20", "round: 20\n  uploads: 2030-12-01T18:00:00Z", "roster"},
    {"rounds: 4", "rounds: 4\nretain_days: 30", "study"},
    {"max_mib: 40", "max_mib: 41", "roster"},
    {"  iterations: 50", "  iterations: 51", "roster"},
    {"final_iterations: 60", "final_iterations: 61", "roster"},
    {"final_iterations: 60", "final_iterations: 60\n  apart: [age]", "roster"},
    {"rounds: 4", "rounds: 4\nmin_owners: 2\nopen_owners: {issuer: @9, max: 9}", "bounds roster"},
};

TEST(any_value_changes_its_part)
{
    struct parse_fixture *f = *state;
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct study *s CLEAN(study_free) = NULL;
        char got[256];
        OK(parse_edit(f, changes[i].find, changes[i].replace, &s));
        differing(f->base, s, got, sizeof got);
        bool terms = changes[i].changes[0] != '\0' && strcmp(changes[i].changes, "roster") != 0;
        if (strcmp(got, changes[i].changes) != 0 || same_terms(f->base, s) == terms) {
            print_error("\"%s\" -> \"%s\": %s differs, not %s\n", changes[i].find,
                        changes[i].replace, got, changes[i].changes);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* A name that occurs twice cannot be edited by one replacement. */
TEST(an_attributes_name_changes_the_domain)
{
    struct parse_fixture *f = *state;
    struct bytes b CLEAN(bytes_clear) = edited(base_text, "name: age", "name: old");
    struct bytes c CLEAN(bytes_clear) = edited((const char *)b.data, "[age, ward]", "[old, ward]");
    char got[256];
    struct study *s CLEAN(study_free) = MADE_LAST(study, parse_text, f, (const char *)c.data);
    differing(f->base, s, got, sizeof got);
    assert_string_equal(got, "domain");
}

TEST(a_new_curve_key_is_a_matter_of_the_roster)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    uint8_t message[15 + 32];
    char got[256], key[IDENTITY_TEXT_SIZE], edit[IDENTITY_TEXT_SIZE + 8];
    struct public_identity mixed = f->identity[0]->public;
    memcpy(mixed.curve, f->identity[9]->public.curve, 32);
    memcpy(message, "trefoil-curve-1", 15);
    memcpy(message + 15, mixed.curve, 32);
    crypto_sign_detached(mixed.signature, NULL, message, sizeof message,
                         f->identity[0]->sign_secret);
    public_identity_text(&mixed, key);
    snprintf(edit, sizeof edit, "key: %s", key);
    struct bytes text CLEAN(bytes_clear) = edited(base_text, "key: @0", edit);
    OK(parse_text(f, (const char *)text.data, &s));
    differing(f->base, s, got, sizeof got);
    assert_string_equal(got, "roster");
}

static const struct {
    const char *find, *replace;
} same[] = {
    {"study: test", "# a comment\nstudy: test # another"},
    {"study: test", "study: \"test\""},
    {"study: test", "---\nstudy: 'test'"},
    {"study: test", "\xef\xbb\xbfstudy: test"},
    {"    kind: integer\n    min: 0\n    max: 9\n", "    max: 9\n    min: 0\n    kind: integer\n"},
    {"  - name: bmi\n    kind: numeric\n    edges: [0, 1.5, 3]\n",
     "  - {edges: [0.0, 15e-1, +3.], name: bmi, kind: numeric}\n"},
    {"    edges: [0, 1.5, 3]", "    edges:\n      - -0.0\n      - 1.5\n      - 3\n"},
    {"    edges: [0, 1.5, 3]", "    min: 0\n    max: 3\n    bins: 2"},
    {"    edges: [0, 1.5, 3]", "    edges: [0, 1.5, 3]\n    outside: clip"},
    {"    missing: \"?\"", "    missing: \"?\"\n    outside: missing"},
    {"    outside: clip\n", ""},
    {"values: [a, b, c]", "values: ['a', b, \"c\"]"},
    {"[age, ward], weight: 2", "[ward, age], weight: 2.0"},
    {"[bmi, dose]", "[bmi, dose], weight: 1"},
    {"  - {attributes: [age, ward], weight: 2}\n  - {attributes: [bmi, dose]}\n",
     "  - {attributes: [bmi, dose]}\n  - {weight: 2, attributes: [age, ward]}\n"},
    {"epsilon: 1\n", "epsilon: 1.000\n"},
    {"delta: 1e-6", "delta: 0.000001"},
    {"  epsilon: 1\n  delta: 1e-6\n", "  delta: 1E-06\n  epsilon: +1\n"},
    {"noise: box-muller\n", ""},
    {"noise: box-muller\n", "noise: box-muller\nscore: l1\n"},
    {"noise: box-muller\n", "noise: box-muller\nsecurity: semi-honest\n"},
    {"rounds: 4\n", "rounds:\n    4\n"},
    {"name: o0, max_rows: 500, key: @3", "key: @3, max_rows: 500, name: o0"},
    {"tcp://here:7100", "'tcp://here:7100'"},
    {"deadlines:\n  connect: 10\n  round: 20\n", "deadlines: {round: 20, connect: 10}\n"},
    {"max_rows: 500", "max_rows: 500, pad_to: 500, as: auto"},
    {"max_rows: 500", "max_rows: 500, as: counts"},
    {"max_rows: 500", "max_rows: 500, as: answers"}, /* the old word */
    {"rounds: 4", "rounds: 4\nroster: 1\nrevoked: []"},
    {"rounds: 4", "rounds: 4\nsignatures: {}"},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: " SIGNATURE "}"},
};

TEST(writing_it_otherwise_changes_nothing)
{
    struct parse_fixture *f = *state;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        struct study *s CLEAN(study_free) = NULL;
        char got[256];
        if (parse_edit(f, same[i].find, same[i].replace, &s) != ERR_OK)
            fail_msg("\"%s\": %s", same[i].replace, f->sink);
        differing(f->base, s, got, sizeof got);
        if (got[0] != '\0' || !same_terms(f->base, s))
            fail_msg("\"%s\" -> \"%s\": %s differs", same[i].find, same[i].replace, got);
    }
}

TEST(line_ends_and_top_order_change_nothing)
{
    struct parse_fixture *f = *state;
    struct bytes b CLEAN(bytes_clear) = {0};
    const char *rounds = strstr(base_text, "rounds: 4\n");
    size_t before = (size_t)(rounds - base_text);
    /* `rounds` first, and CRLF throughout */
    bytes_put(&b, "rounds: 4\r\n", 11);
    for (size_t i = 0; i < sizeof base_text; i++) {
        if (i >= before && i < before + 10)
            continue;
        if (base_text[i] == '\n')
            bytes_put_u8(&b, '\r');
        bytes_put_u8(&b, (uint8_t)base_text[i]);
    }
    struct study *s CLEAN(study_free) = MADE_LAST(study, parse_text, f, (const char *)b.data);
    assert_true(same_terms(f->base, s));
    assert_true(same_roster(f->base, s));
}

TEST(a_domain_as_mapping_is_ordered_by_name)
{
    static const char a[] =
        "  b: {kind: integer, min: 0, max: 1}\n  a: {kind: categorical, values: [x]}\n";
    static const char b[] =
        "  a: {values: [x], kind: categorical}\n  b: {kind: integer, min: 0, max: 1}\n";
    static const char c[] = "  - {name: a, kind: categorical, values: [x]}\n"
                            "  - {name: b, kind: integer, min: 0, max: 1}\n";
    const char *const forms[] = {a, b, c};
    struct parse_fixture *f = *state;
    struct study *s[3];
    for (int i = 0; i < 3; i++) {
        struct bytes text CLEAN(bytes_clear) = {0};
        const char *rest = strstr(base_text, "budget:");
        bytes_put(&text, "study: x\nworkload: {all: 2}\ndomain:\n", 36);
        bytes_put(&text, forms[i], strlen(forms[i]));
        bytes_put(&text, rest, strlen(rest) + 1);
        OK(parse_text(f, (const char *)text.data, &s[i]));
        assert_string_equal(s[i]->domain->attribute[0].name, "a");
        assert_true(same_terms(s[0], s[i]));
    }
    for (int i = 0; i < 3; i++)
        study_free(&s[i]);
}

TEST(the_fingerprint_is_of_the_terms)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    const struct words_text a = study_fingerprint(f->base);
    assert_int_equal(strlen(a.text), 35);
    OK(parse_edit(f, "connect: 10", "connect: 11", &s));
    const struct words_text b = study_fingerprint(s);
    assert_string_equal(a.text, b.text);
    study_free(&s);
    OK(parse_edit(f, "rounds: 4", "rounds: 5", &s));
    assert_string_not_equal(a.text, study_fingerprint(s).text);
}

/* How many owners may join, and with what, are terms; whose tokens are valid is roster. */
TEST(open_owners_are_terms_and_their_tokens_roster)
{
    static const struct {
        const char *open, *changes;
    } others[] = {
        {"{issuer: @9, max: 9, max_rows: 1, revoked: []}", ""}, {"{issuer: @9, max: 8}", "bounds"},
        {"{issuer: @9, max: 9, max_rows: 2}", "bounds"},        {"{issuer: @8, max: 9}", "roster"},
        {"{issuer: @9, max: 9, revoked: [3]}", "roster"},
    };
    struct parse_fixture *f = *state;
    struct study *base CLEAN(study_free) = NULL;
    static const char before[] = "rounds: 4\nmin_owners: 2\nopen_owners: ";
    OK(parse_edit(f, "rounds: 4", "rounds: 4\nmin_owners: 2\nopen_owners: {issuer: @9, max: 9}",
                  &base));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[256], got[256];
        snprintf(text, sizeof text, "%s%s", before, others[i].open);
        struct study *s CLEAN(study_free) = MADE_LAST(study, parse_edit, f, "rounds: 4", text);
        differing(base, s, got, sizeof got);
        assert_string_equal(got, others[i].changes);
    }
}

MAIN(support_run_tests(setup, teardown))
