/*
 * aim/table/csv.h - CSV files, read into a table and written from one.
 *
 * The header names the columns. A UTF-8 byte order mark, CRLF, quoted fields, spaces around fields
 * and blank lines are all fine. Text is UTF-8; other encodings, and files that are no text, are
 * refused by name. rows.h says what the fields mean; problems are reported as path:line:field.
 */
#pragma once

#include "aim/table/density.h"
#include "aim/table/rows.h"
#include "base/random.h"

/* Where a file is that is being split, for messages. */
struct csv_place {
    size_t line;       /* of the bytes being parsed, from 1 */
    size_t field;      /* of the row being parsed, from 0 */
    double done, size; /* bytes; size 0: not known */
};

/*
 * Takes the fields, NUL-ended and the taker's to change, and the ends of rows. An error ends all.
 */
struct csv_sink {
    enum err (*field)(void *self, char *text, size_t length);
    enum err (*row)(void *self);
    void *self;
};

/* Splits a file into fields; "-" is standard input. ERR_DATA, logged, if it is no CSV in UTF-8. */
enum err csv_split(const char *path, char delimiter, const struct csv_sink *sink,
                   struct csv_place *place, struct log *log) MUST_CHECK;

struct table_csv_options {
    char delimiter; /* 0: a comma; any byte but quotes, ends of line, letters and digits */
    struct rows_options rows;
};

/* What messages call it: "-" is standard input. */
const char *table_csv_name(const char *path);
/* ERR_DATA, logged, for anything in the file that does not fit; `options` may be NULL. */
enum err table_read_csv(struct table **t, const struct domain *d, const char *path,
                        const struct table_csv_options *options, struct log *log) MUST_CHECK;

/* ERR_USAGE, logged with what it is of, for a delimiter that values may have. */
enum err csv_check_delimiter(char delimiter, const char *of, struct log *log) MUST_CHECK;

/* How CSV is written. */
struct csv_form {
    char delimiter, decimal;
    bool bom;
};

/*
 * Writes labels and numbers. A numeric code becomes the table's number, or one drawn from its bin's
 * density with the given seed, a missing one the attribute's missing text. Reading the file back
 * gives the same codes. The file appears whole or not at all; "-" is standard output. If
 * `densities` is NULL, every density is even; if `form` is, it has commas and points.
 */
enum err table_write_csv(const char *path, const struct table *t, const struct densities *densities,
                         uint64_t seed, const struct csv_form *form, struct log *log) MUST_CHECK;

/* What comes before the header: a byte order mark, if there is one. */
void csv_begin(struct bytes *out, const struct csv_form *form);
/* A field, in quotes where `quote` says so or its text needs them. */
void csv_put(struct bytes *out, const char *text, const struct csv_form *form, bool quote);
/* The text of a number, whose point becomes the form's. */
void csv_put_number(struct bytes *out, const char *text, const struct csv_form *form);
