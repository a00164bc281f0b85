/*
 * aim/copula_model.h - the model that a copula comes to: shares of each column's codes, and latent
 * correlations. As a file, and as rows.
 *
 * Integers are little-endian, doubles are their IEEE bits. A file is
 *
 *   "trefoil-copula-1\n"
 *   domain    as in aim/model_file.h
 *   copula    f64 total, at most 2^48; for each attribute f64 the share of each code; f64 the
 *             correlation of attributes i and j, j < i, row by row
 *   digest    32 bytes: BLAKE2b-256 of all before
 */
#ifndef TREFOIL_AIM_COPULA_MODEL_H
#define TREFOIL_AIM_COPULA_MODEL_H

#include "aim/model_sums.h"
#include "aim/table/density.h"
#include "aim/table/table.h"
#include "base/log.h"

#include <stdbool.h>

struct copula {
    const struct domain *domain; /* borrowed */
    double total;                /* rows */
    double **share;              /* share[attribute][code] */
    double *correlation;         /* attributes x attributes, positive definite */
};

/* All zero but the domain. */
enum err copula_new(struct copula **c, const struct domain *d) MUST_CHECK;
void copula_free(struct copula **c);

enum err copula_save(const char *path, const struct copula *c, struct log *log) MUST_CHECK;
/* ERR_FORMAT, logged, for a file that is cut, altered or no copula. The copula borrows the domain.
 */
enum err copula_load(struct copula **c, struct domain **d, const char *path,
                     struct log *log) MUST_CHECK;
/* Whether a file begins as one of these does. */
bool copula_is_file(const char *path);

/* Rows, each drawn by itself. The same seed gives the same rows. */
enum err copula_rows(struct table **t, const struct copula *c, size_t rows, uint64_t seed,
                     struct log *log) MUST_CHECK;
/* To be asked as other models are: by 2^20 rows, of many columns fewer. Always the same ones. */
enum err copula_sums(struct model_sums **s, const struct copula *c, struct log *log) MUST_CHECK;
/* Counts of one attribute, or of two, row-major: as many rows as the copula has in all. */
enum err copula_marginal(const struct copula *c, const uint16_t *attribute, unsigned n,
                         double *counts) MUST_CHECK;
/* What its counts say of the numbers inside bins. */
enum err copula_densities(struct densities *out, const struct copula *c) MUST_CHECK;

#endif
