/* aim/table/table.h - rows as codes, column by column. */
#pragma once

#include "aim/table/domain.h"

#include <math.h>

/* The limit of a table, and of the total of a model that is read from a file. */
#define TABLE_ROWS_MAX (UINT64_C(1) << 48)

struct table {
    const struct domain *domain; /* borrowed */
    size_t rows;
    size_t capacity;
    uint16_t **column; /* column[attribute][row] */
    /* NULL, or number[attribute][row]: as written, NAN if none; NULL for attributes of labels */
    double **number;
    uint8_t *weight; /* NULL, or weight[row]: what the row counts (aim/table/series.h) */
    uint64_t *key;   /* NULL, or key[row]: whose row it is (aim/table/person_key.h) */
};

/* An empty table with room for `capacity` rows; it grows as rows are added. */
enum err table_new(struct table **t, const struct domain *d, size_t capacity) MUST_CHECK;
void table_free(struct table **t);
/* Keeps the numbers too, from the first row on. */
enum err table_keep_numbers(struct table *t) MUST_CHECK;
/* The same for keys, which are 0 at first. */
enum err table_keep_keys(struct table *t) MUST_CHECK;

/*
 * Adds a row of one code for each attribute; ERR_DATA if one is outside its attribute. Its numbers,
 * if kept, are NAN at first.
 */
enum err table_append(struct table *t, const uint16_t *codes) MUST_CHECK;

/*
 * Sorts a table that keeps keys by them, rows of a key as they came. *surplus is how many rows are
 * beyond the first `most` of their key.
 */
enum err table_sort(struct table *t, size_t most, size_t *surplus) MUST_CHECK;
/* The same, and leaves out the rows beyond the first `most` of their key. */
enum err table_bound(struct table *t, size_t most, size_t *surplus) MUST_CHECK;

/* The sum of all weights; without any, the number of rows. */
uint64_t table_weight(const struct table *t);

/* The number that is kept of a row, or NAN. */
static inline double table_number(const struct table *t, size_t attribute, size_t row)
{
    return t->number != NULL && t->number[attribute] != NULL ? t->number[attribute][row] : NAN;
}

/* The cell of a row in a table over `n` attributes, the last fastest. */
static inline size_t table_cell(const struct table *t, const uint16_t *attribute, unsigned n,
                                size_t row)
{
    size_t cell = 0;
    for (unsigned i = 0; i < n; i++)
        cell = cell * t->domain->attribute[attribute[i]].size + t->column[attribute[i]][row];
    return cell;
}
