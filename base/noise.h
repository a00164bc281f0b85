/* base/noise.h - what noise there is, and how a study has the Gaussian kind of it made. */
#ifndef TREFOIL_BASE_NOISE_H
#define TREFOIL_BASE_NOISE_H

enum tape_kind { TAPE_GAUSS, TAPE_GUMBEL, TAPE_KINDS };

/* Both have the same deviation (protocols/tape.h). */
enum noise_kind { NOISE_BOX_MULLER, NOISE_DISCRETE };
#define NOISE_KINDS 2

#endif
