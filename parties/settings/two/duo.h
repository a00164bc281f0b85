/*
 * parties/settings/two/duo.h - the setting of two servers (parties/setting/setting.h): a provider,
 * server 0, which holds masked counts, and a keeper, server 1, which holds the seeds of the masks.
 * A session has one lane, and makes its noise itself: each server its own (own_tape.h). Or it has
 * the owner's (owner_noise.h).
 */
#pragma once

#include "parties/setting/setting.h"

extern const struct setting duo_setting;
