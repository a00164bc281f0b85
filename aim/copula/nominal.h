/*
 * aim/copula/nominal.h - a column whose codes have no order, in a Gaussian copula: from shares to
 * utilities, from sums by groups to latent correlations.
 *
 * The codes are in groups: a frequent one is alone, rare ones share a group. Group g has the
 * utility a_g + U_g, the U being independent unit normals, and a row has the group of the largest.
 * The a follow from the groups' shares and give them exactly; which code of its group a row has is
 * drawn by shares. Only differences of U matter: k - 1 latent variables Z with U = B'Z give them.
 * The rows of B are orthonormal and orthogonal to (1 .. 1) (Helmert's), so the Z are independent
 * unit normals too. For another normal variable V with cov(U, V) = c
 *
 *   E[1_g f(V)] = p_g E[f(V)] + sum over h of G_gh c_h E[f'(V)] + ...     G_gh = dp_g / da_h
 *
 * by Stein's lemma; only the first order is used. G is symmetric, and its rows add up to 0, so one
 * eigenvector is (1 .. 1). The others v, with eigenvalues x > 0, say what sums by groups tell of
 * cov(v'U, V), and how much of it noise hides.
 */
#pragma once

#include "base/log.h"

#include <stddef.h>
#include <stdint.h>

#define NOMINAL_SHARE_LEAST 1e-9 /* a smaller share counts as this */

/* The utilities of `groups` groups, at least 1, by their shares. slope: G, or NULL. */
enum err nominal_utilities(const double *share, size_t groups, double *utility,
                           double *slope) MUST_CHECK;

/* B, (groups - 1) x groups. */
void nominal_basis(size_t groups, double *basis);

/*
 * The groups of codes, in order of falling share: each code is alone while the normal density at
 * its share's quantile is at least `least`, and the first in any case, but there are never more
 * than `most` groups (2 or more). All other codes are together. Groups are numbered in the order of
 * their codes, the common one last.
 */
enum err nominal_groups(const double *share, uint32_t size, double least, size_t most,
                        uint16_t *group, size_t *groups) MUST_CHECK;
