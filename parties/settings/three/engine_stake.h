/*
 * parties/settings/three/engine_stake.h - a round's noise, for parties/settings/three/engine.c:
 * functions of its table (parties/setting/engine.h). What the store keeps of a stake is
 * range_write()'s.
 */
#pragma once

#include "parties/settings/three/engine.h"

/* The place of a step's stake, if it is the next. */
struct stake_place three_next(const struct three *engine, const struct engine_step *step);
/* Whether a step must first make what its scores need. */
bool three_is_unfinished(const struct engine_step *step);

enum err three_supply(void *self, const struct engine_step *step, bool *made) MUST_CHECK;
enum err three_stake(void *self, const struct engine_step *step, void **stake,
                     struct bytes *kept) MUST_CHECK;
enum err three_take_stake(void *self, const struct stake_place *place, const struct bytes *kept,
                          void **stake) MUST_CHECK;
enum err three_return_stake(void *self, void *stake) MUST_CHECK;
void three_free_stake(void **stake);
enum err three_digests(void *self, const struct engine_step *step, const void *stake,
                       uint8_t own[32], uint8_t replica[2][32]) MUST_CHECK;
