/*
 * Marginals that lie in no tree clique. Beliefs are calibrated, so p is the top clique's marginal
 * times p(attributes | separator) of every clique below it. Only the subtree that holds asked
 * attributes takes part. Each clique is first summed onto what matters: its separators in that
 * subtree and the asked attributes.
 */
#include "aim/model.h"

#include "aim/factor.h"
#include "aim/model_private.h"
#include "base/memory.h"

#include <string.h>

/* Products are summed but not held: so many of their cells count like one of a table. */
#define WORK 32

struct question {
    const struct model *model;
    const struct scope *asked;
    struct scope *below; /* for each clique: the asked attributes in its subtree */
    bool *needed;        /* its subtree holds an asked attribute that its separator lacks */
    uint64_t largest;    /* cells of the largest table met, or of a product over WORK */
};

static void question_clear(struct question *q)
{
    memory_free(&q->below);
    memory_free(&q->needed);
}

static enum err question_new(struct question *q, const struct model *m, const struct scope *asked)
{
    const struct junction *j = m->junction;
    *q = (struct question){.model = m, .asked = asked};
    TRY(memory_new(&q->below, j->cliques));
    TRY(memory_new(&q->needed, j->cliques));
    for (size_t i = 0; i < j->cliques; i++)
        q->below[i] = scope_intersect(&j->clique[i].scope, asked);
    for (size_t i = j->cliques; i-- > 1;) {
        uint32_t parent = j->clique[i].parent;
        q->needed[i] = !scope_contains(&j->clique[i].separator, &q->below[i]);
        q->below[parent] = scope_union(&q->below[parent], &q->below[i]);
    }
    return ERR_OK;
}

/* The lowest clique whose subtree holds everything that is asked. */
static size_t top_of(const struct question *q)
{
    size_t top = 0;
    for (size_t i = 1; i < q->model->junction->cliques; i++) /* parents come before children */
        if (q->model->junction->clique[i].parent == top && q->below[i].n == q->asked->n)
            top = i;
    return top;
}

/* What must be kept at clique i once its children before `child` are in. */
static struct scope kept(const struct question *q, size_t i, bool top, size_t child)
{
    const struct junction *j = q->model->junction;
    struct scope s = *q->asked;
    if (!top)
        s = scope_union(&s, &j->clique[i].separator);
    for (size_t c = child; c < j->cliques; c++)
        if (q->needed[c] && j->clique[c].parent == i)
            s = scope_union(&s, &j->clique[c].separator);
    return s;
}

static void note_size(struct question *q, const struct scope *s, uint64_t share)
{
    uint64_t cells = scope_cells(s, q->model->domain) / share;
    q->largest = cells > q->largest ? cells : q->largest;
}

/* The scope of answer() below: notes the sizes on the way, and computes nothing. */
static struct scope rehearse(struct question *q, size_t i, bool top)
{
    const struct junction *j = q->model->junction;
    struct scope keep = kept(q, i, top, i + 1);
    struct scope s = scope_intersect(&j->clique[i].scope, &keep);
    note_size(q, &s, 1);
    for (size_t c = i + 1; c < j->cliques; c++) {
        struct scope message;
        if (!q->needed[c] || j->clique[c].parent != i)
            continue;
        message = rehearse(q, c, false);
        s = scope_union(&s, &message);
        note_size(q, &s, WORK);
        keep = kept(q, i, top, c + 1);
        s = scope_intersect(&s, &keep);
        note_size(q, &s, 1);
    }
    return s;
}

/* p(asked attributes below i | separator of i), or p(asked) at the top; the caller clears f. */
static enum err answer(const struct question *q, size_t i, bool top, struct factor *f)
{
    const struct domain *d = q->model->domain;
    const struct junction *j = q->model->junction;
    struct scope keep = kept(q, i, top, i + 1);
    struct scope s = scope_intersect(&j->clique[i].scope, &keep);
    TRY(factor_new(f, &s, d));
    factor_sum(&j->clique[i].scope, q->model->node[i].belief, &s, d, f->value);
    if (!top)
        TRY(factor_condition(f, &j->clique[i].separator, d));
    for (size_t c = i + 1; c < j->cliques; c++) {
        struct factor message CLEAN(factor_clear) = {0};
        if (!q->needed[c] || j->clique[c].parent != i)
            continue;
        TRY(answer(q, c, false, &message));
        keep = kept(q, i, top, c + 1);
        TRY(factor_contract(f, &message, &keep, d));
    }
    return ERR_OK;
}

static enum err cells_outside(const struct model *m, const struct scope *asked, uint64_t *largest)
{
    struct question q CLEAN(question_clear) = {0};
    TRY(question_new(&q, m, asked));
    rehearse(&q, top_of(&q), true);
    *largest = q.largest;
    return ERR_OK;
}

uint64_t model_marginal_cells(const struct model *m, const struct clique *c)
{
    struct scope asked = scope_of(c);
    uint64_t largest;
    if (model_covers(m, c))
        return clique_cells(c, m->domain);
    return cells_outside(m, &asked, &largest) == ERR_OK ? largest : UINT64_MAX;
}

static enum err outside(const struct model *m, const struct scope *asked, double *counts)
{
    struct question q CLEAN(question_clear) = {0};
    struct factor f CLEAN(factor_clear) = {0};
    TRY(question_new(&q, m, asked));
    TRY(answer(&q, top_of(&q), true, &f));
    memcpy(counts, f.value, f.cells * sizeof *counts);
    return ERR_OK;
}

enum err model_marginal(const struct model *m, const struct clique *c, double *counts,
                        struct log *log)
{
    struct scope asked = scope_of(c);
    uint32_t home = junction_find(m->junction, m->domain, &asked);
    uint64_t cells = clique_cells(c, m->domain);
    if (home != UINT32_MAX) {
        factor_sum(&m->junction->clique[home].scope, m->node[home].belief, &asked, m->domain,
                   counts);
    } else {
        uint64_t largest;
        TRY(cells_outside(m, &asked, &largest));
        if (largest > m->limit_cells)
            return log_fail(
                log, ERR_RANGE,
                "the marginal of %s needs a table of %llu cells where %llu are allowed; allow "
                "more memory",
                clique_name(c, m->domain).text, (unsigned long long)largest,
                (unsigned long long)m->limit_cells);
        TRY(outside(m, &asked, counts));
    }
    for (uint64_t i = 0; i < cells; i++)
        counts[i] *= m->total;
    return ERR_OK;
}
