/*
 * aim/answer/errors.h - how far off the answers of a model may be. Errors are made once and kept
 * beside the model.
 *
 * Two things are wrong with a model.
 *
 *   noise    Its measurements are noisy. The model is fitted ERRORS_REFITS times to measurements to
 *            which as much noise is added again; an answer's error is how it differs between these
 *            refits. In each, groups are shared out by a draw from the likely shares
 *            (aim/model/model_shares.c).
 *   gaps     Columns that no measured marginal holds together are linked only through others. How
 *            wrong the model is then is learned from measured marginals that are held back from a
 *            fit (aim/answer/errors_learn.c). And nobody counted inside bins: how wrong the density
 *            there may be is learned from what it would say of two neighbours if they were one bin.
 *
 * All this follows from what was opened: it costs no budget, and the same measurements give the
 * same bytes, on any number of threads.
 */
#pragma once

#include "aim/model/model.h"

#define ERRORS_REFITS 30

/* The file's size at most, in bytes: a model of many parameters has fewer refits, or none. */
#define ERRORS_FILE_MAX ((size_t)64 << 20)

/*
 * An error is split by how it changes the distribution of a column y among some rows, into the
 * first Legendre polynomials of y's rank among them, of norm 1. The first, a constant, is the
 * number of these rows.
 */
#define ERRORS_WAVES 4

/* The variance of a relative error, for a share p of all: (1 - p)^2 (common + small / rows). */
struct errors_size {
    double common, small;
};

struct errors {
    size_t refits, potentials, parameters;
    double *total;                          /* of each refit: its number of rows */
    float *unit;                            /* of each refit and clique */
    int16_t *moved;                         /* of each refit: theta less the model's, in units */
    size_t shares;                          /* of a model's merged attributes */
    double *share;                          /* of each refit: all of these */
    bool learned;                           /* there were marginals to hold back */
    struct errors_size apart[ERRORS_WAVES]; /* for each unmeasured link */
    size_t attributes;
    double *inside; /* of each: a share w of its bins has a variance of inside^2 w (1 - w) */
    size_t counts;  /* what was measured, as the model's total has it; merges are the model's */
    struct measurement *count;
};

struct errors_progress {
    void (*fitted)(void *self, size_t fits, size_t of); /* may be NULL */
    void *self;
};

/* How many refits of a model of so many parameters the file has room for; 0 if fewer than ten. */
size_t errors_refits(uint64_t parameters);
uint64_t errors_bytes(uint64_t parameters); /* of that file, without heads of less than a kB */

/* `m` has been fitted to the measurements. *e is NULL where there is no room for refits. */
enum err errors_new(struct errors **e, const struct model *m,
                    const struct measurement *measurements, size_t count,
                    const struct errors_progress *progress, struct log *log) MUST_CHECK;
void errors_free(struct errors **e);
/* Allocates memory for so many refits, which the caller fills. */
enum err errors_room(struct errors *e, const struct model *m, size_t refits) MUST_CHECK;

/* Turns a copy of the model into what it was in a refit. */
void errors_apply(const struct errors *e, size_t refit, const struct model *m, struct model *copy);

/*
 * How many links between these columns were not measured: one less than the number of measured
 * cliques that it takes to hold them all. 0: one clique holds them.
 */
unsigned errors_links(const struct model *m, const struct scope *columns);
/* The same without some of the cliques (a flag for each of the model's potentials). */
unsigned errors_links_without(const struct model *m, const struct scope *columns,
                              const bool *without);
