/*
 * aim/copula/copula_model.h - the model of a copula: shares of each column's codes, and latent
 * correlations. It can be kept as a file and drawn as rows.
 *
 * Integers are little-endian, doubles are their IEEE bits. A file is
 *
 *   "trefoil-copula-3\n", or 2 if !domain_needs_version_3(), so that earlier programs say why
 *   domain    as in aim/model/model_file.h
 *   copula    f64 total, at most 2^48; for each attribute f64 the share of each code; u32 how many
 *             groups of codes, 1 where the codes are ordered, and if more, up to 64, u16 the group
 *             of each code; f64 the correlation of latent variables i and j, j < i, row by row: 0
 *             of two of one attribute
 *   digest    32 bytes: BLAKE2b-256 of all before
 */
#pragma once

#include "aim/model/model_sums.h"
#include "aim/table/density.h"
#include "aim/table/table.h"
#include "base/log.h"

#include <stdbool.h>

struct copula {
    const struct domain *domain; /* borrowed */
    double total;                /* rows */
    double **share;              /* share[attribute][code] */
    uint16_t **group;            /* group[attribute][code] (aim/copula/nominal.h) */
    size_t *groups;              /* of each attribute; 1: its codes are ordered */
    size_t *first;       /* of each attribute: its first latent variable; and how many there are */
    double *correlation; /* of latent variables, positive definite; those of one attribute 0 */
};

/* All zero except the domain: all columns are ordered, with one latent variable each. */
enum err copula_new(struct copula **c, const struct domain *d) MUST_CHECK;
/* Puts an attribute's codes into groups, at least 2, as `group` says. Empties `correlation`. */
enum err copula_set_groups(struct copula *c, size_t attribute, const uint16_t *group,
                           size_t groups) MUST_CHECK;
void copula_free(struct copula **c);

enum err copula_save(const char *path, const struct copula *c, struct log *log) MUST_CHECK;
/* ERR_FORMAT, logged, for a file that is cut, altered or no copula. The copula borrows the domain.
 */
enum err copula_load(struct copula **c, struct domain **d, const char *path,
                     struct log *log) MUST_CHECK;
/* Whether a file begins as one of these does. */
bool copula_is_file(const char *path);

/* Rows, each drawn independently. The same seed gives the same rows. */
enum err copula_rows(struct table **t, const struct copula *c, size_t rows, uint64_t seed,
                     struct log *log) MUST_CHECK;
/* For asking it as other models are asked: rows, at most 2^20, and always the same ones. */
enum err copula_sums(struct model_sums **s, const struct copula *c, struct log *log) MUST_CHECK;
/*
 * Counts of one attribute or of two, row-major, which add up to the copula's total. If one of two
 * is nominal, they come from `drawn`, rows drawn from the copula.
 */
enum err copula_marginal(const struct copula *c, const struct table *drawn,
                         const uint16_t *attribute, unsigned n, double *counts) MUST_CHECK;
/* The densities inside bins that its counts imply. */
enum err copula_densities(struct densities *out, const struct copula *c) MUST_CHECK;
