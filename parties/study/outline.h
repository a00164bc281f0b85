/*
 * parties/study/outline.h - the columns of a study to be, from what people have already.
 *
 * A codebook, a REDCap data dictionary, a database's schema, the names in a header, or rows that
 * are public. What it does not say is left as FILL-IN, which `trefoil check` names; columns that
 * are no use in a table, such as free text and keys, become comments.
 */
#pragma once

#include "aim/sql/database.h"
#include "base/bytes.h"

enum outline_kind {
    OUTLINE_UNKNOWN,
    OUTLINE_LABELS,
    OUTLINE_WHOLE,
    OUTLINE_NUMBER,
    OUTLINE_DATE,
    OUTLINE_NONE
};

/* Texts, each with its NUL. */
struct outline_texts {
    struct bytes text;
    size_t count;
};
void outline_add(struct outline_texts *t, const char *text);
bool outline_has(const struct outline_texts *t, const char *text);

struct outline_column {
    char *name;
    enum outline_kind kind;
    struct outline_texts values, missing;
    char *file;      /* of values, or NULL */
    double min, max; /* NAN: not known; of dates, days since 1970 */
    double step;     /* 0: not known */
    double bins;     /* 0: as many as are usual */
    char note[160];  /* what the column is, or why it is left out */
};

struct outline {
    struct outline_column *column;
    size_t count, room;
    char from[300]; /* for the key columns_from */
};

/* Each adds columns; ERR_DATA, logged, if nothing can be made of it. */
enum err outline_codebook(struct outline *o, const char *path, struct log *log) MUST_CHECK;
enum err outline_header(struct outline *o, const char *path, struct log *log) MUST_CHECK;
enum err outline_rows(struct outline *o, const char *path, struct log *log) MUST_CHECK;
/* `lookup`: names of tables of public codes, with commas between them, whose keys are values. */
enum err outline_schema(struct outline *o, const struct database_source *source, const char *lookup,
                        struct log *log) MUST_CHECK;

/* What a constraint, or the definition of a table (CREATE TABLE ..), says about known columns. */
void outline_clause(struct outline *o, const char *text);
void outline_definition(struct outline *o, char *text);

/* The next column, empty but for its name. */
enum err outline_next(struct outline *o, const char *name, struct outline_column **c) MUST_CHECK;
/* Says what the columns were written from: `what`, and a file's name. */
void outline_came(struct outline *o, const char *what, const char *path);
/* A number, or a date such as 2021-03-04 as its day. */
bool outline_number(const char *text, bool date, double *x);
/* Reads "0-120", "0..120", "0 to 120" or "[0, 120]"; and dates so, but with a "-" between. */
bool outline_range(const char *text, bool dates, double *min, double *max);
/* The keys `columns_from` and `domain` of a study file. */
void outline_write(const struct outline *o, struct bytes *out);
void outline_clear(struct outline *o);
