/* aim/model/given_private.h - rows while they are drawn, for given.c and given_slice.c. */
#pragma once

#include "aim/model/given.h"
#include "base/random.h"

struct given {
    const struct model *model;
    double **cell; /* of each tree clique: log p(the rest | its separator) */
};

/* What the rows of a batch have in common at a clique. */
struct given_kinds {
    uint32_t n;
    uint32_t *of;    /* of each row; NULL: nothing is known here or below */
    uint32_t *row;   /* the first row of each kind */
    size_t cells;    /* of a message: those of the separator at most */
    double *message; /* of each kind */
};

struct given_drawing {
    const struct given *g;
    const struct domain *domain; /* of groups */
    const struct given_column *known[DOMAIN_ATTRIBUTES_MAX];
    uint32_t *state[DOMAIN_ATTRIBUTES_MAX]; /* of each row: what is known, of groups */
    double *weight[DOMAIN_ATTRIBUTES_MAX];  /* logarithms, of groups, */
    size_t sets[DOMAIN_ATTRIBUTES_MAX];     /* and how many sets of them */
    struct table *table;
    size_t first, rows; /* of the batch */
    struct given_kinds *kinds;
    uint64_t *slot; /* of hashing: pairs + 1, and their ids */
    uint32_t *id;
    size_t slots;
    uint32_t *own, *order; /* of each row of the batch */
    double *room;          /* for a clique's cells */
    struct random random;
};

/* A clique's table: columns of the separator first, with the groups that a row leaves them. */
struct given_slice {
    const struct given_drawing *w;
    size_t clique;
    uint32_t row;
    unsigned n, seps;
    uint16_t attribute[DOMAIN_ATTRIBUTES_MAX];
    uint32_t state[DOMAIN_ATTRIBUTES_MAX], full[DOMAIN_ATTRIBUTES_MAX], size[DOMAIN_ATTRIBUTES_MAX];
    uint64_t seps_cells, cells; /* of the separator; of the rest */
};

/* For rows of the same kind as `row`. */
void given_slice_make(struct given_slice *s, const struct given_drawing *w, size_t clique,
                      uint32_t row);
/*
 * The logarithms of its cells from column `from` on: 0 for all cells, or s->seps for the rest of
 * one cell of the separator.
 */
void given_slice_fill(const struct given_slice *s, unsigned from, uint64_t cell, double *out);
