/*
 * aim/workload/workload.h - the marginals that the study cares about, and their downward closure.
 *
 * The closure holds every non-empty subset of a workload clique once, by size, then
 * lexicographically: the one-ways come first. All other modules and the wire name a marginal by its
 * index in the closure.
 */
#pragma once

#include "aim/workload/clique.h"

#define WORKLOAD_CLIQUES_MAX (UINT64_C(1) << 22)

/* Cells of a clique that cannot occur, by public knowledge: "pregnant x male". */
struct workload_zeros {
    struct clique clique;
    size_t cells;
    const uint32_t *cell; /* row-major indices */
};

struct workload_query {
    struct clique clique;
    uint64_t cells;
    double weight;   /* w_q = sum over r in the workload of c_r |q intersect r| */
    bool maximal;    /* in no other closure clique: what owners upload */
    uint32_t parent; /* the maximal query of fewest cells that contains it; itself if maximal */
    uint64_t offset; /* of its first cell in a vector of all closure cells */
};

struct workload {
    size_t cliques; /* as given */
    struct clique *clique;
    double *clique_weight;
    size_t queries; /* the closure */
    struct workload_query *query;
    size_t one_ways; /* query[0 .. one_ways-1] */
    uint64_t cells;  /* of the whole closure */
    uint64_t maximal_cells;
};

/*
 * Builds the closure. Each attribute must be in a clique, or it would have no one-way. ERR_STUDY,
 * logged, names an attribute that is in none, a clique that repeats or has more than CLIQUE_MAX
 * attributes, a weight that is not positive and finite, or a closure of more than 2^32 cells. Cells
 * are counted before anything of their size is allocated.
 */
enum err workload_new(struct workload **w, const struct domain *d, const struct clique *cliques,
                      const double *weights, size_t count, struct log *log) MUST_CHECK;
/* How many k-way marginals n attributes have; UINT64_MAX beyond 2^50. */
uint64_t workload_choices(uint64_t n, unsigned k);
/* All k-way marginals with weight 1; k at most the number of attributes and CLIQUE_MAX. */
enum err workload_all(struct workload **w, const struct domain *d, unsigned k,
                      struct log *log) MUST_CHECK;
/*
 * `count` different k-way marginals with weight 1, drawn uniformly from all such choices that leave
 * no attribute out. The same seed gives the same workload on every machine. ERR_STUDY, logged, if
 * there are not that many, or if a thousand draws in a row left an attribute out.
 */
enum err workload_random(struct workload **w, const struct domain *d, unsigned k, size_t count,
                         uint64_t seed, struct log *log) MUST_CHECK;
void workload_free(struct workload **w);

/* Cells of all one-ways together: they come first. */
static inline uint64_t workload_one_way_cells(const struct workload *w)
{
    const struct workload_query *last = &w->query[w->one_ways - 1];
    return last->offset + last->cells;
}

/* Closure index of a clique, or UINT32_MAX. */
uint32_t workload_find(const struct workload *w, const struct clique *c);

void workload_write(const struct workload *w, struct bytes *out); /* canonical, for digests */
