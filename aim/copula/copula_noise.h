/*
 * aim/copula/copula_noise.h - how a copula adapts to noise: its clip and its groups of labels.
 * Everything here follows from opened values and public terms, so it costs nothing.
 *
 * Clip. A row moves a form by the square of the largest score, and a form tells of correlations by
 * the square of the scores' coefficient h_1. Scores that are cut off lower need less noise and tell
 * less. So, of the clips from the study's down, the one is chosen whose errors of correlations are
 * expected to be smallest:
 *
 *   e_ij^2 = (sigma / (N h_i h_j))^2 + v_i v_j / (N (h_i h_j)^2)      v = E[t^2], N rows
 *
 * from noise, and from the rows that happen to be drawn. The clip minimizes the sum of
 * e^2 / (1 + e^2), in which a pair of which nothing can be known does not count. Where noise is
 * small that is the study's clip.
 *
 * Labels. Groups of codes cost no noise (aim/budget/forms.h), but those of rare labels show noise
 * and nothing else. For a label of share p, h = phi(quantile of p) times its score replaces h_1.
 */
#pragma once

#include "aim/copula/copula.h"

/*
 * Finds the clip, at most `most`, of d columns whose shares are set, for forms that cost `rho` and
 * for `total` rows. Sets their scores.
 */
enum err copula_noise_clip(struct copula_column *column, size_t d, double rho, double total,
                           double most, double *clip) MUST_CHECK;

/*
 * Groups the codes of nominal columns, whose scores are set, for the same noise: a label is alone
 * if its correlation with an ordered column is expected to be off by at most COPULA_LABEL_ERROR.
 */
#define COPULA_LABEL_ERROR 0.25
enum err copula_noise_groups(struct copula_column *column, size_t d, double rho, double total,
                             size_t most) MUST_CHECK;
