/*
 * aim/answer/rows_answer.h - the exact answers of the rows themselves to a question.
 *
 * Conditions apply to numbers as they were written. Numbers beyond the domain count as its ends in
 * conditions, and as they are in sums. Lines are those of aim/answer/answer.h. MIN, MAX and RANGE
 * are those of the rows, and MODE is their most frequent code, the lowest if several tie.
 */
#pragma once

#include "aim/answer/answer.h"
#include "aim/table/table.h"

struct rows_answer {
    const struct question *question; /* both borrowed */
    const struct table *table;       /* which has kept its numbers */
    size_t lines;
    size_t *end;                /* of each line in `row`; it begins where the one before ends */
    uint32_t *row;              /* that fit the condition, line by line */
    struct answer_value *value; /* of each line, its items: known, and the number */
};

enum err rows_answer_new(struct rows_answer **a, const struct table *t,
                         const struct question *q) MUST_CHECK;
void rows_answer_free(struct rows_answer **a);

/* How many rows a line has; and how many of them have a code. */
size_t rows_answer_rows(const struct rows_answer *a, size_t line);
size_t rows_answer_with(const struct rows_answer *a, size_t line, uint16_t column, uint32_t code);
