#include "aim/question/values.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

#define POOL_MAX ((size_t)1 << 20)

void pool_clear(struct values_pool *p)
{
    memory_free(&p->span);
    *p = (struct values_pool){0};
}

static void put(struct values_pool *p, struct values *v, double from, double below)
{
    if (!(from < below) || p->failed)
        return;
    if (p->used == POOL_MAX || memory_room(&p->span, &p->room, p->used + 1) != ERR_OK) {
        p->failed = true;
        return;
    }
    p->span[p->used++] = (struct values_span){from, below};
    v->spans++;
}

static struct values begin(const struct values_pool *p, bool missing)
{
    return (struct values){.first = (uint32_t)p->used, .missing = missing};
}

/* --- columns ---------------------------------------------------------------------------------- */

double values_before(const struct domain_attribute *a, double value)
{
    return domain_has_bins(a) ? value : ceil(value) - 0.5;
}

double values_after(const struct domain_attribute *a, double value)
{
    return domain_has_bins(a) ? nextafter(value, INFINITY) : floor(value) + 0.5;
}

struct values values_known(struct values_pool *p, const struct domain_attribute *a)
{
    return values_between(p, values_before(a, domain_number(a, 0)),
                          values_after(a, domain_last(a)));
}

struct values values_every(struct values_pool *p, const struct domain_attribute *a)
{
    struct values v = values_known(p, a);
    v.missing = a->missing != NULL;
    return v;
}

struct values values_missing(const struct domain_attribute *a)
{
    return (struct values){.missing = a->missing != NULL};
}

/* --- sets ------------------------------------------------------------------------------------- */

struct values values_between(struct values_pool *p, double from, double below)
{
    struct values v = begin(p, false);
    put(p, &v, from, below);
    return v;
}

struct values values_and(struct values_pool *p, struct values a, struct values b)
{
    struct values v = begin(p, a.missing && b.missing);
    for (uint32_t i = 0, k = 0; i < a.spans && k < b.spans && !p->failed;) {
        struct values_span x = p->span[a.first + i], y = p->span[b.first + k];
        put(p, &v, fmax(x.from, y.from), fmin(x.below, y.below));
        if (x.below < y.below)
            i++;
        else
            k++;
    }
    return v;
}

/* Everything else on the line. */
static struct values rest(struct values_pool *p, struct values a)
{
    struct values v = begin(p, !a.missing);
    double from = -INFINITY;
    for (uint32_t i = 0; i < a.spans && !p->failed; i++) {
        struct values_span x = p->span[a.first + i];
        put(p, &v, from, x.from);
        from = x.below;
    }
    put(p, &v, from, INFINITY);
    return v;
}

struct values values_keep(struct values_pool *p, size_t used, struct values v)
{
    if (p->failed)
        return v;
    if (v.spans > 0)
        memmove(p->span + used, p->span + v.first, v.spans * sizeof *p->span);
    v.first = (uint32_t)used;
    p->used = used + v.spans;
    return v;
}

struct values values_or(struct values_pool *p, struct values a, struct values b)
{
    const size_t mark = p->used;
    return values_keep(p, mark, rest(p, values_and(p, rest(p, a), rest(p, b))));
}

struct values values_minus(struct values_pool *p, struct values a, struct values b)
{
    const size_t mark = p->used;
    return values_keep(p, mark, values_and(p, a, rest(p, b)));
}

bool values_are_none(struct values v)
{
    return v.spans == 0 && !v.missing;
}

bool values_equal(const struct values_pool *p, struct values a, struct values b)
{
    return a.missing == b.missing && a.spans == b.spans &&
           (a.spans == 0 ||
            memcmp(p->span + a.first, p->span + b.first, a.spans * sizeof *p->span) == 0);
}

bool values_hold(const struct values_pool *p, struct values v, double x)
{
    for (uint32_t i = 0; i < v.spans; i++)
        if (x >= p->span[v.first + i].from && x < p->span[v.first + i].below)
            return true;
    return false;
}
