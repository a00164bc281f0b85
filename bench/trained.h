/*
 * bench/trained.h - classifiers of `method: train` in the clear, for bench_train: rows to learn
 * from and rows to try on, a run, how good it is, and a rate that rows to learn from choose.
 */
#pragma once

#include "aim/run/train_run.h"
#include "aim/table/table.h"

#define TRAINED_BITS 21 /* room for the counts of a table */

struct trained_rows {
    struct domain *domain; /* the caller's */
    struct workload *columns;
    struct features *features;
    struct table *train, *test;
};

struct trained_plan {
    double rho;
    uint64_t seed; /* 0: without noise */
    unsigned steps;
    double rate;       /* 0: by the rule that a run has */
    uint64_t *wrapped; /* counts scores that wrapped */
};

void trained_clear(struct trained_rows *rows);
/* Deals rows: every fifth, from the last of five, is to be tried on. */
enum err trained_deal(struct trained_rows *rows, const struct table *all) MUST_CHECK;
/* Deals the rows to learn from: their last fifth is to be tried on. Others stay unseen. */
enum err trained_hold(struct trained_rows *held, const struct trained_rows *rows) MUST_CHECK;
void trained_drop(struct trained_rows *held); /* the tables alone */
/* A run on this table, which has the rows' columns. */
enum err trained_new(struct train_result **result, const struct trained_rows *rows,
                     const struct table *table, const struct trained_plan *plan,
                     struct log *log) MUST_CHECK;
/* How good it is on the rows to try on: AUC with two classes, else accuracy. */
enum err trained_try(const struct trained_rows *rows, const struct train_result *result,
                     double *good) MUST_CHECK;
/* The rate, of those that the rule knows, that does best on rows held so: the mean over seeds. */
enum err trained_rate(const struct trained_rows *rows, const struct trained_plan *plan,
                      unsigned seeds, double *rate, struct log *log) MUST_CHECK;
