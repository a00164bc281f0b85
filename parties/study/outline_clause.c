/*
 * What the constraints of a table say about its columns, in the words of SQL: CHECK, ENUM, NOT
 * NULL, PRIMARY KEY, REFERENCES. What is not understood is passed over: people read the result.
 */
#include "aim/table/number.h"
#include "parties/study/outline.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define TOKEN 256

/* --- words ----------------------------------------------------------------------------- */

enum clause_token_kind { TOKEN_END, TOKEN_NAME, TOKEN_TEXT, TOKEN_NUMBER, TOKEN_SIGN };
struct clause_token {
    enum clause_token_kind kind;
    char text[TOKEN]; /* without quotes */
};

/* What stands in quotes; one within is doubled. */
static const char *take_quoted(const char *p, struct clause_token *t)
{
    const char end = *p == '[' ? ']' : *p;
    size_t n = 0;
    for (p++; *p != '\0' && (*p != end || p[1] == end); p++) {
        p += *p == end;
        if (n + 1 < TOKEN)
            t->text[n++] = *p;
    }
    t->text[n] = '\0';
    t->kind = end == '\'' ? TOKEN_TEXT : TOKEN_NAME;
    return *p != '\0' ? p + 1 : p;
}

static const char *take_token(const char *p, struct clause_token *t)
{
    size_t n = 0;
    p += strspn(p, " \t\r\n");
    *t = (struct clause_token){*p == '\0' ? TOKEN_END : TOKEN_SIGN, ""};
    if (*p == '\0')
        return p;
    if (*p == '\'' || *p == '"' || *p == '`' || (*p == '[' && isalpha((unsigned char)p[1])))
        return take_quoted(p, t);
    n = strspn(p, "0123456789.");
    if (n > 0)
        t->kind = TOKEN_NUMBER;
    else if (isalpha((unsigned char)*p) || *p == '_' || (unsigned char)*p >= 0x80) {
        t->kind = TOKEN_NAME;
        while (isalnum((unsigned char)p[n]) || p[n] == '_' || (unsigned char)p[n] >= 0x80)
            n++;
    } else
        n = strspn(p, "<>=!") > 0 ? strspn(p, "<>=!") : 1;
    snprintf(t->text, sizeof t->text, "%.*s", (int)(n < TOKEN ? n : TOKEN - 1), p);
    return p + n;
}

static bool is_word(const struct clause_token *t, const char *word)
{
    return t->kind != TOKEN_TEXT && strcasecmp(t->text, word) == 0;
}

/* --- one part of a table's definition --------------------------------------------------------- */

struct clause {
    const char *at;
    struct outline_column *column; /* that the part is about, or spoke of last */
    bool required, primary;        /* it cannot be NULL; it is a key */
};

static struct outline_column *find(const struct outline *o, const char *name)
{
    for (size_t i = 0; i < o->count; i++)
        if (strcasecmp(o->column[i].name, name) == 0)
            return &o->column[i];
    return NULL;
}

/* The next text or number, behind parentheses, ARRAY and a sign. */
static bool next_literal(struct clause *p, struct clause_token *t)
{
    const char *at = p->at;
    bool negative = false;
    for (;;) {
        at = take_token(at, t);
        if (is_word(t, "-"))
            negative = true;
        else if (!is_word(t, "(") && !is_word(t, "[") && !is_word(t, "ARRAY"))
            break;
    }
    if (t->kind != TOKEN_TEXT && t->kind != TOKEN_NUMBER)
        return false;
    if (negative) {
        memmove(t->text + 1, t->text, TOKEN - 2);
        t->text[0] = '-';
    }
    p->at = at;
    return true;
}

static void take_value(struct clause *p, const struct clause_token *t)
{
    if (p->column != NULL && !outline_has(&p->column->values, t->text))
        outline_add(&p->column->values, t->text);
}

/* Literals up to the end of a list; types that they are cast to stand between them. */
static void take_list(struct clause *p)
{
    struct clause_token t;
    int depth = 0;
    while (*p->at != '\0') {
        const char *next = take_token(p->at, &t);
        depth += is_word(&t, "(") ? 1 : is_word(&t, ")") ? -1 : 0;
        if (is_word(&t, "AND") || is_word(&t, "OR") || depth < 0)
            return;
        p->at = next;
        if (t.kind == TOKEN_TEXT || t.kind == TOKEN_NUMBER)
            take_value(p, &t);
        if (depth == 0 && is_word(&t, ")"))
            return;
    }
}

/* A comparison of the column with a number, or with one of its values. */
static void take_bound(struct clause *p, const char *sign)
{
    struct outline_column *c = p->column;
    const double step = c != NULL && c->kind == OUTLINE_WHOLE ? 1 : 0;
    struct clause_token t;
    double x;
    if (c == NULL || !next_literal(p, &t))
        return;
    if (strcmp(sign, "=") == 0)
        take_value(p, &t);
    else if (number_double(t.text, &x) && sign[0] == '>')
        c->min = fmax(c->min, sign[1] == '=' ? x : x + step);
    else if (number_double(t.text, &x) && sign[0] == '<' && sign[1] != '>')
        c->max = fmin(c->max, sign[1] == '=' ? x : x - step);
}

static void take_between(struct clause *p)
{
    struct clause_token t;
    take_bound(p, ">=");
    while (*p->at != '\0') {
        p->at = take_token(p->at, &t);
        if (!is_word(&t, "AND"))
            continue;
        take_bound(p, "<=");
        return;
    }
}

/* A table of codes: read if people said that it is one, since it might be one of persons. */
static void take_reference(struct clause *p)
{
    struct outline_column *c = p->column;
    struct clause_token table, key;
    p->at = take_token(p->at, &table);
    p->at = take_token(p->at, &key);
    if (is_word(&key, "."))
        p->at = take_token(take_token(p->at, &table), &key);
    if (c == NULL)
        return;
    if (is_word(&key, "("))
        p->at = take_token(p->at, &key);
    else
        snprintf(key.text, sizeof key.text, "%s", c->name);
    snprintf(c->note, sizeof c->note, "%.60s(%.60s)", table.text, key.text);
}

static void name_key(const struct clause *p)
{
    if (p->primary && p->column != NULL)
        snprintf(p->column->note, sizeof p->column->note, "a primary key");
}

/* A word that says something about the column; false if this one does not. */
static bool take_word(struct clause *p, const struct clause_token *t)
{
    const char *const rest = p->at;
    struct clause_token next;
    if (is_word(t, "NOT")) {
        p->at = take_token(p->at, &next);
        if (is_word(&next, "NULL"))
            p->required = true;
        else if (is_word(&next, "IN") || is_word(&next, "BETWEEN"))
            p->column = NULL; /* what it is not does not help */
        else
            p->at = rest;
    } else if (is_word(t, "IN") || is_word(t, "ANY") || is_word(t, "ENUM"))
        take_list(p);
    else if (is_word(t, "BETWEEN"))
        take_between(p);
    else if (is_word(t, "REFERENCES"))
        take_reference(p);
    else if (is_word(t, "PRIMARY")) {
        p->primary = true;
        name_key(p);
    } else
        return false;
    return true;
}

void outline_clause(struct outline *o, const char *text)
{
    struct clause p = {.at = text};
    struct outline_column *first = NULL, *named;
    struct clause_token t;
    bool begun = false;
    for (;;) {
        p.at = take_token(p.at, &t);
        if (t.kind == TOKEN_END)
            break;
        named = t.kind == TOKEN_NAME ? find(o, t.text) : NULL;
        if (named != NULL) {
            p.column = named;
            name_key(&p);
            first = begun ? first : named;
        } else if (!take_word(&p, &t) && t.kind == TOKEN_SIGN && strchr("<>=", t.text[0]) != NULL &&
                   !is_word(&t, "<>")) {
            struct clause_token any;
            const char *behind = take_token(p.at, &any);
            if (!is_word(&any, "ANY"))
                take_bound(&p, t.text);
            else {
                p.at = behind;
                take_list(&p);
            }
        }
        begun = true;
    }
    if (first != NULL && p.required)
        first->missing.count = 0;
}

/* The parts of CREATE TABLE name (part, part ..). */
void outline_definition(struct outline *o, char *text)
{
    char *begin = NULL, quote = '\0';
    int depth = 0;
    for (char *p = text; *p != '\0'; p++) {
        if (quote != '\0')
            quote = *p == quote ? '\0' : quote;
        else if (*p == '\'' || *p == '"' || *p == '`')
            quote = *p;
        else if (*p == '(' && depth++ == 0)
            begin = p;
        else if ((*p == ')' && --depth == 0) || (*p == ',' && depth == 1)) {
            const bool last = *p == ')';
            *p = '\0';
            outline_clause(o, begin + 1);
            begin = p;
            if (last)
                return;
        }
    }
}
