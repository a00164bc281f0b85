/* base/cores.h - how many processors this process may use. */
#pragma once

#include <stddef.h>

/*
 * At least 1: those it may run on, and no more than the share of time that its control group has.
 */
size_t cores_count(void);

/* The share in a file cpu.max, rounded up: "150000 100000" is 2. 0: no limit, or no such file. */
size_t cores_of_group(const char *path);
