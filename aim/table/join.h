/*
 * aim/table/join.h - tables with different columns of the same persons become one, by keys: in the
 * clear what protocols/link.h does with shares.
 */
#ifndef TREFOIL_AIM_TABLE_JOIN_H
#define TREFOIL_AIM_TABLE_JOIN_H

#include "aim/table/table.h"

/* A table that keeps keys, and which attributes of the joined domain its columns are. */
struct join_part {
    struct table *table;
    const uint16_t *attribute;
};

/*
 * Adds to `out` a row for each key that all tables have, or, with `keep` < parts, for each that
 * this one has: then what others lack is missing, for which all their attributes have a value. Of a
 * table's rows of one key the first counts; it is sorted, and the others are left out of it.
 * *linked is how many keys all tables have, *surplus how many rows were left out.
 */
enum err table_join(struct table *out, const struct join_part *part, size_t parts, size_t keep,
                    size_t *linked, size_t *surplus) MUST_CHECK;

#endif
