/* The workload in a study file: marginals from a rule, or a list of them. */
#include "base/memory.h"
#include "parties/study/study_parse.h"

#define CLIQUES_MAX 100000

/* The k of {all: k} or {random: k, ...}; there must not be too many such marginals. */
static enum err read_ways(struct study_reading *r, const yaml_node_t *node, const char *name,
                          unsigned *k)
{
    const struct domain *d = r->study->domain;
    unsigned most = d->attributes < CLIQUE_MAX ? (unsigned)d->attributes : CLIQUE_MAX;
    return study_read_unsigned(r, node, name, 1, most, k);
}

static enum err read_workload_all(struct study_reading *r, const yaml_node_t *all)
{
    const struct domain *d = r->study->domain;
    unsigned k;
    TRY(read_ways(r, all, "all", &k));
    if (workload_choices(d->attributes, k) > CLIQUES_MAX)
        return yaml_error(r->file, all,
                          "all marginals of %u among %zu attributes are more than %d; lower it, or "
                          "list those that matter",
                          k, d->attributes, CLIQUES_MAX);
    TRY(study_note(r, workload_all(&r->study->workload, d, k, &r->quiet), all));
    return study_leave_large(r, all);
}

static enum err read_workload_random(struct study_reading *r, const yaml_node_t *node,
                                     const yaml_node_t *random, const yaml_node_t *cliques,
                                     const yaml_node_t *start)
{
    int64_t count, seed;
    unsigned k;
    if (cliques == NULL || start == NULL)
        return yaml_error(r->file, node,
                          "a random workload needs a count and a seed: {random: 3, count: 64, "
                          "seed: 1}");
    TRY(read_ways(r, random, "random", &k));
    TRY(yaml_integer(r->file, cliques, "count", 1, CLIQUES_MAX, &count));
    TRY(yaml_integer(r->file, start, "seed", 0, INT64_MAX, &seed));
    return study_note(r,
                      workload_random(&r->study->workload, r->study->domain, k, (size_t)count,
                                      (uint64_t)seed, &r->quiet),
                      node);
}

/* {all: k}, {random: k, count: n, seed: s}, or {queries: file, max_cells: n}. */
static enum err read_workload_rule(struct study_reading *r, const yaml_node_t *node)
{
    const yaml_node_t *all, *random, *count, *seed, *queries, *most;
    const struct yaml_key keys[] = {{"all", false, &all},         {"random", false, &random},
                                    {"count", false, &count},     {"seed", false, &seed},
                                    {"queries", false, &queries}, {"max_cells", false, &most}};
    TRY(yaml_mapping(r->file, node, "workload", COUNTED(keys)));
    if (queries != NULL && all == NULL && random == NULL && count == NULL && seed == NULL)
        return study_read_questions(r, queries, most);
    if ((all != NULL) == (random != NULL) || (all != NULL && (count != NULL || seed != NULL)) ||
        queries != NULL || most != NULL)
        return yaml_error(r->file, node,
                          "should be {all: k}, {random: k, count: n, seed: s}, {queries: file}, or "
                          "a list");
    return all != NULL ? read_workload_all(r, all)
                       : read_workload_random(r, node, random, count, seed);
}

static enum err read_clique(struct study_reading *r, const yaml_node_t *node, struct clique *clique)
{
    size_t count;
    *clique = (struct clique){0};
    TRY(study_read_attributes(r, node, "attributes", CLIQUE_MAX, clique->attribute, &count));
    clique->n = (uint16_t)count;
    return ERR_OK;
}

static enum err read_marginal(struct study_reading *r, const yaml_node_t *node,
                              struct clique *clique, double *weight)
{
    const yaml_node_t *attributes, *given;
    const struct yaml_key keys[] = {{"attributes", true, &attributes}, {"weight", false, &given}};
    TRY(yaml_mapping(r->file, node, "a marginal of the workload", COUNTED(keys)));
    TRY(read_clique(r, attributes, clique));
    *weight = 1;
    return given == NULL ? ERR_OK : yaml_number(r->file, given, "weight", 1e-6, 1e6, weight);
}

static enum err read_cliques(struct study_reading *r, const yaml_node_t *node,
                             struct clique *cliques, double *weights, size_t count)
{
    const unsigned before = r->mistakes;
    for (size_t i = 0; i < count; i++)
        TRY(study_go_on(r,
                        read_marginal(r, yaml_item(r->file, node, i), &cliques[i], &weights[i])));
    if (r->mistakes > before)
        return ERR_OK;
    return study_note(
        r, workload_new(&r->study->workload, r->study->domain, cliques, weights, count, &r->quiet),
        node);
}

enum err study_own_workload(struct study_reading *r, unsigned attributes)
{
    return study_note(r, workload_all(&r->study->workload, r->study->domain, attributes, &r->quiet),
                      r->at.method);
}

enum err study_read_workload(struct study_reading *r)
{
    const yaml_node_t *node = r->at.workload;
    struct clique *cliques CLEAN(memory_release) = NULL;
    double *weights CLEAN(memory_release) = NULL;
    size_t count;
    if (yaml_is_mapping(node))
        return read_workload_rule(r, node);
    TRY(yaml_list(r->file, node, "workload", 1, CLIQUES_MAX, &count));
    TRY(memory_new(&cliques, count));
    TRY(memory_new(&weights, count));
    return read_cliques(r, node, cliques, weights, count);
}
