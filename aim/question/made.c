/* Conditions on what follows from one column: a part of its dates, or what a book has beside it. */
#include "aim/question/parser.h"
#include "aim/table/derive.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* The computed column that the token names, if it is a part of dates or a lookup. */
static const struct derive *find_computed(const struct parser *p, size_t *which)
{
    const struct derives *d = p->domain->derived;
    const struct lexer_token *t = &p->lexer.token;
    for (*which = 0; d != NULL && *which < d->computed.count; ++*which) {
        const struct derive *e = &d->computed.of[*which];
        if ((t->kind == TOKEN_NAME ? strcmp : strcasecmp)(e->name, t->text) == 0)
            return e->op == DERIVE_PART || e->op == DERIVE_LOOKUP ? e : NULL;
    }
    return NULL;
}

void parser_made_clear(struct parser_made *m)
{
    derive_free(&m->plan);
    memory_free_all(&m->as.labels, &m->as.order);
}

/* Its values, each once, in the book's order; one without text is missing. */
static enum err list_labels(struct domain_attribute *a, const struct derive *e)
{
    TRY(memory_new(&a->labels, e->keys));
    TRY(memory_new(&a->order, e->keys));
    text_order(e->value, e->keys, a->order);
    for (uint32_t i = 0; i < e->keys; i++) /* of those alike, the one that is found */
        if (*e->value[i] != '\0' && text_find(e->value, e->keys, a->order, e->value[i]) == i)
            a->labels[a->values++] = e->value[i];
    text_order(a->labels, a->values, a->order);
    if (a->values > 0)
        a->kind = &column_labels;
    return ERR_OK;
}

enum err parser_made(struct parser *p, struct parser_made *m)
{
    const struct derive *e = find_computed(p, &m->which);
    struct question_group g = {0};
    m->as.missing = m->none;
    if (parser_is_part(p)) {
        TRY(parser_part_group(p, &g));
        m->base = g.column;
        m->part = g.part;
    } else if (e != NULL) {
        const uint32_t base = domain_find(p->domain, e->column[0]);
        if (base == DOMAIN_NO_CODE ||
            (e->op == DERIVE_LOOKUP && domain_has_bins(&p->domain->attribute[base])))
            return ERR_OK;
        m->base = (uint16_t)base;
        if (e->op == DERIVE_PART)
            m->part = parser_part(e->part);
        else
            TRY(list_labels(&m->as, e));
        TRY(derive_new(&m->plan, p->domain));
        if (m->part != NULL || m->as.kind != NULL)
            TRY(lexer_next(&p->lexer));
    }
    m->as.name = e != NULL ? e->name : p->domain->attribute[m->base].name;
    if (m->part == NULL)
        return ERR_OK;
    m->as.kind = &column_whole;
    m->as.max = 9999;
    m->as.values = 10000;
    return ERR_OK;
}

/* Which of the labels a code has; their number: none. */
static uint32_t label_of(struct parser *p, struct parser_made *m, uint32_t code)
{
    char room[COLUMN_TEXT];
    const char *text = domain_text(&p->domain->attribute[m->base], code, 0, room);
    uint32_t i;
    derive_begin(m->plan);
    if (derive_set(m->plan, m->base, code, text) != ERR_OK)
        p->work.pool.failed = true;
    text = derive_computed(m->plan, m->which, NULL);
    i = text_find(m->as.labels, m->as.values, m->as.order, text);
    return i < m->as.values ? i : m->as.values;
}

/* Whether it holds for a code. */
static bool holds(struct parser *p, struct parser_made *m, struct values v, uint32_t code)
{
    const uint32_t i = label_of(p, m, code);
    return i < m->as.values ? values_hold(&p->work.pool, v, i) : v.missing;
}

struct values parser_made_values(struct parser *p, struct parser_made *m, struct values v)
{
    const struct domain_attribute *a = &p->domain->attribute[m->base];
    struct values_pool *pool = &p->work.pool;
    const size_t used = pool->used;
    struct values out = {.first = (uint32_t)used, .missing = v.missing && a->missing != NULL};
    for (uint32_t code = 0; m->part == NULL && code < a->values; code++) {
        const double x = domain_number(a, code);
        if (holds(p, m, v, code))
            out.spans += values_between(pool, values_before(a, x), values_after(a, x)).spans;
    }
    for (double x = m->part != NULL ? a->edges[0] : INFINITY, next;
         x <= domain_last(a) && !pool->failed; x = next) {
        const enum calendar_unit unit = a->calendar->unit;
        next = (double)calendar_next((int64_t)x, unit, m->part->stretch);
        if (values_hold(pool, v, calendar_value((int64_t)x, unit, m->part->value)))
            out.spans += values_between(pool, x, fmin(next, values_after(a, domain_last(a)))).spans;
    }
    return values_keep(pool, used, values_or(pool, out, (struct values){0}));
}

/* --- GROUP BY --------------------------------------------------------------------------------- */

enum err parser_made_group(struct parser *p, struct question_group *g)
{
    size_t which;
    const struct derive *e = find_computed(p, &which);
    const uint32_t base = e != NULL ? domain_find(p->domain, e->column[0]) : DOMAIN_NO_CODE;
    if (base == DOMAIN_NO_CODE ||
        (e->op == DERIVE_LOOKUP && domain_has_bins(&p->domain->attribute[base])))
        return parser_column(p, &g->column);
    g->column = (uint16_t)base;
    if (e->op == DERIVE_LOOKUP)
        g->book = e;
    else
        g->part = parser_part(e->part);
    return lexer_next(&p->lexer);
}

enum err parser_fill_book(struct parser *p, struct question_group *g)
{
    const struct domain_attribute *a = &p->domain->attribute[g->column];
    struct parser_made m CLEAN(parser_made_clear) = {
        .base = g->column, .which = (size_t)(g->book - p->domain->derived->computed.of)};
    uint32_t *seen CLEAN(memory_release) = NULL;
    TRY(list_labels(&m.as, g->book));
    TRY(derive_new(&m.plan, p->domain));
    TRY(memory_new(&seen, (size_t)m.as.values + 1)); /* 1 more than the first code of each */
    TRY(memory_new(&g->first, a->size));
    TRY(memory_new(&g->label, a->size));
    if (a->size > a->values)
        seen[m.as.values] = a->size; /* what has no label is with what is missing */
    for (uint32_t code = 0; code < a->size; code++) {
        const uint32_t i = code < a->values ? label_of(p, &m, code) : m.as.values;
        seen[i] = seen[i] == 0 ? code + 1 : seen[i];
        g->first[code] = seen[i] - 1;
        g->label[code] = i < m.as.values ? m.as.labels[i] : NULL;
    }
    return p->work.pool.failed ? ERR_NOMEM : ERR_OK;
}
