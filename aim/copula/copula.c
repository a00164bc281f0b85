#include "aim/copula/copula.h"

#include "aim/budget/forms.h"
#include "aim/model/normal.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHTLESS 1e-12 /* a share this small has no mean score */
#define STEPS 64
#define HALVINGS 60

_Static_assert(COPULA_GROUPS_MOST <= FORMS_GROUPS_MOST, "forms of all groups may be asked for");

static bool has_labels(const struct domain_attribute *a)
{
    return !domain_has_order(a) && a->size > 2;
}

/* How many forms there are if no column has more than `groups` groups. */
static uint64_t forms_of(const struct domain *d, size_t groups)
{
    uint64_t forms = 0, before = 0;
    for (size_t i = 0; i < d->attributes; i++) {
        const struct domain_attribute *a = &d->attribute[i];
        const uint64_t own = !has_labels(a) ? 1 : a->size < groups ? a->size : groups;
        forms += before * own;
        before += own;
    }
    return forms;
}

size_t copula_groups_most(const struct domain *d)
{
    size_t groups = COPULA_GROUPS_MOST;
    while (groups > 2 && forms_of(d, groups) > COPULA_FORMS_MOST)
        groups--;
    return forms_of(d, groups) <= FORMS_MAX ? groups : 1;
}

uint64_t copula_forms_most(const struct domain *d)
{
    return forms_of(d, copula_groups_most(d));
}

enum err copula_column_new(struct copula_column *c, const struct domain_attribute *a,
                           size_t groups_most)
{
    *c = (struct copula_column){
        .size = a->size, .nominal = has_labels(a) && groups_most > 1, .groups = 1};
    TRY(memory_new(&c->group, a->size));
    TRY(memory_new(&c->share, a->size));
    return memory_new(&c->score, a->size);
}

void copula_column_clear(struct copula_column *c)
{
    memory_free_all(&c->group, &c->share, &c->score);
}

/* --- one column ------------------------------------------------------------------------------- */

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

enum err copula_set_shares(struct copula_column *c, const double *counts, double total)
{
    double *sorted CLEAN(memory_release) = NULL, sum = 0, excess = 0;
    TRY(memory_new(&sorted, c->size));
    memcpy(sorted, counts, c->size * sizeof *sorted);
    qsort(sorted, c->size, sizeof *sorted, descending);
    for (uint32_t i = 0; i < c->size; i++) {
        const double e = ((sum += sorted[i]) - total) / (i + 1);
        if (sorted[i] > e)
            excess = e;
    }
    for (uint32_t a = 0; a < c->size; a++)
        c->share[a] = fmin(fmax(counts[a] - excess, 0) / total, 1);
    return ERR_OK;
}

void copula_bounds(const double *share, uint32_t size, double *bound)
{
    double sum = 0;
    bound[0] = -INFINITY;
    for (uint32_t a = 0; a + 1 < size; a++)
        bound[a + 1] = normal_quantile(fmin(sum += share[a], 1));
    bound[size] = INFINITY;
}

enum err copula_set_scores(struct copula_column *c, double clip)
{
    double *bound CLEAN(memory_release) = NULL, mean = 0;
    for (uint32_t a = 0; c->nominal && a < c->size; a++)
        c->score[a] = clip;
    if (c->nominal)
        return ERR_OK;
    TRY(memory_new(&bound, (size_t)c->size + 1));
    copula_bounds(c->share, c->size, bound);
    for (uint32_t a = 0; a < c->size; a++) {
        const double p = c->share[a];
        double t = bound[a];
        if (p > WEIGHTLESS)
            t = (normal_density(bound[a]) - normal_density(bound[a + 1])) / p;
        c->score[a] = fmax(-clip, fmin(t, clip));
        mean += p * c->score[a];
    }
    for (uint32_t a = 0; a < c->size; a++)
        c->score[a] -= mean;
    return ERR_OK;
}

/* He_(k-1)(x) phi(x) / sqrt(k!), k from 1 on; 0 where x is infinite. */
static void edge_terms(double x, double term[COPULA_TERMS])
{
    double before = 0, now = 1, root = 1;
    memset(term, 0, COPULA_TERMS * sizeof *term);
    if (!isfinite(x))
        return;
    for (int k = 1; k <= COPULA_TERMS; k++) {
        const double next = x * now - (k - 1) * before;
        root *= sqrt(k);
        term[k - 1] = now * normal_density(x) / root;
        before = now;
        now = next;
    }
}

/* How much sums by label tell about their latent variables, averaged over the rows. */
static double gain_of_labels(const struct copula_column *c)
{
    double square = 0;
    for (uint32_t a = 0; a < c->size; a++) {
        const double h = normal_density(normal_quantile(fmin(c->share[a], 1)));
        square += c->share[a] * h * h;
    }
    return c->score[0] * sqrt(square);
}

enum err copula_set_hermite(struct copula_column *c)
{
    double *bound CLEAN(memory_release) = NULL, low[COPULA_TERMS], high[COPULA_TERMS];
    if (c->nominal) {
        c->hermite[0] = gain_of_labels(c);
        return ERR_OK;
    }
    TRY(memory_new(&bound, (size_t)c->size + 1));
    copula_bounds(c->share, c->size, bound);
    memset(c->hermite, 0, sizeof c->hermite);
    c->mean = 0;
    edge_terms(bound[0], low);
    for (uint32_t a = 0; a < c->size; a++) {
        edge_terms(bound[a + 1], high);
        for (int k = 0; k < COPULA_TERMS; k++)
            c->hermite[k] += c->score[a] * (low[k] - high[k]);
        c->mean += c->share[a] * c->score[a];
        memcpy(low, high, sizeof low);
    }
    return ERR_OK;
}

/* --- two columns ------------------------------------------------------------------------------ */

static double series(const struct copula_column *a, const struct copula_column *b, double r)
{
    double sum = 0;
    for (int k = COPULA_TERMS - 1; k >= 0; k--)
        sum = (sum + a->hermite[k] * b->hermite[k]) * r;
    return sum;
}

/*
 * From 0, where the series rises, to the first place where it reaches m. Cut off after
 * COPULA_TERMS, the series of columns with rare codes turns back before the ends, and may reach m
 * twice.
 */
double copula_correlation(const struct copula_column *a, const struct copula_column *b, double m)
{
    const double side = m < 0 ? -1 : 1;
    double near = 0, far = 0;
    if (!(a->hermite[0] > WEIGHTLESS && b->hermite[0] > WEIGHTLESS))
        return 0; /* all rows have one code in a column: nothing is known, and nothing matters */
    for (int i = 1; i <= STEPS; i++) {
        far = side * COPULA_CORRELATION_MOST * i / STEPS;
        if (side * series(a, b, far) >= side * m)
            break;
        near = far;
    }
    for (int i = 0; near != far && i < HALVINGS; i++) {
        const double middle = (near + far) / 2;
        if (side * series(a, b, middle) < side * m)
            near = middle;
        else
            far = middle;
    }
    return (near + far) / 2;
}
