/*
 * Conditions, by recursive descent. NOT is carried down to the comparisons: in `negated` parts, AND
 * is OR, OR is AND, and a comparison holds where it is false. A missing value is on neither side.
 */
#include "aim/question/parser.h"

#include "base/nearest.h"

#include <math.h>
#include <string.h>

#define DEPTH_MAX 24
#define LIST_MAX 1000

/* --- literals --------------------------------------------------------------------------------- */

static const struct domain_attribute *attribute_of(const struct parser *p, uint16_t column)
{
    return column == PARSER_MADE ? p->made : &p->domain->attribute[column];
}

static enum err no_such_label(struct parser *p, const struct domain_attribute *a)
{
    const struct lexer_token *t = &p->lexer.token;
    size_t hit = nearest(t->text, (const char *const *)a->labels, a->values);
    if (domain_missing_text(a, t->text))
        return lexer_fail(&p->lexer, t->at, "'%s' stands for a missing value: write %s IS NULL",
                          t->text, a->name);
    if (hit < a->values)
        return lexer_fail(&p->lexer, t->at, "'%s' is no label of %s; did you mean '%s'?", t->text,
                          a->name, a->labels[hit]);
    return lexer_fail(&p->lexer, t->at, "'%s' is no label of %s, whose first is '%s'", t->text,
                      a->name, a->labels[0]);
}

/* A label's code. Labels that are numbers may be written without quotes. */
static enum err read_label(struct parser *p, const struct domain_attribute *a, double *code)
{
    const struct lexer_token *t = &p->lexer.token;
    if (lexer_is(&p->lexer, "null"))
        return lexer_fail(&p->lexer, t->at, "nothing equals NULL: write %s IS NULL", a->name);
    if (t->kind == TOKEN_NAME)
        return lexer_fail(&p->lexer, t->at,
                          "labels stand in single quotes, columns in double ones");
    if (t->kind != TOKEN_LABEL && t->kind != TOKEN_NUMBER)
        return lexer_fail(&p->lexer, t->at, "a label of %s in single quotes should stand here",
                          a->name);
    for (uint32_t i = 0; i < a->values; i++)
        if (strcmp(t->text, a->labels[i]) == 0) {
            *code = i;
            return lexer_next(&p->lexer);
        }
    if (t->kind == TOKEN_NUMBER)
        return lexer_fail(&p->lexer, t->at, "%s has labels, no numbers: write one in single quotes",
                          a->name);
    return no_such_label(p, a);
}

/* '2021-05-31', perhaps behind DATE or TIMESTAMP: all units of the day, or of what it names. */
static enum err read_quoted(struct parser *p, const struct domain_attribute *a, double *low,
                            double *high)
{
    const struct lexer_token *t = &p->lexer.token;
    char room[COLUMN_TEXT];
    if (lexer_is(&p->lexer, a->kind->word) || lexer_is(&p->lexer, "timestamp"))
        TRY(lexer_next(&p->lexer));
    if (t->kind != TOKEN_LABEL)
        return lexer_fail(&p->lexer, t->at, "%s has %ss: write one in single quotes, such as '%s'",
                          a->name, a->kind->noun, a->kind->spell(a, domain_number(a, 0), room));
    if (!a->kind->spelt(a, t->text, low, high))
        return lexer_fail(&p->lexer, t->at,
                          "'%s' is no %s here; write one such as '%s', no finer than %s has them",
                          t->text, a->kind->noun, a->kind->spell(a, domain_number(a, 0), room),
                          a->name);
    return lexer_next(&p->lexer);
}

enum err parser_literal(struct parser *p, uint16_t column, double *low, double *high)
{
    const struct domain_attribute *a = attribute_of(p, column);
    const struct lexer_token *t = &p->lexer.token;
    if (!domain_has_order(a)) {
        TRY(read_label(p, a, low));
        *high = *low;
        return ERR_OK;
    }
    if (lexer_is(&p->lexer, "null"))
        return lexer_fail(&p->lexer, t->at, "nothing equals NULL: write %s IS NULL", a->name);
    if (domain_is_quoted(a))
        return read_quoted(p, a, low, high);
    if (t->kind == TOKEN_LABEL)
        return lexer_fail(&p->lexer, t->at, "%s has numbers: write one without quotes", a->name);
    TRY(parser_number(p, low));
    *high = *low;
    return parser_no_arithmetic(p);
}

/* --- terms ------------------------------------------------------------------------------------ */

enum relation { EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST };

static struct values compared(struct values_pool *pool, const struct domain_attribute *a,
                              enum relation relation, double low, double high)
{
    const double before = values_before(a, low), after = values_after(a, high);
    struct values known = values_known(pool, a);
    switch (relation) {
    case LESS:
        return values_and(pool, known, values_between(pool, -INFINITY, before));
    case AT_MOST:
        return values_and(pool, known, values_between(pool, -INFINITY, after));
    case MORE:
        return values_and(pool, known, values_between(pool, after, INFINITY));
    case AT_LEAST:
        return values_and(pool, known, values_between(pool, before, INFINITY));
    case UNEQUAL:
        return values_minus(pool, known, values_between(pool, before, after));
    case EQUAL:
        break;
    }
    return values_and(pool, known, values_between(pool, before, after));
}

/* If numbers have no step, a range of them can have rows, but no single number does. */
static bool has_no_rows(const struct domain_attribute *a, double v)
{
    if (!domain_has_bins(a) || a->step > 0)
        return false;
    for (uint32_t i = 0; i < a->values; i++)
        if (domain_spike(a, i) && a->edges[i] == v)
            return false;
    return true;
}

static void warn_of_density(const struct parser *p, const struct domain_attribute *a)
{
    log_warn(p->lexer.log,
             "no rows have one number of %s alone: the study gives it no `step`, so its numbers "
             "are taken to lie anywhere in a bin; ask for a range",
             a->name);
}

static enum err read_relation(struct parser *p, uint16_t column, struct values *v)
{
    static const char *const symbols[] = {"=", "<>", "<", "<=", ">", ">="};
    const struct domain_attribute *a = attribute_of(p, column);
    const size_t at = p->lexer.token.at;
    enum relation relation = EQUAL;
    double value = 0, high = 0;
    while (relation <= AT_LEAST && !lexer_is(&p->lexer, symbols[relation]))
        relation++;
    if (lexer_is(&p->lexer, "!="))
        relation = UNEQUAL;
    if (lexer_is(&p->lexer, "=="))
        return lexer_fail(&p->lexer, at, "equality is written with a single =");
    if (lexer_is(&p->lexer, "like") || lexer_is(&p->lexer, "ilike"))
        return lexer_fail(&p->lexer, at,
                          "LIKE is not answered: list the labels of %s that are meant, IN ('a', "
                          "'b')",
                          a->name);
    if (relation > AT_LEAST)
        return lexer_fail(&p->lexer, at,
                          "a comparison should stand here: =, <>, <, <=, >, >=, BETWEEN, IN, IS "
                          "NULL");
    if (!domain_has_order(a) && relation > UNEQUAL)
        return lexer_fail(&p->lexer, at, "labels have no order: %s can be compared by =, <> and IN",
                          a->name);
    TRY(lexer_next(&p->lexer));
    TRY(parser_literal(p, column, &value, &high));
    if (relation <= UNEQUAL && has_no_rows(a, value))
        warn_of_density(p, a);
    *v = compared(&p->work.pool, a, relation, value, high);
    return ERR_OK;
}

static enum err read_between(struct parser *p, uint16_t column, struct values *v)
{
    const struct domain_attribute *a = attribute_of(p, column);
    double low = 0, high = 0, inside = 0;
    if (!domain_has_order(a))
        return lexer_fail(&p->lexer, p->lexer.token.at,
                          "labels have no order: %s can be compared by =, <> and IN", a->name);
    TRY(lexer_next(&p->lexer));
    TRY(parser_literal(p, column, &low, &inside));
    TRY(parser_pass(p, "AND", "between the two ends of BETWEEN"));
    TRY(parser_literal(p, column, &inside, &high));
    *v = values_and(&p->work.pool, compared(&p->work.pool, a, AT_LEAST, low, low),
                    compared(&p->work.pool, a, AT_MOST, high, high));
    return ERR_OK;
}

static enum err read_in(struct parser *p, uint16_t column, struct values *v)
{
    const struct domain_attribute *a = attribute_of(p, column);
    const size_t used = p->work.pool.used;
    bool more = true, warn = false;
    *v = (struct values){0};
    TRY(lexer_next(&p->lexer));
    TRY(parser_pass(p, "(", "after IN"));
    for (size_t n = 0; more; n++) {
        double value = 0, high = 0;
        if (n == LIST_MAX)
            return lexer_fail(&p->lexer, p->lexer.token.at, "a list has at most %d values",
                              LIST_MAX);
        TRY(parser_literal(p, column, &value, &high));
        warn |= has_no_rows(a, value);
        *v = values_or(&p->work.pool, *v, compared(&p->work.pool, a, EQUAL, value, high));
        *v = values_keep(&p->work.pool, used, *v);
        more = lexer_is(&p->lexer, ",");
        if (more)
            TRY(lexer_next(&p->lexer));
    }
    if (warn)
        warn_of_density(p, a);
    return parser_pass(p, ")", "at the end of the list");
}

/* IS [NOT] NULL, which is true or false for every row. */
static enum err read_null(struct parser *p, uint16_t column, bool negated, struct values *v)
{
    const struct domain_attribute *a = attribute_of(p, column);
    bool is = !negated;
    TRY(lexer_next(&p->lexer));
    if (lexer_is(&p->lexer, "not")) {
        is = !is;
        TRY(lexer_next(&p->lexer));
    }
    TRY(parser_pass(p, "NULL", "after IS"));
    *v = is ? values_missing(a) : values_known(&p->work.pool, a);
    return ERR_OK;
}

/* The values of a column for which a term holds. */
static enum err read_values(struct parser *p, uint16_t column, bool negated, struct values *v)
{
    TRY(parser_no_arithmetic(p));
    if (lexer_is(&p->lexer, "is"))
        return read_null(p, column, negated, v);
    if (lexer_is(&p->lexer, "not")) {
        negated = !negated;
        TRY(lexer_next(&p->lexer));
        if (!lexer_is(&p->lexer, "between") && !lexer_is(&p->lexer, "in"))
            return lexer_fail(&p->lexer, p->lexer.token.at,
                              "after a column and NOT comes BETWEEN or IN");
    }
    if (lexer_is(&p->lexer, "between"))
        TRY(read_between(p, column, v));
    else if (lexer_is(&p->lexer, "in"))
        TRY(read_in(p, column, v));
    else
        TRY(read_relation(p, column, v));
    if (negated)
        *v = values_minus(&p->work.pool, values_known(&p->work.pool, attribute_of(p, column)), *v);
    return ERR_OK;
}

static enum err read_term(struct parser *p, bool negated, struct cases *c)
{
    struct parser_made made CLEAN(parser_made_clear) = {0};
    uint16_t column = PARSER_MADE;
    struct values v = {0};
    TRY(parser_made(p, &made));
    p->made = &made.as;
    if (made.as.kind == NULL)
        TRY(parser_column(p, &column));
    TRY(read_values(p, column, negated, &v));
    if (column == PARSER_MADE) {
        column = made.base;
        v = parser_made_values(p, &made, v);
    }
    cases_of(&p->work, c, column, v);
    return ERR_OK;
}

/* --- NOT, AND, OR ----------------------------------------------------------------------------- */

static enum err read_or(struct parser *p, bool negated, struct cases *c);

static enum err read_factor(struct parser *p, bool negated, struct cases *c)
{
    bool inside = lexer_is(&p->lexer, "(");
    enum err e;
    if (!inside && !lexer_is(&p->lexer, "not"))
        return read_term(p, negated, c);
    if (++p->depth > DEPTH_MAX)
        return lexer_fail(&p->lexer, p->lexer.token.at,
                          "parentheses and NOT are nested more than %d deep", DEPTH_MAX);
    TRY(lexer_next(&p->lexer));
    e = inside ? read_or(p, negated, c) : read_factor(p, !negated, c);
    p->depth--;
    TRY(e);
    return inside ? parser_pass(p, ")", "to close the parenthesis") : ERR_OK;
}

static enum err check_cases(struct parser *p, size_t at)
{
    if (p->work.pool.failed)
        return lexer_fail(&p->lexer, at, "this condition has too many values");
    if (p->work.too_many)
        return lexer_fail(&p->lexer, at,
                          "this condition splits into too many cases, or names more than %d "
                          "columns; ask it in parts",
                          CASE_COLUMNS_MAX);
    return ERR_OK;
}

/* Parts joined by a keyword; only `negated` decides which of the two operations it means. */
static enum err read_joined(struct parser *p, bool negated, const char *word, struct cases *c,
                            enum err (*part)(struct parser *p, bool negated, struct cases *c),
                            void (*operation)(struct cases_work *w, struct cases *a,
                                              const struct cases *b))
{
    TRY(part(p, negated, c));
    while (lexer_is(&p->lexer, word)) {
        struct cases next = {.n = 0};
        size_t at = p->lexer.token.at;
        TRY(lexer_next(&p->lexer));
        TRY(part(p, negated, &next));
        operation(&p->work, c, &next);
        TRY(check_cases(p, at));
    }
    return ERR_OK;
}

static enum err read_and(struct parser *p, bool negated, struct cases *c)
{
    return read_joined(p, negated, "and", c, read_factor, negated ? cases_or : cases_and);
}

static enum err read_or(struct parser *p, bool negated, struct cases *c)
{
    return read_joined(p, negated, "or", c, read_and, negated ? cases_and : cases_or);
}

enum err parser_condition(struct parser *p, bool negated, struct cases *c)
{
    const size_t at = p->lexer.token.at;
    TRY(read_or(p, negated, c));
    TRY(check_cases(p, at));
    if (c->n > CASES_MAX)
        return lexer_fail(&p->lexer, at,
                          "this condition splits into %u cases that do not overlap, and at most %d "
                          "are allowed; ask it in parts and add up",
                          c->n, CASES_MAX);
    return ERR_OK;
}
