/*
 * aim/workload/clique.h - a set of attributes, as ascending indices: what a marginal is of. The
 * marginal's cells are row-major in that order (the last attribute runs fastest).
 */
#pragma once

#include "aim/table/domain.h"

#define CLIQUE_MAX 8

struct clique {
    uint16_t n;
    uint16_t attribute[CLIQUE_MAX]; /* ascending, no repeats */
};

bool clique_equal(const struct clique *a, const struct clique *b);
/* Two cliques for qsort(): by size, then lexicographically. */
int clique_compare(const void *a, const void *b);
bool clique_contains(const struct clique *whole, const struct clique *part);
/* Where an attribute is in it; c->n if it is not. */
unsigned clique_place(const struct clique *c, uint32_t attribute);
/* Cells of the marginal; UINT64_MAX on overflow. */
uint64_t clique_cells(const struct clique *c, const struct domain *d);
/* "age x sex", cut to fit. */
struct clique_name {
    char text[256];
};
struct clique_name clique_name(const struct clique *c, const struct domain *d);
/* u16 attributes, u16 each. ERR_FORMAT: there is none, or not of this domain. */
void clique_write(const struct clique *c, struct bytes *out);
enum err clique_read(struct clique *c, const struct domain *d, struct reader *r) MUST_CHECK;

/* index[i] = the cell of `child`, a subset of `parent`, to which the parent's cell i sums. */
void clique_project(const struct clique *parent, const struct clique *child, const struct domain *d,
                    uint32_t *index);
