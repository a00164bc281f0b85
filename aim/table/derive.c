#include "aim/table/derive_private.h"
#include "aim/table/number.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- life ------------------------------------------------------------------------------------- */

static void step_clear(struct derive_step *steps, size_t n)
{
    for (size_t i = 0; steps != NULL && i < n; i++)
        memory_free(&steps[i].order);
}

void derive_free(struct derive_plan **plan)
{
    struct derive_plan *p = *plan;
    if (p == NULL)
        return;
    for (size_t i = 0; p->slot != NULL && i < p->slots; i++)
        bytes_clear(&p->slot[i].text);
    step_clear(p->from, p->derived->from.count);
    step_clear(p->computed, p->derived->computed.count);
    memory_free(&p->slot);
    memory_free(&p->from);
    memory_free(&p->computed);
    memory_free(&p->needed);
    derive_solutions_free(&p->solution, p->ties);
    memory_free(&p->tie);
    memory_free(plan);
}

/* What is read or computed comes after the columns of the domain. */
static uint32_t slot_of(const struct derive_plan *p, const char *name)
{
    const struct derive_list *more[] = {&p->derived->read, &p->derived->computed};
    uint32_t slot = domain_find(p->domain, name);
    size_t at = p->domain->attributes;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < more[k]->count; i++, at++)
            if (slot == DOMAIN_NO_CODE && strcmp(more[k]->of[i].name, name) == 0)
                slot = (uint32_t)at;
    return slot;
}

static const struct derive *more_of(const struct derive_plan *p, size_t slot)
{
    const size_t i = slot - p->domain->attributes;
    const struct derived *d = p->derived;
    return i < d->read.count ? &d->read.of[i] : &d->computed.of[i - d->read.count];
}

static const struct calendar *calendar_of(const struct derive_plan *p, uint32_t slot)
{
    if (slot < p->domain->attributes)
        return p->domain->attribute[slot].calendar;
    return more_of(p, slot)->type == DERIVE_DATE ? &more_of(p, slot)->calendar : NULL;
}

static int by_key(const void *a, const void *b, void *keys)
{
    char *const *key = keys;
    uint32_t i, j;
    memcpy(&i, a, sizeof i);
    memcpy(&j, b, sizeof j);
    return strcmp(key[i], key[j]);
}

static enum err make_step(const struct derive_plan *p, struct derive_step *s,
                          const struct derive *e)
{
    *s = (struct derive_step){.e = e, .to = slot_of(p, e->name), .tied = true};
    for (uint32_t i = 0; i < e->columns; i++) {
        s->slot[i] = slot_of(p, e->column[i]);
        if (s->slot[i] == DOMAIN_NO_CODE)
            return ERR_FORMAT;
        s->calendar[i] = calendar_of(p, s->slot[i]);
        s->tied &= s->slot[i] < p->domain->attributes;
    }
    TRY(memory_new(&s->order, e->keys));
    for (uint32_t i = 0; i < e->keys; i++)
        s->order[i] = i;
    qsort_r(s->order, e->keys, sizeof *s->order, by_key, e->key);
    return s->to != DOMAIN_NO_CODE ? ERR_OK : ERR_FORMAT;
}

static enum err make_steps(const struct derive_plan *p, struct derive_step **steps,
                           const struct derive_list *list)
{
    TRY(memory_new(steps, list->count));
    for (size_t i = 0; i < list->count; i++)
        TRY(make_step(p, &(*steps)[i], &list->of[i]));
    return ERR_OK;
}

enum err derive_new(struct derive_plan **out, const struct domain *d)
{
    struct derive_plan *p CLEAN(derive_free) = NULL;
    *out = NULL;
    TRY(memory_new(&p, 1));
    p->domain = d;
    p->derived = d->derived;
    p->slots = d->attributes + d->derived->read.count + d->derived->computed.count;
    TRY(memory_new(&p->slot, p->slots));
    TRY(memory_new(&p->needed, p->slots));
    TRY(make_steps(p, &p->from, &d->derived->from));
    TRY(make_steps(p, &p->computed, &d->derived->computed));
    for (size_t i = 0; i < d->derived->from.count; i++)
        for (uint32_t k = 0; k < p->from[i].e->columns; k++)
            p->needed[p->from[i].slot[k]] = true;
    TRY(derive_find_ties(p));
    return memory_hand_over(out, &p);
}

size_t derive_slots(const struct derive_plan *p)
{
    return p->slots;
}

const char *derive_needs(const struct derive_plan *p, size_t slot)
{
    return slot >= p->domain->attributes && p->needed[slot] ? more_of(p, slot)->name : NULL;
}

uint32_t derive_find(const struct derive_plan *p, const char *name)
{
    const uint32_t slot = slot_of(p, name);
    return slot != DOMAIN_NO_CODE && derive_needs(p, slot) != NULL ? slot : DOMAIN_NO_CODE;
}

uint32_t derive_from_attribute(const struct derive_plan *p, size_t i)
{
    return p->from[i].to;
}

bool derive_is_from(const struct derive_plan *p, uint32_t attribute)
{
    for (size_t i = 0; i < p->derived->from.count; i++)
        if (p->from[i].to == attribute)
            return true;
    return false;
}

/* --- values ----------------------------------------------------------------------------------- */

void derive_begin(struct derive_plan *p)
{
    for (size_t i = 0; i < p->slots; i++)
        p->slot[i].known = false;
}

static enum err set_text(struct derive_slot *s, const char *text)
{
    s->text.size = 0;
    bytes_put(&s->text, text, strlen(text) + 1);
    return bytes_ok(&s->text);
}

static bool parse(const struct derive_plan *p, size_t slot, const char *text, double *x)
{
    const struct derive *e;
    int64_t number;
    if (slot < p->domain->attributes)
        return domain_parse(&p->domain->attribute[slot], text, x);
    e = more_of(p, slot);
    if (e->type == DERIVE_NUMBER)
        return number_double(text, x);
    if (e->type == DERIVE_TEXT || !calendar_parse(&e->calendar, text, &number))
        return false;
    *x = (double)number;
    return true;
}

enum err derive_set(struct derive_plan *p, size_t slot, uint32_t code, const char *text)
{
    struct derive_slot *s = &p->slot[slot];
    const bool own = slot < p->domain->attributes;
    const struct domain_attribute *a = own ? &p->domain->attribute[slot] : NULL;
    const bool counts = !own || code < a->values;
    s->number = s->counted = NAN;
    s->known = own ? counts || domain_has_order(a) : *text != '\0';
    TRY(set_text(s, text));
    if (!s->known || !parse(p, slot, text, &s->number))
        return ERR_OK;
    if (own && (domain_missing_text(a, text) || domain_missing_number(a, s->number)))
        s->number = NAN;
    s->counted = !counts ? NAN
                 : own   ? fmin(fmax(s->number, domain_number(a, 0)), domain_last(a))
                         : s->number;
    return ERR_OK;
}

void derive_set_number(struct derive_plan *p, size_t slot, double x)
{
    p->slot[slot].number = p->slot[slot].counted = x;
    p->slot[slot].known = true;
}

const char *derive_text(const struct derive_plan *p, size_t slot)
{
    return (const char *)p->slot[slot].text.data;
}

/* --- expressions ------------------------------------------------------------------------------ */

static double age(const struct derive_step *s, double born, double then)
{
    const struct calendar_time b = calendar_time((int64_t)born, s->calendar[0]->unit);
    const struct calendar_time t = calendar_time((int64_t)then, s->calendar[1]->unit);
    const bool before = t.month != b.month ? t.month < b.month : t.day < b.day;
    return t.year - b.year - before;
}

static double sum(const struct derive_step *s, const double *x)
{
    double total = (double)s->e->constant;
    for (uint32_t i = 0; i < s->e->columns; i++)
        total += s->e->sign[i] * x[i];
    return total;
}

/* NAN where a column is missing. */
static double compute(const struct derive_plan *p, const struct derive_step *s)
{
    double x[DERIVE_COLUMNS];
    for (uint32_t i = 0; i < s->e->columns; i++) {
        const struct derive_slot *from = &p->slot[s->slot[i]];
        x[i] = !from->known ? NAN : s->tied ? from->counted : from->number;
        if (isnan(x[i]) ||
            (s->calendar[i] != NULL && !calendar_is_number(x[i], s->calendar[i]->unit)))
            return NAN;
    }
    switch (s->e->op) {
    case DERIVE_SUM:
        return sum(s, x);
    case DERIVE_PART:
        return calendar_value((int64_t)x[0], s->calendar[0]->unit, s->e->part);
    case DERIVE_AGE:
        return age(s, x[0], x[1]);
    case DERIVE_READ:
    case DERIVE_LOOKUP:
        break;
    }
    return NAN;
}

static const char *look_up(const struct derive_plan *p, const struct derive_step *s)
{
    const struct derive_slot *from = &p->slot[s->slot[0]];
    uint32_t low = 0, high = s->e->keys;
    while (from->known && low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int c = strcmp((const char *)from->text.data, s->e->key[s->order[middle]]);
        if (c == 0)
            return s->e->value[s->order[middle]];
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* The text of an expression, in p->room; NULL: missing. */
static const char *text_of(struct derive_plan *p, const struct derive_step *s, double *x)
{
    *x = NAN;
    if (s->e->op == DERIVE_LOOKUP)
        return look_up(p, s);
    *x = compute(p, s);
    if (isnan(*x))
        return NULL;
    if (s->e->type != DERIVE_DATE)
        number_shortest(p->room, sizeof p->room, *x);
    else if (calendar_is_number(*x, s->e->calendar.unit))
        calendar_print(&s->e->calendar, (int64_t)*x, p->room);
    else
        return NULL;
    return p->room;
}

/* Without a copy of the text, which derive_set() makes. */
const char *derive_from(struct derive_plan *p, size_t i)
{
    const struct derive_step *s = &p->from[i];
    double x;
    const char *text = text_of(p, s, &x);
    return text != NULL ? text : p->domain->attribute[s->to].missing;
}

const char *derive_computed(struct derive_plan *p, size_t i)
{
    const struct derive_step *s = &p->computed[i];
    double x;
    const char *text = text_of(p, s, &x);
    if (text == NULL || derive_set(p, s->to, 0, text) != ERR_OK)
        return "";
    return derive_text(p, s->to);
}
