/*
 * aim/run/trajectory.h - trajectory.json: all that a classifier's run opened, step by step
 * (docs/formats.md). Weights are whole numbers, gradients are divided by their multiplier.
 */
#pragma once

#include "aim/run/train_run.h"

/* Written whole or not at all. */
enum err trajectory_save(const char *path, const struct train_result *r, const struct features *f,
                         struct log *log) MUST_CHECK;

/*
 * The steps that came, read back for a classifier with these features: N, and of each step w and
 * G / (m N). ERR_FORMAT, logged with the field, for anything else.
 */
struct trajectory {
    size_t steps;
    double rows;
    double **weight, **gradient; /* C F of each step */
};
enum err trajectory_load(struct trajectory *t, const char *path, const struct features *f,
                         struct log *log) MUST_CHECK;
void trajectory_clear(struct trajectory *t);
