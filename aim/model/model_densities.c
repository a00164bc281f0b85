#include "aim/model/model_densities.h"

struct counted_model {
    const struct model *model;
    struct log *log;
};

static enum err count(const void *self, uint16_t attribute, double *counts)
{
    const struct counted_model *c = self;
    const struct clique one = {.n = 1, .attribute = {attribute}};
    return model_marginal(c->model, &one, counts, c->log);
}

enum err model_densities(struct densities *out, const struct model *m, struct log *log)
{
    return densities_of(out, model_domain(m), count, &(const struct counted_model){m, log});
}
