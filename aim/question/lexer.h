/*
 * aim/question/lexer.h - the words of a question, one at a time, and messages that show the place.
 *
 *   word     letters, digits and _, not a digit first: a keyword, an aggregate, a plain name
 *   name     "in double quotes", "" for one inside
 *   label    'in single quotes', '' for one inside
 *   number   digits, with a point and an exponent if needed; signs are symbols
 *   symbol   ( ) , * ; = <> != < <= > >= and the operators of arithmetic
 *
 * Spaces and line ends separate words, and so does `--` with the rest of its line.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>

enum lexer_token_kind {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_NAME,
    TOKEN_LABEL,
    TOKEN_NUMBER,
    TOKEN_SYMBOL
};

#define TOKEN_TEXT 512

struct lexer_token {
    enum lexer_token_kind kind;
    size_t at, size;       /* in the text */
    char text[TOKEN_TEXT]; /* without its quotes */
};

struct lexer {
    const char *text;
    const char *file; /* for messages, or NULL */
    size_t next;      /* after the token */
    struct lexer_token token;
    struct log *log;
};

/* How many characters of spaces, of these kinds, and comments a text begins with. */
size_t lexer_between(const char *text, const char *spaces);
/* The next token; ERR_QUESTION, logged, for quotes that do not end, or text that is no token. */
enum err lexer_next(struct lexer *l) MUST_CHECK;

/* Whether the token is this keyword, in any case, or this symbol. */
bool lexer_is(const struct lexer *l, const char *word);

/*
 * ERR_QUESTION, logged: what is wrong, as path:line:column of a file, then the line of the text
 * with a ^ below the place.
 */
enum err lexer_fail(const struct lexer *l, size_t at, const char *format, ...) MUST_CHECK
    __attribute__((format(printf, 3, 4)));
