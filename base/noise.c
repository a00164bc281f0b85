#include "base/noise.h"

const char *const noise_words[NOISE_KINDS] = {
    [NOISE_BOX_MULLER] = "box-muller", [NOISE_DISCRETE] = "discrete"};
const char *const noise_made[NOISE_KINDS] = {
    [NOISE_BOX_MULLER] = "in finite precision", [NOISE_DISCRETE] = "by exact coins"};
const bool noise_exact[NOISE_KINDS] = {[NOISE_DISCRETE] = true};
