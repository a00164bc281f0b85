/*
 * aim/table/rows.h - what rows mean, wherever they come from.
 *
 * A source names its columns, then gives rows field by field:
 *
 *     rows_begin  { rows_column }  rows_end  { { rows_field }  rows_end }  rows_finish
 *
 * Columns come in any order; those that the domain does not know are left out and listed once. So
 * are those that follow from others (aim/table/derive.h), which are computed once a row is whole. A
 * value that does not fit is treated as its attribute's policy says. Every problem is logged with
 * its place, the attribute, the value and what is allowed: values in one line for each column and
 * kind of mistake, with the first and how many rows have one; others one by one, the first
 * ROWS_ERRORS_SHOWN of them. Any problem makes the whole table fail, since silently dropping rows
 * would make counts wrong.
 */
#pragma once

#include "aim/table/person_key.h"
#include "aim/table/table.h"

#define ROWS_ERRORS_SHOWN 20
#define ROWS_SHOWN 100 /* bytes of a value in a message */
#define ROWS_HINT 200
#define ROWS_ANY UINT16_MAX /* the code of what a row lacks; no column has as many */

/*
 * Of the numbers of a column as they are written, without missing ones; and of values that do not
 * fit, which count as the nearest, or as missing.
 */
#define ROWS_SAMPLES 3
struct rows_sample {
    char text[CALENDAR_FORMAT];
    double number;
};
struct rows_moments {
    size_t count;
    double mean, squares; /* the sum of squared distances from the mean */
    bool numbers;         /* there are any; including those that do not fit: */
    double least, largest;
    size_t clipped, outside; /* values of any kind: as the nearest, as missing */
    bool strange;            /* one of these is in another encoding, or has another decimal sign */
    size_t samples;          /* of dates, the first texts that differ, for their owner to see */
    struct rows_sample sample[ROWS_SAMPLES];
};
/* Widens least and largest; adds a number of a code, too; keeps the text of a date. */
void rows_extend(struct rows_moments *m, double number);
void rows_add(struct rows_moments *m, const struct domain_attribute *a, uint32_t code,
              double number);
void rows_sample(struct rows_moments *m, const char *text, double number);

struct rows_options {
    char decimal;       /* 0: a point. With ',' numbers are 1,5 and may have no point at all */
    size_t max;         /* 0: 100 million; one more is ERR_RANGE */
    const char *person; /* NULL, or a column that says whose row it is: nobody may have more */
    size_t per_person;  /* than this many rows. It is read only for that */
    const struct person_rule *key; /* NULL, or how keys of rows are made, which the table keeps */
    bool numbers;                  /* the table keeps them */
    bool as_written; /* columns that follow from others are read: rows that were written here */
    /*
     * Rows may lack columns, and values that say `fill` (NULL: no text does): these have the code
     * ROWS_ANY. *places gets the place of each row, which the caller frees. It goes with
     * as_written.
     */
    bool partial;
    const char *fill;
    size_t **places;
    struct rows_moments *moments; /* NULL, or one for each attribute, which are added to */
    /* NULL, or called now and then. part: how much has been read, 0 to 1; NAN: not known */
    void (*tell)(void *self, const char *source, size_t rows, double part);
    void *self;
};

/* Where rows come from, for messages. All is borrowed. */
struct rows_source {
    const char *name;                /* of the file */
    const char *places;              /* what the numbers of rows count: "lines" */
    size_t (*place)(const void *of); /* the number of the current row */
    double (*part)(const void *of);  /* how much of it has been read; NULL: not known */
    const void *of;
    const char *correct; /* what to correct if a column is missing: "the header" */
};

struct rows;

enum err rows_begin(struct rows **r, const struct domain *d, const struct rows_options *options,
                    const struct rows_source *source, struct log *log) MUST_CHECK;

/* The next column's name, the next field's text. Spaces around it are removed in place. */
enum err rows_column(struct rows *r, char *text, size_t length) MUST_CHECK;
enum err rows_field(struct rows *r, char *text, size_t length) MUST_CHECK;
/* The end of the columns at first, then of each row. */
enum err rows_end(struct rows *r) MUST_CHECK;

/* Whether any column so far is one of the domain. */
bool rows_known(const struct rows *r);

/* Removes spaces around a text. */
char *rows_trim(char *text, size_t *length);
/* Of a decimal comma: commas become points, points commas, which no number may have; and back. */
void rows_turn_decimal(char *text);
/* For messages: what values an attribute may have; a value, and what may be wrong with it. */
void rows_allowed(const struct domain_attribute *a, char *text, size_t size);
void rows_shown(const struct domain_attribute *a, char decimal, const char *text,
                char shown[ROWS_SHOWN], char hint[ROWS_HINT]);
/* A hint where one of `names`, which have ", " between them, is the name but for its case. */
void rows_case(const char *names, const char *name, char hint[ROWS_HINT]);
/* Whether a column that is not the study's seems to say whose a row is. */
bool rows_personal(const char *name);
/* A hint where texts look alike, but one has accents as characters of their own. */
void rows_accents(const char *text, const char *const *expected, size_t count,
                  char hint[ROWS_HINT]);

/*
 * After the last row, or after an error `e` of the source: the table, or NULL and the first error.
 * Persons with too many rows are found here.
 */
enum err rows_finish(struct rows **r, enum err e, struct table **t) MUST_CHECK;
