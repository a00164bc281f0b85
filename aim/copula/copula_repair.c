/* Matrices over all columns: the nearest matrix of correlations, and its root. */
#include "aim/copula/copula.h"

#include "aim/copula/eigen.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

struct repair {
    double *matrix;
    size_t n; /* variables */
    double *v, *value;
    double *inverse; /* of a block's root, n x n at most */
    double *row;     /* n */
};

/* The inverse of the symmetric root of a column's block of m variables. */
static enum err invert_root(const struct repair *r, size_t from, size_t m, struct log *log)
{
    double *v = r->v, *value = r->value; /* free again: the matrix is made */
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

/* Multiplies a block's rows and columns by that inverse. */
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
    eigen_compose(matrix, r.v, r.value, n);
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
