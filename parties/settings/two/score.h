/*
 * parties/settings/two/score.h - how far a model is from each candidate, as shares, and which score
 * is the largest: the messages of mpc/pair/ over the session's link.
 *
 *   hello       K -> P   once a session, with `choices` P -> K: base transfers (mpc/pair/pair.h)
 *   joint noise K -> P   matrix; then P -> K tables (mpc/pair/joint_noise.h)
 *   distances   K -> P   matrix; then P -> K tables (mpc/pair/distance.h, squares.h)
 *   largest     K -> P   matrix; then P -> K tables; then K -> P proof (mpc/pair/pick.h)
 *
 * Each arrow is an exchange. Statements ride on the first two of a selection, so that its tables,
 * which open the index, come after both. If a message cannot be made, the session ends.
 */
#pragma once

#include "aim/run/ask.h"
#include "mpc/pair/pair.h"
#include "netio/net.h"
#include "parties/settings/two/sums.h"

/* 2 exchanges. LEAKS: nothing. */
enum err score_meet(struct pair **pair, struct net *net, const uint8_t id[PAIR_ID_SIZE]) MUST_CHECK;

/* Makes this server's n own parts its words of joint noise: 2 exchanges. LEAKS: nothing. */
enum err score_joint_noise(struct pair *pair, struct net *net, uint64_t *word, size_t n) MUST_CHECK;

/*
 * out[k]: this server's share of `unit` times candidate k's distance from its estimates, which are
 * on the grid 1 / unit; where the study weighs squares, of the squared distance from integers.
 * 2 exchanges. LEAKS: nothing.
 */
enum err score_distances(struct pair *pair, struct net *net, const struct sums *sums,
                         const struct ask *ask, const struct score_bounds *bounds, uint64_t unit,
                         uint64_t *out) MUST_CHECK;

/* Of n shared scores of this width the index of the largest. 3 exchanges. LEAKS: the index. */
enum err score_largest(struct pair *pair, struct net *net, const uint64_t *score, size_t n,
                       unsigned width, size_t *index) MUST_CHECK;
