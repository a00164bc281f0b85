/*
 * aim/answer.h - what a model answers to a question.
 *
 * The rows of a case (aim/question/cases.h) are weighted by the share of each bin that the case
 * asks for. model_weigh() then gives how many rows each code of y has in each group, and every
 * aggregate follows from that, with the density inside bins (aim/table/density.h) on the part of a
 * bin that conditions on y leave. So answers are exact for the model: nothing is drawn.
 *
 *   COUNT(y), SUM, AVG     of rows that have y
 *   VARIANCE, STDDEV       of the population: by the number of rows, not by one less
 *   MEDIAN, PERCENTILE     between the two rows nearest to the place p (rows - 1),
 *                          of rows that are rounded to a whole number
 *   MODE                   the most frequent label or number, the lowest of several; of bins, the
 *                          lower edge
 *   MIN, MAX, RANGE        approximate: a model has a little of everything everywhere, so they
 *                          leave out at either end three standard errors of the number of rows.
 *                          answer_new() takes its square root for one, answer_intervals() what the
 *                          refits say
 */
#ifndef TREFOIL_AIM_ANSWER_H
#define TREFOIL_AIM_ANSWER_H

#include "aim/errors.h"
#include "aim/model_sums.h"
#include "aim/question/question.h"
#include "aim/table/density.h"

struct answer_value {
    bool known;    /* else NULL: it is of nothing, or too large for a double */
    double number; /* of MODE: the code */
    double rows;   /* that it is of */
    bool bounded;  /* there is an interval */
    double low, high;
    double agreed; /* MODE: the share of the model's refits that answer the same */
};

/* A line for each combination of the groups' codes, the last group's fastest; or the only one. */
struct answer {
    const struct question *question; /* borrowed */
    size_t lines;
    double *rows;               /* of each line: COUNT(*) */
    struct answer_value *value; /* of each line, its items */
};

/* Without intervals. */
enum err answer_new(struct answer **a, struct model_sums *m, const struct densities *inside,
                    const struct question *q, struct log *log) MUST_CHECK;
void answer_free(struct answer **a);

/*
 * Intervals of answers that this model gave (aim/answer_interval.c). Every refit answers the
 * questions again, its columns that were not measured together and the insides of its bins
 * disturbed by as much as they are off (aim/errors.h); an interval is as many standard deviations
 * around the answer as Student's t gives for its level, 0 to 1. It keeps to what is possible:
 * counts and variances are not negative, a mean is a number of its column. Of MIN, MAX and RANGE
 * one end is the largest that may be, whatever the noise. An answer that rests on links that
 * nothing was learned about has none, and neither has one of more than ANSWER_INTERVALS values.
 */
#define ANSWER_INTERVALS (UINT64_C(1) << 18)
struct answer_terms {
    struct model_sums *model;
    const struct densities *inside;
    const struct errors *errors;
    double level;
    void (*begun)(void *show, size_t fits, size_t of); /* so many refits; may be NULL */
    void *show;
    struct log *log;
};
enum err answer_intervals(struct answer *const *answers, size_t n,
                          const struct answer_terms *terms) MUST_CHECK;

/*
 * Groups of less than half a row are left out: how many, but for those without any, which the
 * condition excludes, and their rows all together.
 */
bool answer_is_shown(const struct answer *a, size_t line);
size_t answer_left_out(const struct answer *a, double *rows);

const struct answer_value *answer_value_at(const struct answer *a, size_t line, size_t item);
/* A line's code of a group. */
uint32_t answer_code(const struct answer *a, size_t line, size_t group);

/* All columns that an item of the question needs to be known together, ascending. */
struct scope answer_columns(const struct question *q, size_t item);

#endif
