/*
 * aim/eigen.h - eigenvalues of a symmetric matrix, by LAPACK's dsyev.
 *
 * OpenBLAS has it. It is loaded when it is needed and not before: a program that is linked with it
 * has its threads from the start, and most commands need none.
 */
#ifndef TREFOIL_AIM_EIGEN_H
#define TREFOIL_AIM_EIGEN_H

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>

/*
 * Of a d x d matrix: value[] ascending; row k of the matrix becomes the unit eigenvector of value
 * k. ERR_SYSTEM, logged, where there is no such library; ERR_RANGE where the matrix has something
 * that is not finite.
 */
enum err eigen_symmetric(double *matrix, double *value, size_t d, struct log *log) MUST_CHECK;

/* The other way: matrix = v' diag(value) v. */
void eigen_compose(double *matrix, const double *v, const double *value, size_t d);

#endif
