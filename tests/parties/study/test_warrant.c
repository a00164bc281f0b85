/*
 * Warrants: one text each, what approvers sign, what is good for whom; the keys of the study; and
 * what an audit says of a log that opens something without one.
 */
#include "harness/cmocka.h"

#include "base/date.h"
#include "harness/study.h"
#include "parties/study/roster.h"
#include "parties/study/warrant.h"

#define APPROVERS 3

static char logged[4096];

struct warrant_scene {
    struct support_study s;
    struct identity *approver[APPROVERS];
    struct study *study; /* at least 2 of 3 */
    struct warrant w;    /* by the first two */
    struct log log;
};

/* The study with this in its file before `analysts`, where %0 to %2 are keys of approvers. */
static enum err load(struct warrant_scene *c, const char *lines, struct study **study)
{
    struct bytes text CLEAN(bytes_clear) = {0}, file CLEAN(bytes_clear) = {0};
    logged[0] = '\0';
    OK(file_read(c->s.path, 1 << 20, &file, NULL));
    bytes_put_u8(&file, 0);
    OK(bytes_ok(&file));
    const char *at = strstr((char *)file.data, "analysts:\n");
    assert_non_null(at);
    bytes_put(&text, file.data, (size_t)(at - (char *)file.data));
    for (const char *p = lines; *p != '\0'; p++)
        if (*p == '%') {
            char key[IDENTITY_TEXT_SIZE];
            public_identity_text(&c->approver[*++p - '0']->public, key);
            bytes_put_text(&text, key);
        } else {
            bytes_put_u8(&text, (uint8_t)*p);
        }
    bytes_put_text(&text, at);
    OK(bytes_ok(&text));
    return study_parse(study, "study.yaml", text.data, text.size, &c->log);
}

#define PEOPLE "[{name: p0, key: %0}, {name: p1, key: %1}, {name: p2, key: %2}]"

static struct warrant_scene scene_new(void)
{
    struct warrant_scene c = {
        .log = {.buffer = logged, .buffer_size = sizeof logged, .level = LOG_ERROR}};
    logged[0] = '\0';
    c.s = STUDY(&quiet, .owners = 1);
    for (unsigned i = 0; i < APPROVERS; i++)
        OK(identity_new(&c.approver[i], &quiet));
    OK(load(&c, "approvers: {at_least: 2, people: " PEOPLE "}\n", &c.study));
    c.w = (struct warrant){.share = 500000,
                           .purpose = "Wards, \xc3\xbc"
                                      "ber 2026"};
    memcpy(c.w.terms, c.study->terms.digest, 32);
    memcpy(c.w.analyst, c.study->analyst[0].key.sign, 32);
    assert_true(date_parse_day("2026-12-31", &c.w.last_day));
    for (unsigned i = 0; i < 2; i++)
        OK(warrant_sign(&c.w, c.study, c.approver[i], &c.log));
    return c;
}

static void scene_free(struct warrant_scene *c)
{
    for (unsigned i = 0; i < APPROVERS; i++)
        identity_free(&c->approver[i]);
    study_free(&c->study);
    support_study_free(&c->s);
}

static enum err check(struct warrant_scene *c, const struct study *study)
{
    logged[0] = '\0';
    return warrant_check(&c->w, study, study->analyst[0].key.sign, &c->log);
}

/* --- its text --------------------------------------------------------------------------------- */

static void text_of(const struct warrant *w, struct bytes *text)
{
    bytes_clear(text);
    OK(warrant_write(w, text));
}

TEST(a_warrant_is_one_text)
{
    struct warrant_scene c CLEAN(scene_free) = scene_new();
    struct warrant back;
    struct bytes text CLEAN(bytes_clear) = {0}, again CLEAN(bytes_clear) = {0};
    text_of(&c.w, &text);
    OK(warrant_parse(&back, text.data, text.size));
    text_of(&back, &again);
    SAME_BYTES(&again, text.data, text.size);
    for (size_t i = 0; i < text.size; i++) { /* cut anywhere but after a signature, or altered */
        const bool whole = text.data[i] == '\n' && i + 1 > text.size - 2 * 120;
        const enum err e = warrant_parse(&back, text.data, i + 1);
        assert_true(i + 1 == text.size || whole ? e == ERR_OK || e == ERR_FORMAT : e == ERR_FORMAT);
        text.data[i] ^= 1;
        if (warrant_parse(&back, text.data, text.size) == ERR_OK) {
            c.w = back;
            assert_int_equal(check(&c, c.study), ERR_REFUSED);
        }
        text.data[i] ^= 1;
    }
}

TEST(other_texts_are_refused)
{
    static const char *const edits[][2] = {{"trefoil-warrant-1\n", "trefoil-warrant-1 \n"},
                                           {"share 50.0000 %", "share 50.00000 %"},
                                           {"share 50.0000 %", "share 050.0000 %"},
                                           {"share 50.0000 %", "share 0.0000 %"},
                                           {"share 50.0000 %", "share 100.0001 %"},
                                           {"until 2026-12-31", "until 2026-12-32"},
                                           {"until 2026-12-31", "until 2026-12-31 "},
                                           {"purpose Wards", "purpose Wa|ds"},
                                           {"purpose Wards", "purpose Wa\x1b[1mds"},
                                           {"purpose Wards", "purpose Wa\xe2\x80\xae"
                                                             "ds"},
                                           {"purpose Wards", "purpose Wa\xe2\x81\xa7"
                                                             "ds"},
                                           {"purpose Wards", "purpose Wa\xe2\x80\xa8"
                                                             "ds"},
                                           {"purpose Wards", "purpose Wa\xe2\x80\x8f"
                                                             "ds"},
                                           {"purpose Wards", "purpose Wa\xd8\x9c"
                                                             "ds"},
                                           {"signed p1", "signed p0"},
                                           {"signed p1", "signed P1"},
                                           {"\nterms ", "\nTerms "}};
    struct warrant_scene c CLEAN(scene_free) = scene_new();
    struct warrant back;
    struct bytes text CLEAN(bytes_clear) = {0};
    text_of(&c.w, &text);
    OK(file_write(file(&c, "w"), 0644, text.data, text.size, &quiet));
    for (size_t k = 0; k < sizeof edits / sizeof *edits; k++) {
        struct bytes other CLEAN(bytes_clear) = {0};
        bytes_put_u8(&text, 0);
        text.size--;
        const char *at = strstr((char *)text.data, edits[k][0]);
        assert_non_null(at);
        bytes_put(&other, text.data, (size_t)(at - (char *)text.data));
        bytes_put_text(&other, edits[k][1]);
        bytes_put_text(&other, at + strlen(edits[k][0]));
        assert_int_equal(warrant_parse(&back, other.data, other.size), ERR_FORMAT);
    }
    text.data[16] = '2';
    assert_int_equal(warrant_parse(&back, text.data, text.size), ERR_MISMATCH);
    OK(warrant_load(&back, file(&c, "w"), &c.log));
}

/* --- who may sign what ------------------------------------------------------------------------ */

TEST(only_so_many_approvers_permit)
{
    struct warrant_scene c CLEAN(scene_free) = scene_new();
    const struct warrant good = c.w;
    OK(check(&c, c.study));
    assert_int_equal(warrant_check(&c.w, c.study, c.approver[0]->public.sign, &c.log), ERR_REFUSED);
    support_says(logged, "for another analyst's key");
    c.w.signatures = 1;
    assert_int_equal(check(&c, c.study), ERR_REFUSED);
    support_says(logged, "1 of the 2 signatures that the study asks for; not by p1, p2");
    c.w = good; /* one key's signature under two names */
    memcpy(c.w.signature[1].bytes, c.w.signature[0].bytes, IDENTITY_SIGNATURE_SIZE);
    assert_int_equal(check(&c, c.study), ERR_REFUSED);
    c.w = good; /* the same name twice, as parsing never lets it through */
    c.w.signature[1] = c.w.signature[0];
    assert_int_equal(check(&c, c.study), ERR_REFUSED);
    c.w = good;
    OK(warrant_sign(&c.w, c.study, c.approver[1], &c.log));
    assert_int_equal(c.w.signatures, 2);
    c.w.signature[c.w.signatures++] = (struct warrant_signature){.name = "p2"}; /* beyond enough */
    assert_int_equal(check(&c, c.study), ERR_REFUSED);
    support_says(logged, "the warrant's signature of p2 is not that of an approver");
    c.w = good;
    c.w.signature[c.w.signatures] = c.w.signature[0];
    memcpy(c.w.signature[c.w.signatures++].name, "p9", 3);
    assert_int_equal(check(&c, c.study), ERR_REFUSED);
    c.w = good;
    c.w.purpose[0] ^= 1;
    assert_int_equal(check(&c, c.study), ERR_REFUSED);
    c.w = good;
    c.w.last_day++;
    assert_int_equal(check(&c, c.study), ERR_REFUSED);
    c.w = good;
    c.w.terms[31] ^= 1;
    GIVES(check(&c, c.study), ERR_REFUSED, logged, "for another study");
    c.w = (struct warrant){0};
    assert_int_equal(check(&c, c.study), ERR_REFUSED);
    OK(check(&c, c.s.study)); /* which has no approvers */
}

TEST(the_roster_revokes_warrants_and_keys)
{
    struct warrant_scene c CLEAN(scene_free) = scene_new();
    uint8_t number[32];
    char lines[1024] = "approvers: {at_least: 2, people: " PEOPLE ", revoked: [";
    size_t n = strlen(lines);
    char said[1024];
    OK(warrant_number(&c.w, number));
    for (size_t i = 0; i < sizeof number; i++)
        n += (size_t)snprintf(lines + n, sizeof lines - n, "%02x", number[i]);
    snprintf(lines + n, sizeof lines - n, "]}\nroster: 2\n");
    struct study *other CLEAN(study_free) = MADE_LAST(study, load, &c, lines);
    GIVES(check(&c, other), ERR_REFUSED, logged, "the study's roster revokes this warrant");
    OK(warrant_sign(&c.w, other, c.approver[2], &c.log));
    assert_int_equal(check(&c, other), ERR_REFUSED); /* another signature makes no other warrant */
    FILE *out = fmemopen(said, sizeof said, "w");
    OK(roster_compare(out, c.study, other, &c.log));
    fclose(out);
    support_says(said, "  revoked: warrant ");
    study_free(&other);
    OK(load(&c,
            "approvers: {at_least: 2, people: " PEOPLE "}\nroster: 2\n"
            "revoked: [%2]\n",
            &other));
    OK(check(&c, other)); /* p0 and p1 */
    c.w.signature[1] = c.w.signature[2];
    c.w.signatures = 2;
    GIVES(check(&c, other), ERR_REFUSED, logged, "not by p1, p2");
}

/* Names, signing keys and how many are terms. */
TEST(approvers_are_terms)
{
    static const char *const wrong[][2] = {
        {"approvers: {at_least: 4, people: " PEOPLE "}\n", "at_least"},
        {"approvers: {at_least: 0, people: " PEOPLE "}\n", "at_least"},
        {"approvers: {at_least: 1, people: []}\n", "people"},
        {"approvers: {people: " PEOPLE "}\n", "at_least"},
        {"approvers: {at_least: 1, people: [{name: a, key: %0}]}\n", "the name a is taken"},
        {"approvers: {at_least: 1, people: [{name: x, key: %0}, {name: y, key: %0}]}\n",
         "a key has one role"},
        {"approvers: {at_least: 1, people: " PEOPLE ", revoked: [12]}\n", "by its number"}};
    struct warrant_scene c CLEAN(scene_free) = scene_new();
    struct study *other CLEAN(study_free) = NULL;
    assert_memory_not_equal(c.study->terms.digest, c.s.study->terms.digest, 32);
    OK(load(&c, "approvers: {at_least: 3, people: " PEOPLE "}\n", &other));
    assert_memory_not_equal(c.study->terms.digest, other->terms.digest, 32);
    study_free(&other);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        GIVES(load(&c, wrong[k][0], &other), ERR_STUDY, logged, wrong[k][1]);
    }
}

TEST(a_debit_is_within_share_and_day)
{
    struct warrant_scene c CLEAN(scene_free) = scene_new();
    OK(warrant_allows(&c.w, 0.5, 1, c.w.last_day, &c.log));
    assert_int_equal(warrant_allows(&c.w, 0.5, 1, c.w.last_day + 1, &c.log), ERR_REFUSED);
    support_says(logged, "the warrant was good until 2026-12-31");
    assert_int_equal(warrant_allows(&c.w, 0.500001, 1, 0, &c.log), ERR_BUDGET);
    assert_int_equal(warrant_allows(&c.w, NAN, 1, 0, &c.log), ERR_BUDGET);
    c.w.share = WARRANT_ALL; /* the ledger's own limit is exact */
    OK(warrant_allows(&c.w, 1.0000000001, 1, 0, &c.log));
}
