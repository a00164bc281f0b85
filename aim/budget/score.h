/*
 * aim/budget/score.h - the public integers of measure and select, the same on every machine.
 *
 * The analyst puts them into a request; the servers compute them again and refuse any other value.
 * So nothing here rounds in floating point where flooring or rounding decides an integer: doubles
 * count as the binary fractions that they are.
 *
 * No-wrap conditions, for counts 0 <= x < 2^l (public): estimates c_j on the grid 2^-10 are at most
 * 2^l, and at most 2^(l+1) in sum over a marginal; S_q is the largest possible sum of q's counts.
 * Then 0 <= L1_q <= S_q + 2^(l+1), and the score m_q (2^10 L1_q - penalty_q) + 2^(f-24) g_q with
 * |g| <= 96 * 2^24 is a signed number of `width` bits. The difference of two scores takes one bit
 * more. So width is at most 63, and a comparison by subtraction fits a word.
 *
 * Squares are of integers only: C_j is c_j rounded to the nearest, at most 2^l. Then every
 * |x_j - C_j| <= 2^l and 0 <= L2_q <= 2^l (S_q + 2^(l+1) + cells_q). One more row changes one
 * (x_j - C_j)^2 by 2 (x_j - C_j) + 1, of magnitude at most 2^(l+1) - 1 since x_j + 1 < 2^l. So
 * Delta is 2^(l+1).
 */
#pragma once

#include "aim/budget/grid.h"
#include "aim/budget/measure.h"
#include "aim/workload/merge.h"
#include "aim/workload/workload.h"
#include "base/noise.h"

/* How badly the model fits: the sum of |x_j - c_j|, or of (x_j - C_j)^2, with C_j = c_j rounded. */
enum aim_score { AIM_L1, AIM_L2 };

/* The most candidates of a selection, and of one that is proved (mpc/circuits/argmax.h). */
#define SELECT_MOST 65536
#define SELECT_MOST_PROVED 16384

#define SCORE_WIDTH_MAX 63
#define SCORE_SHIFT_MIN 24
#define SCORE_SHIFT_MAX 40
#define SCORE_MULTIPLIER_MIN 256   /* below it, flooring would cost over 0.4 % of the budget */
#define SCORE_MULTIPLIER_FINE 1024 /* below it, a finer grid is tried */
#define SCORE_MULTIPLIER_MAX (UINT64_C(1) << 30)
#define SCORE_BITS_MAX 40
#define SCORES_MULTIPLIER_MIN 32 /* of scores that are opened: flooring there costs up to 3 % */
#define SCORES_NOISE (UINT64_C(1) << 26) /* no Gaussian of the lattice is as large */
#define SCORE_TOTAL_MAX (UINT64_C(1) << 50)

struct score_bounds {
    unsigned bits;         /* l: every count is below 2^l */
    const uint64_t *total; /* S_q by closure index; NULL: 2^l for all (records) */
    /* what l is made of: the most that owners of counts count in a cell of a maximal marginal, and
     * the most rows that the other owners send (aim/workload/merge.h) */
    uint64_t counts, rows;
    enum noise_by noise_by; /* if two make Gumbels, a score has one of each */
    unsigned room;  /* the most that merges may raise l to; if below l, they may not raise it */
    double epsilon; /* the most that a selection may have; 0: any */
};

uint64_t score_total(const struct score_bounds *b, uint32_t query);
/*
 * The same for merged cells, if `m` is not NULL: l is never smaller. Owners of counts bound each
 * cell, so a merged cell may count as many times that as it has cells.
 */
enum err score_merged(struct score_bounds *merged, const struct score_bounds *b,
                      const struct workload *w, const struct merges *m) MUST_CHECK;

/* The largest m with m (S_q + 2^(l+1)) + 2^26 < 2^63 for this query. */
uint64_t scores_most(const struct score_bounds *b, uint32_t query);

struct score_terms {
    const struct domain *domain;
    const struct workload *workload;
    const struct merges *merges; /* NULL: none */
    const uint32_t *query;       /* `candidates` closure indices */
    size_t candidates;
    double epsilon; /* eps_t, without the slack of the Gumbel circuit */
    double sigma;   /* sigma_t, of the measurement that follows */
    struct score_bounds bounds;
    enum aim_score score;
};

struct score_plan {
    unsigned shift;     /* f */
    unsigned width;     /* w */
    double sensitivity; /* the largest w_q, times the most that a row may change a score by */
};

/*
 * With m_q = floor(2^(f-10) eps w_q / (2 Delta)) and penalty_q = round(sqrt(2/pi) sigma cells_q
 * 2^10), and
 *   w = 1 + ceil(log2(max_q(m_q (2^10 (S_q + 2^(l+1)) + penalty_q)) + 2^f 96)), with 192 for 96
 * where two servers each make a Gumbel,
 * f is the least in 24 .. 40 for which all m_q >= 2^10, since narrow scores are compared in fewer
 * rounds; flooring then costs less than 0.1 % of the budget. If there is none, or its w is above
 * 63, f is the largest for which w is at most 63.
 * For squares, which are integers: m_q = floor(2^f eps w_q / (2 Delta)), penalty_q = round(sigma^2
 * cells_q), and the bound above.
 * The caller provides room for `candidates` multipliers and penalties. ERR_RANGE, logged with what
 * to change, if there is no such f or a multiplier is below 2^8.
 */
enum err score_plan(const struct score_terms *terms, uint64_t *multiplier, uint64_t *penalty,
                    struct score_plan *plan, struct log *log) MUST_CHECK;

/*
 * The most that merges may raise l to so that every selection of a run has a plan: with any of the
 * terms' candidates, any epsilon from the terms' to `most` and any sigma up to the terms'. If that
 * is less than the terms' own l, the room is that l, and `most` becomes so small that it suffices;
 * ERR_RANGE, logged with what to change, if `most` would be below the terms' epsilon.
 *
 * Let f be the least shift, 24 at least, at which all m_q >= 2^8. Then m_q < 2^9 w_q / min w, or f
 * is 24 and m_q <= 2^13 `most` (of squares 2^(22-l) `most`). Where such multipliers have a width of
 * at most 63, score_plan() finds this f or a larger one.
 */
enum err select_room(const struct score_terms *terms, double *most, unsigned *room,
                     struct log *log) MUST_CHECK;

/*
 * ERR_REFUSED, logged with the query's name, if its estimates, on the grid 1 / `unit`, exceed the
 * bounds above. Of the terms it uses domain, workload, merges and bounds.
 */
enum err select_check_estimates(const struct score_terms *terms, uint32_t query, uint64_t unit,
                                const uint64_t *estimate, struct log *log) MUST_CHECK;

/* The sum over cells of |unit x_j - c_j|. */
uint64_t score_distance(uint64_t unit, size_t cells, const int64_t *counts,
                        const uint64_t *estimate);

/*
 * The integer that servers compute on shares (protocols/score.h):
 *   L1  2^10 times the distance: sum over cells of |2^10 x_j - c_j|
 *   L2  sum over cells of (x_j - C_j)^2
 */
uint64_t select_score(enum aim_score score, size_t cells, const int64_t *counts,
                      const uint64_t *estimate);
