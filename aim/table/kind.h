/*
 * aim/table/kind.h - what differs by the kind of a column, in one table.
 *
 * Each kind is a file that fills in a struct column_kind, and a line in aim/table/kind.c. Callers
 * ask the predicates of aim/table/domain.h; they do not compare kinds. docs/tour.md has the recipe
 * for a new one.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct density;
struct domain;
struct domain_attribute;
struct json_t;
struct random;

#define COLUMN_TEXT 400 /* room for any number as text */

struct column_kind {
    uint8_t byte;     /* stands for it in canonical bytes */
    const char *word; /* names it in studies and results */
    const char *noun; /* what people call one of its values */
    bool order;   /* codes ascend with the numbers that they stand for, so ranges mean something */
    bool bins;    /* a code stands for a range of numbers, of which draw() draws one for a row */
    bool numbers; /* values are written as decimal numbers */

    /* The number that a text says, within the attribute's range or not; NULL: they say none. */
    bool (*parse)(const struct domain_attribute *a, const char *text, double *number);
    /* A number, rounded to one of the kind's, as such a text; digits as for text(). */
    const char *(*print)(const struct domain_attribute *a, double number, int digits,
                         char room[COLUMN_TEXT]);
    /*
     * Of an order whose numbers are not written as decimal ones: how studies and questions write
     * one, in quotes; and what such a text says, from its least number to its largest.
     */
    const char *(*spell)(const struct domain_attribute *a, double number, char room[COLUMN_TEXT]);
    bool (*spelt)(const struct domain_attribute *a, const char *text, double *low, double *high);

    /* The code of a text by the attribute's policy, or DOMAIN_NO_CODE. */
    uint32_t (*code)(const struct domain_attribute *a, const char *text);
    /*
     * The number of a code; a bin's least one, so that code a->values gives the end of the last. A
     * kind without order gives the code.
     */
    double (*number)(const struct domain_attribute *a, uint32_t code);
    /* As text, which may be in `room`. Bins have so many digits; 0: as many as matter. */
    const char *(*text)(const struct domain_attribute *a, uint32_t code, int digits,
                        char room[COLUMN_TEXT]);
    /* A number of the bin for a row, in the short form in which it is written; only of bins. */
    void (*draw)(const struct domain_attribute *a, uint32_t code, const struct density *density,
                 struct random *r, char text[COLUMN_TEXT]);

    /* The values in canonical bytes, and back into an attribute that has its a->values. */
    void (*write)(const struct domain_attribute *a, struct bytes *out);
    enum err (*read)(struct domain_attribute *a, struct reader *r) MUST_CHECK;
    /* Checks an attribute and adds a copy of it at the end of a domain. */
    enum err (*add)(struct domain *d, const struct domain_attribute *a, struct log *log) MUST_CHECK;
    /* Sets what describes the values in an object of JSON (aim/table/lists.h). */
    void (*json)(const struct domain_attribute *a, struct json_t **object);
};

extern const struct column_kind column_labels, column_whole, column_bins, column_date;

/* All kinds, in the order of their bytes (kind.c). */
#define COLUMN_KINDS 4
extern const struct column_kind *const column_kinds[COLUMN_KINDS];
