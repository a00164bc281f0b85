#include "tests/support/store.h"

#include "harness/cmocka.h"

#include <sqlite3.h>

void support_alter(const struct support_study *s, unsigned i, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(support_path(s, "server%u/store.sqlite", i), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}
