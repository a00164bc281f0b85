/*
 * aim/errors.h - how far off the answers of a model may be. They are made once and kept beside it.
 *
 * Two things are wrong with a model.
 *
 *   noise    of its measurements. It is fitted again to measurements that have as much noise once
 *            more, ERRORS_REFITS times; an answer's error is how it differs between these. How
 *            groups are shared out is drawn from what is likely of them (aim/model_shares.c).
 *   gaps     Of columns that no measured marginal holds together the model knows only through
 *            others. How wrong it is then is learned from measured marginals that are held back
 *            from a fit (aim/errors_learn.c). And nobody counted inside bins: how wrong the density
 *            there may be is learned from what it would say of two neighbours, were they one bin.
 *
 * All follows from what was opened: it costs no budget, and the same measurements give the same
 * bytes, on any number of threads.
 */
#ifndef TREFOIL_AIM_ERRORS_H
#define TREFOIL_AIM_ERRORS_H

#include "aim/model.h"

#define ERRORS_REFITS 30

/* Of the file that keeps them: a model of many parameters has fewer refits, or none. */
#define ERRORS_FILE_MAX ((size_t)64 << 20)

/*
 * An error is taken apart by how it changes the distribution of a column y among some rows: by the
 * first Legendre polynomials of y's rank among them, of norm 1. The first, a constant, is the
 * number of these rows.
 */
#define ERRORS_WAVES 4

/* The variance of a relative error, of a share p of all: (1 - p)^2 (common + small / rows). */
struct errors_size {
    double common, small;
};

struct errors {
    size_t refits, potentials, parameters;
    double *total;                          /* of each refit: its number of rows */
    float *unit;                            /* of each refit and clique */
    int16_t *moved;                         /* of each refit: theta less the model's, in units */
    size_t shares;                          /* of a model's merged attributes */
    double *share;                          /* of each refit, all of these */
    bool learned;                           /* there were marginals to hold back */
    struct errors_size apart[ERRORS_WAVES]; /* for each link that was not measured */
    size_t attributes;
    double *inside; /* of each: a share w of its bins has a variance of inside^2 w (1 - w) */
};

struct errors_progress {
    void (*fitted)(void *self, size_t fits, size_t of); /* may be NULL */
    void *self;
};

/* As many refits of a model of so many parameters as the file has room for; 0: below ten. */
size_t errors_refits(uint64_t parameters);
uint64_t errors_bytes(uint64_t parameters); /* of that file, less than a kB of heads aside */

/* `m` has been fitted to the measurements. *e is NULL where there is no room for refits. */
enum err errors_new(struct errors **e, const struct model *m,
                    const struct measurement *measurements, size_t count,
                    const struct errors_progress *progress, struct log *log) MUST_CHECK;
void errors_free(struct errors **e);
/* Memory for so many refits, for whoever fills it. */
enum err errors_room(struct errors *e, const struct model *m, size_t refits) MUST_CHECK;

/* Makes a copy of the model what it was in a refit. */
void errors_apply(const struct errors *e, size_t refit, const struct model *m, struct model *copy);

/*
 * How many links between these columns were not measured: one less than the measured cliques that
 * it takes to hold them all. 0: one holds them.
 */
unsigned errors_links(const struct model *m, const struct scope *columns);
/* The same without some of the cliques (a flag for each of the model's potentials). */
unsigned errors_links_without(const struct model *m, const struct scope *columns,
                              const bool *without);

#endif
