/* aim/question/parser.h - a question while it is read, for parse.c and condition.c. */
#ifndef TREFOIL_AIM_QUESTION_PARSER_H
#define TREFOIL_AIM_QUESTION_PARSER_H

#include "aim/question/lexer.h"
#include "aim/question/question.h"

struct parser {
    struct lexer lexer;
    const struct domain *domain;
    struct casework work;
    unsigned depth; /* of parentheses and NOT */
};

/* The column that the token names; then the token behind it. */
enum err parser_column(struct parser *p, uint16_t *column) MUST_CHECK;
/* A number with its signs; then the token behind it. */
enum err parser_number(struct parser *p, double *value) MUST_CHECK;
/* This keyword or symbol must come, and is passed. */
enum err parser_pass(struct parser *p, const char *word, const char *where) MUST_CHECK;
/* ERR_QUESTION for an operator of arithmetic, with words; else ERR_OK. */
enum err parser_no_arithmetic(const struct parser *p) MUST_CHECK;

/* What stands behind WHERE (aim/question/condition.c). */
enum err parser_condition(struct parser *p, struct cases *c) MUST_CHECK;

#endif
