/*
 * aim/copula/copula_shrink.h - a matrix of forms, brought nearer to the true one.
 *
 * All forms have the same noise, so a matrix of them is the true one and a symmetric matrix of
 * independent noise of deviation s. Three estimates are made of it:
 *
 *   as it is      risk s^2 a cell
 *   spectrum      an eigenvalue x becomes x - 2 s^2 sum over the others y of (x - y) / ((x - y)^2 +
 *                 s^2): the best on average among all estimates that leave eigenvectors as they are
 *                 (Bun, Allez, Bouchaud, Potters 2016). For columns that have causes in common
 *   soft          each cell nearer to 0 by c s. For few strong cells among many weak ones
 *
 * The one with the least squared error by Stein's unbiased estimate is taken. For cells i < j, A as
 * opened and B as estimated, that is sum (B - A)^2 + 2 s^2 (sum of dB / dA) - s^2 cells.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>

/* Replaces the cells of a symmetric d x d matrix by estimates, except its diagonal, which is 0. */
enum err copula_shrink(double *matrix, size_t d, double s, struct log *log) MUST_CHECK;
