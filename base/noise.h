/* base/noise.h - what noise there is, and how a study has the Gaussian kind of it made. */
#pragma once

#include <stdbool.h>

/* What a sample's distribution is: Gaussian on a measurement, Gumbel on a score. */
enum noise_law { NOISE_GAUSS, NOISE_GUMBEL, NOISE_LAWS };

/*
 * How a Gaussian sample is made, with the same deviation each way (protocols/tape.h). Of each kind:
 * its word in a study; how it is made, in a report's words; and whether samples have exactly the
 * law that is meant, so that none costs more than the theorem says.
 */
#define NOISE_EACH(kind)                                                                           \
    kind(NOISE_BOX_MULLER, "box-muller", "in finite precision", false)                             \
        kind(NOISE_DISCRETE, "discrete", "by exact coins", true)
#define NOISE_NAME(name, word, made, exact) name,
enum noise_kind { NOISE_EACH(NOISE_NAME) NOISE_KINDS };
extern const char *const noise_words[NOISE_KINDS], *const noise_made[NOISE_KINDS];
extern const bool noise_exact[NOISE_KINDS];

/*
 * Who makes a sample: all servers together, and none knows it; or each of two makes a whole one of
 * its own, and both are added, so that what one server knows takes nothing from the other's; or two
 * make most of a Gaussian together, and each adds a small part of its own; or the one owner of the
 * rows makes it, and servers hold shares of it.
 */
enum noise_by { NOISE_BY_ALL, NOISE_BY_BOTH, NOISE_BY_JOINT, NOISE_BY_OWNER };
