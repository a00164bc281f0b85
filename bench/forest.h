/*
 * bench/forest.h - a random forest, to see what a classifier learns from synthetic rows: as
 * scikit-learn's RandomForestClassifier(100) grows one. Trees are fully grown on rows drawn with
 * replacement; each split is the best by Gini's impurity of sqrt(features) features; classes are
 * averaged over the leaves that a row ends in.
 */
#pragma once

#include "aim/table/table.h"
#include "base/log.h"

/*
 * Learns an attribute from the others in `train` and gives the share of rows of `test` for which it
 * predicts it correctly. Numbers are taken as they are written, if the table kept them; labels as
 * codes. The same seed gives the same forest.
 */
enum err forest_accuracy(const struct table *train, const struct table *test, size_t attribute,
                         uint64_t seed, double *accuracy) MUST_CHECK;
