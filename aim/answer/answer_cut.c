/*
 * Conditions that take some codes of a group (aim/workload/merge.h). The codes of a group were
 * counted alone, without any other column. So when a condition on the codes comes with one on
 * another column, it is not known which rows of the group it takes: they are as if drawn blindly.
 *
 * Of the n rows of a group, r meet all other conditions. Of these the codes take a share w, with a
 * variance of r v (1 - r / n), where v is the variance of a row's weight, w (1 - w) if a code
 * counts as a whole or not at all: a hypergeometric number. Over groups, r v and n v are sums, and
 * the part taken off is (sum r v)^2 / sum n v: no more than it is group by group, and as much where
 * one group is cut.
 */
#include "aim/answer/answer_private.h"
#include "base/memory.h"

#include <math.h>

/* The codes of a group: shares and weights. If all weights are equal, the group is not cut. */
struct cut_group {
    double share, mean, square, least, most;
};

static void add_code(struct cut_group *g, double share, double weight)
{
    if (!(share > 0))
        return;
    g->least = g->share > 0 ? fmin(g->least, weight) : weight;
    g->most = g->share > 0 ? fmax(g->most, weight) : weight;
    g->share += share;
    g->mean += share * weight;
    g->square += share * weight * weight;
}

static double group_variance(const struct cut_group *g)
{
    double mean;
    if (!(g->most > g->least))
        return 0;
    mean = g->mean / g->share;
    return fmax(0, g->square / g->share - mean * mean);
}

/* For each code, the variance of weights within its group. *any is false if no group is cut. */
static enum err find_variances(const struct model *m, const struct model_weight *weight,
                               double *variance, bool *any)
{
    const struct merges *merges = model_merges(m);
    const uint16_t a = weight->attribute;
    const double *share = model_share(m, a);
    struct cut_group *group CLEAN(memory_release) = NULL;
    *any = false;
    if (share == NULL)
        return ERR_OK;
    TRY(memory_new(&group, merges->groups[a]));
    for (uint32_t code = 0; code < merges->codes[a]; code++)
        add_code(&group[merges->group[a][code]], share[code], weight->of[code]);
    for (uint32_t code = 0; code < merges->codes[a]; code++) {
        variance[code] = group_variance(&group[merges->group[a][code]]);
        *any |= variance[code] > 0;
    }
    return ERR_OK;
}

/* One column's condition: r v in each cell, and the part that is taken off. */
static enum err add_condition(struct answer_cut *cut, const struct clique *groups,
                              struct model_sums *m, const struct model_weight *weight,
                              size_t weights, size_t cut_by, double *variance, struct log *log)
{
    const struct clique none = {.n = 0};
    const struct domain *d = model_domain(model_sums_of(m));
    const struct model_weight varies = {weight[cut_by].attribute, variance};
    struct model_weight all[CASE_COLUMNS_MAX];
    const uint64_t cells = clique_cells(groups, d);
    double *rows CLEAN(memory_release) = NULL, of;
    TRY(memory_new(&rows, cells));
    for (size_t i = 0; i < weights; i++)
        all[i] = i == cut_by ? varies : weight[i];
    TRY(model_weigh(m, groups, all, weights, rows, log));
    TRY(model_weigh(m, &none, &varies, 1, &of, log));
    for (uint64_t i = 0; i < cells && of > 0; i++) {
        cut[i].each += rows[i];
        cut[i].less += rows[i] * rows[i] / of;
    }
    return ERR_OK;
}

enum err answer_cut_case(const struct answer_state *w, struct model_sums *m,
                         const struct model_weight *weight, size_t weights, struct log *log)
{
    const struct domain *d = w->question->domain;
    const struct scope groups = scope_of(&w->asked);
    for (size_t i = 0; i < weights; i++) {
        double *variance CLEAN(memory_release) = NULL;
        bool any;
        TRY(memory_new(&variance, d->attribute[weight[i].attribute].size));
        TRY(find_variances(model_sums_of(m), &weight[i], variance, &any));
        if (any && !scope_has(&groups, weight[i].attribute))
            TRY(add_condition(w->cell, &w->asked, m, weight, weights, i, variance, log));
    }
    return ERR_OK;
}

/* Of each line's code: its rows, and the share of them that its group's shares leave open. */
static void gather_cuts(const struct question_group *g, const double *share, uint32_t size,
                        double *rows, double *cut)
{
    for (uint32_t code = 0; code < size; code++) {
        const uint32_t first = question_group_code(g, code);
        const double more = rows[code], all = rows[first] + more;
        if (first == code)
            cut[code] = 1 - share[code];
        else if (all > 0) {
            cut[first] = (cut[first] * rows[first] + (1 - share[code]) * more) / all;
            rows[first] = all;
            rows[code] = 0;
        }
    }
}

enum err answer_cut_groups(const struct answer_state *w, const struct answer *a,
                           struct model_sums *m, struct log *log)
{
    const struct question *q = w->question;
    for (size_t i = 0; i < q->groups; i++) {
        const struct question_group *g = &q->group[i];
        const struct clique column = {1, {g->column}};
        const double *share = model_share(model_sums_of(m), g->column);
        const uint32_t size = q->domain->attribute[g->column].size;
        double *rows CLEAN(memory_release) = NULL, *cut CLEAN(memory_release) = NULL;
        if (share == NULL)
            continue;
        TRY(memory_new(&rows, size));
        TRY(memory_new(&cut, size));
        TRY(model_weigh(m, &column, NULL, 0, rows, log));
        gather_cuts(g, share, size, rows, cut);
        for (size_t line = 0; line < a->lines; line++) {
            const uint32_t code = answer_code(a, line, i);
            if (!(rows[code] > 0))
                continue;
            w->cut[line].each += cut[code];
            w->cut[line].less += cut[code] / rows[code];
        }
    }
    return ERR_OK;
}

double answer_cut_variance(const struct answer_cut *cut, double rows, bool count)
{
    return fmax(0, cut->each / rows - (count ? cut->less : 0));
}
