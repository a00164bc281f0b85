/* What a domain says of events of persons, in canonical bytes. */
#include "aim/table/series.h"

#include "aim/table/domain_private.h"
#include "base/memory.h"

void series_write(const struct series *e, struct bytes *out)
{
    const uint16_t part[] = {e->number, e->stage, e->when, e->gap};
    bytes_put_string(out, e->name);
    bytes_put_string(out, e->by);
    bytes_put_u32(out, e->units);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        bytes_put_u16(out, part[i]);
    bytes_put_u32(out, (uint32_t)e->columns);
    for (size_t i = 0; i < e->columns; i++) {
        const struct series_column *c = &e->column[i];
        bytes_put_u16(out, c->column);
        bytes_put_u16(out, c->previous);
        bytes_put_u8(out, c->added);
        bytes_put_u32(out, c->ends);
        for (uint32_t k = 0; k < c->ends; k++)
            bytes_put_u16(out, c->end[k]);
    }
}

static bool is_there(const struct domain *d, uint16_t attribute)
{
    return attribute < d->attributes;
}

/* Whether a column has a missing code, as all have that a row may lack. */
static bool may_lack(const struct domain *d, uint16_t attribute)
{
    return is_there(d, attribute) && d->attribute[attribute].missing != NULL;
}

static enum err read_column(struct series_column *c, const struct domain *d, struct reader *r)
{
    uint8_t added;
    c->column = reader_u16(r);
    c->previous = reader_u16(r);
    added = reader_u8(r);
    c->added = added == 1;
    c->ends = reader_u32(r);
    if (r->failed || added > 1 || !may_lack(d, c->column) ||
        (c->previous != SERIES_NO &&
         (!may_lack(d, c->previous) ||
          d->attribute[c->previous].size != d->attribute[c->column].size)) ||
        c->ends > d->attribute[c->column].values)
        return ERR_FORMAT;
    TRY(memory_new(&c->end, c->ends));
    for (uint32_t k = 0; k < c->ends; k++)
        if ((c->end[k] = reader_u16(r)) >= d->attribute[c->column].values)
            return ERR_FORMAT;
    return r->failed ? ERR_FORMAT : ERR_OK;
}

/* The four columns that say which event of how many a row is, and when. */
static enum err read_parts(struct series *e, const struct domain *d, struct reader *r)
{
    e->number = reader_u16(r);
    e->stage = reader_u16(r);
    e->when = reader_u16(r);
    e->gap = reader_u16(r);
    if (r->failed || !is_there(d, e->number) || !is_there(d, e->stage) ||
        !domain_has_order(&d->attribute[e->number]) || may_lack(d, e->number) ||
        domain_number(&d->attribute[e->number], 0) != 0 ||
        d->attribute[e->stage].size != SERIES_STAGES ||
        (e->when == SERIES_NO) != (e->gap == SERIES_NO))
        return ERR_FORMAT;
    if (e->when == SERIES_NO)
        return ERR_OK;
    return may_lack(d, e->when) && may_lack(d, e->gap) && d->attribute[e->when].calendar != NULL &&
                   domain_has_bins(&d->attribute[e->gap]) &&
                   domain_number(&d->attribute[e->gap], 0) == 0
               ? ERR_OK
               : ERR_FORMAT;
}

/* Whether no column has two roles: then those that have one and those of persons are all. */
static bool have_one_role(const struct series *e, const struct domain *d)
{
    size_t roles = e->when == SERIES_NO ? 2 : 4;
    for (size_t i = 0; i < e->columns; i++)
        roles += e->column[i].previous == SERIES_NO ? 1 : 2;
    for (uint16_t a = 0; a < d->attributes; a++)
        roles += series_of_person(e, a);
    return roles == d->attributes;
}

enum err series_read(struct series **out, const struct domain *d, struct reader *r)
{
    struct series *e CLEAN(series_free) = NULL;
    uint32_t columns;
    *out = NULL;
    TRY(memory_new(&e, 1));
    TRY(domain_read_text(r, &e->name));
    TRY(domain_read_text(r, &e->by));
    e->units = reader_u32(r);
    if (!series_good_name(e->name) || (e->units != SERIES_UNITS && e->units != SERIES_UNITS_FEW))
        return ERR_FORMAT;
    TRY(read_parts(e, d, r));
    columns = reader_u32(r);
    if (r->failed || columns == 0 || columns > DOMAIN_ATTRIBUTES_MAX)
        return ERR_FORMAT;
    TRY(memory_new(&e->column, columns));
    while (e->columns < columns)
        TRY(read_column(&e->column[e->columns++], d, r));
    if (!have_one_role(e, d))
        return ERR_FORMAT;
    return memory_hand_over(out, &e);
}
