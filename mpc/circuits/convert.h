/*
 * mpc/circuits/convert.h - between numbers in the ring and numbers as bits.
 *
 * Lanes are divided into three parts; in part j server j has the role that knows x_j + x_(j+1).
 * LEAKS: nothing; every word sent is masked by a PRG that the receiver lacks.
 */
#pragma once

#include "mpc/circuits/adder.h"

/*
 * x = u + t: u = x_j + x_(j+1) is known to server j, t = x_(j+2) to the two others. Gives the low
 * `digits` bits of what this server knows, plane by plane: of u in the part where it is j,
 * elsewhere of t. Local.
 */
void convert_known(const struct party *p, uint64_t *planes, unsigned digits, struct share64 x);

/*
 * out = the low out.width bits of x: j inputs u's, t's cost nothing, and an adder follows.
 *   j -> j+1   bits of u ^ F                        width bits a lane over all servers
 * 2 + ceil(log2(width - 1)) exchanges.
 */
enum err convert_to_bits(struct party *p, struct planes *out, struct share64 x) MUST_CHECK;

/*
 * out = the number whose bits are x, at most 64.
 *   components 0 and 1 are drawn from the PRGs; y = x - F_0 - F_1 is computed on bits
 *   0 -> 1   y_0        0 -> 2   y_1                          so that 1 and 2 know y = component 2
 * One carry-save exchange, an adder of 64 bits, one exchange.
 */
enum err convert_to_ring64(struct party *p, struct share64 out, const struct planes *x) MUST_CHECK;

/*
 * The numbers of x and those of y in the exchanges of one call: out has room for twice the words of
 * x, as lanes; x's numbers come first, y's from the middle on.
 */
enum err convert_two_to_ring64(struct party *p, struct share64 out, const struct planes *x,
                               const struct planes *y) MUST_CHECK;

/*
 * out = the bit as a number, 0 or 1: T = x_j ^ x_(j+1) is known to j, u = x_(j+2) to the others,
 * and move_known() makes T ^ u. 4 elements over all servers, 1 exchange.
 */
enum err convert_bit16(struct party *p, struct share16 out, struct bits x) MUST_CHECK;
enum err convert_bit64(struct party *p, struct share64 out, struct bits x) MUST_CHECK;
enum err convert_bit128(struct party *p, struct share128 out, struct bits x) MUST_CHECK;
