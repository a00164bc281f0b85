/*
 * aim/copula_noise.h - what noise asks of a copula. Everything here follows from values that are
 * open and from public terms: it costs nothing.
 *
 * Clip. A row moves a form by the square of the largest score, and a form tells of correlations by
 * the square of the scores' coefficient h_1. Cut off lower, scores need less noise and tell less.
 * So, of the clips from the study's down, the one is taken at which the errors of correlations are
 * expected to be smallest:
 *
 *   e_ij^2 = (sigma / (N h_i h_j))^2 + v_i v_j / (N (h_i h_j)^2)      v = E[t^2], N rows
 *
 * of noise, and of rows as they happen to be drawn. The sum of e^2 / (1 + e^2) is made small: a
 * pair of which nothing can be known does not count. Where noise is small that is the study's clip.
 *
 * Labels. Groups of codes cost no noise (aim/forms.h), but those of rare labels show noise and
 * nothing else. A label of share p has h = phi(quantile of p) in the place of h_1, times its score.
 */
#ifndef TREFOIL_AIM_COPULA_NOISE_H
#define TREFOIL_AIM_COPULA_NOISE_H

#include "aim/copula.h"

/*
 * The clip, at most `most`, of d columns whose shares are set, for `rho` of forms and `total` rows;
 * their scores are set.
 */
enum err copula_noise_clip(struct copula_column *column, size_t d, double rho, double total,
                           double most, double *clip) MUST_CHECK;

/*
 * The groups of nominal columns, whose scores are set, for the same noise: a label is alone if its
 * correlation with an ordered column is expected to be off by COPULA_LABEL_ERROR at most.
 */
#define COPULA_LABEL_ERROR 0.25
enum err copula_noise_groups(struct copula_column *column, size_t d, double rho, double total,
                             size_t most) MUST_CHECK;

#endif
