/*
 * mpc/known.h - a value known to one server times a value known to the two others.
 *
 * Server j knows a; servers j+1 and j+2 know b. With F = F(key_j) (known to j, j+2) and G, H two
 * positions of key_(j+2) (known to j+1, j+2, not to j):
 *   round 1   j   -> j+1   a - F                 so (F, a - F, 0) shares a, and j+1 knows a - F
 *             j+2 -> j     F b - G
 *   round 2   j+1 -> j     (a - F) b - H
 *   a b = (F b - G) + ((a - F) b - H) + (G + H): components j, j+1, j+2
 * 3 elements over all servers, 2 rounds. More values that j knows are input in round 1 for one
 * element each. Lanes are in three parts (party_part); part j is handled so by server j. LEAKS:
 * nothing.
 */
#ifndef TREFOIL_MPC_KNOWN_H
#define TREFOIL_MPC_KNOWN_H

#include "mpc/party.h"

/*
 * `one` holds, at lanes of the part where this server is j, what it knows as a; `two` at the other
 * lanes what it knows as b. shared_a receives a, product a b. `extra` (or NULL) is like `one`: what
 * j inputs besides, into shared_extra. Arrays have the length of product.
 */
#define KNOWN_DECLARE(bits, word)                                                                  \
    enum err known_product##bits(struct party *p, struct share##bits product,                      \
                                 struct share##bits shared_a, const word *one, const word *two,    \
                                 const word *extra, struct share##bits shared_extra) MUST_CHECK;

KNOWN_DECLARE(32, uint32_t)
KNOWN_DECLARE(64, uint64_t)
KNOWN_DECLARE(128, word128)

#endif
