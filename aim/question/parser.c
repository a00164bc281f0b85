#include "aim/question/parser.h"

#include "aim/table/derive.h"
#include "aim/table/number.h"

#include <string.h>
#include <strings.h>

enum err parser_no_arithmetic(const struct parser *p)
{
    static const char *const operators[] = {"+", "-", "*", "/", "%", "||", "^"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (lexer_is(&p->lexer, operators[i]))
            return lexer_fail(&p->lexer, p->lexer.token.at,
                              "arithmetic is not done here: one operation between two items, or "
                              "an item and a number, is; compute the rest with the answers");
    return ERR_OK;
}

enum err parser_pass(struct parser *p, const char *word, const char *where)
{
    TRY(lexer_is(&p->lexer, word) ? ERR_OK : parser_no_arithmetic(p));
    if (!lexer_is(&p->lexer, word))
        return lexer_fail(&p->lexer, p->lexer.token.at, "%s should stand here, %s", word, where);
    return lexer_next(&p->lexer);
}

enum err parser_number(struct parser *p, double *value)
{
    bool negative = lexer_is(&p->lexer, "-");
    if (negative || lexer_is(&p->lexer, "+"))
        TRY(lexer_next(&p->lexer));
    if (p->lexer.token.kind != TOKEN_NUMBER || !number_double(p->lexer.token.text, value))
        return lexer_fail(&p->lexer, p->lexer.token.at, "a number should stand here");
    *value = negative ? -*value : *value;
    return lexer_next(&p->lexer);
}

/* A column by its exact name or, without quotes, the single one that differs only in case. */
static uint32_t find_column(const struct domain *d, const struct lexer_token *t)
{
    uint32_t exact = domain_find(d, t->text), hit = DOMAIN_NO_CODE;
    if (exact != DOMAIN_NO_CODE || t->kind == TOKEN_NAME)
        return exact;
    for (uint32_t i = 0; i < d->attributes; i++) {
        if (strcasecmp(d->attribute[i].name, t->text) != 0)
            continue;
        if (hit != DOMAIN_NO_CODE)
            return DOMAIN_NO_CODE;
        hit = i;
    }
    return hit;
}

/* Columns with these names must be in double quotes. */
static bool is_keyword(const struct lexer *l)
{
    static const char *const keywords[] = {"select", "from", "where",   "group", "by", "and",
                                           "or",     "not",  "between", "in",    "is", "null"};
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (lexer_is(l, keywords[i]))
            return true;
    return false;
}

/* The column whose name is written here without quotes, and goes on after the word. */
static const char *unquoted(const struct parser *p)
{
    const struct lexer_token *t = &p->lexer.token;
    for (size_t i = 0; t->kind == TOKEN_WORD && i < p->domain->attributes; i++) {
        const char *name = p->domain->attribute[i].name;
        const size_t size = strlen(name);
        if (size >= t->size && strncasecmp(p->lexer.text + t->at, name, size) == 0)
            return name;
    }
    return NULL;
}

static enum err no_such_column(const struct parser *p)
{
    const struct lexer_token *t = &p->lexer.token;
    const struct derives *d = p->domain->derived;
    const char *whole = unquoted(p), *near;
    if (whole != NULL)
        return lexer_fail(&p->lexer, t->at,
                          "there is no column \"%s\"; if %s is meant, put it in double quotes",
                          t->text, whole);
    for (size_t i = 0; d != NULL && i < d->computed.count; i++)
        if (strcasecmp(d->computed.of[i].name, t->text) == 0)
            return lexer_fail(&p->lexer, t->at,
                              "%s is not measured, but computed as rows are written: %s; ask for "
                              "these columns",
                              d->computed.of[i].name, d->computed.of[i].text);
    near = domain_nearest(p->domain, t->text);
    if (near != NULL)
        return lexer_fail(&p->lexer, t->at, "there is no column \"%s\"; did you mean \"%s\"?",
                          t->text, near);
    return lexer_fail(&p->lexer, t->at,
                      "there is no column \"%s\" (trefoil query MODEL --columns lists them)",
                      t->text);
}

enum err parser_column(struct parser *p, uint16_t *column)
{
    const struct lexer_token *t = &p->lexer.token;
    uint32_t found;
    if (t->kind == TOKEN_LABEL)
        return lexer_fail(&p->lexer, t->at, "put columns in double quotes, labels in single ones");
    if (t->kind == TOKEN_NUMBER || lexer_is(&p->lexer, "-") || lexer_is(&p->lexer, "+"))
        return lexer_fail(&p->lexer, t->at,
                          "a column should stand here: write it before what it is compared to");
    if (t->kind != TOKEN_WORD && t->kind != TOKEN_NAME)
        return lexer_fail(&p->lexer, t->at, "a column should stand here");
    found = find_column(p->domain, t);
    if (is_keyword(&p->lexer))
        return found == DOMAIN_NO_CODE
                   ? lexer_fail(&p->lexer, t->at, "a column should stand here")
                   : lexer_fail(&p->lexer, t->at,
                                "a column should stand here; if %s is meant, put it in double "
                                "quotes",
                                p->domain->attribute[found].name);
    if (found == DOMAIN_NO_CODE)
        return no_such_column(p);
    *column = (uint16_t)found;
    return lexer_next(&p->lexer);
}
