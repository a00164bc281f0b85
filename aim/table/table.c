#include "aim/table/table.h"

#include "base/memory.h"
#include "base/secret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum err reserve(struct table *t, size_t capacity)
{
    for (size_t a = 0; a < t->domain->attributes; a++) {
        TRY(memory_extend(&t->column[a], capacity));
        if (t->number != NULL && domain_has_order(&t->domain->attribute[a]))
            TRY(memory_extend(&t->number[a], capacity));
    }
    if (t->key != NULL)
        TRY(memory_extend(&t->key, capacity));
    if (t->weight != NULL)
        TRY(memory_extend(&t->weight, capacity));
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

enum err table_keep_keys(struct table *t)
{
    return memory_new(&t->key, t->capacity);
}

void table_free(struct table **t)
{
    if (*t == NULL)
        return;
    memory_wipe_free(&(*t)->key, (*t)->capacity * sizeof *(*t)->key);
    memory_free_each(&(*t)->column, (*t)->domain->attributes);
    memory_free_each(&(*t)->number, (*t)->domain->attributes);
    memory_free(&(*t)->weight);
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
    if (t->key != NULL)
        t->key[t->rows] = 0;
    if (t->weight != NULL)
        t->weight[t->rows] = 1;
    t->rows++;
    return ERR_OK;
}

uint64_t table_weight(const struct table *t)
{
    uint64_t sum = t->weight == NULL ? t->rows : 0;
    for (size_t row = 0; t->weight != NULL && row < t->rows; row++)
        sum += t->weight[row];
    return sum;
}

/* --- by key ----------------------------------------------------------------------------------- */

struct table_keyed {
    uint64_t key;
    size_t row;
};

static int by_key(const void *x, const void *y)
{
    const struct table_keyed *a = x, *b = y;
    return a->key != b->key ? (a->key > b->key) - (a->key < b->key)
                            : (a->row > b->row) - (a->row < b->row);
}

static void put_in_order(const struct table *t, const struct table_keyed *order, uint16_t *codes,
                         double *numbers)
{
    for (size_t a = 0; a < t->domain->attributes; a++) {
        for (size_t i = 0; i < t->rows; i++)
            codes[i] = t->column[a][order[i].row];
        memcpy(t->column[a], codes, t->rows * sizeof *codes);
        if (t->number == NULL || t->number[a] == NULL)
            continue;
        for (size_t i = 0; i < t->rows; i++)
            numbers[i] = t->number[a][order[i].row];
        memcpy(t->number[a], numbers, t->rows * sizeof *numbers);
    }
    for (size_t i = 0; i < t->rows; i++)
        t->key[i] = order[i].key;
}

enum err table_sort(struct table *t, size_t most, size_t *surplus)
{
    struct table_keyed *order CLEAN(memory_release) = NULL;
    uint16_t *codes CLEAN(memory_release) = NULL;
    double *numbers CLEAN(memory_release) = NULL;
    TRY(memory_new(&order, t->rows));
    TRY(memory_new(&codes, t->rows));
    TRY(memory_new(&numbers, t->number != NULL ? t->rows : 0));
    for (size_t i = 0; i < t->rows; i++)
        order[i] = (struct table_keyed){t->key[i], i};
    qsort(order, t->rows, sizeof *order, by_key);
    put_in_order(t, order, codes, numbers);
    *surplus = 0;
    for (size_t i = most; i < t->rows; i++)
        *surplus += t->key[i] == t->key[i - most];
    secret_wipe(order, t->rows * sizeof *order);
    return ERR_OK;
}

static void move_row(const struct table *t, size_t from, size_t to)
{
    for (size_t a = 0; a < t->domain->attributes; a++) {
        t->column[a][to] = t->column[a][from];
        if (t->number != NULL && t->number[a] != NULL)
            t->number[a][to] = t->number[a][from];
    }
    t->key[to] = t->key[from];
}

enum err table_bound(struct table *t, size_t most, size_t *surplus)
{
    size_t left = 0, rank = 0;
    uint64_t last = 0;
    TRY(table_sort(t, most, surplus));
    for (size_t i = 0; i < t->rows; i++) {
        rank = i > 0 && t->key[i] == last ? rank + 1 : 0;
        last = t->key[i];
        if (rank < most)
            move_row(t, i, left++);
    }
    t->rows = left;
    return ERR_OK;
}
