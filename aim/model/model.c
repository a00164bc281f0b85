#include "aim/model/model.h"

#include "aim/model/model_private.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

static enum err check_size(const struct model *m, struct log *log)
{
    const struct junction_clique *largest = &m->junction->clique[0];
    char name[512];
    if (m->junction->cells <= m->limit_cells && m->junction->cells <= UINT32_MAX)
        return ERR_OK;
    for (size_t i = 1; i < m->junction->cliques; i++)
        if (scope_cells(&m->junction->clique[i].scope, &m->grouped) >
            scope_cells(&largest->scope, &m->grouped))
            largest = &m->junction->clique[i];
    scope_name(&largest->scope, &m->grouped, name, sizeof name);
    return log_fail(
        log, ERR_RANGE,
        "the model would need %llu cells where %llu are allowed, most of them for %s; allow "
        "more memory or measure fewer marginals that overlap",
        (unsigned long long)m->junction->cells, (unsigned long long)m->limit_cells, name);
}

static enum err node_build(struct model *m, size_t i)
{
    const struct junction_clique *c = &m->junction->clique[i];
    struct model_node *n = &m->node[i];
    n->cells = scope_cells(&c->scope, &m->grouped);
    n->chunk = projection_chunk(&c->scope, &m->grouped);
    n->separator_cells = scope_cells(&c->separator, &m->grouped);
    TRY(memory_new(&n->belief, n->cells));
    TRY(memory_new(&n->shift, n->separator_cells));
    TRY(memory_new(&n->sum, n->separator_cells));
    TRY(memory_new(&n->message, n->separator_cells));
    TRY(projection_new(&n->up, &c->scope, n->chunk, &c->separator, &m->grouped));
    if (c->parent == JUNCTION_ROOT)
        return ERR_OK;
    return projection_new(&n->down, &m->junction->clique[c->parent].scope, m->node[c->parent].chunk,
                          &c->separator, &m->grouped);
}

static enum err home_of(const struct model *m, const struct clique *c, uint32_t *home,
                        struct model_projection *from_home)
{
    struct scope s = scope_of(c);
    *home = junction_find(m->junction, &m->grouped, &s);
    return projection_new(from_home, &m->junction->clique[*home].scope, m->node[*home].chunk, &s,
                          &m->grouped);
}

static enum err potential_add(struct model *m, const struct clique *c)
{
    struct model_potential *p = &m->potential[m->potentials];
    for (size_t i = 0; i < m->potentials; i++)
        if (clique_equal(&m->potential[i].clique, c))
            return ERR_OK;
    m->potentials++;
    p->clique = *c;
    p->cells = clique_cells(c, &m->grouped);
    p->offset = m->parameters;
    m->clique[m->cliques++] = *c;
    m->parameters += p->cells;
    TRY(home_of(m, c, &p->home, &p->from_home));
    p->whole = p->cells == m->node[p->home].cells;
    p->mu = p->whole ? m->node[p->home].belief : memory_array(p->cells, sizeof *p->mu);
    return p->mu != NULL ? ERR_OK : ERR_NOMEM;
}

static enum err mask_add(struct model *m, const struct workload_zeros *z, struct log *log)
{
    struct model_mask *mask = &m->mask[m->masks++];
    uint64_t cells = clique_cells(&z->clique, m->domain);
    mask->clique = m->clique[m->cliques++] = z->clique;
    TRY(memory_new(&mask->barred, cells));
    TRY(memory_new(&mask->value, merges_cells(&m->merges, &z->clique)));
    for (size_t i = 0; i < z->cells; i++) {
        if (z->cell[i] >= cells)
            return log_fail(
                log, ERR_RANGE, "structural zeros of %s: there is no cell %u, only %llu",
                clique_name(&z->clique, m->domain).text, z->cell[i], (unsigned long long)cells);
        mask->barred[z->cell[i]] = true;
    }
    TRY(groups_bar(m, mask, log));
    return home_of(m, &z->clique, &mask->home, &mask->from_home);
}

static enum err add_flow(const struct model *m, size_t node, bool in,
                         const struct model_projection *by, const struct scope *scope,
                         double *value)
{
    struct model_node *n = &m->node[node];
    struct model_flow **list = in ? &n->inflow : &n->outflow;
    size_t *count = in ? &n->inflows : &n->outflows;
    const struct scope inner = ladder_inner(&m->junction->clique[node].scope, n->chunk,
                                            &m->grouped);
    TRY(memory_extend(list, *count + 1));
    (*list)[(*count)++] = (struct model_flow){
        .by = by, .value = value, .set = ladder_set(&inner, scope)};
    return ERR_OK;
}

static enum err connect_potential(const struct model *m, struct model_potential *p)
{
    const struct scope scope = scope_of(&p->clique);
    TRY(add_flow(m, p->home, true, &p->from_home, &scope, m->theta + p->offset));
    return p->whole ? ERR_OK : add_flow(m, p->home, false, &p->from_home, &scope, p->mu);
}

/* Sets up the flows into and out of each node, when all else is in place. */
static enum err connect(struct model *m)
{
    const struct junction_clique *clique = m->junction->clique;
    for (size_t k = 0; k < m->junction->cliques; k++) {
        struct model_node *n = &m->node[k];
        TRY(add_flow(m, k, true, &n->up, &clique[k].separator, n->shift));
    }
    for (size_t k = 0; k < m->potentials; k++)
        TRY(connect_potential(m, &m->potential[k]));
    for (size_t k = 0; k < m->masks; k++) {
        struct model_mask *mask = &m->mask[k];
        const struct scope scope = scope_of(&mask->clique);
        TRY(add_flow(m, mask->home, true, &mask->from_home, &scope, mask->value));
    }
    for (size_t k = 1; k < m->junction->cliques; k++) {
        struct model_node *child = &m->node[k];
        const size_t parent = clique[k].parent;
        const struct scope *scope = &clique[k].separator;
        TRY(add_flow(m, parent, true, &child->down, scope, child->message));
        TRY(add_flow(m, parent, false, &child->down, scope, child->message));
    }
    for (size_t k = 0; k < m->junction->cliques; k++)
        TRY(ladder_new(&m->node[k], &clique[k].scope, &m->grouped));
    return ERR_OK;
}

/* The potential that takes an old clique's theta: its equal, or the smallest that holds it. */
static struct model_potential *heir(struct model *m, const struct clique *c)
{
    struct model_potential *best = NULL;
    for (size_t i = 0; i < m->potentials; i++) {
        struct model_potential *p = &m->potential[i];
        if (clique_contains(&p->clique, c) && (best == NULL || p->cells < best->cells))
            best = p;
    }
    return best;
}

static void start_from(struct model *m, const struct model *old)
{
    for (size_t k = 0; k < old->potentials; k++) {
        const struct model_potential *from = &old->potential[k];
        struct model_potential *to = heir(m, &from->clique);
        struct scope whole, part;
        struct scope_walk w;
        if (to == NULL)
            continue;
        whole = scope_of(&to->clique);
        part = scope_of(&from->clique);
        scope_walk_start(&w, &whole, &part, &m->grouped);
        for (size_t i = 0; i < to->cells; i++, scope_walk_next(&w))
            m->theta[to->offset + i] += old->theta[from->offset + w.place];
    }
    groups_copy(m, old);
    m->total = old->total;
}

/* The tree also holds the cliques of structural zeros, each within one of its cliques. */
static enum err build(struct model *m, const struct model_terms *t, struct log *log)
{
    size_t count = t->cliques + t->zeros;
    TRY(memory_new(&m->clique, count));
    TRY(memory_new(&m->potential, t->cliques));
    TRY(memory_new(&m->mask, t->zeros));
    for (size_t i = 0; i < count; i++)
        m->clique[i] = i < t->cliques ? t->clique[i] : t->zero[i - t->cliques].clique;
    TRY(junction_new(&m->junction, &m->grouped, m->clique, count));
    TRY(check_size(m, log));
    TRY(memory_new(&m->node, m->junction->cliques));
    for (size_t i = 0; i < m->junction->cliques; i++)
        TRY(node_build(m, i));
    for (size_t i = 0; i < t->cliques; i++)
        TRY(potential_add(m, &t->clique[i]));
    for (size_t i = 0; i < t->zeros; i++)
        TRY(mask_add(m, &t->zero[i], log));
    TRY(memory_new(&m->theta, m->parameters));
    TRY(connect(m));
    if (t->warm != NULL)
        start_from(m, t->warm);
    model_propagate(m, true);
    if (m->log_z < MODEL_ZERO / 2)
        return log_fail(log, ERR_RANGE,
                        "what is said to be impossible leaves no row at all; take some of it back");
    return ERR_OK;
}

enum err model_new(struct model **out, const struct model_terms *t, struct log *log)
{
    struct model *m CLEAN(model_free) = NULL;
    *out = NULL;
    TRY(memory_new(&m, 1));
    m->domain = t->domain;
    TRY(groups_new(m, t->merges));
    if (t->warm != NULL && !merges_equal(&m->merges, &t->warm->merges))
        return ERR_MISUSE;
    m->sweep = sweep_best();
    m->total = 1;
    m->limit_cells = t->limit_cells;
    TRY(build(m, t, log));
    return memory_hand_over(out, &m);
}

static void node_clear(struct model_node *n)
{
    projection_clear(&n->up);
    projection_clear(&n->down);
    memory_free_all(&n->belief, &n->shift, &n->sum, &n->message, &n->inflow, &n->outflow);
    ladder_clear(&n->ladder);
}

void model_free(struct model **out)
{
    struct model *m = *out;
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->potentials; i++) {
        projection_clear(&m->potential[i].from_home);
        if (!m->potential[i].whole)
            memory_free(&m->potential[i].mu);
    }
    for (size_t i = 0; i < m->masks; i++) {
        projection_clear(&m->mask[i].from_home);
        memory_free_all(&m->mask[i].value, &m->mask[i].barred);
    }
    for (size_t i = 0; m->node != NULL && i < m->junction->cliques; i++)
        node_clear(&m->node[i]);
    junction_free(&m->junction);
    groups_clear(m);
    memory_free_all(&m->node, &m->potential, &m->mask, &m->clique, &m->theta);
    memory_free(out);
}

/* --- small things ----------------------------------------------------------------------------- */

static void free_zeros(struct workload_zeros **zero, size_t zeros)
{
    for (size_t i = 0; *zero != NULL && i < zeros; i++)
        memory_free(&(*zero)[i].cell);
    memory_free(zero);
}

enum err model_copy(struct model **out, const struct model *from, struct log *log)
{
    struct model *m CLEAN(model_free) = NULL;
    struct workload_zeros *zero = NULL;
    size_t zeros = 0;
    struct model_terms t = {.domain = from->domain,
                            .merges = &from->merges,
                            .clique = from->clique, /* potentials come first */
                            .cliques = from->potentials,
                            .limit_cells = from->limit_cells};
    enum err e = model_zeros(from, &zero, &zeros);
    t.zero = zero;
    t.zeros = zeros;
    if (e == ERR_OK)
        e = model_new(&m, &t, log);
    free_zeros(&zero, zeros);
    TRY(e);
    memcpy(m->theta, from->theta, m->parameters * sizeof *m->theta);
    groups_copy(m, from);
    m->total = from->total;
    model_propagate(m, true);
    return memory_hand_over(out, &m);
}

double model_estimate_total(const struct domain *d, const struct measurement *measurements,
                            size_t count)
{
    double weights = 0, sum = 0;
    for (size_t k = 0; k < count; k++) {
        const struct measurement *x = &measurements[k];
        uint64_t cells = measurement_cells(x, d);
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
    return junction_find(m->junction, &m->grouped, &s) != UINT32_MAX;
}

bool model_holds_together(const struct model *m, const struct scope *s)
{
    for (size_t i = 0; i < m->potentials; i++) {
        struct scope measured = scope_of(&m->potential[i].clique);
        if (scope_contains(&measured, s))
            return true;
    }
    return false;
}

uint64_t model_cells_with(const struct model *m, const struct clique *extra)
{
    /* a clique of a chordal graph adds no edge */
    return junction_cells(&m->grouped, m->domain, m->clique, m->cliques,
                          model_covers(m, extra) ? NULL : extra);
}

const double *model_belief(const struct model *m, size_t clique)
{
    return m->node[clique].belief;
}

enum err model_zeros(const struct model *m, struct workload_zeros **zero, size_t *zeros)
{
    TRY(memory_new(zero, m->masks));
    for (*zeros = 0; *zeros < m->masks; ++*zeros) {
        const struct model_mask *mask = &m->mask[*zeros];
        struct workload_zeros *z = &(*zero)[*zeros];
        uint64_t cells = clique_cells(&mask->clique, m->domain);
        uint32_t *cell = memory_array(cells, sizeof *cell);
        if (cell == NULL)
            return ERR_NOMEM;
        z->clique = mask->clique;
        z->cell = cell;
        for (uint64_t i = 0; i < cells; i++)
            if (mask->barred[i])
                cell[z->cells++] = (uint32_t)i;
    }
    return ERR_OK;
}
