#include "parties/exchange/request.h"

#include "base/version.h"

enum err request_write(const struct request *r, struct bytes *out)
{
    const bool round = r->kind == REQUEST_ROUND;
    bytes_put_u8(out, REQUEST_VERSION);
    bytes_put_u8(out, round ? (uint8_t)r->ask.kind : (uint8_t)r->kind);
    bytes_put(out, r->run, sizeof r->run);
    bytes_put_u32(out, r->sequence);
    return r->kind == REQUEST_OPEN && r->warrant.share > 0 ? warrant_write(&r->warrant, out)
                                                           : ask_write(&r->ask, out);
}

static enum err read_kind(struct request *r, uint8_t kind)
{
    if (kind == REQUEST_OPEN || kind == REQUEST_CLOSE) {
        r->kind = (enum request_kind)kind;
        return ERR_OK;
    }
    r->ask.kind = (enum ask_kind)kind;
    switch (r->ask.kind) {
    case ASK_MEASURE:
    case ASK_SELECT:
    case ASK_FORMS:
    case ASK_LOOK:
    case ASK_SCORES:
    case ASK_GRADIENT:
    case ASK_TEST:
        return ERR_OK;
    }
    return ERR_FORMAT;
}

static enum err read_body(struct request *r, const struct domain *d, const struct workload *w,
                          struct reader *in)
{
    uint8_t version = reader_u8(in), kind = reader_u8(in);
    reader_copy(in, r->run, sizeof r->run);
    r->sequence = reader_u32(in);
    if (version != REQUEST_VERSION)
        return ERR_FORMAT;
    TRY(read_kind(r, kind));
    if (kind == REQUEST_OPEN && version_of(in->p, in->left, "trefoil-warrant-1") > 0)
        return warrant_parse(&r->warrant, in->p, in->left);
    return ask_read(&r->ask, d, w, in);
}

unsigned request_version(const void *p, size_t n)
{
    struct reader in = reader_of(p, n);
    return reader_u8(&in);
}

enum err request_read(struct request *r, const struct domain *d, const struct workload *w,
                      const void *p, size_t n)
{
    struct reader in = reader_of(p, n);
    enum err e;
    *r = (struct request){0};
    e = read_body(r, d, w, &in);
    if (e != ERR_OK)
        request_clear(r);
    return e;
}

void request_clear(struct request *r)
{
    ask_clear(&r->ask);
    *r = (struct request){0};
}

size_t request_longest(const struct workload *w)
{
    return ask_longest(w) + 4096;
}
