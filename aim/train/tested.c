#include "aim/train/tested.h"

#include "base/memory.h"

#include <math.h>

/* A cell counts rows that are not of the class, or are. */
#define CELL(bin, own) (2 * (bin) + (own))

static const double *table(const struct tested *t, uint32_t output)
{
    return t->count + (size_t)output * FEATURES_CELLS;
}

/* What a count contributes to the variance of a figure with this slope. */
static double variance(const struct tested *t, double count, double slope)
{
    return (t->sigma * t->sigma + fmax(0, count)) * slope * slope;
}

static struct tested_figure figure(double value, double variance)
{
    return (struct tested_figure){fmin(1, fmax(0, value)), sqrt(variance)};
}

/* Rows in some cells among those in some more. */
static struct tested_figure ratio(const struct tested *t, const double *count,
                                  const bool some[FEATURES_CELLS], const bool all[FEATURES_CELLS])
{
    double part = 0, whole = 0, v = 0;
    for (unsigned i = 0; i < FEATURES_CELLS; i++) {
        part += some[i] ? count[i] : 0;
        whole += all[i] ? count[i] : 0;
    }
    if (!(whole > 0))
        return (struct tested_figure){NAN, NAN};
    for (unsigned i = 0; i < FEATURES_CELLS; i++)
        if (all[i])
            v += variance(t, count[i], (some[i] - part / whole) / whole);
    return figure(part / whole, v);
}

struct tested_figure tested_share(const struct tested *t, uint32_t output, unsigned bin)
{
    bool own[FEATURES_CELLS] = {false}, all[FEATURES_CELLS] = {false};
    own[CELL(bin, 1)] = all[CELL(bin, 1)] = all[CELL(bin, 0)] = true;
    return ratio(t, table(t, output), own, all);
}

/* A score from 1/2 on, in the upper half of the bins, says the second class. */
static struct tested_figure accuracy(const struct tested *t)
{
    bool right[FEATURES_CELLS], all[FEATURES_CELLS];
    for (unsigned bin = 0; bin < FEATURES_BINS; bin++)
        for (unsigned own = 0; own < 2; own++) {
            right[CELL(bin, own)] = (bin >= FEATURES_BINS / 2) == (own == 1);
            all[CELL(bin, own)] = true;
        }
    return ratio(t, table(t, 0), right, all);
}

/* How often a row of the class is in a higher bin than one of another; the same bin: half. */
static struct tested_figure area(const struct tested *t, const double *count)
{
    double of[2] = {0}, below[2] = {0}, better[FEATURES_CELLS], auc = 0, v = 0;
    for (unsigned i = 0; i < FEATURES_CELLS; i++)
        of[i % 2] += count[i];
    if (!(of[0] > 0 && of[1] > 0))
        return (struct tested_figure){NAN, NAN};
    for (unsigned bin = 0; bin < FEATURES_BINS; bin++) {
        const double *here = count + CELL(bin, 0);
        better[CELL(bin, 1)] = (below[0] + here[0] / 2) / of[0];
        better[CELL(bin, 0)] = 1 - (below[1] + here[1] / 2) / of[1];
        auc += here[1] * better[CELL(bin, 1)] / of[1];
        below[0] += here[0];
        below[1] += here[1];
    }
    for (unsigned i = 0; i < FEATURES_CELLS; i++)
        v += variance(t, count[i], (better[i] - auc) / of[i % 2]);
    return figure(auc, v);
}

static enum err fill(struct tested *t, const struct features *f, uint64_t multiplier,
                     const int64_t *opened)
{
    char room[COLUMN_TEXT];
    t->column = memory_string(f->domain->attribute[f->test].name);
    t->value = memory_string(features_test_value(f, room));
    if (t->column == NULL || t->value == NULL)
        return ERR_NOMEM;
    t->outputs = f->outputs;
    t->sigma = 0x1p20 / (double)multiplier; /* z has a deviation of 1, in units of 2^-20 */
    TRY(memory_new(&t->count, features_cells(f)));
    TRY(memory_new(&t->auc, f->outputs));
    for (uint32_t i = 0; i < features_cells(f); i++) {
        t->count[i] = (double)opened[i] / (double)multiplier;
        t->rows += t->count[i] / f->outputs;
    }
    for (uint32_t k = 0; k < f->outputs; k++)
        t->auc[k] = area(t, table(t, k));
    t->accuracy = f->classes == 2 ? accuracy(t) : (struct tested_figure){NAN, NAN};
    return ERR_OK;
}

enum err tested_new(struct tested **out, const struct features *f, uint64_t multiplier,
                    const int64_t *value)
{
    struct tested *t CLEAN(tested_free) = NULL;
    *out = NULL;
    TRY(memory_new(&t, 1));
    TRY(fill(t, f, multiplier, value));
    return memory_hand_over(out, &t);
}

void tested_free(struct tested **t)
{
    if (*t == NULL)
        return;
    memory_free_all(&(*t)->column, &(*t)->value, &(*t)->count, &(*t)->auc);
    memory_free(t);
}
