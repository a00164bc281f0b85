/*
 * mpc/pair/pick.h - the index of the largest of shared scores, and nothing else.
 *
 * A score is v = p + k mod 2^w, signed. A tree of comparisons: of each two the right one wins only
 * if it is strictly greater, so ties go to the lower index; value and bits of the index go up.
 *
 *   K -> P   matrix   w bits a candidate
 *   P -> K   tables   with the lowest bits of the index's zero labels: the keeper knows the index
 *   K -> P   proof    the active labels of the index, 16 bytes a bit: the provider knows it, too
 * COST: about 3 w ANDs a candidate; a round for each message.
 * LEAKS: the index, to both. The provider must not send tables before whatever the index needs is
 * paid for at both ends.
 */
#pragma once

#include "mpc/pair/garbled.h"

#define PAIR_PICK_MOST 65536 /* candidates: at most half a gigabyte at either end */

struct pair_pick {
    const uint64_t *value; /* this end's share of each score */
    size_t candidates;
    unsigned width; /* w, 2 to 64: every score is within +-2^(w-1), the upper end excluded */
    size_t
        index; /* known to the keeper once the tables have passed, to the provider with the proof */
};

/*
 * `pick` is borrowed until the run is freed. ERR_RANGE: a size is outside the bounds above. Tables
 * that give the keeper an index of no candidate are ERR_CHEAT.
 */
enum err pair_pick_new(struct pair_run **run, struct pair *pair, struct pair_pick *pick) MUST_CHECK;

size_t pair_pick_proof(size_t candidates);
/* The keeper's and the provider's end of the proof. ERR_CHEAT: not labels of an index. */
enum err pair_pick_prove(const struct pair_run *run, uint8_t *proof) MUST_CHECK;
enum err pair_pick_verify(const struct pair_run *run, const uint8_t *proof) MUST_CHECK;
