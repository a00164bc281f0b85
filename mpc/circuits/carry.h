/*
 * mpc/circuits/carry.h - what a check notes about u = x_j + x_(j+1), which server j knows.
 *
 * The bits a and b of those two components are shared without a message: each is carried by one
 * component, which two servers hold. With c = u ^ a ^ b, u is right if
 *
 *   (a_i ^ c_i) (b_i ^ c_i) = c_(i+1) ^ c_i,  c_0 = 0
 *
 * since the left side, XORed with c_i, is the majority of a_i, b_i, c_i. LEAKS: nothing.
 */
#pragma once

#include "mpc/move/move.h"

/* The low bits of x_j and x_(j+1) of every lane, x being words of a ring. */
void carry_components(const struct party *p, struct planes *a, struct planes *b,
                      enum share_ring ring, struct move_operand x);

/* Notes the relations of c, c_0 first, which must be 0. Uses up a and b. */
enum err carry_note(struct party *p, struct planes *a, struct planes *b,
                    const struct planes *c) MUST_CHECK;

/*
 * Server j inputs the carries of a + b, of as many positions as c has, from 0 on.
 *   j -> j+1   c_i ^ F, 0 < i                              c.width - 1 bits a lane over all servers
 */
enum err carry_input(struct party *p, const struct planes *c, const struct planes *a,
                     const struct planes *b) MUST_CHECK;
