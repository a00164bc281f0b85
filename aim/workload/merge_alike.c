/* Codes that public knowledge treats alike. */
#include "aim/workload/merge.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A code, with the part it had, and which cells of a clique cannot occur with it. */
struct slice {
    uint32_t part, code;
    size_t cells;
    const bool *barred;
};

static int alike(const struct slice *a, const struct slice *b)
{
    return a->part != b->part ? (a->part < b->part ? -1 : 1)
                              : memcmp(a->barred, b->barred, a->cells * sizeof *a->barred);
}

static int in_order(const void *x, const void *y)
{
    const struct slice *a = x, *b = y;
    const int order = alike(a, b);
    return order != 0 ? order : (a->code > b->code) - (a->code < b->code);
}

/* Whether each cell cannot occur, the cells of each code of the clique's i-th column together. */
static enum err slice_cells(bool **barred, const struct domain *d, const struct workload_zeros *z,
                            unsigned i)
{
    const uint64_t cells = clique_cells(&z->clique, d);
    const uint32_t size = d->attribute[z->clique.attribute[i]].size;
    uint64_t stride = 1;
    TRY(memory_new(barred, cells));
    for (unsigned k = i + 1; k < z->clique.n; k++)
        stride *= d->attribute[z->clique.attribute[k]].size;
    for (size_t k = 0; k < z->cells; k++) {
        const uint64_t cell = z->cell[k], code = cell / stride % size;
        if (cell < cells)
            (*barred)[code * (cells / size) + cell / stride / size * stride + cell % stride] = true;
    }
    return ERR_OK;
}

/* A column's parts; at first all codes are in one. */
static enum err part_of(struct merges_alike *x, const struct domain *d, uint16_t attribute,
                        uint32_t **part)
{
    if (x->part[attribute] == NULL)
        TRY(memory_new(&x->part[attribute], d->attribute[attribute].size));
    *part = x->part[attribute];
    return ERR_OK;
}

/* Parts the codes of the clique's i-th column that it treats differently. */
static enum err part_by(struct merges_alike *x, const struct domain *d,
                        const struct workload_zeros *z, unsigned i)
{
    const uint16_t attribute = z->clique.attribute[i];
    const uint32_t size = d->attribute[attribute].size;
    uint32_t *part, parts = 0;
    struct slice *slice CLEAN(memory_release) = NULL;
    bool *barred CLEAN(memory_release) = NULL;
    TRY(part_of(x, d, attribute, &part));
    TRY(slice_cells(&barred, d, z, i));
    TRY(memory_new(&slice, size));
    for (uint32_t code = 0; code < size; code++) {
        const size_t cells = (size_t)(clique_cells(&z->clique, d) / size);
        slice[code] = (struct slice){part[code], code, cells, barred + code * cells};
    }
    qsort(slice, size, sizeof *slice, in_order);
    for (uint32_t k = 0; k < size; k++) {
        parts += k > 0 && alike(&slice[k - 1], &slice[k]) != 0;
        part[slice[k].code] = parts;
    }
    return ERR_OK;
}

enum err merges_alike(struct merges_alike *x, const struct domain *d,
                      const struct workload_zeros *zero, size_t zeros)
{
    *x = (struct merges_alike){.attributes = d->attributes};
    TRY(memory_new(&x->part, d->attributes));
    for (size_t k = 0; k < zeros; k++)
        for (unsigned i = 0; i < zero[k].clique.n && zero[k].clique.n > 1; i++)
            TRY(part_by(x, d, &zero[k], i));
    return ERR_OK;
}

enum err merges_apart(struct merges_alike *x, const struct domain *d, uint16_t attribute)
{
    uint32_t *part;
    TRY(part_of(x, d, attribute, &part));
    for (uint32_t code = 0; code < d->attribute[attribute].size; code++)
        part[code] = code;
    return ERR_OK;
}

void merges_alike_clear(struct merges_alike *x)
{
    memory_free_each(&x->part, x->attributes);
}
