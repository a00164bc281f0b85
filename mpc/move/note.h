/*
 * mpc/move/note.h - relations of numbers that server j shares because it knows them.
 *
 * In a part of the lanes with server j in the heavier role, components j and j+1 are known to j,
 * and component j+2 to the two others. Write x_j for a number that component j alone carries; both
 * of its holders form it, so it costs nothing. Without a check nothing is noted. LEAKS: nothing; no
 * message is sent, unless the log is full.
 */
#pragma once

#include "mpc/move/move.h"

/* Room in scratch for shares of n words. */
enum err note_room(struct party *p, struct move_operand *x, enum share_ring ring,
                   size_t n) MUST_CHECK;

/*
 * T is the XOR of the bits x_j and x_(j+1), as a number:      2 x_j x_(j+1) = x_j + x_(j+1) - T
 * and out that of T and u = x_(j+2):                          2 u T = T + u - out
 */
enum err note_known(struct party *p, enum share_ring ring, struct bits x,
                    struct move_operand t) MUST_CHECK;
enum err note_bit(struct party *p, enum share_ring ring, struct bits x, struct move_operand t,
                  struct move_operand out) MUST_CHECK;

/*
 * What a truncation by s of words of k bits gives (mpc/circuits/truncate.h), in words of `ring`:
 *
 *   out = sum of (v_i >> s) + [c_s] - 2^(k-s) ([c_k] + T + w - w T)
 *
 * c_s and c_k are the carries of v_j + v_(j+1) out of s and k bits, as shares of bits that j has
 * input; T shares the top bit of v_j + v_(j+1), w is the top bit of v_(j+2):
 *
 *   -2 s_j s_(j+1) + 2^(k-s+1) t_j t_(j+1) + 2^(k-s) w T
 *       = out - sum of (v_i >> s) - s_j - s_(j+1) + 2^(k-s) (t_j + t_(j+1) + T + w)
 *
 * with s and t the components of c_s and c_k. T counts only modulo 2^s, so it may be in words of
 * `product`, of at least as many bits.
 */
struct note_truncation {
    enum share_ring ring, product;
    size_t n;
    unsigned lift; /* k - s */
    struct bits carry_s, carry_k, top;
    struct move_operand shifted, t, out; /* shifted: v_i >> s of each component */
};
enum err note_truncated(struct party *p, const struct note_truncation *terms) MUST_CHECK;

/*
 * What move_choose() makes of bits s and numbers v: T is that of s, and with V = v_j + v_(j+1), u =
 * s_(j+2) and w = (1 - 2 u) v_(j+2)
 *
 *   T V = P                                                               of each lane
 *   sum of u (V - 2 P) + w T  =  out - sum of P + u v_(j+2)               of each sum
 *
 * The lanes start[k] <= i < start[k+1] of a sum are all of one part.
 */
struct note_choice {
    struct bits s;
    struct share64 v, out;
    const size_t *start;
    struct move_operand t, product;
};
enum err note_choice(struct party *p, const struct note_choice *terms) MUST_CHECK;
