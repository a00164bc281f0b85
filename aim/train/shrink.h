/* aim/train/shrink.h - makes rows of numbers short enough to be counted. */
#pragma once

#include "aim/table/table.h"
#include "aim/train/features.h"

/*
 * Servers leave out a row whose squares add up to more than norm^2. So its owner multiplies its
 * codes by .99^i, each rounded to the nearest, with the least i that fits. Returns how many rows it
 * changed. The table has all columns of numbers, or none; its own domain may lack others.
 */
size_t shrink_rows(struct table *t, const struct features *f);
