#include "aim/question/cases.h"

#include <string.h>

/* --- one case --------------------------------------------------------------------------------- */

const struct values *case_values(const struct one_case *c, uint16_t column)
{
    for (unsigned i = 0; i < c->parts; i++)
        if (c->part[i].column == column)
            return &c->part[i].values;
    return NULL;
}

/* Adds or replaces what a case asks of a column. */
static void set_part(struct cases_work *w, struct one_case *c, uint16_t column, struct values v)
{
    unsigned at = 0;
    while (at < c->parts && c->part[at].column < column)
        at++;
    if (at == c->parts || c->part[at].column != column) {
        if (c->parts == CASE_COLUMNS_MAX) {
            w->too_many = true;
            return;
        }
        memmove(&c->part[at + 1], &c->part[at], (c->parts - at) * sizeof *c->part);
        c->parts++;
    }
    c->part[at] = (struct case_part){column, v};
}

static struct values asked_of(struct cases_work *w, const struct one_case *c, uint16_t column)
{
    const struct values *v = case_values(c, column);
    return v != NULL ? *v : values_every(&w->pool, &w->domain->attribute[column]);
}

/* Narrows c to what fits both; false if nothing can. */
static bool meet(struct cases_work *w, struct one_case *c, const struct one_case *with)
{
    for (unsigned i = 0; i < with->parts; i++) {
        uint16_t column = with->part[i].column;
        struct values v = values_and(&w->pool, asked_of(w, c, column), with->part[i].values);
        if (values_are_none(v))
            return false;
        set_part(w, c, column, v);
    }
    return true;
}

/* --- lists ------------------------------------------------------------------------------------ */

static void add(struct cases_work *w, struct cases *c, const struct one_case *one)
{
    if (c->n == CASES_ROOM)
        w->too_many = true;
    else
        c->one[c->n++] = *one;
}

/* Adds `one` without `gone`: a piece for each column of `gone`, inside it in the columns before. */
static void add_without(struct cases_work *w, struct cases *out, const struct one_case *one,
                        const struct one_case *gone)
{
    struct one_case left = *one, both = *one;
    if (!meet(w, &both, gone)) {
        add(w, out, one);
        return;
    }
    for (unsigned i = 0; i < gone->parts; i++) {
        uint16_t column = gone->part[i].column;
        struct values mine = asked_of(w, &left, column);
        struct values outside = values_minus(&w->pool, mine, gone->part[i].values);
        if (!values_are_none(outside)) {
            struct one_case piece = left;
            set_part(w, &piece, column, outside);
            add(w, out, &piece);
        }
        set_part(w, &left, column, values_and(&w->pool, mine, gone->part[i].values));
    }
}

/* a becomes a without b. */
static void take_away(struct cases_work *w, struct cases *a, const struct cases *b)
{
    for (unsigned k = 0; k < b->n; k++) {
        struct cases left = {.n = 0};
        for (unsigned i = 0; i < a->n; i++)
            add_without(w, &left, &a->one[i], &b->one[k]);
        *a = left;
    }
}

/* Whether two cases differ in at most one column. */
static bool are_neighbours(const struct cases_work *w, const struct one_case *a,
                           const struct one_case *b, unsigned *at)
{
    unsigned differences = 0;
    if (a->parts != b->parts)
        return false;
    *at = 0;
    for (unsigned i = 0; i < a->parts; i++) {
        if (a->part[i].column != b->part[i].column)
            return false;
        if (!values_equal(&w->pool, a->part[i].values, b->part[i].values)) {
            differences++;
            *at = i;
        }
    }
    return differences <= 1;
}

/* Neighbours become one case. */
static void join(struct cases_work *w, struct cases *c)
{
    unsigned at;
    for (unsigned i = 0; i < c->n; i++)
        for (unsigned k = i + 1; k < c->n; k++) {
            struct case_part *mine, *other;
            if (c->one[i].parts == 0 || !are_neighbours(w, &c->one[i], &c->one[k], &at))
                continue;
            mine = &c->one[i].part[at];
            other = &c->one[k].part[at];
            mine->values = values_or(&w->pool, mine->values, other->values);
            c->one[k] = c->one[--c->n];
            k = i;
        }
}

void cases_every(struct cases *c)
{
    c->n = 1;
    c->one[0].parts = 0;
}

void cases_of(struct cases_work *w, struct cases *c, uint16_t column, struct values v)
{
    c->n = 0;
    if (values_are_none(v))
        return;
    cases_every(c);
    set_part(w, &c->one[0], column, v);
}

void cases_and(struct cases_work *w, struct cases *a, const struct cases *b)
{
    struct cases out = {.n = 0};
    for (unsigned i = 0; i < a->n; i++)
        for (unsigned k = 0; k < b->n; k++) {
            struct one_case both = a->one[i];
            if (meet(w, &both, &b->one[k]))
                add(w, &out, &both);
        }
    join(w, &out);
    *a = out;
}

/* Cuts the side that leaves fewer pieces. */
void cases_or(struct cases_work *w, struct cases *a, const struct cases *b)
{
    struct cases b_less = *b, a_less = *a;
    bool was = w->too_many, failed;
    take_away(w, &b_less, a);
    failed = w->too_many;
    w->too_many = was;
    take_away(w, &a_less, b);
    if (failed || (!w->too_many && a_less.n + b->n < b_less.n + a->n)) {
        *a = a_less;
        b_less = *b;
    } else {
        w->too_many = was;
    }
    for (unsigned i = 0; i < b_less.n; i++)
        add(w, a, &b_less.one[i]);
    join(w, a);
}
