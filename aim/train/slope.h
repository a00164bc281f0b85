/*
 * aim/train/slope.h - the gradient of aim/train/features.h, in the clear: what servers compute
 * on shares, to the last integer.
 */
#pragma once

#include "aim/table/table.h"
#include "aim/train/features.h"

struct slope;

/* Copies the rows of a table that take part, or test; its codes may lie outside their columns. */
enum err slope_new(struct slope **g, const struct features *f, const struct table *t) MUST_CHECK;
void slope_free(struct slope **g);

const struct features *slope_features(const struct slope *g);
/* How often a z wrapped since slope_new(): then the model is worse, and as private. */
uint64_t slope_wrapped(const struct slope *g);

/* G at these weights: C F sums. */
void slope_sum(struct slope *g, const int64_t *weight, int64_t *sums);

/* Adds up the test's tables at these weights: FEATURES_CELLS for each output. */
void slope_test(struct slope *g, const int64_t *weight, int64_t *cells);
