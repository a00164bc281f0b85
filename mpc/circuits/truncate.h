/*
 * mpc/circuits/truncate.h - division by a power of two, exact in the sense that matters: it never
 * wraps.
 *
 * For v < 2^(k-1) write v = u + t - 2^k w with u = v_j + v_(j+1) known to j and t = v_(j+2) known
 * to the others. Since v's top bit is 0, the wrap w is the OR of the top bits of u and t:
 *
 *   v >> s  =  (u >> s) + (t >> s) - 2^(k-s) (u_top + t_top - u_top t_top) + 1
 *
 * The terms before the 1 give floor((v - t mod 2^s) / 2^s): one floor, with an offset that is
 * uniform and independent of v. With the 1 added, the result lies in (v/2^s - 1, v/2^s + 1] and its
 * mean is v/2^s. u_top t_top is needed only modulo 2^s: over all servers an element and 4 of half
 * the width, or of the full width where s is more than that; 1 exchange.
 *
 * Under a check j first inputs the carries of v_j + v_(j+1) too: k bits, and one more exchange.
 * Then each component's v_i >> s is known to those who hold it, and mpc/move/note.h says what is
 * noted of the rest. LEAKS: nothing.
 */
#pragma once

#include "mpc/party/party.h"

/*
 * For -2^62 <= v < 2^62 (2^126) and 1 <= shift <= 62 (126): an offset is added before and
 * subtracted after. out may be v.
 */
enum err truncate_signed_ring64(struct party *p, struct share64 out, struct share64 v,
                                unsigned shift) MUST_CHECK;
enum err truncate_signed_ring128(struct party *p, struct share128 out, struct share128 v,
                                 unsigned shift) MUST_CHECK;

/*
 * The same number in the ring of twice the width, exact: v = u + t - 2^k (u_top + t_top -
 * u_top t_top) there. Requires 0 <= v < 2^15 (2^63). Over all servers a wide element and 4 narrow
 * ones; 1 exchange.
 */
enum err truncate_widen16(struct party *p, struct share32 out, struct share16 v) MUST_CHECK;
enum err truncate_widen64(struct party *p, struct share128 out, struct share64 v) MUST_CHECK;

/*
 * Half of an even number in the ring of twice the width, exact: u and t are both even or both odd,
 * so v / 2 = (u >> 1) + (t >> 1) + (t mod 2) - 2^31 (u_top + t_top - u_top t_top). Requires 0 <= v
 * < 2^31. Over all servers 5 wide elements; 1 exchange.
 */
enum err truncate_half32(struct party *p, struct share64 out, struct share32 v) MUST_CHECK;
