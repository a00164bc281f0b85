/*
 * parties/analyst/release.h - what a run publishes: measurements.json, model, synthetic.csv, and
 * how far off the model's answers may be. All are made from opened values.
 */
#pragma once

#include "aim/answer/errors.h"
#include "aim/run/copula_run.h"
#include "aim/run/loop.h"
#include "aim/run/train_run.h"
#include "aim/train/classifier.h"
#include "parties/study/study.h"

struct bounds;

/* Options of the loop for a study: the same for the servers' MPC and for central AIM. */
enum err release_loop_options(const struct study *study, const struct bounds *bounds,
                              struct aim_options *options, struct log *log) MUST_CHECK;

/* The same for a study with method: copula. */
enum err release_copula_options(const struct study *study, const struct bounds *bounds,
                                struct copula_options *options, struct log *log) MUST_CHECK;

/* The same for a study with method: train. */
enum err release_train_options(const struct study *study, const struct bounds *bounds,
                               struct train_options *options, struct log *log) MUST_CHECK;

/* What a run has trained (parties/analyst/release_train.c); rho: what the run had. */
enum err release_classifier(struct classifier **c, const struct study *study,
                            const struct train_result *result, double rho) MUST_CHECK;
/* Writes classifier.json, and trajectory.json with all that was opened. */
enum err release_train(const char *folder, const struct classifier *c,
                       const struct train_result *result, struct log *log) MUST_CHECK;

/* What is written, and where. */
struct release_terms {
    const char *folder; /* which must exist */
    const struct study *study;
    double rho;
    size_t rows; /* 0: the model's total */
    uint64_t seed;
    struct log *log;
};

/*
 * Each writes the three files, and deletes what release_errors() had written there, since it
 * belongs to another model.
 */
enum err release_copula(const struct release_terms *t,
                        const struct copula_result *result) MUST_CHECK;
enum err release_write(const struct release_terms *t, const struct aim_result *result) MUST_CHECK;

/* Makes the model's errors (aim/answer/errors.h) and writes them beside it, as `errors`. */
enum err release_errors(const char *folder, const struct aim_result *result,
                        const struct errors_progress *progress, struct log *log) MUST_CHECK;
