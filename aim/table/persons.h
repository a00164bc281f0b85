/*
 * aim/table/persons.h - how many rows each person has, from a column that says whose a row is.
 *
 * Nothing of that column is kept but a digest of each field under a key of this process, and the line.
 */
#ifndef TREFOIL_AIM_TABLE_PERSONS_H
#define TREFOIL_AIM_TABLE_PERSONS_H

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>

struct persons;

enum err persons_new(struct persons **p) MUST_CHECK;
void persons_free(struct persons **p);

/* A row of the person that `text` names, on this line. */
enum err persons_add(struct persons *p, const char *text, size_t n, size_t line) MUST_CHECK;

/* ERR_DATA, logged with how many and their lines, if somebody has more than `most` rows. */
enum err persons_check(struct persons *p, size_t most, const char *path,
                       struct log *log) MUST_CHECK;

#endif
