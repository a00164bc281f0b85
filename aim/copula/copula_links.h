/*
 * aim/copula/copula_links.h - latent correlations of two columns, at least one of which is nominal.
 *
 * Two columns are known by sums S over groups, of 1_g 1_h or of 1_g t, less those of independent
 * columns. Each sum has noise of deviation s. A nominal column has directions: the eigenvectors v
 * of its slopes with eigenvalues x > 0 (aim/copula/nominal.h). An ordered one has a single
 * direction, v = 1 and x = h_1 (aim/copula/copula.h). To first order, the covariances along the
 * directions are
 *
 *   X_ab = v_a' S v_b / (x_a x_b)      with noise of deviation s / (x_a x_b)
 *
 * which is large where labels are rare. So each X is multiplied by T / (T + that squared). T is the
 * variance of the pair's X themselves: the mean of X^2 without its noise, where the clear ones
 * weigh more. Then X is turned to the latent variables.
 */
#pragma once

#include "aim/copula/copula.h"

struct copula_side {
    size_t groups, latents;
    double *mean;   /* of each group: its sums where columns are independent, over rows */
    double *gain;   /* x of each direction, with the scores; 0: nothing is seen along it */
    double *vector; /* v, one after the other */
    double *turn;   /* of each direction: how much of each latent variable it has */
};

/* For a column whose shares, groups, scores and Hermite coefficients are set. */
enum err copula_side_new(struct copula_side *s, const struct copula_column *c,
                         struct log *log) MUST_CHECK;
void copula_side_clear(struct copula_side *s);

/*
 * sums[g][h]: those of groups of a and of b, over rows; noise: their deviation. correlation[z][y]:
 * of the latent variables of a and b, in rows of `stride`, within +-COPULA_CORRELATION_MOST.
 */
enum err copula_link(const struct copula_side *a, const struct copula_side *b, const double *sums,
                     double noise, double *correlation, size_t stride) MUST_CHECK;
