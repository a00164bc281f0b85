#include "parties/store/store_private.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Each brings a database from version k to k + 1: append new ones, never change the others. The
 * version is SQLite's user_version; a new file begins at 0.
 */
static const char *const migrations[] = {
    "CREATE TABLE IF NOT EXISTS about(key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;"
    "DELETE FROM about WHERE key = 'format version';"
    "CREATE TABLE IF NOT EXISTS uploads(id BLOB PRIMARY KEY, owner INTEGER NOT NULL UNIQUE,"
    "  digest BLOB NOT NULL, complete INTEGER NOT NULL, forwarded INTEGER NOT NULL,"
    "  sealed BLOB NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS ledger(number INTEGER PRIMARY KEY, request BLOB NOT NULL,"
    "  tape BLOB NOT NULL, gauss_from INTEGER NOT NULL, gauss_count INTEGER NOT NULL,  gumbel_from "
    "INTEGER NOT NULL, gumbel_count INTEGER NOT NULL, ledger TEXT NOT NULL,  head BLOB NOT NULL) "
    "STRICT;",
    /* looking for new uploads must not read all of them */
    "CREATE INDEX unforwarded ON uploads(id) WHERE complete AND NOT forwarded;"
    "CREATE INDEX complete ON uploads(owner) WHERE complete;",
    /* The ledger names rounds; a store with older entries is refused, so that no debit is lost. */
    "CREATE TABLE empty(debits_of_an_earlier_trefoil INTEGER"
    "  CHECK (debits_of_an_earlier_trefoil = 0)) STRICT;"
    "INSERT INTO empty SELECT COUNT(*) FROM ledger; DROP TABLE empty; DROP TABLE ledger;"
    "CREATE TABLE ledger(number INTEGER PRIMARY KEY, entry BLOB NOT NULL, head BLOB NOT NULL)"
    "  STRICT;"
    "CREATE TABLE rounds(number INTEGER UNIQUE, run BLOB NOT NULL, sequence INTEGER NOT NULL,"
    "  request BLOB NOT NULL, uploads BLOB NOT NULL, tape BLOB NOT NULL,  gauss_from INTEGER NOT "
    "NULL, gauss_count INTEGER NOT NULL,  gumbel_from INTEGER NOT NULL, gumbel_count INTEGER NOT "
    "NULL,  standing INTEGER NOT NULL, upload_ids BLOB NOT NULL, sealed BLOB, selected INTEGER,  "
    "opened BLOB, UNIQUE(run, sequence)) STRICT;",
    /* vectors that come in parts; uploads that were withdrawn, and when */
    "ALTER TABLE uploads ADD COLUMN at INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE parts(id BLOB NOT NULL, first INTEGER NOT NULL, size INTEGER NOT NULL,"
    "  sealed BLOB NOT NULL, PRIMARY KEY(id, first)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE withdrawn(owner INTEGER PRIMARY KEY, digest BLOB NOT NULL,"
    "  at INTEGER NOT NULL) STRICT;",
    /* a round's noise is apart from its row, which changes at every step */
    "CREATE TABLE noise(run BLOB NOT NULL, sequence INTEGER NOT NULL, sealed BLOB NOT NULL,"
    "  PRIMARY KEY(run, sequence)) STRICT;"
    "INSERT INTO noise SELECT run, sequence, sealed FROM rounds WHERE sealed IS NOT NULL;"
    "ALTER TABLE rounds DROP COLUMN sealed;",
    /* frequent questions (whose uploads are here, since when) must not read the uploads */
    "CREATE INDEX came ON uploads(at);"
    "CREATE INDEX held ON uploads(owner, complete, digest, at, id);",
    /* how often a round was tried; and, while it is staged, the entry that would debit it */
    "ALTER TABLE rounds ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE rounds ADD COLUMN entry BLOB;"
    /* whose a run is; earlier rounds are nobody's */
    "ALTER TABLE rounds ADD COLUMN analyst BLOB NOT NULL"
    "  DEFAULT x'0000000000000000000000000000000000000000000000000000000000000000';",
    /* one row: checks that have begun, and those that others may have tried (store_guard.h) */
    "CREATE TABLE guard(begun INTEGER NOT NULL, tries INTEGER NOT NULL, failed INTEGER NOT NULL)"
    "  STRICT; INSERT INTO guard VALUES(0, 0, 0);",
    /* blocks of noise that were made before a run (store_ahead.h) */
    "CREATE TABLE ahead(kind INTEGER NOT NULL, name BLOB NOT NULL, sealed BLOB NOT NULL,"
    "  PRIMARY KEY(kind, name)) STRICT;",
    /* whose key has which token's number */
    "CREATE TABLE seats(number INTEGER PRIMARY KEY, sign BLOB NOT NULL) STRICT;",
    /* few uploads are incomplete: SQLite can count those, and all, without looking at each */
    "DROP INDEX complete; CREATE INDEX incomplete ON uploads(owner) WHERE NOT complete;",
    /* whether an upload is sorted by person, by its digest; NULL until that is opened */
    "CREATE TABLE sorted(digest BLOB PRIMARY KEY, attempts INTEGER NOT NULL, sorted INTEGER)"
    "  STRICT;",
    /* the last of each owner's sealed acts */
    "CREATE TABLE serials(owner INTEGER PRIMARY KEY, serial INTEGER NOT NULL,"
    "  kind INTEGER NOT NULL, digest BLOB NOT NULL) STRICT;",
    /* in `sorted`: what was counted of an upload of encrypted rows */
    "ALTER TABLE sorted ADD COLUMN sealed BLOB;",
};
#define VERSION (sizeof migrations / sizeof *migrations)
#define VERSION_OF_ROUNDS 3 /* the first whose entries name rounds */
#define VERSION_OF_RUNS 7   /* the first whose runs this program can continue */

size_t store_version(void)
{
    return VERSION;
}

/* --- opening ---------------------------------------------------------------------------------- */

static const char *path_of(const struct store *s)
{
    return sqlite3_db_filename(s->db, "main");
}

/*
 * A run that trefoil 0.1 began must be finished with 0.1, or the study ended: the cost of noise and
 * the form of requests have changed since. A store with such a run is left as it is.
 */
static enum err check_finished(struct store *s, uint64_t version)
{
    bool over = true;
    if (version >= VERSION_OF_ROUNDS && version < VERSION_OF_RUNS) {
        TRY(store_is_purged(s, &over));
        if (!over)
            TRY(store_run_is_over(s, &over));
    }
    if (over)
        return ERR_OK;
    return log_fail(s->log, ERR_MISMATCH,
                    "%s has a run that trefoil 0.1 began and that is not over "
                    "(store version %u; this trefoil, %s, goes on with runs of version %d and "
                    "later): serve the study with trefoil 0.1 at all three servers until that run "
                    "has spent its budget, or end it with 0.1's serve --purge. Nothing was changed",
                    path_of(s), (unsigned)version, TREFOIL_VERSION, VERSION_OF_RUNS);
}

/* Within a batch: brings the database up to this program's version; refuses a later version. */
static enum err migrate(struct store *s)
{
    uint64_t version = 0;
    char sql[64];
    enum err e = ERR_OK;
    TRY(store_number(s, "PRAGMA user_version", &version));
    if (version > VERSION)
        return log_fail(s->log, ERR_MISMATCH,
                        "%s was used by a later trefoil (store version %u; this "
                        "one, %s, knows %zu): run that one; nothing was changed",
                        path_of(s), (unsigned)version, TREFOIL_VERSION, VERSION);
    if (version == VERSION)
        return ERR_OK;
    TRY(check_finished(s, version));
    for (size_t k = (size_t)version; e == ERR_OK && k < VERSION; k++)
        e = store_execute(s, migrations[k]);
    snprintf(sql, sizeof sql, "PRAGMA user_version = %zu", VERSION);
    if (e == ERR_OK)
        e = store_execute(s, sql);
    if (e == ERR_OK)
        return ERR_OK;
    return log_fail(s->log, e,
                    "%s is of an earlier trefoil (store version %u; this one, %s, "
                    "writes %zu) and could not be brought up to date: nothing was changed. If it "
                    "has debits, end the study with the trefoil that made it",
                    path_of(s), (unsigned)version, TREFOIL_VERSION, VERSION);
}

/* One process per folder, since two would both debit. SQLite's own lock would block backups. */
static enum err lock_folder(struct store *s, const char *path)
{
    s->lock_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock_file >= 0 && flock(s->lock_file, LOCK_EX | LOCK_NB) == 0)
        return ERR_OK;
    return log_fail(s->log, ERR_SYSTEM, "cannot lock %s: %s%s", path, strerror(errno),
                    errno == EWOULDBLOCK ? "; another trefoil serve uses this folder: stop it first"
                                         : "");
}

/* Whoever may write here can replace the files. */
static enum err check_folder(const struct store *s, const char *folder)
{
    struct stat st;
    if (stat(folder, &st) != 0)
        return log_fail(s->log, ERR_SYSTEM, "cannot open %s: %s", folder, strerror(errno));
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return ERR_OK;
    return log_fail(s->log, ERR_SYSTEM,
                    "others on this machine may write to the server's folder %s (mode %03o): run "
                    "chmod go-w '%s', and make sure that nobody has",
                    folder, (unsigned)st.st_mode & 0777, folder);
}

/* Within a batch, so that a folder that is refused stays as it was. */
static enum err take(struct store *s, const struct identity *me)
{
    TRY(migrate(s));
    TRY(store_belongs(s, me));
    return store_check_ledger(s);
}

static enum err open_database(struct store *s, const char *folder, const struct identity *me)
{
    char lock[FILE_PATH], path[FILE_PATH];
    TRY(file_path(lock, s->log, "%s/lock", folder));
    TRY(file_path(path, s->log, "%s/store.sqlite", folder));
    TRY(file_folder(folder, s->log));
    TRY(check_folder(s, folder));
    TRY(lock_folder(s, lock));
    if (sqlite3_open_v2(path, &s->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        return query_failed(s, "open");
    sqlite3_busy_timeout(s->db, 1000);
    TRY(store_execute(s, "PRAGMA journal_mode = WAL"));
    TRY(store_execute(s, "PRAGMA synchronous = FULL"));
    /* withdrawn or replaced data are overwritten */
    TRY(store_execute(s, "PRAGMA secure_delete = ON"));
    TRY(store_batch(s));
    return store_end(s, take(s, me));
}

/* Recursive: a batch holds it across the calls that write. */
static bool lock_new(pthread_mutex_t *lock)
{
    pthread_mutexattr_t kind;
    bool made;
    if (pthread_mutexattr_init(&kind) != 0)
        return false;
    made = pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE) == 0 &&
           pthread_mutex_init(lock, &kind) == 0;
    pthread_mutexattr_destroy(&kind);
    return made;
}

enum err store_open(struct store **store, const char *folder, const struct study *study,
                    const struct split *split, const struct identity *me, unsigned index,
                    struct log *log)
{
    struct store *s CLEAN(store_close) = NULL;
    *store = NULL;
    TRY(memory_new(&s, 1));
    *s = (struct store){.lock_file = -1,
                        .study = study,
                        .split = split,
                        .index = index,
                        .erased = true, /* as a crash may have left it */
                        .log = log};
    if (!lock_new(&s->lock)) {
        memory_free(&s);
        return ERR_NOMEM;
    }
    s->key = secret_new(32);
    if (s->key == NULL)
        return ERR_NOMEM;
    if (crypto_generichash(s->key, 32, (const uint8_t *)"trefoil-store-1", 15, me->sign_secret,
                           32) != 0)
        return ERR_CRYPTO;
    TRY(open_database(s, folder, me));
    return memory_hand_over(store, &s);
}

void store_close(struct store **store)
{
    struct store *s = *store;
    if (s == NULL)
        return;
    query_forget(s);
    sqlite3_close(s->db);
    if (s->lock_file >= 0)
        close(s->lock_file);
    pthread_mutex_destroy(&s->lock);
    secret_free(&s->key);
    memory_free(store);
}
