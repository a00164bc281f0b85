#include "parties/command/plan.h"

#include "base/memory.h"

#include <math.h>

void plan_even_clear(struct plan_even *e)
{
    for (size_t i = 0; e->column != NULL && i < e->d; i++)
        copula_column_clear(&e->column[i]);
    memory_free(&e->column);
}

enum err plan_even_new(struct plan_even *e, const struct domain *d)
{
    const size_t most = copula_groups_most(d);
    e->d = d->attributes;
    TRY(memory_new(&e->column, e->d));
    for (size_t i = 0; i < e->d; i++) {
        const uint32_t size = d->attribute[i].size;
        double *counts CLEAN(memory_release) = NULL;
        TRY(memory_new(&counts, size));
        for (uint32_t a = 0; a < size; a++)
            counts[a] = 1;
        TRY(copula_column_new(&e->column[i], &d->attribute[i], most));
        TRY(copula_set_shares(&e->column[i], counts, size));
    }
    return ERR_OK;
}

/* The largest squared score of a column. */
static double largest(const struct copula_column *c)
{
    double most = 0;
    for (uint32_t a = 0; a < c->size; a++)
        most = fmax(most, c->score[a] * c->score[a]);
    return most;
}

enum err plan_even_noise(const struct plan_even *e, const struct study *s, double rho, double rows,
                         bool numbers, double *sum, double *correlation)
{
    double clip, squares = 0, before = 0, loss = 0, losses = 0, columns = 0, pairs = 0;
    TRY(copula_noise_clip(e->column, e->d, rho, rows, s->copula_clip, &clip));
    for (size_t i = 0; i < e->d; i++) {
        const double most = largest(&e->column[i]), h = e->column[i].hermite[0];
        if (!(h > 0))
            continue;
        squares += most * before;
        before += most;
        if (numbers && !domain_has_order(&s->domain->attribute[i]))
            continue;
        loss += losses / h;
        losses += 1 / h;
        pairs += columns++;
    }
    *sum = ledger_deviation(squares, rho);
    *correlation = fmin(1, *sum / rows * loss / fmax(1, pairs));
    return ERR_OK;
}

enum err plan_even_expect(const struct study *s, double rho, double rows, double *correlation)
{
    const double spread = measure_spread(s->noise_by);
    struct plan_even e CLEAN(plan_even_clear) = {0};
    double sum;
    TRY(plan_even_new(&e, s->domain));
    return plan_even_noise(&e, s, (1 - s->copula_share) * rho / (spread * spread), rows, true, &sum,
                           correlation);
}
