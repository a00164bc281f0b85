/* aim/table/domain_private.h - what the files of the domain share. */
#ifndef TREFOIL_AIM_TABLE_DOMAIN_PRIVATE_H
#define TREFOIL_AIM_TABLE_DOMAIN_PRIVATE_H

#include "aim/table/domain.h"

/* Whether a text is a value of its own, which cannot stand for a missing one. */
bool domain_is_value(const struct domain_attribute *a, const char *text);

/* The text that is written for a missing value. */
enum err domain_first_missing(struct domain_attribute *a, const char *text) MUST_CHECK;
/* If a text for a missing value is a number, that number stands for it however it is written. */
enum err domain_note_missing(struct domain_attribute *a, const char *text) MUST_CHECK;
/* ERR_STUDY, logged, if a number that stands for a missing value would leave a hole in a bin. */
enum err domain_check_missing(const struct domain_attribute *a, struct log *log) MUST_CHECK;

#endif
