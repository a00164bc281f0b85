/* The workload in a study file: marginals from a rule, or a list of them. */
#include "aim/answer/answer.h"
#include "aim/question/questions.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/study/study_parse.h"

#include <stdlib.h>
#include <string.h>

#define CLIQUES_MAX 100000

/* --- made for questions ----------------------------------------------------------------------- */

/*
 * The marginals over the columns of each question. The file of questions is next to the study file.
 * Only these marginals and their weights are part of the terms.
 */
#define CELLS_MOST 100000 /* of a marginal, unless the study says otherwise */

struct wanted {
    struct clique clique;
    double weight;
};

struct questions_asked {
    const struct domain *domain;
    uint64_t most; /* cells of a marginal */
    size_t count, room;
    struct wanted *wanted;
};

static void asked_clear(struct questions_asked *k)
{
    memory_free(&k->wanted);
}

static enum err add(struct questions_asked *k, const struct clique *c)
{
    TRY(memory_room(&k->wanted, &k->room, k->count + 1));
    k->wanted[k->count++] = (struct wanted){*c, 1};
    return ERR_OK;
}

static bool is_small(const struct questions_asked *k, const struct clique *c)
{
    return clique_cells(c, k->domain) <= k->most;
}

/* The marginal over all of them; if that is too large, those over each pair. */
static enum err add_columns(struct questions_asked *k, const struct scope *s)
{
    struct clique all = {.n = s->n};
    if (s->n <= CLIQUE_MAX) {
        memcpy(all.attribute, s->attribute, s->n * sizeof *s->attribute);
        if (s->n == 1 || is_small(k, &all))
            return s->n > 0 ? add(k, &all) : ERR_OK;
    }
    for (uint16_t i = 0; i < s->n; i++)
        for (uint16_t j = 0; j < i; j++) {
            const struct clique pair = {2, {s->attribute[j], s->attribute[i]}};
            if (is_small(k, &pair))
                TRY(add(k, &pair));
        }
    return ERR_OK; /* settle() adds the columns that no marginal is small enough for */
}

static enum err add_file(struct questions_asked *k, const char *path, size_t *questions,
                         struct log *log)
{
    struct questions q CLEAN(questions_clear) = {.domain = k->domain, .log = log};
    TRY(questions_file(&q, path));
    for (;;) {
        struct questions_next next CLEAN(questions_next_clear) = {0};
        TRY(questions_next(&q, &next));
        if (next.question == NULL)
            return ERR_OK;
        for (size_t i = 0; i < next.question->items; i++) {
            const struct scope s = answer_columns(next.question, i);
            TRY(add_columns(k, &s));
        }
        ++*questions;
    }
}

static int by_clique(const void *a, const void *b)
{
    return clique_compare(&((const struct wanted *)a)->clique, &((const struct wanted *)b)->clique);
}

/* Every column at least once, alone; equal marginals become one, with the sum of their weights. */
static enum err settle(struct questions_asked *k)
{
    size_t kept = 0;
    for (uint16_t i = 0; i < k->domain->attributes; i++) {
        bool in = false;
        for (size_t j = 0; j < k->count && !in; j++)
            for (unsigned n = 0; n < k->wanted[j].clique.n; n++)
                in |= k->wanted[j].clique.attribute[n] == i;
        if (!in)
            TRY(add(k, &(struct clique){1, {i}}));
    }
    qsort(k->wanted, k->count, sizeof *k->wanted, by_clique);
    for (size_t i = 0; i < k->count; i++)
        if (kept > 0 && clique_equal(&k->wanted[i].clique, &k->wanted[kept - 1].clique))
            k->wanted[kept - 1].weight += k->wanted[i].weight;
        else
            k->wanted[kept++] = k->wanted[i];
    k->count = kept;
    return ERR_OK;
}

static enum err make(struct study_reading *r, const yaml_node_t *node,
                     const struct questions_asked *k)
{
    struct clique *cliques CLEAN(memory_release) = NULL;
    double *weights CLEAN(memory_release) = NULL;
    TRY(memory_new(&cliques, k->count));
    TRY(memory_new(&weights, k->count));
    for (size_t i = 0; i < k->count; i++) {
        cliques[i] = k->wanted[i].clique;
        weights[i] = k->wanted[i].weight;
    }
    return study_note(
        r, workload_new(&r->study->workload, k->domain, cliques, weights, k->count, &r->quiet),
        node);
}

static enum err read_questions(struct study_reading *r, const yaml_node_t *node,
                               const yaml_node_t *most)
{
    struct questions_asked k CLEAN(asked_clear) = {.domain = r->study->domain};
    int64_t cells = CELLS_MOST;
    size_t questions = 0;
    char path[FILE_PATH];
    enum err e;
    TRY(yaml_integer(r->file, most, "max_cells", 2, INT64_C(1) << 31, &cells));
    k.most = (uint64_t)cells;
    TRY(study_find_file(r, node, "queries", path));
    e = add_file(&k, path, &questions, r->log);
    if (e == ERR_QUESTION)
        return ERR_STUDY; /* logged with its place */
    TRY(e);
    if (questions == 0)
        return yaml_error(r->file, node, "there is no question in %s", path);
    TRY(settle(&k));
    r->study->questions = memory_string(path);
    if (r->study->questions == NULL)
        return ERR_NOMEM;
    return make(r, node, &k);
}

/* --- from a rule, or listed ------------------------------------------------------------------- */

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
    unsigned k = 0;
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
    unsigned k = 0;
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
        return read_questions(r, queries, most);
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
    return yaml_number(r->file, given, "weight", 1e-6, 1e6, weight);
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
