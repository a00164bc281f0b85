/* aim/question/parser.h - the state of reading a question, for parse.c and condition.c. */
#pragma once

#include "aim/question/lexer.h"
#include "aim/question/question.h"

/* What stands after SELECT: an item, or what lines are by. */
struct parser_listed {
    bool group;
    size_t item;
    struct question_group by;
};

/* What a condition is about that follows from one column, as a column of its own (made.c). */
struct parser_made {
    uint16_t base;
    const struct question_part *part; /* of its dates; NULL: what a book has beside its labels */
    size_t which;                     /* of the computed columns */
    struct derive_plan *plan;         /* with a book */
    struct domain_attribute as;       /* its kind is NULL if there is none */
    char none[1];
};

#define PARSER_MADE UINT16_MAX /* the number of that column */

struct parser {
    struct lexer lexer;
    const struct domain *domain;
    struct cases_work work;
    unsigned depth;                      /* of parentheses and NOT */
    const struct domain_attribute *made; /* PARSER_MADE, while a condition on it is read */
    size_t listed;
    struct parser_listed list[2 * QUESTION_ITEMS_MAX];
};

/* The column that the token names; moves to the token after it. */
enum err parser_column(struct parser *p, uint16_t *column) MUST_CHECK;
/* A number with its signs; moves to the token after it. */
enum err parser_number(struct parser *p, double *value) MUST_CHECK;
/* The token must be this keyword or symbol; moves past it. */
enum err parser_pass(struct parser *p, const char *word, const char *where) MUST_CHECK;
/* ERR_QUESTION, explained, for an operator of arithmetic; else ERR_OK. */
enum err parser_no_arithmetic(const struct parser *p) MUST_CHECK;

/* Reads an aggregate's arguments, up to its parenthesis, after its word (in aggregate.c). */
enum err parser_aggregate(struct parser *p, const struct lexer_token *word,
                          struct question_item *item) MUST_CHECK;
/* What stands from there up to the token, on one line, becomes the item's text. */
enum err parser_keep_text(const struct parser *p, size_t at, struct question_item *item) MUST_CHECK;
/* An item that began at `at`, if an operator follows or a number is there (arithmetic.c). */
enum err parser_arithmetic(struct parser *p, size_t at, struct question_item *item) MUST_CHECK;
/* What comes after GROUP BY, up to the end of the question (aim/question/parse_lines.c). */
enum err parser_lines(struct parser *p, struct question *q) MUST_CHECK;
/* The condition after WHERE, or its opposite (aim/question/condition.c). */
enum err parser_condition(struct parser *p, bool negated, struct cases *c) MUST_CHECK;
/* What a column is compared with: all values from *low to *high, of dates without a time. */
enum err parser_literal(struct parser *p, uint16_t column, double *low, double *high) MUST_CHECK;
/* A column, or a part of its dates as in year(column) (aim/question/groups.c). */
enum err parser_group(struct parser *p, struct question_group *g) MUST_CHECK;
bool parser_same_group(const struct question_group *a, const struct question_group *b);
/* The same of a column, or a computed one that is such a part or from a book (made.c). */
enum err parser_made_group(struct parser *p, struct question_group *g) MUST_CHECK;
/* Fills in what a group's book says of each code, and which say the same. */
enum err parser_fill_book(struct parser *p, struct question_group *g) MUST_CHECK;
/* Whether such a part begins at the token. */
bool parser_is_part(const struct parser *p);
enum err parser_part_group(struct parser *p, struct question_group *g) MUST_CHECK; /* if it is */
const struct question_part *parser_part(enum calendar_part value);
/* Reads a part of dates, or the name of a computed column that is one or is from a book. */
enum err parser_made(struct parser *p, struct parser_made *m) MUST_CHECK;
/* The values of its base for which it has one of these. */
struct values parser_made_values(struct parser *p, struct parser_made *m, struct values v);
void parser_made_clear(struct parser_made *m);
/* Fills in which codes are in one group, once all are read. */
enum err parser_fill_groups(struct parser *p, struct question *q) MUST_CHECK;
/* Completes the parts of an item, once WHERE and GROUP BY are known (aim/question/aggregate.c). */
enum err parser_parts(struct parser *p, struct question *q, size_t item) MUST_CHECK;
