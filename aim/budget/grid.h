/* aim/budget/grid.h - the lattices that samples, estimates and the integers of requests are on. */
#pragma once

#define AIM_GAUSS_BITS 20    /* lattice of unit Gaussians: 2^-20 */
#define AIM_GUMBEL_BITS 24   /* lattice of Gumbels: 2^-24 */
#define AIM_ESTIMATE_BITS 10 /* grid of estimates: 2^-10 */
