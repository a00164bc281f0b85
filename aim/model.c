#include "aim/model.h"

#include "aim/model_private.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

static uint32_t *index_of(const struct scope *whole, const struct scope *part, size_t cells,
                          const struct domain *d)
{
    uint32_t *index = memory_array(cells, sizeof *index);
    struct scope_walk w;
    if (index == NULL)
        return NULL;
    scope_walk_start(&w, whole, part, d);
    for (size_t i = 0; i < cells; i++, scope_walk_next(&w))
        index[i] = (uint32_t)w.place;
    return index;
}

static enum err check_size(const struct model *m, struct log *log)
{
    const struct junction_clique *largest = &m->junction->clique[0];
    char name[512];
    if (m->junction->cells <= m->limit_cells && m->junction->cells <= UINT32_MAX)
        return ERR_OK;
    for (size_t i = 1; i < m->junction->cliques; i++)
        if (scope_cells(&m->junction->clique[i].scope, m->domain) >
            scope_cells(&largest->scope, m->domain))
            largest = &m->junction->clique[i];
    scope_name(&largest->scope, m->domain, name, sizeof name);
    log_error(log,
              "the model would need %llu cells where %llu are allowed, most of them for %s; allow "
              "more memory or measure fewer marginals that overlap",
              (unsigned long long)m->junction->cells, (unsigned long long)m->limit_cells, name);
    return ERR_RANGE;
}

static enum err node_build(struct model *m, size_t i)
{
    const struct junction_clique *c = &m->junction->clique[i];
    struct node *n = &m->node[i];
    n->cells = scope_cells(&c->scope, m->domain);
    n->separator_cells = scope_cells(&c->separator, m->domain);
    n->belief = memory_array(n->cells, sizeof *n->belief);
    n->most = memory_array(n->separator_cells, sizeof *n->most);
    n->sum = memory_array(n->separator_cells, sizeof *n->sum);
    n->message = memory_array(n->separator_cells, sizeof *n->message);
    if (n->belief == NULL || n->most == NULL || n->sum == NULL || n->message == NULL)
        return ERR_NOMEM;
    if (c->parent == JUNCTION_ROOT)
        return ERR_OK;
    n->up = index_of(&c->scope, &c->separator, n->cells, m->domain);
    n->down = index_of(&m->junction->clique[c->parent].scope, &c->separator,
                       m->node[c->parent].cells, m->domain);
    return n->up != NULL && n->down != NULL ? ERR_OK : ERR_NOMEM;
}

static enum err potential_add(struct model *m, const struct clique *c)
{
    struct potential *p = &m->potential[m->potentials];
    struct scope s = scope_of(c);
    for (size_t i = 0; i < m->potentials; i++)
        if (clique_equal(&m->potential[i].clique, c))
            return ERR_OK;
    p->clique = *c;
    p->home = junction_find(m->junction, m->domain, &s);
    p->cells = clique_cells(c, m->domain);
    p->offset = m->parameters;
    if (p->cells != m->node[p->home].cells) {
        p->index = index_of(&m->junction->clique[p->home].scope, &s, m->node[p->home].cells,
                            m->domain);
        if (p->index == NULL)
            return ERR_NOMEM;
    }
    m->cliques[m->potentials++] = *c;
    m->parameters += p->cells;
    return ERR_OK;
}

static enum err build(struct model *m, const struct clique *cliques, size_t count, struct log *log)
{
    TRY(junction_new(&m->junction, m->domain, cliques, count));
    TRY(check_size(m, log));
    m->node = memory_array(m->junction->cliques, sizeof *m->node);
    m->potential = memory_array(count, sizeof *m->potential);
    m->cliques = memory_array(count, sizeof *m->cliques);
    if (m->node == NULL || m->potential == NULL || m->cliques == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < m->junction->cliques; i++)
        TRY(node_build(m, i));
    for (size_t i = 0; i < count; i++)
        TRY(potential_add(m, &cliques[i]));
    m->theta = memory_array(m->parameters, sizeof *m->theta);
    m->mu = memory_array(m->parameters, sizeof *m->mu);
    if (m->theta == NULL || m->mu == NULL)
        return ERR_NOMEM;
    model_propagate(m);
    return ERR_OK;
}

enum err model_new(struct model **out, const struct domain *d, const struct clique *cliques,
                   size_t count, uint64_t limit_cells, struct log *log)
{
    struct model *m = memory_array(1, sizeof *m);
    enum err e;
    *out = NULL;
    if (m == NULL)
        return ERR_NOMEM;
    m->domain = d;
    m->total = 1;
    m->limit_cells = limit_cells;
    e = build(m, cliques, count, log);
    if (e != ERR_OK)
        model_free(&m);
    *out = m;
    return e;
}

static void node_clear(struct node *n)
{
    memory_free(&n->up);
    memory_free(&n->down);
    memory_free(&n->belief);
    memory_free(&n->most);
    memory_free(&n->sum);
    memory_free(&n->message);
}

void model_free(struct model **out)
{
    struct model *m = *out;
    if (m == NULL)
        return;
    for (size_t i = 0; m->node != NULL && i < m->junction->cliques; i++)
        node_clear(&m->node[i]);
    for (size_t i = 0; m->potential != NULL && i < m->potentials; i++)
        memory_free(&m->potential[i].index);
    junction_free(&m->junction);
    memory_free(&m->node);
    memory_free(&m->potential);
    memory_free(&m->cliques);
    memory_free(&m->theta);
    memory_free(&m->mu);
    memory_free(out);
}

/* --- belief propagation ------------------------------------------------------------------------
 */

static void add_potentials(struct model *m)
{
    for (size_t i = 0; i < m->junction->cliques; i++)
        memset(m->node[i].belief, 0, m->node[i].cells * sizeof(double));
    for (size_t k = 0; k < m->potentials; k++) {
        const struct potential *p = &m->potential[k];
        const double *theta = m->theta + p->offset;
        struct node *n = &m->node[p->home];
        for (size_t i = 0; i < n->cells; i++)
            n->belief[i] += theta[p->index != NULL ? p->index[i] : i];
    }
}

static void go_up_root(struct node *n)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < n->cells; i++)
        most = n->belief[i] > most ? n->belief[i] : most;
    for (size_t i = 0; i < n->cells; i++) {
        n->belief[i] = exp(n->belief[i] - most);
        sum += n->belief[i];
    }
    n->sum[0] = sum;
}

static void go_up(struct node *n, struct node *parent)
{
    for (size_t s = 0; s < n->separator_cells; s++) {
        n->most[s] = -INFINITY;
        n->sum[s] = 0;
    }
    for (size_t i = 0; i < n->cells; i++)
        if (n->belief[i] > n->most[n->up[i]])
            n->most[n->up[i]] = n->belief[i];
    for (size_t i = 0; i < n->cells; i++) {
        n->belief[i] = exp(n->belief[i] - n->most[n->up[i]]);
        n->sum[n->up[i]] += n->belief[i];
    }
    for (size_t s = 0; s < n->separator_cells; s++)
        n->message[s] = n->most[s] + log(n->sum[s]);
    for (size_t i = 0; i < parent->cells; i++)
        parent->belief[i] += n->message[n->down[i]];
}

static void go_down(struct node *n, const struct node *parent)
{
    double *marginal = n->message;
    memset(marginal, 0, n->separator_cells * sizeof *marginal);
    for (size_t i = 0; i < parent->cells; i++)
        marginal[n->down[i]] += parent->belief[i];
    for (size_t s = 0; s < n->separator_cells; s++)
        marginal[s] /= n->sum[s];
    for (size_t i = 0; i < n->cells; i++)
        n->belief[i] *= marginal[n->up[i]];
}

static void read_mu(struct model *m)
{
    memset(m->mu, 0, m->parameters * sizeof *m->mu);
    for (size_t k = 0; k < m->potentials; k++) {
        const struct potential *p = &m->potential[k];
        const struct node *n = &m->node[p->home];
        double *mu = m->mu + p->offset;
        for (size_t i = 0; i < n->cells; i++)
            mu[p->index != NULL ? p->index[i] : i] += n->belief[i];
        for (size_t i = 0; i < p->cells; i++)
            mu[i] *= m->total;
    }
}

void model_propagate(struct model *m)
{
    const struct junction_clique *c = m->junction->clique;
    add_potentials(m);
    for (size_t i = m->junction->cliques; i-- > 1;)
        go_up(&m->node[i], &m->node[c[i].parent]);
    go_up_root(&m->node[0]);
    for (size_t i = 0; i < m->node[0].cells; i++)
        m->node[0].belief[i] /= m->node[0].sum[0];
    for (size_t i = 1; i < m->junction->cliques; i++)
        go_down(&m->node[i], &m->node[c[i].parent]);
    read_mu(m);
}

/* --- small things ------------------------------------------------------------------------------
 */

/* The potential that an old clique's theta goes to: its equal, or the smallest that holds it. */
static struct potential *heir(struct model *m, const struct clique *c)
{
    struct potential *best = NULL;
    for (size_t i = 0; i < m->potentials; i++) {
        struct potential *p = &m->potential[i];
        if (clique_contains(&p->clique, c) && (best == NULL || p->cells < best->cells))
            best = p;
    }
    return best;
}

void model_warm(struct model *m, const struct model *old)
{
    for (size_t k = 0; k < old->potentials; k++) {
        const struct potential *from = &old->potential[k];
        struct potential *to = heir(m, &from->clique);
        struct scope whole, part;
        struct scope_walk w;
        if (to == NULL)
            continue;
        whole = scope_of(&to->clique);
        part = scope_of(&from->clique);
        scope_walk_start(&w, &whole, &part, m->domain);
        for (size_t i = 0; i < to->cells; i++, scope_walk_next(&w))
            m->theta[to->offset + i] += old->theta[from->offset + w.place];
    }
    m->total = old->total;
    model_propagate(m);
}

double model_estimate_total(const struct domain *d, const struct measurement *measurements,
                            size_t count)
{
    double weights = 0, sum = 0;
    for (size_t k = 0; k < count; k++) {
        const struct measurement *x = &measurements[k];
        uint64_t cells = clique_cells(&x->clique, d);
        double weight = 1 / (x->sigma * x->sigma * (double)cells), total = 0;
        if (x->total > 0) /* another population */
            continue;
        for (uint64_t i = 0; i < cells; i++)
            total += x->y[i];
        weights += weight;
        sum += weight * total;
    }
    return weights > 0 && sum / weights > 1 ? sum / weights : 1;
}

void model_set_total(struct model *m, double total)
{
    for (size_t i = 0; i < m->parameters; i++)
        m->mu[i] *= total / m->total;
    m->total = total;
}

double model_total(const struct model *m)
{
    return m->total;
}

const struct domain *model_domain(const struct model *m)
{
    return m->domain;
}

const struct junction *model_junction(const struct model *m)
{
    return m->junction;
}

uint64_t model_cells(const struct model *m)
{
    return m->junction->cells;
}

bool model_covers(const struct model *m, const struct clique *c)
{
    struct scope s = scope_of(c);
    return junction_find(m->junction, m->domain, &s) != UINT32_MAX;
}

uint64_t model_cells_with(const struct model *m, const struct clique *extra)
{
    if (model_covers(m, extra)) /* a clique of a chordal graph adds no edge */
        return m->junction->cells;
    return junction_cells(m->domain, m->cliques, m->potentials, extra);
}

const double *model_belief(const struct model *m, size_t clique)
{
    return m->node[clique].belief;
}
