/* Weighs a model, by way of its groups, or rows that stand in for one. */
#include "aim/model/model_private.h"
#include "aim/model/model_weigh.h"
#include "base/memory.h"

#include <string.h>

/* Weights of groups instead of codes, and the factors that spread the asked groups over codes. */
struct regroup {
    const struct model *model;
    struct model_weight *weight;
    size_t weights;
    double *room; /* for both: a number for each code of what is weighted */
    const double *factor[CLIQUE_MAX];
};

static void regroup_clear(struct regroup *r)
{
    memory_free_all(&r->weight, &r->room);
}

/*
 * If an attribute is not asked, its groups weigh what their codes weigh on average. If it is asked,
 * a group stays if any of its codes does; codes are weighed once they are apart. Returns how much
 * room this took.
 */
static size_t regroup_one(struct regroup *r, const struct clique *asked, size_t i, double *room)
{
    const uint16_t a = r->weight[i].attribute;
    const struct merges *m = &r->model->merges;
    const double *of = r->weight[i].of, *share = r->model->share[a];
    const unsigned place = clique_place(asked, a);
    if (share == NULL)
        return 0;
    r->weight[i].of = room;
    for (uint32_t code = 0; code < m->codes[a]; code++) {
        double *group = &room[m->group[a][code]];
        if (place == asked->n)
            *group += of[code] * share[code];
        else if (of[code] != 0)
            *group = 1;
    }
    if (place == asked->n)
        return m->groups[a];
    room += m->groups[a];
    for (uint32_t code = 0; code < m->codes[a]; code++)
        room[code] = of[code] * share[code];
    r->factor[place] = room;
    return m->groups[a] + m->codes[a];
}

static enum err regroup_start(struct regroup *r, const struct clique *asked,
                              const struct model_weight *weight)
{
    size_t room = 0, at = 0;
    TRY(memory_new(&r->weight, r->weights));
    for (size_t i = 0; i < r->weights; i++) {
        r->weight[i] = weight[i];
        room += 2 * (size_t)r->model->merges.codes[weight[i].attribute];
    }
    TRY(memory_new(&r->room, room));
    for (unsigned i = 0; i < asked->n; i++)
        r->factor[i] = r->model->share[asked->attribute[i]];
    for (size_t i = 0; i < r->weights; i++)
        at += regroup_one(r, asked, i, r->room + at);
    return ERR_OK;
}

static enum err weigh_model(struct model_sums *sums, const struct model *m,
                            const struct clique *asked, const struct model_weight *weight,
                            size_t weights, double *counts, struct log *log)
{
    struct regroup r CLEAN(regroup_clear) = {.model = m, .weights = weights};
    double *grouped CLEAN(memory_release) = NULL;
    if (m->shares == 0)
        return model_weigh_merged(sums, asked, weight, weights, counts, log);
    TRY(regroup_start(&r, asked, weight));
    TRY(memory_new(&grouped, merges_cells(&m->merges, asked)));
    TRY(model_weigh_merged(sums, asked, r.weight, weights, grouped, log));
    return groups_spread(m, asked, r.factor, grouped, counts);
}

/* Of rows that stand in for a model. */
static void weigh_rows(const struct model_sums *s, const struct clique *asked,
                       const struct model_weight *weight, size_t weights, double *counts)
{
    const struct table *t = model_sums_rows(s);
    const double each = model_sums_total(s) / (double)t->rows;
    memset(counts, 0, clique_cells(asked, t->domain) * sizeof *counts);
    for (size_t row = 0; row < t->rows; row++) {
        double rows = each;
        for (size_t i = 0; i < weights && rows > 0; i++)
            rows *= weight[i].of[t->column[weight[i].attribute][row]];
        if (rows > 0)
            counts[table_cell(t, asked->attribute, asked->n, row)] += rows;
    }
}

enum err model_weigh(struct model_sums *sums, const struct clique *asked,
                     const struct model_weight *weight, size_t weights, double *counts,
                     struct log *log)
{
    const struct model *m = model_sums_of(sums);
    if (m == NULL) {
        weigh_rows(sums, asked, weight, weights, counts);
        return ERR_OK;
    }
    return weigh_model(sums, m, asked, weight, weights, counts, log);
}
