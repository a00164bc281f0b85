/*
 * parties/store/query.h - one SQL statement, from its text to its end.
 *
 * Parameters are put in order, as into struct bytes, and columns are taken in order, as from struct
 * reader. The first failure is logged and remembered, and later calls do nothing, so that a caller
 * checks only query_end(). A query holds the store's lock until then.
 */
#pragma once

#include "base/array.h"
#include "base/bytes.h"

#include <sqlite3.h>

struct store;

struct query {
    struct store *store;
    sqlite3_stmt *statement; /* NULL: it could not be prepared */
    sqlite3_stmt **kept;     /* where the store keeps it afterwards */
    int next;                /* parameter, from 1 on; or column of a row, from 0 on */
    enum err e;
};

/* Logs SQLite's message about its last failure, and returns ERR_SYSTEM. */
enum err query_failed(struct store *s, const char *what) MUST_CHECK;

/* A parameter: a number, or bytes, which are borrowed until the end. */
struct query_value {
    bool is_bytes;
    const void *bytes;
    uint64_t number; /* or how many bytes */
};
#define NUMBER(v) ((struct query_value){.number = (v)})
#define BYTES(p, n) ((struct query_value){true, (p), (n)})
#define QUERY_VALUES(...) COUNTED(((const struct query_value[]){__VA_ARGS__}))

/* A statement with its first parameters: QUERY(store, sql, NUMBER(owner), BYTES(id, size)). */
#define QUERY(store, sql, ...) query_with((store), (sql), QUERY_VALUES(__VA_ARGS__))
struct query query_of(struct store *s, const char *sql);
struct query query_with(struct store *s, const char *sql, const struct query_value *v, size_t n);
enum err query_end(struct query *q) MUST_CHECK;
/* Before the store is closed: frees the statements that are kept. */
void query_forget(struct store *s);

/* The next parameter. Bytes are borrowed until the end. */
void query_put_u64(struct query *q, uint64_t v);
void query_put(struct query *q, const void *p, size_t n);
void query_put_text(struct query *q, const char *text);
/* The same, or SQL's NULL for NULL. */
void query_put_number(struct query *q, const uint64_t *v);
void query_put_bytes(struct query *q, const struct bytes *b);

/* The next row, if there is one. */
bool query_row(struct query *q);

/* The next column of the row; 0 or nothing after a failure. */
uint64_t query_u64(struct query *q);
/* Borrowed until the next row or the end; NULL if it has no bytes. */
const void *query_blob(struct query *q, size_t *n);
/* Appended to `out`. */
void query_bytes(struct query *q, struct bytes *out);
/* One that must have exactly n bytes; otherwise ERR_FORMAT, logged. */
void query_copy(struct query *q, void *out, size_t n);

/* Runs a statement without result rows, and ends it; `changed` (or NULL): if it changed any row. */
enum err query_run(struct query *q, bool *changed) MUST_CHECK;
#define CHANGE(store, changed, sql, ...)                                                           \
    query_run(&(struct query[]){QUERY(store, sql, __VA_ARGS__)}[0], changed)

/* Ends a query: whether it has a row; the bytes of its only column, ERR_LOST if it has none. */
enum err query_any(struct query *q, bool *any) MUST_CHECK;
enum err query_one(struct query *q, struct bytes *out) MUST_CHECK;
