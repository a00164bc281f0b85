/*
 * aim/table/derive.h - columns that follow from others.
 *
 *   from      a column of the domain that is computed from the others of its row, before rows are
 *             counted; a column of that name in a table is not read
 *   read      one that is read for that alone, and is not in the domain
 *   computed  one that is not in the domain either, and is computed when rows are written
 *
 * A value is missing where it follows from a missing one. Where all columns that a `from` column f
 * follows from are in the domain, f is *tied* to them: of a cell of their codes and f's, some have
 * no values that give f. These are impossible (parties/study/study_derive.c makes zeros of them),
 * and rows are drawn so that f holds exactly. A tie has all columns that are tied to each other.
 *
 * A tied column follows from values as they count, at the ends of their columns' ranges where they
 * lie beyond; others from values as they are.
 */
#pragma once

#include "aim/table/domain.h"
#include "base/random.h"

#define DERIVE_COLUMNS 4 /* that one follows from */
#define DERIVE_TIE 8     /* columns that are tied to each other */
#define DERIVE_KEYS 65534

enum derive_type { DERIVE_NUMBER, DERIVE_DATE, DERIVE_TEXT };
enum derive_op {
    DERIVE_READ,  /* not computed */
    DERIVE_SUM,   /* of columns and a number, with signs */
    DERIVE_PART,  /* year, quarter, month, weekday or hour of a date */
    DERIVE_AGE,   /* completed years from one date to another */
    DERIVE_LOOKUP /* the value that a book has beside a key */
};

struct derive {
    char *name;
    char *text; /* as the study writes it */
    enum derive_op op;
    enum derive_type type;    /* of a column that is read or computed; of others, derive_check() */
    struct calendar calendar; /* of dates */
    enum calendar_part part;
    uint32_t columns;
    char *column[DERIVE_COLUMNS];
    int8_t sign[DERIVE_COLUMNS]; /* 1 or -1 */
    int64_t constant;
    uint32_t keys;
    char **key, **value;
};

struct derive_list {
    size_t count;
    struct derive *of;
};

struct derives {
    struct derive_list read, from, computed;
};

void derive_clear(struct derive *e);
void derived_free(struct derives **d);

/*
 * Whether all names are there and values of the kinds that are asked for: ERR_STUDY, logged, about
 * one of them, *bad. Fills in the types and calendars of what is computed.
 */
enum err derive_check(struct domain *d, const struct derive **bad, struct log *log) MUST_CHECK;

enum err derive_check_computed(struct domain *d, const struct derive **bad,
                               struct log *log) MUST_CHECK;

/* In canonical bytes; what was read still has to be checked. */
void derived_write(const struct derives *d, struct bytes *out);
enum err derived_read(struct derives **d, struct reader *r) MUST_CHECK;
/* Those of another domain that are about columns of this one. */
enum err derived_pick(struct domain *to, const struct domain *from) MUST_CHECK;

/* --- one row at a time ------------------------------------------------------------------------ */

/* Columns that are tied to each other: `base` ones, and tied ones by their place in `from`. */
struct derive_tie {
    uint16_t bases, froms, columns;
    uint16_t base[DERIVE_TIE], from[DERIVE_TIE];
    uint16_t column[DERIVE_TIE]; /* of the domain, ascending: bases and tied ones */
};

struct derive_plan;

/* Of a domain, which it borrows. */
enum err derive_new(struct derive_plan **p, const struct domain *d) MUST_CHECK;
void derive_free(struct derive_plan **p);

/* Columns of the domain have the first slots; then come those that are read or computed. */
size_t derive_slots(const struct derive_plan *p);
/* The slot of a name that a table must have; DOMAIN_NO_CODE: none. With its name. */
uint32_t derive_find(const struct derive_plan *p, const char *name);
const char *derive_needs(const struct derive_plan *p, size_t slot); /* NULL: not read */
bool derive_is_number(const struct derive_plan *p, size_t slot);    /* of one that is read */
/* Whether a column of the domain follows from others. */
bool derive_is_from(const struct derive_plan *p, uint32_t attribute);

/* Forgets the row's values. */
void derive_begin(struct derive_plan *p);
/* A value as a text; for a column of the domain with its code. The text is copied. */
enum err derive_set(struct derive_plan *p, size_t slot, uint32_t code, const char *text) MUST_CHECK;
/* The text of the i-th `from` column, from the values so far; it is still to be set. */
const char *derive_from(struct derive_plan *p, size_t i);
uint32_t derive_from_attribute(const struct derive_plan *p, size_t i);
/* The text of the i-th computed one, which is set; "" if it is missing. `x` may be NULL. */
const char *derive_computed(struct derive_plan *p, size_t i, double *x);

/* --- ties (aim/table/derive_ties.c) ----------------------------------------------------------- */

size_t derive_ties(const struct derive_plan *p);
const struct derive_tie *derive_tie(const struct derive_plan *p, size_t i);

/*
 * Goes through all values of a tie's bases: `cell` is called with the codes of its columns, unless
 * a column refuses its value.
 * ERR_STUDY, logged: there are more than 2^22, or a base has no step.
 */
enum err derive_cells(struct derive_plan *p, size_t tie,
                      void (*cell)(void *to, const uint32_t *code), void *to,
                      struct log *log) MUST_CHECK;

struct densities;
/*
 * Draws the values of a row of codes: the text of each column of the domain, in order. Tied columns
 * have values that hold exactly. number[attribute], unless NAN, is what a column has, if they were
 * drawn together before; else what it must have. NULL: nothing is known. ERR_AGAIN: tied columns
 * were drawn by their codes and have other numbers; the row is to be drawn again, with its codes.
 */
enum err derive_draw(struct derive_plan *p, const uint16_t *code, const double *number,
                     bool drawn_before, const struct densities *inside,
                     struct random *r) MUST_CHECK;
/* The number that was drawn of a column; NAN if it is missing or a label. */
double derive_number(const struct derive_plan *p, size_t slot);
bool derive_is_tied(const struct derive_plan *p, uint16_t attribute); /* or others to it */
/* The text of a column, as it was set or drawn. */
const char *derive_text(const struct derive_plan *p, size_t slot);
