/*
 * parties/command/plan_even.h - how much noise a copula of a study will have, before anything is
 * known of its rows.
 */
#pragma once

#include "parties/command/plan.h"

#include "aim/copula/copula_noise.h"

/* Columns whose rows are spread evenly over their codes. */
struct plan_even {
    size_t d;
    struct copula_column *column;
};

enum err plan_even_new(struct plan_even *e, const struct domain *d) MUST_CHECK;
void plan_even_clear(struct plan_even *e);

/*
 * The noise of a pair's sum, and how far off a correlation is by that, on average over all pairs or
 * those of numbers; pairs with a column of one value say nothing.
 */
enum err plan_even_noise(const struct plan_even *e, const struct study *s, double rho, double rows,
                         bool numbers, double *sum, double *correlation) MUST_CHECK;

/* How far off noise puts a copula's correlations of numbers, for a budget of rho of one row. */
enum err plan_even_expect(const struct study *s, double rho, double rows,
                          double *correlation) MUST_CHECK;
