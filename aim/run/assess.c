#include "aim/run/assess.h"

#include "aim/budget/ledger.h"
#include "base/memory.h"

#include <math.h>

size_t assess_pairs(const struct workload *w)
{
    size_t pairs = 0;
    for (size_t q = 0; q < w->queries; q++)
        pairs += w->query[q].clique.n == 2;
    return pairs;
}

double assess_deviation(double rho)
{
    return ledger_deviation(1, rho / 2);
}

struct assess_mean assess_mean(const struct assess *a, enum assess_which which)
{
    struct assess_mean m = {.alone = a->alone != NULL ? 0 : NAN};
    for (size_t i = 0; i < a->pairs; i++) {
        if (which != ASSESS_ALL && a->measured[i] != (which == ASSESS_MEASURED))
            continue;
        m.error += a->off[i];
        m.alone += a->alone != NULL ? a->alone[i] : 0;
        m.pairs++;
    }
    if (m.pairs == 0)
        return m;
    m.error /= (double)m.pairs * a->total;
    m.alone /= (double)m.pairs * a->total;
    m.deviation = a->sigma / sqrt((double)m.pairs) / a->total;
    return m;
}

enum err assess_new(struct assess **out, size_t pairs)
{
    struct assess *a CLEAN(assess_free) = NULL;
    *out = NULL;
    TRY(memory_new(&a, 1));
    a->pairs = pairs;
    TRY(memory_new(&a->pair, pairs));
    TRY(memory_new(&a->measured, pairs));
    TRY(memory_new(&a->off, pairs));
    return memory_hand_over(out, &a);
}

void assess_free(struct assess **a)
{
    if (*a == NULL)
        return;
    memory_free_all(&(*a)->pair, &(*a)->measured, &(*a)->off, &(*a)->alone);
    memory_free(a);
}

/* --- bytes ------------------------------------------------------------------------------------ */

void assess_write(const struct assess *a, struct bytes *out)
{
    bytes_put_double(out, a->sigma);
    bytes_put_double(out, a->total);
    bytes_put_double(out, a->cost);
    bytes_put_u8(out, a->alone != NULL);
    bytes_put_u32(out, (uint32_t)a->pairs);
    for (size_t i = 0; i < a->pairs; i++) {
        bytes_put_u16(out, a->pair[i].attribute[0]);
        bytes_put_u16(out, a->pair[i].attribute[1]);
        bytes_put_u8(out, a->measured[i]);
        bytes_put_double(out, a->off[i]);
        if (a->alone != NULL)
            bytes_put_double(out, a->alone[i]);
    }
}

static enum err read_pair(struct assess *a, size_t i, const struct domain *d, struct reader *r)
{
    struct clique *c = &a->pair[i];
    *c = (struct clique){2, {reader_u16(r)}};
    c->attribute[1] = reader_u16(r);
    a->measured[i] = reader_u8(r) != 0;
    a->off[i] = reader_double(r);
    if (a->alone != NULL)
        a->alone[i] = reader_double(r);
    return !r->failed && c->attribute[0] < c->attribute[1] && c->attribute[1] < d->attributes
               ? ERR_OK
               : ERR_FORMAT;
}

enum err assess_read(struct assess **out, const struct domain *d, struct reader *r)
{
    struct assess *a CLEAN(assess_free) = NULL;
    const double sigma = reader_double(r), total = reader_double(r), cost = reader_double(r);
    const bool alone = reader_u8(r) != 0;
    const uint32_t pairs = reader_u32(r);
    *out = NULL;
    if (r->failed || pairs > r->left || !(sigma > 0) || !(total > 0) || !(cost >= 0))
        return ERR_FORMAT;
    TRY(assess_new(&a, pairs));
    a->sigma = sigma;
    a->total = total;
    a->cost = cost;
    if (alone)
        TRY(memory_new(&a->alone, pairs));
    for (size_t i = 0; i < pairs; i++)
        TRY(read_pair(a, i, d, r));
    return memory_hand_over(out, &a);
}
