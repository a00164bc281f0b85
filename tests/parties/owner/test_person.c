/*
 * Whose a row is: base/unicode.h and aim/table/person_key.h, keys and order of a table, the study's
 * words for them, and what an owner packs.
 */
#include "harness/cmocka.h"

#include "aim/table/csv.h"
#include "harness/study.h"
#include "parties/owner/source.h"
#include "parties/setting/upload.h"
#include "parties/study/study_uploads.h"
#include "protocols/records_pack.h"
#include "tests/support/domain.h"

#include <sqlite3.h>

/* --- texts ------------------------------------------------------------------------------------ */

#define NFC 1
#define CASE 2
#define SPACES 4

static struct unicode_form form_of(unsigned parts)
{
    return (struct unicode_form){(parts & NFC) != 0, (parts & CASE) != 0, (parts & SPACES) != 0};
}

static bool has_utf8proc(void)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    return unicode_put(&b, "\xc3\xa9", form_of(NFC)) == ERR_OK;
}

TEST(texts_that_people_take_for_the_same_are_the_same)
{
    static const struct {
        unsigned parts;
        const char *text, *expected;
        bool tables; /* of Unicode */
    } cases[] = {
        {0, " A b", " A b", false},
        {0, "\xc3\xa9", "\xc3\xa9", false},
        {NFC | CASE | SPACES, "", "", false},
        {CASE, "AZaz09@[`{", "azaz09@[`{", false},
        {NFC | CASE, "ID-7 x", "id-7 x", false},
        {SPACES, " 12\t34\r\n\v5 ", "12345", false},
        {SPACES,
         "1\xc2\xa0"
         "2\xe2\x80\xaf"
         "3\xe2\x80\x8b"
         "4\xe3\x80\x80"
         "5\xef\xbb\xbf",
         "12345", false},
        {SPACES, "\xc2\x84\xe2\x80\x8c", "\xc2\x84\xe2\x80\x8c", false},
        {NFC, "e\xcc\x81", "\xc3\xa9", true},
        {NFC, "\xc3\xa9", "\xc3\xa9", true},
        {NFC, "\xe2\x84\xab", "\xc3\x85", true}, /* the symbol of the unit Angstrom */
        {NFC, "a\xcc\xa3\xcc\x87", "\xe1\xba\xa1\xcc\x87", true}, /* two accents, */
        {NFC, "a\xcc\x87\xcc\xa3", "\xe1\xba\xa1\xcc\x87", true}, /* in another order */
        {CASE,
         "STRA\xc3\x9f"
         "E",
         "strasse", true},
        {CASE, "\xc3\x89\xce\xa3", "\xc3\xa9\xcf\x83", true},
        {NFC | CASE | SPACES, "E\xcc\x81 \xc3\x89", "\xc3\xa9\xc3\xa9", true},
        {NFC | SPACES, "e\xe2\x80\x8b\xcc\x81", "\xc3\xa9", true}, /* a space before the accent */
        {NFC | CASE, "\xce\x91\xcc\x93\xcd\x85", "\xe1\xbc\x80\xce\xb9", true}, /* an iota */
        {NFC | CASE, "\xce\x91\xcd\x85\xcc\x93", "\xe1\xbc\x80\xce\xb9", true}, /* that is an */
        {NFC | CASE, "\xe1\xbe\x88", "\xe1\xbc\x80\xce\xb9", true}, /* accent, and folds to one */
        {NFC | CASE | SPACES,
         "A\xc2\xa0"
         "B",
         "ab", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes b CLEAN(bytes_clear) = {0};
        const bool able = !cases[i].tables || has_utf8proc();
        assert_int_equal(unicode_put(&b, cases[i].text, form_of(cases[i].parts)),
                         able ? ERR_OK : ERR_REFUSED);
        bytes_put_u8(&b, 0);
        if (able)
            assert_string_equal((const char *)b.data, cases[i].expected);
    }
    for (unsigned parts = 0; parts < 8; parts++) {
        struct bytes b CLEAN(bytes_clear) = {0};
        assert_int_equal(unicode_put(&b, "caf\xe9", form_of(parts)), ERR_DATA);
    }
}

/* --- keys ------------------------------------------------------------------------------------- */

static struct person_rule rule_of(unsigned parts, size_t columns)
{
    return (struct person_rule){
        .columns = columns, .column = {"who", "born"}, .form = form_of(parts), .secret = {7}};
}

static enum err read_rows(struct table **t, const struct domain *d, const char *text,
                          const struct person_rule *rule, char *words, size_t size)
{
    const struct table_csv_options o = {.rows = {.key = rule}};
    struct log log = {.buffer = words, .buffer_size = size, .level = LOG_ERROR};
    char path[] = "/tmp/trefoil-person-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    words[0] = '\0';
    enum err e = table_read_csv(t, d, path, &o, &log);
    unlink(path);
    return e;
}

static const uint32_t four[] = {4};

TEST(a_key_is_of_the_person_the_columns_and_the_study)
{
    struct domain *d CLEAN(domain_free) = support_domain(four, 1);
    struct person_rule rule = rule_of(CASE | SPACES, 2);
    struct table *t CLEAN(table_free) = NULL, *other CLEAN(table_free) = NULL;
    char words[400];
    OK(read_rows(&t, d,
                 "a0,who,born\n0,Ann Lee,1990\n1,annlee, 1990 \n2,annlee1,990\n"
                 "3,1990,annlee\n0,bob,1990\n",
                 &rule, words, sizeof words));
    assert_int_equal(t->rows, 5);
    assert_true(t->key[0] == t->key[1]);
    for (size_t i = 1; i < 5; i++)
        for (size_t k = i + 1; k < 5; k++)
            assert_true(t->key[i] != t->key[k]);
    rule.secret[31] = 1;
    OK(read_rows(&other, d, "born,a0,who\n1990,0,annlee\n", &rule, words, sizeof words));
    assert_true(other->key[0] != t->key[0]);
    table_free(&other);
    rule.secret[31] = 0;
    OK(read_rows(&other, d, "born,a0,who\n1990,0,annlee\n", &rule, words, sizeof words));
    assert_true(other->key[0] == t->key[0]);
}

TEST(what_makes_no_key_is_told)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"a0,who\n1,x\n", ":1: no column is named born, which should say whose a row is"},
        {"a0,who,born\n1,x,1\n2,,3\n", ":3:2: who is empty; every row needs it"},
        {"a0,who,born\n1,x,1\n2, ,3\n", ":3:2: who is empty; every row needs it"},
        {"a0,who,born\n2,x\xe9,3\n", ":2:2: who is not UTF-8"},
        {"a0,who,born,who\n2,x,3,x\n", ":1:4: column who is in the header twice"},
    };
    struct domain *d CLEAN(domain_free) = support_domain(four, 1);
    const struct person_rule rule = rule_of(NFC | CASE | SPACES, 2);
    char words[600];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table *t CLEAN(table_free) = NULL;
        assert_int_equal(read_rows(&t, d, cases[i].text, &rule, words, sizeof words), ERR_DATA);
        if (strstr(words, cases[i].said) == NULL)
            fail_msg("does not say \"%s\": %s", cases[i].said, words);
    }
}

/* --- order ------------------------------------------------------------------------------------ */

TEST(a_table_is_sorted_and_bounded_by_key)
{
    static const uint64_t key[] = {5, UINT64_MAX, 5, 0, 5, 0, 7, UINT64_MAX};
    static const uint16_t sorted[] = {3, 5, 0, 2, 4, 6, 1, 7};
    static const uint32_t eight[] = {8};
    static const size_t left[] = {0, 4, 7, 8, 8}, surplus[] = {8, 4, 1, 0, 0};
    struct domain *d CLEAN(domain_free) = support_domain(eight, 1);
    for (size_t most = 1; most < 5; most++) {
        size_t beyond, at = 0, rank = 0;
        struct table *t CLEAN(table_free) = MADE(table, table_new, d, 0);
        OK(table_keep_keys(t));
        for (uint16_t i = 0; i < 8; i++) {
            OK(table_append(t, &i));
            t->key[i] = key[i];
        }
        OK(table_sort(t, most, &beyond));
        assert_int_equal(beyond, surplus[most]);
        for (size_t i = 0; i < 8; i++) {
            assert_int_equal(t->column[0][i], sorted[i]);
            assert_true(t->key[i] == key[sorted[i]]);
        }
        OK(table_bound(t, most, &beyond));
        assert_int_equal(beyond, surplus[most]);
        assert_int_equal(t->rows, left[most]);
        for (size_t i = 0; i < 8; i++) {
            rank = i > 0 && key[sorted[i]] == key[sorted[i - 1]] ? rank + 1 : 0;
            if (rank < most)
                assert_int_equal(t->column[0][at++], sorted[i]);
        }
    }
}

/* --- an owner's upload ------------------------------------------------------------------------ */

#define ROWS 70

/* Rows of 13 persons; upper and lower case and spaces in their names differ from row to row. */
static void make_rows(const struct support_study *s, const char *name)
{
    struct bytes csv CLEAN(bytes_clear) = {0}, sql CLEAN(bytes_clear) = {0};
    sqlite3 *db;
    text_put(&csv, "%s,age,sex,ward,bmi,died\n", name);
    text_put(&sql, "CREATE TABLE rows (%s,age,sex,ward,bmi,died);", name);
    for (size_t i = 0; i < ROWS; i++)
        for (unsigned k = 0; k < 2; k++) {
            const char *quote = k == 0 ? "" : "'";
            text_put(k == 0 ? &csv : &sql, k == 0 ? "%s%s" : "INSERT INTO rows VALUES (%s%s", quote,
                     i % 2 ? "P " : "p");
            text_put(k == 0 ? &csv : &sql, "%zu%s,%zu,%s%c%s,%s%c%s,20.5,%sno%s%s\n", i % 13, quote,
                     i % 9, quote, "fm"[i / 5 % 2], quote, quote, "abcd"[i % 4], quote, quote,
                     quote, k == 0 ? "" : ");");
        }
    bytes_put_u8(&sql, 0);
    OK(file_write(support_path(s, "rows.csv"), 0600, csv.data, csv.size, NULL));
    assert_int_equal(sqlite3_open(support_path(s, "rows.sqlite"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, (const char *)sql.data, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static enum err pack_source(const struct support_study *s, bool sql, const char *person,
                            struct bytes *packed, struct log *log)
{
    struct source source CLEAN(source_clear) = {.rows = 0};
    char connection[SUPPORT_PATH + 40];
    struct source_options o = {.options = {.rows = {.person = person}}};
    snprintf(connection, sizeof connection, "Driver=SQLite3;Database=%s",
             support_path(s, "rows.sqlite"));
    if (sql) {
        o.sql.connection = connection;
        o.sql.table = "rows";
    } else {
        o.csv = support_path(s, "rows.csv");
    }
    TRY(source_load(&source, s->study, 0, UPLOAD_RECORDS, &o, log));
    return source_pack(&source, s->study, 0, UPLOAD_RECORDS, packed);
}

static unsigned bit_at(const struct bytes *b, size_t records, size_t plane, size_t i)
{
    return b->data[plane * records_plane_bytes(records) + i / 8] >> i % 8 & 1;
}

TEST(an_upload_has_sorted_keys_and_is_that_of_the_same_rows_in_sql)
{
    static const char *const part[] = {"    max_rows: 100\n    pad_to: 130\n", NULL, NULL};
    struct support_study plain CLEAN(support_study_free), s CLEAN(support_study_free);
    struct bytes csv CLEAN(bytes_clear) = {0}, sql CLEAN(bytes_clear) = {0};
    LOG_INTO(log, words, LOG_WARN);
    uint64_t last = 0;
    size_t persons = 0;
    words[0] = '\0';
    assert_int_equal(support_study_new(&plain, &(struct study_options){.part = part}, NULL), 0);
    assert_int_equal(
        support_study_new(&s, &(struct study_options){.part = part, .enforce = 4}, &log), 0);
    assert_true(s.study->owner[0].records && s.study->owner[2].records);
    assert_int_equal(study_records_bytes(s.study, 0),
                     study_records_bytes(plain.study, 0) + records_key_bytes(130));
    make_rows(&s, "pid");
    OK(pack_source(&s, false, "pid", &csv, &log));
    support_says(words, "rows beyond the first 4 of their person (18 of 70)");
    assert_int_equal(csv.size, study_upload_bytes(s.study, 0));
    for (size_t i = 0; i < 130; i++) {
        uint64_t key = 0;
        for (unsigned k = 0; k < RECORDS_KEY_BITS; k++)
            key |= (uint64_t)bit_at(&csv, 130, study_record_bits(plain.study, 0) + k, i) << k;
        assert_int_equal(bit_at(&csv, 130, 0, i), i < ROWS);
        assert_true(i < ROWS ? key >= last : key == 0);
        persons += i < ROWS && key != last;
        last = key;
    }
    assert_int_equal(persons, 13);
    if (pack_source(&s, true, "pid", &sql, &log) == ERR_SYSTEM)
        print_message("# SKIP no SQLite driver of ODBC: %s\n", words);
    else {
        assert_true(sql.size == csv.size && memcmp(sql.data, csv.data, csv.size) == 0);
        support_says(words, "rows of persons who have an earlier row (57)");
    }
    assert_int_equal(pack_source(&s, false, NULL, &sql, &log), ERR_DATA);
    support_says(words, "no column is named who, which should say whose a row is");
    assert_int_equal(pack_source(&s, false, "pid,more", &sql, &log), ERR_USAGE);
}

TEST(a_column_of_ones_own_makes_a_key_once)
{
    const struct study study = {.person = {.columns = 3}};
    struct person_rule rule;
    char words[200] = "", twice[] = "pid, born,pid", once[] = "pid, born,name";
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_ERROR};
    assert_int_equal(study_person_rule(&study, twice, &rule, &log), ERR_USAGE);
    support_says(words, "--person names pid twice");
    OK(study_person_rule(&study, once, &rule, &log));
    assert_string_equal(rule.column[1], "born");
}

/* --- the study -------------------------------------------------------------------------------- */

TEST(a_study_says_what_goes_with_keys)
{
    static const char *const counts[] = {"    max_rows: 100\n    as: counts\n", NULL, NULL};
    static const char *const halves[] = {
        "    max_rows: 9\n    batch: x\n    columns: [age, ward]\n",
        "    max_rows: 9\n    batch: x\n    columns: [sex, bmi, died]\n", NULL};
    const struct {
        struct study_options o;
        const char *said;
    } cases[] = {
        {{.enforce = 1, .part = counts}, "o0 cannot send counts, since the study has keys"},
        {{.enforce = 1, .part = halves}, "o0 holds some of the columns"},
        {{.enforce = 1, .more = "late_uploads: join\n"}, "with enforce_person write wait"},
        {{.enforce = 1, .workload = "[{attributes: [age, sex, ward, bmi, died]}]"},
         "keys of persons go with records"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        LOG_INTO(log, words, LOG_ERROR);
        struct support_study s CLEAN(support_study_free);
        assert_int_equal(support_study_new(&s, &cases[i].o, &log), ERR_STUDY);
        if (strstr(words, cases[i].said) == NULL)
            fail_msg("does not say \"%s\": %s", cases[i].said, words);
    }
}
