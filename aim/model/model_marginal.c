/*
 * Marginals that lie in no tree clique. Beliefs are calibrated, so p is the marginal of any one
 * clique, times p(attributes | separator) of all others, outwards from there. Only the subtree that
 * holds asked attributes takes part. Each clique is first summed onto what matters: its separators
 * in that subtree and the asked attributes.
 *
 * An edge carries a message, p(asked attributes behind it | separator). Small messages make the
 * least work, so the clique to start from is one such that no edge has more values of asked
 * attributes behind it than before it.
 *
 * A message depends only on its edge and the asked attributes behind it, so marginals that are
 * asked for one after the other share messages: `struct model_memo` keeps them. The numbers are the
 * same as without it, to the last bit.
 *
 * Where rows are weighted (model_weigh.c), a clique's table is weighted as it is made: each
 * attribute in the clique nearest to where we start. Nothing is kept, and an edge takes part too if
 * only weighted attributes are behind it.
 */
#include "aim/model/model.h"

#include "aim/model/factor.h"
#include "aim/model/model_private.h"
#include "base/memory.h"

#include <string.h>

/* Products are summed but not held: this many of their cells count as one cell of a table. */
#define WORK 32
#define NOWHERE SIZE_MAX
#define KEPT 4 /* kept messages have at most a model's cells divided by this */

struct marginal_message {
    size_t clique;       /* the one that takes it */
    struct scope behind; /* the asked attributes, which tell over which edge it came */
    struct factor factor;
};

struct model_memo {
    const struct model *model;
    size_t messages, room;
    uint64_t cells;
    struct marginal_message *message;
};

struct marginal_question {
    const struct model *model;
    const struct domain *domain; /* of factors */
    struct model_memo *memo;     /* NULL: no message is kept */
    const struct model_weights *weights;
    const struct scope *asked;
    /* What is asked behind each clique's edge to its parent, seen from the parent and from it. */
    struct scope *below, *above;
    bool *down, *up;  /* whether anything that matters is there */
    uint64_t largest; /* cells of the largest table met, or of a product over WORK */
};

static void question_clear(struct marginal_question *q)
{
    memory_free_all(&q->below, &q->above, &q->down, &q->up);
}

static enum err question_new(struct marginal_question *q, const struct model *m,
                             struct model_memo *memo, const struct model_weights *weights,
                             const struct scope *asked)
{
    const struct junction *j = m->junction;
    const struct scope *matters = weights != NULL ? weights->matters : asked;
    *q = (struct marginal_question){.model = m,
                                    .domain = weights != NULL ? weights->left : &m->grouped,
                                    .memo = memo,
                                    .weights = weights,
                                    .asked = asked};
    TRY(memory_new(&q->below, j->cliques));
    TRY(memory_new(&q->above, j->cliques));
    TRY(memory_new(&q->down, j->cliques));
    TRY(memory_new(&q->up, j->cliques));
    for (size_t i = 0; i < j->cliques; i++)
        q->below[i] = scope_intersect(&j->clique[i].scope, matters);
    for (size_t i = j->cliques; i-- > 1;) {
        struct scope *parent = &q->below[j->clique[i].parent];
        *parent = scope_union(parent, &q->below[i]);
        q->above[i] = scope_without(matters, &q->below[i]);
        q->below[i] = scope_without(&q->below[i], &j->clique[i].separator);
        q->up[i] = q->above[i].n > 0;
        q->down[i] = q->below[i].n > 0;
    }
    for (size_t i = 1; weights != NULL && i < j->cliques; i++) {
        q->above[i] = scope_intersect(&q->above[i], asked);
        q->below[i] = scope_intersect(&q->below[i], asked);
    }
    return ERR_OK;
}

/* Whether a message about something that matters comes to clique i over an edge. */
static bool comes(const struct marginal_question *q, size_t i, size_t edge)
{
    if (edge == i)
        return i > 0 && q->up[i];
    return q->model->junction->clique[edge].parent == i && q->down[edge];
}

/*
 * The clique to start from: 0, or lower while more is asked behind an edge than before it, or all
 * that is weighted is behind it.
 */
static size_t middle_of(const struct marginal_question *q)
{
    size_t middle = 0;
    for (size_t i = 1; i < q->model->junction->cliques; i++) /* parents come before children */
        if (q->model->junction->clique[i].parent == middle &&
            (scope_cells(&q->below[i], q->domain) > scope_cells(&q->above[i], q->domain) ||
             (q->weights != NULL && q->down[i] && !q->up[i])))
            middle = i;
    return middle;
}

/* Clique i while it takes in messages: its scope so far, and the edges over which more come. */
struct stand {
    size_t clique, to; /* the edge it passes on over, or NOWHERE */
    struct scope scope;
    size_t edges, edge[MARGINAL_MATTERS_MAX]; /* each brings at least one attribute */
};

/* What must be kept for later, once the message over `edge` is in. */
static struct scope kept(const struct marginal_question *q, const struct stand *s, size_t edge)
{
    const struct junction *j = q->model->junction;
    struct scope keep = *q->asked;
    if (s->to != NOWHERE)
        keep = scope_union(&keep, &j->clique[s->to].separator);
    for (size_t k = 0; k < s->edges; k++)
        if (s->edge[k] != edge)
            keep = scope_union(&keep, &j->clique[s->edge[k]].separator);
    return keep;
}

static struct stand begin(const struct marginal_question *q, size_t i, size_t to)
{
    const struct junction *j = q->model->junction;
    struct stand s = {.clique = i, .to = to};
    struct scope keep;
    for (size_t e = i; e < j->cliques; e++)
        if (e != to && comes(q, i, e))
            s.edge[s.edges++] = e;
    keep = kept(q, &s, NOWHERE);
    s.scope = scope_intersect(&j->clique[i].scope, &keep);
    return s;
}

static const struct scope *behind(const struct marginal_question *q, size_t i, size_t edge)
{
    return edge == i ? &q->above[i] : &q->below[edge];
}

static uint64_t cells_after(const struct marginal_question *q, const struct stand *s, size_t edge)
{
    const struct scope keep = kept(q, s, edge),
                       all = scope_union(&s->scope, behind(q, s->clique, edge));
    const struct scope left = scope_intersect(&all, &keep);
    return scope_cells(&left, q->domain);
}

/* Takes out the edge that leaves the fewest cells, and moves on to those. */
static size_t next(const struct marginal_question *q, struct stand *s, struct scope *keep)
{
    uint64_t least = UINT64_MAX;
    size_t best = 0, edge;
    for (size_t k = 0; s->edges > 1 && k < s->edges; k++) {
        const uint64_t cells = cells_after(q, s, s->edge[k]);
        if (cells < least) {
            least = cells;
            best = k;
        }
    }
    edge = s->edge[best];
    *keep = kept(q, s, edge);
    s->scope = scope_union(&s->scope, behind(q, s->clique, edge));
    s->scope = scope_intersect(&s->scope, keep);
    s->edge[best] = s->edge[--s->edges];
    return edge;
}

/* The clique behind an edge of i. The edge to its parent has i's number, others the child's. */
static size_t beyond(const struct marginal_question *q, size_t i, size_t edge)
{
    return edge == i ? q->model->junction->clique[i].parent : edge;
}

static void note_size(struct marginal_question *q, const struct scope *s, uint64_t share)
{
    uint64_t cells = scope_cells(s, q->domain) / share;
    q->largest = cells > q->largest ? cells : q->largest;
}

/* Notes the sizes that answer() below meets, without computing anything. */
static void rehearse(struct marginal_question *q, size_t i, size_t to)
{
    struct stand s = begin(q, i, to);
    note_size(q, &s.scope, 1);
    while (s.edges > 0) {
        struct scope all = s.scope, keep;
        const size_t edge = next(q, &s, &keep);
        rehearse(q, beyond(q, i, edge), edge);
        all = scope_union(&all, behind(q, i, edge));
        all = scope_union(&all, &q->model->junction->clique[edge].separator);
        note_size(q, &all, WORK);
        note_size(q, &s.scope, 1);
    }
}

static enum err answer(const struct marginal_question *q, size_t i, size_t to, struct factor *f);

static const struct factor *find(const struct marginal_question *q, size_t i, size_t edge)
{
    const struct model_memo *memo = q->memo;
    for (size_t k = 0; k < memo->messages; k++) {
        const struct marginal_message *m = &memo->message[k];
        if (m->clique == i && scope_equal(&m->behind, behind(q, i, edge)))
            return &m->factor;
    }
    return NULL;
}

/* The message to clique i over an edge: kept, or in `own`, which the caller clears. */
static enum err message(const struct marginal_question *q, size_t i, size_t edge,
                        struct factor *own, const struct factor **f)
{
    struct model_memo *memo = q->memo;
    *f = memo != NULL ? find(q, i, edge) : NULL;
    if (*f != NULL)
        return ERR_OK;
    TRY(answer(q, beyond(q, i, edge), edge, own));
    *f = own;
    if (memo == NULL || memo->cells + own->cells > q->model->limit_cells / KEPT)
        return ERR_OK;
    TRY(memory_room(&memo->message, &memo->room, memo->messages + 1));
    memo->cells += own->cells;
    memo->message[memo->messages] = (struct marginal_message){
        .clique = i, .behind = *behind(q, i, edge), .factor = *own};
    *f = &memo->message[memo->messages++].factor;
    *own = (struct factor){0};
    return ERR_OK;
}

/* The message of clique i over `to`, or p(asked) if that is NOWHERE; the caller clears f. */
static enum err answer(const struct marginal_question *q, size_t i, size_t to, struct factor *f)
{
    const struct domain *d = q->domain;
    const struct junction_clique *c = q->model->junction->clique;
    const struct scope *given = to != NOWHERE ? &c[to].separator : NULL;
    struct stand s = begin(q, i, to);
    TRY(factor_new(f, &s.scope, d));
    if (q->weights != NULL)
        TRY(q->weights->fill(q->weights->self, i, given, f));
    else
        factor_sum(&c[i].scope, q->model->node[i].belief, &s.scope, d, f->value);
    if (q->weights == NULL && given != NULL)
        TRY(factor_condition(f, given, d));
    while (s.edges > 0) {
        struct factor own CLEAN(factor_clear) = {0};
        const struct factor *passed;
        struct scope keep;
        const size_t edge = next(q, &s, &keep);
        TRY(message(q, i, edge, &own, &passed));
        TRY(factor_contract(f, passed, &keep, d));
    }
    return ERR_OK;
}

enum err marginal_of(const struct model *m, struct model_memo *memo,
                     const struct model_weights *weights, const struct scope *asked, uint64_t most,
                     uint64_t *largest, double *shares)
{
    struct marginal_question q CLEAN(question_clear) = {0};
    struct factor f CLEAN(factor_clear) = {0};
    size_t middle;
    TRY(question_new(&q, m, memo, weights, asked));
    middle = middle_of(&q);
    rehearse(&q, middle, NOWHERE);
    *largest = q.largest;
    if (q.largest > most)
        return ERR_RANGE;
    TRY(answer(&q, middle, NOWHERE, &f));
    memcpy(shares, f.value, f.cells * sizeof *shares);
    return ERR_OK;
}

uint64_t model_marginal_cells(const struct model *m, const struct clique *c)
{
    struct scope asked = scope_of(c);
    uint64_t largest;
    if (model_covers(m, c))
        return clique_cells(c, &m->grouped);
    return marginal_of(m, NULL, NULL, &asked, 0, &largest, NULL) == ERR_RANGE ? largest
                                                                              : UINT64_MAX;
}

enum err model_memo_new(struct model_memo **memo, const struct model *m)
{
    TRY(memory_new(memo, 1));
    (*memo)->model = m;
    return ERR_OK;
}

void model_memo_free(struct model_memo **memo)
{
    if (*memo == NULL)
        return;
    for (size_t k = 0; k < (*memo)->messages; k++)
        factor_clear(&(*memo)->message[k].factor);
    memory_free(&(*memo)->message);
    memory_free(memo);
}

static enum err count_merged(struct model_memo *memo, const struct clique *c, double *counts,
                             struct log *log)
{
    const struct model *m = memo->model;
    struct scope asked = scope_of(c);
    uint32_t home = junction_find(m->junction, &m->grouped, &asked);
    uint64_t cells = clique_cells(c, &m->grouped);
    if (home != UINT32_MAX) {
        factor_sum(&m->junction->clique[home].scope, m->node[home].belief, &asked, &m->grouped,
                   counts);
    } else {
        uint64_t largest;
        const enum err e = marginal_of(m, memo, NULL, &asked, m->limit_cells, &largest, counts);
        if (e == ERR_RANGE)
            return log_fail(
                log, e,
                "the marginal of %s needs a table of %llu cells where %llu are allowed; allow "
                "more memory",
                clique_name(c, &m->grouped).text, (unsigned long long)largest,
                (unsigned long long)m->limit_cells);
        TRY(e);
    }
    for (uint64_t i = 0; i < cells; i++)
        counts[i] *= m->total;
    return ERR_OK;
}

enum err model_memo_marginal(struct model_memo *memo, const struct clique *c, bool merged,
                             double *counts, struct log *log)
{
    const struct model *m = memo->model;
    double *grouped CLEAN(memory_release) = NULL;
    if (merged || !merges_touch(&m->merges, c))
        return count_merged(memo, c, counts, log);
    TRY(memory_new(&grouped, merges_cells(&m->merges, c)));
    TRY(count_merged(memo, c, grouped, log));
    return groups_spread(m, c, NULL, grouped, counts);
}

enum err model_marginal(const struct model *m, const struct clique *c, double *counts,
                        struct log *log)
{
    struct model_memo *memo CLEAN(model_memo_free) = NULL;
    TRY(model_memo_new(&memo, m));
    return model_memo_marginal(memo, c, false, counts, log);
}

enum err model_measured(const struct model *m, const struct measurement *x, double *counts,
                        struct log *log)
{
    struct model_memo *memo CLEAN(model_memo_free) = NULL;
    TRY(model_memo_new(&memo, m));
    return model_memo_marginal(memo, &x->clique, x->merges != NULL, counts, log);
}
