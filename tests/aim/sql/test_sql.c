/*
 * Rows in databases, counted there or read: their upload is byte for byte that of the CSV file that
 * the database's own program writes, whatever their types, collations and texts. SQLite by its ODBC
 * driver, PostgreSQL as a server of this test's; either is skipped, with a message, where it is
 * absent.
 */
#include "harness/cmocka.h"

#include "aim/sql/connection.h"
#include "aim/sql/database.h"
#include "harness/postgres.h"
#include "harness/process.h"
#include "parties/owner/owner_secret.h"
#include "tests/support/result.h"

#include <fcntl.h>
#include <sqlite3.h>

#define ROWS 400

static struct support_postgres postgres;
static bool has_postgres, has_sqlite;

static char logged[8192];

struct sql_scene {
    struct support_study s;
    struct log log;
    struct command_outcome o;
    char connection[SUPPORT_PATH + 64], expected[65]; /* the upload's digest that is awaited */
};

/* --- a table of everything -------------------------------------------------------------------- */

static const char domain[] =
    "domain:\n"
    "  - {name: age, kind: integer, min: -1, max: 9, missing: \"\"}\n"
    "  - {name: sex, kind: categorical, values: [f, m], missing: \"\"}\n"
    "  - {name: ward, kind: categorical, values: [A, a, a b, \"\\u00c4\\u20ac\\U0001D11E\"],"
    " missing: \"?\"}\n"
    "  - {name: bmi, kind: numeric, edges: [-0.5, 0.1, 0.3, 1.5, 10], missing: NaN}\n"
    "  - {name: cost, kind: numeric, edges: [0, 0.5, 1.25, 100], missing: \"\"}\n"
    "  - {name: dose, kind: numeric, edges: [0, 0.1, 0.7, 5], missing: \"\", outside: missing}\n"
    "  - {name: day, kind: categorical, values: [\"2024-01-31\", \"2024-02-29\"], missing: \"\"}\n"
    "  - {name: flag, kind: categorical, values: [\"t\", \"f\"], missing: \"\"}\n"
    "  - {name: height, kind: numeric, edges: [0, 0.1, 0.7, 2], missing: \"\"}\n"
    "  - {name: \"Ort \\u00e9\", kind: categorical, values: [x, \"y\"], missing: \"\"}\n"
    "  - {name: stay, kind: numeric, edges: [0, 1, 2.5, 30], missing: NA}\n"
    "  - {name: weeks, kind: integer, min: 0, max: 5, missing: \"\"}\n"
    "  - {name: big, kind: numeric, edges: [0, 4.5, 9007199254740996, 1e18], missing: \"\"}\n"
    "  - {name: small, kind: numeric, edges: [0, 4.5, 100], missing: \"\"}\n"
    "  - {name: level, kind: integer, min: 2, max: 6, missing: [\"\", NA, \"1.0\", \"0\", \"9\"]}\n"
    "  - {name: score, kind: numeric, edges: [0, 2, 5, 9.5], spikes: [0, 7], missing: [none, "
    "\"-1\","
    " \"3\", \"3.5\"]}\n"
    "  - {name: days, kind: integer, edges: [0, 1, 5, 30], spikes: [0], missing: [\"\", \"999\"]}\n"
    "  - {name: half, kind: integer, edges: [0, 1, 5, 30], missing: [\"\", \"0.5\"]}\n"
    "  - {name: fee, kind: numeric, edges: [0, 1.5, 9], missing: \"\"}\n"
    "  - {name: code, kind: integer, min: 0, max: 5, missing: \"\"}\n"
    "  - {name: born, kind: date, from: 1969-12-15, to: 1970-03-15, bins: month, missing: \"\","
    " format: [\"%d.%m.%Y\", \"%Y-%m-%d\"]}\n"
    "  - {name: seen, kind: date, unit: hour, from: 2024-02-28, to: 2024-03-01, bins: day,"
    " missing: \"\", outside: missing}\n";

/* A column, and the values that it is drawn from. */
struct sql_column {
    const char *name, *type;
    const char *values[20];
};

static const struct sql_column in_postgres[] = {
    {"age", "int", {"0", "1", "9", "-1", "10", "-7", "2000000000", "NULL"}},
    {"sex", "char(3)", {"'f'", "'m'", "' f'", "'m  '", "'F'", "NULL", "''"}},
    {"ward",
     "text COLLATE folded",
     {"'A'", "'a'", "'a b'", "'Ä€𝄞'", "'ä'", "E'\\ta'", "'A\xcc\x88'", "NULL", "''", "'?'",
      "'\"a,\"'"}},
    {"bmi",
     "float8",
     {"-0.5", "0.1", "0.09999999999999999", "0.30000000000000004", "0.3", "0.29999999999999993",
      "1.5", "10", "10.000000000000002", "-1", "'NaN'", "'Infinity'", "'-Infinity'", "1e300",
      "NULL"}},
    {"cost",
     "numeric(10,2)",
     {"0", "0.5", "0.49", "1.25", "1.24", "100", "100.01", "-3", "NULL", "'NaN'"}},
    {"dose",
     "numeric",
     {"0.1", "0.0999999999999999999999999999", "0.7", "0.69", "1e-400", "1e400", "-1e400", "'NaN'",
      "'Infinity'", "5", "5.00000000000000000000000001", "5.01", "0", "NULL"}},
    {"day", "date", {"'2024-01-31'", "'2024-02-29'", "'2024-03-01'", "NULL"}},
    {"flag", "bool", {"true", "false", "NULL"}},
    {"height", "real", {"0.1", "0.7", "0.29999998", "2", "1e30", "'NaN'", "'-Infinity'", "NULL"}},
    {"\"Ort é\"", "varchar(5)", {"'x'", "'y'", "'Y'", "NULL"}},
    {"stay",
     "text",
     {"'1'", "'2.5'", "' 2.5 '", "'2,5'", "'1e0'", "'abc'", "'NA'", "''", "NULL", "'0x1'", "'99'"}},
    {"weeks", "float8", {"0", "1", "2.5", "5", "6", "-1", "1e30", "'NaN'", "4.999999999", "NULL"}},
    {"big",
     "int8",
     {"4", "5", "9007199254740991", "9007199254740996", "9007199254740995", "1000000000000000000",
      "1000000000000000001", "-1", "NULL"}},
    {"small", "bigint", {"4", "5", "-1", "1000000000000000001", "NULL"}},
    {"level", "int", {"-3", "0", "1", "2", "6", "7", "9", "10", "NULL"}},
    {"score",
     "numeric(6,3)",
     {"-1", "-2", "0", "0.001", "3", "3.5", "3.499", "6.999", "7", "7.001", "9.5", "12", "NULL"}},
    {"days", "float8", {"0", "1", "1.5", "4.5", "5", "30", "31", "999", "999.5", "-2", "NULL"}},
    {"half", "numeric(5,1)", {"0", "0.5", "1.5", "1", "30", "31", "NULL"}},
    {"fee", "money", {"1.5", "0", "NULL"}}, /* not comparable with numbers, nor the next one */
    {"code", "oid", {"0", "3", "7", "4000000000", "NULL"}},
    {"born",
     "date",
     {"'1969-12-15'", "'1969-12-14'", "'1969-12-31'", "'1970-01-01'", "'1970-01-31'",
      "'1970-02-01'", "'1970-03-15'", "'1970-03-16'", "'infinity'", "'-infinity'",
      "'0044-03-15 BC'", "'9999-12-31'", "'10000-01-01'", "NULL"}},
    {"seen",
     "timestamp",
     {"'2024-02-28'", "'2024-02-27 23:59:59.9'", "'2024-02-28 23:59:59.999'", "'2024-02-29'",
      "'2024-02-29 12:00'", "'2024-03-01 22:59'", "'2024-03-01 23:59:59.9'", "'2024-03-02'",
      "'infinity'", "NULL"}},
};

static const struct sql_column in_sqlite[] = {
    {"age",
     "INTEGER",
     {"0", "1", "9", "-1", "10", "'7'", "'7 '", "'abc'", "3.5", "4.0", "1e30", "9e999", "x'33'",
      "NULL", "''"}},
    {"sex", "CHAR(3)", {"'f'", "'m'", "' f'", "'m  '", "'F'", "NULL", "''"}},
    {"ward",
     "TEXT COLLATE NOCASE",
     {"'A'", "'a'", "'a b'", "'Ä€𝄞'", "'ä'", "'\ta'", "'A\xcc\x88'", "NULL", "''", "'?'",
      "'\"a,\"'"}},
    {"bmi",
     "REAL",
     {"-0.5", "0.1", "0.09999999999999999", "0.30000000000000004", "0.3", "0.29999999999999993",
      "0.1 * 3", "1.5", "10", "10.000000000000002", "-1", "9e999", "-9e999", "'NaN'", "1e300",
      "NULL"}},
    {"cost", "NUMERIC", {"0", "'0.50'", "0.49", "1.25", "100", "100.01", "-3", "NULL", "'x'"}},
    {"dose",
     "",
     {"0.1", "'0.1'", "0.0999999999999999999999999999", "0.7", "1", "1.0", "'1'", "'1.0'", "5",
      "5.01", "'5.01'", "x'35'", "0", "NULL"}},
    {"day", "DATE", {"'2024-01-31'", "'2024-02-29'", "'2024-03-01'", "20240131", "NULL"}},
    {"flag", "BOOLEAN", {"'t'", "'f'", "1", "NULL"}},
    {"height", "FLOAT", {"0.1", "0.7", "0.29999998", "2", "1e30", "NULL"}},
    {"\"Ort é\"", "VARCHAR(5)", {"'x'", "'y'", "'Y'", "NULL"}},
    {"stay",
     "TEXT",
     {"'1'", "'2.5'", "' 2.5 '", "'2,5'", "'1e0'", "'abc'", "'NA'", "''", "NULL", "'0x1'", "'99'"}},
    {"weeks", "REAL", {"0", "1", "2.5", "5", "6", "-1", "1e30", "4.9999999999999996", "NULL"}},
    {"big",
     "INTEGER",
     {"4", "5", "9007199254740991", "9007199254740996", "9007199254740995", "1000000000000000000",
      "1000000000000000001", "-1", "NULL"}},
    {"small", "INTEGER", {"4", "5", "-1", "1000000000000000001", "NULL"}},
    {"level", "INTEGER", {"-3", "0", "1", "1.0", "'1.00'", "2", "6", "7", "9", "'NA'", "NULL"}},
    {"score",
     "",
     {"-1", "-2", "0", "'0.0'", "3", "3.0", "3.5", "3.499", "6.999", "7", "7.001", "9.5", "NULL"}},
    {"days", "REAL", {"0", "1", "1.5", "4.5", "5", "30", "31", "999", "999.5", "-2", "NULL"}},
    {"half", "INTEGER", {"0", "0.5", "'.5'", "'x'", "1.5", "1", "30", "31", "NULL"}},
    {"fee", "MONEY", {"1.5", "0", "NULL"}},
    {"code", "OID", {"0", "3", "NULL"}},
    {"born",
     "DATE",
     {"'1969-12-15'", "'15.12.1969'", "'14.12.1969'", "'1970-01-31'", "'1.2.1970'", "'1970-02-30'",
      "19700101", "0", "NULL"}},
    {"seen",
     "TIMESTAMP",
     {"'2024-02-28'", "'2024-02-27 23:59:59.9'", "'2024-02-28T23:59:59.999'", "'2024-02-29 12:00'",
      "'2024-03-01 23:59'", "'2024-03-01 23:59+01'", "1709164800", "NULL"}},
};
#define COLUMNS (sizeof in_sqlite / sizeof *in_sqlite)

static unsigned draw(uint64_t *seed, unsigned below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((*seed >> 33) % below);
}

static void put_script(struct bytes *sql, const struct sql_column *column, const char *before)
{
    uint64_t seed = 21;
    text_put(sql, "%sCREATE TABLE visits (id INTEGER", before);
    for (size_t i = 0; i < COLUMNS; i++)
        text_put(sql, ", %s %s", column[i].name, column[i].type);
    bytes_put_text(sql, ", person TEXT);\n");
    for (unsigned row = 0; row < ROWS; row++) {
        text_put(sql, "INSERT INTO visits VALUES (%u", row);
        for (size_t i = 0; i < COLUMNS; i++) {
            unsigned n = 0;
            while (column[i].values[n] != NULL)
                n++;
            text_put(sql, ", %s", column[i].values[draw(&seed, n)]);
        }
        text_put(sql, ", ' p%u ');\n", row);
    }
    bytes_put_u8(sql, 0);
    OK(bytes_ok(sql));
}

static struct sql_scene scene_new_for(const char *columns, bool two)
{
    static const char *const part[] = {"    max_rows: 4000\n    as: counts\n",
                                       "    max_rows: 4000\n    as: records\n",
                                       "    max_rows: 300\n    as: counts\n"};
    struct sql_scene c = {
        .log = {.buffer = logged, .buffer_size = sizeof logged, .level = LOG_INFO}};
    logged[0] = '\0';
    if (support_study_new(
            &c.s,
            OPTIONS(.domain = columns,
                    .workload = columns == domain ? "{random: 2, count: 24, seed: 5}" : NULL,
                    .two = two, .part = part),
            &c.log) != ERR_OK)
        fail_msg("%s", logged);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t *secret CLEAN(secret_release) = NULL;
        OK(owner_secret_take(&secret, file(&c, "o%u.test.secret", i), c.s.study, NULL));
    }
    return c;
}

static struct sql_scene scene_new(const char *columns)
{
    return scene_new_for(columns, false);
}

static void scene_free(struct sql_scene *c)
{
    support_study_free(&c->s);
}

static void write_text(const char *path, const char *text)
{
    OK(file_write(path, 0600, text, strlen(text), NULL));
}

/* --- PostgreSQL ------------------------------------------------------------------------------- */

static void run_postgres(struct sql_scene *c, const char *sql)
{
    write_text(file(c, "d.sql"), sql);
    assert_true(support_postgres_run(&postgres, file(c, "d.sql")));
    support_postgres_connection(&postgres, c->connection, sizeof c->connection);
}

/* --- SQLite ----------------------------------------------------------------------------------- */

static sqlite3 *open_sqlite(struct sql_scene *c)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(file(c, "d.sqlite"), &db), SQLITE_OK);
    return db;
}

static void run_sqlite(struct sql_scene *c, const char *sql)
{
    sqlite3 *db = open_sqlite(c);
    char *words = NULL;
    sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (sqlite3_exec(db, sql, NULL, NULL, &words) != SQLITE_OK)
        fail_msg("%s", words);
    sqlite3_close(db);
    snprintf(c->connection, sizeof c->connection, "Driver=SQLite3;Database=%s",
             file(c, "d.sqlite"));
}

/* As `sqlite3 -csv -header` does. */
static void csv_of_sqlite(struct sql_scene *c, const char *select, const char *path)
{
    struct bytes csv CLEAN(bytes_clear) = {0};
    sqlite3 *db = open_sqlite(c);
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_prepare_v2(db, select, -1, &s, NULL), SQLITE_OK);
    for (int i = 0; i < sqlite3_column_count(s); i++)
        text_put(&csv, "%s%s", i > 0 ? "," : "", sqlite3_column_name(s, i));
    bytes_put_text(&csv, "\n");
    while (sqlite3_step(s) == SQLITE_ROW)
        for (int i = 0, n = sqlite3_column_count(s); i < n; i++) {
            const char *text = (const char *)sqlite3_column_text(s, i);
            bytes_put_text(&csv, "\"");
            for (; text != NULL && *text != '\0'; text++)
                text_put(&csv, *text == '"' ? "%c\"" : "%c", *text);
            bytes_put_text(&csv, i + 1 < n ? "\"," : "\"\n");
        }
    sqlite3_finalize(s);
    sqlite3_close(db);
    OK(bytes_ok(&csv));
    OK(file_write(path, 0600, csv.data, csv.size, NULL));
}

/* --- share ------------------------------------------------------------------------------------ */

static void share_words(struct sql_scene *c, const char *const *words, unsigned owner)
{
    const char *a[24] = {"share", c->s.path, "--dry-run", "--key", file(c, "o%u.key", owner)};
    size_t n = 5;
    while (*words != NULL && n < 23)
        a[n++] = *words++;
    support_command(&c->o, file(c, "out"), file(c, "err"), a);
}

#define SHARE(c, owner, ...) share_words(c, (const char *const[]){__VA_ARGS__, NULL}, owner)
#define SHARE_SQL(c, owner, ...) SHARE(c, owner, "--sql", (c)->connection, __VA_ARGS__)

/* The upload's digest, which the last dry run printed. */
static void upload_of(struct sql_scene *c, char digest[65])
{
    const char *at = strstr(c->o.out, "upload: ");
    if (c->o.code != 0 || at == NULL)
        fail_msg("exit code %d\n%s%s", c->o.code, c->o.out, c->o.err);
    snprintf(digest, 65, "%.64s", at + strlen("upload: "));
    assert_null(strchr(digest, ' '));
}

static void expect_upload(struct sql_scene *c, bool same)
{
    char got[65];
    upload_of(c, got);
    assert_int_equal(strcmp(got, c->expected) == 0, same);
}

/* The last command ended so, and said these words. */
static void expect_end(const struct sql_scene *c, int code, const char *words)
{
    support_says(c->o.err, words);
    assert_int_equal(c->o.code, code);
}

/*
 * The lines about columns are the same, except that the database may not know the least and
 * largest.
 */
static void same_columns(const char *from_sql, const char *from_csv)
{
    const char *a = strstr(from_sql, "\ncolumn "), *b = strstr(from_csv, "\ncolumn ");
    unsigned known = 0;
    assert_non_null(a);
    assert_non_null(b);
    for (unsigned i = 0; i < 1 + COLUMNS; i++) {
        size_t n = strcspn(++a, "\n"), m = strcspn(++b, "\n");
        bool unknown = n > 18 && strncmp(a + n - 18, "        -        -", 18) == 0;
        known += !unknown;
        if (strncmp(a, b, unknown ? n - 18 : m + 1) != 0)
            fail_msg("%.*s\n%.*s", (int)n, a, (int)m, b);
        a += n;
        b += m;
    }
    assert_true(known > 9);
}

static void same_uploads(struct sql_scene *c, const char *csv)
{
    for (unsigned owner = 0; owner < 2; owner++) {
        SHARE(c, owner, csv);
        upload_of(c, c->expected);
        char *columns = strdup(c->o.out);
        assert_non_null(columns);
        SHARE_SQL(c, owner, "--table", "visits");
        expect_upload(c, true);
        same_columns(c->o.out, columns);
        free(columns);
        SHARE_SQL(c, owner, "--query", "SELECT * FROM visits -- all;\n ; ", "--person", "person");
        expect_upload(c, true);
        SHARE_SQL(
            c, owner, "--query",
            "SELECT *, '--' AS \"/*\" -- don't\nFROM visits /* it's */ -- all\nWHERE id <> 7");
        expect_upload(c, false);
    }
}

/* To three servers, and to a provider and a keeper. */
static void from_sqlite(bool two)
{
    struct sql_scene c CLEAN(scene_free) = scene_new_for(domain, two);
    struct bytes sql CLEAN(bytes_clear) = {0};
    put_script(&sql, in_sqlite, "BEGIN;\n");
    sql.size--;
    bytes_put_text(&sql, "COMMIT;");
    bytes_put_u8(&sql, 0);
    run_sqlite(&c, (const char *)sql.data);
    csv_of_sqlite(&c, "SELECT * FROM visits", file(&c, "d.csv"));
    same_uploads(&c, file(&c, "d.csv"));
}

TEST(an_upload_from_sqlite_is_that_of_its_csv)
{
    support_needs(has_sqlite, "no SQLite by ODBC here");
    for (unsigned two = 0; two < 2; two++)
        from_sqlite(two == 1);
}

TEST(an_upload_from_postgresql_is_that_of_its_csv)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    support_needs(has_postgres, "no PostgreSQL here");
    struct sql_scene c CLEAN(scene_free) = scene_new(domain);
    put_script(&sql, in_postgres,
               "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level1', "
               "deterministic = false);\n");
    run_postgres(&c, (const char *)sql.data);
    assert_true(support_postgres_csv(&postgres, "SELECT * FROM visits", file(&c, "d.csv")));
    same_uploads(&c, file(&c, "d.csv"));
}

/* --- persons and events ----------------------------------------------------------------------- */

#define EVENTS_COLUMNS                                                                             \
    "domain:\n"                                                                                    \
    "  - {name: age, kind: integer, min: 0, max: 99, bins: 5}\n"                                   \
    "  - {name: ward, kind: categorical, values: [a, b, c], missing: \"\"}\n"                      \
    "  - {name: number, kind: integer, edges: [0, 1, 2, 3, 5, 30]}\n"
#define EVENTS_KEYS "events: {name: stays, by: patient, number: number, columns: [ward]"
static const char dated[] = EVENTS_COLUMNS
    "  - {name: admitted, kind: date, from: 2024-01-01, to: 2024-12-31, bins: quarter}\n"
    "  - {name: gap, kind: integer, edges: [0, 7, 30, 366]}\n" EVENTS_KEYS
    ", when: admitted, gap: gap}\n";
static const char in_lines[] = EVENTS_COLUMNS EVENTS_KEYS "}\n";

/* Of 60 persons, and of two whom nobody knows, up to 6 stays; some without date, or outside. */
static void put_stays(struct bytes *sql)
{
    static const char *const ward[] = {"'a'", "'b'", "'c'", "NULL"};
    uint64_t seed = 11;
    bytes_put_text(sql, "DROP TABLE IF EXISTS patients; DROP TABLE IF EXISTS stays;\n"
                        "CREATE TABLE patients (patient INTEGER, age INTEGER);\n"
                        "CREATE TABLE stays (line INTEGER, patient INTEGER, admitted DATE,"
                        " ward TEXT);\n");
    for (unsigned i = 0, line = 0; i < 62; i++) {
        if (i < 60)
            text_put(sql, "INSERT INTO patients VALUES (%u, %u);\n", i, draw(&seed, 100));
        for (unsigned n = draw(&seed, 7); n > 0; n--) {
            const unsigned year = 2024 + (draw(&seed, 20) == 0), day = draw(&seed, 336);
            const bool undated = draw(&seed, 20) == 0;
            text_put(sql, "INSERT INTO stays VALUES (%u, %u, ", line++, i);
            text_put(sql, undated ? "NULL" : "'%u-%02u-%02u'", year, 1 + day / 28, 1 + day % 28);
            text_put(sql, ", %s);\n", ward[draw(&seed, 4)]);
        }
    }
    bytes_put_u8(sql, 0);
    OK(bytes_ok(sql));
}

static struct sql_scene scene_events(const char *study)
{
    uint8_t *secret CLEAN(secret_release) = NULL;
    struct sql_scene c = {.log = {.level = LOG_ERROR}};
    c.s = STUDY(&c.log, .domain = study, .owners = 1);
    OK(owner_secret_take(&secret, file(&c, "o0.test.secret"), c.s.study, NULL));
    return c;
}

static const char all_patients[] = "SELECT * FROM patients";
static const char all_stays[] = "SELECT * FROM stays ORDER BY line";

/* Two tables, and two queries in another order, make the upload of two CSV files. */
static void same_events(struct sql_scene *c)
{
    SHARE(c, 0, file(c, "p.csv"), "--events", file(c, "e.csv"));
    upload_of(c, c->expected);
    support_says(c->o.err, "left out, by the column patient: events without a date");
    SHARE_SQL(c, 0, "--table", "patients", "--events", "stays");
    expect_upload(c, true);
    support_says(c->o.err, "table stays: ");
    support_says(c->o.err, "events of persons who are not in the table of persons");
    support_says(c->o.out, "admitted: from ");
    SHARE_SQL(c, 0, "--query", "SELECT * FROM patients ORDER BY -age", "--events",
              "\n (select patient, ward, admitted FROM stays ORDER BY -line)");
    expect_upload(c, true);
    SHARE_SQL(c, 0, "--table", "patients", "--events",
              "WITH s AS (SELECT * FROM stays WHERE line <> 40) SELECT * FROM s");
    expect_upload(c, false);
}

/* Where events have no dates, the order of rows is theirs. */
static void in_order(struct sql_scene *c)
{
    SHARE(c, 0, file(c, "p.csv"), "--events", file(c, "e.csv"));
    upload_of(c, c->expected);
    SHARE_SQL(c, 0, "--table", "patients", "--events", all_stays);
    expect_upload(c, true);
    SHARE_SQL(c, 0, "--table", "patients", "--events", "SELECT * FROM stays ORDER BY -line");
    expect_upload(c, false);
    SHARE_SQL(c, 0, "--table", "patients", "--events", "stays");
    expect_end(c, 2,
               "error: stays without dates follow each other as their rows come: give "
               "a SELECT with an ORDER BY");
}

TEST(events_in_sqlite_are_those_of_their_csv)
{
    static void (*const same[])(struct sql_scene *) = {same_events, in_order};
    struct bytes sql CLEAN(bytes_clear) = {0};
    support_needs(has_sqlite, "no SQLite by ODBC here");
    put_stays(&sql);
    for (int i = 0; i < 2; i++) {
        struct sql_scene c CLEAN(scene_free) = scene_events(i == 0 ? dated : in_lines);
        run_sqlite(&c, (const char *)sql.data);
        csv_of_sqlite(&c, all_patients, file(&c, "p.csv"));
        csv_of_sqlite(&c, all_stays, file(&c, "e.csv"));
        same[i](&c);
    }
}

TEST(events_in_postgresql_are_those_of_their_csv)
{
    static void (*const same[])(struct sql_scene *) = {same_events, in_order};
    struct bytes sql CLEAN(bytes_clear) = {0};
    support_needs(has_postgres, "no PostgreSQL here");
    put_stays(&sql);
    for (int i = 0; i < 2; i++) {
        struct sql_scene c CLEAN(scene_free) = scene_events(i == 0 ? dated : in_lines);
        run_postgres(&c, (const char *)sql.data);
        assert_true(support_postgres_csv(&postgres, all_patients, file(&c, "p.csv")));
        assert_true(support_postgres_csv(&postgres, all_stays, file(&c, "e.csv")));
        same[i](&c);
        run_postgres(&c, "DROP TABLE patients; DROP TABLE stays");
    }
}

TEST(what_is_wrong_with_events_in_a_database_is_said)
{
    static const struct {
        const char *words[6], *says;
    } wrong[] = {
        {{"--table", "patients"}, "name the CSV file of the persons, and that of their events"},
        {{"--table", "patients", "--events", "nowhere"}, "table nowhere: the database says: "},
        {{"--table", "patients", "--events", "SELECT 1/"}, "the query of stays: the database says"},
        {{"--table", "patients", "--events", "SELECT patient, ward FROM stays"},
         "the query of stays:0: no column is named admitted"},
        {{"--query", "SELECT 3 AS age", "--events", "stays"},
         "the query of persons:0: no column is named patient, which should say whose a row is"},
    };
    struct bytes sql CLEAN(bytes_clear) = {0};
    support_needs(has_sqlite, "no SQLite by ODBC here");
    put_stays(&sql);
    struct sql_scene c CLEAN(scene_free) = scene_events(dated);
    run_sqlite(&c, (const char *)sql.data);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *const *w = wrong[i].words;
        SHARE_SQL(&c, 0, w[0], w[1], w[2], w[3]);
        support_says(c.o.err, wrong[i].says);
        assert_int_not_equal(c.o.code, 0);
    }
    run_sqlite(&c, "INSERT INTO patients VALUES (7, 50)");
    SHARE_SQL(&c, 0, "--table", "patients", "--events", "stays");
    support_says(c.o.err, "persons who were there before (1)");
    support_says(c.o.err, "the database may give them in any order");
}

/* --- what does not fit ------------------------------------------------------------------------ */

static const char strict[] =
    "domain:\n"
    "  - {name: age, kind: integer, min: 0, max: 9}\n"
    "  - {name: sex, kind: categorical, values: [f, m], outside: error}\n"
    "  - {name: bmi, kind: numeric, edges: [0, 1, 2], missing: \"\", outside: error}\n";

/* Rows that fit, except for what the test changes. */
static void put_visits(struct bytes *sql, const char *more)
{
    bytes_put_text(sql, "CREATE TABLE visits (\"AGE\" INTEGER, sex TEXT, bmi FLOAT, who TEXT);\n");
    for (int i = 0; i < 40; i++)
        text_put(sql, "INSERT INTO visits VALUES (%d, '%s', %d.5, 'p%d');\n", i % 10,
                 i % 3 == 0 ? "f" : "m", i % 2, i);
    bytes_put_text(sql, more);
    bytes_put_u8(sql, 0);
    OK(bytes_ok(sql));
}

static struct sql_scene scene_sqlite(const char *columns, const char *more)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    support_needs(has_sqlite, "no SQLite by ODBC here");
    struct sql_scene c = scene_new(columns);
    put_visits(&sql, more);
    run_sqlite(&c, (const char *)sql.data);
    return c;
}

/* What init makes of the schema: no row is read, and a table of codes only if it is named. */
static void check_schema(struct sql_scene *c, const char *fee, const char *insured)
{
    const char *const expected[] = {
        "columns_from: \"the schema of the table patients\"\n",
        ("  # left out: id, a primary key\n  - name: age\n    kind: integer\n    min: 0\n"
         "    max: 110\n    bins: 10\n  - name: sex\n    kind: categorical\n    values: [f, m]\n"
         "    missing: [\"\"]\n"),
        ("  - name: bmi\n    kind: numeric\n    min: 10\n    max: 60.5\n    bins: 10\n"
         "    missing: [\"\"]\n"),
        "  # left out: remark, text or a time, without CHECK or ENUM\n",
        fee,
        ("  - name: paid\n    kind: numeric\n    min: FILL-IN\n    max: FILL-IN\n    bins: 10\n"
         "    missing: [\"\"]\n"),
        insured,
        "  - name: born\n    kind: date\n    from: FILL-IN\n    to: FILL-IN\n    bins: month\n"};
    for (unsigned named = 0; named < 2; named++) {
        const char *a[] = {
            "init",     file(c, "init.yaml"),      "--force",     "--sql", c->connection, "--table",
            "patients", named ? "--lookup" : NULL, "other,wards", NULL};
        support_command(&c->o, file(c, "out"), file(c, "err"), a);
        assert_int_equal(c->o.code, 0);
        support_text(file(c, "init.yaml"), c->o.out, sizeof c->o.out);
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
            support_says(c->o.out, expected[i]);
        support_says(c->o.out, named ? "  - name: ward\n    # wards(code)\n"
                                       "    kind: categorical\n    values: [c, s]\n"
                                     : "  - name: ward\n    # it refers to wards(code); if that "
                                       "has public codes: --lookup\n    kind: FILL-IN\n");
        assert_null(strstr(c->o.out, "secret"));
    }
}

#define SCHEMA(sex)                                                                                \
    "CREATE TABLE wards (code VARCHAR(9) PRIMARY KEY, name TEXT);"                                 \
    "INSERT INTO wards VALUES ('s', 'surgery'), ('c', 'cardiology');"                              \
    "CREATE TABLE patients (id INTEGER PRIMARY KEY, age INTEGER NOT NULL CHECK (age >= 0 AND age " \
    "< 111), sex " sex ", bmi DOUBLE PRECISION CHECK (bmi BETWEEN 10 AND 60.5), ward VARCHAR(9) "  \
    "REFERENCES wards (code), remark TEXT, fee NUMERIC(7,2), beds NUMERIC(3,0), paid NUMERIC, "    \
    "insured BOOLEAN, born DATE);"                                                                 \
    "INSERT INTO patients VALUES (1, 50, 'f', 20, 's', 'secret', 2.5, 3, 1, true, '2020-02-02');"

TEST(a_schema_gives_columns)
{
    if (!has_sqlite && !has_postgres)
        skip();
    struct sql_scene c CLEAN(scene_free) = scene_new(domain);
    if (has_sqlite) {
        run_sqlite(&c, SCHEMA("VARCHAR(1) CHECK (sex IN ('f', 'm'))"));
        check_schema(&c, "  - name: fee\n    kind: numeric\n", "    values: [\"1\", \"0\"]\n");
    }
    if (has_postgres) {
        run_postgres(&c, "CREATE TYPE sexes AS ENUM ('f', 'm');" SCHEMA("sexes"));
        check_schema(&c,
                     "  - name: fee\n    kind: numeric\n    min: FILL-IN\n    max: FILL-IN\n"
                     "    bins: 10\n    step: 0.01\n    missing: [\"\"]\n"
                     "  - name: beds\n    kind: integer\n",
                     "    values: [t, f]\n");
    }
}

TEST(values_that_do_not_fit_are_told_with_their_number_of_rows)
{
    static const struct {
        const char *change;
        int code;
        const char *words;
    } cases[] = {
        {"UPDATE visits SET \"AGE\" = 'x' || char(27) WHERE \"AGE\" = 3", 6,
         "error: table visits: age is 'x?' in 4 rows; it must be a whole number from 0 to 9\n"},
        {"UPDATE visits SET sex = 'F' WHERE who = 'p0'", 6,
         "error: table visits: sex is 'F' in 1 row; it must be one of 'f', 'm'\n"},
        {"UPDATE visits SET bmi = 2.25 WHERE who = 'p1'", 6,
         "error: table visits: bmi is '2.25' in 1 row; it must be a number from 0 to 2, or '' if "
         "missing\n"},
        {"UPDATE visits SET sex = NULL", 6,
         "error: table visits: sex is '' in 40 rows; it must be one of 'f', 'm'\n"},
        {"UPDATE visits SET \"AGE\" = 12 WHERE \"AGE\" > 7", 0,
         "warning: table visits: age is '12' in 8 rows, which does not fit the study; it counts as "
         "the nearest\n"},
        {"UPDATE visits SET \"AGE\" = 12 + (\"AGE\" = 9 AND sex = 'f') WHERE \"AGE\" > 7", 0,
         "which does not fit the study; it counts as the nearest (8 rows with others like it)\n"},
        {"DELETE FROM visits", 0, "warning: table visits has no rows: is it the right one?\n"},
        {"UPDATE visits SET sex = 'x' || who", 6,
         "error: table visits: sex is 'xp0' in 1 row; it must be one of 'f', 'm' (40 rows with "
         "others like it)\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sql_scene c CLEAN(scene_free) = scene_sqlite(strict, cases[i].change);
        SHARE_SQL(&c, 0, "--table", "visits");
        expect_end(&c, cases[i].code, cases[i].words);
    }
}

TEST(rows_that_are_read_have_their_place)
{
    struct sql_scene c CLEAN(scene_free) = scene_sqlite(
        strict, "UPDATE visits SET sex = 'F' WHERE who = 'p6'");
    SHARE_SQL(&c, 1, "--query", "SELECT who, sex, bmi, age FROM visits ORDER BY rowid");
    expect_end(&c, 6, "error: the query:7:2: sex is 'F'; it must be one of 'f', 'm'\n");
}

TEST(a_source_that_cannot_be_read_says_why)
{
    static const struct {
        const char *option, *value, *words;
        int code;
    } cases[] = {
        {"--table", "nowhere",
         "error: table nowhere: the database says: [SQLite]no such table: nowhere", 6},
        {"--query", "SELECT 1/",
         "error: the query: the database says: [SQLite]near \")\": syntax error", 6},
        {"--query", "SELECT age, sex FROM visits",
         "error: the query:0: no column is named bmi; add it, or correct the query\n", 6},
    };
    struct sql_scene c CLEAN(scene_free) = scene_sqlite(strict, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SHARE_SQL(&c, 0, cases[i].option, cases[i].value);
        expect_end(&c, cases[i].code, cases[i].words);
    }
    SHARE_SQL(
        &c, 2, "--query",
        "SELECT * FROM visits UNION ALL SELECT * FROM visits UNION ALL SELECT * FROM visits "
        "UNION ALL SELECT * FROM visits UNION ALL SELECT * FROM visits UNION ALL SELECT * FROM "
        "visits UNION ALL SELECT * FROM visits UNION ALL SELECT * FROM visits");
    support_says(c.o.err, "error: the query has 320 rows, more than the 300 allowed\n");
    snprintf(c.connection, sizeof c.connection, "Driver=SQLite3;Database=%s", file(&c, "mistyped"));
    SHARE_SQL(&c, 0, "--table", "visits");
    expect_end(&c, 1, "error: table visits: the database says: ");
    assert_int_not_equal(access(file(&c, "mistyped"), F_OK), 0);
    SHARE(&c, 0, "--sql", "no-such-source", "--table", "visits");
    expect_end(&c, 1, "Data source name not found");
    SHARE(&c, 0, "--table", "visits", "x.csv");
    support_says(c.o.err, "--table and --query need a database; name it with --sql");
    SHARE_SQL(&c, 0, NULL);
    support_says(c.o.err, "--sql needs --table T, or --query Q");
    SHARE_SQL(&c, 0, "x.csv", "--table", "visits");
    support_says(c.o.err, "share takes a CSV file or --sql, not both");
    SHARE_SQL(&c, 0, "--table", "visits", "--decimal", ",");
    expect_end(&c, 2, "--delimiter and --decimal are for CSV files; leave them out with --sql");
}

/* As in a header of CSV, where nobody sees them. */
TEST(spaces_around_a_columns_name_are_not_its_own)
{
    struct sql_scene c CLEAN(scene_free) = scene_sqlite(strict, "");
    for (unsigned owner = 0; owner < 2; owner++) {
        SHARE_SQL(&c, owner, "--table", "visits", "--person", "who");
        upload_of(&c, c.expected);
        SHARE_SQL(&c, owner, "--query",
                  "SELECT age AS \" age\", sex AS \"sex\t \", bmi, who AS \"who \" FROM visits",
                  "--person", "who");
        expect_upload(&c, true);
    }
}

TEST(persons_with_too_many_rows_are_counted_there)
{
    struct sql_scene c CLEAN(scene_free) = scene_sqlite(
        strict, "UPDATE visits SET who = ' p1' || char(9) WHERE who = 'p2';"
                "UPDATE visits SET who = 'p9' WHERE who IN ('p10', 'p11', 'p12');"
                "UPDATE visits SET who = 'P9' WHERE who = 'p13'");
    SHARE_SQL(&c, 0, "--table", "visits", "--person", "who");
    expect_end(&c, 6,
               "error: table visits: 1 person has 4 rows\n"
               "error: table visits: 1 person has 2 rows\n"
               "error: table visits: 2 persons have more than 1 row, for which");
    SHARE_SQL(&c, 0, "--table", "visits", "--person", "whose");
    support_says(c.o.err, "no column is named whose, which should say whose a row is");
    run_sqlite(&c, "UPDATE visits SET who = rowid; UPDATE visits SET who = ' ' WHERE rowid < 3;");
    SHARE_SQL(&c, 0, "--table", "visits", "--person", "who");
    expect_end(&c, 6, "error: table visits: who is empty in 2 rows; every row needs it");
}

TEST(rows_of_a_batch_need_an_order)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: city\n    columns: [age, sex]\n",
        "    max_rows: 900\n    batch: city\n    columns: [bmi]\n",
    };
    struct sql_scene c CLEAN(scene_free) = {.log = {.level = LOG_ERROR}};
    struct bytes sql CLEAN(bytes_clear) = {0};
    uint8_t *secret = NULL;
    support_needs(has_sqlite, "no SQLite by ODBC here");
    c.s = STUDY(&c.log, .domain = strict, .owners = 2, .part = part);
    OK(owner_secret_take(&secret, file(&c, "o0.test.secret"), c.s.study, NULL));
    secret_release(&secret);
    put_visits(&sql, "");
    run_sqlite(&c, (const char *)sql.data);
    SHARE_SQL(&c, 0, "--table", "visits");
    support_says(c.o.err, "give --query with an ORDER BY");
    SHARE_SQL(&c, 0, "--query", "SELECT * FROM visits WHERE reorder_by IS NULL");
    support_says(c.o.err, "give --query with an ORDER BY");
    csv_of_sqlite(&c, "SELECT \"AGE\" AS age, sex FROM visits ORDER BY bmi DESC, rowid DESC",
                  file(&c, "d.csv"));
    SHARE(&c, 0, file(&c, "d.csv"));
    upload_of(&c, c.expected);
    SHARE_SQL(&c, 0, "--query", "SELECT * FROM visits order\n BY bmi DESC, rowid DESC");
    expect_upload(&c, true);
}

/* --- connections ------------------------------------------------------------------------------ */

TEST(a_password_is_not_taken_from_arguments_nor_from_open_files)
{
    struct sql_scene c CLEAN(scene_free) = scene_sqlite(strict, "");
    char words[SUPPORT_PATH + 200];
    const char *path = file(&c, "clinic.conf");
    SHARE(&c, 0, "--sql", "DSN=clinic;pwd=hunter2", "--table", "visits");
    expect_end(&c, 2, "--sql holds a password");
    assert_null(strstr(c.o.err, "hunter2"));
    SHARE(&c, 0, "--sql", "DSN=clinic;ApiKey=hunter2", "--table", "visits");
    expect_end(&c, 2, "--sql holds a password or another secret");
    assert_null(strstr(c.o.err, "hunter2"));
    SHARE(&c, 0, "--sql", "postgresql://me:hunter2@clinic/db?sslmode=require", "--table", "visits");
    expect_end(&c, 2, "--sql takes no URL");
    assert_null(strstr(c.o.err, "hunter2"));
    snprintf(words, sizeof words, "# the clinic\nDriver = SQLite3\nDatabase=%s;\nPWD=x\n",
             file(&c, "d.sqlite"));
    write_text(path, words);
    SHARE(&c, 0, "--sql", path, "--table", "visits");
    assert_int_equal(c.o.code, 0);
    assert_int_equal(chmod(path, 0640), 0);
    SHARE(&c, 0, "--sql", path, "--table", "visits");
    support_says(c.o.err,
                 "holds a password or another secret and may be read by others (mode 0640); "
                 "run: chmod 600");
    assert_int_equal(c.o.code, 5);
    write_text(path, "Driver=SQLite3\nnonsense\n");
    SHARE(&c, 0, "--sql", path, "--table", "visits");
    support_says(c.o.err, "clinic.conf:2: a connection is made of KEY=VALUE; here is no '='");
}

TEST(connections_are_read)
{
    static const struct {
        const char *text, *expected; /* NULL: refused */
        bool secret;
    } cases[] = {
        {"DSN=a", "DSN=a", false},
        {" DSN = a b \r\n\n;;UID=u;\n#x\n # y\nPWD=p#1", "DSN=a b;UID=u;PWD=p#1", true},
        {"Driver={a;}}b} ;x={}", "Driver={a;}}b};x={}", false},
        {"a={x\ny}", "a={x\ny}", false},
        {"access Token=1", "access Token=1", true},
        {"a=", "a=", false},
        {"\xef\xbb\xbf# x\nDSN=a", "DSN=a", false},
        {"pqopt={sslmode=require password=x}", "pqopt={sslmode=require password=x}", true},
        {"set=Password=x", "set=Password=x", true},
        {"ApiKey=x", "ApiKey=x", true},
        {"api_key=x", "api_key=x", true},
        {"a={api-key=x}", "a={api-key=x}", true},
        {"Account Key=x", "Account Key=x", true},
        {"Credential=x", "Credential=x", true},
        {"AwsCredentials=x", "AwsCredentials=x", true},
        {"Bearer=x", "Bearer=x", true},
        {"header={X-Api-Key: x}", "header={X-Api-Key: x}", true},
        {"a=Basic Bearer x", "a=Basic Bearer x", true},
        {"Database=/a/bearer", "Database=/a/bearer", false},
        {"sslkey=/a/client.key", "sslkey=/a/client.key", false},
        {"Server=tcp:db;Primary Key=a", "Server=tcp:db;Primary Key=a", false},
        {"a1234567890123456789012345678901234567890123456789012345678901234567890pwd=x",
         "a1234567890123456789012345678901234567890123456789012345678901234567890pwd=x", true},
        {"Database=/a/passenger/b=c", "Database=/a/passenger/b=c", false},
        {"", NULL, false},
        {"#a=b", NULL, false},
        {"=b", NULL, false},
        {"a", NULL, false},
        {"a\n=b", NULL, false},
        {"a=b{c", NULL, false},
        {"a={b", NULL, false},
        {"a={b}c", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes out CLEAN(bytes_clear) = {0};
        bool secret;
        enum err e = connection_parse("f", cases[i].text, strlen(cases[i].text), &out, &secret,
                                      NULL);
        assert_int_equal(e, cases[i].expected != NULL ? ERR_OK : ERR_FORMAT);
        if (e == ERR_OK) {
            assert_string_equal((const char *)out.data, cases[i].expected);
            assert_int_equal(secret, cases[i].secret);
        }
    }
}

/* --- one state of the data -------------------------------------------------------------------- */

/* Counts, lets somebody write, and counts again. */
static void count_twice(struct sql_scene *c, void (*write)(struct sql_scene *c))
{
    const struct database_source source = {.connection = c->connection, .table = "visits"};
    const struct rows_options none = {0};
    struct database *db CLEAN(database_close) = NULL;
    const uint16_t one[] = {0}, other[] = {1};
    int64_t cells[64], sum = 0;
    size_t rows = 0;
    if (database_open(&db, c->s.study->domain, &source, &none, &c->log) != ERR_OK ||
        database_snapshot(db) != ERR_OK || database_count(db, one, 1, cells) != ERR_OK)
        fail_msg("%s", logged);
    write(c);
    if (database_count(db, other, 1, cells) != ERR_OK || database_check(db, &rows) != ERR_OK)
        fail_msg("%s", logged);
    for (int i = 0; i < 2; i++)
        sum += cells[i];
    assert_int_equal(rows, 40);
    assert_int_equal(sum, 40);
}

static const char one_more[] = "INSERT INTO visits VALUES (1, 'f', 0.5, 'late')";

static void write_sqlite(struct sql_scene *c)
{
    run_sqlite(c, one_more);
}

static void write_postgres(struct sql_scene *c)
{
    run_postgres(c, one_more);
}

TEST(all_counts_are_of_one_state_of_the_data)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    if (has_sqlite) {
        struct sql_scene c CLEAN(scene_free) = scene_sqlite(strict, "PRAGMA journal_mode = WAL");
        count_twice(&c, write_sqlite);
    }
    if (has_postgres) {
        struct sql_scene c CLEAN(scene_free) = scene_new(strict);
        put_visits(&sql, "");
        run_postgres(&c, "DROP TABLE IF EXISTS visits");
        run_postgres(&c, (const char *)sql.data);
        count_twice(&c, write_postgres);
    }
}

/* A cursor fetches ten thousand rows at a time, and they stay in order. */
TEST(many_rows_come_in_order)
{
    static const char columns[] = "domain:\n"
                                  "  - {name: a, kind: integer, min: 0, max: 25000}\n"
                                  "  - {name: b, kind: categorical, values: [x, \"\\u00e9\"]}\n";
    support_needs(has_postgres, "no PostgreSQL here");
    struct sql_scene c CLEAN(scene_free) = scene_new(columns);
    const struct database_source source = {
        .connection = c.connection,
        .query = "SELECT i AS a, CASE i % 3 WHEN 0 THEN 'x' ELSE 'é' END AS b "
                 "FROM generate_series(1, 25000) AS i ORDER BY 25000 - i"};
    const struct rows_options none = {0};
    struct database *db CLEAN(database_close) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    support_postgres_connection(&postgres, c.connection, sizeof c.connection);
    if (database_open(&db, c.s.study->domain, &source, &none, &c.log) != ERR_OK ||
        database_read(db, &t) != ERR_OK)
        fail_msg("%s", logged);
    assert_int_equal(t->rows, 25000);
    for (size_t i = 0; i < t->rows; i++) {
        assert_int_equal(t->column[0][i], 25000 - i);
        assert_int_equal(t->column[1][i], (25000 - i) % 3 != 0);
    }
}

/* --- other commands --------------------------------------------------------------------------- */

TEST(aim_and_eval_take_a_database)
{
    struct sql_scene c CLEAN(scene_free) = scene_sqlite(strict, "");
    char by_file[sizeof c.o.out];
    csv_of_sqlite(&c, "SELECT \"AGE\" AS age, sex, bmi FROM visits", file(&c, "d.csv"));
    csv_of_sqlite(&c, "SELECT \"AGE\" AS age, sex, bmi FROM visits WHERE rowid % 2 = 0",
                  file(&c, "e.csv"));
    TREFOIL(0, &c, "eval", c.s.path, file(&c, "d.csv"), file(&c, "e.csv"));
    snprintf(by_file, sizeof by_file, "%s", c.o.out);
    TREFOIL(0, &c, "eval", c.s.path, file(&c, "e.csv"), "--sql", c.connection, "--table", "visits");
    assert_string_equal(c.o.out, by_file);
    support_says(c.o.out, "40 real rows, 20 synthetic rows");
    TREFOIL(0, &c, "aim", c.s.path, file(&c, "d.csv"), "--sql", c.connection, "--query",
            "SELECT * FROM visits", "--out", file(&c, "result"));
    assert_true(file_is_there(file(&c, "result/synthetic.csv")));
}

TEST(rows_come_by_the_standard_input)
{
    struct sql_scene c CLEAN(scene_free) = scene_new(strict);
    int input = dup(STDIN_FILENO), fd;
    write_text(file(&c, "d.csv"), "age,sex,bmi\n1,f,0.5\n2,m,\n3,m,1.5\n");
    SHARE(&c, 0, file(&c, "d.csv"));
    upload_of(&c, c.expected);
    fd = open(file(&c, "d.csv"), O_RDONLY);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    SHARE(&c, 0, "-");
    expect_upload(&c, true);
    SHARE(&c, 0, "-");
    support_says(c.o.err, "standard input is empty; it needs a header line");
    assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
    close(fd);
    close(input);
}

static int set_up(void **state)
{
    has_sqlite = support_odbc("SQLite3");
    has_postgres = support_odbc("PostgreSQL Unicode") && support_postgres_start(&postgres);
    return secret_start() == ERR_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    support_postgres_stop(&postgres);
    return 0;
}

MAIN(support_run_tests(set_up, tear_down))
