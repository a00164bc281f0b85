/*
 * aim/train/distill.h - a few rows from which a classifier learns what it learned from all: their
 * gradients match those that a run opened, at the run's own weights. Made from what was opened
 * alone, so it costs no privacy. Only of numbers.
 *
 * Rows S have F reals in units of R, labels Y are fixed. In these units W = w R / 1024 and G is
 * divided by 32 m N R. With P = clamp(S W + z0 / 1024, 0, hi), hi = 31/32 on the label and else
 * (2^j - 1) / 32, E = P - Y and H = (S^T E / n - G) / |G|^2,
 *
 *   dS = 2/n (E H^T + ((S H) [0 < P < hi]) W^T)
 *
 * summed over DISTILL_AT random steps, is the slope of sum |S^T E / n - G|^2 / |G|^2. Adam (.9,
 * .999, 1e-12) goes down it, at a rate of .01 that falls to 0.
 */
#pragma once

#include "aim/train/features.h"

#define DISTILL_AT 4
#define DISTILL_ITERATIONS 4000

struct distill_terms {
    const struct features *features; /* of numbers */
    size_t steps;                    /* of the run, and of each: */
    double *const *weight;           /* w, C F */
    double *const *gradient;         /* G / (m N) */
    unsigned per_class, iterations;
    uint64_t seed;
};

struct distill_rows {
    size_t rows, count; /* per_class K rows of F - 1 numbers */
    double *value;      /* in units of codes, row by row */
    uint32_t *label;
    double loss; /* sum |S^T E / n - G|^2 / |G|^2 over all steps, by their number */
};

enum err distill(struct distill_rows *d, const struct distill_terms *terms) MUST_CHECK;
void distill_clear(struct distill_rows *d);

/*
 * The loss of rows s (of F reals in units of R) with these labels at one step, added to *loss, and
 * its slope, added to ds.
 */
enum err distill_slope(const struct distill_terms *t, size_t step, const double *s,
                       const uint32_t *label, size_t rows, double *ds, double *loss) MUST_CHECK;
