#include "parties/exchange/request.h"

#include "aim/forms.h"
#include "base/memory.h"
#include "base/text.h"

#include <openssl/sha.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define REPLY_VERSION 1u

enum err request_merge(struct request *r, const struct merges *merges)
{
    if (merges == NULL || !merges_any(merges))
        return ERR_OK;
    TRY(memory_new(&r->merges, 1));
    return merges_copy(r->merges, merges);
}

enum err request_write(const struct request *r, struct bytes *out)
{
    struct bytes merges CLEAN(bytes_clear) = {0};
    if (r->merges != NULL)
        merges_write(r->merges, &merges);
    TRY(bytes_ok(&merges));
    bytes_put_u8(out, REQUEST_VERSION);
    bytes_put_u8(out, (uint8_t)r->kind);
    bytes_put(out, r->run, sizeof r->run);
    bytes_put_u32(out, r->sequence);
    bytes_put_block(out, merges.data, merges.size);
    bytes_put_u32(out, r->queries);
    for (uint32_t k = 0; k < r->queries; k++)
        bytes_put_u32(out, r->query[k]);
    bytes_put_u64(out, r->multiplier);
    bytes_put_double(out, r->epsilon);
    bytes_put_double(out, r->sigma);
    bytes_put_u64(out, r->estimates + r->weights);
    for (size_t k = 0; k < r->estimates; k++)
        bytes_put_small(out, r->estimate[k]);
    for (size_t k = 0; k < r->weights; k++)
        bytes_put_u64(out, (uint64_t)r->weight[k]);
    return bytes_ok(out);
}

/* There is only one way to write that a request has none. */
static enum err read_merges(struct request *r, const struct domain *d, struct reader *in)
{
    struct reader merges;
    size_t n = 0;
    const uint8_t *p = reader_block(in, &n);
    enum err e;
    if (in->failed)
        return ERR_FORMAT;
    if (n == 0)
        return ERR_OK;
    merges = reader_of(p, n);
    TRY(memory_new(&r->merges, 1));
    e = merges_read(r->merges, d, &merges);
    if (e == ERR_OK && (reader_done(&merges) != ERR_OK || !merges_any(r->merges)))
        e = ERR_FORMAT;
    if (e == ERR_FORMAT || (r->kind != REQUEST_MEASURE && r->kind != REQUEST_SELECT))
        return ERR_REFUSED;
    return e;
}

/* Query indices ascend, to measure or as candidates; several forms may use the same one. */
static enum err read_queries(struct request *r, const struct workload *w, struct reader *in)
{
    const bool forms = r->kind == REQUEST_FORMS;
    uint64_t cells = 0;
    r->queries = reader_u32(in);
    if (in->failed || r->queries > w->queries || (r->kind == REQUEST_LOOK && r->queries > 0))
        return ERR_FORMAT;
    TRY(memory_new(&r->query, r->queries));
    for (uint32_t k = 0; k < r->queries; k++) {
        r->query[k] = reader_u32(in);
        if (r->query[k] >= w->queries || (k > 0 && r->query[k] < r->query[k - 1] + !forms))
            return ERR_FORMAT;
        cells += merges_query_cells(r->merges, &w->query[r->query[k]]);
    }
    r->estimates = r->kind == REQUEST_SELECT ? (size_t)cells : 0;
    if (forms)
        r->weights = r->queries > 0 ? (size_t)cells : 2 * products_codes(w);
    return r->queries == 0 || r->weights <= w->cells ? ERR_OK : ERR_FORMAT;
}

static enum err read_body(struct request *r, const struct domain *d, const struct workload *w,
                          struct reader *in)
{
    uint8_t version = reader_u8(in), kind = reader_u8(in);
    size_t count;
    reader_copy(in, r->run, sizeof r->run);
    r->sequence = reader_u32(in);
    if (version != REQUEST_VERSION || kind < REQUEST_OPEN || kind > REQUEST_LOOK)
        return ERR_FORMAT;
    r->kind = (enum request_kind)kind;
    TRY(read_merges(r, d, in));
    TRY(read_queries(r, w, in));
    r->multiplier = reader_u64(in);
    r->epsilon = reader_double(in);
    r->sigma = reader_double(in);
    count = r->estimates + r->weights; /* a request has one of them */
    if (reader_u64(in) != count || in->failed || in->left < r->estimates + 8 * r->weights)
        return ERR_FORMAT;
    TRY(memory_new(&r->estimate, r->estimates));
    for (size_t k = 0; k < r->estimates; k++)
        r->estimate[k] = reader_small(in);
    TRY(memory_new(&r->weight, r->weights));
    for (size_t k = 0; k < r->weights; k++)
        r->weight[k] = (int64_t)reader_u64(in);
    return reader_done(in);
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
    merges_free(&r->merges);
    memory_free(&r->query);
    memory_free(&r->estimate);
    memory_free(&r->weight);
    *r = (struct request){0};
}

static bool merge_alike(const struct merges *a, const struct merges *b)
{
    return a == NULL || b == NULL ? a == b : merges_equal(a, b);
}

bool request_asks_alike(const struct request *a, const struct request *b)
{
    return a->kind == b->kind && a->queries == b->queries && a->multiplier == b->multiplier &&
           a->weights == b->weights && merge_alike(a->merges, b->merges) &&
           (a->queries == 0 || memcmp(a->query, b->query, a->queries * sizeof *a->query) == 0) &&
           (a->weights == 0 || memcmp(a->weight, b->weight, a->weights * sizeof *a->weight) == 0);
}

size_t request_longest(const struct workload *w)
{
    const size_t factors = 2 * products_codes(w), cells = (size_t)w->cells;
    const size_t merges = 2 + 2 * w->one_ways + 4 * products_codes(w);
    return SMALL_MOST * (cells > factors ? cells : factors) + (size_t)w->queries * 4 + merges +
           4096;
}

void request_digest(const void *p, size_t n, uint8_t digest[REQUEST_DIGEST_SIZE])
{
    /* libcrypto uses the processor's SHA instructions: a request may have tens of MB */
    if (SHA256(p, n, digest) == NULL)
        crypto_hash_sha256(digest, p, n);
}

enum err reply_write(uint8_t kind, enum err status, const char *text, const void *payload, size_t n,
                     struct bytes *out)
{
    size_t length = strnlen(text, sizeof((struct reply *)0)->text - 1);
    bytes_put_u8(out, REPLY_VERSION);
    bytes_put_u8(out, kind);
    bytes_put_u8(out, (uint8_t)status);
    bytes_put_block(out, text, length);
    bytes_put_block(out, payload, n);
    return bytes_ok(out);
}

enum err reply_read(struct reply *r, const struct bytes *message)
{
    struct reader in = reader_of(message->data, message->size);
    uint8_t version = reader_u8(&in), status;
    *r = (struct reply){0};
    if (!in.failed && version != REPLY_VERSION) {
        snprintf(r->text, sizeof r->text,
                 "its answer is of version %u, and this trefoil (%s) reads version %u; install the "
                 "version that the servers run",
                 version, TREFOIL_VERSION, REPLY_VERSION);
        return ERR_MISMATCH;
    }
    r->kind = reader_u8(&in);
    status = reader_u8(&in);
    reader_string(&in, r->text, sizeof r->text);
    r->payload = reader_block(&in, &r->size);
    if (reader_done(&in) != ERR_OK || status >= ERR_COUNT) {
        r->text[0] = '\0';
        r->size = 0;
        return ERR_FORMAT;
    }
    text_tame(r->text);
    r->status = (enum err)status;
    return ERR_OK;
}
