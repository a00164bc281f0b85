/* parties/study/study_column.h - a column of the domain while it is read. */
#pragma once

#include "parties/study/study_parse.h"

/* Its keys, named in study_column_keys[]. */
enum {
    COLUMN_NAME,
    COLUMN_KIND,
    COLUMN_MISSING,
    COLUMN_WRITE,
    COLUMN_OUTSIDE,
    COLUMN_VALUES,
    COLUMN_EDGES,
    COLUMN_MIN,
    COLUMN_MAX,
    COLUMN_BINS,
    COLUMN_STEP,
    COLUMN_SPIKES,
    COLUMN_TAIL,
    COLUMN_FROM,
    COLUMN_TO,
    COLUMN_UNIT,
    COLUMN_FORMAT,
    COLUMN_REPEAT,
    COLUMN_KEYS
};
extern const char *const study_column_keys[COLUMN_KEYS];

/* Sets of keys, for study_check_keys(). */
enum {
    HAS_VALUES = 1 << COLUMN_VALUES,
    HAS_EDGES = 1 << COLUMN_EDGES,
    HAS_MIN = 1 << COLUMN_MIN,
    HAS_MAX = 1 << COLUMN_MAX,
    HAS_BINS = 1 << COLUMN_BINS,
    HAS_STEP = 1 << COLUMN_STEP,
    HAS_SPIKES = 1 << COLUMN_SPIKES,
    HAS_TAIL = 1 << COLUMN_TAIL,
    HAS_FROM = 1 << COLUMN_FROM,
    HAS_TO = 1 << COLUMN_TO,
    HAS_DATES = HAS_TO | 1 << COLUMN_UNIT | 1 << COLUMN_FORMAT, /* and `from`, which others have */
    HAS_INSIDE = HAS_STEP | HAS_SPIKES | HAS_TAIL /* what describes the numbers inside bins */
};

#define COLUMN_MISSING_MAX 64
#define COLUMN_WHOLE_MAX 1000000000000000LL /* for whole numbers */

struct column {
    const struct column_kind *kind; /* as written: an integer column may have bins after all */
    const char *name;
    const char *missing; /* what is written for a missing value; NULL: the column has none */
    const char *missing_too[COLUMN_MISSING_MAX]; /* what else is read as one */
    size_t missing_too_count;
    enum domain_policy policy;
    const yaml_node_t *node, *part[COLUMN_KEYS];
};

/* Complains about a key that is there but refused, or needed but not there. */
enum err study_check_keys(struct study_reading *r, const struct column *c, unsigned needed,
                          unsigned refused) MUST_CHECK;

/* After an attribute was added: tells the domain what else is read as missing. */
enum err study_add_missing(struct study_reading *r, const struct column *c) MUST_CHECK;

/* Edges as they are built: each spike may add two to those in the file. */
struct column_edges {
    double *edge;
    size_t edges;
    double step; /* 0: none */
    bool whole;
    const struct calendar *calendar; /* of dates, or NULL */
};

/* Adds a column with bins, numeric or integer, at the end of the domain (study_bins.c). */
enum err study_add_bins(struct study_reading *r, const struct column *c) MUST_CHECK;
/* What bins of any kind may say: edges, or even bins; then spikes, the tail; and adds it. */
enum err study_read_edges(struct study_reading *r, const yaml_node_t *node,
                          struct column_edges *b) MUST_CHECK;
enum err study_even_edges(struct study_reading *r, const struct column *c, const yaml_node_t *low,
                          const yaml_node_t *high, struct column_edges *b) MUST_CHECK;
enum err study_finish_bins(struct study_reading *r, const struct column *c,
                           struct column_edges *b) MUST_CHECK;
void study_edges_clear(struct column_edges *b);

/* Adds a column of dates (study_date.c). */
enum err study_add_date(struct study_reading *r, const struct column *c) MUST_CHECK;
/* A date as a number: its first unit, or its last one (study_column.c). */
enum err study_read_date(struct study_reading *r, const yaml_node_t *node, const char *what,
                         enum calendar_unit unit, bool last, double *x) MUST_CHECK;
