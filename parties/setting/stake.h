/*
 * parties/setting/stake.h - which of a session's noise belongs to a round: so much of each kind,
 * from there on. What of, and in which units, the setting knows (parties/setting/engine.h).
 */
#pragma once

#include <stdint.h>

enum store_stake_kind { STAKE_MEASURE, STAKE_SELECT, STAKE_KINDS };
struct stake_place {
    uint8_t of[32];
    uint64_t from[STAKE_KINDS], count[STAKE_KINDS];
};
