/*
 * Studies with `link`: what the file says and must not, its terms and words, the join in the clear,
 * and what an owner packs.
 */
#include "harness/cmocka.h"

#include "aim/table/join.h"
#include "harness/study.h"
#include "harness/three.h"
#include "parties/owner/source.h"
#include "parties/setting/upload.h"
#include "parties/study/study_text.h"
#include "parties/study/study_uploads.h"
#include "tests/support/domain.h"

/* Owners with different bounds: a clinic, a laboratory whose columns may be missing, a registry. */
#define CLINIC "    max_rows: 90\n    pad_to: 100\n    batch: x\n    columns: [age, sex]\n"
#define LAB "    max_rows: 60\n    batch: x\n    columns: [ward, bmi]\n"
#define REGISTRY "    max_rows: 200\n    batch: x\n    columns: [died]\n"

static const char *const three[] = {CLINIC, LAB, REGISTRY};

static enum err study_of(struct support_study *s, const char *link, const char *const *part,
                         unsigned owners, const char *more, struct log *log)
{
    return support_study_new(s,
                             OPTIONS(.domain = SUPPORT_LINKED_DOMAIN, .link = link, .part = part,
                                     .owners = owners, .more = more),
                             log);
}

/* --- the study -------------------------------------------------------------------------------- */

TEST(a_study_says_who_is_linked)
{
    static const char *const plain[] = {
        LAB, "    max_rows: 60\n    batch: x\n    columns: [age, sex, died]\n"};
    static const char *const whole[] = {CLINIC, LAB, REGISTRY, NULL};
    struct support_study s CLEAN(support_study_free);
    OK(study_of(&s, "true", three, 3, NULL, &quiet));
    assert_true(s.study->enforce_person && s.study->link.on);
    assert_int_equal(s.study->link.keep, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(study_linked(s.study, i) && study_sends_keys(s.study, i));
    assert_int_equal(study_batch_rows(s.study, 0, true), 60);
    assert_int_equal(s.study->count_bits, 7); /* the clinic's bits; 60 rows need fewer */
    assert_int_equal(study_upload_bytes(s.study, 1), (1 + 64 + 3 + 3) * 8);
    support_study_free(&s);
    assert_int_equal(study_of(&s, "{keep: o2, min_linked: 200}", three, 3, NULL, &quiet),
                     ERR_STUDY); /* a column of the clinic cannot be missing */
    support_study_free(&s);
    OK(study_of(&s, "{keep: o0, min_linked: 90}", three, 3, NULL, &quiet));
    assert_int_equal(s.study->link.keep, 0);
    assert_int_equal(study_batch_rows(s.study, 0, true), 100);
    assert_true(s.study->link.look == 0.02);
    support_study_free(&s);
    OK(study_of(&s, "true", whole, 4, NULL, &quiet));
    assert_false(s.study->enforce_person);
    assert_false(study_linked(s.study, 3) || study_sends_keys(s.study, 3));
    support_study_free(&s);
    assert_int_equal(study_of(&s, "false", plain, 2, NULL, &quiet), ERR_STUDY);
}

TEST(what_cannot_be_linked_is_refused)
{
    static const char *const rows[] = {CLINIC "    rows: 50\n", LAB, REGISTRY};
    static const char *const counts[] = {CLINIC "    as: counts\n", LAB, REGISTRY};
    static const char *const more[] = {CLINIC, LAB, REGISTRY, NULL};
    static const char *const twice[] = {
        "    max_rows: 90\n    batch: x\n    columns: [age, sex]\n",
        "    max_rows: 90\n    batch: x\n    columns: [ward, bmi, died]\n",
        "    max_rows: 90\n    batch: y\n    columns: [age, sex]\n",
        "    max_rows: 90\n    batch: y\n    columns: [ward, bmi, died]\n"};
    const struct {
        struct study_options o;
        const char *said;
    } cases[] = {
        {{.link = "true", .part = rows}, "o0 is linked by person, so that"},
        {{.link = "true", .part = counts}, "o0 cannot send counts, since the study has keys"},
        {{.link = "{keep: o9}", .part = three}, "keep is \"o9\"; it should name one of the owners"},
        {{.link = "{keep: o3}", .part = more, .owners = 4}, "keep is \"o3\""},
        {{.link = "{keep: o1}", .part = three}, "where o0 lacks the person, and the column age"},
        {{.link = "{min_linked: 61}", .part = three}, "at most 60 rows can be linked"},
        {{.link = "{keep: o0, min_linked: 91}", .part = three}, "at most 90 rows can be linked"},
        {{.link = "true", .part = three, .enforce = 2}, "leave out rows_per_person"},
        {{.link = "true", .part = more, .owners = 4, .enforce = 1}, "cannot be bounded together"},
        {{.link = "true", .part = twice, .owners = 4, .enforce = 1}, "cannot be bounded together"},
        {{.link = "true", .part = three, .more = "late_uploads: join\n"}, "joined once"},
        {{.link = "true", .part = three, .workload = "[{attributes: [age, sex, ward, bmi, died]}]"},
         "marginals of at most 4 columns"},
        {{.link = "false", .part = more, .owners = 4}, "add link for the owners of a batch"},
        {{.enforce = 1,
          .part =
              (const char *const[]){
                  LAB, "    max_rows: 60\n    batch: x\n    columns: [age, sex, died]\n"},
          .owners = 2},
         "cannot be bounded by person; add link: true"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        LOG_INTO(log, words, LOG_ERROR);
        struct study_options o = cases[i].o;
        struct support_study s CLEAN(support_study_free);
        o.domain = SUPPORT_LINKED_DOMAIN;
        assert_int_equal(support_study_new(&s, &o, &log), ERR_STUDY);
        if (strstr(words, cases[i].said) == NULL)
            fail_msg("case %zu does not say \"%s\": %s", i, cases[i].said, words);
    }
}

/* A study file in which `find` is replaced, parsed from memory: its terms, or zeros. */
static void terms_of(const struct support_study *s, const char *find, const char *replace,
                     uint8_t digest[32])
{
    struct bytes text CLEAN(bytes_clear) = {0}, other CLEAN(bytes_clear) = {0};
    struct study *study CLEAN(study_free) = NULL;
    OK(file_read(s->path, 1 << 20, &text, NULL));
    bytes_put_u8(&text, 0);
    const char *at = strstr((const char *)text.data, find);
    assert_non_null(at);
    bytes_put(&other, text.data, (size_t)(at - (const char *)text.data));
    bytes_put(&other, replace, strlen(replace));
    bytes_put(&other, at + strlen(find), strlen(at + strlen(find)));
    OK(study_parse(&study, "t", other.data, other.size, NULL));
    memcpy(digest, study->terms.digest, 32);
}

TEST(how_owners_are_linked_is_a_term)
{
    static const char find[] = "link: {keep: o0, min_linked: 9}";
    static const struct {
        const char *replace;
        bool same;
    } cases[] = {
        {"link: {keep: o0, min_linked: 9}", true},
        {"link: {min_linked: 9, look: 0.02, keep: o0}", true},
        {"link: {keep: o0, min_linked: 8}", false},
        {"link: {keep: o0, min_linked: 9, look: 0.03}", false},
        {"link: {keep: o0}", false},
        {"link: {min_linked: 9}", false},
    };
    struct support_study s CLEAN(support_study_free);
    uint8_t digest[32];
    OK(study_of(&s, find + strlen("link: "), three, 3, NULL, &quiet));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        terms_of(&s, find, cases[i].replace, digest);
        assert_int_equal(memcmp(digest, s.study->terms.digest, 32) == 0, cases[i].same);
    }
    terms_of(&s, "delta: 1e-06}", "delta: 1e-06, enforce_person: true}", digest);
    assert_memory_equal(digest, s.study->terms.digest, 32); /* it holds in any case */
}

static char *described(const struct study *study)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    study_describe(f, study, NULL);
    fclose(f);
    return text;
}

TEST(what_is_linked_is_described)
{
    static const char *const kept[] = {
        "for adding or removing all rows of one person",
        "Whose a row is, say who;",
        "Linked owners have one row of a person together",
        "rows of one person are joined",
        "All persons of o0 count; what others lack of them is missing",
        "measures how many rows were linked, for 0.02 of the budget",
        "fewer than 9."};
    static const char *const inner[] = {"Persons count whom all these owners have",
                                        "A person has at most 2 rows at all owners together",
                                        "removing all rows of one person"};
    static const char *const more[] = {CLINIC, LAB, REGISTRY, NULL};
    struct support_study s CLEAN(support_study_free);
    OK(study_of(&s, "{keep: o0, min_linked: 9}", three, 3, NULL, &quiet));
    char *text CLEAN(memory_release) = described(s.study);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strstr(text, kept[i]) == NULL)
            fail_msg("does not say \"%s\":\n%s", kept[i], text);
    assert_null(strstr(text, "row i of one belongs"));
    free(text);
    support_study_free(&s);
    OK(study_of(&s, "true", more, 4, NULL, &quiet));
    s.study->rows_per_person = 2;
    text = described(s.study);
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        if (strstr(text, inner[i]) == NULL)
            fail_msg("does not say \"%s\":\n%s", inner[i], text);
    assert_null(strstr(text, "measures how many rows were linked"));
    free(text);
    s.study->rows_per_person = 1; /* one row at one owner would change two cells */
    text = described(s.study);
    support_says(text, "removing all rows of one person");
    support_says(text, "at most 1 row at all owners together, where those that are ");
    assert_null(strstr(text, "one row."));
}

/* --- the join in the clear -------------------------------------------------------------------- */

/* Tables of one, two and one columns; keys are below `keys`. */
#define PARTS 3
static const uint16_t attribute_of[PARTS][2] = {{2}, {0, 3}, {1}};

struct linked_owned {
    struct domain *all, *columns[PARTS];
    struct table *table[PARTS];
};

static void fill(struct linked_owned *o, size_t part, size_t rows, uint64_t keys, uint64_t *state)
{
    const size_t columns = part == 1 ? 2 : 1;
    OK(domain_pick(&o->columns[part], o->all, attribute_of[part], columns));
    OK(table_new(&o->table[part], o->columns[part], rows));
    OK(table_keep_keys(o->table[part]));
    for (size_t i = 0; i < rows; i++) {
        const uint16_t codes[] = {(uint16_t)(three_random(state) % 4),
                                  (uint16_t)(three_random(state) % 4)};
        OK(table_append(o->table[part], codes));
        o->table[part]->key[i] = three_random(state) % keys * 0x9e3779b97f4a7c15;
    }
}

static size_t first_row(const struct table *t, uint64_t key)
{
    size_t i = 0;
    while (i < t->rows && t->key[i] != key)
        i++;
    return i;
}

/* Counts of all four columns together, found by looking up each key at each owner. */
static size_t naive(const struct linked_owned *o, size_t keep, uint64_t keys, uint64_t counts[256])
{
    size_t linked = 0;
    memset(counts, 0, 256 * sizeof *counts);
    for (uint64_t k = 0; k < keys; k++) {
        size_t has = 0, code[4] = {3, 3, 3, 3}, row[PARTS];
        for (size_t p = 0; p < PARTS; p++) {
            row[p] = first_row(o->table[p], k * 0x9e3779b97f4a7c15);
            for (size_t c = 0; c < o->columns[p]->attributes && row[p] < o->table[p]->rows; c++)
                code[attribute_of[p][c]] = o->table[p]->column[c][row[p]];
            has += row[p] < o->table[p]->rows;
        }
        linked += has == PARTS;
        if (keep < PARTS ? row[keep] < o->table[keep]->rows : has == PARTS)
            counts[((code[0] * 4 + code[1]) * 4 + code[2]) * 4 + code[3]]++;
    }
    return linked;
}

TEST(a_join_is_that_of_a_search)
{
    static const struct {
        size_t rows[PARTS];
        uint64_t keys;
    } cases[] = {{{40, 30, 50}, 30}, {{20, 0, 20}, 9}, {{30, 30, 30}, 1},
                 {{1, 1, 1}, 1},     {{0, 0, 0}, 5},   {{200, 150, 180}, 400}};
    static const uint16_t all[] = {0, 1, 2, 3};
    uint64_t seed = 24, expected[256], counts[256];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t keep = 0; keep <= PARTS; keep++) {
            struct linked_owned o = {.all = support_domain((const uint32_t[]){4, 4, 4, 4}, 4)};
            struct join_part part[PARTS];
            size_t linked, found, surplus;
            for (size_t p = 0; p < PARTS; p++) {
                fill(&o, p, cases[c].rows[p], cases[c].keys, &seed);
                part[p] = (struct join_part){o.table[p], attribute_of[p]};
            }
            found = naive(&o, keep, cases[c].keys, expected);
            struct table *t = MADE(table, table_new, o.all, 0);
            OK(table_join(t, part, PARTS, keep, &linked, &surplus));
            assert_int_equal(linked, found);
            memset(counts, 0, sizeof counts);
            for (size_t i = 0; i < t->rows; i++)
                counts[table_cell(t, all, 4, i)]++;
            assert_memory_equal(counts, expected, sizeof counts);
            for (size_t p = 0; p < PARTS; p++) {
                surplus += o.table[p]->rows;
                table_free(&o.table[p]);
                domain_free(&o.columns[p]);
            }
            assert_int_equal(surplus, cases[c].rows[0] + cases[c].rows[1] + cases[c].rows[2]);
            table_free(&t);
            domain_free(&o.all);
        }
}

/* --- an owner's upload ------------------------------------------------------------------------ */

static enum err pack_csv(const struct support_study *s, size_t owner, const char *csv,
                         struct bytes *packed, struct log *log)
{
    struct source source CLEAN(source_clear) = {.rows = 0};
    const struct source_options o = {.csv = support_path(s, "rows.csv")};
    OK(file_write(o.csv, 0600, csv, strlen(csv), NULL));
    TRY(source_load(&source, s->study, owner, UPLOAD_RECORDS, &o, log));
    return source_pack(&source, s->study, owner, UPLOAD_RECORDS, packed);
}

TEST(a_linked_owner_sends_sorted_keys_of_its_columns)
{
    struct support_study s CLEAN(support_study_free);
    struct bytes one CLEAN(bytes_clear) = {0}, other CLEAN(bytes_clear) = {0};
    LOG_INTO(log, words, LOG_WARN);
    OK(study_of(&s, "true", three, 3, NULL, &log));
    OK(pack_csv(&s, 1, "who,ward,bmi\nann,a,20\nbob,b,\ncy,?,59\ndee,d,10\n", &one, &log));
    assert_int_equal(one.size, study_upload_bytes(s.study, 1));
    assert_string_equal(words, "");
    OK(/* order, case and spaces do not matter */
       pack_csv(&s, 1, "bmi,who,ward\n10,D e e,d\n,BOB,b\n20, ann,a\n59,cy,?\n", &other, &log));
    SAME_BYTES(&one, other.data, other.size);
    bytes_clear(&other);
    OK(pack_csv(&s, 2, "who,died\nann,no\nANN,yes\nbob,no\n", &other, &log));
    support_says(words, "rows of persons who have an earlier row (1 of 3)");
}
