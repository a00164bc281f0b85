/*
 * parties/study/expect.h - how well a study will be able to answer the questions it is made for,
 * from the study alone.
 *
 * Nobody knows the rows, so they are taken to be as many as the owners may bring, spread evenly
 * over the bins. Of each question that gives the rows it is of (of one group), and the noise in
 * their number if the marginal over its columns is measured once: sigma sqrt(sum of w^2), w being
 * the part of each of the marginal's cells that the condition takes in. Where the study has no
 * such marginal, the answer will rest on smaller ones, and its error cannot be told.
 */
#ifndef TREFOIL_PARTIES_STUDY_EXPECT_H
#define TREFOIL_PARTIES_STUDY_EXPECT_H

#include "parties/study/study.h"

#include <math.h>

#define EXPECT_TEXT 160
#define EXPECT_WELL 0.1 /* the relative error of an answer that is good enough */

struct expect {
    char text[EXPECT_TEXT]; /* of the question, in one line, cut */
    bool together;          /* a marginal of the study has all its columns */
    double rows, noise;     /* of a line of the answer */
};

/* Of the item whose marginal is the largest. INFINITY where no marginal has its columns. */
static inline double expect_error(const struct expect *e)
{
    return e->together && e->rows > 0 ? e->noise / e->rows : INFINITY;
}

/* Worst first. ERR_QUESTION, logged, if the file of questions has changed and is wrong now. */
enum err expect_questions(struct expect **list, size_t *count, const struct study *s, double sigma,
                          struct log *log) MUST_CHECK;

/* For people: a summary, and the questions that are not answered well; or a table of all, cut. */
void expect_summary(FILE *out, const struct study *s, const struct expect *list, size_t count);
void expect_table(FILE *out, const struct study *s, const struct expect *list, size_t count);

#endif
