/*
 * aim/table/join.h - joins tables with different columns of the same persons by their keys: what
 * protocols/link.h does with shares, in the clear.
 */
#pragma once

#include "aim/table/table.h"

/* A table that keeps keys, and the attributes of the joined domain that its columns are. */
struct join_part {
    struct table *table;
    const uint16_t *attribute;
};

/*
 * Adds to `out` a row for each key that all tables have or, with `keep` < parts, for each key that
 * part `keep` has. In that case what the other tables lack is missing, and all their attributes
 * must have a code for that. Of a table's rows with the same key the first counts; the table is
 * sorted, and the other rows are removed from it. *linked is how many keys all tables have,
 * *surplus how many rows were left out.
 */
enum err table_join(struct table *out, const struct join_part *part, size_t parts, size_t keep,
                    size_t *linked, size_t *surplus) MUST_CHECK;
