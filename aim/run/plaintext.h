/*
 * aim/run/plaintext.h - a backend of the AIM loop that holds the counts in the clear: central AIM.
 *
 * It trusts its curator. The servers are tested against it: given the same noise, both return the
 * same integers. Noise is taken in a fixed order, so that it can be replayed:
 *   select   one Gumbel a candidate, in the order of the request
 *   measure  one Gaussian a cell, queries in the order of the request, cells row-major
 *   forms    one Gaussian a form
 *   scores   one Gaussian a candidate
 *   gradient one Gaussian a number
 * and a round selects before it measures. Round 0 (the one-ways) only measures.
 */
#pragma once

#include "aim/run/backend.h"
#include "aim/table/table.h"
#include "aim/train/slope.h"
#include "aim/workload/workload.h"
#include "base/random.h"

/* Unit samples on the lattices of aim/budget/grid.h, as integers. */
struct plaintext_noise {
    void *self;
    enum err (*gauss)(void *self, size_t n, int64_t *out);
    enum err (*gumbel)(void *self, size_t n, int64_t *out);
};

/* Draws from `r`, which must outlive it. In floating point: for tests and simulations. */
struct plaintext_noise noise_from_random(struct random *r);

struct plaintext;

/* Counts the table once. */
enum err plaintext_new(struct plaintext **p, const struct workload *w, const struct table *t,
                       const struct plaintext_noise *noise, struct log *log) MUST_CHECK;
/* From given counts of the whole closure: w->cells of them, each query at its offset. Copied. */
enum err plaintext_new_counts(struct plaintext **p, const struct workload *w, const int64_t *counts,
                              const struct plaintext_noise *noise, struct log *log) MUST_CHECK;
void plaintext_free(struct plaintext **p);
/* From now on it answers gradients too, from these rows, which are borrowed. */
void plaintext_train(struct plaintext *p, struct slope *rows);

/* What a look opens of this number, with noise from this source. */
enum err plaintext_look(const struct plaintext_noise *noise, uint64_t number, uint64_t multiplier,
                        int64_t *value) MUST_CHECK;

/* Valid until `p` is freed. */
struct aim_backend plaintext_backend(struct plaintext *p);
