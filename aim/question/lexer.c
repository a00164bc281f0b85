#include "aim/question/lexer.h"

#include "base/text.h"
#include "base/words.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#define SHOWN 72 /* bytes of a line that are shown around a place */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Where the part of the line that is shown begins and ends. */
static void window(const char *text, size_t at, size_t *from, size_t *to)
{
    size_t line = at;
    while (line > 0 && text[line - 1] != '\n')
        line--;
    *from = at - line > SHOWN ? at - SHOWN : line;
    while (*from < at && (text[*from] & 0xc0) == 0x80)
        (*from)++;
    *to = at;
    while (text[*to] != '\0' && text[*to] != '\n' && *to < at + SHOWN)
        (*to)++;
    while (*to > at && (text[*to] & 0xc0) == 0x80)
        (*to)--;
}

enum err lexer_fail(const struct lexer *l, size_t at, const char *format, ...)
{
    char what[400], shown[2 * SHOWN + 8], place[300];
    size_t from, to, line = 1, begin = 0;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    for (size_t i = 0; i < at; i++)
        if (l->text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    if (l->file != NULL)
        snprintf(place, sizeof place, "%.255s:%zu:%zu", l->file, line, at - begin + 1);
    else
        snprintf(place, sizeof place, "line %zu of the question", line);
    window(l->text, at, &from, &to);
    snprintf(shown, sizeof shown, "%.*s", (int)(at - from), l->text + from);
    text_tame(shown);
    log_error(l->log, "%s: %s\n    %.*s\n    %*s^", place, what, (int)(to - from), l->text + from,
              (int)words_length(shown), "");
    return ERR_QUESTION;
}

/* --- tokens ----------------------------------------------------------------------------------- */

static size_t comment_size(const char *text)
{
    const char *end;
    if (strncmp(text, "--", 2) == 0)
        return strcspn(text, "\n");
    end = strncmp(text, "/*", 2) == 0 ? strstr(text + 2, "*/") : NULL;
    return end != NULL ? (size_t)(end + 2 - text) : 0;
}

size_t lexer_between(const char *text, const char *spaces)
{
    size_t n = 0, more;
    do {
        n += strspn(text + n, spaces);
        more = comment_size(text + n);
        n += more;
    } while (more > 0);
    return n;
}

static enum err take(struct lexer *l, enum lexer_token_kind kind, size_t size)
{
    struct lexer_token *t = &l->token;
    if (size >= sizeof t->text)
        return lexer_fail(l, t->at, "this word is too long");
    t->kind = kind;
    t->size = size;
    memcpy(t->text, l->text + t->at, size);
    t->text[size] = '\0';
    l->next = t->at + size;
    return ERR_OK;
}

static enum err take_quoted(struct lexer *l, char quote)
{
    struct lexer_token *t = &l->token;
    const char *p = l->text + t->at + 1;
    size_t n = 0;
    for (;; p++) {
        if (*p == '\0')
            return lexer_fail(l, t->at, "these quotes do not end; add another %c", quote);
        if (*p == quote && *++p != quote)
            break;
        if (n + 1 >= sizeof t->text)
            return lexer_fail(l, t->at, "what is in these quotes is too long");
        t->text[n++] = *p;
    }
    t->text[n] = '\0';
    t->kind = quote == '"' ? TOKEN_NAME : TOKEN_LABEL;
    l->next = (size_t)(p - l->text);
    t->size = l->next - t->at;
    return ERR_OK;
}

static size_t number_size(const char *p)
{
    size_t n = 0, mark;
    while (text_is_digit(p[n]))
        n++;
    if (p[n] == '.')
        n++;
    while (text_is_digit(p[n]))
        n++;
    mark = n;
    if (p[n] == 'e' || p[n] == 'E') {
        n++;
        n += p[n] == '+' || p[n] == '-';
        if (!text_is_digit(p[n]))
            return mark;
        while (text_is_digit(p[n]))
            n++;
    }
    return n;
}

static size_t word_size(const char *p)
{
    size_t n = 0;
    while (is_letter(p[n]) || text_is_digit(p[n]))
        n++;
    return n;
}

static size_t symbol_size(const char *p)
{
    static const char *const pairs[] = {"<>", "!=", "<=", ">=", "||", "=="};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strncmp(p, pairs[i], 2) == 0)
            return 2;
    return strchr("(),*;=<>+-/%.[]{}|&^~!?:@#$", *p) != NULL ? 1 : 0;
}

enum err lexer_next(struct lexer *l)
{
    const char *p;
    size_t size;
    l->next += lexer_between(l->text + l->next, " \t\r\n");
    l->token.at = l->next;
    p = l->text + l->next;
    if (*p == '\0')
        return take(l, TOKEN_END, 0);
    if (*p == '"' || *p == '\'')
        return take_quoted(l, *p);
    if (text_is_digit(*p) || (*p == '.' && text_is_digit(p[1]))) {
        size = number_size(p);
        if (is_letter(p[size]))
            return lexer_fail(l, l->next, "put names that begin with a digit in double quotes");
        return take(l, TOKEN_NUMBER, size);
    }
    if (is_letter(*p))
        return take(l, TOKEN_WORD, word_size(p));
    size = symbol_size(p);
    if (size == 0)
        return lexer_fail(l, l->next, "this character means nothing here%s",
                          *p == '`' ? "; put names in double quotes" : "");
    return take(l, TOKEN_SYMBOL, size);
}

bool lexer_is(const struct lexer *l, const char *word)
{
    return (l->token.kind == TOKEN_WORD || l->token.kind == TOKEN_SYMBOL) &&
           strcasecmp(l->token.text, word) == 0;
}
