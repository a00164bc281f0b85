/*
 * parties/command/methods.h - what commands do in each method: `run`, `aim` and `plan`. A table by
 * enum study_method; parties/study/method.h says what a run may open.
 */
#pragma once

#include "aim/run/plaintext.h"
#include "parties/analyst/release.h"
#include "parties/analyst/remote.h"
#include "parties/analyst/run_stats.h"
#include "parties/command/plan.h"
#include "parties/display/progress.h"

/* What a run makes: one of these. */
struct methods_made {
    struct aim_result *model;
    struct copula_result *copula;
    struct train_result *trained;
    struct replies *replies; /* of a copula or classifier, which keep no state */
};
void methods_clear(struct methods_made *made);

/* A run between servers, or in one program that has the rows. */
struct methods_run {
    const struct study *study;
    const struct bounds *bounds;
    struct aim_backend backend;
    struct remote *remote; /* NULL in one program */
    struct aim_wish wish;
    struct progress *progress; /* NULL: nothing is shown */
    struct log *log;
};

struct methods {
    enum err (*run)(struct methods_made *made, const struct methods_run *r);
    enum err (*plan)(struct plan_asked *p, double rho);
    bool errors; /* there is a `model`, whose errors refits can find */
    bool rows;   /* it makes synthetic rows, and run writes a report and a card of them */
};

const struct methods *methods_of(const struct study *study);

/*
 * The same run, with the same budget and bounds, for somebody who has the rows; noise NULL: fresh;
 * progress NULL: nothing is shown. What is made borrows the study.
 */
enum err methods_central(struct methods_made *made, const struct study *study,
                         const struct table *table, const struct plaintext_noise *noise,
                         struct progress *progress, struct log *log) MUST_CHECK;

/* What a run says of its rounds. */
void methods_stats(const struct methods_made *made, struct run_stats *stats);

/* Writes what was opened, and the model and rows that follow from it. */
enum err methods_release(const struct methods_made *made, const struct release_terms *t) MUST_CHECK;
