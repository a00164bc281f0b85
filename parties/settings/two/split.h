/*
 * parties/settings/two/split.h - how counts are split between a provider and a keeper: each count x
 * is p + k mod 2^64.
 *
 *   owner -> provider   id, form, commitments, its salt, the vector: x - the stream of the seed
 *   owner -> keeper     id, form, commitments, its salt, the seed (16 bytes), which stands for k
 *
 * Each commitment has a salt that only the owner and its holder know: the keeper, which knows the
 * mask, could test a guessed table by a bare digest of the vector.
 */
#pragma once

#include "mpc/pair/pair.h"
#include "parties/setting/upload.h"

extern const struct split two_split;

/* Adds this server's share of an upload's counts to `n` words; ERR_MISUSE: its vector is cut. */
enum err two_split_add(const struct upload *u, enum pair_end end, uint64_t *words,
                       size_t n) MUST_CHECK;
