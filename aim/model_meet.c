/*
 * Iterative proportional fitting: each known marginal in turn, its cells scaled to what they must
 * be, until all are met. The result is, of all distributions that meet them, the nearest to the
 * model before (in relative entropy), so what was fitted of other marginals stays as it can.
 */
#include "aim/model.h"

#include "aim/model_private.h"
#include "base/memory.h"

#include <math.h>

#define SWEEPS 500

/* By how many rows the worst cell is off. */
static double off_by(const struct model *m, const struct potential *p, const double *y)
{
    double off = 0;
    for (size_t i = 0; i < p->cells; i++)
        off = fmax(off, fabs(p->mu[i] * m->total - y[i]));
    return off;
}

/* Scales a potential's cells; returns by how much they were off before. */
static double meet_one(struct model *m, const struct potential *p, const double *y)
{
    const double off = off_by(m, p, y);
    for (size_t i = 0; i < p->cells; i++)
        if (p->mu[i] > 0 && y[i] > 0)
            m->theta[p->offset + i] += log(y[i] / (p->mu[i] * m->total));
    model_propagate(m, true);
    return off;
}

/* The potentials of what is known, in its order. */
static enum err find(struct model *m, const struct measurement *known, size_t count,
                     struct potential **of, struct log *log)
{
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < m->potentials; i++)
            if (clique_equal(&m->potential[i].clique, &known[k].clique))
                of[k] = &m->potential[i];
        if (of[k] == NULL)
            return log_fail(log, ERR_MISMATCH,
                            "the known counts of %s are of no clique of the model",
                            clique_name(&known[k].clique, m->domain).text);
    }
    return ERR_OK;
}

enum err model_meet(struct model *m, const struct measurement *known, size_t count, double *off,
                    struct log *log)
{
    const double near = MODEL_MET * m->total;
    struct potential **of CLEAN(memory_release) = NULL;
    TRY(memory_new(&of, count));
    TRY(find(m, known, count, of, log));
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double first = 0;
        for (size_t k = 0; k < count; k++)
            first = fmax(first, meet_one(m, of[k], known[k].y));
        if (first <= near) /* each was met before it was touched */
            break;
    }
    *off = 0;
    for (size_t k = 0; k < count; k++)
        *off = fmax(*off, off_by(m, of[k], known[k].y));
    return ERR_OK;
}
