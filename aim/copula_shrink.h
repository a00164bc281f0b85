/*
 * aim/copula_shrink.h - a matrix of forms, brought nearer to the true one.
 *
 * All forms have the same noise, so a matrix of them is the true one and a symmetric matrix of
 * independent noise of deviation s. Three estimates are made of it:
 *
 *   as it is      risk s^2 a cell
 *   spectrum      an eigenvalue x becomes x - 2 s^2 sum over the others y of (x - y) / ((x - y)^2 +
 *                 s^2): the one that is best on average among all that leave eigenvectors as they
 *                 are (Bun, Allez, Bouchaud, Potters 2016). For columns that have causes in common
 *   soft          each cell nearer to 0 by c s. For few strong cells among many weak ones
 *
 * The one taken is that whose squared error is least by Stein's unbiased estimate: for A cells i <
 * j as opened and B as estimated, sum (B - A)^2 + 2 s^2 (sum of dB / dA) - s^2 cells.
 */
#ifndef TREFOIL_AIM_COPULA_SHRINK_H
#define TREFOIL_AIM_COPULA_SHRINK_H

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>

/* Of a symmetric d x d matrix with a diagonal of 0: what stands beside it gets an estimate. */
enum err copula_shrink(double *matrix, size_t d, double s, struct log *log) MUST_CHECK;

#endif
