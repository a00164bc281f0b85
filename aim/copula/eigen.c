#include "aim/copula/eigen.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A Fortran call: everything is passed by address, with the lengths of the two texts last. */
typedef void dsyev_function(const char *job, const char *half, const int *n, double *a,
                            const int *lda, double *w, double *work, const int *length, int *info,
                            size_t job_length, size_t half_length);

#define WORK 64 /* words for each row: one block */

struct library {
    void *handle;
    dsyev_function *dsyev;
};

static void library_close(struct library *l)
{
    if (l->handle != NULL)
        (void)dlclose(l->handle);
}

static enum err library_open(struct library *l, struct log *log)
{
    static const char *const names[] = {"libopenblas.so.0", "liblapack.so.3"};
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 0); /* for the same last digit each time */
    for (size_t i = 0; l->handle == NULL && i < sizeof names / sizeof *names; i++)
        l->handle = dlopen(names[i], RTLD_NOW | RTLD_NODELETE);
    if (l->handle != NULL) {
        void *found = dlsym(l->handle, "dsyev_");
        memcpy(&l->dsyev, &found, sizeof found);
    }
    if (l->dsyev != NULL)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM,
                    "a copula needs LAPACK, and there is no libopenblas.so.0: install OpenBLAS "
                    "(Debian: libopenblas0)");
}

enum err eigen_symmetric(double *matrix, double *value, size_t d, struct log *log)
{
    struct library l CLEAN(library_close) = {0};
    double *work CLEAN(memory_release) = NULL;
    const int n = (int)d, length = WORK * n;
    int info = 0;
    if (d == 0 || d > INT_MAX / WORK)
        return ERR_RANGE;
    for (size_t i = 0; i < d * d; i++)
        if (!isfinite(matrix[i])) /* dsyev would return NaNs and no error */
            return ERR_RANGE;
    TRY(memory_new(&work, (size_t)length));
    TRY(library_open(&l, log));
    l.dsyev("V", "L", &n, matrix, &n, value, work, &length, &info, 1, 1);
    return info == 0 ? ERR_OK : ERR_RANGE;
}

void eigen_compose(double *matrix, const double *v, const double *value, size_t d)
{
    memset(matrix, 0, d * d * sizeof *matrix);
    for (size_t k = 0; k < d; k++)
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j <= i; j++)
                matrix[i * d + j] += v[k * d + i] * value[k] * v[k * d + j];
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            matrix[j * d + i] = matrix[i * d + j];
}
