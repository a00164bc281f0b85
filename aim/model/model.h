/*
 * aim/model/model.h - Private-PGM: the distribution of largest entropy that fits noisy marginals
 * best.
 *
 * A model is p(x) = exp(sum over measured cliques of theta_c(x_c)) / Z. Its parameters live on the
 * measured cliques, its inference on their junction tree. Costs are known before they are paid:
 * model_new() refuses a tree above `limit_cells`, model_marginal() an answer that needs a larger
 * table than that, both with the name of the clique.
 *
 *   model_new()       theta = 0: all cells of a clique equally likely; or what another model
 *                     learned
 *   model_fit()       minimizes  L = sum over measurements 1/2 ||(mu - y) / sigma||^2
 *   model_marginal()  counts of any clique, inside the tree or not
 */
#pragma once

#include "aim/model/junction.h"
#include "aim/model/measurement.h"

struct model;

struct model_terms {
    const struct domain *domain; /* borrowed */
    const struct merges *merges; /* copied; NULL: none */
    const struct clique *clique;
    size_t cliques;
    const struct workload_zeros *zero; /* copied */
    size_t zeros;
    uint64_t limit_cells;
    const struct model *warm; /* NULL, or where to start: theta is then not 0 */
};

/*
 * ERR_RANGE, logged, also if structural zeros name a cell that does not exist, or leave none. It
 * takes the total from a warm model, and theta of equal cliques; where a clique is now part of a
 * larger one, theta is spread over that.
 */
enum err model_new(struct model **m, const struct model_terms *terms, struct log *log) MUST_CHECK;
void model_free(struct model **m);

/* Another of the same terms, with all that this one learned. It borrows the same domain. */
enum err model_copy(struct model **m, const struct model *from, struct log *log) MUST_CHECK;

/* Number of rows from the sums of the measurements, weighted by inverse variance; at least 1. */
double model_estimate_total(const struct domain *d, const struct measurement *measurements,
                            size_t count);
void model_set_total(struct model *m, double total);
double model_total(const struct model *m);

/*
 * Merged codes are one in all of the model's tables: beliefs are over model_grouped(), which has
 * groups instead of codes. model_share() gives each code's share of its group, or is NULL where an
 * attribute is not merged. A fit learns shares from measurements of one attribute at its codes; the
 * shares are the same in every cell. Counts of cliques below are of codes, unless said to be
 * merged.
 */
const struct domain *model_domain(const struct model *m);
const struct merges *model_merges(const struct model *m);
const struct domain *model_grouped(const struct model *m);
const double *model_share(const struct model *m, uint16_t attribute);
const struct junction *model_junction(const struct model *m);
/* A copy of its structural zeros. The caller frees the list and each list of cells. */
enum err model_zeros(const struct model *m, struct workload_zeros **zero, size_t *zeros) MUST_CHECK;
uint64_t model_cells(const struct model *m); /* of all junction tree cliques */
/*
 * Cells of the tree that a model with `extra` would have if every code were its own group: merges
 * make models faster, not larger. UINT64_MAX on overflow.
 */
uint64_t model_cells_with(const struct model *m, const struct clique *extra);
bool model_covers(const struct model *m, const struct clique *c); /* within one tree clique */
/* Whether one of the cliques that it was fitted to holds all of `s`. */
bool model_holds_together(const struct model *m, const struct scope *s);

/* Probabilities of a tree clique's cells. */
const double *model_belief(const struct model *m, size_t clique);
/*
 * Cells of the largest table that model_marginal() would make, or a thirty-second of its largest
 * product if that is more: products are summed but not held.
 */
uint64_t model_marginal_cells(const struct model *m, const struct clique *c);
/* Expected counts (they add up to the total); ERR_RANGE, logged, if too large. */
enum err model_marginal(const struct model *m, const struct clique *c, double *counts,
                        struct log *log) MUST_CHECK;
/*
 * The same for many cliques of a model that does not change in between: parts that several need
 * are computed once.
 */
struct model_memo;
enum err model_memo_new(struct model_memo **memo, const struct model *m) MUST_CHECK;
void model_memo_free(struct model_memo **memo);
/* Of codes, or of merged cells. */
enum err model_memo_marginal(struct model_memo *memo, const struct clique *c, bool merged,
                             double *counts, struct log *log) MUST_CHECK;
/* The same for the cells that were measured, whether merged or not. */
enum err model_measured(const struct model *m, const struct measurement *x, double *counts,
                        struct log *log) MUST_CHECK;

/*
 * Counts of cliques of the model that are known exactly: it becomes the nearest model that has
 * them. They must add up to the model's total; where they are 0 it must have structural zeros. Ends
 * when each cell is off by at most MODEL_MET of the total, or after 500 sweeps; *off is by how many
 * rows the worst is still off. Of `known`, only `clique` and `y` matter.
 */
#define MODEL_MET 1e-9
enum err model_meet(struct model *m, const struct measurement *known, size_t count, double *off,
                    struct log *log) MUST_CHECK;

struct model_fitted {
    double loss;
    unsigned iterations; /* fewer than asked for when no step lowers the loss any more */
    unsigned trials;     /* belief propagations */
};

/* The most belief propagations that a fit of so many iterations takes; and the other way round. */
static inline unsigned fit_propagations(unsigned iterations)
{
    return iterations / 10 + 10;
}
static inline unsigned fit_iterations(unsigned propagations)
{
    return 10 * (propagations - 10);
}

/*
 * Reaches the loss of so many iterations of plain mirror descent, or less, in fit_propagations()
 * belief propagations of the model, which is propagated already. It takes fewer where the loss has
 * settled, since below that it would mostly fit noise. Every measured clique must be one of the
 * model's: ERR_MISMATCH.
 */
enum err model_fit(struct model *m, const struct measurement *measurements, size_t count,
                   unsigned iterations, struct model_fitted *result, struct log *log) MUST_CHECK;
