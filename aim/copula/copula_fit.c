#include "aim/copula/copula_fit.h"

#include "aim/copula/copula_links.h"
#include "aim/copula/copula_order.h"
#include "aim/copula/copula_shrink.h"
#include "base/memory.h"

struct copula_fitting {
    const struct copula_result *result;
    struct copula_column *column;
    size_t d;
    double *sums;  /* of forms, over rows: the pairs i < j one after the other */
    size_t *start; /* of each pair */
    double noise;  /* of each sum */
    struct log *log;
};

/* For columns i < j. */
static double *sums_of(const struct copula_fitting *f, size_t i, size_t j)
{
    return f->sums + f->start[i * f->d + j];
}

static enum err fit_start(struct copula_fitting *f)
{
    const struct copula_result *r = f->result;
    TRY(memory_new(&f->sums, r->forms));
    TRY(memory_new(&f->start, f->d * f->d));
    for (size_t k = 0; k < r->forms; k++) {
        const struct copula_form *form = &r->form[k];
        f->sums[k] = form->value / r->model->total;
        if (form->of_first == 0 && form->of_second == 0)
            f->start[form->first * f->d + form->second] = k;
    }
    f->noise = r->sigma / r->model->total;
    return ERR_OK;
}

/* --- order ------------------------------------------------------------------------------------ */

/* The sums of a column's groups with group h of another column, in either order. */
static void gather(const struct copula_fitting *f, size_t i, size_t j, size_t h, double *sums)
{
    const size_t groups = f->column[i].groups, others = f->column[j].groups;
    for (size_t g = 0; g < groups; g++)
        sums[g] = i < j ? sums_of(f, i, j)[g * others + h] : sums_of(f, j, i)[h * groups + g];
}

/* Leaves one sum for each group of the other columns, in the first place of those it had. */
static enum err collapse(const struct copula_fitting *f, size_t i, const struct copula_order *o)
{
    const size_t groups = f->column[i].groups;
    double *sums CLEAN(memory_release) = NULL;
    TRY(memory_new(&sums, groups));
    for (size_t j = 0; j < f->d; j++)
        for (size_t h = 0; j != i && h < f->column[j].groups; h++) {
            double sum = 0;
            gather(f, i, j, h, sums);
            for (size_t g = 0; g < groups; g++)
                sum += copula_order_part(o, (uint32_t)g) * sums[g];
            if (i < j) /* all groups of i are read before the first is overwritten */
                sums_of(f, i, j)[h] = sum;
            else
                sums_of(f, j, i)[h] = sum;
        }
    return ERR_OK;
}

static enum err look_for_order(const struct copula_fitting *f, size_t i, struct copula_order *o)
{
    double *sums CLEAN(memory_release) = NULL;
    TRY(memory_new(&sums, f->column[i].groups));
    TRY(copula_order_new(o, &f->column[i], f->result->clip));
    for (size_t j = 0; j < f->d; j++) {
        if (f->column[j].nominal)
            continue;
        gather(f, i, j, 0, sums);
        TRY(copula_order_add(o, &f->column[j], sums, f->noise, f->result->model->total));
    }
    return ERR_OK;
}

/* Only where each code is a group; otherwise there are too few of them to tell. */
static enum err find_order(const struct copula_fitting *f, size_t i)
{
    struct copula_column *c = &f->column[i];
    struct copula_order o = {.found = 0};
    enum err e = look_for_order(f, i, &o);
    if (e == ERR_OK && copula_order_fits(&o)) {
        e = collapse(f, i, &o);
        copula_column_clear(c);
        *c = o.twin;
        o.twin = (struct copula_column){0};
    }
    copula_order_clear(&o);
    return e;
}

static enum err find_orders(const struct copula_fitting *f)
{
    for (size_t i = 0; i < f->d; i++)
        if (f->column[i].nominal && f->column[i].groups == f->column[i].size)
            TRY(find_order(f, i));
    return ERR_OK;
}

/* --- ordered columns -------------------------------------------------------------------------- */

/* The covariances of t_i and t_j, brought nearer to the true ones. */
static enum err shrink(const struct copula_fitting *f, const size_t *ordered, size_t n,
                       double *means)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            means[i * n + j] = means[j * n + i] = *sums_of(f, ordered[i], ordered[j]) -
                                                  f->column[ordered[i]].mean *
                                                      f->column[ordered[j]].mean;
    return copula_shrink(means, n, f->noise, f->log);
}

static enum err fit_ordered(const struct copula_fitting *f, double *m)
{
    const size_t *first = f->result->model->first, latents = first[f->d];
    double *means CLEAN(memory_release) = NULL;
    size_t *ordered CLEAN(memory_release) = NULL, n = 0;
    TRY(memory_new(&ordered, f->d));
    for (size_t i = 0; i < f->d; i++)
        if (!f->column[i].nominal)
            ordered[n++] = i;
    TRY(memory_new(&means, n * n));
    TRY(shrink(f, ordered, n, means));
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            m[first[ordered[i]] * latents + first[ordered[j]]] = copula_correlation(
                &f->column[ordered[i]], &f->column[ordered[j]], means[i * n + j]);
    return ERR_OK;
}

/* --- nominal columns -------------------------------------------------------------------------- */

static enum err link_all(const struct copula_fitting *f, struct copula_side *side, double *m)
{
    const size_t *first = f->result->model->first;
    for (size_t i = 0; i < f->d; i++)
        TRY(copula_side_new(&side[i], &f->column[i], f->log));
    for (size_t i = 0; i < f->d; i++)
        for (size_t j = i + 1; j < f->d; j++)
            if (f->column[i].nominal || f->column[j].nominal)
                TRY(copula_link(&side[i], &side[j], sums_of(f, i, j), f->noise,
                                m + first[i] * first[f->d] + first[j], first[f->d]));
    return ERR_OK;
}

static enum err fit_nominal(const struct copula_fitting *f, double *m)
{
    struct copula_side *side CLEAN(memory_release) = NULL;
    enum err e;
    TRY(memory_new(&side, f->d));
    e = link_all(f, side, m);
    for (size_t i = 0; i < f->d; i++)
        copula_side_clear(&side[i]);
    return e;
}

/* --- all -------------------------------------------------------------------------------------- */

static enum err fit(struct copula_fitting *f)
{
    struct copula *model = f->result->model;
    double *m;
    size_t n;
    TRY(fit_start(f));
    TRY(find_orders(f));
    for (size_t i = 0; i < f->d; i++)
        if (f->column[i].nominal)
            TRY(copula_set_groups(model, i, f->column[i].group, f->column[i].groups));
    m = model->correlation;
    n = model->first[f->d];
    TRY(fit_ordered(f, m));
    TRY(fit_nominal(f, m));
    for (size_t z = 0; z < n; z++) {
        m[z * n + z] = 1;
        for (size_t y = 0; y < z; y++)
            m[z * n + y] = m[y * n + z];
    }
    return copula_repair(m, model->first, f->d, f->log);
}

enum err copula_fit(const struct copula_result *result, struct copula_column *column,
                    struct log *log)
{
    struct copula_fitting f = {
        .result = result, .column = column, .d = result->model->domain->attributes, .log = log};
    enum err e = fit(&f);
    memory_free_all(&f.sums, &f.start);
    return e;
}
