#include "tests/support_store.h"

#include "tests/support_cmocka.h"

#include <sqlite3.h>
#include <stdio.h>

void support_alter(const struct support_study *s, unsigned i, const char *sql)
{
    char name[32], path[SUPPORT_PATH];
    sqlite3 *db;
    snprintf(name, sizeof name, "server%u/store.sqlite", i);
    support_study_file(s, name, path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}
