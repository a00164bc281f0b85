/* Whether known margins agree with each other, and with what was measured. */
#include "parties/analyst/known.h"

#include "aim/model/factor.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Counts of a marginal, summed onto what it shares with another. */
static enum err sum_onto(struct factor *f, const struct measurement *m, const struct scope *shared,
                         const struct domain *d)
{
    const struct scope s = scope_of(&m->clique);
    TRY(factor_new(f, shared, d));
    factor_sum(&s, m->y, shared, d, f->value);
    return ERR_OK;
}

static struct scope shared_by(const struct measurement *a, const struct measurement *b)
{
    const struct scope x = scope_of(&a->clique), y = scope_of(&b->clique);
    return scope_intersect(&x, &y);
}

/* Where a margin came from, for messages. */
static void place_of(const struct known *k, size_t i, const char *path, char *text, size_t size)
{
    if (k->line[i] > 0)
        snprintf(text, size, "%.200s:%zu", path, k->line[i]);
    else
        snprintf(text, size, "the result's known totals");
}

/* Compares two known margins: what they share may differ by as much as rounding explains. */
static enum err compare_known(const struct known *k, size_t i, size_t j, const struct domain *d,
                              const char *path, struct log *log)
{
    const struct scope shared = shared_by(&k->margin[i], &k->margin[j]);
    struct factor x CLEAN(factor_clear) = {0}, y CLEAN(factor_clear) = {0};
    double added;
    TRY(sum_onto(&x, &k->margin[i], &shared, d));
    TRY(sum_onto(&y, &k->margin[j], &shared, d));
    added = (double)(clique_cells(&k->margin[i].clique, d) +
                     clique_cells(&k->margin[j].clique, d)) /
            (double)x.cells;
    for (uint64_t cell = 0; cell < x.cells; cell++) {
        struct clique c = {.n = shared.n};
        char one[240], other[240], name[300];
        if (fabs(x.value[cell] - y.value[cell]) <= 1 + sqrt(added))
            continue;
        memcpy(c.attribute, shared.attribute, shared.n * sizeof *c.attribute);
        place_of(k, i, path, one, sizeof one);
        place_of(k, j, path, other, sizeof other);
        known_cell(d, &c, cell, name, sizeof name);
        return log_fail(log, ERR_DATA,
                        "the known margins do not agree: %s has %.10g rows%s%s, %s has %.10g, and "
                        "rounding explains %.1f",
                        one, x.value[cell], shared.n > 0 ? " of " : " in all", name, other,
                        y.value[cell], 1 + sqrt(added));
    }
    return ERR_OK;
}

/* How unlikely a sum of n squared unit Gaussians is, as a z-score (Wilson and Hilferty). */
static double z_of(double squares, double n)
{
    return (cbrt(squares / n) - (1 - 2 / (9 * n))) / sqrt(2 / (9 * n));
}

/* The attributes that two margins share and that have all their codes in both. */
static struct scope shared_codes(const struct measurement *known, const struct measurement *noisy)
{
    const struct scope shared = shared_by(known, noisy);
    struct scope apart = {.n = 0};
    for (unsigned i = 0; i < shared.n; i++)
        if (noisy->merges == NULL || noisy->merges->group[shared.attribute[i]] == NULL)
            apart.attribute[apart.n++] = shared.attribute[i];
    return apart;
}

/* A noisy margin, whose cells may be merged, summed onto what it shares with a known one. */
static enum err sum_noisy(struct factor *f, const struct measurement *noisy,
                          const struct scope *shared, const struct domain *d)
{
    struct domain grouped;
    enum err e;
    if (noisy->merges == NULL)
        return sum_onto(f, noisy, shared, d);
    e = merges_domain(noisy->merges, d, &grouped);
    if (e == ERR_OK)
        e = sum_onto(f, noisy, shared, &grouped);
    memory_free(&grouped.attribute);
    return e;
}

/* Compares a known margin with a noisy one, over what they share. */
static enum err z_score(double *z, const struct measurement *known, const struct measurement *noisy,
                        const struct domain *d)
{
    const struct scope shared = shared_codes(known, noisy);
    struct factor x CLEAN(factor_clear) = {0}, y CLEAN(factor_clear) = {0};
    double squares = 0, variance;
    TRY(sum_onto(&x, known, &shared, d));
    TRY(sum_noisy(&y, noisy, &shared, d));
    variance = noisy->sigma * noisy->sigma * (double)measurement_cells(noisy, d) / (double)x.cells;
    for (uint64_t i = 0; i < x.cells; i++)
        squares += (x.value[i] - y.value[i]) * (x.value[i] - y.value[i]) / variance;
    *z = z_of(squares, (double)x.cells);
    return ERR_OK;
}

static enum err compare_noisy(const struct known *k, size_t i, const struct domain *d,
                              const char *path, const struct measurement *noisy, size_t count,
                              struct log *log)
{
    const struct measurement *worst = NULL;
    double most = -INFINITY;
    char place[240];
    for (size_t n = 0; n < count; n++) {
        double z;
        if (noisy[n].total > 0) /* of another population */
            continue;
        TRY(z_score(&z, &k->margin[i], &noisy[n], d));
        if (z > most) {
            most = z;
            worst = &noisy[n];
        }
    }
    place_of(k, i, path, place, sizeof place);
    if (most > KNOWN_REFUSED)
        return log_fail(log, ERR_DATA,
                        "%s: the known counts of %s do not fit what was measured of %s: z is %.1f, "
                        "and noise would leave it below %d. Are they of the same people?",
                        place, clique_name(&k->margin[i].clique, d).text,
                        clique_name(&worst->clique, d).text, most, KNOWN_REFUSED);
    if (most > KNOWN_DOUBTED)
        log_warn(log,
                 "%s: the known counts of %s hardly fit what was measured of %s: z is %.1f, and "
                 "noise would nearly always leave it below %d",
                 place, clique_name(&k->margin[i].clique, d).text,
                 clique_name(&worst->clique, d).text, most, KNOWN_DOUBTED);
    return ERR_OK;
}

static double total_of(const struct measurement *m, const struct domain *d)
{
    double sum = 0;
    for (uint64_t i = clique_cells(&m->clique, d); i-- > 0;)
        sum += m->y[i];
    return sum;
}

enum err known_check(struct known *k, const struct domain *d, const char *path,
                     const struct measurement *noisy, size_t count, struct log *log)
{
    double rows = k->count > 0 ? total_of(&k->margin[0], d) : 1;
    if (!(rows >= 1))
        return log_fail(log, ERR_DATA, "%s: the known counts add up to %g rows", path, rows);
    for (size_t i = 0; i < k->count; i++)
        for (size_t j = 0; j < i; j++)
            TRY(compare_known(k, i, j, d, path, log));
    for (size_t i = 0; i < k->count; i++) {
        double scale = rows / fmax(total_of(&k->margin[i], d), 1);
        TRY(compare_noisy(k, i, d, path, noisy, count, log));
        for (uint64_t c = clique_cells(&k->margin[i].clique, d); c-- > 0;)
            k->margin[i].y[c] *= scale;
    }
    return ERR_OK;
}
