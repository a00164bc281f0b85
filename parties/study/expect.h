/*
 * parties/study/expect.h - how well a study will answer the questions that it is made for, judged
 * from the study alone.
 *
 * Nobody knows the rows, so this assumes as many as the owners may bring, spread evenly over the
 * bins. For each question that gives the number of rows behind an answer (for one group), and the
 * noise in that number if the marginal over its columns is measured once: sigma sqrt(sum of w^2),
 * where w is the part of each of the marginal's cells that the condition takes in. Where the study
 * has no such marginal, the answer will rest on smaller ones, and its error cannot be predicted.
 */
#pragma once

#include "parties/study/study.h"

#include <math.h>

#define EXPECT_TEXT 160
#define EXPECT_WELL 0.1 /* the relative error of an answer that is good enough */

struct expect {
    char text[EXPECT_TEXT]; /* the question on one line, cut */
    bool together;          /* a marginal of the study has all its columns */
    double rows, noise;     /* for one line of the answer */
};

/* For the item with the most noise. INFINITY where no marginal has all the columns. */
static inline double expect_error(const struct expect *e)
{
    return e->together && e->rows > 0 ? e->noise / e->rows : INFINITY;
}

/* Worst first. ERR_QUESTION, logged, if the file of questions has changed and is now wrong. */
enum err expect_questions(struct expect **list, size_t *count, const struct study *s, double sigma,
                          struct log *log) MUST_CHECK;

/* For people: a summary with the questions that are not answered well; or a table of all, cut. */
void expect_summary(FILE *out, const struct study *s, const struct expect *list, size_t count);
void expect_table(FILE *out, const struct study *s, const struct expect *list, size_t count);
