/* Belief propagation. */
#include "aim/model/model_private.h"

#include <math.h>
#include <string.h>

#define SUM_LEAST 1e-150
#define SUM_MOST 1e150

/* --- up -------------------------------------------------------------------------------------- */

static void find_most(const struct model *m, struct model_node *n)
{
    for (size_t s = 0; s < n->separator_cells; s++)
        n->shift[s] = -INFINITY;
    for (size_t c = 0; c < n->cells / n->chunk; c++) {
        double *b = n->belief + c * n->chunk;
        ladder_gather(n, m->sweep, 1, c, b);
        m->sweep->collect_most(n->shift + n->up.offset[c], b, &n->up.strip);
    }
    for (size_t s = 0; s < n->separator_cells; s++)
        n->shift[s] = -n->shift[s];
}

static void exponentiate(const struct model *m, struct model_node *n)
{
    memset(n->sum, 0, n->separator_cells * sizeof *n->sum);
    for (size_t c = 0; c < n->cells / n->chunk; c++) {
        double *b = n->belief + c * n->chunk;
        ladder_gather(n, m->sweep, 0, c, b);
        m->sweep->exp(b, n->chunk);
        m->sweep->collect(n->sum + n->up.offset[c], b, &n->up.strip);
    }
}

static bool in_range(const struct model_node *n)
{
    bool fine = true;
    for (size_t s = 0; s < n->separator_cells; s++)
        fine &= n->sum[s] > SUM_LEAST && n->sum[s] < SUM_MOST;
    return fine;
}

static void go_up(const struct model *m, struct model_node *n, bool exact)
{
    if (exact)
        find_most(m, n);
    exponentiate(m, n);
    if (!exact && !in_range(n)) {
        find_most(m, n);
        exponentiate(m, n);
    }
    memcpy(n->message, n->sum, n->separator_cells * sizeof *n->message);
    m->sweep->log(n->message, n->separator_cells);
    for (size_t s = 0; s < n->separator_cells; s++)
        n->message[s] -= n->shift[s];
}

/* --- down ------------------------------------------------------------------------------------ */

/* `message` holds the parent's marginal of the separator (1 at the root); it becomes the scale. */
static void go_down(const struct model *m, struct model_node *n)
{
    for (size_t s = 0; s < n->separator_cells; s++)
        n->message[s] /= n->sum[s];
    for (size_t c = 0; c < n->cells / n->chunk; c++) {
        double *b = n->belief + c * n->chunk;
        m->sweep->spread_multiply(b, n->message + n->up.offset[c], &n->up.strip);
        ladder_scatter(n, m->sweep, c, b);
    }
}

void model_propagate(struct model *m, bool exact)
{
    struct model_node *root = &m->node[0];
    for (size_t i = m->junction->cliques; i-- > 0;)
        go_up(m, &m->node[i], exact);
    m->log_z = root->message[0];
    for (size_t i = 1; i < m->junction->cliques; i++)
        memset(m->node[i].message, 0, m->node[i].separator_cells * sizeof(double));
    for (size_t k = 0; k < m->potentials; k++)
        if (!m->potential[k].whole)
            memset(m->potential[k].mu, 0, m->potential[k].cells * sizeof(double));
    root->message[0] = 1;
    for (size_t i = 0; i < m->junction->cliques; i++)
        go_down(m, &m->node[i]);
}
