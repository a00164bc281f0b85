/*
 * aim/model/junction.h - the junction tree of a set of marginals.
 *
 * Attributes that occur together in a marginal are joined. They are eliminated one by one, first
 * the one whose clique then has the fewest cells, which gives the tree's cliques. Every attribute
 * of the domain is in some clique, and the cliques with any one attribute are connected (running
 * intersection). Parts that share nothing are joined by an empty separator, so there is always one
 * tree.
 */
#pragma once

#include "aim/workload/scope.h"

#define JUNCTION_ROOT UINT32_MAX

struct junction_clique {
    struct scope scope;
    struct scope separator; /* the attributes it shares with its parent */
    uint32_t parent;        /* an earlier clique; JUNCTION_ROOT for the first */
};

struct junction {
    size_t cliques;
    struct junction_clique *clique; /* parents before children */
    uint64_t cells;                 /* of all cliques; UINT64_MAX on overflow */
};

enum err junction_new(struct junction **j, const struct domain *d, const struct clique *cliques,
                      size_t count) MUST_CHECK;
void junction_free(struct junction **j);

/*
 * The cells that junction_new() would give with `extra` (or NULL) added, without building the tree.
 * Attributes are as large as `sizes` says; `d` only decides the order.
 */
uint64_t junction_cells(const struct domain *d, const struct domain *sizes,
                        const struct clique *cliques, size_t count, const struct clique *extra);

/* The clique with the fewest cells that holds all of `s`, or UINT32_MAX. */
uint32_t junction_find(const struct junction *j, const struct domain *d, const struct scope *s);
