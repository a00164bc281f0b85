#include "parties/settings/three/engine_private.h"

#include "base/memory.h"
#include "protocols/measure.h"
#include "protocols/train_gradient.h"

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
    TRY(three_read_again(g, add_rows, t));
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
