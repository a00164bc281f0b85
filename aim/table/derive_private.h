/* aim/table/derive_private.h - a row's values, shared by derive.c and derive_ties.c. */
#pragma once

#include "aim/table/derive.h"

struct derive_slot {
    double number, counted; /* as it is and as it counts; NAN: missing, or a text */
    bool known;
    struct bytes text;
};

/* An expression with the slots of its columns. */
struct derive_step {
    const struct derive *e;
    uint32_t slot[DERIVE_COLUMNS];
    const struct calendar *calendar[DERIVE_COLUMNS]; /* NULL: no date */
    uint32_t to;
    bool tied;
    uint32_t *order; /* keys in strcmp() order */
};

struct derive_solutions;

struct derive_plan {
    const struct domain *domain;
    const struct derives *derived;
    size_t slots, ties;
    struct derive_slot *slot;
    struct derive_step *from, *computed;
    bool *needed; /* of each slot */
    struct derive_tie *tie;
    struct derive_solutions *solution; /* of each tie, once rows are drawn */
    char room[COLUMN_TEXT];
};

/* What is read or computed, by its slot. */
const struct derive *derive_more(const struct derive_plan *p, size_t slot);
/* Finds the ties. ERR_STUDY if one has too many columns. */
enum err derive_find_ties(struct derive_plan *p) MUST_CHECK;
void derive_solutions_free(struct derive_solutions **solutions, size_t n);
void derive_set_number(struct derive_plan *p, size_t slot, double x);
/* A number of a column that others are tied to, as rows have it. */
void derive_print(const struct domain_attribute *a, double x, char text[COLUMN_TEXT]);
