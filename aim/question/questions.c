#include "aim/question/questions.h"

#include "aim/question/lexer.h"
#include "base/encoding.h"
#include "base/file.h"
#include "base/text.h"

#include <string.h>

static enum err check_characters(const struct questions *q)
{
    size_t line = 1, n;
    for (const char *p = q->text.text; *p != '\0'; p += n) {
        line += *p == '\n';
        n = text_character(p);
        if (n > 0)
            continue;
        if (q->text.file != NULL)
            return log_fail(q->log, ERR_QUESTION, "%s:%zu: this is not UTF-8; is it %s?",
                            q->text.file, line, encoding_guess(q->text.text));
        return log_fail(q->log, ERR_QUESTION, "line %zu of the question is not UTF-8; is it %s?",
                        line, encoding_guess(q->text.text));
    }
    return ERR_OK;
}

enum err questions_text(struct questions *q, const char *text)
{
    q->text = (struct question_text){.text = text};
    return check_characters(q);
}

enum err questions_file(struct questions *q, const char *path)
{
    const bool input = strcmp(path, "-") == 0;
    const char *text, *foreign;
    TRY(file_read(input ? "/dev/stdin" : path, QUESTION_TEXT_MAX, &q->read, q->log));
    text = (const char *)q->read.data;
    foreign = encoding_foreign(text, q->read.size);
    if (foreign != NULL)
        return log_fail(q->log, ERR_QUESTION, "%s is %s; save it as UTF-8", path, foreign);
    if (q->read.size > 0 && memchr(text, '\0', q->read.size) != NULL)
        return log_fail(q->log, ERR_QUESTION, "%s is no text: it holds a byte of 0", path);
    bytes_put_u8(&q->read, '\0');
    TRY(bytes_ok(&q->read));
    text = (const char *)q->read.data;
    q->text = (struct question_text){.text = text + encoding_mark(text, q->read.size),
                                     .file = input ? "standard input" : path};
    return check_characters(q);
}

enum err questions_next(struct questions *q, struct questions_next *next)
{
    static const char between[] = "; \t\r\n";
    size_t from = q->text.at;
    *next = (struct questions_next){0};
    TRY(question_parse(&next->question, q->domain, &q->text, q->log));
    if (next->question == NULL)
        return ERR_OK;
    from += lexer_between(q->text.text + from, between);
    next->text = q->text.text + from;
    next->size = q->text.at - from;
    while (next->size > 0 && strchr(between, next->text[next->size - 1]) != NULL)
        next->size--;
    return ERR_OK;
}

void questions_next_clear(struct questions_next *next)
{
    question_free(&next->question);
}

void questions_clear(struct questions *q)
{
    bytes_clear(&q->read);
}
