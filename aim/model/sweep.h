/*
 * aim/model/sweep.h - the inner loops of belief propagation and of fitting.
 *
 * There are three versions, for AVX-512, AVX2 and any processor, from one source in vectors of
 * eight numbers without fused multiply-adds: the same input gives the same bytes on every machine.
 *
 * A table over a scope is walked in chunks: the cells of its last attributes, whose values run
 * fastest. A strip says where a chunk's cells fall in the table of a smaller scope. It alternates
 * runs that move along in the smaller table ("kept" attributes) and runs that stay at one of its
 * cells ("dropped" ones). So a projection takes a few numbers instead of an index for each cell.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWEEP_LANES 8 /* numbers of a vector */
#define STRIP_RUNS 18 /* chunks have at most 16 attributes of two or more values */

struct sweep_strip {
    bool kept;                 /* the innermost run moves along */
    unsigned runs;             /* at least 2; padded with runs of length 1 */
    size_t length[STRIP_RUNS]; /* innermost first, alternately kept and dropped */
};

struct sweep {
    const char *name;
    /* cell[i] = part[strip(i)], += and *=, over one chunk */
    void (*spread)(double *cell, const double *part, const struct sweep_strip *s);
    void (*spread_add)(double *cell, const double *part, const struct sweep_strip *s);
    void (*spread_multiply)(double *cell, const double *part, const struct sweep_strip *s);
    /* part[strip(i)] += cell[i], and the larger of the two */
    void (*collect)(double *part, const double *cell, const struct sweep_strip *s);
    void (*collect_most)(double *part, const double *cell, const struct sweep_strip *s);
    /*
     * v = exp(v) and v = log(v) in place. exp: relative error below 2^-51 for -708 <= v <= 709; 0
     * below that, and the value at 709 above. log: relative error below 2^-51 for positive normal
     * numbers.
     */
    void (*exp)(double *v, size_t n);
    void (*log)(double *v, size_t n);
    double (*dot)(const float *a, const float *b, size_t n);
    double (*dot_off)(const float *a, const double *b, const double *c, size_t n); /* a (b - c) */
    /* sum of (a factor - b)^2 */
    double (*square_off)(const double *a, double factor, const double *b, size_t n);
    void (*add)(double *to, double factor, const float *a, size_t n); /* to += factor a */
    /* to[i] = the sum over k < count of x[place[k]] row[k n + i], n a multiple of SWEEP_LANES */
    void (*combine)(double *to, const double *x, const uint64_t *place, const double *row,
                    size_t count, size_t n);
};

/* The fastest that this processor can run, and each of the three (NULL: it cannot). */
const struct sweep *sweep_best(void);
const struct sweep *sweep_plain(void);
const struct sweep *sweep_avx2(void);
const struct sweep *sweep_avx512(void);
