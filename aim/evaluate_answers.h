/*
 * aim/evaluate_answers.h - relative errors of answers to questions, by aggregate.
 *
 * The error of an answer is |answer - truth| / |truth|. That of a MODE is how many rows fewer the
 * answered value has than the true mode, as a share of these. An answer that is not there counts as
 * 1. Each group is an item of its own, if it has a thousandth of the rows. A true answer of no row,
 * or so near to 0 that a relative error says nothing, is left out: within a tenth of the column's
 * standard deviation (a SUM: for each of its rows; a VARIANCE: a hundredth of its square).
 */
#ifndef TREFOIL_AIM_EVALUATE_ANSWERS_H
#define TREFOIL_AIM_EVALUATE_ANSWERS_H

#include "aim/answer.h"
#include "aim/rows_answer.h"

struct evaluate_errors {
    size_t count, room;
    double *error; /* ascending after evaluate_answers_sort() */
};

struct evaluate_answers {
    const double *deviation;                  /* borrowed: of each column of the true rows */
    struct evaluate_errors of[AGGREGATES][2]; /* without and with GROUP BY */
};

/*
 * Adds the errors of one question's answers: of other rows, or of a model. `scale` is what counts
 * and sums are multiplied by first: the rows that there truly are over those that were asked.
 */
enum err evaluate_rows_answer(struct evaluate_answers *e, const struct rows_answer *truth,
                              const struct rows_answer *other, double scale) MUST_CHECK;
enum err evaluate_model_answer(struct evaluate_answers *e, const struct rows_answer *truth,
                               const struct answer *answer, double scale) MUST_CHECK;

void evaluate_answers_sort(struct evaluate_answers *e);
/* Of sorted errors, of which there are some; between the two nearest. */
double evaluate_quantile(const struct evaluate_errors *e, double p);
void evaluate_answers_clear(struct evaluate_answers *e);

#endif
