/*
 * aim/model_private.h - the inside of a model, shared by model.c, model_fit.c and model_marginal.c.
 *
 * One belief propagation costs one exp() a cell. Upward, a node's log-cells (potentials plus the
 * children's messages) become e = exp(b - most[s]), most[s] the largest over the cells of separator
 * cell s, and the message is most[s] + log(sum[s]). Downward, e is scaled by the parent's marginal
 * of the separator over sum[s]: the belief, without a second exp and without ever leaving range.
 */
#ifndef TREFOIL_AIM_MODEL_PRIVATE_H
#define TREFOIL_AIM_MODEL_PRIVATE_H

#include "aim/model.h"

struct potential {
    struct clique clique;
    uint32_t home;   /* the tree clique that carries it */
    size_t cells;    /* of the clique */
    size_t offset;   /* in the vectors theta and mu */
    uint32_t *index; /* cell of home -> cell of the clique; NULL where they are the same */
};

struct node {
    size_t cells;
    size_t separator_cells;
    uint32_t *up;   /* own cell -> separator cell; NULL at the root, which has one */
    uint32_t *down; /* parent's cell -> separator cell */
    double *belief;
    double *most, *sum, *message; /* one for each separator cell */
};

struct model {
    const struct domain *domain;
    struct junction *junction;
    struct node *node; /* of each tree clique */
    size_t potentials;
    struct potential *potential;
    struct clique *cliques; /* the measured ones, for model_cells_with() */
    size_t parameters;      /* length of theta and mu */
    double *theta;
    double *mu; /* expected counts on the measured cliques, after model_propagate() */
    double total;
    uint64_t limit_cells;
};

/* Beliefs and mu from theta. */
void model_propagate(struct model *m);

#endif
