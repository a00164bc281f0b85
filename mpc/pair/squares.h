/*
 * mpc/pair/squares.h - how far each candidate's estimates are from its counts: squared L2, shared.
 *
 * With C the integer nearest to an estimate, x = p + k mod 2^64, (x - C)^2 is (p - C)^2 + k^2,
 * which the servers have alone, and 2 (p - C) k: the sum over the bits of k of 2^(b+1) (p - C),
 * which bit b chooses (pair_gates_choose()).
 *   K -> P   matrix   64 bits a cell
 *   P -> K   tables   64 words a cell
 * COST: 1,536 bytes a cell. LEAKS: nothing. Shares are masked by hashes of labels.
 *
 * Squares of what is no count have no bound, and no sensitivity: only for a study of one owner.
 */
#pragma once

#include "mpc/pair/distance.h"

/* As pair_distance_new(), but `bits` and `most` are not looked at. */
enum err pair_squares_new(struct pair_run **run, struct pair *pair,
                          const struct pair_distance *distance) MUST_CHECK;
