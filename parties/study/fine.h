/*
 * parties/study/fine.h - whether columns of numbers and marginals are finer than noise lets anybody
 * see.
 *
 * From the study alone, as if rows were spread evenly: where they are not, some bins stand out
 * and the others are worse.
 */
#ifndef TREFOIL_PARTIES_STUDY_FINE_H
#define TREFOIL_PARTIES_STUDY_FINE_H

#include "parties/study/study.h"

/* A bin is good enough whose noise, two deviations of it, is at most so much of its rows. */
#define FINE_NOISE_SHARE 0.5

/*
 * The most values of a column that has enough rows in each, with noise of deviation sigma in every
 * count; at least 2.
 */
uint32_t fine_values_most(double rows, double sigma);

/*
 * A line for each column of numbers with more than that, one on marginals that are all noise: of
 * the domain `grouped`, whose codes are groups where bins are merged before marginals are measured.
 */
void fine_print(FILE *out, const struct study *study, const struct domain *grouped, double rows,
                double sigma);

#endif
