/*
 * parties/settings/two/owner_noise.h - noise_by: owner: in a study of one owner, that owner makes
 * the noise, and servers hold shares of it.
 *
 *   owner -> provider   z - F(seed) of a block of samples z, 8 bytes each
 *   owner -> keeper     seed, 16 bytes, which stands for F(seed)
 *
 * Gaussians and Gumbels are those of mpc/pair/own_noise.h. Coins, seeds and the blocks' names are
 * fresh whenever the owner shares: noise that followed from key and data would be the same in each
 * upload. Servers keep blocks as parties/store/store_ahead.h says, in no backup, and use those that
 * both have (parties/settings/ahead_talk.h), each deleted before it is used. So whatever was put
 * back, no sample is used twice.
 *
 * LEAKS: nothing. A share of a sample is uniform, and the other share is at the other server.
 */
#pragma once

#include "mpc/pair/pair.h"
#include "parties/settings/ahead_talk.h"
#include "parties/settings/two/own_tape.h"

/* As struct split has them (parties/setting/split.h). */
enum err owner_noise_draw(enum noise_law kind, size_t n, struct bytes part[2]) MUST_CHECK;
size_t owner_noise_bytes(unsigned server, size_t n);

/*
 * Moves blocks to the tape until it has `count` more words of each kind. ERR_REFUSED, logged, if
 * there are not as many, and then none is taken; ERR_AGAIN, logged, if one cannot be used: it is
 * gone, and the session should end.
 */
enum err owner_noise_take(struct ahead *ahead, struct store *store, const struct study *study,
                          enum pair_end end, struct own_tape *tape, const size_t count[NOISE_LAWS],
                          struct log *log) MUST_CHECK;
