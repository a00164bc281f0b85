/*
 * tests/support_mirror.h - the reference's mirror descent, an oracle for model_fit().
 *
 * theta moves by -step dL(mu). The step starts at 1 / total^2, each iteration tries twice the last
 * accepted one, and halves it (25 times at most) until the loss falls by at least
 * step/2 <dL, mu_old - mu_new>: two belief propagations or so an iteration.
 */
#ifndef TREFOIL_TESTS_SUPPORT_MIRROR_H
#define TREFOIL_TESTS_SUPPORT_MIRROR_H

#include "aim/model.h"

/* As model_fit(). Every clique is one of the model's. */
enum err mirror_fit(struct model *m, const struct measurement *measurements, size_t count,
                    unsigned iterations, struct fit_result *result) MUST_CHECK;

#endif
