/*
 * bench/queries.h - questions with exact answers, and how far answers of `trefoil query` are off.
 *
 * A file of questions is a JSON list; each has `id`, `sql`, `aggregate`, `group_by` (or null),
 * `columns_in_predicates`, `answer` (a number, a label, or an object from groups to them) and, for
 * MODE, `counts` of what it might have been. A floor, lines of {"id": .., "answer": ..}, has the
 * answers from exact counts of the binned rows: only items that it answers within some error count,
 * so that nobody is blamed for a study's bins.
 *
 * The error of a number is relative; that of MODE is how many rows fewer the answered value has
 * than the true mode, as a share of the latter's; a missing answer counts as 1. Each group is an
 * item.
 */
#pragma once

#include "base/bytes.h"
#include "base/log.h"

#include <jansson.h>

struct queries {
    json_t *list;
    json_t *floor; /* from ids to answers; NULL: all items count */
};

/* TABLE.queries.json and TABLE.binned.jsonl of a folder; the latter may be absent. */
enum err queries_read(struct queries *q, const char *folder, const char *table,
                      struct log *log) MUST_CHECK;
void queries_clear(struct queries *q);
/* All questions, with a ; after each. */
void queries_text(const struct queries *q, struct bytes *out);

enum queries_shape {
    QUERIES_PLAIN, /* without GROUP BY */
    QUERIES_BY_GROUP,
    QUERIES_ANY,
};

/* Which items. */
struct queries_choice {
    const char *aggregate; /* NULL: any */
    enum queries_shape shape;
    int columns;   /* of questions with conditions on so many; 0: any */
    bool together; /* only of questions whose columns are together in some measured marginal */
};

struct queries_score {
    size_t items, missing;
    double median, p95;
    size_t intervals, held; /* items with an interval; those of which it holds the truth */
    double width;           /* median of half the intervals' lengths, as shares of the truth */
    double over_error;      /* the same, as multiples of the answers' own errors */
};

/* `answers` is what `trefoil query --json` wrote of queries_text(). */
enum err queries_score(struct queries_score *s, const struct queries *q, const json_t *answers,
                       const struct queries_choice *choice, double within) MUST_CHECK;
