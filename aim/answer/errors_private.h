/* aim/answer/errors_private.h - what a model's errors are learned from; for errors_fit.c. */
#pragma once

#include "aim/answer/errors.h"

/* A relative error that was seen. */
struct errors_seen {
    unsigned wave;
    double rows, factor;  /* of how many; (1 - p)^2 and links, which multiply the variance */
    double square, noise; /* of the error, and the variance of noise in it */
};

struct errors_list {
    size_t n, room;
    struct errors_seen *one;
};

/* --- aim/answer/errors_learn.c: where nothing was measured ------------------------------------ */

/* Compares a model with a measurement held back from its fit, over boxes drawn with the seed. */
enum err errors_look(struct errors_list *list, const struct model *m,
                     const struct measurement *measured, unsigned links, uint64_t seed,
                     struct log *log) MUST_CHECK;

/* The size of errors of this wave: the mean of likely ones. */
struct errors_size errors_likely(const struct errors_list *lists, size_t n, unsigned wave);

/* --- aim/answer/errors_inside.c: inside bins -------------------------------------------------- */

/* Compares what the model says of neighbouring bins with what the density inside bins would say. */
enum err errors_inside(double *inside, const struct model *m, const struct measurement *one_ways,
                       size_t count, struct log *log) MUST_CHECK;
