/* mpc/check/check_fold.h - what both kinds of check_matrix.h are folded with; for mpc/check/. */
#pragma once

#include "mpc/check/check_matrix.h"

/* Make room for at most so many parts; for the next one, whose g is zeros. */
enum err check_folded_new(struct party *p, struct check_folded *s, const struct check_matrices *m,
                          size_t most) MUST_CHECK;
enum err check_folded_part(struct party *p, struct check_folded *s, size_t n) MUST_CHECK;

/* Draws a weight for each row of each matrix. */
enum err check_draw_weights(struct party *p, struct prg *weights, const size_t *rows,
                            size_t matrices, uint64_t ***weight) MUST_CHECK;

/* out is the sum of the weighed rows of x, of n words each, or has it added. */
void check_fold_rows(const struct party *p, struct share16 out, struct share16 x, size_t rows,
                     const uint64_t *weight, size_t n, bool add);

/* sum += each row's weights times its coefficients, 32 of each weight, modulo 2^16 */
void check_add_weighed(const struct party *p, uint32_t sum[MATRIX_CLAIMS],
                       const uint16_t *coefficients, const uint64_t *weight, size_t rows);
