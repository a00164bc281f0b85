/*
 * aim/train/gradient.h - the gradient of aim/train/features.h, in the clear: what servers compute
 * on shares, to the last integer.
 */
#ifndef TREFOIL_AIM_TRAIN_GRADIENT_H
#define TREFOIL_AIM_TRAIN_GRADIENT_H

#include "aim/table/table.h"
#include "aim/train/features.h"

struct gradient;

/* Copies the rows of a table that take part; its codes may lie outside their columns. */
enum err gradient_new(struct gradient **g, const struct features *f,
                      const struct table *t) MUST_CHECK;
void gradient_free(struct gradient **g);

const struct features *gradient_features(const struct gradient *g);
size_t gradient_rows(const struct gradient *g);
/* How often a z wrapped since gradient_new(): then the model is worse, and as private. */
uint64_t gradient_wrapped(const struct gradient *g);

/* G at these weights: C F sums. */
void gradient_sum(struct gradient *g, const int64_t *weight, int64_t *sums);

#endif
