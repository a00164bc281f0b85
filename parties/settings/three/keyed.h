/*
 * parties/settings/three/keyed.h - what a study with keys of persons counts: rows that the servers
 * make from all owners' uploads together (protocols/link.h).
 *
 * An upload becomes a table when it comes. When all are there, rows are made from the tables, once,
 * and counted instead of the uploads: with `link` a list for each batch, otherwise one list for all
 * owners. A batch with an upload that is not sorted has no rows. Rows are kept for as long as they
 * may be counted again. Whether an upload is sorted is opened once (round_sorted.h).
 */
#pragma once

#include "mpc/party/party.h"
#include "parties/settings/three/split.h"
#include "parties/study/study.h"

/* Rows as protocols/records.h takes them: validity, and codes of attributes in this order. */
struct keyed_rows {
    struct planes planes;
    uint16_t *attribute;
    struct planes whole;  /* what `planes` borrows from */
    struct planes linked; /* one plane, if the study looks at it: all owners have the row */
};

/*
 * What is called with the owners whose uploads' order is opened: before anything is sent for that,
 * and when it is known. A failure ends keyed_make(). Either may be NULL.
 */
struct keyed_watch {
    enum err (*opening)(void *self, const size_t *owner, size_t count);
    enum err (*opened)(void *self, const size_t *owner, const bool *sorted, size_t count);
    void *self;
};

struct keyed {
    const struct study *study; /* borrowed */
    struct planes *table;      /* of each owner; without planes if its upload is not here */
    bool *known;               /* by owner: it is known whether the upload is sorted */
    bool *left_out;            /* by owner, once that is known: it is not */
    struct keyed_watch watch;
    struct keyed_rows *rows;
    size_t lists; /* of rows */
    bool made;
};

/* Whether a study's rows have keys. */
bool keyed_in(const struct study *study);

enum err keyed_new(struct keyed *x, const struct study *study) MUST_CHECK;
void keyed_free(struct keyed *x);

/* Takes an upload's components as party `p` holds them. */
enum err keyed_load(struct party *p, struct keyed *x, const struct upload *upload) MUST_CHECK;

/*
 * Makes rows from the uploads that are loaded and sorted. Opens which of them are, except where
 * that is `known`.
 */
enum err keyed_make(struct party *p, struct keyed *x) MUST_CHECK;

/* Whether none of the rows made are this owner's, because an upload of its batch is left out. */
bool keyed_lacks(const struct keyed *x, size_t owner);

/* Forgets the rows once nobody counts them again, but not that they were made. */
void keyed_forget(struct keyed *x);
