/*
 * aim/question/cases.h - conditions on rows, as cases of which no two hold for the same row.
 *
 * A case is a set of values for each of some columns; a row fits if each value is in its set. So
 * the rows of a condition are the sum of the rows of its cases, and a case is one product of
 * weights. OR removes from one side what the other has; AND intersects each case with each. NOT is
 * left to whoever makes the conditions: a comparison with a missing value holds neither way.
 */
#pragma once

#include "aim/question/values.h"

#define CASES_MAX 8
#define CASES_ROOM 24 /* while they are made */
#define CASE_COLUMNS_MAX 16

struct case_part {
    uint16_t column;
    struct values values;
};

struct one_case {
    uint16_t parts;
    struct case_part part[CASE_COLUMNS_MAX]; /* by column, ascending */
};

struct cases {
    uint16_t n;
    struct one_case one[CASES_ROOM];
};

/* Where sets are made, and what went wrong, to be checked once at the end. */
struct cases_work {
    const struct domain *domain;
    struct values_pool pool;
    bool too_many; /* cases or columns */
};

void cases_every(struct cases *c); /* all rows */
/* The rows whose value in a column is in a set. */
void cases_of(struct cases_work *w, struct cases *c, uint16_t column, struct values v);
/* a becomes a AND b; a OR b. */
void cases_and(struct cases_work *w, struct cases *a, const struct cases *b);
void cases_or(struct cases_work *w, struct cases *a, const struct cases *b);

/* The values that a case asks for in a column, or NULL. */
const struct values *case_values(const struct one_case *c, uint16_t column);
