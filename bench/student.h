/*
 * bench/student.h - how well a classifier does that sees distilled rows alone
 * (aim/train/distill.h): a softmax regression, 300 steps with momentum .9 at a rate of 2; or with
 * the clamp of aim/train/features.h, as a run would train on these rows without noise.
 */
#pragma once

#include "aim/table/table.h"
#include "aim/train/distill.h"

/* How often it is right about the test rows. */
enum err student_measure(const struct features *f, const struct distill_rows *rows, bool clamp,
                         const struct table *test, double *accuracy) MUST_CHECK;
