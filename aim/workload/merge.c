#include "aim/workload/merge.h"

#include "base/memory.h"

#include <string.h>

static enum err make_room(struct merges *m, size_t attributes)
{
    *m = (struct merges){.attributes = attributes};
    TRY(memory_new(&m->codes, attributes));
    TRY(memory_new(&m->groups, attributes));
    TRY(memory_new(&m->code, attributes));
    return memory_new(&m->group, attributes);
}

enum err merges_none(struct merges *m, const struct domain *d)
{
    TRY(make_room(m, d->attributes));
    for (size_t i = 0; i < d->attributes; i++)
        m->codes[i] = m->groups[i] = d->attribute[i].size;
    return ERR_OK;
}

void merges_clear(struct merges *m)
{
    memory_free_each(&m->group, m->attributes);
    memory_free_each(&m->code, m->attributes);
    memory_free_all(&m->codes, &m->groups);
    *m = (struct merges){0};
}

void merges_free(struct merges **m)
{
    if (*m != NULL)
        merges_clear(*m);
    memory_free(m);
}

/* --- what they are ---------------------------------------------------------------------------- */

enum err merges_copy(struct merges *m, const struct merges *from)
{
    TRY(make_room(m, from->attributes));
    for (size_t i = 0; i < from->attributes; i++) {
        m->codes[i] = from->codes[i];
        m->groups[i] = from->groups[i];
        if (from->group[i] == NULL)
            continue;
        TRY(memory_new(&m->group[i], m->codes[i]));
        memcpy(m->group[i], from->group[i], m->codes[i] * sizeof *m->group[i]);
        TRY(merges_sort(m, i));
    }
    return ERR_OK;
}

bool merges_any(const struct merges *m)
{
    for (size_t i = 0; i < m->attributes; i++)
        if (m->group[i] != NULL)
            return true;
    return false;
}

bool merges_touch(const struct merges *m, const struct clique *c)
{
    for (unsigned i = 0; i < c->n; i++)
        if (m->group[c->attribute[i]] != NULL)
            return true;
    return false;
}

bool merges_equal(const struct merges *a, const struct merges *b)
{
    for (size_t i = 0; i < a->attributes; i++) {
        if (a->groups[i] != b->groups[i] || (a->group[i] == NULL) != (b->group[i] == NULL))
            return false;
        if (a->group[i] != NULL &&
            memcmp(a->group[i], b->group[i], a->codes[i] * sizeof *a->group[i]) != 0)
            return false;
    }
    return true;
}

enum err merges_sort(struct merges *m, size_t attribute)
{
    const uint32_t codes = m->codes[attribute], *group = m->group[attribute];
    uint32_t *at CLEAN(memory_release) = NULL;
    TRY(memory_new(&at, (size_t)m->groups[attribute] + 1));
    TRY(memory_new(&m->code[attribute], codes));
    for (uint32_t code = 0; code < codes; code++)
        at[group[code] + 1]++;
    for (uint32_t g = 0; g < m->groups[attribute]; g++)
        at[g + 1] += at[g];
    for (uint32_t code = 0; code < codes; code++)
        m->code[attribute][at[group[code]]++] = code;
    return ERR_OK;
}

uint32_t merges_below(const struct merges *m, size_t attribute, uint32_t from)
{
    const uint32_t *group = m->group[attribute], *code = m->code[attribute];
    uint32_t below = from + 1;
    while (below < m->codes[attribute] && group[code[below]] == group[code[from]])
        below++;
    return below;
}

uint32_t merges_largest(const struct merges *m, size_t attribute)
{
    uint32_t largest = 1;
    if (m->group[attribute] == NULL)
        return largest;
    for (uint32_t from = 0, below; from < m->codes[attribute]; from = below) {
        below = merges_below(m, attribute, from);
        largest = below - from > largest ? below - from : largest;
    }
    return largest;
}

void merges_part(struct merges *m)
{
    uint32_t largest = 0;
    size_t of = 0;
    for (size_t i = 0; i < m->attributes; i++)
        if (merges_largest(m, i) > largest) {
            largest = merges_largest(m, i);
            of = i;
        }
    memory_free_all(&m->group[of], &m->code[of]);
    m->groups[of] = m->codes[of];
}

uint64_t merges_cells(const struct merges *m, const struct clique *c)
{
    uint64_t cells = 1;
    for (unsigned i = 0; i < c->n; i++)
        if (__builtin_mul_overflow(cells, m->groups[c->attribute[i]], &cells))
            return UINT64_MAX;
    return cells;
}

uint64_t merges_query_cells(const struct merges *m, const struct workload_query *q)
{
    return m != NULL ? merges_cells(m, &q->clique) : q->cells;
}

void merges_index(const struct merges *m, const struct clique *c, uint32_t *index)
{
    uint64_t made = 1;
    index[0] = 0;
    for (unsigned i = 0; i < c->n; i++) { /* k descends, so that nothing is overwritten */
        const uint16_t a = c->attribute[i];
        const uint32_t size = m->codes[a], *group = m->group[a];
        for (uint64_t k = made * size; k-- > 0;) {
            const uint32_t code = (uint32_t)(k % size);
            index[k] = index[k / size] * m->groups[a] + (group != NULL ? group[code] : code);
        }
        made *= size;
    }
}

enum err merges_domain(const struct merges *m, const struct domain *d, struct domain *merged)
{
    *merged = (struct domain){.attributes = d->attributes};
    TRY(memory_new(&merged->attribute, d->attributes));
    for (size_t i = 0; i < d->attributes; i++) {
        merged->attribute[i] = d->attribute[i];
        merged->attribute[i].size = m->groups[i];
    }
    return ERR_OK;
}

/* --- as bytes --------------------------------------------------------------------------------- */

void merges_write(const struct merges *m, struct bytes *out)
{
    uint16_t merged = 0;
    for (size_t i = 0; i < m->attributes; i++)
        merged = (uint16_t)(merged + (m->group[i] != NULL));
    bytes_put_u16(out, merged);
    for (size_t i = 0; i < m->attributes; i++) {
        if (m->group[i] == NULL)
            continue;
        bytes_put_u16(out, (uint16_t)i);
        for (uint32_t code = 0; code < m->codes[i]; code++)
            bytes_put_u32(out, m->group[i][code]);
    }
}

/* Groups are numbered by first code. Only neighbouring numbers merge; missing values never do. */
static enum err read_one(struct merges *m, const struct domain *d, struct reader *r, size_t *least)
{
    const size_t i = reader_u16(r);
    const struct domain_attribute *a;
    uint32_t *group, groups = 0;
    if (r->failed || i < *least || i >= d->attributes)
        return ERR_FORMAT;
    a = &d->attribute[i];
    TRY(memory_new(&group, a->size));
    m->group[i] = group;
    for (uint32_t code = 0; code < a->size; code++) {
        uint32_t lowest = !domain_has_order(a) || code == 0 ? 0 : group[code - 1];
        if (code >= a->values)
            lowest = groups;
        group[code] = reader_u32(r);
        if (r->failed || group[code] < lowest || group[code] > groups)
            return ERR_FORMAT;
        groups += group[code] == groups;
    }
    if (groups == a->size)
        return ERR_FORMAT; /* nothing is merged */
    m->groups[i] = groups;
    TRY(merges_sort(m, i));
    *least = i + 1;
    return ERR_OK;
}

enum err merges_read(struct merges *m, const struct domain *d, struct reader *r)
{
    const uint16_t merged = reader_u16(r);
    size_t least = 0;
    TRY(merges_none(m, d));
    if (r->failed || merged > d->attributes)
        return ERR_FORMAT;
    for (uint16_t k = 0; k < merged; k++)
        TRY(read_one(m, d, r, &least));
    return ERR_OK;
}
