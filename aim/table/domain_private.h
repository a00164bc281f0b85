/* aim/table/domain_private.h - what the files of the domain share. */
#ifndef TREFOIL_AIM_TABLE_DOMAIN_PRIVATE_H
#define TREFOIL_AIM_TABLE_DOMAIN_PRIVATE_H

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

#endif
