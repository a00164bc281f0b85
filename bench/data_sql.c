#include "bench/data_sql.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "bench/figures.h"
#include "harness/postgres.h"
#include "harness/process.h"

#include <string.h>
#include <unistd.h>

#define ROWS_FULL 10000000
#define ROWS_SMOKE 20000
#define TRIALS 3
#define LIMIT_S 1800

static const char domain[] =
    "domain:\n"
    "  - {name: age, kind: integer, min: 0, max: 99}\n"
    "  - {name: sex, kind: categorical, values: [f, m], missing: \"\"}\n"
    "  - {name: ward, kind: categorical, values: [surgery, cardiology, \"h\\u00e9matologie\", "
    "other]}\n"
    "  - {name: bmi, kind: numeric, edges: [10, 18.5, 25, 30, 60], missing: \"\"}\n"
    "  - {name: cost, kind: numeric, edges: [0, 10, 50, 100, 500, 1000]}\n"
    "  - {name: days, kind: numeric, edges: [0, 1, 3, 7, 14, 30, 60]}\n";

/* What a person would group by. */
static const char *const by_hand[] = {
    "age",
    "sex",
    "ward",
    "CASE WHEN bmi < 18.5 THEN 0 WHEN bmi < 25 THEN 1 WHEN bmi < 30 THEN 2 WHEN bmi <= 60 THEN 3 "
    "END",
    "CASE WHEN cost < 10 THEN 0 WHEN cost < 50 THEN 1 WHEN cost < 100 THEN 2 WHEN cost < 500 THEN "
    "3 WHEN cost <= 1000 THEN 4 END",
    "CASE WHEN days < 1 THEN 0 WHEN days < 3 THEN 1 WHEN days < 7 THEN 2 WHEN days < 14 THEN 3 "
    "WHEN days < 30 THEN 4 WHEN days <= 60 THEN 5 END",
};
#define COLUMNS (sizeof by_hand / sizeof *by_hand)

struct data_sql_bench {
    struct support_study s;
    struct support_postgres p;
    pid_t server[STUDY_SERVERS_MOST];
    unsigned rows;
    char connection[256];
    struct log *log;
};

static enum err run_sql(struct data_sql_bench *b, const char *name, struct bytes *sql)
{
    TRY(bytes_ok(sql));
    TRY(file_write(file(b, "%s", name), 0600, sql->data, sql->size, b->log));
    return support_postgres_run(&b->p, file(b, "%s", name)) ? ERR_OK : ERR_SYSTEM;
}

static enum err make_rows(struct data_sql_bench *b)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    text_put(
        &sql,
        "SELECT setseed(0.5);\nCREATE TABLE visits AS SELECT (random() * 99)::int AS age,\n"
        "CASE WHEN random() < 0.02 THEN NULL WHEN random() < 0.5 THEN 'f' ELSE 'm' END AS sex,\n"
        "(ARRAY['surgery', 'cardiology', 'hématologie', 'other'])[1 + floor(random() * 4)] AS "
        "ward,\nCASE WHEN random() < 0.1 THEN NULL ELSE 10 + 50 * random() END AS bmi,\n"
        "(1000 * random())::numeric(8, 2) AS cost, (60 * random() * random())::int AS days\n"
        "FROM generate_series(1, %u);\nVACUUM ANALYZE visits;\n",
        b->rows);
    return run_sql(b, "rows.sql", &sql);
}

/* In one transaction, for all pairs of columns. */
static enum err count_by_hand(struct data_sql_bench *b, double *seconds)
{
    struct bytes sql CLEAN(bytes_clear) = {0};
    double start;
    bytes_put_text(&sql, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\n");
    for (size_t i = 0; i < COLUMNS; i++)
        for (size_t k = i + 1; k < COLUMNS; k++)
            text_put(&sql, "SELECT %s, %s, COUNT(*) FROM visits GROUP BY 1, 2;\n", by_hand[i],
                     by_hand[k]);
    bytes_put_text(&sql, "COMMIT;\n");
    start = clock_now_s();
    TRY(run_sql(b, "hand.sql", &sql));
    *seconds = clock_now_s() - start;
    return ERR_OK;
}

/* An owner's share, its cost, and the upload's digest. */
static enum err share(struct data_sql_bench *b, unsigned owner, bool csv, double *seconds,
                      size_t *peak, char digest[65])
{
    const char *key = file(b, "o%u.key", owner), *out = file(b, "share.log"), *at;
    const char *const by_sql[] = {"share",       b->s.path, "--key",  key, "--sql",
                                  b->connection, "--table", "visits", NULL};
    const char *const by_csv[] = {"share", b->s.path, file(b, "visits.csv"), "--key", key, NULL};
    struct bytes said CLEAN(bytes_clear) = {0};
    double start = clock_now_s();
    unlink(out);
    if (support_wait_peak(support_start(out, csv ? by_csv : by_sql), LIMIT_S, peak) != 0)
        return log_fail(b->log, ERR_SYSTEM, "trefoil share fails; see %s", out);
    *seconds = clock_now_s() - start;
    TRY(file_read(out, 1 << 20, &said, b->log));
    bytes_put_u8(&said, 0);
    TRY(bytes_ok(&said));
    at = strstr((const char *)said.data, "upload: ");
    snprintf(digest, 65, "%.64s", at != NULL ? at + strlen("upload: ") : "");
    return digest[0] != '\0' ? ERR_OK : ERR_DATA;
}

static enum err prepare(struct data_sql_bench *b)
{
    char counts[64], records[64];
    const char *const part[] = {counts, records};
    const struct study_options o = {.owners = 2, .domain = domain, .part = part};
    snprintf(counts, sizeof counts, "    max_rows: %u\n    as: counts\n", 2 * b->rows);
    snprintf(records, sizeof records, "    max_rows: %u\n    as: records\n", 2 * b->rows);
    TRY(support_study_new(&b->s, &o, b->log));
    if (!support_serve_all(&b->s, b->s.path, b->server))
        return log_fail(b->log, ERR_PEER, "a server does not start");
    support_postgres_connection(&b->p, b->connection, sizeof b->connection);
    return make_rows(b);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static enum err measure(struct data_sql_bench *b, json_t *out)
{
    double hand = 1e9, there = 1e9, by_csv, read, seconds;
    char digest[65], of_csv[65];
    size_t peak = 0, peak_read, most = 0;
    bool equal;
    TRY(prepare(b));
    for (unsigned i = 0; i < TRIALS; i++) {
        TRY(count_by_hand(b, &seconds));
        hand = least(hand, seconds);
        TRY(share(b, 0, false, &seconds, &peak, digest));
        there = least(there, seconds);
        most = peak > most ? peak : most;
    }
    if (!support_postgres_csv(&b->p, "SELECT * FROM visits", file(b, "visits.csv")))
        return ERR_SYSTEM;
    TRY(share(b, 0, true, &by_csv, &peak, of_csv));
    equal = strcmp(digest, of_csv) == 0;
    TRY(share(b, 1, false, &read, &peak_read, digest));
    TRY(share(b, 1, true, &seconds, &peak, of_csv));
    equal &= strcmp(digest, of_csv) == 0;
    printf("  %u rows in PostgreSQL, 15 marginals of 2 of 6 columns\n"
           "  by hand %.2f s; counted there %.2f s (%.2f), %.0f MiB; read as records %.2f s, %.0f "
           "MiB; counts of its CSV %.2f s\n  uploads equal those of CSV: %s\n",
           b->rows, hand, there, there / hand, (double)most / 1048576, read,
           (double)peak_read / 1048576, by_csv, equal ? "yes" : "NO");
    figures_put(out, b->rows, "sql_rows");
    figures_put(out, hand, "sql_hand_s");
    figures_put(out, there, "sql_count_s");
    figures_put(out, there / hand, "sql_count_over_hand");
    figures_put(out, (double)most / 1048576, "sql_rss_mib");
    figures_put(out, read, "sql_read_s");
    figures_put(out, (double)peak_read / 1048576, "sql_read_rss_mib");
    figures_put(out, by_csv, "sql_csv_s");
    figures_put(out, equal, "sql_upload_equal");
    return ERR_OK;
}

enum err data_sql(bool smoke, json_t *out, struct log *log)
{
    struct data_sql_bench b = {.rows = smoke ? ROWS_SMOKE : ROWS_FULL, .log = log};
    enum err e;
    if (!support_odbc("PostgreSQL Unicode") || !support_postgres_start(&b.p)) {
        puts("# SKIP counting in PostgreSQL, which is absent here");
        return ERR_OK;
    }
    e = measure(&b, out);
    if (!support_stop_all(b.server) && e == ERR_OK)
        e = log_fail(log, ERR_PEER, "a server does not stop");
    support_study_free(&b.s);
    support_postgres_stop(&b.p);
    return e;
}
