/*
 * bench/flaim/trees.h - gradient-boosted trees by XGBoost's library, loaded when first needed: how
 * well a model trained on synthetic rows predicts a label of real ones.
 */
#pragma once

#include "aim/table/table.h"

/* Whether the library (Debian's libxgboost0) can be loaded; `reason` says why not. */
bool trees_present(const char **reason);

/*
 * Trains on `train` to predict an attribute from the others (as numbers) and gives the area under
 * the ROC curve on `test`: of two values, or for more the mean over the values that occur in both
 * of one against the rest. NAN where fewer than two values occur. One thread, fixed seed.
 */
enum err trees_auc(const struct table *train, const struct table *test, size_t attribute,
                   double *auc, struct log *log) MUST_CHECK;
