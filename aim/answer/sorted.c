#include "aim/answer/sorted.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sorted_make(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
}

double sorted_quantile(const double *x, size_t n, double p)
{
    const double place = p * (double)(n - 1);
    const size_t low = (size_t)place, high = low + 1 < n ? low + 1 : low;
    return x[low] + (place - (double)low) * (x[high] - x[low]);
}
