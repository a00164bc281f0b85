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
};

const char *aggregate_name(enum question_aggregate a)
{
    return names[a];
}

bool aggregate_is_extreme(enum question_aggregate a)
{
    return a == AGGREGATE_MIN || a == AGGREGATE_MAX || a == AGGREGATE_RANGE;
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
    hit = nearest(upper, names, AGGREGATES);
    if (hit < AGGREGATES)
        return lexer_fail(&p->lexer, at, "there is no aggregate %s; did you mean %s?", upper,
                          names[hit]);
    return lexer_fail(&p->lexer, at,
                      "there is no aggregate %s; there are COUNT, SUM, AVG, VARIANCE, STDDEV, "
                      "MEDIAN, PERCENTILE, MODE, MIN, MAX, RANGE and SHARE",
                      upper);
}

static enum err find_aggregate(const struct parser *p, const char *word, size_t at,
                               enum question_aggregate *aggregate)
{
    for (unsigned i = 0; i < AGGREGATES; i++)
        if (strcasecmp(word, names[i]) == 0) {
            *aggregate = (enum question_aggregate)i;
            return ERR_OK;
        }
    return no_such_aggregate(p, word, at);
}

/* What stands from there up to the token, on one line. */
static enum err keep_text(const struct parser *p, size_t at, struct question_item *item)
{
    size_t n = p->lexer.token.at - at;
    while (n > 0 && (unsigned char)p->lexer.text[at + n - 1] <= ' ')
        n--;
    if (n >= QUESTION_CONDITION)
        return lexer_fail(&p->lexer, at, "a condition in SHARE has at most %d bytes",
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
    return keep_text(p, before.token.at, item);
}

enum err parser_share_of(struct parser *p, struct question *q, size_t item)
{
    for (int i = 0; i < 2; i++) {
        struct question *part = q->item[item].part[i];
        part->domain = q->domain;
        part->groups = q->groups;
        memcpy(part->group, q->group, sizeof q->group);
        cases_and(&p->work, &part->where, &q->where);
        if (p->work.pool.failed || p->work.too_many || part->where.n > CASES_MAX)
            return lexer_fail(&p->lexer, p->lexer.token.at,
                              "SHARE(%s) and WHERE together split into more than %d cases; ask in "
                              "parts",
                              q->item[item].condition, CASES_MAX);
    }
    return ERR_OK;
}

void question_item_clear(struct question_item *item)
{
    memory_free(&item->part[0]);
    memory_free(&item->part[1]);
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
    if (lexer_is(&p->lexer, "distinct"))
        return lexer_fail(&p->lexer, at, "DISTINCT is not answered by a model");
    TRY(parser_column(p, &item->column));
    TRY(parser_no_arithmetic(p));
    if (!domain_has_order(&p->domain->attribute[item->column]) &&
        item->aggregate != AGGREGATE_COUNT && item->aggregate != AGGREGATE_MODE)
        return lexer_fail(&p->lexer, at, "%s has labels: only COUNT and MODE apply to it",
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
