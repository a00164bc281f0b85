#include "aim/workload/workload.h"

#include "aim/workload/scope.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

#define CELLS_MAX (UINT64_C(1) << 32)
#define SUBSETS_ALL (UINT64_C(1) << 26)

/* The subset of c that has the attributes at the set bits of `mask`. */
static struct clique clique_subset(const struct clique *c, unsigned mask)
{
    struct clique s = {0};
    for (unsigned i = 0; i < c->n; i++)
        if (mask >> i & 1)
            s.attribute[s.n++] = c->attribute[i];
    return s;
}

static unsigned clique_subsets(const struct clique *c)
{
    return (1u << c->n) - 1;
}

static enum err check_clique(const struct domain *d, const struct clique *c, double weight,
                             size_t number, struct log *log)
{
    if (c->n == 0 || c->n > CLIQUE_MAX)
        return log_fail(log, ERR_STUDY,
                        "workload marginal %zu has %u attributes; 1 to %d are allowed", number,
                        c->n, CLIQUE_MAX);
    for (unsigned i = 0; i < c->n; i++) {
        if (c->attribute[i] >= d->attributes || (i > 0 && c->attribute[i] <= c->attribute[i - 1]))
            return log_fail(
                log, ERR_STUDY,
                "workload marginal %zu names an attribute twice, or one that is unknown", number);
    }
    if (!isfinite(weight) || weight <= 0)
        return log_fail(log, ERR_STUDY,
                        "the weight of marginal %s is %g; it must be a number above 0",
                        clique_name(c, d).text, weight);
    return ERR_OK;
}

/* The given cliques, sorted: their order in the study must not change a digest or a sum. */
struct workload_given {
    struct clique clique; /* first: the sort is by it */
    double weight;
};

static struct workload_given *given_sorted(const struct workload *w)
{
    struct workload_given *g = memory_array(w->cliques, sizeof *g);
    if (g == NULL)
        return NULL;
    for (size_t i = 0; i < w->cliques; i++)
        g[i] = (struct workload_given){w->clique[i], w->clique_weight[i]};
    qsort(g, w->cliques, sizeof *g, clique_compare);
    return g;
}

static enum err check_repeats(const struct domain *d, const struct workload_given *g, size_t count,
                              struct log *log)
{
    for (size_t i = 1; i < count; i++) {
        if (clique_equal(&g[i].clique, &g[i - 1].clique))
            return log_fail(log, ERR_STUDY,
                            "marginal %s is in the workload twice; give it a weight instead",
                            clique_name(&g[i].clique, d).text);
    }
    return ERR_OK;
}

/* W_a = sum of the weights of the cliques with a, so that w_q = sum of W_a over q. */
static enum err attribute_weights(const struct domain *d, const struct workload_given *g,
                                  size_t count, double *weight, struct log *log)
{
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; k < g[i].clique.n; k++)
            weight[g[i].clique.attribute[k]] += g[i].weight;
    for (size_t a = 0; a < d->attributes; a++) {
        if (weight[a] <= 0)
            return log_fail(
                log, ERR_STUDY,
                "attribute %s is in no marginal of the workload; add one, or remove the "
                "attribute",
                d->attribute[a].name);
    }
    return ERR_OK;
}

static enum err too_many_cells(const struct domain *d, const struct clique *c, struct log *log)
{
    return log_fail(log, ERR_STUDY,
                    "the workload needs more than 2^32 cells (reached at %s); use fewer or smaller "
                    "marginals, or coarser bins",
                    clique_name(c, d).text);
}

/* Checks the size of the given marginals alone, before their subsets size any allocation. */
static enum err check_given(const struct workload *w, const struct domain *d, struct log *log)
{
    uint64_t cells = 0, subsets = 0;
    for (size_t i = 0; i < w->cliques; i++) {
        uint64_t more = clique_cells(&w->clique[i], d);
        if (more > CELLS_MAX || cells + more > CELLS_MAX)
            return too_many_cells(d, &w->clique[i], log);
        cells += more;
        subsets += clique_subsets(&w->clique[i]);
    }
    if (subsets > SUBSETS_ALL)
        return log_fail(log, ERR_STUDY,
                        "the workload's %zu marginals have %llu subsets; at most %llu are handled",
                        w->cliques, (unsigned long long)subsets, (unsigned long long)SUBSETS_ALL);
    return ERR_OK;
}

static enum err enumerate(struct workload *w)
{
    size_t all = 0, n = 0, kept = 0;
    struct clique *s CLEAN(memory_release) = NULL;
    for (size_t i = 0; i < w->cliques; i++)
        all += clique_subsets(&w->clique[i]);
    TRY(memory_new(&s, all));
    for (size_t i = 0; i < w->cliques; i++)
        for (unsigned m = 1; m <= clique_subsets(&w->clique[i]); m++)
            s[n++] = clique_subset(&w->clique[i], m);
    qsort(s, n, sizeof *s, clique_compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !clique_equal(&s[i], &s[kept - 1]))
            s[kept++] = s[i];
    TRY(memory_new(&w->query, kept));
    w->queries = kept;
    for (size_t i = 0; i < kept; i++)
        w->query[i].clique = s[i];
    return ERR_OK;
}

static enum err count_cells(struct workload *w, const struct domain *d, const double *weight,
                            struct log *log)
{
    for (size_t i = 0; i < w->queries; i++) {
        struct workload_query *q = &w->query[i];
        q->cells = clique_cells(&q->clique, d);
        q->offset = w->cells;
        q->maximal = true;
        q->parent = UINT32_MAX;
        w->one_ways += q->clique.n == 1;
        for (unsigned k = 0; k < q->clique.n; k++)
            q->weight += weight[q->clique.attribute[k]];
        if (q->cells > CELLS_MAX || w->cells + q->cells > CELLS_MAX)
            return too_many_cells(d, &q->clique, log);
        w->cells += q->cells;
    }
    return ERR_OK;
}

/* Only a given clique can be maximal; its proper subsets are not. */
static void find_maximal(struct workload *w)
{
    for (size_t i = 0; i < w->cliques; i++)
        for (unsigned m = 1; m < clique_subsets(&w->clique[i]); m++) {
            struct clique s = clique_subset(&w->clique[i], m);
            w->query[workload_find(w, &s)].maximal = false;
        }
    for (uint32_t i = 0; i < w->queries; i++) {
        struct workload_query *q = &w->query[i];
        if (!q->maximal)
            continue;
        w->maximal_cells += q->cells;
        for (unsigned m = 1; m <= clique_subsets(&q->clique); m++) {
            struct clique s = clique_subset(&q->clique, m);
            struct workload_query *child = &w->query[workload_find(w, &s)];
            if (child->parent == UINT32_MAX || q->cells < w->query[child->parent].cells)
                child->parent = i;
        }
    }
}

static enum err build(struct workload *w, const struct domain *d, struct log *log)
{
    double *weight CLEAN(memory_release) = memory_array(d->attributes, sizeof *weight);
    struct workload_given *g CLEAN(memory_release) = given_sorted(w);
    if (weight == NULL || g == NULL)
        return ERR_NOMEM;
    TRY(check_repeats(d, g, w->cliques, log));
    TRY(attribute_weights(d, g, w->cliques, weight, log));
    TRY(check_given(w, d, log));
    TRY(enumerate(w));
    TRY(count_cells(w, d, weight, log));
    find_maximal(w);
    return ERR_OK;
}

static enum err copy_given(struct workload *w, const struct clique *cliques, const double *weights,
                           size_t count)
{
    w->cliques = count;
    TRY(memory_new(&w->clique, count));
    TRY(memory_new(&w->clique_weight, count));
    for (size_t i = 0; i < count; i++) {
        w->clique[i] = cliques[i];
        w->clique_weight[i] = weights != NULL ? weights[i] : 1.0;
    }
    return ERR_OK;
}

enum err workload_new(struct workload **out, const struct domain *d, const struct clique *cliques,
                      const double *weights, size_t count, struct log *log)
{
    struct workload *w CLEAN(workload_free) = NULL;
    *out = NULL;
    if (count == 0 || count > WORKLOAD_CLIQUES_MAX)
        return log_fail(log, ERR_STUDY, "the workload has %zu marginals; 1 to %llu are allowed",
                        count, (unsigned long long)WORKLOAD_CLIQUES_MAX);
    for (size_t i = 0; i < count; i++)
        TRY(check_clique(d, &cliques[i], weights != NULL ? weights[i] : 1.0, i + 1, log));
    TRY(memory_new(&w, 1));
    TRY(copy_given(w, cliques, weights, count));
    TRY(build(w, d, log));
    return memory_hand_over(out, &w);
}

void workload_free(struct workload **w)
{
    if (*w == NULL)
        return;
    memory_free_all(&(*w)->clique, &(*w)->clique_weight, &(*w)->query);
    memory_free(w);
}

uint32_t workload_find(const struct workload *w, const struct clique *c)
{
    size_t low = 0, high = w->queries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = clique_compare(c, &w->query[middle].clique);
        if (order == 0)
            return (uint32_t)middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return UINT32_MAX;
}

void workload_write(const struct workload *w, struct bytes *out)
{
    struct workload_given *g CLEAN(memory_release) = given_sorted(w);
    if (g == NULL) {
        out->failed = true;
        return;
    }
    bytes_put_u64(out, w->cliques);
    for (size_t i = 0; i < w->cliques; i++) {
        clique_write(&g[i].clique, out);
        bytes_put_double(out, g[i].weight);
    }
}
