/* Models and their columns. */
#include "base/memory.h"
#include "base/secret.h"
#include "library/trefoil_private.h"

enum trefoil_values model_values(const struct domain_attribute *a)
{
    return a->labels != NULL     ? TREFOIL_LABELS
           : a->calendar != NULL ? TREFOIL_DATES
           : a->edges != NULL    ? TREFOIL_BINS
                                 : TREFOIL_WHOLE;
}

static struct trefoil_column column_of(const struct domain_attribute *a)
{
    return (struct trefoil_column){
        .name = a->name,
        .kind = (int32_t)model_values(a),
        .codes = a->size,
        .values = a->values,
        .labels = (const char *const *)a->labels,
        .min = a->min,
        .max = a->max,
        .edges = a->edges,
        .step = a->step,
        .missing = a->missing,
        .unit = a->calendar != NULL ? (uint32_t)calendar_unit_seconds(a->calendar->unit) : 0};
}

static enum err load(struct trefoil *t, const char *path, struct log *log)
{
    const struct domain *d;
    TRY(secret_start());
    TRY(file_in(t->path, path, "model", log));
    TRY(released_load(&t->released, t->path, log));
    d = t->released.domain;
    TRY(memory_new(&t->column, d->attributes));
    for (size_t i = 0; i < d->attributes; i++)
        t->column[i] = column_of(&d->attribute[i]);
    return ERR_OK;
}

enum trefoil_status trefoil_open(struct trefoil **model, const char *path,
                                 struct trefoil_error *error)
{
    struct trefoil *t CLEAN(trefoil_close) = NULL;
    struct log log = failure_log(error);
    enum err e = memory_new(&t, 1);
    *model = NULL;
    if (e == ERR_OK)
        e = load(t, path, &log);
    if (e == ERR_OK)
        e = memory_hand_over(model, &t);
    return failure_status(error, e);
}

void trefoil_close(struct trefoil **model)
{
    if (*model == NULL)
        return;
    released_clear(&(*model)->released);
    memory_free(&(*model)->column);
    memory_free(model);
}

enum trefoil_kind trefoil_kind(const struct trefoil *model)
{
    return model->released.copula != NULL ? TREFOIL_COPULA : TREFOIL_TREE;
}

double trefoil_total(const struct trefoil *model)
{
    return released_total(&model->released);
}

const char *trefoil_version(void)
{
    return TREFOIL_VERSION;
}

uint32_t trefoil_columns(const struct trefoil *model)
{
    return (uint32_t)model->released.domain->attributes;
}

const struct trefoil_column *trefoil_column(const struct trefoil *model, uint32_t column)
{
    return column < trefoil_columns(model) ? &model->column[column] : NULL;
}

uint32_t trefoil_find(const struct trefoil *model, const char *name)
{
    return domain_find(model->released.domain, name); /* DOMAIN_NO_CODE is TREFOIL_NONE */
}
