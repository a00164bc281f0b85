#include "parties/settings/three/engine_private.h"

#include "aim/budget/forms.h"
#include "base/memory.h"
#include "parties/study/study_uploads.h"
#include "protocols/measure.h"

/* Sums of products that are made from records. */
struct forms_summing {
    const struct workload *workload;
    struct forms products;
    struct share64 sums;
};

static enum err add_products(struct party *p, const struct records_shape *shape,
                             const struct records_batch *batches, size_t count, void *self)
{
    const struct forms_summing *s = self;
    const struct workload *load = s->workload;
    const int64_t **score CLEAN(memory_release) = NULL, **group CLEAN(memory_release) = NULL;
    TRY(memory_new(&score, load->one_ways));
    TRY(memory_new(&group, load->one_ways));
    for (size_t a = 0; a < load->one_ways; a++) {
        score[a] = s->products.factor + load->query[a].offset;
        group[a] = s->products.group + load->query[a].offset;
    }
    return records_moments(p, shape, batches, count, score, group, s->sums);
}

enum err three_open_forms(struct three *g, const struct engine_step *step, struct tape *range,
                          int64_t *values)
{
    const struct ask *a = step->ask;
    struct share64 sums CLEAN(share64_free) = {0};
    struct forms_summing s = {.workload = g->study->workload,
                              .products = ask_forms(a, g->study->workload)};
    TRY(share64_new(&sums, step->price.cells));
    s.sums = sums;
    if (study_counts_pairs(g->study)) {
        TRY(forms_add(&s.products, g->counts->x.a, g->counts->start, sums.a));
        TRY(forms_add(&s.products, g->counts->x.b, g->counts->start, sums.b));
    } else {
        TRY(three_read_again(g, add_products, &s));
    }
    return measure_open_sums(g->party, OPEN_NOISY_FORM, sums, range, 1, values);
}
