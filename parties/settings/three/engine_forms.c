#include "parties/settings/three/engine_forms.h"

#include "aim/budget/forms.h"
#include "base/memory.h"
#include "parties/study/study_uploads.h"
#include "protocols/measure.h"

/* Sums of products that are made from records. */
struct forms_summing {
    struct three *g;
    struct forms products;
    struct share64 sums;
};

static enum err add_products(void *self, const struct upload *uploads, size_t count)
{
    const struct forms_summing *s = self;
    return tally_products(s->g->party, &s->g->tally, uploads, count, &s->products, s->sums);
}

/* Whether records of some owners are not among the rows that were made. */
static bool reads_again(const struct study *study)
{
    for (size_t i = 0; i < study->owners; i++)
        if (!study_sends_keys(study, i))
            return true;
    return study->open.most > 0;
}

enum err three_open_forms(struct three *g, const struct engine_step *step, struct tape *range,
                          int64_t *values)
{
    const struct ask *a = step->ask;
    struct share64 sums CLEAN(share64_free) = {0};
    struct forms_summing s = {.g = g, .products = ask_forms(a, g->study->workload)};
    TRY(share64_new(&sums, step->price.cells));
    s.sums = sums;
    if (study_counts_pairs(g->study)) {
        TRY(forms_add(&s.products, g->counts->x.a, g->counts->start, sums.a));
        TRY(forms_add(&s.products, g->counts->x.b, g->counts->start, sums.b));
    } else {
        TRY(tally_made_products(g->party, &g->tally, &s.products, sums));
        if (reads_again(g->study))
            TRY(g->uploads.read(g->uploads.self, add_products, &s));
    }
    return measure_open_sums(g->party, OPEN_NOISY_FORM, sums, range, 1, values);
}
