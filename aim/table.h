/*
 * aim/table.h - rows as codes, column by column.
 *
 * Reading a CSV file: the header names columns in any order; columns that the domain does not know
 * are left out and listed once; a UTF-8 byte order mark, CRLF, quoted fields, spaces around fields
 * and blank lines are all fine. Text is UTF-8; other encodings, and files that are no text, are
 * refused by name. Every problem is reported as path:line:field with the attribute,
 * the value and what is allowed, the first TABLE_ERRORS_SHOWN of them one by one, then a count; any
 * problem makes the whole read fail, since rows that are silently dropped would be a wrong count.
 */
#ifndef TREFOIL_AIM_TABLE_H
#define TREFOIL_AIM_TABLE_H

#include "aim/workload.h"

#define TABLE_ERRORS_SHOWN 20

struct table {
    const struct domain *domain; /* borrowed */
    size_t rows;
    size_t capacity;
    uint16_t **column; /* column[attribute][row] */
};

struct table_csv_options {
    char delimiter;     /* 0: a comma; any byte but quotes, ends of line, letters and digits */
    char decimal;       /* 0: a point. With ',' numbers are 1,5 and may have no point at all */
    size_t max_rows;    /* 0: 100 million; one more is ERR_RANGE */
    const char *person; /* NULL, or a column that says whose a row is: nobody may have more */
    size_t person_rows; /* than so many rows. It is read for that alone */
};

/* An empty table with room for `capacity` rows; it grows as rows are added. */
enum err table_new(struct table **t, const struct domain *d, size_t capacity) MUST_CHECK;
void table_free(struct table **t);

/* Adds a row of one code for each attribute; ERR_DATA if one is outside its attribute. */
enum err table_append(struct table *t, const uint16_t *codes) MUST_CHECK;

/* ERR_DATA, logged, for anything in the file that does not fit; `options` may be NULL. */
enum err table_read_csv(struct table **t, const struct domain *d, const char *path,
                        const struct table_csv_options *options, struct log *log) MUST_CHECK;

/*
 * Writes labels and numbers. A numeric code becomes a number drawn uniformly inside its bin with
 * the given seed, a missing one the attribute's missing text. Reading the file back gives the same
 * codes. The file appears whole or not at all; "-" is the standard output.
 */
enum err table_write_csv(const char *path, const struct table *t, uint64_t seed,
                         struct log *log) MUST_CHECK;

/* The cell of a row in a table over `n` attributes, the last fastest. */
static inline size_t table_cell(const struct table *t, const uint16_t *attribute, unsigned n,
                                size_t row)
{
    size_t cell = 0;
    for (unsigned i = 0; i < n; i++)
        cell = cell * t->domain->attribute[attribute[i]].size + t->column[attribute[i]][row];
    return cell;
}

/* Counts the rows in each cell of a marginal; `cells` has clique_cells() entries. */
void table_marginal(const struct table *t, const struct clique *c, int64_t *cells);
/* The same of the whole closure: `counts` has w->cells entries, each query's at its offset. */
enum err table_closure(const struct table *t, const struct workload *w, int64_t *counts) MUST_CHECK;

#endif
