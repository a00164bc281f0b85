/*
 * aim/model/model_private.h - the inside of a model, for the files that work on its tables and
 * parameters.
 *
 * One belief propagation costs one exp() a cell and passes twice over each table. Upward, a node's
 * log-cells b (potentials plus the children's messages) become e = exp(b - most[s]) and sum[s], s
 * the cell of the separator; the message to the parent is most[s] + log(sum[s]). Downward, e is
 * scaled by the parent's marginal of the separator over sum[s]: the belief.
 *
 * most[s] need only be near the largest b. Within a fit, that of the propagation before will do,
 * which saves a pass; where a sum then leaves 1e-150 .. 1e150, the node is done again with the true
 * one. `exact` asks for the true one everywhere: beliefs are then a function of theta alone, to the
 * last bit. Resuming a run relies on that, so model_fit() ends with it.
 */
#pragma once

#include "aim/model/model.h"
#include "aim/model/sweep.h"
#include "base/random.h"

/* Log-value of a structural zero: no potential can make up for it. */
#define MODEL_ZERO (-1e9)

/* Where the cells of a table fall in a table over fewer attributes. */
struct model_projection {
    struct sweep_strip strip; /* within a chunk */
    uint32_t *offset;         /* of each chunk of the larger table, in the smaller one */
};

/* Numbers that flow into a node's cells, or out of them. */
struct model_flow {
    const struct model_projection *by;
    double *value;
    uint32_t set; /* which attributes of a chunk it has, as bits */
    size_t step;  /* the ladder's step over this set */
};

/*
 * The way between a node's flows and the cells of a chunk (aim/model/ladder.c). A step is a table
 * over some of the chunk's attributes; flows over the same ones share it, and it is spread over the
 * next step that has them all. So even many flows pass over all cells only once or twice, and short
 * runs of the last attributes occur in few passes. A step that would save nothing is not made.
 */
struct model_step {
    uint32_t set;
    bool used;  /* flows meet here, or it is the chunk itself: the last step */
    bool out;   /* flows leave from here, or from what is below */
    bool begun; /* while a chunk is gathered: it holds something */
    size_t cells;
    size_t into;              /* the step that it is spread over */
    size_t below;             /* how many are spread over this one */
    struct sweep_strip strip; /* where cells of `into` fall here */
    struct sweep_strip own;   /* cell by cell */
    size_t at;                /* in `table` */
};

struct model_ladder {
    size_t steps, room;
    struct model_step *step; /* by their cells */
    double *table;           /* of all steps but the last */
};

struct model_potential {
    struct clique clique;
    uint32_t home; /* the tree clique that carries it */
    size_t cells;  /* of the clique */
    size_t offset; /* in theta */
    double *mu;    /* probabilities after model_propagate(); the home's belief itself if `whole` */
    bool whole;    /* the clique is all of its home */
    struct model_projection from_home;
};

/* A table of 0 and MODEL_ZERO, added like a potential but never fitted. */
struct model_mask {
    struct clique clique;
    uint32_t home;
    struct model_projection from_home;
    double *value;
    bool *barred; /* the domain's cells of which it was made */
};

struct model_node {
    size_t cells, chunk; /* chunk divides cells */
    size_t separator_cells;
    struct model_projection up;   /* own cells -> separator */
    struct model_projection down; /* parent's cells -> separator */
    double *belief;
    double *shift, *sum, *message; /* one for each separator cell; shift = -most */
    size_t inflows, outflows;
    struct model_flow *inflow;  /* its shift; potentials, masks, children's messages */
    struct model_flow *outflow; /* children's separators, potentials' mu */
    struct model_ladder ladder;
};

struct model {
    const struct domain *domain; /* the study's, of codes */
    struct merges merges;
    struct domain grouped; /* groups instead of codes: what tables are over */
    double **share;        /* of each merged attribute: a code's share of its group; else NULL */
    bool **never;          /* and whether it cannot occur */
    size_t shares;         /* how many in all */
    const struct sweep *sweep;
    struct junction *junction;
    struct model_node *node; /* of each tree clique */
    size_t potentials;
    struct model_potential *potential;
    size_t masks;
    struct model_mask *mask;
    size_t cliques;
    struct clique *clique; /* of potentials and masks, for model_cells_with() */
    size_t parameters;     /* length of theta */
    double *theta;
    double total;
    double log_z; /* after model_propagate() */
    uint64_t limit_cells;
};

/* --- aim/model/model_shares.c ----------------------------------------------------------------- */

/*
 * Shares out groups by what was measured of each merged attribute alone, at its codes. Shares are
 * what is then expected, all above 0; or, if `draw` is not NULL, a draw from all that may be.
 */
enum err shares_learn(struct model *m, const struct measurement *measured, size_t count,
                      struct random *draw) MUST_CHECK;

/* --- aim/model/model_groups.c ----------------------------------------------------------------- */

/* Sets how the domain's codes are merged; NULL: not at all. Groups are shared out evenly. */
enum err groups_new(struct model *m, const struct merges *merges) MUST_CHECK;
void groups_clear(struct model *m);
/* Copies the shares of another model with the same merges. */
void groups_copy(struct model *m, const struct model *from);
/*
 * Shares out a merged attribute's groups by counts of its codes, of which those below 0 count as 0,
 * or evenly where there are none; NULL: evenly. A code that cannot occur gets nothing.
 */
void groups_share(struct model *m, uint16_t attribute, const double *counts);
/*
 * Sets the mask's values from its barred cells: MODEL_ZERO where no cell of a merged one can occur.
 * ERR_RANGE, logged, where some can and some cannot; in a mask of one attribute, codes that cannot
 * occur have no share instead.
 */
enum err groups_bar(struct model *m, struct model_mask *mask, struct log *log) MUST_CHECK;
/* Copies all `shares` of a model out or back, one merged attribute after the other. */
void groups_get(const struct model *m, double *share);
void groups_set(struct model *m, const double *share);
/* Whether the shares of each group add up to 1. */
bool groups_add_up(const struct merges *m, const double *share);
/*
 * counts[cell] = the count of its merged cell, times a factor for each attribute's code: factor[i]
 * for the clique's i-th, NULL for 1; if `factor` is NULL, the shares.
 */
enum err groups_spread(const struct model *m, const struct clique *c, const double *const *factor,
                       const double *grouped, double *counts) MUST_CHECK;
/* Adds counts of cells to those of merged cells, and how many there are to `codes` if not NULL. */
enum err groups_sum(const struct model *m, const struct clique *c, const double *counts,
                    double *grouped, double *codes) MUST_CHECK;

/* --- aim/model/model_marginal.c --------------------------------------------------------------- */

#define MARGINAL_MATTERS_MAX 64 /* attributes that are asked or weighted */

struct factor;

/* What weighs rows; model_weigh.c has it. */
struct model_weights {
    const struct domain *left;   /* the merged domain, with only the codes that count */
    const struct scope *matters; /* what is asked or weighted */
    /*
     * Adds a clique's weighted probabilities to f, over codes that count: given the attributes of
     * an edge, which weigh elsewhere, or all if `given` is NULL.
     */
    enum err (*fill)(void *self, size_t clique, const struct scope *given, struct factor *f);
    void *self;
};

/*
 * The probability of each cell of what is asked; `memo` and `weights` may be NULL. *largest: the
 * cells of the largest table, or of a product over 32, that this takes. ERR_RANGE, not logged, if
 * that is above `most`.
 */
enum err marginal_of(const struct model *m, struct model_memo *memo,
                     const struct model_weights *weights, const struct scope *asked, uint64_t most,
                     uint64_t *largest, double *shares) MUST_CHECK;

/* --- aim/model/model_weigh.c ------------------------------------------------------------------ */

struct model_sums;
struct model_weight;
/* model_weigh() of groups instead of codes (model_grouped()). */
enum err model_weigh_merged(struct model_sums *sums, const struct clique *asked,
                            const struct model_weight *weight, size_t weights, double *counts,
                            struct log *log) MUST_CHECK;

/* --- the rest --------------------------------------------------------------------------------- */

/* Beliefs, mu and log_z from theta. */
void model_propagate(struct model *m, bool exact);

/* `offset` is allocated; the chunk is the whole table's. */
enum err projection_new(struct model_projection *p, const struct scope *whole, size_t chunk,
                        const struct scope *part, const struct domain *d) MUST_CHECK;
void projection_clear(struct model_projection *p);
/* Cells of a chunk of a table: those of its last attributes. */
size_t projection_chunk(const struct scope *whole, const struct domain *d);
/* The strip from attribute `start` of `whole` on. */
void strip_make(struct sweep_strip *s, const struct scope *whole, unsigned start,
                const struct scope *part, const struct domain *d);

/* The attributes of a node's chunk that have two values or more, and which of them a scope has. */
struct scope ladder_inner(const struct scope *whole, size_t chunk, const struct domain *d);
uint32_t ladder_set(const struct scope *inner, const struct scope *part);

/* To be called once all flows of the node are set. */
enum err ladder_new(struct model_node *n, const struct scope *whole,
                    const struct domain *d) MUST_CHECK;
void ladder_clear(struct model_ladder *l);
/* cells = the sum of what flows into a chunk, from inflow `first` on. */
void ladder_gather(const struct model_node *n, const struct sweep *sweep, size_t first,
                   size_t chunk, double *cells);
/* Adds the chunk's cells to what flows out. */
void ladder_scatter(const struct model_node *n, const struct sweep *sweep, size_t chunk,
                    double *cells);
