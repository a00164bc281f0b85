#include "aim/model/model_densities.h"

#include "base/memory.h"

static enum err one(struct density **out, const struct model *m, uint16_t attribute,
                    struct log *log)
{
    const struct domain_attribute *a = &model_domain(m)->attribute[attribute];
    const struct clique c = {.n = 1, .attribute = {attribute}};
    double *counts CLEAN(memory_release) = memory_array(a->size, sizeof *counts);
    if (counts == NULL)
        return ERR_NOMEM;
    TRY(model_marginal(m, &c, counts, log));
    return density_new(out, a, counts);
}

enum err model_densities(struct densities *out, const struct model *m, struct log *log)
{
    const struct domain *d = model_domain(m);
    struct densities all CLEAN(densities_clear) = {.attributes = d->attributes};
    TRY(memory_new(&all.of, d->attributes));
    for (uint16_t i = 0; i < d->attributes; i++)
        if (domain_has_order(&d->attribute[i]))
            TRY(one(&all.of[i], m, i, log));
    *out = all;
    all = (struct densities){0};
    return ERR_OK;
}
