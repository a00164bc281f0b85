/* aim/table/domain_private.h - what the files of the domain share. */
#pragma once

#include "aim/table/domain.h"

/* Spaces around fields are removed (rows.h), so text with spaces around it matches nothing. */
bool domain_spaced(const char *text);
/*
 * The two steps of adding an attribute, which has its kind, policy and values: what all kinds have
 * in common is checked; then it is named, its size is set, and it moves to the end of d.
 */
enum err domain_check_new(const struct domain *d, const struct domain_attribute *a,
                          const char *name, const char *missing, struct log *log) MUST_CHECK;
enum err domain_append(struct domain *d, struct domain_attribute *a, uint64_t values,
                       const char *name, const char *missing, struct log *log) MUST_CHECK;
/* A text of a file, which may hold no more than a study may. */
enum err domain_read_text(struct reader *r, char **text) MUST_CHECK;

/* Whether a text is a value of its own, which cannot stand for a missing one. */
bool domain_is_value(const struct domain_attribute *a, const char *text);

/* The text that is written for a missing value. */
enum err domain_first_missing(struct domain_attribute *a, const char *text) MUST_CHECK;
/* If a text for a missing value is a number, that number stands for it however it is written. */
enum err domain_note_missing(struct domain_attribute *a, const char *text) MUST_CHECK;
/* ERR_STUDY, logged, if a number that stands for a missing value would leave a hole in a bin. */
enum err domain_check_missing(const struct domain_attribute *a, struct log *log) MUST_CHECK;

/*
 * What columns with bins have in common (aim/table/kind_bins.c): their edges as numbers, in texts,
 * in canonical bytes; what JSON says of the tail; and adding one that has its kind and policy.
 */
double kind_edge(const struct domain_attribute *a, uint32_t code);
const char *kind_edge_text(const struct domain_attribute *a, uint32_t code, int digits,
                           char room[COLUMN_TEXT]);
void kind_write_edges(const struct domain_attribute *a, struct bytes *out);
enum err kind_read_edges(struct domain_attribute *a, struct reader *r) MUST_CHECK;
void kind_tail_json(const struct domain_attribute *a, struct json_t **object);
enum err kind_add_edges(struct domain *d, struct domain_attribute *a, const char *name,
                        const double *edges, size_t count, const char *missing,
                        struct log *log) MUST_CHECK;
/* A column's unit and formats (aim/table/kind_date.c); what is read is sound. */
void domain_write_calendar(const struct calendar *c, struct bytes *out);
enum err domain_read_calendar(struct calendar *c, struct reader *r) MUST_CHECK;
/* Decimal numbers, whole or not. */
bool kind_parse_number(const struct domain_attribute *a, const char *text, double *number);
const char *kind_print_number(const struct domain_attribute *a, double number, int digits,
                              char room[COLUMN_TEXT]);
