/*
 * parties/command/settings.h - which settings there are. Nothing else of the program knows: the
 * store, owners' code and servers use a setting through its tables (parties/setting/).
 */
#pragma once

#include "parties/setting/setting.h"

/* The setting of a study that was read: the one with so many servers. */
const struct setting *settings_of(const struct study *study);
