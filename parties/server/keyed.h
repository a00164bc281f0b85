/*
 * parties/server/keyed.h - what a study with keys of persons counts: rows that the servers make
 * of all owners' uploads together (protocols/link.h).
 *
 * An upload becomes a table when it comes; when all are there, rows are made of the tables, once,
 * and counted in the uploads' place: with `link` a list of each batch, else one list of all owners.
 * A batch of which one upload is not sorted has no rows. They are kept for as long as somebody may
 * count them again.
 */
#ifndef TREFOIL_PARTIES_SERVER_KEYED_H
#define TREFOIL_PARTIES_SERVER_KEYED_H

#include "mpc/party.h"
#include "parties/exchange/upload.h"
#include "parties/study/study.h"

/* Rows as protocols/records.h takes them: validity, and codes of attributes in this order. */
struct keyed_rows {
    struct planes planes;
    uint16_t *attribute;
    struct planes whole;  /* what `planes` borrows from */
    struct planes linked; /* one plane, where a study looks at it: all owners have the row */
};

struct keyed {
    const struct study *study; /* borrowed */
    struct planes *table;      /* of each owner; without planes where its upload is not here */
    bool *left_out;            /* by owner, once rows are made: the upload is not sorted */
    struct keyed_rows *rows;
    size_t lists; /* of rows */
    bool made;
};

/* Whether a study's rows have keys. */
bool keyed_in(const struct study *study);

enum err keyed_new(struct keyed *x, const struct study *study) MUST_CHECK;
void keyed_free(struct keyed *x);

/* Takes an upload's components, as server `p` holds them. */
enum err keyed_load(struct party *p, struct keyed *x, const struct upload *upload) MUST_CHECK;

/* Makes the rows of all that is loaded; opens which uploads are sorted, and leaves out the rest. */
enum err keyed_make(struct party *p, struct keyed *x) MUST_CHECK;

/* Whether an owner's rows are in none of those made: an upload of its batch is left out. */
bool keyed_lacks(const struct keyed *x, size_t owner);

/* The rows, where nobody counts them again, but not that they were made. */
void keyed_forget(struct keyed *x);

#endif
