/*
 * bench/flaim/split.h - a table as many clients hold it: who has which row, and which rows nobody
 * has seen.
 *
 * An assignment names a client for each row of a table. It comes from a file (NAME.clients100.csv),
 * from chance alone, or from a label, skewed: each label's rows are spread in proportions from
 * Dirichlet(beta), which are more uneven the smaller beta is. No client is left without a row.
 *
 * SynthFS has skewed features: for each client and feature a mean from Zipf(beta) on 1 .. 40, its
 * rows Gaussian around it with variance 1, in 32 bins over -3 .. 44; values outside go to the end
 * bins.
 */
#pragma once

#include "base/random.h"
#include "bench/data.h"

struct flaim_split {
    size_t clients;
    struct table **client; /* training rows of each */
    struct table *train;   /* all of them */
    struct table *test;
};

/* A tenth of the rows, drawn with the seed, is for testing; the others are their clients'. */
enum err split_new(struct flaim_split *s, const struct table *all, const uint32_t *assignment,
                   size_t clients, uint64_t seed) MUST_CHECK;
void split_free(struct flaim_split *s);

/*
 * Who takes part in a round: marks each client with probability p (random_double() < p, in turn),
 * again where nobody who has rows was drawn.
 */
void split_draw(const struct flaim_split *s, double p, struct random *coins, bool *drawn);

/* Assignments: `to` has a place for each row. */
enum err assign_file(uint32_t *to, size_t rows, const char *name, size_t *clients,
                     struct log *log) MUST_CHECK;
void assign_evenly(uint32_t *to, size_t rows, size_t clients, struct random *r);
enum err assign_by_label(uint32_t *to, const struct table *t, size_t attribute, size_t clients,
                         double beta, struct random *r) MUST_CHECK;

#define SYNTHFS_ROWS 50000
#define SYNTHFS_CLIENTS 100
/* Domain, 64 three-way marginals and table; `assignment` is allocated. */
enum err synthfs_new(struct bench_data *data, uint32_t **assignment, double beta,
                     struct log *log) MUST_CHECK;

/* Gamma(shape, 1) by Marsaglia and Tsang. */
double draw_gamma(struct random *r, double shape);
