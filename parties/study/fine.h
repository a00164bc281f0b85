/*
 * parties/study/fine.h - whether numeric columns and marginals are finer than the noise lets
 * anybody see.
 *
 * Judged from the study alone, as if rows were spread evenly: where they are not, some bins stand
 * out and the others are worse.
 */
#pragma once

#include "parties/study/study.h"

/* A bin is good enough if two deviations of its noise are at most this part of its rows. */
#define FINE_NOISE_SHARE 0.5

/*
 * The most values that a column may have with enough rows in each, if every count has noise of
 * standard deviation sigma; at least 2.
 */
uint32_t fine_values_most(double rows, double sigma);

/*
 * Prints a line for each numeric column with more than that, and one about marginals that are all
 * noise. Those are over the domain `grouped`: its codes are groups where bins are merged before
 * marginals are measured.
 */
void fine_print(FILE *out, const struct study *study, const struct domain *grouped, double rows,
                double sigma);
