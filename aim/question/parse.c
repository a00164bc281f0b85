#include "aim/question/parser.h"

#include "aim/table/number.h"
#include "aim/table/series.h"
#include "base/memory.h"

#include <string.h>
#include <strings.h>

const struct domain_attribute *question_item_column(const struct question *q, size_t item)
{
    return &q->domain->attribute[q->item[item].column];
}

void question_item_name(const struct question *q, size_t item, char *text, size_t size)
{
    const struct question_item *x = &q->item[item];
    const char *column = x->condition[0] != '\0' ? x->condition
                         : x->rows               ? "*"
                                                 : q->domain->attribute[x->column].name;
    char p[32] = "";
    if (x->name[0] != '\0') {
        snprintf(text, size, "%s", x->name);
        return;
    }
    if (x->aggregate == AGGREGATE_ARITHMETIC) {
        snprintf(text, size, "%s", x->condition);
        return;
    }
    if (x->aggregate == AGGREGATE_PERCENTILE)
        number_round(p, sizeof p, x->p, 10);
    snprintf(text, size, "%s(%s%s%s)", aggregate_name(x->aggregate), column,
             p[0] != '\0' ? ", " : "", p);
}

void question_free(struct question **q)
{
    if (*q == NULL)
        return;
    pool_clear(&(*q)->pool);
    for (size_t i = 0; i < QUESTION_ITEMS_MAX; i++)
        question_item_clear(&(*q)->item[i]);
    for (size_t i = 0; i < QUESTION_GROUPS_MAX; i++) {
        memory_free(&(*q)->group[i].first);
        memory_free(&(*q)->group[i].label);
    }
    memory_free(q);
}

/* --- items ------------------------------------------------------------------------------------ */

/* A column without an aggregate must be in GROUP BY; this is checked once that is known. */
struct plain {
    struct question_group group;
    size_t at;
};

struct select {
    size_t plains;
    struct plain plain[QUESTION_ITEMS_MAX];
};

/* AS and the name by which answers call an item. */
static enum err read_name(struct parser *p, struct question_item *item)
{
    const struct lexer_token *t = &p->lexer.token;
    if (!lexer_is(&p->lexer, "as"))
        return ERR_OK;
    TRY(lexer_next(&p->lexer));
    if ((t->kind != TOKEN_WORD && t->kind != TOKEN_NAME) || strlen(t->text) >= QUESTION_NAME)
        return lexer_fail(&p->lexer, t->at, "a name of at most %d bytes should stand after AS",
                          QUESTION_NAME - 1);
    snprintf(item->name, sizeof item->name, "%s", t->text);
    return lexer_next(&p->lexer);
}

static enum err finish_item(struct parser *p, struct question *q, struct question_item *item)
{
    TRY(parser_no_arithmetic(p));
    TRY(read_name(p, item));
    p->list[p->listed++].item = q->items++;
    return parser_no_arithmetic(p);
}

static enum err read_item(struct parser *p, struct question *q, struct select *s)
{
    struct lexer before = p->lexer;
    struct question_item *item = &q->item[q->items];
    const bool part = parser_is_part(p);
    if (q->items == QUESTION_ITEMS_MAX || s->plains == QUESTION_ITEMS_MAX)
        return lexer_fail(&p->lexer, p->lexer.token.at, "a question has at most %d items",
                          QUESTION_ITEMS_MAX);
    if (lexer_is(&p->lexer, "case"))
        return lexer_fail(&p->lexer, p->lexer.token.at,
                          "CASE is not answered: ask for each case with its own WHERE, or GROUP BY "
                          "the column");
    if (lexer_is(&p->lexer, "*"))
        return lexer_fail(&p->lexer, p->lexer.token.at,
                          "a model gives no rows: ask for aggregates, such as COUNT(*)");
    if (p->lexer.token.kind == TOKEN_NUMBER) {
        TRY(parser_arithmetic(p, before.token.at, item));
        return finish_item(p, q, item);
    }
    if (p->lexer.token.kind != TOKEN_WORD && p->lexer.token.kind != TOKEN_NAME)
        return lexer_fail(&p->lexer, p->lexer.token.at,
                          "an aggregate should stand here, such as COUNT(*)");
    TRY(lexer_next(&p->lexer));
    if (before.token.kind == TOKEN_WORD && lexer_is(&p->lexer, "(") && !part) {
        TRY(parser_aggregate(p, &before.token, item));
        TRY(parser_arithmetic(p, before.token.at, item));
        TRY(finish_item(p, q, item));
    } else {
        p->lexer = before;
        s->plain[s->plains].at = before.token.at;
        TRY(parser_group(p, &s->plain[s->plains].group));
        p->list[p->listed++] = (struct parser_listed){true, 0, s->plain[s->plains++].group};
        if (lexer_is(&p->lexer, "as"))
            return lexer_fail(&p->lexer, p->lexer.token.at,
                              "a column of GROUP BY keeps its name: leave AS out");
    }
    return parser_no_arithmetic(p);
}

/* --- the whole -------------------------------------------------------------------------------- */

static enum err read_groups(struct parser *p, struct question *q)
{
    TRY(parser_pass(p, "BY", "after GROUP"));
    for (bool more = true; more;) {
        size_t at = p->lexer.token.at;
        if (q->groups == QUESTION_GROUPS_MAX)
            return lexer_fail(&p->lexer, at, "GROUP BY takes at most %d columns",
                              QUESTION_GROUPS_MAX);
        TRY(parser_group(p, &q->group[q->groups]));
        for (size_t i = 0; i < q->groups; i++)
            if (q->group[i].column == q->group[q->groups].column)
                return lexer_fail(&p->lexer, at,
                                  "GROUP BY has this column already, or a part of it");
        q->groups++;
        more = lexer_is(&p->lexer, ",");
        if (more)
            TRY(lexer_next(&p->lexer));
    }
    return ERR_OK;
}

static enum err check_plain(const struct parser *p, const struct question *q,
                            const struct select *s)
{
    for (size_t i = 0; i < s->plains; i++) {
        bool grouped = false;
        for (size_t k = 0; k < q->groups; k++)
            grouped |= parser_same_group(&q->group[k], &s->plain[i].group);
        if (!grouped)
            return lexer_fail(&p->lexer, s->plain[i].at,
                              "a column without an aggregate must be in GROUP BY");
    }
    if (q->items == 0)
        return lexer_fail(&p->lexer, p->lexer.token.at,
                          "the question has no aggregate: ask for COUNT(*), for example");
    return ERR_OK;
}

static enum err read_table(struct parser *p, struct question *q)
{
    const struct series *series = p->domain->series;
    TRY(parser_pass(p, "FROM", "and then a table, whose name does not matter"));
    if (p->lexer.token.kind != TOKEN_WORD && p->lexer.token.kind != TOKEN_NAME)
        return lexer_fail(&p->lexer, p->lexer.token.at,
                          "the name of a table should stand here; any will do");
    q->events = series != NULL && strcasecmp(p->lexer.token.text, series->name) == 0;
    return lexer_next(&p->lexer);
}

static enum err read_question(struct parser *p, struct question *q)
{
    struct select s = {0};
    TRY(parser_pass(p, "SELECT", "where a question begins"));
    TRY(read_item(p, q, &s));
    while (lexer_is(&p->lexer, ",")) {
        TRY(lexer_next(&p->lexer));
        TRY(read_item(p, q, &s));
    }
    TRY(read_table(p, q));
    cases_every(&q->where);
    if (lexer_is(&p->lexer, "where")) {
        TRY(lexer_next(&p->lexer));
        TRY(parser_condition(p, false, &q->where));
    }
    if (lexer_is(&p->lexer, "group")) {
        TRY(lexer_next(&p->lexer));
        TRY(read_groups(p, q));
        TRY(parser_fill_groups(p, q));
    }
    for (size_t i = 0; i < q->items; i++)
        TRY(parser_parts(p, q, i));
    TRY(parser_lines(p, q));
    return check_plain(p, q, &s);
}

enum err question_parse(struct question **out, const struct domain *d, struct question_text *from,
                        struct log *log)
{
    struct parser p = {.lexer = {.text = from->text, .file = from->file, .log = log},
                       .domain = d,
                       .work = {.domain = d}};
    struct question *q CLEAN(question_free) = NULL;
    enum err e;
    *out = NULL;
    p.lexer.next = from->at;
    do
        TRY(lexer_next(&p.lexer));
    while (lexer_is(&p.lexer, ";"));
    from->at = p.lexer.token.at;
    if (p.lexer.token.kind == TOKEN_END)
        return ERR_OK;
    TRY(memory_new(&q, 1));
    q->domain = d;
    e = read_question(&p, q);
    q->pool = p.work.pool;
    for (size_t i = 0; i < q->items; i++)
        for (size_t k = 0; k < 2; k++)
            if (q->item[i].part[k] != NULL)
                q->item[i].part[k]->pool = q->pool; /* borrowed */
    TRY(e);
    from->at = p.lexer.next;
    return memory_hand_over(out, &q);
}

enum err question_condition(struct question **out, const struct domain *d, const char *text,
                            struct log *log)
{
    struct parser p = {.lexer = {.text = text, .log = log}, .domain = d, .work = {.domain = d}};
    struct question *q CLEAN(question_free) = NULL;
    enum err e;
    *out = NULL;
    TRY(memory_new(&q, 1));
    *q = (struct question){.domain = d, .items = 1, .item = {{.rows = true}}};
    TRY(lexer_next(&p.lexer));
    e = parser_condition(&p, false, &q->where);
    q->pool = p.work.pool;
    TRY(e);
    if (p.lexer.token.kind != TOKEN_END)
        return lexer_fail(&p.lexer, p.lexer.token.at,
                          "the condition should end here, or go on with AND or OR");
    return memory_hand_over(out, &q);
}
