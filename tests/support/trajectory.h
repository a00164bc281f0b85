/* tests/support/trajectory.h - whether what a classifier's run opened is its rows' gradients. */
#pragma once

#include "tests/support/scene.h"

/* A trajectory.json of so many steps: noise is as loud as it says, in each step and the test. */
void trajectory_check(struct scene *c, const char *path, size_t steps);
