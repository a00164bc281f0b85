/*
 * aim/table/persons.h - how many rows each person has, from a column that says whose row it is.
 *
 * It keeps only a digest of each field of that column, under a key of this process, and the place
 * of the row.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>

#define PERSONS_SHOWN 5

struct persons;

enum err persons_new(struct persons **p) MUST_CHECK;
void persons_free(struct persons **p);

/* Adds a row at this place, of the person that `text` names. */
enum err persons_add(struct persons *p, const char *text, size_t n, size_t place) MUST_CHECK;

/*
 * ERR_DATA, logged with how many and where, if somebody has more than `most` rows. `name` is the
 * source's name, `places` the word for the places of rows: "lines".
 */
enum err persons_check(struct persons *p, size_t most, const char *name, const char *places,
                       struct log *log) MUST_CHECK;

/* The same if it is known that `found` persons have more. */
enum err persons_found(size_t found, size_t most, const char *name, struct log *log) MUST_CHECK;
