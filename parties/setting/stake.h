/*
 * parties/setting/stake.h - which of a session's noise belongs to a round: so much of each kind,
 * from there on. What of, and in which units, the setting knows (parties/setting/engine.h).
 */
#pragma once

#include "base/noise.h"

#include <stdint.h>

struct stake_place {
    uint8_t of[32];
    uint64_t from[NOISE_LAWS], count[NOISE_LAWS];
};
