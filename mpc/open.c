#include "mpc/open.h"

#include "base/memory.h"

static enum err record(struct party *p, enum open_reason reason, size_t values)
{
    if (p->audit != NULL)
        TRY(p->audit(p->audit_self, reason, values));
    p->opened[reason].calls++;
    p->opened[reason].values += values;
    return ERR_OK;
}

/* out is the component that this server lacks, for the caller to combine with its own two */
static enum err third_component(struct party *p, const uint64_t *a, uint64_t *out, size_t words)
{
    size_t bytes = words * sizeof *a;
    return party_exchange(p, NET_NEXT, a, bytes, NET_PREV, out, bytes);
}

enum err open_ring64(struct party *p, enum open_reason reason, struct share64 x, uint64_t *out)
{
    TRY(record(p, reason, x.n));
    TRY(third_component(p, x.a, out, x.n));
    for (size_t i = 0; i < x.n; i++)
        out[i] += x.a[i] + x.b[i];
    return ERR_OK;
}

enum err open_bits(struct party *p, enum open_reason reason, struct bits x, uint64_t *out)
{
    size_t words = bits_words(x.n);
    TRY(record(p, reason, x.n));
    TRY(third_component(p, x.a, out, words));
    for (size_t i = 0; i < words; i++)
        out[i] ^= x.a[i] ^ x.b[i];
    if (x.n % 64 != 0)
        out[words - 1] &= ((uint64_t)1 << (x.n % 64)) - 1;
    return ERR_OK;
}

enum err open_summands(struct party *p, enum open_reason reason, const uint64_t *z, size_t n,
                       uint64_t *out)
{
    size_t bytes = n * sizeof *z;
    uint64_t *other = memory_words(n, sizeof *other);
    enum err e = other == NULL ? ERR_NOMEM : record(p, reason, n);
    if (e == ERR_OK) {
        struct net_round r = {
            .send = {z, z},
            .send_size = {bytes, bytes},
            .receive = {out, other},
            .receive_size = {bytes, bytes},
        };
        e = net_exchange(p->net, &r);
    }
    for (size_t i = 0; e == ERR_OK && i < n; i++)
        out[i] ^= other[i] ^ z[i];
    memory_free(&other);
    return e;
}
