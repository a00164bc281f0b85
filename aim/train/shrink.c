#include "aim/train/shrink.h"

#include <math.h>

#define FACTOR 0.99

static uint64_t squares(const double *u, size_t n, double by)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t code = (uint64_t)rint(u[i] * by);
        sum += code * code;
    }
    return sum;
}

size_t shrink_rows(struct table *t, const struct features *f)
{
    uint16_t *column[DOMAIN_ATTRIBUTES_MAX];
    size_t n = 0, changed = 0;
    for (size_t i = 0; i < f->domain->attributes; i++) {
        const uint32_t at = domain_find(t->domain, f->domain->attribute[i].name);
        if (f->column[i].kind == FEATURES_NUMBER && at != DOMAIN_NO_CODE)
            column[n++] = t->column[at];
    }
    for (size_t row = 0; row < t->rows && n > 0; row++) {
        double u[DOMAIN_ATTRIBUTES_MAX], by = 1;
        for (size_t i = 0; i < n; i++)
            u[i] = column[i][row];
        if (squares(u, n, 1) <= f->norm2)
            continue;
        do
            by *= FACTOR;
        while (squares(u, n, by) > f->norm2);
        for (size_t i = 0; i < n; i++)
            column[i][row] = (uint16_t)rint(u[i] * by);
        changed++;
    }
    return changed;
}
