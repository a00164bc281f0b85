#include "aim/budget/forms.h"
#include "base/memory.h"
#include "parties/settings/three/engine_private.h"
#include "parties/study/study_uploads.h"
#include "protocols/measure.h"
#include "protocols/train_gradient.h"

/* Who takes what uploads hold. */
struct reading_again {
    struct three *g;
    tally_take *take;
    void *self;
};

static enum err take_uploads(void *self, const struct upload *uploads, size_t count)
{
    const struct reading_again *r = self;
    return tally_again(r->g->party, &r->g->tally, uploads, count, r->take, r->self);
}

/* Whether records of some owners are not among the rows that were made. */
static bool some_are_uploads(const struct study *study)
{
    for (size_t i = 0; i < study->owners; i++)
        if (!study_sends_keys(study, i))
            return true;
    return study->open.most > 0;
}

/* Gives `take` the rows that were made from uploads, then uploads of records, read again. */
static enum err read_again(struct three *g, tally_take *take, void *self)
{
    struct reading_again r = {g, take, self};
    TRY(tally_made_again(g->party, &g->tally, take, self));
    return some_are_uploads(g->study) ? g->uploads.read(g->uploads.self, take_uploads, &r) : ERR_OK;
}

/* --- sums of products ------------------------------------------------------------------------- */

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
        TRY(read_again(g, add_products, &s));
    }
    return measure_open_sums(g->party, OPEN_NOISY_FORM, sums, range, 1, values);
}

/* --- a classifier ----------------------------------------------------------------------------- */

struct three_train {
    struct train_shape shape;
    uint32_t *size;
    uint16_t *column;
    struct train_rows rows;
    size_t owners; /* whose rows these are */
};

void three_train_free(struct three_train **train)
{
    if (*train == NULL)
        return;
    train_rows_free(&(*train)->rows);
    memory_free_all(&(*train)->size, &(*train)->column);
    memory_free(train);
}

/* The features of the study, as the protocols take them. */
static enum err shape_of(struct three_train *t, const struct features *f)
{
    const struct domain *d = f->domain;
    size_t columns = 0;
    TRY(memory_new(&t->size, d->attributes));
    TRY(memory_new(&t->column, d->attributes));
    for (size_t a = 0; a < d->attributes; a++) {
        t->size[a] = d->attribute[a].size;
        if (f->column[a].kind != FEATURES_NONE)
            t->column[columns++] = (uint16_t)a;
    }
    t->shape = (struct train_shape){.records = {d->attributes, t->size},
                                    .target = (uint16_t)f->target,
                                    .classes = f->classes,
                                    .column = t->column,
                                    .columns = columns,
                                    .norm2 = f->norm2,
                                    .bits = f->j,
                                    .tests = f->tests,
                                    .test = (uint16_t)f->test,
                                    .test_code = f->test_code};
    return train_outputs(&t->shape) == f->outputs && train_features(&t->shape) == f->count
               ? ERR_OK
               : ERR_MISUSE;
}

static enum err add_rows(struct party *p, const struct records_shape *shape,
                         const struct records_batch *batches, size_t count, void *self)
{
    struct three_train *t = self;
    (void)shape; /* it is the study's */
    return train_rows_add(p, &t->rows, batches, count);
}

static enum err make_rows(struct three *g)
{
    struct three_train *t;
    three_train_free(&g->train);
    TRY(memory_new(&g->train, 1));
    t = g->train;
    TRY(shape_of(t, g->study->features));
    train_rows_start(&t->rows, &t->shape);
    TRY(read_again(g, add_rows, t));
    TRY(train_rows_end(g->party, &t->rows));
    t->owners = g->tally.owners;
    return ERR_OK;
}

/* Opens what is summed up over the rows at the request's weights. */
static enum err open_sums(struct three *g, const struct engine_step *s, struct tape *range,
                          int64_t *values, enum party_reason reason,
                          enum err (*add)(struct party *p, const struct train_rows *rows,
                                          const int64_t *weight, struct share64 out))
{
    const struct ask *a = s->ask;
    struct share64 sums CLEAN(share64_free) = {0};
    if (g->train == NULL || g->train->owners != g->tally.owners)
        TRY(make_rows(g));
    TRY(share64_new(&sums, s->price.cells));
    TRY(add(g->party, &g->train->rows, a->weight, sums));
    return measure_open_sums(g->party, reason, sums, range, a->multiplier, values);
}

enum err three_open_gradient(struct three *g, const struct engine_step *s, struct tape *range,
                             int64_t *values)
{
    return open_sums(g, s, range, values, OPEN_NOISY_GRADIENT, train_gradient);
}

enum err three_open_test(struct three *g, const struct engine_step *s, struct tape *range,
                         int64_t *values)
{
    return open_sums(g, s, range, values, OPEN_NOISY_MARGINAL, train_test);
}
