/* parties/settings/three/engine_again.h - the rows that are counted, once more; see engine.c. */
#pragma once

#include "parties/settings/three/engine.h"

/* Gives `take` those that were made from uploads, then uploads of records, read again. */
enum err three_read_again(struct three *g, tally_take *take, void *self) MUST_CHECK;
