/* Which lines of an answer are shown, and in which order: HAVING, ORDER BY, LIMIT. */
#include "aim/question/parser.h"

#include <string.h>
#include <strings.h>

#define LINES_MOST 1e9

static bool same_item(const struct question_item *a, const struct question_item *b)
{
    return a->aggregate == b->aggregate && a->rows == b->rows &&
           strcmp(a->condition, b->condition) == 0 &&
           (a->rows || (a->column == b->column && a->p == b->p));
}

/* An aggregate as it stands after SELECT, or its name; *item is q->items if it is none. */
static enum err find_item(struct parser *p, const struct question *q, size_t *item)
{
    const struct lexer before = p->lexer;
    struct question_item given CLEAN(question_item_clear) = {.p = 0};
    *item = q->items;
    if ((before.token.kind != TOKEN_WORD && before.token.kind != TOKEN_NAME) || parser_is_part(p))
        return ERR_OK;
    TRY(lexer_next(&p->lexer));
    if (before.token.kind == TOKEN_WORD && lexer_is(&p->lexer, "(")) {
        TRY(parser_aggregate(p, &before.token, &given));
        TRY(parser_arithmetic(p, before.token.at, &given));
        for (*item = 0; *item < q->items && !same_item(&q->item[*item], &given); ++*item)
            ;
    } else {
        for (*item = 0; *item < q->items; ++*item)
            if (q->item[*item].name[0] != '\0' &&
                strcasecmp(q->item[*item].name, before.token.text) == 0)
                return ERR_OK;
        p->lexer = before;
        return ERR_OK;
    }
    if (*item == q->items)
        return lexer_fail(&p->lexer, before.token.at,
                          "this aggregate is not among those after SELECT; add it there");
    return ERR_OK;
}

static enum err read_relation(struct parser *p, struct question_having *h)
{
    static const char *const words[] = {"<", "<=", "=", ">=", ">", "<>", "!="};
    static const bool less[] = {true, true, false, false, false, true, true};
    static const bool equal[] = {false, true, true, true, false, false, false};
    static const bool more[] = {false, false, false, true, true, true, true};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (lexer_is(&p->lexer, words[i])) {
            h->less = less[i];
            h->equal = equal[i];
            h->more = more[i];
            return lexer_next(&p->lexer);
        }
    return lexer_fail(&p->lexer, p->lexer.token.at,
                      "a comparison with a number should stand here: HAVING COUNT(*) > 20");
}

/* A number; of a date without a time its first unit, or its last where the whole day is meant. */
static enum err read_bound(struct parser *p, const struct question *q, struct question_having *h)
{
    double low = 0, high = 0;
    if (!question_item_is_quoted(q, h->item)) {
        TRY(parser_number(p, &h->value));
        return parser_no_arithmetic(p);
    }
    TRY(parser_literal(p, q->item[h->item].column, &low, &high));
    h->value = h->less == h->equal ? high : low;
    return ERR_OK;
}

static enum err read_having(struct parser *p, struct question *q)
{
    for (bool more = true; more;) {
        struct question_having *h = &q->having[q->havings];
        const size_t at = p->lexer.token.at;
        if (q->havings == QUESTION_HAVING_MAX)
            return lexer_fail(&p->lexer, at, "HAVING takes at most %d comparisons",
                              QUESTION_HAVING_MAX);
        TRY(find_item(p, q, &h->item));
        if (h->item == q->items || aggregate_is_code(q->item[h->item].aggregate))
            return lexer_fail(&p->lexer, at,
                              "HAVING compares an aggregate after SELECT, or its name, with a "
                              "number; conditions on rows go into WHERE");
        TRY(read_relation(p, h));
        TRY(read_bound(p, q, h));
        q->havings++;
        if (lexer_is(&p->lexer, "or"))
            return lexer_fail(&p->lexer, p->lexer.token.at,
                              "HAVING joins comparisons by AND alone");
        more = lexer_is(&p->lexer, "and");
        if (more)
            TRY(lexer_next(&p->lexer));
    }
    return ERR_OK;
}

/* Which of the question's groups this is; q->groups: none. */
static size_t group_of(const struct question *q, const struct question_group *g)
{
    size_t k = 0;
    while (k < q->groups && !parser_same_group(&q->group[k], g))
        k++;
    return k;
}

static enum err find_group(struct parser *p, const struct question *q, struct question_order *o)
{
    const size_t at = p->lexer.token.at;
    struct question_group g;
    TRY(parser_group(p, &g));
    o->group = true;
    o->index = group_of(q, &g);
    if (o->index < q->groups)
        return ERR_OK;
    return lexer_fail(
        &p->lexer, at,
        "ORDER BY takes aggregates after SELECT, their names, and columns of GROUP BY");
}

/* A number is a position after SELECT, from 1 on. */
static enum err find_listed(struct parser *p, const struct question *q, struct question_order *o)
{
    const size_t at = p->lexer.token.at;
    const struct parser_listed *l;
    double n;
    TRY(parser_number(p, &n));
    if (!(n >= 1 && n <= (double)p->listed) || n != (double)(size_t)n)
        return lexer_fail(&p->lexer, at, "a number is a place after SELECT, from 1 to %zu",
                          p->listed);
    l = &p->list[(size_t)n - 1];
    o->group = l->group;
    o->index = l->group ? group_of(q, &l->by) : l->item;
    return ERR_OK;
}

/* What ORDER BY names. */
static enum err read_key(struct parser *p, const struct question *q, struct question_order *o)
{
    if (p->lexer.token.kind == TOKEN_NUMBER)
        return find_listed(p, q, o);
    TRY(find_item(p, q, &o->index));
    return o->index == q->items ? find_group(p, q, o) : ERR_OK;
}

static enum err read_order(struct parser *p, struct question *q)
{
    TRY(parser_pass(p, "BY", "after ORDER"));
    for (bool more = true; more;) {
        struct question_order *o = &q->order[q->orders];
        if (q->orders == QUESTION_ORDER_MAX)
            return lexer_fail(&p->lexer, p->lexer.token.at, "ORDER BY takes at most %d items",
                              QUESTION_ORDER_MAX);
        TRY(read_key(p, q, o));
        o->down = lexer_is(&p->lexer, "desc");
        if (o->down || lexer_is(&p->lexer, "asc"))
            TRY(lexer_next(&p->lexer));
        q->orders++;
        more = lexer_is(&p->lexer, ",");
        if (more)
            TRY(lexer_next(&p->lexer));
    }
    return ERR_OK;
}

static enum err read_limit(struct parser *p, struct question *q)
{
    const size_t at = p->lexer.token.at;
    double n;
    TRY(parser_number(p, &n));
    if (!(n >= 1 && n <= LINES_MOST) || n != (double)(size_t)n)
        return lexer_fail(&p->lexer, at, "LIMIT takes a whole number of lines, at least 1");
    q->limit = (size_t)n;
    return ERR_OK;
}

enum err parser_lines(struct parser *p, struct question *q)
{
    static const char *const others[] = {"join", "union", "window", "offset"};
    if (lexer_is(&p->lexer, "having")) {
        TRY(lexer_next(&p->lexer));
        TRY(read_having(p, q));
    }
    if (lexer_is(&p->lexer, "order")) {
        TRY(lexer_next(&p->lexer));
        TRY(read_order(p, q));
    }
    if (lexer_is(&p->lexer, "limit")) {
        TRY(lexer_next(&p->lexer));
        TRY(read_limit(p, q));
    }
    if (p->lexer.token.kind == TOKEN_END || lexer_is(&p->lexer, ";"))
        return ERR_OK;
    TRY(parser_no_arithmetic(p));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (lexer_is(&p->lexer, others[i]))
            return lexer_fail(&p->lexer, p->lexer.token.at, "%s is not answered here",
                              p->lexer.token.text);
    return lexer_fail(&p->lexer, p->lexer.token.at, "the question should end here");
}
