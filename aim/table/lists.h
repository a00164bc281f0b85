/* aim/table/lists.h - lists of texts and of numbers in JSON; NULL where there is no memory. */
#ifndef TREFOIL_AIM_TABLE_LISTS_H
#define TREFOIL_AIM_TABLE_LISTS_H

#include <jansson.h>

json_t *list_texts(char *const *text, size_t n);
json_t *list_numbers(const double *value, size_t n);

#endif
