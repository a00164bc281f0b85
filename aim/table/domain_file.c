#include "aim/table/derive.h"
#include "aim/table/domain_private.h"
#include "aim/table/series.h"

#include "base/memory.h"

#include <string.h>

#define DERIVED UINT32_C(0x80000000) /* added to the attributes if columns follow from others */
#define SERIES UINT32_C(0x40000000)  /* and this if rows are events of persons */
#define MORE 0x80 /* added to the kind if the study says more about a column; that follows */

static bool has_more(const struct domain_attribute *a)
{
    return a->step > 0 || a->tail != DOMAIN_TAIL_TREND || a->missing_too_count > 0;
}

static void write_more(const struct domain_attribute *a, struct bytes *out)
{
    bytes_put_double(out, a->step);
    bytes_put_u8(out, a->whole);
    bytes_put_u8(out, (uint8_t)a->tail);
    bytes_put_double(out, a->typical);
    bytes_put_u32(out, a->missing_too_count);
    for (uint32_t i = 0; i < a->missing_too_count; i++)
        bytes_put_string(out, a->missing_too[i]);
}

static void attribute_write(const struct domain_attribute *a, struct bytes *out)
{
    bytes_put_string(out, a->name);
    bytes_put_u8(out, a->kind->byte | (has_more(a) ? MORE : 0));
    bytes_put_u8(out, (uint8_t)a->policy);
    bytes_put_u8(out, a->missing != NULL);
    if (a->missing != NULL)
        bytes_put_string(out, a->missing);
    bytes_put_u32(out, a->values);
    a->kind->write(a, out);
    if (has_more(a))
        write_more(a, out);
}

void domain_write(const struct domain *d, struct bytes *out)
{
    bytes_put_u32(out, (uint32_t)d->attributes | (d->derived != NULL ? DERIVED : 0) |
                           (d->series != NULL ? SERIES : 0));
    for (size_t i = 0; i < d->attributes; i++)
        attribute_write(&d->attribute[i], out);
    if (d->derived != NULL)
        derived_write(d->derived, out);
    if (d->series != NULL)
        series_write(d->series, out);
}

bool domain_needs_version_3(const struct domain *d)
{
    bool later = false;
    for (size_t i = 0; i < d->attributes; i++)
        later |= d->attribute[i].kind->byte > column_bins.byte;
    return later || d->derived != NULL || d->series != NULL;
}

enum err domain_compare(const struct domain *a, const struct domain *b, bool *same)
{
    struct bytes x CLEAN(bytes_clear) = {0}, y CLEAN(bytes_clear) = {0};
    domain_write(a, &x);
    domain_write(b, &y);
    TRY(bytes_ok(&x));
    TRY(bytes_ok(&y));
    *same = x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    return ERR_OK;
}

static enum err read_missing_too(struct domain_attribute *a, struct reader *r)
{
    uint32_t count = reader_u32(r);
    if (r->failed || count > r->left / 4)
        return ERR_FORMAT;
    TRY(memory_new(&a->missing_too, count));
    while (a->missing_too_count < count)
        TRY(domain_read_text(r, &a->missing_too[a->missing_too_count++]));
    return ERR_OK;
}

static enum err read_more(struct domain_attribute *a, struct reader *r)
{
    uint8_t whole, tail;
    a->step = reader_double(r);
    whole = reader_u8(r);
    tail = reader_u8(r);
    a->typical = reader_double(r);
    if (r->failed || whole > 1 || tail > DOMAIN_TAIL_TYPICAL)
        return ERR_FORMAT;
    if (!domain_has_bins(a) && (a->step != 0 || whole != 0 || tail != 0 || a->typical != 0))
        return ERR_FORMAT;
    a->whole = whole == 1;
    a->tail = (enum domain_tail)tail;
    TRY(read_missing_too(a, r));
    return has_more(a) ? ERR_OK : ERR_FORMAT;
}

static enum err read_attribute(struct domain_attribute *a, struct reader *r)
{
    uint8_t kind, policy, missing;
    TRY(domain_read_text(r, &a->name));
    kind = reader_u8(r);
    policy = reader_u8(r);
    missing = reader_u8(r);
    if (missing == 1)
        TRY(domain_read_text(r, &a->missing));
    a->values = reader_u32(r);
    if (r->failed || missing > 1 || (kind & ~MORE) >= COLUMN_KINDS || policy > DOMAIN_AS_MISSING ||
        a->values == 0 || a->values > DOMAIN_SIZE_MAX)
        return ERR_FORMAT;
    a->kind = column_kinds[kind & ~MORE];
    a->policy = (enum domain_policy)policy;
    TRY(a->kind->read(a, r));
    return (kind & MORE) != 0 ? read_more(a, r) : ERR_OK;
}

enum err domain_add_copy(struct domain *d, const struct domain_attribute *a, struct log *log)
{
    TRY(a->kind->add(d, a, log));
    TRY(domain_set_missing(d, (const char *const *)a->missing_too, a->missing_too_count, log));
    if (a->step != 0)
        TRY(domain_set_step(d, a->step, a->whole, log));
    return a->tail != DOMAIN_TAIL_TREND ? domain_set_tail(d, a->tail, a->typical, log) : ERR_OK;
}

enum err domain_read(struct domain **out, struct reader *r, struct log *log)
{
    struct domain *d CLEAN(domain_free) = NULL;
    const uint32_t first = reader_u32(r), attributes = first & ~(DERIVED | SERIES);
    const struct derive *bad;
    *out = NULL;
    if (r->failed || attributes > DOMAIN_ATTRIBUTES_MAX)
        return ERR_FORMAT;
    TRY(domain_new(&d));
    for (uint32_t i = 0; i < attributes; i++) {
        struct domain_attribute a CLEAN(domain_attribute_clear) = {0};
        TRY(read_attribute(&a, r));
        TRY(domain_add_copy(d, &a, log));
    }
    if ((first & DERIVED) != 0) {
        TRY(derived_read(&d->derived, r));
        TRY(derive_check(d, &bad, log));
    }
    if ((first & SERIES) != 0)
        TRY(series_read(&d->series, d, r));
    return memory_hand_over(out, &d);
}

enum err domain_pick(struct domain **out, const struct domain *d, const uint16_t *attribute,
                     size_t count)
{
    struct domain *picked CLEAN(domain_free) = NULL;
    *out = NULL;
    TRY(domain_new(&picked));
    for (size_t k = 0; k < count; k++)
        TRY(domain_add_copy(picked, &d->attribute[attribute[k]], NULL));
    TRY(derived_pick(picked, d));
    return memory_hand_over(out, &picked);
}
