/*
 * aim/train/classifier.h - a classifier that was trained, and classifier.json (docs/formats.md).
 *
 * A row's score for an output is the sum of a coefficient for each of its features, and the
 * intercept: z / 1024, with the weights as they were before rounding. With two classes there is one
 * output, and a row is of the second class from 1/2 on; with more, the largest score wins. Scores
 * are not calibrated: they are no probabilities.
 */
#pragma once

#include "aim/table/table.h"
#include "aim/train/features.h"
#include "aim/train/tested.h"

struct classifier {
    struct domain *domain;     /* the study's columns, the target among them, but not a test's */
    struct features *features; /* of that domain */
    double *coef;              /* C F: the coefficients of an output, its intercept, the next .. */
    double epsilon, delta, rho, sigma; /* sigma: of a number of the last gradient */
    unsigned rows_per_person;
    struct tested *tested; /* how good it is; NULL: there was no test, or it was read from a file */
};

/* From W, in units of w; with a copy of the domain. The numbers after `coef` are the caller's. */
enum err classifier_new(struct classifier **c, const struct features *f,
                        const double *weight) MUST_CHECK;
void classifier_free(struct classifier **c);

/* Written whole or not at all. */
enum err classifier_save(const char *path, const struct classifier *c, struct log *log) MUST_CHECK;
/* ERR_FORMAT, logged with the field, for anything else than that. */
enum err classifier_load(struct classifier **c, const char *path, struct log *log) MUST_CHECK;

/* The name of a feature below F - 1: "age=40", or "f17" of a number. */
#define CLASSIFIER_NAME 600
void classifier_feature(const struct features *f, uint32_t feature, char name[CLASSIFIER_NAME]);
/* The text of a class. */
const char *classifier_class(const struct features *f, uint32_t class, char room[COLUMN_TEXT]);

/*
 * Scores of a row, C of them; column[i] has the codes of the domain's column i, and is not read for
 * the target. classifier_choice() is the class that they say.
 */
void classifier_scores(const struct classifier *c, uint16_t *const *column, size_t row,
                       double *score);
uint32_t classifier_choice(const struct classifier *c, const double *score);

/* How often it is right about a table with the target; rows without a class are left out. */
struct classifier_check {
    size_t rows, right;
    double auc;         /* with two classes: how often one of the second class scores above one of
                        * the first, ties half; else NAN */
    uint64_t *confused; /* K K: rows of class i that are taken for class j */
};
enum err classifier_check(struct classifier_check *check, const struct classifier *c,
                          const struct table *t) MUST_CHECK;
void classifier_check_clear(struct classifier_check *check);
