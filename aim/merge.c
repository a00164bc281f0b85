#include "aim/merge.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* Codes that may join others: they have an order, and the missing one is not among them. */
static uint32_t ordered_codes(const struct domain_attribute *a)
{
    return a->kind == DOMAIN_CATEGORICAL ? 0 : a->values;
}

static enum err make_room(struct merges *m, size_t attributes)
{
    *m = (struct merges){.attributes = attributes};
    TRY(memory_new(&m->codes, attributes));
    TRY(memory_new(&m->groups, attributes));
    return memory_new(&m->group, attributes);
}

enum err merges_none(struct merges *m, const struct domain *d)
{
    if (make_room(m, d->attributes) != ERR_OK) {
        merges_clear(m);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < d->attributes; i++)
        m->codes[i] = m->groups[i] = d->attribute[i].size;
    return ERR_OK;
}

void merges_clear(struct merges *m)
{
    for (size_t i = 0; m->group != NULL && i < m->attributes; i++)
        memory_free(&m->group[i]);
    memory_free(&m->codes);
    memory_free(&m->group);
    memory_free(&m->groups);
    *m = (struct merges){0};
}

void merges_free(struct merges **m)
{
    if (*m != NULL)
        merges_clear(*m);
    memory_free(m);
}

/* --- which ------------------------------------------------------------------------------------ */

/* Groups, each known by its first code, and a tournament in which the least count wins. */
struct joining {
    uint32_t codes;
    double *count;
    uint32_t *before, *after; /* the neighbours' first codes; `codes` where there is none */
    uint32_t leaves, *winner; /* winner[1] of all; leaves at winner[leaves + code] */
};

static void play(struct joining *j, uint32_t code)
{
    for (uint32_t at = (j->leaves + code) / 2; at > 0; at /= 2) {
        const uint32_t low = j->winner[2 * at], high = j->winner[2 * at + 1];
        j->winner[at] = j->count[high] < j->count[low] ? high : low;
    }
}

static enum err joining_new(struct joining *j, uint32_t codes, const double *counts)
{
    j->codes = codes;
    for (j->leaves = 1; j->leaves < codes;)
        j->leaves *= 2;
    TRY(memory_new(&j->count, j->leaves));
    TRY(memory_new(&j->before, codes));
    TRY(memory_new(&j->after, codes));
    TRY(memory_new(&j->winner, 2 * (size_t)j->leaves));
    for (uint32_t code = 0; code < j->leaves; code++) {
        j->count[code] = code < codes ? fmax(counts[code], 0) : INFINITY;
        j->winner[j->leaves + code] = code;
    }
    for (uint32_t code = 0; code < codes; code++) {
        j->before[code] = code > 0 ? code - 1 : codes;
        j->after[code] = code + 1;
    }
    for (uint32_t code = 0; code < j->leaves; code++)
        play(j, code);
    return ERR_OK;
}

static void joining_clear(struct joining *j)
{
    memory_free(&j->count);
    memory_free(&j->before);
    memory_free(&j->after);
    memory_free(&j->winner);
}

/* The group at `code` takes in the one after it. */
static void join(struct joining *j, uint32_t code)
{
    const uint32_t gone = j->after[code];
    j->count[code] += j->count[gone];
    j->count[gone] = INFINITY;
    j->after[code] = j->after[gone];
    if (j->after[code] < j->codes)
        j->before[j->after[code]] = code;
    play(j, gone);
    play(j, code);
}

static void join_small(struct joining *j, double least)
{
    for (;;) {
        const uint32_t code = j->winner[1], before = j->before[code], after = j->after[code];
        if (j->count[code] >= least || (before == j->codes && after == j->codes))
            return;
        if (after == j->codes || (before < j->codes && j->count[before] <= j->count[after]))
            join(j, before);
        else
            join(j, code);
    }
}

static enum err choose_one(struct merges *m, uint16_t attribute, const struct domain_attribute *a,
                           const double *counts, double least)
{
    struct joining j CLEAN(joining_clear) = {0};
    const uint32_t codes = ordered_codes(a);
    uint32_t *group, groups = 0;
    if (codes < 2)
        return ERR_OK;
    TRY(joining_new(&j, codes, counts));
    join_small(&j, least);
    for (uint32_t code = 0; code < codes; code = j.after[code])
        groups++;
    if (groups == codes)
        return ERR_OK;
    TRY(memory_new(&group, a->size));
    m->group[attribute] = group;
    groups = 0;
    for (uint32_t code = 0; code < a->size; code++) {
        if (code > 0 && (code >= codes || isfinite(j.count[code])))
            groups++;
        group[code] = groups;
    }
    m->groups[attribute] = groups + 1;
    return ERR_OK;
}

double merges_least(double total, double sigma)
{
    return fmin(MERGE_SHARE * total, MERGE_NOISE * sigma);
}

uint32_t merges_expect(const struct domain_attribute *a, double rows, double sigma)
{
    const uint32_t codes = ordered_codes(a);
    const double each = rows / codes, least = merges_least(rows, sigma);
    if (codes < 2 || each >= least)
        return a->size;
    return (uint32_t)fmax(1, floor(codes / ceil(least / each))) + (a->size - codes);
}

enum err merges_choose(struct merges *m, const struct domain *d, const double *const *counts,
                       double least, const bool *keep)
{
    TRY(merges_none(m, d));
    for (uint16_t i = 0; i < d->attributes; i++)
        if ((keep == NULL || !keep[i]) &&
            choose_one(m, i, &d->attribute[i], counts[i], least) != ERR_OK) {
            merges_clear(m);
            return ERR_NOMEM;
        }
    return ERR_OK;
}

/* --- what they are ---------------------------------------------------------------------------- */

static enum err copy(struct merges *m, const struct merges *from)
{
    TRY(make_room(m, from->attributes));
    for (size_t i = 0; i < from->attributes; i++) {
        m->codes[i] = from->codes[i];
        m->groups[i] = from->groups[i];
        if (from->group[i] == NULL)
            continue;
        TRY(memory_new(&m->group[i], m->codes[i]));
        memcpy(m->group[i], from->group[i], m->codes[i] * sizeof *m->group[i]);
    }
    return ERR_OK;
}

enum err merges_copy(struct merges *m, const struct merges *from)
{
    enum err e = copy(m, from);
    if (e != ERR_OK)
        merges_clear(m);
    return e;
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

uint32_t merges_below(const struct merges *m, size_t attribute, uint32_t from)
{
    const uint32_t *group = m->group[attribute];
    uint32_t below = from + 1;
    while (below < m->codes[attribute] && group[below] == group[from])
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
    memory_free(&m->group[of]);
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
    for (unsigned i = 0; i < c->n; i++) { /* from the last, so that nothing is overwritten */
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
        bytes_put_u32(out, m->groups[i]);
        for (uint32_t from = merges_below(m, i, 0); from < m->codes[i];
             from = merges_below(m, i, from))
            bytes_put_u32(out, from);
    }
}

static enum err read_one(struct merges *m, const struct domain *d, struct reader *r, size_t *least)
{
    const size_t i = reader_u16(r);
    const uint32_t groups = reader_u32(r);
    const struct domain_attribute *a;
    uint32_t first = 0;
    if (r->failed || i < *least || i >= d->attributes)
        return ERR_FORMAT;
    a = &d->attribute[i];
    if (groups == 0 || groups >= a->size || ordered_codes(a) == 0)
        return ERR_FORMAT;
    TRY(memory_new(&m->group[i], a->size));
    for (uint32_t group = 1; group < groups; group++) {
        const uint32_t next = reader_u32(r);
        if (r->failed || next <= first || next >= a->size)
            return ERR_FORMAT;
        m->group[i][next] = 1;
        first = next;
    }
    for (uint32_t code = 1; code < a->size; code++) /* from where groups begin to their numbers */
        m->group[i][code] += m->group[i][code - 1];
    if (a->values < a->size && m->group[i][a->values] == m->group[i][a->values - 1])
        return ERR_FORMAT; /* a missing value is nobody's neighbour */
    m->groups[i] = groups;
    *least = i + 1;
    return ERR_OK;
}

enum err merges_read(struct merges *m, const struct domain *d, struct reader *r)
{
    const uint16_t merged = reader_u16(r);
    size_t least = 0;
    enum err e;
    TRY(merges_none(m, d));
    e = r->failed || merged > d->attributes ? ERR_FORMAT : ERR_OK;
    for (uint16_t k = 0; e == ERR_OK && k < merged; k++)
        e = read_one(m, d, r, &least);
    if (e != ERR_OK)
        merges_clear(m);
    return e;
}
