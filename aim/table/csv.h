/*
 * aim/table/csv.h - CSV files, read into a table and written from one.
 *
 * The header names columns in any order. A UTF-8 byte order mark, CRLF, quoted fields, spaces
 * around fields and blank lines are all fine. Text is UTF-8; other encodings, and files that are no
 * text, are refused by name. Every problem is reported as path:line:field with the attribute, the
 * value and what is allowed.
 */
#ifndef TREFOIL_AIM_TABLE_CSV_H
#define TREFOIL_AIM_TABLE_CSV_H

#include "aim/table/table.h"

#define TABLE_ERRORS_SHOWN 20

struct table_csv_options {
    char delimiter;     /* 0: a comma; any byte but quotes, ends of line, letters and digits */
    char decimal;       /* 0: a point. With ',' numbers are 1,5 and may have no point at all */
    size_t max_rows;    /* 0: 100 million; one more is ERR_RANGE */
    const char *person; /* NULL, or a column that says whose a row is: nobody may have more */
    size_t person_rows; /* than so many rows. It is read for that alone */
};

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

#endif
