/* aim/model/normal.h - the standard normal distribution. */
#pragma once

double normal_density(double x); /* 0 at both infinities */
double normal_below(double x);   /* the share below x */

/* The x below which a share p lies: relative error about 1e-15; -INFINITY at 0, INFINITY at 1. */
double normal_quantile(double p);
