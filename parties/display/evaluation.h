/*
 * parties/display/evaluation.h - how far a result is from real rows, as tables for people or JSON.
 *
 * Each figure stands beside those of two tables drawn from the real rows themselves: one with
 * columns drawn independently, which has the error of a model that knows nothing about how columns
 * are related; and one with whole rows, which has the error of another sample of the same
 * population, so that less is luck. JSON is
 *
 *   { "private": false, "real_rows": 480, "synthetic_rows": 480,
 *     "marginals": { "mean": {"synthetic": 0.05, "independent": 0.4, "resample": 0.02},
 *                    "each": [ {"attributes": ["age", "sex"], "synthetic": 0.06, ..} ] },
 *     "columns": [ { "column": "age", "mean": {"real": 40.1, "synthetic": 40.3, ..},
 *                    "deviation": {"real": 12.2, ..} } ],
 *     "correlations": [ {"columns": ["age", "bmi"], "real": 0.31, "synthetic": 0.28, ..} ],
 *     "likelihood": { "codes": {"model": -7.1, "independent": -7.9},
 *                     "numbers": {"model": -3.4, "independent": -5.2}, "impossible": 0 },
 *     "questions": [ { "aggregate": "COUNT", "by_group": false, "items": 63,
 *                      "synthetic": {"median": .., "p95": .., "p99": .., "max": ..}, .. } ] }
 *
 * `likelihood`, and `model` among the questions, are there if a model was given.
 */
#pragma once

#include "aim/answer/evaluate.h"
#include "aim/answer/evaluate_answers.h"
#include "parties/study/study.h"

enum evaluation_side {
    SIDE_SYNTHETIC,
    SIDE_INDEPENDENT,
    SIDE_RESAMPLE,
    SIDE_TABLES,
    SIDE_MODEL = SIDE_TABLES, /* only for answers */
    SIDES
};
extern const char *const evaluation_side[SIDES]; /* their names */

struct evaluation_column {
    uint16_t attribute;
    struct evaluate_column real, of[SIDE_TABLES];
};

struct evaluation_pair {
    uint16_t a, b;
    double real, of[SIDE_TABLES];
};

struct evaluation {
    const struct study *study;
    struct table *real, *side[SIDE_TABLES];
    double mean[SIDE_TABLES], *each[SIDE_TABLES]; /* errors of the workload's marginals */
    size_t columns, pairs;                        /* of numbers */
    struct evaluation_column *column;
    struct evaluation_pair *pair;
    bool model; /* one was given; then: mean log-likelihood of the rows' codes and numbers */
    struct evaluation_likelihood {
        double codes, numbers;
    } likelihood, alone;
    size_t impossible;
    size_t questions;
    double *deviation;                      /* of each attribute of the real rows; 0 for labels */
    struct evaluate_answers answers[SIDES]; /* sorted */
};
void evaluation_clear(struct evaluation *e);

/* `worst`: how many marginals and correlations to show, the worst first; 0: all. */
enum err evaluation_text(FILE *out, const struct evaluation *e, size_t worst) MUST_CHECK;
enum err evaluation_json(FILE *out, const struct evaluation *e) MUST_CHECK;
