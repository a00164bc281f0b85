/* The calls of ODBC that go wrong, where unixODBC is installed. */
#include "harness/preload_fault.h"

#if __has_include(<sqlucode.h>)
#include <sql.h>
#include <sqlext.h>
#include <sqlucode.h>

STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLAllocHandle,
         (SQLSMALLINT kind, SQLHANDLE of, SQLHANDLE *handle), (kind, of, handle))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLSetEnvAttr,
         (SQLHENV e, SQLINTEGER name, SQLPOINTER value, SQLINTEGER size), (e, name, value, size))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLSetConnectAttr,
         (SQLHDBC c, SQLINTEGER name, SQLPOINTER value, SQLINTEGER size), (c, name, value, size))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLDriverConnect,
         (SQLHDBC c, SQLHWND window, SQLCHAR *text, SQLSMALLINT size, SQLCHAR *out,
          SQLSMALLINT room, SQLSMALLINT *n, SQLUSMALLINT how),
         (c, window, text, size, out, room, n, how))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLGetInfo,
         (SQLHDBC c, SQLUSMALLINT what, SQLPOINTER value, SQLSMALLINT size, SQLSMALLINT *n),
         (c, what, value, size, n))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLExecDirect, (SQLHSTMT s, SQLCHAR *sql, SQLINTEGER size),
         (s, sql, size))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLExecDirectW, (SQLHSTMT s, SQLWCHAR *sql, SQLINTEGER size),
         (s, sql, size))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLNumResultCols, (SQLHSTMT s, SQLSMALLINT *n), (s, n))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLDescribeCol,
         (SQLHSTMT s, SQLUSMALLINT at, SQLCHAR *name, SQLSMALLINT size, SQLSMALLINT *n,
          SQLSMALLINT *type, SQLULEN *digits, SQLSMALLINT *scale, SQLSMALLINT *nullable),
         (s, at, name, size, n, type, digits, scale, nullable))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLDescribeColW,
         (SQLHSTMT s, SQLUSMALLINT at, SQLWCHAR *name, SQLSMALLINT size, SQLSMALLINT *n,
          SQLSMALLINT *type, SQLULEN *digits, SQLSMALLINT *scale, SQLSMALLINT *nullable),
         (s, at, name, size, n, type, digits, scale, nullable))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLColAttribute,
         (SQLHSTMT s, SQLUSMALLINT at, SQLUSMALLINT what, SQLPOINTER text, SQLSMALLINT size,
          SQLSMALLINT *n, SQLLEN *number),
         (s, at, what, text, size, n, number))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLFetch, (SQLHSTMT s), (s))
STAND_IN(SQL, SQL_ERROR, SQLRETURN, SQLGetData,
         (SQLHSTMT s, SQLUSMALLINT at, SQLSMALLINT as, SQLPOINTER to, SQLLEN room, SQLLEN *left),
         (s, at, as, to, room, left))
#endif
