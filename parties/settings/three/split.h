/*
 * parties/settings/three/split.h - how data are split among three servers: replicated, and masked
 * as protocols/mask.h says.
 *
 *   owner -> server 0   id, form, commitments, salts 0 and 1, seed 0, seed 1
 *   owner -> server 1   id, form, commitments, salts 1 and 2, seed 1, the vector (component 2)
 *   owner -> server 2   id, form, commitments, salts 2 and 0, seed 0
 *   server 1 -> 2       id, the vector
 */
#pragma once

#include "parties/setting/upload.h"

extern const struct split three_split;

/* The seeds that server `index` holds; NULL for the component that is the vector. */
void three_seeds(const struct upload *u, unsigned index, const uint8_t *seed[2]);
