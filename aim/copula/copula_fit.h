/*
 * aim/copula/copula_fit.h - from the forms of a copula's second round to its latent correlations.
 *
 *   order      nominal columns whose sums show that their labels have an order become ordered
 *              (aim/copula/copula_order.h)
 *   ordered    all pairs of ordered columns at once: subtract what noise is likely to have added
 *              (aim/copula/copula_shrink.h), then derive correlations (aim/copula/copula.h)
 *   nominal    pairs with a nominal column, one by one (aim/copula/copula_links.h)
 *   all        the nearest matrix of correlations
 */
#pragma once

#include "aim/copula/copula.h"
#include "aim/copula/copula_result.h"

/*
 * result: forms, sigma, clip, and a model that has its total and shares; it gets groups and
 * correlations. column[]: all of them, with the scores that the forms have; ordered ones may
 * replace nominal ones.
 */
enum err copula_fit(const struct copula_result *result, struct copula_column *column,
                    struct log *log) MUST_CHECK;
