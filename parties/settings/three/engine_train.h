/*
 * parties/settings/three/engine_train.h - gradients of a classifier over a server's rows, and its
 * test; see engine.c. Features are made with the first request of a session, and kept until it
 * ends.
 */
#pragma once

#include "parties/settings/three/engine.h"

/* Opens a gradient, once paid for. */
enum err three_open_gradient(struct three *g, const struct engine_step *s, struct tape *range,
                             int64_t *values) MUST_CHECK;

/* The same for a test's tables. */
enum err three_open_test(struct three *g, const struct engine_step *s, struct tape *range,
                         int64_t *values) MUST_CHECK;

void three_train_free(struct three_train **train);
