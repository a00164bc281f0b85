#include "base/noise.h"

#define WORD(name, word, made, exact) [name] = (word),
#define MADE(name, word, made, exact) [name] = (made),
#define EXACT(name, word, made, exact) [name] = (exact),

const char *const noise_words[NOISE_KINDS] = {NOISE_EACH(WORD)};
const char *const noise_made[NOISE_KINDS] = {NOISE_EACH(MADE)};
const bool noise_exact[NOISE_KINDS] = {NOISE_EACH(EXACT)};
