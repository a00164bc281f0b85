/* What may be asked of a column: its names, and what stands between its parentheses. */
#include "aim/question/parser.h"

#include "base/memory.h"
#include "base/nearest.h"

#include <string.h>
#include <strings.h>

static const char *const names[AGGREGATES] = {
    [AGGREGATE_COUNT] = "COUNT",
    [AGGREGATE_SUM] = "SUM",
    [AGGREGATE_AVG] = "AVG",
    [AGGREGATE_VARIANCE] = "VARIANCE",
    [AGGREGATE_STDDEV] = "STDDEV",
    [AGGREGATE_MEDIAN] = "MEDIAN",
    [AGGREGATE_PERCENTILE] = "PERCENTILE",
    [AGGREGATE_MODE] = "MODE",
    [AGGREGATE_MIN] = "MIN",
    [AGGREGATE_MAX] = "MAX",
    [AGGREGATE_RANGE] = "RANGE",
    [AGGREGATE_SHARE] = "SHARE",
    [AGGREGATE_CORR] = "CORR",
    [AGGREGATE_ARITHMETIC] = "arithmetic",
};

const char *aggregate_name(enum question_aggregate a)
{
    return names[a];
}

bool aggregate_is_extreme(enum question_aggregate a)
{
    return a == AGGREGATE_MIN || a == AGGREGATE_MAX || a == AGGREGATE_RANGE;
}

bool aggregate_has_parts(enum question_aggregate a)
{
    return a == AGGREGATE_SHARE || a == AGGREGATE_CORR || a == AGGREGATE_ARITHMETIC;
}

bool aggregate_is_code(enum question_aggregate a)
{
    return a == AGGREGATE_MODE;
}

static enum err no_such_aggregate(const struct parser *p, const char *word, size_t at)
{
    char upper[TOKEN_TEXT];
    size_t hit, n = strlen(word);
    for (size_t i = 0; i <= n; i++)
        upper[i] = word[i] >= 'a' && word[i] <= 'z' ? (char)(word[i] - 'a' + 'A') : word[i];
    hit = nearest(upper, names, AGGREGATE_ARITHMETIC);
    if (hit < AGGREGATE_ARITHMETIC)
        return lexer_fail(&p->lexer, at, "there is no aggregate %s; did you mean %s?", upper,
                          names[hit]);
    return lexer_fail(&p->lexer, at,
                      "there is no aggregate %s; there are COUNT, SUM, AVG, VARIANCE, STDDEV, "
                      "MEDIAN, PERCENTILE, MODE, MIN, MAX, RANGE, SHARE and CORR",
                      upper);
}

static enum err find_aggregate(const struct parser *p, const char *word, size_t at,
                               enum question_aggregate *aggregate)
{
    for (unsigned i = 0; i < AGGREGATE_ARITHMETIC; i++)
        if (strcasecmp(word, names[i]) == 0) {
            *aggregate = (enum question_aggregate)i;
            return ERR_OK;
        }
    return no_such_aggregate(p, word, at);
}

/* What stands from there up to the token, on one line. */
enum err parser_keep_text(const struct parser *p, size_t at, struct question_item *item)
{
    size_t n = p->lexer.token.at - at;
    while (n > 0 && (unsigned char)p->lexer.text[at + n - 1] <= ' ')
        n--;
    if (n >= QUESTION_CONDITION)
        return lexer_fail(&p->lexer, at, "between these parentheses are at most %d bytes",
                          QUESTION_CONDITION - 1);
    for (size_t i = 0; i < n; i++) {
        const char c = p->lexer.text[at + i];
        item->condition[i] = (unsigned char)c < ' ' ? ' ' : c;
    }
    return ERR_OK;
}

/* The condition is read twice: as it stands, and with NOT before it. */
static enum err read_share(struct parser *p, struct question_item *item)
{
    const struct lexer before = p->lexer;
    struct log *log = p->lexer.log;
    item->rows = true;
    for (int i = 0; i < 2; i++) {
        p->lexer = before;
        p->lexer.log = i == 0 ? log : NULL;
        TRY(memory_new(&item->part[i], 1));
        TRY(parser_condition(p, i == 1, &item->part[i]->where));
        item->part[i]->items = 1;
        item->part[i]->item[0].rows = true;
    }
    p->lexer.log = log;
    return parser_keep_text(p, before.token.at, item);
}

/* The columns y and z, whose rows have both. */
static enum err read_corr(struct parser *p, struct question_item *item)
{
    static const enum question_aggregate asked[] = {
        AGGREGATE_COUNT, AGGREGATE_AVG, AGGREGATE_VARIANCE, AGGREGATE_AVG, AGGREGATE_VARIANCE};
    const size_t begin = p->lexer.token.at;
    uint16_t column[2];
    struct question *part;
    item->rows = true;
    TRY(memory_new(&item->part[0], 1));
    part = item->part[0];
    cases_every(&part->where);
    for (int i = 0; i < 2; i++) {
        const size_t at = p->lexer.token.at;
        struct cases known = {.n = 0};
        TRY(parser_column(p, &column[i]));
        TRY(parser_no_arithmetic(p));
        if (!domain_has_order(&p->domain->attribute[column[i]]))
            return lexer_fail(&p->lexer, at, "%s has labels: CORR is of two columns of numbers",
                              p->domain->attribute[column[i]].name);
        cases_of(&p->work, &known, column[i],
                 values_known(&p->work.pool, &p->domain->attribute[column[i]]));
        cases_and(&p->work, &part->where, &known);
        if (i == 0)
            TRY(parser_pass(p, ",", "and then the other column: CORR(y, z)"));
        else if (column[0] == column[1])
            return lexer_fail(&p->lexer, at, "a column's correlation with itself is 1");
    }
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        part->item[part->items++] = (struct question_item){
            .aggregate = asked[i], .column = column[i < 3], .p = 0.5};
    part->group[0].column = column[0];
    return parser_keep_text(p, begin, item);
}

/* By y as well, within the lines. */
static enum err group_corr(const struct parser *p, const struct question *q,
                           const struct question_item *item)
{
    struct question *part = item->part[0];
    const uint16_t y = part->group[0].column, z = part->item[0].column;
    if (q->groups == QUESTION_GROUPS_MAX)
        return lexer_fail(&p->lexer, p->lexer.token.at,
                          "with CORR, GROUP BY takes at most %d columns", QUESTION_GROUPS_MAX - 1);
    for (size_t i = 0; i < q->groups; i++)
        if (q->group[i].column == y || q->group[i].column == z)
            return lexer_fail(&p->lexer, p->lexer.token.at,
                              "%s is in GROUP BY: within one of its values CORR says nothing",
                              q->domain->attribute[q->group[i].column].name);
    memcpy(part->group, q->group, q->groups * sizeof *q->group);
    part->group[q->groups] = (struct question_group){.column = y};
    part->groups = q->groups + 1;
    return ERR_OK;
}

enum err parser_parts(struct parser *p, struct question *q, size_t item)
{
    struct question_item *x = &q->item[item];
    for (int i = 0; i < 2 && x->part[i] != NULL; i++) {
        struct question *part = x->part[i];
        part->domain = q->domain;
        part->events = q->events;
        part->groups = q->groups;
        if (x->aggregate == AGGREGATE_CORR)
            TRY(group_corr(p, q, x));
        else
            memcpy(part->group, q->group, sizeof q->group);
        cases_and(&p->work, &part->where, &q->where);
        if (p->work.pool.failed || p->work.too_many || part->where.n > CASES_MAX)
            return lexer_fail(&p->lexer, p->lexer.token.at,
                              "%s(%s) and WHERE together split into more than %d cases; ask in "
                              "parts",
                              aggregate_name(x->aggregate), x->condition, CASES_MAX);
    }
    return ERR_OK;
}

void question_item_clear(struct question_item *item)
{
    memory_free_all(&item->part[0], &item->part[1]);
}

/* The argument between the parentheses of an aggregate. */
static enum err read_argument(struct parser *p, struct question_item *item)
{
    size_t at = p->lexer.token.at;
    if (item->aggregate == AGGREGATE_COUNT && lexer_is(&p->lexer, "*")) {
        item->rows = true;
        return lexer_next(&p->lexer);
    }
    if (item->aggregate == AGGREGATE_SHARE)
        return read_share(p, item);
    if (item->aggregate == AGGREGATE_CORR)
        return read_corr(p, item);
    if (lexer_is(&p->lexer, "distinct"))
        return lexer_fail(&p->lexer, at, "DISTINCT is not answered by a model");
    TRY(parser_column(p, &item->column));
    TRY(parser_no_arithmetic(p));
    if (!domain_has_order(&p->domain->attribute[item->column]) &&
        item->aggregate != AGGREGATE_COUNT && item->aggregate != AGGREGATE_MODE)
        return lexer_fail(&p->lexer, at, "%s has labels: only COUNT and MODE apply to it",
                          p->domain->attribute[item->column].name);
    if (item->aggregate == AGGREGATE_SUM && domain_is_quoted(&p->domain->attribute[item->column]))
        return lexer_fail(&p->lexer, at, "a sum of %ss means nothing: ask for AVG(%s)",
                          p->domain->attribute[item->column].kind->noun,
                          p->domain->attribute[item->column].name);
    item->p = 0.5;
    if (item->aggregate != AGGREGATE_PERCENTILE)
        return ERR_OK;
    TRY(parser_pass(p, ",", "and then the share: PERCENTILE(y, 0.95)"));
    at = p->lexer.token.at;
    TRY(parser_number(p, &item->p));
    if (!(item->p >= 0 && item->p <= 1))
        return lexer_fail(&p->lexer, at, "the share is from 0 to 1: 0.95 for 95 %%");
    return ERR_OK;
}

enum err parser_aggregate(struct parser *p, const struct lexer_token *word,
                          struct question_item *item)
{
    TRY(find_aggregate(p, word->text, word->at, &item->aggregate));
    TRY(lexer_next(&p->lexer));
    TRY(read_argument(p, item));
    return parser_pass(p, ")", "to close the aggregate");
}
