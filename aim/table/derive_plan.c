/* Which columns have which slots, and what they follow from. */
#include "aim/table/derive_private.h"
#include "base/memory.h"
#include "base/text.h"

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
    memory_free_all(&p->slot, &p->from, &p->computed, &p->needed);
    derive_solutions_free(&p->solution, p->ties);
    memory_free(&p->tie);
    memory_free(plan);
}

/*
 * What is read or computed comes after the columns of the domain. Of a column that is both, owners'
 * tables have the first, and rows that are written the other.
 */
static uint32_t slot_of(const struct derive_plan *p, const char *name, bool written)
{
    const struct derive_list *more[] = {&p->derived->read, &p->derived->computed};
    uint32_t slot = domain_find(p->domain, name);
    size_t at = p->domain->attributes;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < more[k]->count; i++, at++)
            if ((slot == DOMAIN_NO_CODE || (written && slot >= p->domain->attributes)) &&
                strcmp(more[k]->of[i].name, name) == 0)
                slot = (uint32_t)at;
    return slot;
}

static const struct calendar *calendar_of(const struct derive_plan *p, uint32_t slot)
{
    if (slot < p->domain->attributes)
        return p->domain->attribute[slot].calendar;
    return derive_more(p, slot)->type == DERIVE_DATE ? &derive_more(p, slot)->calendar : NULL;
}

static enum err make_step(const struct derive_plan *p, struct derive_step *s,
                          const struct derive *e, bool written)
{
    *s = (struct derive_step){.e = e, .to = slot_of(p, e->name, written), .tied = true};
    for (uint32_t i = 0; i < e->columns; i++) {
        s->slot[i] = slot_of(p, e->column[i], written);
        if (s->slot[i] == DOMAIN_NO_CODE)
            return ERR_FORMAT;
        s->calendar[i] = calendar_of(p, s->slot[i]);
        s->tied &= s->slot[i] < p->domain->attributes;
    }
    TRY(memory_new(&s->order, e->keys));
    text_order(e->key, e->keys, s->order);
    return s->to != DOMAIN_NO_CODE ? ERR_OK : ERR_FORMAT;
}

static enum err make_steps(const struct derive_plan *p, struct derive_step **steps,
                           const struct derive_list *list)
{
    TRY(memory_new(steps, list->count));
    for (size_t i = 0; i < list->count; i++)
        TRY(make_step(p, &(*steps)[i], &list->of[i], list == &p->derived->computed));
    return ERR_OK;
}

enum err derive_new(struct derive_plan **out, const struct domain *d)
{
    static const struct derives none;
    const struct derives *follows = d->derived != NULL ? d->derived : &none;
    struct derive_plan *p CLEAN(derive_free) = NULL;
    *out = NULL;
    TRY(memory_new(&p, 1));
    p->domain = d;
    p->derived = follows;
    p->slots = d->attributes + follows->read.count + follows->computed.count;
    TRY(memory_new(&p->slot, p->slots));
    TRY(memory_new(&p->needed, p->slots));
    TRY(make_steps(p, &p->from, &follows->from));
    TRY(make_steps(p, &p->computed, &follows->computed));
    for (size_t i = 0; i < follows->from.count; i++)
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
    return slot >= p->domain->attributes && p->needed[slot] ? derive_more(p, slot)->name : NULL;
}

bool derive_is_number(const struct derive_plan *p, size_t slot)
{
    return derive_more(p, slot)->type == DERIVE_NUMBER;
}

uint32_t derive_find(const struct derive_plan *p, const char *name)
{
    const uint32_t slot = slot_of(p, name, false);
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
