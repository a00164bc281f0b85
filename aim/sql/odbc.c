#include "aim/sql/odbc.h"

#include "aim/sql/utf16.h"
#include "base/bytes.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "base/text.h"

#include <locale.h>
#include <sql.h>
#include <sqlext.h>
#include <sqlucode.h>
#include <string.h>

#define SHOWN_SIZE 1000
#define LOGIN_SECONDS 30
#define PIECE 4096 /* bytes of a field that are read at a time */
#define RECORDS_MAX 4

/*
 * The driver manager passes text on as it is, or converts it with a table that loses characters,
 * depending on whether the driver speaks UTF-16 (`wide`) or bytes. Only a trial tells which.
 */
struct odbc {
    SQLHENV environment;
    SQLHDBC connection;
    SQLHSTMT statement;
    bool connected, wide, manual;
    char engine[ODBC_NAME], quote[8];
    const char *name;
    struct log *log;
    SQLSMALLINT columns;
    struct bytes raw, text;
};

static bool good(SQLRETURN r)
{
    return SQL_SUCCEEDED(r);
}

/* --- text ------------------------------------------------------------------------------------- */

/* UTF-16 from the driver's buffer; "" if it does not fit. */
static void from_wide(const SQLWCHAR *wide, size_t limit, char *text, size_t size)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    size_t n = 0;
    while (n < limit && wide[n] != 0)
        n++;
    utf16_text(&b, wide, n);
    bytes_put_u8(&b, 0);
    if (bytes_ok(&b) == ERR_OK && b.size <= size)
        memcpy(text, b.data, b.size);
    else
        text[0] = '\0';
}

/* --- errors ----------------------------------------------------------------------------------- */

/* The driver's message, in one line without control characters. */
static void driver_words(const struct odbc *o, SQLSMALLINT kind, SQLHANDLE handle, char *shown)
{
    struct bytes all CLEAN(bytes_clear) = {0};
    for (SQLSMALLINT i = 1; i <= RECORDS_MAX; i++) {
        SQLWCHAR wide[SHOWN_SIZE], state[6];
        SQLCHAR narrow[SHOWN_SIZE], narrow_state[6];
        char text[SHOWN_SIZE];
        SQLINTEGER code;
        SQLSMALLINT n = 0;
        SQLRETURN r = o->wide ? SQLGetDiagRecW(kind, handle, i, state, &code, wide, SHOWN_SIZE, &n)
                              : SQLGetDiagRec(kind, handle, i, narrow_state, &code, narrow,
                                              sizeof narrow, &n);
        if (!good(r))
            break;
        if (o->wide)
            from_wide(wide, SHOWN_SIZE, text, sizeof text);
        else
            snprintf(text, sizeof text, "%s", (const char *)narrow);
        for (char *p = text; *p != '\0'; p++)
            if (*p == '\n' || *p == '\r' || *p == '\t')
                *p = ' ';
        bytes_put_text(&all, all.size > 0 ? "; " : "");
        bytes_put_text(&all, text);
    }
    bytes_put_u8(&all, 0);
    encoding_printable(bytes_ok(&all) == ERR_OK ? (const char *)all.data : "", shown, SHOWN_SIZE);
}

static enum err refused(const struct odbc *o, enum err e, SQLSMALLINT kind, SQLHANDLE handle)
{
    char shown[SHOWN_SIZE];
    driver_words(o, kind, handle, shown);
    return log_fail(o->log, e, "%s: the database says: %s", o->name,
                    shown[0] != '\0' ? shown : "nothing about why it failed");
}

static enum err statement_refused(const struct odbc *o)
{
    return refused(o, ERR_DATA, SQL_HANDLE_STMT, o->statement);
}

/* --- connecting ------------------------------------------------------------------------------- */

void odbc_close(struct odbc **o)
{
    if (*o == NULL)
        return;
    if ((*o)->statement != SQL_NULL_HSTMT)
        SQLFreeHandle(SQL_HANDLE_STMT, (*o)->statement);
    if ((*o)->manual)
        SQLEndTran(SQL_HANDLE_DBC, (*o)->connection, SQL_ROLLBACK);
    if ((*o)->connected)
        SQLDisconnect((*o)->connection);
    if ((*o)->connection != SQL_NULL_HDBC)
        SQLFreeHandle(SQL_HANDLE_DBC, (*o)->connection);
    if ((*o)->environment != SQL_NULL_HENV)
        SQLFreeHandle(SQL_HANDLE_ENV, (*o)->environment);
    bytes_clear(&(*o)->raw);
    bytes_clear(&(*o)->text);
    memory_free(o);
}

static enum err no_handle(const struct odbc *o)
{
    return log_fail(o->log, ERR_SYSTEM, "%s: unixODBC cannot start", o->name);
}

/* The driver manager expects the locale's encoding, and our text is UTF-8. */
static SQLRETURN connect_in_utf8(struct odbc *o, const char *text)
{
    struct bytes copy CLEAN(bytes_clear) = {0};
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before = (locale_t)0;
    SQLRETURN r = SQL_ERROR;
    bytes_put(&copy, text, strlen(text) + 1);
    if (utf8 != (locale_t)0)
        before = uselocale(utf8);
    if (bytes_ok(&copy) == ERR_OK)
        r = SQLDriverConnect(o->connection, NULL, copy.data, SQL_NTS, NULL, 0, NULL,
                             SQL_DRIVER_NOPROMPT);
    if (utf8 != (locale_t)0) {
        uselocale(before);
        freelocale(utf8);
    }
    return r;
}

static enum err find_engine(struct odbc *o)
{
    SQLSMALLINT n = 0;
    SQLCHAR text[ODBC_NAME] = "";
    if (!good(SQLGetInfo(o->connection, SQL_DBMS_NAME, text, sizeof text, &n)))
        return refused(o, ERR_SYSTEM, SQL_HANDLE_DBC, o->connection);
    encoding_printable((const char *)text, o->engine, sizeof o->engine);
    snprintf(o->quote, sizeof o->quote, "\"");
    if (good(SQLGetInfo(o->connection, SQL_IDENTIFIER_QUOTE_CHAR, text, sizeof text, &n)) &&
        text[0] != '\0' && text[0] != ' ')
        snprintf(o->quote, sizeof o->quote, "%.7s", (const char *)text);
    return ERR_OK;
}

/* Whether characters of two, three and four bytes come back unchanged. */
static enum err find_width(struct odbc *o)
{
    static const char probe[] = "\xc3\xa9\xc4\x80\xe2\x82\xac\xf0\x9d\x84\x9e";
    struct log *log = o->log;
    char sql[64], *text;
    size_t n;
    bool more;
    enum err e;
    snprintf(sql, sizeof sql, "SELECT '%s'", probe);
    o->wide = true;
    o->log =
        NULL; /* it may fail: not every engine has a SELECT of nothing, nor every driver UTF-16 */
    e = odbc_run(o, sql);
    o->log = log;
    if (e != ERR_OK) {
        o->wide = strcmp(o->engine, "SQLite") != 0;
        return ERR_OK;
    }
    TRY(odbc_next(o, &more));
    TRY(odbc_field(o, 0, &text, &n));
    o->wide = text != NULL && strcmp(text, probe) == 0;
    return ERR_OK;
}

static enum err start(struct odbc *o, const char *text)
{
    if (!good(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &o->environment)) ||
        !good(SQLSetEnvAttr(o->environment, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0)) ||
        !good(SQLAllocHandle(SQL_HANDLE_DBC, o->environment, &o->connection)))
        return no_handle(o);
    SQLSetConnectAttr(o->connection, SQL_ATTR_LOGIN_TIMEOUT, (SQLPOINTER)LOGIN_SECONDS, 0);
    if (!good(connect_in_utf8(o, text)))
        return refused(o, ERR_SYSTEM, SQL_HANDLE_DBC, o->connection);
    o->connected = true;
    TRY(find_engine(o));
    if (!good(SQLAllocHandle(SQL_HANDLE_STMT, o->connection, &o->statement)))
        return refused(o, ERR_SYSTEM, SQL_HANDLE_DBC, o->connection);
    return find_width(o);
}

enum err odbc_connect(struct odbc **out, const char *text, const char *name, struct log *log)
{
    struct odbc *o CLEAN(odbc_close) = NULL;
    *out = NULL;
    TRY(memory_new(&o, 1));
    *o = (struct odbc){.environment = SQL_NULL_HENV,
                       .connection = SQL_NULL_HDBC,
                       .statement = SQL_NULL_HSTMT,
                       .name = name,
                       .log = log};
    TRY(start(o, text));
    return memory_hand_over(out, &o);
}

const char *odbc_engine(const struct odbc *o)
{
    return o->engine;
}

const char *odbc_quote(const struct odbc *o)
{
    return o->quote;
}

enum err odbc_begin(struct odbc *o, bool *able)
{
    SQLUSMALLINT capable = SQL_TC_NONE;
    *able = good(SQLGetInfo(o->connection, SQL_TXN_CAPABLE, &capable, sizeof capable, NULL)) &&
            capable != SQL_TC_NONE;
    if (!*able)
        return ERR_OK;
    if (!good(SQLSetConnectAttr(o->connection, SQL_ATTR_AUTOCOMMIT, (SQLPOINTER)SQL_AUTOCOMMIT_OFF,
                                0)))
        return refused(o, ERR_SYSTEM, SQL_HANDLE_DBC, o->connection);
    o->manual = true;
    return ERR_OK;
}

/* --- statements ------------------------------------------------------------------------------- */

static SQLRETURN execute(struct odbc *o, const char *sql)
{
    struct bytes copy CLEAN(bytes_clear) = {0};
    if (o->wide)
        utf16_put(&copy, sql);
    else
        bytes_put(&copy, sql, strlen(sql) + 1);
    if (bytes_ok(&copy) != ERR_OK)
        return SQL_ERROR;
    return o->wide ? SQLExecDirectW(o->statement, (SQLWCHAR *)(void *)copy.data, SQL_NTS)
                   : SQLExecDirect(o->statement, copy.data, SQL_NTS);
}

enum err odbc_run(struct odbc *o, const char *sql)
{
    SQLRETURN r;
    o->columns = 0;
    SQLFreeStmt(o->statement, SQL_CLOSE);
    log_debug(o->log, "%s: %s", o->name, sql);
    r = execute(o, sql);
    if (r != SQL_NO_DATA && !good(r))
        return statement_refused(o);
    if (r != SQL_NO_DATA && !good(SQLNumResultCols(o->statement, &o->columns)))
        return statement_refused(o);
    return ERR_OK;
}

size_t odbc_columns(const struct odbc *o)
{
    return o->columns > 0 ? (size_t)o->columns : 0;
}

static enum odbc_type type_of(SQLSMALLINT type)
{
    switch (type) {
    case SQL_TINYINT:
    case SQL_SMALLINT:
    case SQL_INTEGER:
    case SQL_BIGINT:
        return ODBC_WHOLE;
    case SQL_DOUBLE:
    case SQL_FLOAT:
        return ODBC_DOUBLE;
    case SQL_REAL:
        return ODBC_SINGLE;
    case SQL_NUMERIC:
    case SQL_DECIMAL:
        return ODBC_DECIMAL;
    case SQL_BIT:
        return ODBC_TRUTH;
    case SQL_TYPE_DATE:
    case SQL_TYPE_TIMESTAMP:
        return ODBC_DATE;
    }
    return ODBC_TEXT;
}

/* Some drivers call truth values text, and call types numbers that do not compare as numbers. */
static enum err correct_type(const struct odbc *o, SQLUSMALLINT at, enum odbc_type *type)
{
    static const char *const texts[] = {"money", "oid", "xid", "xid8", "cid"};
    char name[32] = "";
    SQLSMALLINT n = 0;
    if (!good(SQLColAttribute(o->statement, at, SQL_DESC_TYPE_NAME, name, sizeof name, &n, NULL)))
        return statement_refused(o);
    if (strncmp(name, "bool", 4) == 0)
        *type = ODBC_TRUTH;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(name, texts[i]) == 0)
            *type = ODBC_TEXT;
    if (*type == ODBC_DATE && (strcasestr(name, "tz") || strcasestr(name, "with time")))
        *type = ODBC_TEXT;
    return ERR_OK;
}

enum err odbc_column(struct odbc *o, size_t i, struct odbc_column *column)
{
    SQLWCHAR wide[ODBC_NAME] = {0};
    SQLCHAR narrow[ODBC_NAME] = "";
    SQLSMALLINT n = 0, type = 0, scale = 0, nullable;
    SQLUSMALLINT at = (SQLUSMALLINT)(i + 1);
    SQLULEN digits = 0;
    SQLRETURN r = o->wide ? SQLDescribeColW(o->statement, at, wide, ODBC_NAME, &n, &type, &digits,
                                            &scale, &nullable)
                          : SQLDescribeCol(o->statement, at, narrow, sizeof narrow, &n, &type,
                                           &digits, &scale, &nullable);
    if (!good(r))
        return statement_refused(o);
    *column = (struct odbc_column){.type = type_of(type), .digits = digits, .scale = scale};
    if (o->wide)
        from_wide(wide, ODBC_NAME, column->name, sizeof column->name);
    else
        snprintf(column->name, sizeof column->name, "%s", (const char *)narrow);
    return correct_type(o, at, &column->type);
}

enum err odbc_next(struct odbc *o, bool *more)
{
    SQLRETURN r = SQLFetch(o->statement);
    *more = good(r);
    return good(r) || r == SQL_NO_DATA ? ERR_OK : statement_refused(o);
}

/* Reads the field in pieces into `raw`, without its terminator. */
static enum err take_pieces(struct odbc *o, size_t i, bool *null)
{
    const size_t unit = o->wide ? sizeof(SQLWCHAR) : 1;
    SQLSMALLINT as = o->wide ? SQL_C_WCHAR : SQL_C_CHAR;
    for (;;) {
        SQLLEN left = 0;
        size_t at = o->raw.size, got;
        uint8_t *piece = bytes_extend(&o->raw, PIECE);
        SQLRETURN r;
        if (piece == NULL)
            return ERR_NOMEM;
        r = SQLGetData(o->statement, (SQLUSMALLINT)(i + 1), as, piece, PIECE, &left);
        *null = good(r) && left == SQL_NULL_DATA;
        if (r == SQL_NO_DATA || *null) {
            o->raw.size = at;
            return ERR_OK;
        }
        if (!good(r))
            return statement_refused(o);
        got = left == SQL_NO_TOTAL || (size_t)left > PIECE - unit ? PIECE - unit : (size_t)left;
        o->raw.size = at + got;
        if (left != SQL_NO_TOTAL && (size_t)left <= PIECE - unit)
            return ERR_OK;
        if (o->raw.size > ODBC_FIELD_MAX)
            return log_fail(o->log, ERR_DATA, "%s: column %zu has a value of more than %d bytes",
                            o->name, i + 1, ODBC_FIELD_MAX);
    }
}

enum err odbc_field(struct odbc *o, size_t i, char **text, size_t *size)
{
    bool null = false;
    o->raw.size = o->text.size = 0;
    *text = NULL;
    *size = 0;
    TRY(take_pieces(o, i, &null));
    if (null)
        return ERR_OK;
    if (o->wide)
        utf16_text(&o->text, o->raw.data, o->raw.size / sizeof(SQLWCHAR));
    else
        bytes_put(&o->text, o->raw.data, o->raw.size);
    *size = o->text.size;
    bytes_put_u8(&o->text, 0);
    TRY(bytes_ok(&o->text));
    *text = (char *)o->text.data;
    return ERR_OK;
}
