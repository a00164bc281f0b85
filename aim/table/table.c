#include "aim/table/table.h"

#include "base/memory.h"

#include <math.h>

static enum err reserve(struct table *t, size_t capacity)
{
    for (size_t a = 0; a < t->domain->attributes; a++) {
        TRY(memory_extend(&t->column[a], capacity));
        if (t->number != NULL && t->domain->attribute[a].kind != DOMAIN_CATEGORICAL)
            TRY(memory_extend(&t->number[a], capacity));
    }
    t->capacity = capacity;
    return ERR_OK;
}

enum err table_new(struct table **out, const struct domain *d, size_t capacity)
{
    struct table *t CLEAN(table_free) = NULL;
    *out = NULL;
    TRY(memory_new(&t, 1));
    t->domain = d;
    TRY(memory_new(&t->column, d->attributes));
    TRY(reserve(t, capacity));
    return memory_hand_over(out, &t);
}

enum err table_keep_numbers(struct table *t)
{
    TRY(memory_new(&t->number, t->domain->attributes));
    return reserve(t, t->capacity);
}

void table_free(struct table **t)
{
    if (*t == NULL)
        return;
    for (size_t a = 0; (*t)->column != NULL && a < (*t)->domain->attributes; a++)
        memory_free(&(*t)->column[a]);
    for (size_t a = 0; (*t)->number != NULL && a < (*t)->domain->attributes; a++)
        memory_free(&(*t)->number[a]);
    memory_free(&(*t)->column);
    memory_free(&(*t)->number);
    memory_free(t);
}

enum err table_append(struct table *t, const uint16_t *codes)
{
    for (size_t a = 0; a < t->domain->attributes; a++)
        if (codes[a] >= t->domain->attribute[a].size)
            return ERR_DATA;
    if (t->rows == t->capacity)
        TRY(reserve(t, t->capacity < 64 ? 128 : t->capacity + t->capacity / 2));
    for (size_t a = 0; a < t->domain->attributes; a++) {
        t->column[a][t->rows] = codes[a];
        if (t->number != NULL && t->number[a] != NULL)
            t->number[a][t->rows] = NAN;
    }
    t->rows++;
    return ERR_OK;
}
