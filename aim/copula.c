#include "aim/copula.h"

#include "aim/eigen.h"
#include "aim/forms.h"
#include "aim/normal.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHTLESS 1e-12 /* a share of so little has no mean score */
#define STEPS 64
#define HALVINGS 60

_Static_assert(COPULA_GROUPS_MOST <= FORMS_GROUPS_MOST, "forms of all groups may be asked for");

static bool has_labels(const struct domain_attribute *a)
{
    return a->kind == DOMAIN_CATEGORICAL && a->size > 2;
}

/* How many forms there are if no column has more groups. */
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
    memory_free(&c->group);
    memory_free(&c->share);
    memory_free(&c->score);
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

/* As much as sums by labels tell of their latent variables, on average of the rows. */
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
 * From 0, where the series rises, to the first place that has m: cut off after COPULA_TERMS, the
 * series of columns with rare codes turns back before the ends, and may have m twice.
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

/* --- all columns ------------------------------------------------------------------------------ */

struct repair {
    double *matrix;
    size_t n; /* variables */
    double *v, *value;
    double *inverse; /* of a block's root, n x n at most */
    double *row;     /* n */
};

/* matrix = v' diag(value) v */
static void compose(const struct repair *r)
{
    const size_t n = r->n;
    memset(r->matrix, 0, n * n * sizeof *r->matrix);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                r->matrix[i * n + j] += r->v[k * n + i] * r->value[k] * r->v[k * n + j];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            r->matrix[j * n + i] = r->matrix[i * n + j];
}

/* The inverse of the symmetric root of a column's block of m variables. */
static enum err invert_root(const struct repair *r, size_t from, size_t m, struct log *log)
{
    double *v = r->v, *value = r->value; /* the matrix has been made of them */
    for (size_t i = 0; i < m; i++)
        memcpy(v + i * m, r->matrix + (from + i) * r->n + from, m * sizeof *v);
    if (m == 1) {
        r->inverse[0] = 1 / sqrt(v[0]);
        return ERR_OK;
    }
    TRY(eigen_symmetric(v, value, m, log));
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            double sum = 0;
            for (size_t k = 0; k < m; k++)
                sum += v[k * m + i] * v[k * m + j] / sqrt(value[k]);
            r->inverse[i * m + j] = sum;
        }
    return ERR_OK;
}

/* Rows of a block, and columns, times that inverse. */
static void apply(const struct repair *r, size_t from, size_t m)
{
    double *x = r->matrix;
    for (size_t c = 0; c < r->n; c++) {
        for (size_t i = 0; i < m; i++) {
            r->row[i] = 0;
            for (size_t k = 0; k < m; k++)
                r->row[i] += r->inverse[i * m + k] * x[(from + k) * r->n + c];
        }
        for (size_t i = 0; i < m; i++)
            x[(from + i) * r->n + c] = r->row[i];
    }
    for (size_t c = 0; c < r->n; c++) {
        for (size_t i = 0; i < m; i++) {
            r->row[i] = 0;
            for (size_t k = 0; k < m; k++)
                r->row[i] += x[c * r->n + from + k] * r->inverse[k * m + i];
        }
        for (size_t i = 0; i < m; i++)
            x[c * r->n + from + i] = r->row[i];
    }
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < m; k++)
            x[(from + i) * r->n + from + k] = i == k;
}

enum err copula_repair(double *matrix, const size_t *first, size_t d, struct log *log)
{
    const size_t n = first[d];
    double *room CLEAN(memory_release) = NULL;
    struct repair r = {.matrix = matrix, .n = n};
    TRY(memory_new(&room, 2 * n * n + 2 * n));
    r.v = room;
    r.inverse = r.v + n * n;
    r.value = r.inverse + n * n;
    r.row = r.value + n;
    memcpy(r.v, matrix, n * n * sizeof *r.v);
    TRY(eigen_symmetric(r.v, r.value, n, log));
    for (size_t k = 0; k < n; k++)
        r.value[k] = fmax(r.value[k], COPULA_EIGENVALUE_LEAST);
    compose(&r);
    for (size_t i = 0; i < d; i++) {
        TRY(invert_root(&r, first[i], first[i + 1] - first[i], log));
        apply(&r, first[i], first[i + 1] - first[i]);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            matrix[j * n + i] = matrix[i * n + j];
    return ERR_OK;
}

enum err copula_root(double *m, size_t d)
{
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = m[i * d + j];
            for (size_t k = 0; k < j; k++)
                sum -= m[i * d + k] * m[j * d + k];
            if (i == j && !(sum > 0))
                return ERR_RANGE;
            m[i * d + j] = i == j ? sqrt(sum) : sum / m[j * d + j];
        }
        for (size_t j = i + 1; j < d; j++)
            m[i * d + j] = 0;
    }
    return ERR_OK;
}
