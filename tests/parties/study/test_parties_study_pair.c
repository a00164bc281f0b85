/* parties/study: a study with a provider and a keeper: its terms, and what does not go with it. */
#include "tests/support/parse.h"

#include "parties/exchange/price.h"
#include "parties/study/study_setting.h"
#include "parties/study/study_uploads.h"

static const char three[] = "servers:\n"
                            "  - {name: s0, endpoint: tcp://here:7100, key: @0}\n"
                            "  - {name: s1, endpoint: tcp://here:7110, key: @1}\n"
                            "  - {name: s2, endpoint: \"tcp://[::1]:7100\", key: @2}\n";
static const char two[] = "provider: {name: s0, endpoint: tcp://here:7100, key: @0}\n"
                          "keeper: {name: s1, endpoint: tcp://here:7110, key: @1}\n";

/* base_text with two servers, and a method that these have; and then another edit, if any. */
static struct bytes text_of_two(const char *find, const char *replace)
{
    static const char *const edit[][2] = {
        {three, two}, {"noise: box-muller\n", ""}, {"rounds: 4\n", "method: copula\n"}};
    struct bytes b CLEAN(bytes_clear) = edited(base_text, "study: test", "study: test");
    for (size_t i = 0; i < sizeof edit / sizeof *edit; i++) {
        struct bytes next = edited((const char *)b.data, edit[i][0], edit[i][1]);
        bytes_clear(&b);
        b = next;
    }
    return edited((const char *)b.data, find, replace);
}

static enum err parse_two(struct parse_fixture *f, const char *find, const char *replace,
                          struct study **s)
{
    struct bytes b CLEAN(bytes_clear) = text_of_two(find, replace);
    f->sink[0] = '\0';
    return parse_text(f, (const char *)b.data, s);
}

TEST(a_provider_and_a_keeper_take_the_place_of_servers)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    OK(parse_two(f, "study: test", "study: test", &s));
    assert_int_equal(s->servers, 2);
    assert_string_equal(s->server[0].name, "s0");
    assert_string_equal(s->server[1].name, "s1");
    assert_int_equal(s->server[1].port, 7110);
    assert_int_equal(s->noise_by, NOISE_BY_JOINT);
    assert_int_equal(s->noise, NOISE_DISCRETE);
    assert_string_equal(study_setting(s)->all, "both");
    for (size_t i = 0; i < s->owners; i++) {
        assert_false(s->owner[i].records);
        assert_int_equal(study_upload_form(s, i), UPLOAD_WORDS);
        assert_int_equal(study_upload_bytes(s, i), 8 * s->workload->maximal_cells);
        assert_int_equal(study_form_bytes(s, i, UPLOAD_RECORDS), 0);
        assert_int_equal(study_form_bytes(s, i, s->owner[i].bits), 0);
    }
}

/* Defaults written out change no terms; who is which does. */
TEST(terms_say_who_is_the_provider)
{
    static const struct {
        const char *find, *replace, *differ;
    } cases[] = {
        {"study: test\n", "study: test\nnoise_by: joint\nnoise: discrete\n", ""},
        {"study: test\n", "study: test\nsecurity: semi-honest\n", ""},
        {"study: test\n", "study: test\nnoise_by: both\n", "noise"},
        {"provider: {name: s0", "provider: {name: other", "servers"},
    };
    struct parse_fixture *f = *state;
    struct study *other = NULL, *s CLEAN(study_free) = NULL, *turned CLEAN(study_free) = NULL;
    char text[256];
    struct bytes b CLEAN(bytes_clear) = text_of_two(
        two, "keeper: {name: s0, endpoint: tcp://here:7100, key: @0}\n"
             "provider: {name: s1, endpoint: tcp://here:7110, key: @1}\n");
    OK(parse_two(f, "study: test", "study: test", &s));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(parse_two(f, cases[i].find, cases[i].replace, &other));
        differing(s, other, text, sizeof text);
        assert_string_equal(text, cases[i].differ);
        study_free(&other);
    }
    OK(parse_text(f, (const char *)b.data, &turned));
    differing(s, turned, text, sizeof text);
    assert_true(strstr(text, "servers") != NULL);
}

/* In the place of the second owner, others whom tokens admit. */
#define SECOND "  - {name: o1, max_rows: 300, key: @4}\n"
#define OPEN "min_owners: 1\nopen_owners: {issuer: @7, max: 5, max_rows: 2}\n"

/* Each is refused with advice, and nothing else is said. */
TEST(what_needs_three_servers_is_refused)
{
    static const struct {
        const char *find, *replace, *words;
    } cases[] = {
        {"study: test\n", "study: test\nsecurity: abort\n", "write semi-honest, or have three"},
        {"study: test\n", "study: test\nnoise: box-muller\n", "write discrete, or leave"},
        {"study: test\n", "study: test\nnoise_by: all\n", "it may be: both"},
        {"study: test\n", "study: test\nnoise_by: owner\n", "of one owner does the owner make it"},
        {"study: test\n", "study: test\nservers: []\n", "three servers, or a provider and a"},
        {"keeper: {name: s1, endpoint: tcp://here:7110, key: @1}\n", "",
         "lacks the key \"keeper\""},
        {"provider: {name: s0, endpoint: tcp://here:7100, key: @0}\n", "",
         "lacks the key \"provider\""},
        {"method: copula\n", "rounds: 4\n", ""},
        {"method: copula\n", "rounds: sweeps\n", ""},
        {"method: copula\n", "rounds: 4\nscore: l2\n", "write l1, or leave this key out"},
        {SECOND, "noise_by: both\n" OPEN, ""},
        {SECOND, "noise_by: owner\n" OPEN, "of one owner does the owner make it"},
        {SECOND, "score: l2\n" OPEN, "write l1, or leave this key out"},
        {"key: @0}\n", "key: @0, ranks: [there]}\n", "run on one machine each: take ranks out"},
        {"max_rows: 500", "max_rows: 500, as: records", ""},
        {"max_rows: 500", "max_rows: 500, as: records, pad_to: 2000000", "take more than 268"},
        {"max_rows: 500", "max_rows: 500, batch: b, columns: [age, ward, bmi, dose]", ""},
        {"o0, max_rows: 500, key: @3}",
         "o0, max_rows: 300, batch: b, columns: [age, ward], key: @3}\n"
         "  - {name: o2, max_rows: 300, batch: b, columns: [bmi, dose], key: @6}",
         "each owner needs all columns"},
        {"rows_per_person: 2\n",
         "rows_per_person: 2\n  enforce_person: true\nperson: {columns: [who]}\n",
         "take enforce_person out"},
        {"rows_per_person: 2\n", "rows_per_person: 2\nperson: {columns: [who]}\nlink: true\n",
         "take this key out, or have three servers"},
    };
    struct parse_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct study *s CLEAN(study_free) = NULL;
        const bool good = cases[i].words[0] == '\0';
        assert_int_equal(parse_two(f, cases[i].find, cases[i].replace, &s),
                         good ? ERR_OK : ERR_STUDY);
        support_says(f->sink, cases[i].words);
    }
}

/* Their length follows from the study; a single column is counted with one that is always 0. */
TEST(records_of_two_are_encrypted)
{
    static const char *const edit[][2] = {
        {"max_rows: 500", "max_rows: 500, as: records"},
        {"method: copula\n", "rounds: 4\n"},
        {"[bmi, dose]}\n", "[bmi]}\n  - {attributes: [dose]}\n"},
        {"attributes: [age, ward]", "attributes: [age, ward, bmi]"},
    };
    struct parse_fixture *f = *state;
    struct bytes b CLEAN(bytes_clear) = text_of_two("study: test", "study: test");
    struct study *s = NULL;
    for (size_t i = 0; i < sizeof edit / sizeof *edit; i++) {
        struct bytes next = edited((const char *)b.data, edit[i][0], edit[i][1]);
        const bool good = i + 1 < sizeof edit / sizeof *edit;
        size_t o = 0;
        bytes_clear(&b);
        b = next;
        assert_int_equal(parse_text(f, (const char *)b.data, &s), good ? ERR_OK : ERR_STUDY);
        if (!good)
            break;
        while (!s->owner[o].records)
            o++;
        assert_int_equal(study_upload_form(s, o), UPLOAD_ENCRYPTED);
        assert_int_equal(study_encrypted_codes(s), i < 2 ? 4 : 5);
        assert_int_equal(study_upload_bytes(s, o) % LATTICE_POLY_SIZE, LATTICE_SEED);
        assert_int_equal(study_upload_bytes(s, o), study_form_bytes(s, o, UPLOAD_ENCRYPTED));
        assert_int_equal(study_form_bytes(s, o, UPLOAD_WORDS), 0);
        assert_int_equal(study_form_bytes(s, o, UPLOAD_RECORDS), 0);
        assert_true(study_counts_pairs(s));
        study_free(&s);
    }
    support_says(f->sink, "counts encrypted rows in pairs of columns, and a marginal has 3");
}

TEST(noise_by_is_for_two)
{
    struct parse_fixture *f = *state;
    struct study *s = NULL;
    assert_int_equal(parse_edit(f, "rounds: 4\n", "rounds: 4\nnoise_by: both\n", &s), ERR_STUDY);
    support_says(f->sink, "three servers make it together");
    /* and who asks for both kinds of servers is told so */
    assert_int_equal(parse_edit(f, "rounds: 4\n", "rounds: 4\nkeeper: {name: k}\n", &s), ERR_STUDY);
    support_says(f->sink, "lacks the key \"provider\"");
}

/* Own noise is exact; what is not is charged, for both accountings. */
static void check_slack(const struct study *study, enum noise_by by, bool gaussian)
{
    struct study s = *study;
    s.noise_by = by;
    s.accounting = gaussian ? ACCOUNTING_GAUSSIAN : ACCOUNTING_ZCDP;
    const struct ask_slack slack = price_slack(&s);
    const double factor = 1 + exp(s.epsilon);
    assert_true(slack.marginal == (gaussian ? 0x1p-30 : 0));
    /* each ln p is off by twice a Gumbel's error at most, which is 2^-24, under either table */
    assert_true(slack.select >= 8 * 0x1p-24 && slack.select < 9 * 0x1p-24);
    assert_true(slack.measured.tau == (by == NOISE_BY_JOINT ? 0x1p-63 : 0));
    assert_true(slack.measured.factor >= factor && slack.candidate.factor >= factor);
    assert_true(slack.candidate.tau >= 0x1p-103 + 0x1p-109);
}

/* What the keeper decrypts of an owner's rows, eight times; of a person's, k times as much. */
static void check_rows_slack(const struct study *study)
{
    struct study s = *study;
    struct study_encrypted e = {0};
    for (size_t o = 0; o < s.owners; o++)
        e = s.owner[o].encrypted.results > 0 ? s.owner[o].encrypted : e;
    assert_true(e.results > 0);
    for (s.rows_per_person = 1; s.rows_per_person < 200; s.rows_per_person += 37)
        for (s.epsilon = 0.1; s.epsilon < 10; s.epsilon *= 3) {
            const double least = 8 * (1 + exp(s.epsilon)) * s.rows_per_person * (double)e.results *
                                 sqrt((double)e.blocks) * 0x1p-59;
            const double charged = price_rows_slack(&s);
            assert_true(charged >= least * (1 - 1e-12) && charged < 1.001 * least);
        }
}

TEST(what_two_servers_cannot_make_exactly_is_charged)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    OK(parse_two(f, "max_rows: 500", "max_rows: 500, as: records", &s));
    for (unsigned k = 0; k < 6; k++)
        check_slack(s, (enum noise_by)(NOISE_BY_BOTH + k / 2), k % 2 == 1);
    check_rows_slack(s);
}

MAIN(support_run_tests(setup, teardown))
