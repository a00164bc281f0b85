/*
 * aim/run/train_run.h - a linear classifier from noisy gradients (aim/train/features.h), over any
 * backend (aim/run/backend.h).
 *
 *   round 0    the target's one-way, for TRAIN_COUNTS of rho. It gives N, the noisy number of rows
 *              with a class, at least 1, and the counts of classes
 *   steps      t = 0 .. T - 1. m = floor(sqrt(2^41 left / ((T - t) R^2 Q^2))), `left` what is left
 *              of the ledger for a person's single row, so that later steps spend what roundings
 *              leave. From W = V = 0, doubles:
 *                V = .9 V - rate G / (m N R^2)     W = W + V     w = rint(W), cut to +-32767
 *   then       the mean of W after each of the last T / 4 steps
 *   test       where rows are kept back: their tables at that mean, rounded, for all that is left,
 *              TRAIN_TEST of rho at least
 *
 * How loud the noise is: nu = sqrt(C F T / 2 rho) / N, with the rho that is for the steps. The rate
 * is train_rate(nu) unless the study says one. Everything is computed in a fixed order, so that the
 * same answers give the same bits.
 *
 * Like the servers, it debits a request before the request is made. A step that is lost is paid
 * for, and is not asked again: W stays, and the next step follows. Where a step after the first is
 * refused since the budget or its slack is used up, the run ends, and W stays for the rest. A test
 * that is lost or refused is left out.
 */
#pragma once

#include "aim/run/backend.h"
#include "aim/run/look.h"
#include "aim/workload/workload.h"

#define TRAIN_COUNTS 0.02
#define TRAIN_TEST 0.03
#define TRAIN_STEPS 60
#define TRAIN_STEPS_LEAST 10
#define TRAIN_STEPS_MOST 1000
#define TRAIN_LOUD 0.1 /* above this nu, noisy tables of pairs do better */

struct train_step {
    uint64_t multiplier;
    double cost, spent; /* of rho */
    bool lost;
    int16_t *weight; /* w, which the gradient is at: C F */
    int64_t *value;  /* m G + z, in multiples of 2^-20; NULL if it is lost */
};

struct train_result {
    const struct features *features; /* borrowed */
    uint32_t weights;                /* C F */
    double sigma;                    /* of the counts of classes */
    double *count;                   /* noisy, of each code of the target */
    double rows;                     /* N */
    double nu, rate;
    double counts_cost, spent; /* of rho */
    uint64_t population;       /* whose rows were counted, as the backend says */
    unsigned steps;            /* T; fewer if the run ended early */
    struct train_step *step;
    double *weight;         /* the classifier, in units of w */
    struct train_step test; /* its values are m count + z; multiplier 0: none */
};
void train_result_free(struct train_result **r);

struct train_options {
    const struct features *features;
    const struct workload *workload; /* whose one-ways are the columns */
    struct ledger_limits limits;     /* from budget_plan() */
    struct score_bounds bounds;
    struct ask_slack slack; /* of the backend's noise */
    struct look look;       /* taken before round 0 */
    unsigned steps;
    double rate; /* 0: as the noise says */
    /* after each step, and with step T after a test; NULL: none */
    void (*progress)(void *self, const struct train_result *r, unsigned step);
    void *self;
};

/* Of a budget for one row, what is for the steps; and for a test, if there is one. */
double train_share(const struct features *f, double rho);
double train_reserve(const struct features *f, double rho);
/* How loud noise is over so many rows, where one row has this rho for the steps. */
double train_nu(const struct features *f, unsigned steps, double rho, double rows);
/* The rate for it; *most: the loudest that has this rate, which may be INFINITY. */
double train_rate(const struct features *f, double nu, double *most);
/* The multiplier of a step with so many left, itself included; 0: the budget is too small. */
uint64_t train_multiplier(const struct features *f, unsigned steps, double rho);
/* The length of a step's noise alone, as a gradient's: sqrt(C F) 2^20 / m. */
double train_noise(const struct features *f, uint64_t multiplier);
/* The length of a step's gradient, noise included; 0 if it is lost. */
double train_length(const struct train_result *r, unsigned step);

/* ERR_RANGE, logged, where the budget is too small. */
enum err train_run(struct train_result **result, const struct train_options *options,
                   const struct aim_backend *backend, struct log *log) MUST_CHECK;
