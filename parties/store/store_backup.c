#include "parties/store/store_backup.h"

#include "base/bytes.h"
#include "base/file.h"
#include "parties/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#define AUDIT_MAX ((size_t)1 << 30)

/* One of the two databases, with its name for messages. */
struct backup_side {
    sqlite3 *db;
    const char *path;
    struct log *log;
};

static enum err failed(const struct backup_side *s, const char *what)
{
    return log_fail(s->log, ERR_SYSTEM, "cannot %s %s: %s", what, s->path, sqlite3_errmsg(s->db));
}

static enum err open_side(struct backup_side *s, const char *path, int flags, struct log *log)
{
    s->path = path;
    s->log = log;
    if (sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return failed(s, "open");
    sqlite3_busy_timeout(s->db, 10000);
    return ERR_OK;
}

static void close_side(struct backup_side *s)
{
    sqlite3_close(s->db);
}

static enum err execute(const struct backup_side *s, const char *sql)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? ERR_OK : failed(s, "write");
}

static void finalize(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
    *statement = NULL;
}

/* The one number from a query; ERR_FORMAT, not logged, if there is none. */
static enum err ask(const struct backup_side *s, const char *sql, uint64_t *v)
{
    sqlite3_stmt *row CLEAN(finalize) = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &row, NULL) != SQLITE_OK ||
        sqlite3_step(row) != SQLITE_ROW)
        return ERR_FORMAT;
    *v = (uint64_t)sqlite3_column_int64(row, 0);
    return ERR_OK;
}

/* All pages in one step, in one read transaction of the source, whose server can go on writing. */
static enum err copy(const struct backup_side *from, const struct backup_side *to)
{
    sqlite3_backup *b = sqlite3_backup_init(to->db, "main", from->db, "main");
    int result = b != NULL ? sqlite3_backup_step(b, -1) : SQLITE_ERROR;
    if (b != NULL)
        sqlite3_backup_finish(b);
    if (result == SQLITE_DONE)
        return ERR_OK;
    return log_fail(to->log, ERR_SYSTEM, "cannot copy %s to %s: %s", from->path, to->path,
                    sqlite3_errstr(result));
}

static enum err read_contents(const struct backup_side *s, struct store_contents *contents)
{
    uint64_t whole, logs;
    TRY(ask(s, "SELECT COUNT(*) FROM uploads", &contents->uploads));
    TRY(ask(s, "SELECT COUNT(*) FROM ledger", &contents->debits));
    TRY(ask(s, "SELECT integrity_check = 'ok' FROM pragma_integrity_check", &whole));
    TRY(ask(s, "SELECT COUNT(*) <= 1 FROM audit_log", &logs));
    return whole == 1 && logs == 1 ? ERR_OK : ERR_FORMAT;
}

/* Whether it is intact, is a store with its audit log, and has a version this program knows. */
static enum err check_copy(const struct backup_side *s, struct store_contents *contents)
{
    uint64_t version = 0;
    enum err e = ask(s, "PRAGMA user_version", &version);
    if (version > store_version())
        return log_fail(s->log, ERR_MISMATCH,
                        "%s is of a later trefoil (store version %u; this one, %s, knows %zu): use "
                        "that one",
                        s->path, (unsigned)version, TREFOIL_VERSION, store_version());
    if (e == ERR_OK)
        e = read_contents(s, contents);
    if (e == ERR_OK)
        return ERR_OK;
    return log_fail(s->log, e, "%s is damaged, or was not made by trefoil backup", s->path);
}

/* --- the audit log, next to the tables -------------------------------------------------------- */

static enum err put_audit(const struct backup_side *s, const char *path)
{
    sqlite3_stmt *row CLEAN(finalize) = NULL;
    struct bytes audit CLEAN(bytes_clear) = {0};
    TRY(execute(s, "CREATE TABLE audit_log(text BLOB NOT NULL) STRICT"));
    if (access(path, F_OK) != 0)
        return ERR_OK;
    TRY(file_read(path, AUDIT_MAX, &audit, s->log));
    while (audit.size > 0 && audit.data[audit.size - 1] != '\n')
        audit.size--; /* drop a line that is being written */
    if (sqlite3_prepare_v2(s->db, "INSERT INTO audit_log VALUES(?)", -1, &row, NULL) != SQLITE_OK ||
        sqlite3_bind_blob64(row, 1, audit.size > 0 ? audit.data : (const void *)"", audit.size,
                            SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(row) != SQLITE_DONE)
        return failed(s, "write");
    return ERR_OK;
}

static enum err take_audit(const struct backup_side *s, const char *path)
{
    sqlite3_stmt *row CLEAN(finalize) = NULL;
    int result;
    if (sqlite3_prepare_v2(s->db, "SELECT text FROM audit_log", -1, &row, NULL) != SQLITE_OK)
        return failed(s, "read");
    result = sqlite3_step(row);
    if (result == SQLITE_ROW)
        TRY(file_write(path, 0600, sqlite3_column_blob(row, 0),
                       (size_t)sqlite3_column_bytes(row, 0), s->log));
    else if (result != SQLITE_DONE) /* there may be none */
        return failed(s, "read");
    finalize(&row);
    return execute(s, "DROP TABLE audit_log");
}

/* --- both ways -------------------------------------------------------------------------------- */

/* Puts it at `path` only if nothing is there: a link, unlike a rename, never replaces a file. */
static enum err place(const char *made, const char *path, struct log *log)
{
    int fd = open(made, O_RDONLY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    enum err e;
    if (fd >= 0)
        close(fd);
    if (!synced || link(made, path) != 0)
        return log_fail(log, ERR_SYSTEM, "cannot put %s in place: %s", path, strerror(errno));
    e = file_sync_folder_of(path, log);
    if (e != ERR_OK)
        unlink(path);
    return e;
}

static enum err refuse_if_there(const char *path, struct log *log)
{
    if (access(path, F_OK) != 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM,
                    "%s is there already, and is not replaced: choose another name", path);
}

/* SQLite would only say that it cannot open the file, not why. */
static enum err refuse_if_not_there(const char *path, const char *what, struct log *log)
{
    if (access(path, R_OK) == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "cannot open %s: %s; name %s", path, strerror(errno), what);
}

/* A backup has no noise that was made ahead, so that a restore cannot use any of it twice. */
static enum err drop_ahead(const struct backup_side *s)
{
    uint64_t any = 0;
    TRY(execute(s, "PRAGMA secure_delete = ON"));
    if (ask(s, "SELECT COUNT(*) FROM pragma_table_info('ahead')", &any) != ERR_OK)
        return failed(s, "read");
    return any == 0 ? ERR_OK /* a store that no later program has opened */
                    : execute(s, "DELETE FROM ahead");
}

/* Makes the whole file under another name, before place(). */
static enum err make_backup(const char *from_path, const char *made, const char *audit,
                            struct store_contents *contents, struct log *log)
{
    struct backup_side from CLEAN(close_side) = {0};
    struct backup_side to CLEAN(close_side) = {0};
    TRY(open_side(&from, from_path, SQLITE_OPEN_READWRITE, log));
    TRY(open_side(&to, made, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, log));
    TRY(copy(&from, &to));
    TRY(execute(&to, "PRAGMA journal_mode = DELETE"));
    TRY(drop_ahead(&to));
    TRY(put_audit(&to, audit));
    return check_copy(&to, contents);
}

enum err store_backup(const char *folder, const char *file, struct store_contents *contents,
                      struct log *log)
{
    char from_path[FILE_PATH], audit[FILE_PATH], made[FILE_PATH];
    enum err e;
    TRY(file_path(audit, log, "%s/audit.log", folder));
    TRY(file_path(from_path, log, "%s/store.sqlite", folder));
    TRY(file_path(made, log, "%s.partial", file));
    TRY(refuse_if_not_there(from_path, "a folder of trefoil serve", log));
    TRY(refuse_if_there(file, log));
    unlink(made); /* left by a backup that was cut */
    e = make_backup(from_path, made, audit, contents, log);
    if (e == ERR_OK)
        e = place(made, file, log);
    unlink(made);
    return e;
}

static enum err make_store(const char *file, const char *made, const char *audit,
                           struct store_contents *contents, struct log *log)
{
    struct backup_side from CLEAN(close_side) = {0};
    struct backup_side to CLEAN(close_side) = {0};
    TRY(open_side(&from, file, SQLITE_OPEN_READONLY, log));
    TRY(check_copy(&from, contents));
    TRY(open_side(&to, made, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, log));
    TRY(copy(&from, &to));
    return take_audit(&to, audit);
}

enum err store_restore(const char *file, const char *folder, struct store_contents *contents,
                       struct log *log)
{
    char to_path[FILE_PATH], audit[FILE_PATH], made[FILE_PATH];
    enum err e;
    TRY(file_path(audit, log, "%s/audit.log", folder));
    TRY(file_path(to_path, log, "%s/store.sqlite", folder));
    TRY(file_path(made, log, "%s.partial", to_path));
    TRY(refuse_if_not_there(file, "what trefoil backup wrote", log));
    const bool is_new = access(folder, F_OK) != 0;
    TRY(file_folder(folder, log));
    TRY(refuse_if_there(to_path, log));
    TRY(refuse_if_there(audit, log));
    unlink(made);
    e = make_store(file, made, audit, contents, log);
    if (e == ERR_OK)
        e = place(made, to_path, log);
    if (e != ERR_OK)
        unlink(audit); /* otherwise the next try would be refused */
    unlink(made);
    if (e != ERR_OK && is_new)
        rmdir(folder);
    return e;
}
