/*
 * The set that a sweep measures, chosen in public from its opened scores.
 *
 * A marginal of n cells that is measured with a deviation of sigma is off by n sigma sqrt(2/pi). A
 * model keeps some 0.7 of that, weighted by w. With 1 / sigma^2 = B y / Y for y = (0.7 w n
 * sqrt(2/pi))^(2/3), Y the sum of y over the set and B = 2 rho, all errors together are least, and
 * they are Y^1.5 / sqrt(B). So a candidate whose score is r joins if w r is more than it adds to
 * that, best first: in the order of w r / y.
 *
 * r is the score less 0.3 of its deviation: of many scores, those that are chosen as the largest
 * have noise that made them larger.
 *
 * Who joins explains part of other scores: what a candidate has in common with it. As errors of
 * parts that have nothing to do with each other add up in squares, r^2 of the common part comes
 * off; and so does what it says by way of other columns (aim/run/loop_links.h).
 */
#include "aim/model/sweep.h"
#include "aim/run/loop_links.h"
#include "aim/run/loop_private.h"
#include "aim/table/series.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STAYS 0.7 /* of what noise adds to a marginal by itself */
#define REASONS 3 /* marginals that are named */
#define DOUBT 0.3 /* of the scores' deviation */

struct set {
    struct loop *l;
    double budget; /* B */
    double spread; /* how much farther off noise is than what B pays for */
    uint64_t limit;
    double *r;    /* by closure index; 0: no candidate, or not any more */
    double *part; /* r as it was before the last one joined */
    double *y;    /* by closure index */
    bool *joined; /* by closure index */
    struct loop_links links;
    double sum;            /* Y */
    struct clique *clique; /* of the model, and of those that have joined */
    size_t cliques;
};

/* x^(2/3), the same on every machine. */
static double two_thirds(double x)
{
    const struct sweep *s = sweep_best();
    s->log(&x, 1);
    x *= 2. / 3;
    s->exp(&x, 1);
    return x;
}

static enum err begin(struct set *s)
{
    const struct loop *l = s->l;
    const struct workload *w = l->options->workload;
    const struct aim_result *r = l->result;
    const struct aim_scores *scores = &r->scores[r->sweeps - 1];
    TRY(memory_new(&s->r, w->queries));
    TRY(memory_new(&s->part, w->queries));
    TRY(memory_new(&s->y, w->queries));
    TRY(memory_new(&s->joined, w->queries));
    TRY(memory_new(&s->clique, r->measurements + w->queries));
    for (size_t i = 0; i < r->measurements; i++)
        s->clique[s->cliques++] = r->measurement[i].clique;
    for (size_t k = 0; k < scores->candidates; k++) {
        const uint32_t q = scores->query[k];
        const double cells = (double)merges_query_cells(l->ask.merges, &w->query[q]);
        s->r[q] = fmax(0, scores->value[k] - DOUBT * scores->sigma);
        s->y[q] = two_thirds(STAYS * sqrt(2 / M_PI) * w->query[q].weight * cells);
    }
    return links_begin(&s->links, w, s->r, model_total(r->model));
}

static double power(double x)
{
    return x * sqrt(x);
}

/* The candidate that promises most, or UINT32_MAX if none is worth its noise any more. */
static uint32_t best_of(const struct set *s)
{
    const struct workload *w = s->l->options->workload;
    double most = 1.5 * s->spread * sqrt(s->sum / s->budget);
    uint32_t best = UINT32_MAX;
    for (uint32_t q = 0; q < w->queries; q++)
        if (s->r[q] > 0 && w->query[q].weight * s->r[q] > most * s->y[q]) {
            most = w->query[q].weight * s->r[q] / s->y[q];
            best = q;
        }
    return best;
}

/* Whether it is worth the noise that it adds, and the model has room for it. */
static bool may_join(const struct set *s, uint32_t q)
{
    const struct loop *l = s->l;
    const struct workload_query *query = &l->options->workload->query[q];
    const double more = power(s->sum + s->y[q]) - power(s->sum);
    const double noise = s->spread * more / sqrt(s->budget);
    return query->weight * s->r[q] > noise &&
           junction_cells(model_grouped(l->result->model), l->options->domain, s->clique,
                          s->cliques, &query->clique) <= s->limit;
}

static struct clique common(const struct clique *a, const struct clique *b)
{
    struct clique c = {0};
    for (unsigned i = 0; i < a->n; i++)
        if (clique_place(b, a->attribute[i]) < b->n)
            c.attribute[c.n++] = a->attribute[i];
    return c;
}

/* Takes off all scores what they have in common with this one. */
static void explain(struct set *s, const struct clique *joined)
{
    const struct workload *w = s->l->options->workload;
    memcpy(s->part, s->r, w->queries * sizeof *s->r);
    for (uint32_t q = 0; q < w->queries; q++) {
        const struct clique c = common(&w->query[q].clique, joined);
        const double part = s->r[q] > 0 && c.n > 0 ? s->part[workload_find(w, &c)] : 0;
        s->r[q] = c.n == w->query[q].clique.n ? 0 : sqrt(fmax(0, s->r[q] * s->r[q] - part * part));
    }
}

static void clear(struct set *s)
{
    memory_free_all(&s->r, &s->part, &s->y, &s->clique, &s->joined);
    links_clear(&s->links);
}

/* Adds a marginal, from which the model was off by this many rows, to the three of l->why_next. */
static void reason(struct loop *l, uint32_t query, double rows)
{
    const struct aim_options *o = l->options;
    const size_t used = strlen(l->why_next);
    if (l->reasons < REASONS)
        snprintf(l->why_next + used, sizeof l->why_next - used, "%s%s (%.0f rows)",
                 l->reasons > 0 ? ", " : "",
                 clique_name(&o->workload->query[query].clique, o->domain).text,
                 rows / series_units(o->domain));
    l->reasons++;
}

static void join(struct set *s)
{
    for (uint32_t q; (q = best_of(s)) != UINT32_MAX;) {
        const struct clique *c = &s->l->options->workload->query[q].clique;
        if (!may_join(s, q)) {
            s->r[q] = 0;
            continue;
        }
        reason(s->l, q, s->r[q]);
        s->joined[q] = true;
        s->sum += s->y[q];
        s->clique[s->cliques++] = *c;
        explain(s, c);
        links_join(&s->links, c, s->r);
    }
}

static enum err multiplier_of(const struct set *s, uint32_t q, uint64_t *m)
{
    return measure_multiplier(sqrt(s->sum / (s->budget * s->y[q])), m, NULL);
}

/* Leaves out who would get more noise than servers permit: the others share what that frees. */
static void drop_noisy(struct set *s)
{
    const size_t queries = s->l->options->workload->queries;
    for (uint32_t least = 0; least != UINT32_MAX;) {
        uint64_t m;
        least = UINT32_MAX;
        for (uint32_t q = 0; q < queries; q++)
            if (s->joined[q] && (least == UINT32_MAX || s->y[q] < s->y[least]))
                least = q;
        if (least == UINT32_MAX || multiplier_of(s, least, &m) == ERR_OK)
            return;
        s->joined[least] = false;
        s->sum -= s->y[least];
    }
}

/* If no marginal is worth its noise, the last sweep measures the one-ways once more. */
static void fall_back(struct set *s)
{
    snprintf(s->l->why_next, sizeof s->l->why_next, "none, so the one-ways are measured once more");
    for (uint32_t q = 0; q < s->l->options->workload->one_ways; q++) {
        s->joined[q] = true;
        s->sum += s->y[q];
    }
    drop_noisy(s);
}

static enum err write_set(const struct set *s, struct ask *a)
{
    a->queries = 0;
    for (uint32_t q = 0; q < s->l->options->workload->queries; q++) {
        uint64_t m;
        if (!s->joined[q])
            continue;
        TRY(multiplier_of(s, q, &m));
        a->query[a->queries] = q;
        a->weight[a->queries++] = (int64_t)m;
    }
    a->weights = a->queries;
    return ERR_OK;
}

enum err loop_choose_set(struct loop *l, double rho, double share)
{
    const double limit = fmin(share, 1) * (double)loop_model_limit(l->options);
    struct set s CLEAN(clear) = {.l = l,
                                 .budget = 2 * rho,
                                 .spread = measure_spread(l->options->noise_by),
                                 .limit = (uint64_t)limit};
    TRY(begin(&s));
    join(&s);
    drop_noisy(&s);
    if (s.sum <= 0 && l->schedule.last)
        fall_back(&s);
    return write_set(&s, &l->ask);
}
