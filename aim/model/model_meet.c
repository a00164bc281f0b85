/*
 * Iterative proportional fitting: the cells of each known marginal in turn are scaled to what they
 * must be, until all marginals are met. Of all distributions that meet them, the result is the
 * nearest to the model before (in relative entropy), so fits to other marginals are kept as far as
 * possible.
 */
#include "aim/model/model.h"

#include "aim/model/model_private.h"
#include "base/memory.h"

#include <math.h>

#define SWEEPS 500

/* Known counts, of merged cells where the model has merged ones. */
struct meet_known {
    const struct model_potential *potential;
    const double *y;
    double *sums; /* its own, or NULL */
};

struct model_meeting {
    size_t count;
    struct meet_known *known;
};

static void clear(struct model_meeting *g)
{
    for (size_t k = 0; g->known != NULL && k < g->count; k++)
        memory_free(&g->known[k].sums);
    memory_free(&g->known);
}

/* The number of rows by which the worst cell is off. */
static double off_by(const struct model *m, const struct meet_known *k)
{
    double off = 0;
    for (size_t i = 0; i < k->potential->cells; i++)
        off = fmax(off, fabs(k->potential->mu[i] * m->total - k->y[i]));
    return off;
}

/* Scales a potential's cells; returns by how much they were off before. */
static double meet_one(struct model *m, const struct meet_known *k)
{
    const struct model_potential *p = k->potential;
    const double off = off_by(m, k);
    for (size_t i = 0; i < p->cells; i++)
        if (p->mu[i] > 0 && k->y[i] > 0)
            m->theta[p->offset + i] += log(k->y[i] / (p->mu[i] * m->total));
    model_propagate(m, true);
    return off;
}

/* For one attribute, meets the merged cells and takes the shares from the known counts. */
static enum err take_counts(struct model *m, struct meet_known *k, const struct measurement *x,
                            struct log *log)
{
    k->y = x->y;
    if (!merges_touch(&m->merges, &x->clique))
        return ERR_OK;
    if (x->clique.n > 1)
        return log_fail(log, ERR_MISMATCH,
                        "known counts of %s: the model has merged some of its codes",
                        clique_name(&x->clique, m->domain).text);
    TRY(memory_new(&k->sums, k->potential->cells));
    TRY(groups_sum(m, &x->clique, x->y, k->sums, NULL));
    groups_share(m, x->clique.attribute[0], x->y);
    k->y = k->sums;
    return ERR_OK;
}

/* Finds the potentials of the known counts, in their order. */
static enum err find(struct model_meeting *g, struct model *m, const struct measurement *known,
                     struct log *log)
{
    for (size_t k = 0; k < g->count; k++) {
        for (size_t i = 0; i < m->potentials; i++)
            if (clique_equal(&m->potential[i].clique, &known[k].clique))
                g->known[k].potential = &m->potential[i];
        if (g->known[k].potential == NULL)
            return log_fail(log, ERR_MISMATCH,
                            "the known counts of %s do not fit into a clique of the model",
                            clique_name(&known[k].clique, m->domain).text);
        TRY(take_counts(m, &g->known[k], &known[k], log));
    }
    return ERR_OK;
}

enum err model_meet(struct model *m, const struct measurement *known, size_t count, double *off,
                    struct log *log)
{
    const double near = MODEL_MET * m->total;
    struct model_meeting g CLEAN(clear) = {.count = count};
    TRY(memory_new(&g.known, count));
    TRY(find(&g, m, known, log));
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double first = 0;
        for (size_t k = 0; k < count; k++)
            first = fmax(first, meet_one(m, &g.known[k]));
        if (first <= near) /* each was met before it was touched */
            break;
    }
    *off = 0;
    for (size_t k = 0; k < count; k++)
        *off = fmax(*off, off_by(m, &g.known[k]));
    return ERR_OK;
}
