/*
 * Rows and answers by the Arrow C data interface. All memory of one result is an arena, which every
 * array and schema of it holds: a consumer may move a child out and release the rest before it.
 */
#include "base/memory.h"
#include "library/trefoil_private.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct arrow_arena {
    struct keep keep;
    atomic_size_t holders;
};

static void arena_free(struct arrow_arena **a)
{
    if (*a != NULL)
        keep_clear(&(*a)->keep);
    memory_free(a);
}

static void let_go(struct arrow_arena *a)
{
    if (atomic_fetch_sub(&a->holders, 1) == 1)
        arena_free(&a);
}

static void release_schema(struct ArrowSchema *s)
{
    struct arrow_arena *a = s->private_data;
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release != NULL)
            s->children[i]->release(s->children[i]);
    if (s->dictionary != NULL && s->dictionary->release != NULL)
        s->dictionary->release(s->dictionary);
    s->release = NULL;
    let_go(a);
}

static void release_array(struct ArrowArray *x)
{
    struct arrow_arena *a = x->private_data;
    for (int64_t i = 0; i < x->n_children; i++)
        if (x->children[i]->release != NULL)
            x->children[i]->release(x->children[i]);
    if (x->dictionary != NULL && x->dictionary->release != NULL)
        x->dictionary->release(x->dictionary);
    x->release = NULL;
    let_go(a);
}

/* --- one column ------------------------------------------------------------------------------- */

/* A schema and an array that belong together, in the arena. */
struct arrow_field {
    struct ArrowSchema *schema;
    struct ArrowArray *array;
};

static enum err field_new(struct arrow_arena *a, const char *format, const char *name,
                          size_t length, size_t buffers, struct arrow_field *f)
{
    const void **room;
    const char *copy;
    TRY(keep_new(&a->keep, &f->schema, 1));
    TRY(keep_new(&a->keep, &f->array, 1));
    TRY(keep_new(&a->keep, &room, buffers));
    TRY(keep_string(&a->keep, &copy, name, strlen(name)));
    *f->schema = (struct ArrowSchema){.format = format,
                                      .name = copy,
                                      .flags = ARROW_FLAG_NULLABLE,
                                      .release = release_schema,
                                      .private_data = a};
    *f->array = (struct ArrowArray){.length = (int64_t)length,
                                    .n_buffers = (int64_t)buffers,
                                    .buffers = room,
                                    .release = release_array,
                                    .private_data = a};
    atomic_fetch_add(&a->holders, 2);
    return ERR_OK;
}

/* Counts what is missing; a bitmap only if anything is. */
static enum err set_valid(struct arrow_arena *a, const struct arrow_field *f, const bool *missing)
{
    const size_t n = (size_t)f->array->length;
    uint8_t *bits;
    for (size_t i = 0; i < n; i++)
        f->array->null_count += missing[i];
    if (f->array->null_count == 0)
        return ERR_OK;
    TRY(keep_new(&a->keep, &bits, (n + 7) / 8));
    for (size_t i = 0; i < n; i++)
        if (!missing[i])
            bits[i / 8] |= (uint8_t)(1u << i % 8);
    f->array->buffers[0] = bits;
    return ERR_OK;
}

/* n texts, one after the other. */
static enum err set_texts(struct arrow_arena *a, const struct arrow_field *f,
                          const char *const *text)
{
    const size_t n = (size_t)f->array->length;
    int32_t *end;
    size_t all = 0;
    char *bytes;
    TRY(keep_new(&a->keep, &end, n + 1));
    for (size_t i = 0; i < n; i++) {
        all += strlen(text[i]);
        if (all > INT32_MAX)
            return ERR_RANGE;
        end[i + 1] = (int32_t)all;
    }
    TRY(keep_new(&a->keep, &bytes, all + 1));
    for (size_t i = 0; i < n; i++)
        memcpy(bytes + end[i], text[i], strlen(text[i]));
    f->array->buffers[1] = end;
    f->array->buffers[2] = bytes;
    return ERR_OK;
}

/* What the codes of a column stand for, as questions name them. */
static enum err set_dictionary(struct arrow_arena *a, const struct arrow_field *f,
                               const struct domain_attribute *of)
{
    const char **text CLEAN(memory_release) = NULL;
    struct arrow_field d;
    TRY(memory_new(&text, of->values));
    for (uint32_t code = 0; code < of->values; code++) {
        char room[COLUMN_TEXT];
        const char *said = domain_text(of, code, 0, room);
        TRY(keep_string(&a->keep, &text[code], said, strlen(said)));
    }
    TRY(field_new(a, "u", "", of->values, 3, &d));
    TRY(set_texts(a, &d, text));
    f->schema->dictionary = d.schema;
    f->array->dictionary = d.array;
    return ERR_OK;
}

/* What one column is made from: a code or a number for each row, `step` apart. */
struct arrow_source {
    const char *name;
    size_t rows, step;
    const uint16_t *code16;
    const uint32_t *code32;
    const double *number;              /* NAN: missing */
    const struct domain_attribute *of; /* of codes, or of numbers that are labels */
    uint32_t unit;                     /* of dates: seconds */
    bool whole;
};

static enum err put_codes(struct arrow_arena *a, const struct arrow_source *s,
                          struct arrow_field *f)
{
    const bool whole = model_values(s->of) == TREFOIL_WHOLE;
    bool *missing CLEAN(memory_release) = NULL;
    int32_t *index;
    int64_t *number;
    TRY(memory_new(&missing, s->rows));
    TRY(field_new(a, whole ? "l" : "i", s->name, s->rows, 2, f));
    TRY(keep_new(&a->keep, &index, whole ? 0 : s->rows));
    TRY(keep_new(&a->keep, &number, whole ? s->rows : 0));
    for (size_t i = 0; i < s->rows; i++) {
        const double x = s->number != NULL ? s->number[i * s->step] : 0;
        const uint32_t code = isnan(x)            ? s->of->values
                              : s->number != NULL ? (uint32_t)x
                              : s->code16 != NULL ? s->code16[i * s->step]
                                                  : s->code32[i * s->step];
        missing[i] = code >= s->of->values;
        if (missing[i])
            continue;
        if (whole)
            number[i] = s->of->min + code;
        else
            index[i] = (int32_t)code;
    }
    f->array->buffers[1] = whole ? (const void *)number : index;
    TRY(set_valid(a, f, missing));
    return whole ? ERR_OK : set_dictionary(a, f, s->of);
}

/* float64, int64, days or seconds. */
static enum err put_numbers(struct arrow_arena *a, const struct arrow_source *s,
                            struct arrow_field *f)
{
    const bool days = s->unit == 86400, real = s->unit == 0 && !s->whole;
    bool *missing CLEAN(memory_release) = NULL;
    double *reals;
    int64_t *longs;
    int32_t *ints;
    TRY(memory_new(&missing, s->rows));
    TRY(field_new(a,
                  real          ? "g"
                  : days        ? "tdD"
                  : s->unit > 0 ? "tss:"
                                : "l",
                  s->name, s->rows, 2, f));
    TRY(keep_new(&a->keep, &reals, real ? s->rows : 0));
    TRY(keep_new(&a->keep, &ints, days ? s->rows : 0));
    TRY(keep_new(&a->keep, &longs, real || days ? 0 : s->rows));
    for (size_t i = 0; i < s->rows; i++) {
        const double x = s->number[i * s->step];
        missing[i] = isnan(x);
        if (missing[i])
            continue;
        if (real)
            reals[i] = x;
        else if (days)
            ints[i] = (int32_t)lrint(x);
        else
            longs[i] = llrint(x) * (s->unit > 0 ? s->unit : 1);
    }
    f->array->buffers[1] = real ? (const void *)reals : days ? (const void *)ints : longs;
    return set_valid(a, f, missing);
}

static enum err put_words(struct arrow_arena *a, const char *name, const char *const *text,
                          size_t rows, struct arrow_field *f)
{
    bool *missing CLEAN(memory_release) = NULL;
    TRY(memory_new(&missing, rows));
    TRY(field_new(a, "u", name, rows, 3, f));
    for (size_t i = 0; i < rows; i++)
        missing[i] = text[i][0] == '\0';
    TRY(set_texts(a, f, text));
    return set_valid(a, f, missing);
}

/* --- all of them ------------------------------------------------------------------------------ */

struct arrow_table {
    struct arrow_arena *arena;
    struct arrow_field root;
    size_t columns;
};

static void table_clear(struct arrow_table *t)
{
    arena_free(&t->arena);
}

static enum err table_begin(struct arrow_table *t, size_t rows, size_t columns)
{
    TRY(memory_new(&t->arena, 1));
    TRY(field_new(t->arena, "+s", "", rows, 1, &t->root));
    TRY(keep_new(&t->arena->keep, &t->root.schema->children, columns));
    TRY(keep_new(&t->arena->keep, &t->root.array->children, columns));
    return ERR_OK;
}

static void table_add(struct arrow_table *t, const struct arrow_field *f)
{
    t->root.schema->children[t->columns] = f->schema;
    t->root.array->children[t->columns] = f->array;
    t->root.schema->n_children = t->root.array->n_children = (int64_t)++t->columns;
}

/* Hands the whole to the caller, whose structs hold the arena in the place of ours. */
static void table_end(struct arrow_table *t, struct ArrowSchema *schema, struct ArrowArray *array)
{
    t->root.schema->flags = 0;
    *schema = *t->root.schema;
    *array = *t->root.array;
    t->arena = NULL;
}

static bool is_whole(const struct domain_attribute *a)
{
    return a->step > 0 && a->step == floor(a->step);
}

static enum err rows_arrow(const struct trefoil *model, const struct trefoil_rows *rows,
                           struct ArrowSchema *schema, struct ArrowArray *array)
{
    const struct domain *d = model->released.domain;
    struct arrow_table t CLEAN(table_clear) = {0};
    struct arrow_field f;
    TRY(table_begin(&t, rows->rows, rows->columns + rows->computed));
    for (uint32_t i = 0; i < rows->columns; i++) {
        const struct domain_attribute *a = &d->attribute[i];
        const struct arrow_source s = {.name = a->name,
                                       .rows = rows->rows,
                                       .step = 1,
                                       .code16 = rows->code[i],
                                       .number = domain_has_bins(a) ? rows->number[i] : NULL,
                                       .of = a,
                                       .unit = model->column[i].unit,
                                       .whole = is_whole(a)};
        TRY((domain_has_bins(a) ? put_numbers : put_codes)(t.arena, &s, &f));
        table_add(&t, &f);
    }
    for (uint32_t i = 0; i < rows->computed; i++) {
        const struct arrow_source s = {.name = rows->computed_name[i],
                                       .rows = rows->rows,
                                       .step = 1,
                                       .number = rows->computed_number[i],
                                       .unit = rows->computed_unit[i]};
        TRY(s.number != NULL ? put_numbers(t.arena, &s, &f)
                             : put_words(t.arena, s.name, rows->computed_text[i], rows->rows, &f));
        table_add(&t, &f);
    }
    table_end(&t, schema, array);
    return ERR_OK;
}

static enum err put_group(struct arrow_table *t, const struct trefoil *model,
                          const struct trefoil_answer *a, uint32_t g)
{
    double *part CLEAN(memory_release) = NULL;
    struct arrow_source s = {.name = a->group_name[g],
                             .rows = a->lines,
                             .step = a->groups,
                             .code32 = a->code + g,
                             .of = &model->released.domain->attribute[a->group[g]]};
    bool parts = false;
    struct arrow_field f;
    if (a->lines > 0 && a->group_label[g] != NULL) {
        const char **label CLEAN(memory_release) = NULL;
        TRY(memory_new(&label, a->lines));
        for (size_t i = 0; i < a->lines; i++)
            label[i] = a->group_label[i * a->groups + g];
        TRY(put_words(t->arena, s.name, label, a->lines, &f));
        table_add(t, &f);
        return ERR_OK;
    }
    TRY(memory_new(&part, a->lines));
    for (size_t i = 0; i < a->lines; i++) {
        const int32_t p = a->part[i * a->groups + g];
        parts |= p != TREFOIL_NO_PART;
        part[i] = p != TREFOIL_NO_PART ? (double)p : NAN;
    }
    if (parts) {
        s.step = 1;
        s.number = part;
        s.whole = true;
    }
    TRY((parts ? put_numbers : put_codes)(t->arena, &s, &f));
    table_add(t, &f);
    return ERR_OK;
}

static enum err put_item(struct arrow_table *t, const struct trefoil *model,
                         const struct trefoil_answer *a, uint32_t item)
{
    const double *const of[] = {a->value, a->low, a->high};
    static const char *const ends[] = {"", " low", " high"};
    char name[1024];
    for (size_t k = 0; k < (a->level > 0 ? 3u : 1u); k++) {
        struct arrow_source s = {.name = name,
                                 .rows = a->lines,
                                 .step = a->items,
                                 .number = of[k] + item,
                                 .unit = a->unit[item]};
        const bool labels = k == 0 && a->label_column[item] != TREFOIL_NONE;
        struct arrow_field f;
        snprintf(name, sizeof name, "%s%s", a->item[item], ends[k]);
        if (labels)
            s.of = &model->released.domain->attribute[a->label_column[item]];
        TRY((labels ? put_codes : put_numbers)(t->arena, &s, &f));
        table_add(t, &f);
    }
    return ERR_OK;
}

static enum err answer_arrow(const struct trefoil *model, const struct trefoil_answer *a,
                             struct ArrowSchema *schema, struct ArrowArray *array)
{
    struct arrow_table t CLEAN(table_clear) = {0};
    const struct arrow_source rows = {
        .name = "rows", .rows = a->lines, .step = 1, .number = a->count};
    struct arrow_field f;
    TRY(table_begin(&t, a->lines, a->groups + 3 * (size_t)a->items + 1));
    for (uint32_t g = 0; g < a->groups; g++)
        TRY(put_group(&t, model, a, g));
    for (uint32_t i = 0; i < a->items; i++)
        TRY(put_item(&t, model, a, i));
    TRY(put_numbers(t.arena, &rows, &f));
    table_add(&t, &f);
    table_end(&t, schema, array);
    return ERR_OK;
}

enum trefoil_status trefoil_rows_arrow(const struct trefoil *model, const struct trefoil_rows *rows,
                                       struct ArrowSchema *schema, struct ArrowArray *array,
                                       struct trefoil_error *error)
{
    (void)failure_log(error);
    *schema = (struct ArrowSchema){0};
    *array = (struct ArrowArray){0};
    return failure_status(error, rows_arrow(model, rows, schema, array));
}

enum trefoil_status trefoil_answer_arrow(const struct trefoil *model,
                                         const struct trefoil_answer *answer,
                                         struct ArrowSchema *schema, struct ArrowArray *array,
                                         struct trefoil_error *error)
{
    (void)failure_log(error);
    *schema = (struct ArrowSchema){0};
    *array = (struct ArrowArray){0};
    return failure_status(error, answer_arrow(model, answer, schema, array));
}
