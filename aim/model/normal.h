/* aim/model/normal.h - the standard normal distribution. */
#ifndef TREFOIL_AIM_MODEL_NORMAL_H
#define TREFOIL_AIM_MODEL_NORMAL_H

double normal_density(double x); /* 0 at both infinities */

/* The x below which a share p lies: relative error about 1e-15; -INFINITY at 0, INFINITY at 1. */
double normal_quantile(double p);

#endif
