/*
 * mpc/open.h - the only way by which a secret becomes public.
 *
 *   i -> i+1   x_i                                            1 element a server, 1 round
 *
 * Every call states its reason and is counted, and reported to the party's audit hook before
 * anything is sent. `out` must not overlap x. LEAKS: exactly the values opened.
 */
#ifndef TREFOIL_MPC_OPEN_H
#define TREFOIL_MPC_OPEN_H

#include "mpc/party.h"

enum err open_ring16(struct party *p, enum open_reason reason, struct share16 x,
                     uint16_t *out) MUST_CHECK;
enum err open_ring32(struct party *p, enum open_reason reason, struct share32 x,
                     uint32_t *out) MUST_CHECK;
enum err open_ring64(struct party *p, enum open_reason reason, struct share64 x,
                     uint64_t *out) MUST_CHECK;
/* out: bits_words(x.n) words; bits past x.n are zero. */
enum err open_bits(struct party *p, enum open_reason reason, struct bits x,
                   uint64_t *out) MUST_CHECK;

/*
 * Opens values given as a masked XOR-additive summand a server (z_0 ^ z_1 ^ z_2, each masked by a
 * fresh zero share): the product of two shared values and its opening in one round.
 *   i -> both   z_i                                         2 elements a server, 1 round
 */
enum err open_summands(struct party *p, enum open_reason reason, const uint64_t *z, size_t n,
                       uint64_t *out) MUST_CHECK;

#endif
