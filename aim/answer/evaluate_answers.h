/*
 * aim/answer/evaluate_answers.h - relative errors of answers to questions, by aggregate.
 *
 * The error of an answer is |answer - truth| / |truth|. That of a MODE is how many rows fewer the
 * answered value has than the true mode, as a share of the true mode's. A missing answer counts as
 * 1. Each group with at least a thousandth of the rows is an item of its own. A true answer is left
 * out if it has no rows, or is so near to 0 that a relative error says nothing: within a tenth of
 * the column's standard deviation (a SUM: for each of its rows; a VARIANCE: a hundredth of its
 * square). Arithmetic is compared as it is, wherever it is not 0.
 */
#pragma once

#include "aim/answer/rows_answer.h"

struct evaluate_errors {
    size_t count, room;
    double *error; /* ascending after evaluate_answers_sort() */
};

struct evaluate_answers {
    const double *deviation;                  /* borrowed: of each column of the true rows */
    struct evaluate_errors of[AGGREGATES][2]; /* without and with GROUP BY */
};

/*
 * Adds the errors of one question's answers, which other rows or a model gave: of each line, its
 * items. Counts and sums are first multiplied by `scale`: the true number of rows over the number
 * that was asked.
 */
enum err evaluate_answer(struct evaluate_answers *e, const struct rows_answer *truth,
                         const struct answer_value *value, double scale) MUST_CHECK;

void evaluate_answers_sort(struct evaluate_answers *e);
/* Of sorted errors, at least one; between the two nearest. */
double evaluate_quantile(const struct evaluate_errors *e, double p);
void evaluate_answers_clear(struct evaluate_answers *e);
