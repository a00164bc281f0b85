#include "aim/table/domain.h"

#include "base/encoding.h"
#include "base/memory.h"

#include <string.h>

static void attribute_write(const struct domain_attribute *a, struct bytes *out)
{
    bytes_put_string(out, a->name);
    bytes_put_u8(out, (uint8_t)a->kind);
    bytes_put_u8(out, (uint8_t)a->policy);
    bytes_put_u8(out, a->missing != NULL);
    if (a->missing != NULL)
        bytes_put_string(out, a->missing);
    bytes_put_u32(out, a->values);
    switch (a->kind) {
    case DOMAIN_CATEGORICAL:
        for (uint32_t i = 0; i < a->values; i++)
            bytes_put_string(out, a->labels[i]);
        break;
    case DOMAIN_INTEGER:
        bytes_put_u64(out, (uint64_t)a->min);
        bytes_put_u64(out, (uint64_t)a->max);
        break;
    case DOMAIN_NUMERIC:
        for (uint32_t i = 0; i <= a->values; i++)
            bytes_put_double(out, a->edges[i]);
        break;
    }
}

void domain_write(const struct domain *d, struct bytes *out)
{
    bytes_put_u32(out, (uint32_t)d->attributes);
    for (size_t i = 0; i < d->attributes; i++)
        attribute_write(&d->attribute[i], out);
}

enum err domain_compare(const struct domain *a, const struct domain *b, bool *same)
{
    struct bytes x = {0}, y = {0};
    enum err e;
    domain_write(a, &x);
    domain_write(b, &y);
    e = bytes_ok(&x) == ERR_OK ? bytes_ok(&y) : ERR_NOMEM;
    *same = e == ERR_OK && x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    bytes_clear(&x);
    bytes_clear(&y);
    return e;
}

/* A string of any length, on the heap. A file may hold no more than a study may. */
static enum err read_text(struct reader *r, char **text)
{
    size_t n = 0;
    const uint8_t *p = reader_block(r, &n);
    *text = NULL;
    if (p == NULL || memchr(p, 0, n) != NULL)
        return ERR_FORMAT;
    *text = memory_array(n + 1, 1);
    if (*text == NULL)
        return ERR_NOMEM;
    memcpy(*text, p, n);
    return encoding_steers(*text) ? ERR_FORMAT : ERR_OK;
}

/* What all kinds of attribute have. */
struct header {
    char *name;
    char *missing;
    enum domain_kind kind;
    enum domain_policy policy;
    uint32_t values;
};

static enum err read_categorical(struct domain *d, const struct header *h, struct reader *r,
                                 struct log *log)
{
    char **labels = memory_array(h->values, sizeof *labels);
    enum err e = labels != NULL ? ERR_OK : ERR_NOMEM;
    for (uint32_t i = 0; e == ERR_OK && i < h->values; i++)
        e = read_text(r, &labels[i]);
    if (e == ERR_OK)
        e = domain_add_categorical(d, h->name, (const char *const *)labels, h->values, h->missing,
                                   h->policy, log);
    for (uint32_t i = 0; labels != NULL && i < h->values; i++)
        memory_free(&labels[i]);
    memory_free(&labels);
    return e;
}

static enum err read_integer(struct domain *d, const struct header *h, struct reader *r,
                             struct log *log)
{
    int64_t min = (int64_t)reader_u64(r), max = (int64_t)reader_u64(r);
    if (r->failed || (uint64_t)max - (uint64_t)min != (uint64_t)h->values - 1)
        return ERR_FORMAT;
    return domain_add_integer(d, h->name, min, max, h->missing, h->policy, log);
}

static enum err read_numeric(struct domain *d, const struct header *h, struct reader *r,
                             struct log *log)
{
    double *edges = memory_array((size_t)h->values + 1, sizeof *edges);
    enum err e = edges != NULL ? ERR_OK : ERR_NOMEM;
    for (uint32_t i = 0; e == ERR_OK && i <= h->values; i++)
        edges[i] = reader_double(r);
    if (e == ERR_OK && r->failed)
        e = ERR_FORMAT;
    if (e == ERR_OK)
        e = domain_add_numeric(d, h->name, edges, (size_t)h->values + 1, h->missing, h->policy,
                               log);
    memory_free(&edges);
    return e;
}

static enum err read_header(struct header *h, struct reader *r)
{
    uint8_t kind, policy, missing;
    TRY(read_text(r, &h->name));
    kind = reader_u8(r);
    policy = reader_u8(r);
    missing = reader_u8(r);
    if (missing == 1)
        TRY(read_text(r, &h->missing));
    h->values = reader_u32(r);
    if (r->failed || missing > 1 || kind > DOMAIN_NUMERIC || policy > DOMAIN_AS_MISSING ||
        h->values == 0 || h->values > DOMAIN_SIZE_MAX)
        return ERR_FORMAT;
    h->kind = (enum domain_kind)kind;
    h->policy = (enum domain_policy)policy;
    return ERR_OK;
}

static enum err read_values(struct domain *d, const struct header *h, struct reader *r,
                            struct log *log)
{
    switch (h->kind) {
    case DOMAIN_CATEGORICAL:
        return read_categorical(d, h, r, log);
    case DOMAIN_INTEGER:
        return read_integer(d, h, r, log);
    case DOMAIN_NUMERIC:
        return read_numeric(d, h, r, log);
    }
    return ERR_FORMAT;
}

static enum err attribute_read(struct domain *d, struct reader *r, struct log *log)
{
    struct header h = {0};
    enum err e = read_header(&h, r);
    if (e == ERR_OK)
        e = read_values(d, &h, r, log);
    memory_free(&h.name);
    memory_free(&h.missing);
    return e;
}

enum err domain_read(struct domain **out, struct reader *r, struct log *log)
{
    struct domain *d = NULL;
    uint32_t attributes = reader_u32(r);
    enum err e = r->failed || attributes > DOMAIN_ATTRIBUTES_MAX ? ERR_FORMAT : domain_new(&d);
    for (uint32_t i = 0; e == ERR_OK && i < attributes; i++)
        e = attribute_read(d, r, log);
    if (e != ERR_OK)
        domain_free(&d);
    *out = d;
    return e;
}

enum err domain_pick(struct domain **out, const struct domain *d, const uint16_t *attribute,
                     size_t count)
{
    struct bytes b = {0};
    struct reader r;
    enum err e = domain_new(out);
    for (size_t k = 0; k < count; k++)
        attribute_write(&d->attribute[attribute[k]], &b);
    if (e == ERR_OK)
        e = bytes_ok(&b);
    r = reader_of(b.data, b.size);
    for (size_t k = 0; e == ERR_OK && k < count; k++)
        e = attribute_read(*out, &r, NULL);
    bytes_clear(&b);
    if (e != ERR_OK)
        domain_free(out);
    return e;
}
