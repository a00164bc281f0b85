/*
 * aim/table/series.h - persons and their events, in order, as one flat table.
 *
 * A flat domain has the columns of persons and of events, and a few that are generated:
 *
 *   number      how many events a person has: a column of the study, counted here
 *   when        the date of the first event (missing: there is none)
 *   gap         how long after the event before this one is (missing: none is before)
 *   stage       none (a person without events), only, first, middle, last
 *   previous.X  what the event before has in column X (missing: none is before)
 *
 * A row stands for an event, or for a person who has none. The rows of a person *share one unit* of
 * `units` parts, so that a person counts the same whether with 1 event or with 200: in every
 * marginal a person adds whole numbers from 0 that sum to `units`. Of a person with n events,
 * `only` has them all; first and last have s = max(1, floor(units / b)) each, b the least number
 * in the bin of n; those between share the rest evenly, and a fixed rule of n says which have one
 * more. So the shares of first, middle and last follow from the bin of n alone.
 */
#pragma once

#include "aim/table/table.h"

#define SERIES_UNITS 60 /* unless a study says SERIES_UNITS_FEW */
#define SERIES_UNITS_FEW 12
#define SERIES_NAME 32
#define SERIES_NO UINT16_MAX /* in the place of a column */

enum series_stage { SERIES_NONE, SERIES_ONLY, SERIES_FIRST, SERIES_MIDDLE, SERIES_LAST };
#define SERIES_STAGES 5

struct series_column {
    uint16_t column, previous; /* attributes; SERIES_NO: without a previous one */
    bool added;                /* its missing code is not the study's: no event has it */
    uint32_t ends;             /* codes on which nothing follows */
    uint16_t *end;
};

struct series {
    char *name; /* of the table of events, in questions */
    char *by;   /* the column of both tables that says whose a row is */
    uint32_t units;
    uint16_t number, stage;
    uint16_t when, gap; /* both or neither: then events are in the order of their lines */
    size_t columns;     /* of events, the gap not among them */
    struct series_column *column;
};

void series_free(struct series **e);
void series_write(const struct series *e, struct bytes *out);
/* ERR_FORMAT unless it fits the domain. */
enum err series_read(struct series **e, const struct domain *d, struct reader *r) MUST_CHECK;

/* Whether nothing follows on this code. */
bool series_ends(const struct series_column *c, uint32_t code);

/* Units of a person in this domain: 1 where there are no events, or no domain yet. */
uint32_t series_units(const struct domain *d);
/* What is counted there, for messages: persons, or rows. */
const char *series_counted(const struct domain *d);
/* Whether a column is one of persons: neither of events nor generated. */
bool series_of_person(const struct series *e, uint16_t attribute);
/* Whether a column is one of events: which events have in their table. */
bool series_has(const struct series *s, uint16_t attribute);
/* Whether counts by it alone are of persons: columns of persons, `number` and `when`. */
bool series_counts_persons(const struct series *s, uint16_t attribute);
/* Whether this can be the name of the table of events: 1 to 31 of a-z 0-9 _ -, not persons. */
bool series_good_name(const char *name);
/* The units of each stage of a person with a number of events in this bin. */
void series_shares(const struct domain *d, uint32_t code, uint32_t share[SERIES_STAGES]);

/* --- reading (aim/table/series_flat.c) -------------------------------------------------------- */

/*
 * What the two tables have: the columns of persons; those of events, and `when`. Their rows keep
 * keys (rows_options.key), those of events numbers too.
 */
enum err series_domains(const struct domain *d, struct domain **persons,
                        struct domain **events) MUST_CHECK;

/* What is left out, for the owner alone. */
struct series_found {
    size_t persons, events; /* that count */
    size_t repeated;        /* persons who were there before */
    size_t strangers;       /* events of persons who are not there */
    size_t undated;         /* without a date, or outside those of the study */
    size_t ended;           /* after one that ends */
};

/*
 * The flat table, with weights, by person: rows keep the keys. Sorts both tables. By date, then
 * those that end last, then by their codes: the order of lines does not matter unless there is no
 * `when`.
 */
enum err series_flat(struct table **flat, const struct domain *d, struct table *persons,
                     struct table *events, struct series_found *found) MUST_CHECK;
