/*
 * bench/flaim/results.h - what has been run, kept in a file so that a long sweep may stop and go
 * on: a line of JSON {"name": .., "figures": {..}} for each, appended as soon as it is there. A
 * truncated line, and all lines of a name except the last, are ignored.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"
#include "bench/flaim/trial.h"

#include <jansson.h>

struct results;

enum err results_open(struct results **r, const char *path, struct log *log) MUST_CHECK;
void results_free(struct results **r);
/* NULL if there is none. */
const json_t *results_get(const struct results *r, const char *name);
/* Takes `figures` over. */
enum err results_add(struct results *r, const char *name, json_t *figures) MUST_CHECK;

json_t *figures_json(const struct trial_figures *f);
json_t *servers_json(const struct servers_figures *f);

/* Mean and standard error of a figure over a trial's seeds; NAN where there is none. */
struct results_mean {
    double mean, error;
    unsigned seeds;
};
struct results_mean results_mean(const struct results *r, const struct trial *t,
                                 const char *figure);
