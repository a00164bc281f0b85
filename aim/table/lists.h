/*
 * aim/table/lists.h - lists of texts and of numbers in JSON, and what a column is; NULL where there
 * is no memory.
 */
#pragma once

#include "aim/table/domain.h"
#include "base/bytes.h"

#include <jansson.h>

/* Add a new value. If that fails, leave NULL, which fails whatever it becomes a part of. */
void list_set(json_t **object, const char *key, json_t *value);
void list_append(json_t **list, json_t *value);
json_t *list_texts(char *const *text, size_t n);
json_t *list_numbers(const double *value, size_t n);
/* An attribute's name, kind and values (docs/formats.md). */
json_t *list_attribute(const struct domain_attribute *a);

/* Appends JSON, numbers with as many digits as give each back, and a line end. */
enum err list_print(const json_t *root, size_t flags, struct bytes *out) MUST_CHECK;
/*
 * Writes a document so, without spaces, and frees it. ERR_DATA, logged, for NULL: some of it could
 * not be made.
 */
enum err list_save(const char *path, json_t *root, struct log *log) MUST_CHECK;
