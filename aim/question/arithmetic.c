/* One operation between items, or an item and a number: SUM(y) / COUNT(*). */
#include "aim/question/parser.h"

#include "base/memory.h"

/* The operator at the token, or 0. */
static char operator_at(const struct lexer *l)
{
    static const char *const words[] = {"+", "-", "*", "/"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (lexer_is(l, words[i]))
            return *words[i];
    return 0;
}

/* A number as it stands: its sign would be an operator. */
static bool is_number(const struct lexer *l)
{
    return l->token.kind == TOKEN_NUMBER;
}

/* Moves an item that was read to a question of its own. */
static enum err make_part(struct parser *p, size_t at, struct question_item *from,
                          struct question **part)
{
    const struct domain_attribute *a = &p->domain->attribute[from->column];
    const bool quoted = !from->rows && domain_is_quoted(a) && from->aggregate != AGGREGATE_COUNT;
    if (aggregate_has_parts(from->aggregate) || aggregate_is_code(from->aggregate) ||
        aggregate_is_extreme(from->aggregate) || quoted)
        return lexer_fail(&p->lexer, at,
                          "arithmetic is done with COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN and "
                          "PERCENTILE of numbers, not with %s%s%s%s",
                          aggregate_name(from->aggregate), quoted ? " of " : "",
                          quoted ? a->kind->noun : "", quoted ? "s" : "");
    TRY(memory_new(part, 1));
    cases_every(&(*part)->where);
    (*part)->items = 1;
    (*part)->item[0] = *from;
    return ERR_OK;
}

static enum err read_part(struct parser *p, struct question **part)
{
    const struct lexer_token word = p->lexer.token;
    struct question_item item CLEAN(question_item_clear) = {.p = 0};
    if (word.kind != TOKEN_WORD)
        return lexer_fail(&p->lexer, word.at, "a number or an aggregate should stand here");
    TRY(lexer_next(&p->lexer));
    if (!lexer_is(&p->lexer, "("))
        return lexer_fail(&p->lexer, word.at, "a number or an aggregate should stand here");
    TRY(parser_aggregate(p, &word, &item));
    return make_part(p, word.at, &item, part);
}

/* `from` keeps the parts until the item has them. */
static enum err operate(struct parser *p, size_t at, struct question_item *from,
                        struct question_item *item)
{
    struct question_item made CLEAN(question_item_clear) = {.aggregate = AGGREGATE_ARITHMETIC,
                                                            .rows = true};
    made.flipped = from == NULL;
    if (from == NULL)
        TRY(parser_number(p, &made.number));
    else
        TRY(make_part(p, at, from, &made.part[0]));
    made.operator= operator_at(&p->lexer);
    if (made.operator== 0)
        return lexer_fail(&p->lexer, p->lexer.token.at,
                          "an operator should stand here: a number alone is no item");
    TRY(lexer_next(&p->lexer));
    if (from == NULL)
        TRY(read_part(p, &made.part[0]));
    else if (is_number(&p->lexer))
        TRY(parser_number(p, &made.number));
    else
        TRY(read_part(p, &made.part[1]));
    TRY(parser_keep_text(p, at, &made));
    *item = made;
    made.part[0] = made.part[1] = NULL;
    return ERR_OK;
}

enum err parser_arithmetic(struct parser *p, size_t at, struct question_item *item)
{
    struct question_item from = *item;
    if (is_number(&p->lexer) && p->lexer.token.at == at)
        return operate(p, at, NULL, item);
    return operator_at(&p->lexer) != 0 ? operate(p, at, &from, item) : ERR_OK;
}

double question_operate(const struct question_item *item, double a, double b)
{
    const double left = item->flipped ? b : a, right = item->flipped ? a : b;
    switch (item->operator) {
    case '+':
        return left + right;
    case '-':
        return left - right;
    case '*':
        return left * right;
    default:
        return left / right;
    }
}
