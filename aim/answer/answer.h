/*
 * aim/answer/answer.h - a model's answers to questions.
 *
 * The rows of a case (aim/question/cases.h) are weighted by the share of each bin that the case
 * asks for. model_weigh() then gives the number of rows that each code of y has in each group, and
 * every aggregate follows from that. Where conditions on y leave part of a bin, the density inside
 * bins (aim/table/density.h) applies to that part. Answers are exact for the model: nothing is
 * drawn.
 *
 *   COUNT(y), SUM, AVG     of rows that have y
 *   VARIANCE, STDDEV       of the population: divided by the number of rows, not by one less
 *   MEDIAN, PERCENTILE     between the two rows nearest to the place p (rows - 1);
 *                          the number of rows is rounded to a whole number
 *   MODE                   the most frequent label or number, the lowest if several tie; of bins,
 *                          the lower edge
 *   SHARE                  100 a / (a + b): a rows for which the condition holds, b for which it
 *                          does not
 *   CORR                   of rows that have both; inside a bin the two are independent. Where no
 *                          measured marginals hold all columns, answer_new() refuses
 *   MIN, MAX, RANGE        approximate: a model puts a little of everything everywhere, so they
 *                          leave out three standard errors of the number of rows at either end.
 *                          For one standard error, answer_new() takes the square root of that
 *                          number, and answer_intervals() what the refits say
 */
#pragma once

#include "aim/answer/errors.h"
#include "aim/model/model_sums.h"
#include "aim/question/question.h"
#include "aim/table/density.h"

struct answer_value {
    bool known;    /* else NULL: there are no rows, or it is too large for a double */
    double number; /* of MODE: the code */
    double rows;   /* that it is based on */
    bool bounded;  /* there is an interval */
    double low, high;
    double agreed; /* MODE: the share of the model's refits that answer the same */
};

/* A line for each combination of the groups' codes, the last group's fastest; or a single line. */
struct answer {
    const struct question *question; /* borrowed */
    size_t lines;
    double *rows;               /* of each line: COUNT(*) */
    struct answer_value *value; /* of each line, its items */
};

/* How many an answer has. */
size_t answer_lines(const struct question *q);

/* Without intervals. ERR_RANGE, ERR_QUESTION, logged, for what is refused. */
enum err answer_new(struct answer **a, struct model_sums *m, const struct densities *inside,
                    const struct question *q, struct log *log) MUST_CHECK;
void answer_free(struct answer **a);

/*
 * Intervals for answers that this model gave (aim/answer/answer_interval.c). Every refit answers
 * the questions again. Columns that were not measured together, and the insides of bins, are
 * disturbed by as much as they are off (aim/answer/errors.h). An interval is as many standard
 * deviations around the answer as Student's t gives for its level, 0 to 1. Where noisy counts of
 * all the columns were kept, it also reaches to what they say, or is theirs alone. It keeps to
 * what is possible: counts and variances are not negative, a mean is a number of its column. For
 * MIN, MAX and RANGE one end is the largest that may be, whatever the noise. An answer that rests
 * on links that nothing was learned about has no interval, nor has one of more than
 * ANSWER_INTERVALS values.
 */
#define ANSWER_INTERVALS (UINT64_C(1) << 18)
struct answer_terms {
    struct model_sums *model;
    const struct densities *inside;
    const struct errors *errors;
    double level;
    void (*begun)(void *show, size_t fits, size_t of); /* refits begun so far; may be NULL */
    void *show;
    struct log *log;
};
enum err answer_intervals(struct answer *const *answers, size_t n,
                          const struct answer_terms *terms) MUST_CHECK;

/*
 * Groups of less than half a row are left out: how many, except those with no rows, which the
 * condition excludes; *rows is their rows in all.
 */
size_t answer_left_out(const struct answer *a, double *rows);

/* The lines to show, in the question's order; the caller frees them. */
enum err answer_shown(const struct answer *a, size_t **lines, size_t *count) MUST_CHECK;

const struct answer_value *answer_value_at(const struct answer *a, size_t line, size_t item);
/* A line's code of a group. */
uint32_t answer_code(const struct answer *a, size_t line, size_t group);

/* All columns that must be known together for an item of the question, ascending. */
struct scope answer_columns(const struct question *q, size_t item);
