/*
 * bench/flaim/flaim_private.h - what the server's side, flaim.c, and a client's, flaim_client.c,
 * share.
 */
#pragma once

#include "aim/run/loop.h"
#include "bench/flaim/flaim.h"

/* Measurements of one marginal so far: sum of alpha^2, and the mean of y/N weighted by that. */
struct flaim_pooled {
    double weight;
    double *share; /* NULL: none */
};

/* What may be in the model, and in one marginal of it. */
static inline uint64_t flaim_cells_most(const struct flaim_options *o)
{
    return (o->model_bytes != 0 ? o->model_bytes : AIM_MODEL_BYTES) / sizeof(double);
}

/* What a model says of the closure's marginals. */
struct flaim_view {
    const struct model *model;
    double *share;   /* w->cells: shares of rows, each query at its offset */
    double *mass;    /* of each query: sum of |share| */
    uint32_t *query; /* candidates */
    size_t candidates;
};

enum err view_new(struct flaim_view *v, const struct workload *w) MUST_CHECK;
void view_clear(struct flaim_view *v);

/* The round's public figures, and what a client looks at. */
struct flaim_round {
    const struct flaim_options *options;
    const struct flaim_view *view;    /* of the global model */
    const struct flaim_pooled *pool;  /* all that was measured, by query */
    const struct flaim_pooled *proxy; /* of the one-ways: p~ */
    const double *truth;              /* FLAIM_TRUE: shares of all training rows, as in a view */
    double sigma, epsilon;
    uint64_t limit_cells;
    struct log *log;
};

/* Candidates: marginals within `limit_cells` of model, of those in `from` (NULL: all). */
void view_candidates(struct flaim_view *v, const struct flaim_options *o, const uint32_t *from,
                     size_t count, uint64_t limit_cells);
enum err view_fill(struct flaim_view *v, const struct workload *w, struct log *log) MUST_CHECK;

/* Client k's s choices; fewer than s where it chose one again. */
enum err client_choose(const struct flaim_round *round, size_t k, uint32_t *choice,
                       size_t *choices) MUST_CHECK;

/* A model of all that was pooled and a client's own measurements, warm from another (or NULL). */
enum err fit_pooled(struct model **m, const struct flaim_options *o,
                    const struct flaim_pooled *pool, const struct measurement *own, size_t owns,
                    const struct model *warm, unsigned iterations, struct log *log) MUST_CHECK;
