/* Synthetic rows, and marginals. */
#include "aim/table/rows.h"
#include "aim/answer/rows_given.h"
#include "aim/table/derive.h"
#include "aim/table/series.h"
#include "base/memory.h"
#include "base/random.h"
#include "library/trefoil_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- rows ------------------------------------------------------------------------------------- */

struct drawn {
    struct trefoil_rows given;
    struct keep keep;
};

void trefoil_rows_free(struct trefoil_rows **rows)
{
    struct drawn *d = (struct drawn *)*rows;
    if (d == NULL)
        return;
    keep_clear(&d->keep);
    memory_free(rows);
}

/* Makes room for the columns that are computed. */
static enum err keep_computed(struct drawn *d, const struct derive_list *list, double ***number,
                              const char ****text)
{
    const size_t rows = d->given.rows;
    const char **name;
    uint32_t *unit;
    TRY(keep_new(&d->keep, &name, list->count));
    TRY(keep_new(&d->keep, &unit, list->count));
    TRY(keep_new(&d->keep, number, list->count));
    TRY(keep_new(&d->keep, text, list->count));
    for (size_t i = 0; i < list->count; i++) {
        const struct derive *e = &list->of[i];
        TRY(keep_string(&d->keep, &name[i], e->name, strlen(e->name)));
        if (e->type == DERIVE_TEXT)
            TRY(keep_new(&d->keep, &(*text)[i], rows));
        else
            TRY(keep_new(&d->keep, &(*number)[i], rows));
        if (e->type == DERIVE_DATE)
            unit[i] = (uint32_t)calendar_unit_seconds(e->calendar.unit);
    }
    d->given.computed = (uint32_t)list->count;
    d->given.computed_name = name;
    d->given.computed_number = (const double *const *)*number;
    d->given.computed_text = (const char *const *const *)*text;
    d->given.computed_unit = unit;
    return ERR_OK;
}

/* The numbers that table_write_csv() would write, in its order, and what follows from them. */
static enum err draw_numbers(struct drawn *to, const struct table *t,
                             const struct densities *inside, uint64_t seed, double *const *number)
{
    const struct domain *d = t->domain;
    struct derive_plan *p CLEAN(derive_free) = NULL;
    struct random r = random_of(seed);
    uint16_t code[DOMAIN_ATTRIBUTES_MAX];
    double known[DOMAIN_ATTRIBUTES_MAX], **computed = NULL;
    const char ***text = NULL;
    TRY(derive_new(&p, d));
    if (d->derived != NULL)
        TRY(keep_computed(to, &d->derived->computed, &computed, &text));
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t i = 0; i < d->attributes; i++) {
            code[i] = t->column[i][row];
            known[i] = table_number(t, i, row);
        }
        TRY(derive_draw(p, code, known, true, inside, &r));
        for (size_t i = 0; i < d->attributes; i++)
            if (number[i] != NULL &&
                (code[i] >= d->attribute[i].values ||
                 !domain_parse(&d->attribute[i], derive_text(p, i), &number[i][row])))
                number[i][row] = NAN;
        for (size_t i = 0; i < to->given.computed; i++) {
            const char *said = derive_computed(p, i,
                                               computed[i] != NULL ? &computed[i][row] : NULL);
            if (text[i] != NULL)
                TRY(keep_string(&to->keep, &text[i][row], said, strlen(said)));
        }
    }
    return ERR_OK;
}

static enum err give(struct drawn *d, struct table *t, const struct densities *inside,
                     uint64_t seed)
{
    const size_t columns = t->domain->attributes;
    const uint16_t **code;
    double **number;
    TRY(keep_new(&d->keep, &code, columns));
    TRY(keep_new(&d->keep, &number, columns));
    for (size_t i = 0; i < columns; i++)
        if (domain_has_order(&t->domain->attribute[i]))
            TRY(keep_new(&d->keep, &number[i], t->rows));
    d->given.rows = t->rows;
    TRY(draw_numbers(d, t, inside, seed, number));
    for (size_t i = 0; i < columns; i++) {
        code[i] = t->column[i];
        TRY(keep_adopt(&d->keep, &t->column[i]));
    }
    d->given.columns = (uint32_t)columns;
    d->given.code = code;
    d->given.number = (const double *const *)number;
    return ERR_OK;
}

/* Before any memory is taken; 0 rows are as many as the model stands for. */
static enum err check_rows(const struct trefoil *model, size_t rows, struct log *log)
{
    const uint64_t most = TREFOIL_DRAWN_MAX / model->released.domain->attributes;
    if (rows > most)
        return log_fail(log, ERR_RANGE,
                        "%zu rows are too many; ask for fewer, at most %" PRIu64 " of this model",
                        rows, most);
    if (rows > 0 || released_total(&model->released) < (double)most)
        return ERR_OK;
    return log_fail(log, ERR_RANGE,
                    "the model stands for %.0f rows, which are too many at once; say how many, at "
                    "most %" PRIu64,
                    released_total(&model->released), most);
}

/* What a function was asked for. */
struct asked_rows {
    size_t rows;
    uint64_t seed;
    enum trefoil_sampling sampling;
    const char *condition;
    const char *const *const *text;
};

/* A date may be as studies and questions have it, whatever the column's formats are. */
static const char *as_written(const struct domain_attribute *a, const char *text,
                              char room[COLUMN_TEXT])
{
    double x, high;
    return text != NULL && domain_is_quoted(a) && !domain_missing_text(a, text) &&
                   !domain_parse(a, text, &x) && a->kind->spelt(a, text, &x, &high)
               ? domain_print(a, x, 0, room)
               : text;
}

static enum err take_text(struct table *known, size_t column, const char *const *text,
                          struct log *log)
{
    const struct domain_attribute *a = &known->domain->attribute[column];
    for (size_t row = 0; row < known->rows; row++) {
        char allowed[300], room[COLUMN_TEXT];
        const char *said = as_written(a, text != NULL ? text[row] : NULL, room);
        const uint32_t code = said != NULL ? domain_code(a, said) : ROWS_ANY;
        double x = NAN;
        if (code == DOMAIN_NO_CODE) {
            rows_allowed(a, allowed, sizeof allowed);
            return log_fail(log, ERR_USAGE, "row %zu: %s is '%s'; it must be %s", row, a->name,
                            said, allowed);
        }
        known->column[column][row] = (uint16_t)code;
        if (known->number[column] != NULL)
            known->number[column][row] = said != NULL && code < a->values &&
                                                 domain_parse(a, said, &x)
                                             ? x
                                             : NAN;
    }
    return ERR_OK;
}

static enum err complete(const struct trefoil *model, const struct asked_rows *asked,
                         struct table **t, struct log *log)
{
    struct table *known CLEAN(table_free) = NULL;
    size_t never = 0;
    enum err e;
    TRY(table_new(&known, model->released.domain, asked->rows));
    TRY(table_keep_numbers(known));
    known->rows = asked->rows;
    for (size_t i = 0; i < known->domain->attributes; i++)
        TRY(take_text(known, i, asked->text[i], log));
    e = rows_complete(t, &model->released, known, asked->seed, &never, log);
    return e != ERR_DATA ? e
                         : log_fail(log, ERR_QUESTION,
                                    "row %zu: the model has no such row: its values do not occur "
                                    "together",
                                    never);
}

static enum err sample(const struct trefoil *model, const struct asked_rows *asked,
                       struct trefoil_rows **out, struct log *log)
{
    static const enum released_sampling how[] = {[TREFOIL_USUAL] = SAMPLING_ANY,
                                                 [TREFOIL_ROUNDED] = SAMPLING_ROUNDED,
                                                 [TREFOIL_INDEPENDENT] = SAMPLING_INDEPENDENT};
    const struct released *r = &model->released;
    struct trefoil_rows *made CLEAN(trefoil_rows_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    struct drawn *d;
    if ((unsigned)asked->sampling > TREFOIL_INDEPENDENT)
        return log_fail(log, ERR_USAGE, "there is no way %d of sampling", (int)asked->sampling);
    TRY(released_has_rows(r, log));
    TRY(check_rows(model, asked->rows, log));
    TRY(memory_new(&d, 1));
    made = &d->given;
    TRY(asked->text != NULL ? complete(model, asked, &t, log)
        : asked->condition != NULL
            ? rows_where(&t, r, asked->condition, asked->rows, asked->seed, log)
            : released_rows(&t, r, asked->rows, asked->seed, how[asked->sampling], log));
    TRY(give(d, t, &r->inside, asked->seed));
    return memory_hand_over(out, &made);
}

static enum trefoil_status draw(const struct trefoil *model, const struct asked_rows *asked,
                                struct trefoil_rows **drawn, struct trefoil_error *error)
{
    struct log log = failure_log(error);
    *drawn = NULL;
    return failure_status(error, sample(model, asked, drawn, &log));
}

enum trefoil_status trefoil_sample(const struct trefoil *model, size_t rows, uint64_t seed,
                                   enum trefoil_sampling sampling, struct trefoil_rows **drawn,
                                   struct trefoil_error *error)
{
    const struct asked_rows asked = {.rows = rows, .seed = seed, .sampling = sampling};
    return draw(model, &asked, drawn, error);
}

enum trefoil_status trefoil_sample_where(const struct trefoil *model, const char *condition,
                                         size_t rows, uint64_t seed, struct trefoil_rows **drawn,
                                         struct trefoil_error *error)
{
    const struct asked_rows asked = {.rows = rows, .seed = seed, .condition = condition};
    return draw(model, &asked, drawn, error);
}

enum trefoil_status trefoil_complete(const struct trefoil *model, const char *const *const *text,
                                     size_t rows, uint64_t seed, struct trefoil_rows **drawn,
                                     struct trefoil_error *error)
{
    const struct asked_rows asked = {.rows = rows, .seed = seed, .text = text};
    return draw(model, &asked, drawn, error);
}

/* --- marginals -------------------------------------------------------------------------------- */

struct counted {
    struct trefoil_counts given;
    struct keep keep;
};

void trefoil_counts_free(struct trefoil_counts **counts)
{
    struct counted *c = (struct counted *)*counts;
    if (c == NULL)
        return;
    keep_clear(&c->keep);
    memory_free(counts);
}

static enum err no_such_column(const struct domain *d, const char *name, struct log *log)
{
    const char *near = domain_nearest(d, name);
    if (near == NULL)
        return log_fail(log, ERR_QUESTION, "there is no column \"%s\"", name);
    return log_fail(log, ERR_QUESTION, "there is no column \"%s\"; did you mean \"%s\"?", name,
                    near);
}

/* `asked` has the columns in the order of the names, `c` in ascending order. */
static enum err find_columns(const struct domain *d, const char *const *names, uint32_t n,
                             struct scope *asked, struct clique *c, struct log *log)
{
    if (n == 0 || n > CLIQUE_MAX)
        return log_fail(log, ERR_RANGE, "a marginal has one to %d columns, not %u", CLIQUE_MAX, n);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t column = domain_find(d, names[i]);
        if (column == DOMAIN_NO_CODE)
            return no_such_column(d, names[i], log);
        if (d->series != NULL && !series_counts_persons(d->series, (uint16_t)column))
            return log_fail(log, ERR_QUESTION, "column %s does not count persons", names[i]);
        if (!domain_insert(c->attribute, c->n++, (uint16_t)column))
            return log_fail(log, ERR_QUESTION, "column %s is named twice", names[i]);
        asked->attribute[asked->n++] = (uint16_t)column;
    }
    return ERR_OK;
}

static enum err count(struct trefoil *model, const struct clique *c, const struct scope *asked,
                      double *to, struct log *log)
{
    const struct domain *d = model->released.domain;
    const struct scope ascending = scope_of(c);
    const uint64_t cells = clique_cells(c, d);
    double *counts CLEAN(memory_release) = NULL;
    struct scope_walk w;
    TRY(memory_new(&counts, cells));
    TRY(released_marginal(&model->released, c, counts, log));
    scope_walk_start(&w, asked, &ascending, d);
    for (uint64_t i = 0; i < cells; i++, scope_walk_next(&w))
        to[i] = counts[w.place];
    return ERR_OK;
}

static enum err describe(struct counted *k, const struct domain *d, const struct scope *asked)
{
    uint32_t *column, *codes;
    TRY(keep_new(&k->keep, &column, asked->n));
    TRY(keep_new(&k->keep, &codes, asked->n));
    for (unsigned i = 0; i < asked->n; i++) {
        column[i] = asked->attribute[i];
        codes[i] = d->attribute[asked->attribute[i]].size;
    }
    k->given.columns = asked->n;
    k->given.column = column;
    k->given.codes = codes;
    return ERR_OK;
}

static enum err marginal(struct trefoil *model, const char *const *names, uint32_t n,
                         struct trefoil_counts **out, struct log *log)
{
    struct trefoil_counts *made CLEAN(trefoil_counts_free) = NULL;
    const struct domain *d = model->released.domain;
    struct scope asked = {0};
    struct clique c = {0};
    struct counted *k;
    double *counts;
    TRY(find_columns(d, names, n, &asked, &c, log));
    if (clique_cells(&c, d) > TREFOIL_CELLS_MAX)
        return log_fail(log, ERR_RANGE,
                        "the marginal of %s has more than %llu cells; name fewer columns",
                        clique_name(&c, d).text, (unsigned long long)TREFOIL_CELLS_MAX);
    TRY(memory_new(&k, 1));
    made = &k->given;
    TRY(describe(k, d, &asked));
    made->cells = (size_t)clique_cells(&c, d);
    TRY(keep_new(&k->keep, &counts, made->cells));
    TRY(count(model, &c, &asked, counts, log));
    made->count = counts;
    return memory_hand_over(out, &made);
}

enum trefoil_status trefoil_marginal(struct trefoil *model, const char *const *names, uint32_t n,
                                     struct trefoil_counts **counts, struct trefoil_error *error)
{
    struct log log = failure_log(error);
    *counts = NULL;
    return failure_status(error, marginal(model, names, n, counts, &log));
}
