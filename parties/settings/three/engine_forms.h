/* parties/settings/three/engine_forms.h - sums of products over a server's rows; see engine.c. */
#pragma once

#include "parties/settings/three/engine.h"

/*
 * Opens a copula's forms, once paid for; reads the uploads again for records whose pairs are not
 * counted.
 */
enum err three_open_forms(struct three *g, const struct engine_step *s, struct tape *range,
                          int64_t *values) MUST_CHECK;
