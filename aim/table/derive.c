#include "aim/table/derive_private.h"
#include "aim/table/number.h"
#include "aim/table/step.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

const struct derive *derive_more(const struct derive_plan *p, size_t slot)
{
    const size_t i = slot - p->domain->attributes;
    const struct derives *d = p->derived;
    return i < d->read.count ? &d->read.of[i] : &d->computed.of[i - d->read.count];
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
    e = derive_more(p, slot);
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
    if (p->domain->derived == NULL) /* nobody asks */
        return set_text(s, text);
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

void derive_print(const struct domain_attribute *a, double x, char text[COLUMN_TEXT])
{
    struct step s;
    if (domain_has_bins(a) && !domain_is_quoted(a) && step_of(a->step, &s))
        number_print(text, COLUMN_TEXT, x, s.decimals);
    else
        domain_print(a, x, 0, text);
}

/* A tied column follows from a number as it counts, however that is written. */
static const char *look_up(struct derive_plan *p, const struct derive_step *s)
{
    const struct derive_slot *from = &p->slot[s->slot[0]];
    const char *key = (const char *)from->text.data;
    uint32_t at;
    if (!from->known)
        return NULL;
    if (s->tied && domain_has_order(&p->domain->attribute[s->slot[0]])) {
        if (isnan(from->counted))
            return NULL;
        derive_print(&p->domain->attribute[s->slot[0]], from->counted, p->room);
        key = p->room;
    }
    at = text_find(s->e->key, s->e->keys, s->order, key);
    return at != UINT32_MAX ? s->e->value[at] : NULL;
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

const char *derive_computed(struct derive_plan *p, size_t i, double *x)
{
    const struct derive_step *s = &p->computed[i];
    double found;
    const char *text = text_of(p, s, &found);
    if (x != NULL)
        *x = found;
    if (text == NULL || derive_set(p, s->to, 0, text) != ERR_OK)
        return "";
    return derive_text(p, s->to);
}
