/* aim/model/model_densities.h - the densities inside bins that a model's counts imply. */
#pragma once

#include "aim/model/model.h"
#include "aim/table/density.h"

/* For every attribute that has numbers, by the model's marginal of it alone. */
enum err model_densities(struct densities *out, const struct model *m, struct log *log) MUST_CHECK;
