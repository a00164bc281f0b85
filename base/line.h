/*
 * base/line.h - reads a text line by line, and says which line is wrong.
 *
 * Lines lose their ends, "\n" or "\r\n". A NUL within a line becomes a character that no format
 * has, so that a damaged line cannot pass for a shorter, valid one.
 */
#pragma once

#include "base/bytes.h"
#include "base/log.h"

/* All zero: nothing is read. */
struct line_reader {
    const char *path; /* borrowed */
    struct log *log;
    struct bytes text; /* with a NUL after it */
    size_t next;       /* where the next line begins */
    size_t number;     /* of the line that was asked for last; the first is 1 */
    bool cut;          /* that line has no end */
};

/* Begin to read a file of at most `limit` bytes; a copy of a text, which messages call `path`. */
enum err line_file(struct line_reader *r, const char *path, size_t limit,
                   struct log *log) MUST_CHECK;
enum err line_text(struct line_reader *r, const char *path, const void *text, size_t n,
                   struct log *log) MUST_CHECK;
void line_clear(struct line_reader *r);

/* The next line, for the caller to take apart; NULL at the end, which `number` counts as well. */
char *line_next(struct line_reader *r);
/* Whether it is empty or a comment, but not a damaged one: what stood there would be lost. */
bool line_says_nothing(const char *line);
/* The rest of a line after `word` and a space; NULL if it does not begin with them. */
char *line_value(char *line, const char *word);

/* Logs what is wrong, after the file's name and the line's number; returns `e`. */
enum err line_fail(const struct line_reader *r, enum err e, const char *format, ...) MUST_CHECK
    __attribute__((format(printf, 3, 4)));
