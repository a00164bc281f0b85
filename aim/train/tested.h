/*
 * aim/train/tested.h - how good a classifier is, from the noisy tables of its test
 * (aim/train/features.h). What is computed here costs no privacy.
 *
 * An error is one standard deviation, of the noise and of which rows happened to be kept back, by
 * first order: of f, the root of the sum over cells of (sigma^2 + count) (df / dcount)^2.
 */
#pragma once

#include "aim/train/features.h"

struct tested_figure {
    double value, error; /* NAN: cannot be had */
};

struct tested {
    char *column, *value; /* which rows are kept back: those with this value */
    uint32_t outputs;
    double sigma, rows;            /* of a count; how many rows, noisy */
    double *count;                 /* FEATURES_CELLS of each output */
    struct tested_figure *auc;     /* of each output, by eighths of its score: its class against
                                   * the others */
    struct tested_figure accuracy; /* with two classes */
};

/* From what was opened, m count + z. */
enum err tested_new(struct tested **t, const struct features *f, uint64_t multiplier,
                    const int64_t *value) MUST_CHECK;
void tested_free(struct tested **t);

/* The share of an output's class among the rows whose p is in a bin. */
struct tested_figure tested_share(const struct tested *t, uint32_t output, unsigned bin);
