/*
 * aim/copula/eigen.h - eigenvalues of a symmetric matrix, by LAPACK's dsyev.
 *
 * It is part of OpenBLAS, which is loaded only when it is needed: a program that is linked with it
 * has its threads from the start, and most commands need none.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>

/*
 * For a d x d matrix: value[] ascending; row k of the matrix becomes the unit eigenvector of value
 * k. ERR_SYSTEM, logged, if the library is not there; ERR_RANGE if an element of the matrix is not
 * finite.
 */
enum err eigen_symmetric(double *matrix, double *value, size_t d, struct log *log) MUST_CHECK;

/* The other way: matrix = v' diag(value) v. */
void eigen_compose(double *matrix, const double *v, const double *value, size_t d);
