/*
 * aim/table/density.h - what is assumed about the numbers inside a bin.
 *
 * Nobody counted them, so this is an assumption, made from public values only: the bins and their
 * noisy counts. Drawing rows and answering questions both use it, so they agree.
 *
 * A code stands for numbers of one of three kinds:
 *   one number      a code of an integer attribute, a spike, a bin that holds one multiple
 *   some multiples  of the attribute's step, those that are in the bin
 *   an interval     where there is no step
 * Over these the density is log-linear: proportional to exp(tilt * u) with u from 0 to 1 across
 * the bin. It never moves anything from one bin to another. The tilt is
 *   by trend   the slope of the logarithm of the density, from the middle of the neighbour on
 *              either side to that of the bin: the harmonic mean of both, or 0 where one goes up
 *              and the other down. A bin at an end has one neighbour. Spikes do not count as
 *              neighbours. Ten rows are first added to every bin, so that noise in empty ones
 *              shapes nothing
 *   by tail    what the study says of the last bin that is no spike. Exponential: the rate at
 *              which an exponential distribution of the rows in the bin before and in this one
 *              leaves to this one as many as it has. Typical: the tilt that gives the declared mean
 * and 0, an even density, where there is no neighbour.
 *
 * Parts of a bin are half open, [low, high), and may reach beyond it. A comparison is such a part:
 *   x >= v  [v, INFINITY)                        x < v   [-INFINITY, v)
 *   x > v   [nextafter(v, INFINITY), INFINITY)   x <= v  [-INFINITY, nextafter(v, INFINITY))
 *   x = v   [v, nextafter(v, INFINITY))
 * In an interval a single number has (next to) no share.
 *
 * Codes here are those of numbers: 0 .. values - 1, never the missing one. All numbers of a code
 * are below all numbers of the next.
 */
#pragma once

#include "aim/table/domain.h"

#include <math.h>

struct density;

/*
 * For an integer or numeric attribute. `counts` are those of its codes in rows, however noisy: at
 * least a->values of them. NULL: they are assumed equal, and of all the above only a declared mean
 * counts. Nothing is borrowed.
 */
enum err density_new(struct density **d, const struct domain_attribute *a,
                     const double *counts) MUST_CHECK;
void density_free(struct density **d);

/* A part's share of a bin's mass, and the means of x and x^2 over it. */
struct density_part {
    double share;        /* 0 to 1; the shares of parts that make up the bin add up to 1 */
    double mean, square; /* 0 where the share is */
};
struct density_part density_part(const struct density *d, uint32_t code, double low, double high);

/* The whole bin. */
static inline struct density_part density_whole(const struct density *d, uint32_t code)
{
    return density_part(d, code, -INFINITY, INFINITY);
}

/*
 * The least number of a part at or below which a share `p` of the part lies: 0 gives its least
 * number, 1 its largest. The part must have a share of the bin above 0.
 */
double density_quantile(const struct density *d, uint32_t code, double low, double high, double p);

/* A number of the bin, drawn with `u`, uniform in [0, 1). */
static inline double density_draw(const struct density *d, uint32_t code, double u)
{
    return density_quantile(d, code, -INFINITY, INFINITY, u);
}

/*
 * The logarithm of the bin's own density at a number. For a multiple of the step the density is its
 * share over the step; for a bin of one number the result is 0. A number beyond the bin counts as
 * the bin's nearest.
 */
double density_log(const struct density *d, uint32_t code, double x);

/* How many digits after the point its numbers have; -1 where there is no step. */
int density_decimals(const struct density *d);

/* The tilt of a bin, for people and tests: 0 is even. */
double density_tilt(const struct density *d, uint32_t code);

/* The densities of a domain: of[attribute], NULL where it has labels. */
struct densities {
    size_t attributes;
    struct density **of;
};

/* From the counts that `count` fills in for each attribute with an order; NULL: all are equal. */
enum err densities_of(struct densities *out, const struct domain *d,
                      enum err (*count)(const void *self, uint16_t attribute, double *counts),
                      const void *self) MUST_CHECK;
void densities_clear(struct densities *d);
