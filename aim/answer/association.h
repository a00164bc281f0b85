/*
 * aim/answer/association.h - how strongly two attributes are related, and how well that is known.
 *
 * Rows that lack either value are left out. The kinds decide what is computed:
 *   numbers and numbers  r, the correlation: -1 to 1
 *   numbers and labels   eta, the root of the share of the numbers' variance that labels explain
 *   labels and labels    Cramer's V
 * eta and V have no sign: 0 to 1. A bin counts with the mean and the mean square of its numbers
 * (aim/table/density.h).
 *
 * The error is first order (the delta method): it treats the counts as measured, each cell with
 * independent noise of deviation sigma, and the influence of a cell on the figure is its
 * derivative. `alone` is what such noise alone would show on average: eta and V are never below 0,
 * so noise makes them too large.
 */
#pragma once

#include "aim/table/density.h"

enum association_kind { ASSOCIATION_R, ASSOCIATION_ETA, ASSOCIATION_V };

struct association {
    enum association_kind kind;
    double value;
    double error; /* standard deviation; 0 where sigma is */
    double alone; /* what noise shows where there is nothing; 0 where sigma is */
};

/*
 * The association of attributes x and y. The counts are row-major with y fastest, missing codes
 * included. `inside` has the densities of those that are numbers. sigma 0: errors are not known.
 */
enum err association_of(struct association *a, const struct domain *d, uint16_t x, uint16_t y,
                        const double *counts, double sigma,
                        const struct densities *inside) MUST_CHECK;

/* "r", "eta", "V". */
const char *association_word(enum association_kind kind);
