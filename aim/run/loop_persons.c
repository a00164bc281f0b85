/*
 * Where rows are events of persons (aim/table/series.h). A run counts in units until it has ended;
 * what it leaves, and what it shows of a round, is in persons. How the rows of a person share their
 * unit is known, so that counts of `number` say how many units are in each stage.
 */
#include "aim/run/loop_private.h"
#include "aim/table/series.h"
#include "base/memory.h"

struct aim_round loop_round_in_persons(const struct aim_round *r, double units)
{
    struct aim_round p = *r;
    p.sigma /= units;
    p.moved /= units;
    p.before /= units;
    p.after /= units;
    p.noise /= units;
    p.total /= units;
    return p;
}

static void divide(double *x, uint64_t n, double units)
{
    for (uint64_t i = 0; x != NULL && i < n; i++)
        x[i] /= units;
}

static void assess_in_persons(struct assess *a, double units)
{
    a->sigma /= units;
    a->total /= units;
    divide(a->off, a->pairs, units);
    divide(a->alone, a->pairs, units);
}

void loop_in_persons(struct aim_result *r, const struct domain *d)
{
    const double units = series_units(d);
    if (d->series == NULL)
        return;
    for (size_t i = 0; i < r->measurements; i++) {
        struct measurement *x = &r->measurement[i];
        divide(x->y, measurement_cells(x, d), units);
        x->sigma /= units;
        x->total /= units;
    }
    for (size_t i = 0; i < r->rounds; i++)
        r->round[i] = loop_round_in_persons(&r->round[i], units);
    for (size_t i = 0; i < r->sweeps; i++) {
        divide(r->scores[i].value, r->scores[i].candidates, units);
        r->scores[i].sigma /= units;
    }
    if (r->assess != NULL)
        assess_in_persons(r->assess, units);
    model_set_total(r->model, model_total(r->model) / units);
}

bool loop_is_number(const struct measurement *x, const struct domain *d)
{
    return d->series != NULL && x->clique.n == 1 && x->clique.attribute[0] == d->series->number;
}

/* The counts of each number of events, shared out over its stages. */
enum err loop_stages(struct measurement *x, const struct domain *d)
{
    const struct series *s = d->series;
    const bool turn = s->stage < s->number;
    const uint32_t numbers = d->attribute[s->number].size;
    uint32_t share[SERIES_STAGES];
    double *y;
    TRY(memory_new(&y, (size_t)numbers * SERIES_STAGES));
    for (uint32_t n = 0; n < numbers; n++) {
        series_shares(d, n, share);
        for (uint32_t k = 0; k < SERIES_STAGES; k++)
            y[turn ? k * numbers + n : n * SERIES_STAGES + k] = x->y[n] * share[k] / s->units;
    }
    x->clique = (struct clique){2, {turn ? s->stage : s->number, turn ? s->number : s->stage}};
    x->y = y;
    return ERR_OK;
}
