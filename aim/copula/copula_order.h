/*
 * aim/copula/copula_order.h - labels that turn out to have an order.
 *
 * Take grades: one latent variable says more of them than several, since whoever is in the middle
 * has a middle grade. Nobody declares that labels have an order, but sums by labels show it. If the
 * column were ordered, by its codes, it would have for a code g and a score t_j of an ordered
 * column
 *
 *   E[1_g t_j] = p_g E[t_j] + sum over k of r^k h_gk h_jk      h_gk as in copula.h, of 1_g
 *
 * with the r that fits the sum over codes of t_g 1_g t_j, t its scores. Take what the sums show
 * beyond independence, less noise and the effect of drawing rows. Where this formula leaves only a
 * small part of that unexplained, the column is treated as ordered. But only where there is
 * something to see: sums that are next to nothing seem ordered by chance, and a column that lost
 * its labels that way would lose what links it to other labels. It costs nothing: the sums are
 * open.
 */
#pragma once

#include "aim/copula/copula.h"

#define COPULA_UNEXPLAINED 0.1 /* of what sums show */
#define COPULA_SEEN 5          /* deviations that they have where columns are independent */

struct copula_order {
    struct copula_column twin; /* the column as an ordered one */
    double *hermite;           /* h_gk, code after code */
    double score;              /* of the nominal column's codes */
    double found, left;
    double variance; /* of `found`, if the column were independent of all others */
};

/*
 * For a nominal column with each code in a group of its own. The twin's scores are within +-clip,
 * then scaled so that their sum has as much noise as one code has.
 */
enum err copula_order_new(struct copula_order *o, const struct copula_column *c,
                          double clip) MUST_CHECK;
void copula_order_clear(struct copula_order *o);

/*
 * sums[g]: means over `rows` rows of the score of g times that of an ordered column, each with
 * noise of deviation `noise`.
 */
enum err copula_order_add(struct copula_order *o, const struct copula_column *other,
                          const double *sums, double noise, double rows) MUST_CHECK;
bool copula_order_fits(const struct copula_order *o);

/* The twin's sums are made of the nominal column's: this much of code g. */
double copula_order_part(const struct copula_order *o, uint32_t code);
