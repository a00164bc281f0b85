/* parties/command/plan.h - what `trefoil plan` says, by parts: plan_servers.c and so on. */
#pragma once

#include "aim/copula/copula_noise.h"
#include "aim/run/loop.h"
#include "parties/exchange/bounds.h"

struct plan_asked {
    struct study *study;
    struct bounds *bounds;
    struct aim_options options;
    struct domain grouped;  /* codes that a run is expected to merge are one */
    bool merges;            /* whether it is expected to merge any */
    uint64_t rows;          /* of all owners: as many as are expected, or else the most */
    uint64_t one_way_cells; /* of all one-ways */
    uint64_t largest;       /* cells of the closure's largest marginal */
    uint32_t largest_query; /* and which it is */
    const char *left;       /* of rho by earlier runs, as text; or NULL */
    bool simulate;
    const char *like;    /* public rows to simulate it with; NULL: invented ones, from the seed */
    int64_t seed, worst; /* how many marginals and correlations it shows */
    struct log *log;
};

/* All of it for a study of a method; these are in the table of methods (methods.h). */
enum err plan_aim(struct plan_asked *p, double rho) MUST_CHECK;
enum err plan_copula(struct plan_asked *p, double rho) MUST_CHECK;
enum err plan_train(struct plan_asked *p, double rho) MUST_CHECK;

/*
 * Prints the verdict, three lines: what this budget (rho, of all rows of a person) will be good
 * for, what change helps most, and by which measure that is better. The source file has the rules.
 */
enum err plan_verdict(const struct plan_asked *p, double rho) MUST_CHECK;

/* Exchanges of two servers: a measurement or forms, a selection, scores. */
#define PLAN_TWO_MEASURE 3
#define PLAN_TWO_SELECT 6
#define PLAN_TWO_SCORES 5

/* Prints how much there is of columns, rows and owners. */
void plan_study(const struct plan_asked *p);
/* Prints what owners send, and what servers keep of it. */
void plan_uploads(const struct plan_asked *p);
/* Prints exchanges, bytes and time for noise, and for bounding persons if the study does. */
enum err plan_servers(const struct plan_asked *p) MUST_CHECK;

/* Plays the study on rows that nobody needs to protect, and prints how far off its rows are. */
enum err plan_simulate(const struct plan_asked *p, double rho) MUST_CHECK;

/* Prints noise by epsilon and by rounds, the best number of rounds, and bins that are too fine. */
void plan_noise(const struct plan_asked *p);

/* --- plan_even.c: a copula, before anything is known of its rows ------------------------------ */

/* Columns whose rows are spread evenly over their codes. */
struct plan_even {
    size_t d;
    struct copula_column *column;
};

enum err plan_even_new(struct plan_even *e, const struct domain *d) MUST_CHECK;
void plan_even_clear(struct plan_even *e);

/*
 * The noise of a pair's sum, and how far off a correlation is by that, on average over all pairs or
 * those of numbers; pairs with a column of one value say nothing.
 */
enum err plan_even_noise(const struct plan_even *e, const struct study *s, double rho, double rows,
                         bool numbers, double *sum, double *correlation) MUST_CHECK;

/* How far off noise puts a copula's correlations of numbers, for a budget of rho of one row. */
enum err plan_even_expect(const struct study *s, double rho, double rows,
                          double *correlation) MUST_CHECK;
