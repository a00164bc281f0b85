/*
 * aim/question/questions.h - all questions of an argument or a file, one by one. Its text must be
 * UTF-8.
 */
#pragma once

#include "aim/question/question.h"
#include "base/bytes.h"

struct questions {
    const struct domain *domain; /* borrowed */
    struct log *log;
    struct bytes read; /* of a file */
    struct question_text text;
};

/* Begins with a text, which is borrowed; or with a file, where - is standard input. */
enum err questions_text(struct questions *q, const char *text) MUST_CHECK;
enum err questions_file(struct questions *q, const char *path) MUST_CHECK;

/* The next question, NULL at the end; and its text, without spaces around it. */
struct questions_next {
    struct question *question;
    const char *text;
    size_t size;
};
enum err questions_next(struct questions *q, struct questions_next *next) MUST_CHECK;
void questions_next_clear(struct questions_next *next);

void questions_clear(struct questions *q);
