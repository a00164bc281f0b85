/* What may be asked of a column: its names, and what stands between its parentheses. */
#include "aim/question/parser.h"

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
                      "MEDIAN, PERCENTILE, MODE, MIN, MAX and RANGE",
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

/* The argument between the parentheses of an aggregate. */
static enum err read_argument(struct parser *p, struct question_item *item)
{
    size_t at = p->lexer.token.at;
    if (item->aggregate == AGGREGATE_COUNT && lexer_is(&p->lexer, "*")) {
        item->rows = true;
        return lexer_next(&p->lexer);
    }
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
