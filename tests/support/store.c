#include "tests/support/store.h"

#include "harness/cmocka.h"

#include <sqlite3.h>

static sqlite3 *store_of(const struct support_study *s, unsigned i)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(support_path(s, "server%u/store.sqlite", i), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    return db;
}

void support_alter(const struct support_study *s, unsigned i, const char *sql)
{
    sqlite3 *db = store_of(s, i);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

void support_ask_store(const struct support_study *s, unsigned i, const char *sql, char *out,
                       size_t size)
{
    sqlite3 *db = store_of(s, i);
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    snprintf(out, size, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    sqlite3_close(db);
}
