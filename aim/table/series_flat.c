/* From a table of persons and one of their events to the flat table. */
#include "aim/table/series.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/secret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum err series_domains(const struct domain *d, struct domain **persons, struct domain **events)
{
    const struct series *e = d->series;
    struct domain *p CLEAN(domain_free) = NULL, *v CLEAN(domain_free) = NULL;
    TRY(domain_new(&p));
    TRY(domain_new(&v));
    for (uint16_t a = 0; a < d->attributes; a++)
        if (series_of_person(e, a))
            TRY(domain_add_copy(p, &d->attribute[a], NULL));
    for (size_t i = 0; i < e->columns; i++) {
        struct domain_attribute a = d->attribute[e->column[i].column]; /* as in the study */
        if (e->column[i].added)
            a.missing = NULL;
        TRY(domain_add_copy(v, &a, NULL));
    }
    if (e->when != SERIES_NO) {
        struct domain_attribute a = d->attribute[e->when];
        a.policy = DOMAIN_AS_MISSING;
        TRY(domain_add_copy(v, &a, NULL));
    }
    *persons = p;
    *events = v;
    p = v = NULL;
    return ERR_OK;
}

/* --- order ------------------------------------------------------------------------------------ */

/* An event, as it is ordered. */
struct placed {
    const struct table *table;
    uint64_t key;
    double when; /* or its line */
    bool ends;
    size_t row;
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int in_order(const void *x, const void *y)
{
    const struct placed *a = x, *b = y;
    int order = compare(a->key, b->key);
    if (order == 0)
        order = (a->when > b->when) - (a->when < b->when);
    if (order == 0)
        order = a->ends - b->ends;
    for (size_t k = 0; order == 0 && k < a->table->domain->attributes; k++)
        order = compare(a->table->column[k][a->row], a->table->column[k][b->row]);
    return order;
}

static bool is_ending(const struct series *e, const struct table *t, size_t row)
{
    bool ends = false;
    for (size_t i = 0; i < e->columns; i++)
        ends |= series_ends(&e->column[i], t->column[i][row]);
    return ends;
}

/* The events that have a place, in order. */
static size_t place_all(const struct series *e, const struct table *t, struct placed *p)
{
    size_t n = 0;
    for (size_t row = 0; row < t->rows; row++) {
        const double when = e->when != SERIES_NO ? t->number[e->columns][row] : (double)row;
        if (!isnan(when))
            p[n++] = (struct placed){t, t->key[row], when, is_ending(e, t, row), row};
    }
    qsort(p, n, sizeof *p, in_order);
    return n;
}

/* --- rows ------------------------------------------------------------------------------------- */

struct flattening {
    const struct domain *domain;
    const struct series *series;
    const struct table *persons;
    struct table *flat;
    uint64_t key; /* of the person */
    uint16_t code[DOMAIN_ATTRIBUTES_MAX];
    size_t owns; /* columns of persons */
    uint16_t own[DOMAIN_ATTRIBUTES_MAX], missing[DOMAIN_ATTRIBUTES_MAX];
};

static enum err put(struct flattening *f, enum series_stage stage, uint32_t weight)
{
    f->code[f->series->stage] = (uint16_t)stage;
    TRY(table_append(f->flat, f->code));
    f->flat->weight[f->flat->rows - 1] = (uint8_t)weight;
    f->flat->key[f->flat->rows - 1] = f->key;
    return ERR_OK;
}

/* The nearest code of a number of an axis. */
static uint16_t code_at(const struct domain_attribute *a, double x)
{
    const double last = domain_last(a);
    x = fmin(x, last);
    return (uint16_t)(domain_has_bins(a) ? domain_bin(a, x) : (uint32_t)(x - (double)a->min));
}

/* The person's own columns, with the number of events; as if there were none. */
static void begin(struct flattening *f, size_t person, size_t n)
{
    const uint16_t number = f->series->number;
    f->key = f->persons->key[person];
    memcpy(f->code, f->missing, sizeof f->code);
    for (size_t k = 0; k < f->owns; k++)
        f->code[f->own[k]] = f->persons->column[k][person];
    f->code[number] = code_at(&f->domain->attribute[number], (double)n);
}

/* Event j of n: its columns, and how long after the one before it is. */
static void fill(struct flattening *f, const struct placed *event, size_t j)
{
    const struct series *e = f->series;
    for (size_t i = 0; i < e->columns; i++) {
        const struct series_column *c = &e->column[i];
        if (c->previous != SERIES_NO && j > 0)
            f->code[c->previous] = f->code[c->column];
        f->code[c->column] = event->table->column[i][event->row];
    }
    if (e->when == SERIES_NO)
        return;
    if (j == 0)
        f->code[e->when] = event->table->column[e->columns][event->row];
    else
        f->code[e->gap] = code_at(&f->domain->attribute[e->gap], event->when - event[-1].when);
}

static enum err put_events(struct flattening *f, const struct placed *event, size_t n)
{
    struct random chosen = random_of(n); /* which have one unit more: the same for every such n */
    uint32_t share[SERIES_STAGES];
    size_t between = n > 2 ? n - 2 : 0, more;
    series_shares(f->domain, f->code[f->series->number], share);
    more = between > 0 ? share[SERIES_MIDDLE] % between : 0;
    for (size_t j = 0; j < n; j++) {
        const enum series_stage stage = n == 1       ? SERIES_ONLY
                                        : j == 0     ? SERIES_FIRST
                                        : j + 1 == n ? SERIES_LAST
                                                     : SERIES_MIDDLE;
        uint32_t weight = share[stage];
        fill(f, &event[j], j);
        if (stage == SERIES_MIDDLE) {
            const bool one = random_below(&chosen, n - 1 - j) < more;
            weight = (uint32_t)(weight / between) + one;
            more -= one;
        }
        TRY(put(f, stage, weight));
    }
    return ERR_OK;
}

/* The events of a person that count: those until one that ends. */
static size_t until_end(const struct placed *event, size_t n)
{
    for (size_t j = 0; j < n; j++)
        if (event[j].ends)
            return j + 1;
    return n;
}

static enum err flatten(struct flattening *f, const struct placed *event, size_t events,
                        struct series_found *found)
{
    size_t at = 0, known = 0;
    for (size_t person = 0; person < f->persons->rows; person++) {
        const uint64_t key = f->persons->key[person];
        size_t n = 0, counts;
        while (at < events && event[at].key < key)
            at++;
        while (at + n < events && event[at + n].key == key)
            n++;
        counts = until_end(event + at, n);
        begin(f, person, counts);
        TRY(counts == 0 ? put(f, SERIES_NONE, f->series->units)
                        : put_events(f, event + at, counts));
        found->events += counts;
        found->ended += n - counts;
        known += n;
        at += n;
    }
    found->persons = f->persons->rows;
    found->strangers = events - known;
    return ERR_OK;
}

enum err series_flat(struct table **out, const struct domain *d, struct table *persons,
                     struct table *events, struct series_found *found)
{
    struct flattening f = {.domain = d, .series = d->series, .persons = persons};
    struct table *flat CLEAN(table_free) = NULL;
    struct placed *placed;
    size_t n;
    enum err e;
    *out = NULL;
    *found = (struct series_found){0};
    TRY(table_bound(persons, 1, &found->repeated));
    TRY(table_new(&flat, d, events->rows + persons->rows));
    TRY(memory_new(&flat->weight, flat->capacity));
    TRY(table_keep_keys(flat));
    TRY(memory_new(&placed, events->rows));
    for (uint16_t a = 0; a < d->attributes; a++) {
        f.missing[a] = (uint16_t)d->attribute[a].values;
        if (series_of_person(d->series, a))
            f.own[f.owns++] = a;
    }
    n = place_all(d->series, events, placed);
    found->undated = events->rows - n;
    f.flat = flat;
    e = flatten(&f, placed, n, found);
    secret_wipe(placed, events->rows * sizeof *placed);
    memory_free(&placed);
    TRY(e);
    return memory_hand_over(out, &flat);
}
