#include "aim/sql/connection.h"

#include "base/encoding.h"
#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define KEY_MAX 63 /* letters and digits of a key */

struct connection_parser {
    const char *p, *end;
    size_t line;
    const char *name;
    struct log *log;
};

static enum err wrong(const struct connection_parser *s, const char *what)
{
    return log_fail(s->log, ERR_FORMAT, "%s:%zu: %s", s->name, s->line, what);
}

static void step(struct connection_parser *s)
{
    s->line += *s->p == '\n';
    s->p++;
}

static void skip_comment(struct connection_parser *s)
{
    while (s->p < s->end && *s->p != '\n')
        s->p++;
}

/* To the next key: past spaces, line ends, semicolons and comments. */
static void skip_between(struct connection_parser *s)
{
    for (; s->p < s->end; step(s)) {
        if (*s->p == '#')
            skip_comment(s);
        if (s->p == s->end || strchr(" \t\r\n;", *s->p) == NULL)
            return;
    }
}

/*
 * Whether a key's value is a secret. Only letters and digits are looked at: ApiKey, api_key and API
 * Key are one. A path to a key, as in sslkey=.. or PRIV_KEY_FILE=.., is none.
 */
static bool is_secret(const char *key, size_t n)
{
    static const char *const words[] = {"pwd",       "pass",       "secret",     "token",
                                        "apikey",    "accesskey",  "accountkey", "privatekey",
                                        "sharedkey", "credential", "bearer",     "authorization"};
    char bare[KEY_MAX + 1] = "";
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (isalnum((unsigned char)key[i])) {
            if (m == KEY_MAX)
                return true; /* no driver has such a key */
            bare[m++] = (char)tolower((unsigned char)key[i]);
        }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(bare, words[i]) != NULL)
            return true;
    return false;
}

/*
 * Whether a value has such a key, as in pqopt={password=..} or header={Authorization: Bearer ..}.
 */
static bool holds_secret(const char *value, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t word = i;
        while (word > 0 &&
               (isalnum((unsigned char)value[word - 1]) || strchr("_-", value[word - 1]) != NULL))
            word--;
        if (value[i] == ' ' && i - word == 6 && strncasecmp(value + word, "bearer", 6) == 0)
            return true;
        if ((value[i] == '=' || value[i] == ':') && is_secret(value + word, i - word))
            return true;
    }
    return false;
}

static enum err take_key(struct connection_parser *s, struct bytes *out, bool *secret)
{
    const char *key = s->p;
    size_t n;
    while (s->p < s->end && strchr("=;{}\r\n", *s->p) == NULL)
        s->p++;
    if (s->p == s->end || *s->p != '=')
        return wrong(s, "a connection is made of KEY=VALUE; here is no '='");
    n = (size_t)(s->p - key);
    while (n > 0 && isspace((unsigned char)key[n - 1]))
        n--;
    if (n == 0)
        return wrong(s, "there is no key before '='");
    if (encoding_mark(key, n) > 0)
        return wrong(s, "a byte order mark, which nobody sees, stands before the key; delete it");
    *secret |= is_secret(key, n);
    bytes_put(out, key, n);
    bytes_put_u8(out, '=');
    s->p++;
    return ERR_OK;
}

/* Inside braces, a closing brace is doubled. */
static enum err take_braced(struct connection_parser *s, struct bytes *out, bool *secret)
{
    const char *value = s->p;
    for (s->p++;; step(s)) {
        if (s->p == s->end)
            return wrong(s, "a value in braces does not end: there is no '}'");
        if (*s->p != '}')
            continue;
        if (s->p + 1 == s->end || s->p[1] != '}')
            break;
        s->p++;
    }
    s->p++;
    bytes_put(out, value, (size_t)(s->p - value));
    *secret |= holds_secret(value, (size_t)(s->p - value));
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
    if (s->p < s->end && *s->p != ';' && *s->p != '\n')
        return wrong(s, "something follows a value in braces; end it with ';'");
    return ERR_OK;
}

static enum err take_value(struct connection_parser *s, struct bytes *out, bool *secret)
{
    const char *value;
    size_t n;
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
        s->p++;
    if (s->p < s->end && *s->p == '{')
        return take_braced(s, out, secret);
    value = s->p;
    while (s->p < s->end && *s->p != ';' && *s->p != '\n')
        s->p++;
    n = (size_t)(s->p - value);
    while (n > 0 && isspace((unsigned char)value[n - 1]))
        n--;
    if (memchr(value, '{', n) != NULL || memchr(value, '}', n) != NULL)
        return wrong(s, "a brace inside a value; put the whole value in braces");
    bytes_put(out, value, n);
    *secret |= holds_secret(value, n);
    return ERR_OK;
}

enum err connection_parse(const char *name, const void *text, size_t n, struct bytes *out,
                          bool *secret, struct log *log)
{
    struct connection_parser s = {
        .p = text, .end = (const char *)text + n, .line = 1, .name = name, .log = log};
    *secret = false;
    bytes_clear(out);
    if (n > CONNECTION_MAX)
        return log_fail(log, ERR_FORMAT, "%s is longer than %d bytes: it is no connection", name,
                        CONNECTION_MAX);
    s.p += encoding_mark(text, n);
    if (memchr(text, '\0', n) != NULL)
        return log_fail(log, ERR_FORMAT, "%s is no text", name);
    for (skip_between(&s); s.p < s.end; skip_between(&s)) {
        if (out->size > 0)
            bytes_put_u8(out, ';');
        TRY(take_key(&s, out, secret));
        TRY(take_value(&s, out, secret));
    }
    if (out->size == 0)
        return log_fail(log, ERR_FORMAT, "%s holds no connection: write KEY=VALUE lines there",
                        name);
    bytes_put_u8(out, 0);
    return bytes_ok(out);
}

static enum err from_file(const char *path, struct bytes *out, struct log *log)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    struct stat st;
    bool secret;
    TRY(file_read(path, CONNECTION_MAX, &file, log));
    TRY(connection_parse(path, file.data != NULL ? (const void *)file.data : "", file.size, out,
                         &secret, log));
    if (secret && stat(path, &st) == 0 && (st.st_mode & 077) != 0)
        return log_fail(log, ERR_REFUSED,
                        "%s holds a password or another secret and may be read by others (mode "
                        "%04o); run: chmod 600 %s, and change the secret if somebody did",
                        path, (unsigned)st.st_mode & 07777U, path);
    return ERR_OK;
}

static enum err from_argument(const char *given, struct bytes *out, struct log *log)
{
    bool secret;
    TRY(connection_parse("--sql", given, strlen(given), out, &secret, log));
    if (!secret)
        return ERR_OK;
    bytes_clear(out);
    return log_fail(log, ERR_USAGE,
                    "--sql holds a password or another secret, which everybody on this machine can "
                    "see while the program runs; put the connection into a file that only you may "
                    "read and name "
                    "the file, or name a data source of odbc.ini");
}

/* postgresql://user:password@host/.. is not a path, and must not be shown. */
static bool is_url(const char *given)
{
    const char *scheme = strstr(given, "://"), *equals = strchr(given, '=');
    return scheme != NULL && (equals == NULL || scheme < equals);
}

enum err connection_text(const char *given, struct bytes *out, struct log *log)
{
    bytes_clear(out);
    if (is_url(given) && !file_is_there(given))
        return log_fail(log, ERR_USAGE,
                        "--sql takes no URL; give the name of a data source of odbc.ini, or a "
                        "file with lines such as Driver=.., Server=.., UID=.., PWD=..");
    if (strchr(given, '=') != NULL && !file_is_there(given))
        return from_argument(given, out, log);
    if (strchr(given, '/') != NULL || file_is_there(given))
        return from_file(given, out, log);
    if (*given == '\0' || strpbrk(given, "[]{}(),;?*!@\\") != NULL || encoding_steers(given))
        return log_fail(log, ERR_USAGE,
                        "--sql should be the name of a data source of odbc.ini, or a file that "
                        "holds a connection");
    text_put(out, "DSN=%s", given);
    bytes_put_u8(out, 0);
    return bytes_ok(out);
}
