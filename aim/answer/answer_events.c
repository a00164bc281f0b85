/*
 * Questions about events. The model's rows share a person's unit, so an event counts by how many of
 * them there are in its stage for a person's share of that stage: 1 for the only one, U / s for the
 * first and the last, and (mean - 2) U / (U - 2 s) between, by the number of events. The mean
 * number in a bin is assumed, as everything inside bins is.
 */
#include "aim/answer/answer_private.h"
#include "aim/table/series.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* How many events of this stage a person has; how many are in a bin of the number is disturbed. */
static double events_in(const struct answer_state *w, uint32_t number, uint32_t stage)
{
    const uint16_t column = w->question->domain->series->number;
    struct density_part bin;
    if (stage != SERIES_MIDDLE)
        return 1;
    bin = density_whole(w->inside->of[column], number);
    answer_disturb_part(w, column, &bin);
    return fmax(0, bin.mean - 2);
}

/* Multiplies what there is of a column by more weights, or adds the column. */
static void weigh(struct model_weight *weight, size_t *weights, uint16_t column, uint32_t size,
                  double *more)
{
    for (size_t i = 0; i < *weights; i++)
        if (weight[i].attribute == column) {
            for (uint32_t k = 0; k < size; k++)
                more[k] *= weight[i].of[k];
            weight[i].of = more;
            return;
        }
    weight[(*weights)++] = (struct model_weight){column, more};
}

static enum err add_stage(const struct answer_state *w, struct model_sums *m,
                          const struct model_weight *weight, size_t weights, uint32_t stage,
                          double *mass, struct log *log)
{
    const struct domain *d = w->question->domain;
    const struct series *s = d->series;
    const uint32_t numbers = d->attribute[s->number].size;
    struct model_weight all[CASE_COLUMNS_MAX + 2];
    double in[SERIES_STAGES] = {0}, most = 0;
    double *counts CLEAN(memory_release) = NULL, *number CLEAN(memory_release) = NULL;
    size_t n = weights;
    TRY(memory_new(&number, numbers));
    for (uint32_t k = 0; k < numbers; k++) {
        uint32_t share[SERIES_STAGES];
        series_shares(d, k, share);
        number[k] = share[stage] > 0 ? events_in(w, k, stage) * s->units / (double)share[stage] : 0;
        most = fmax(most, number[k]);
    }
    if (!(most > 0)) /* disturbed bins may leave none between the first and the last */
        return ERR_OK;
    for (uint32_t k = 0; k < numbers; k++)
        number[k] /= most; /* weights are at most 1 */
    in[stage] = 1;
    if (weights > 0)
        memcpy(all, weight, weights * sizeof *weight);
    weigh(all, &n, s->number, numbers, number);
    weigh(all, &n, s->stage, SERIES_STAGES, in);
    TRY(memory_new(&counts, w->cells));
    TRY(model_weigh(m, &w->asked, all, n, counts, log));
    for (uint64_t i = 0; i < w->cells; i++)
        mass[i] += counts[i] * most;
    return ERR_OK;
}

enum err answer_weigh_events(const struct answer_state *w, struct model_sums *m,
                             const struct model_weight *weight, size_t weights, double *mass,
                             struct log *log)
{
    for (uint32_t stage = SERIES_ONLY; stage <= SERIES_LAST; stage++)
        TRY(add_stage(w, m, weight, weights, stage, mass, log));
    return ERR_OK;
}

enum err answer_events_total(const struct answer_state *w, struct model_sums *m, double *total,
                             struct log *log)
{
    struct answer_state all = *w;
    all.asked.n = 0;
    all.cells = 1;
    *total = 0;
    return answer_weigh_events(&all, m, NULL, 0, total, log);
}

enum err answer_check_events(const struct question *q, const struct scope *columns, struct log *log)
{
    const struct series *e = q->domain->series;
    for (unsigned i = 0; e != NULL && i < columns->n; i++) {
        const uint16_t a = columns->attribute[i];
        if (!q->events && !series_counts_persons(e, a))
            return log_fail(log, ERR_QUESTION,
                            "%s is a column of events: ask FROM %s. Any other name means persons",
                            q->domain->attribute[a].name, e->name);
        if (q->events && a == e->when)
            return log_fail(log, ERR_QUESTION,
                            "of %s the model has the first of each person alone: ask FROM persons, "
                            "or count in synthetic rows, which have a date for each event",
                            q->domain->attribute[a].name);
    }
    return ERR_OK;
}

/* Not the number: how it goes with the stage is known. */
void answer_events_columns(const struct question *q, struct scope *s)
{
    struct scope stage = {.n = 1};
    if (!q->events)
        return;
    stage.attribute[0] = q->domain->series->stage;
    *s = scope_union(s, &stage);
}
