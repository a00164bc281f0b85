#include "aim/table/series.h"

#include "base/memory.h"

#include <string.h>

void series_free(struct series **events)
{
    struct series *e = *events;
    if (e == NULL)
        return;
    for (size_t i = 0; e->column != NULL && i < e->columns; i++)
        memory_free(&e->column[i].end);
    memory_free_all(&e->column, &e->name, &e->by);
    memory_free(events);
}

uint32_t series_units(const struct domain *d)
{
    return d != NULL && d->series != NULL ? d->series->units : 1;
}

const char *series_counted(const struct domain *d)
{
    return d->series != NULL ? "persons" : "rows";
}

bool series_has(const struct series *s, uint16_t attribute)
{
    for (size_t i = 0; i < s->columns; i++)
        if (s->column[i].column == attribute)
            return true;
    return false;
}

bool series_counts_persons(const struct series *s, uint16_t attribute)
{
    return series_of_person(s, attribute) || attribute == s->number || attribute == s->when;
}

bool series_good_name(const char *name)
{
    const size_t n = strlen(name);
    return n > 0 && n < SERIES_NAME && strcmp(name, "persons") != 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

bool series_of_person(const struct series *e, uint16_t attribute)
{
    bool person = attribute != e->number && attribute != e->stage && attribute != e->when &&
                  attribute != e->gap;
    for (size_t i = 0; i < e->columns; i++)
        person &= attribute != e->column[i].column && attribute != e->column[i].previous;
    return person;
}

void series_shares(const struct domain *d, uint32_t code, uint32_t share[SERIES_STAGES])
{
    const uint32_t units = d->series->units;
    const double least = domain_number(&d->attribute[d->series->number], code);
    memset(share, 0, SERIES_STAGES * sizeof *share);
    if (least < 2) {
        share[least < 1 ? SERIES_NONE : SERIES_ONLY] = units;
        return;
    }
    share[SERIES_FIRST] = share[SERIES_LAST] = least < units ? units / (uint32_t)least : 1;
    share[SERIES_MIDDLE] = units - 2 * share[SERIES_FIRST];
}

bool series_ends(const struct series_column *c, uint32_t code)
{
    for (uint32_t i = 0; i < c->ends; i++)
        if (c->end[i] == code)
            return true;
    return false;
}
