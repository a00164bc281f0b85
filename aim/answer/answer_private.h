/*
 * aim/answer/answer_private.h - one column's answers while they are computed; shared by answer.c,
 * answer_sums.c, answer_quantile.c, answer_ends.c, answer_cut.c, answer_parts.c, answer_disturb.c,
 * answer_counted.c and answer_interval.c.
 */
#pragma once

#include "aim/answer/answer.h"
#include "aim/model/model_weigh.h"
#include "base/random.h"

#define ANSWER_ROWS UINT16_MAX /* instead of y: rows, whatever they hold */

/* How a refit's answers are disturbed. */
struct answer_draw {
    const struct errors *errors;
    struct random *random;
};

/*
 * What independence within groups leaves open (aim/answer/answer_cut.c) about a line's rows, or
 * those asked for among them: the relative variance of n of them is each / n - less.
 */
struct answer_cut {
    double each, less;
};

/* For MIN, MAX and RANGE: standard errors of each value's rows, and how many an interval has. */
struct answer_ends {
    const double *error;
    double errors;
};

/*
 * Like answer_new(). `draw` and `ends` may be NULL. With a draw the values' rows are those of the
 * refit, undisturbed, and MIN, MAX and RANGE are not known.
 */
enum err answer_make(struct answer **a, struct model_sums *m, const struct densities *inside,
                     const struct question *q, const struct answer_draw *draw,
                     const struct answer_ends *ends, struct log *log) MUST_CHECK;

struct answer_state {
    const struct question *question;
    const struct densities *inside;
    uint16_t y;
    uint32_t codes, known;         /* of y; the known ones come first */
    const struct density *density; /* of y, or NULL: it has labels */
    struct clique asked;           /* groups and y */
    uint64_t cells;                /* of these */
    size_t stride;                 /* of y */
    double *mass;                  /* of each case: rows in each cell, y not yet looked at */
    struct density_part *part;     /* of each case: the part it leaves of each code of y */
    const struct answer_draw *draw;
    const struct answer_ends *ends;
    unsigned links, links_y; /* between the columns of the rows, and these and y */
    double total;            /* of the model */
    struct answer_cut *cell; /* of each cell, while rows are weighed with a draw: sums of these */
    struct answer_cut *cut;  /* of each line, with a draw */
};

/* The cells of a line: first + stride * code, for from <= code < below. */
struct answer_line {
    size_t first;
    uint32_t from, below;
    struct answer_cut cut;
};

/* --- aim/answer/answer_events.c --------------------------------------------------------------- */

/* Adds to mass[cell], which is 0, how many events the weights leave there; like model_weigh(). */
enum err answer_weigh_events(const struct answer_state *w, struct model_sums *m,
                             const struct model_weight *weight, size_t weights, double *mass,
                             struct log *log) MUST_CHECK;
/* How many events there are. */
enum err answer_events_total(const struct answer_state *w, struct model_sums *m, double *total,
                             struct log *log) MUST_CHECK;
/* ERR_QUESTION, logged, for columns of events in a question about persons. */
enum err answer_check_events(const struct question *q, const struct scope *columns,
                             struct log *log) MUST_CHECK;
/* Adds the stage, which says how much an event counts, in a question about events. */
void answer_events_columns(const struct question *q, struct scope *s);

/* --- aim/answer/answer_sums.c ----------------------------------------------------------------- */

/* The part of a code that is in a set, below a bound. */
struct density_part answer_part(const struct answer_state *w, uint16_t column, struct values v,
                                uint32_t code, double below);

/* How many cells apart a column's neighbouring codes are in the table of what is asked. */
size_t answer_stride(const struct answer_state *w, uint16_t column);
/* The first code of a part of dates in GROUP BY takes what its other codes have, except of y. */
void answer_fold(const struct answer_state *w);

/* A line's rows that have a code of y. */
double answer_rows_of(const struct answer_state *w, const struct answer_line *l, uint32_t code);
/* The end of a line's codes of y without the missing one, which comes last. */
uint32_t answer_end(const struct answer_state *w, const struct answer_line *l);

struct answer_sums {
    double rows, mean, variance; /* of rows that have y */
};
struct answer_sums answer_sums(const struct answer_state *w, const struct answer_line *l);

/* The code with the most rows. */
double answer_mode(const struct answer_state *w, const struct answer_line *l);

/* --- aim/answer/answer_quantile.c ------------------------------------------------------------- */

/* The number at or below which so many rows lie; there must be some. */
double answer_quantile(const struct answer_state *w, const struct answer_line *l, double rows);
/* SQL's PERCENTILE_CONT over this number of rows. */
double answer_percentile(const struct answer_state *w, const struct answer_line *l, double rows,
                         double p);

/* --- aim/answer/answer_ends.c ----------------------------------------------------------------- */

/*
 * MIN, MAX or RANGE of line `at`: the interval reaches from the most extreme possible value to the
 * one with more standard errors left out.
 */
void answer_extreme(const struct answer_state *w, const struct answer_line *l,
                    enum question_aggregate aggregate, size_t at, struct answer_value *v);

/* --- aim/answer/answer_cut.c ------------------------------------------------------------------ */

/* Adds what a case's conditions cut to w->cell; the weights are those of all its columns. */
enum err answer_cut_case(const struct answer_state *w, struct model_sums *m,
                         const struct model_weight *weight, size_t weights,
                         struct log *log) MUST_CHECK;
/* Adds to w->cut what GROUP BY cuts: a line has one code of each of its columns. */
enum err answer_cut_groups(const struct answer_state *w, const struct answer *a,
                           struct model_sums *m, struct log *log) MUST_CHECK;
/* The relative variance of this many rows, or of a part of them among the others. */
double answer_cut_variance(const struct answer_cut *cut, double rows, bool count);

/* --- aim/answer/answer_parts.c ---------------------------------------------------------------- */

/* Of two counts, each of which has what is uncertain about a count. */
struct answer_value answer_share(const struct answer_value *yes, const struct answer_value *no);
/* Of two items, or one and a number (b is NULL). */
struct answer_value answer_arithmetic(const struct question_item *item,
                                      const struct answer_value *a, const struct answer_value *b);
/* Of a line, each value of y: COUNT, AVG and VARIANCE of z, AVG and VARIANCE of y. */
struct answer_value answer_correlation(const struct answer_value *of, size_t codes);

/* --- aim/answer/answer_counted.c -------------------------------------------------------------- */

/* What measured marginals say of a line, all that hold its columns: sums, and their noise. */
struct answer_counted {
    double rows, sum, rows_variance, sum_variance, both;
    double weight; /* 0: nothing */
    bool parted;   /* it rests on what is assumed inside bins and groups of codes */
};
/* Of each line of an item. */
enum err answer_counted(const struct answer_terms *t, const struct answer *a, size_t item,
                        struct answer_counted *line) MUST_CHECK;
/* Of `z` deviations to either side. False: of this aggregate they say nothing. */
bool answer_counted_interval(const struct answer_counted *l, enum question_aggregate aggregate,
                             double z, double *low, double *high);

/* --- aim/answer/answer_disturb.c; they do nothing without a draw ------------------------------ */

/* Another share of a bin of a column, which is as likely. */
double answer_disturb_share(const struct answer_state *w, uint16_t column, double share);
void answer_disturb_part(const struct answer_state *w, uint16_t column, struct density_part *part);
/* The table's cells that are about a line. */
void answer_disturb_line(const struct answer_state *w, const struct answer_line *l);
