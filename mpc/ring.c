#include "mpc/ring.h"

#include "base/memory.h"

#define DEFINE(bits, word)                                                                         \
    void ring##bits##_copy(struct share##bits out, struct share##bits x)                           \
    {                                                                                              \
        for (size_t i = 0; i < out.n; i++) {                                                       \
            out.a[i] = x.a[i];                                                                     \
            out.b[i] = x.b[i];                                                                     \
        }                                                                                          \
    }                                                                                              \
    void ring##bits##_add(struct share##bits out, struct share##bits x, struct share##bits y)      \
    {                                                                                              \
        for (size_t i = 0; i < out.n; i++) {                                                       \
            out.a[i] = x.a[i] + y.a[i];                                                            \
            out.b[i] = x.b[i] + y.b[i];                                                            \
        }                                                                                          \
    }                                                                                              \
    void ring##bits##_sub(struct share##bits out, struct share##bits x, struct share##bits y)      \
    {                                                                                              \
        for (size_t i = 0; i < out.n; i++) {                                                       \
            out.a[i] = x.a[i] - y.a[i];                                                            \
            out.b[i] = x.b[i] - y.b[i];                                                            \
        }                                                                                          \
    }                                                                                              \
    void ring##bits##_scale(struct share##bits out, struct share##bits x, word c)                  \
    {                                                                                              \
        for (size_t i = 0; i < out.n; i++) {                                                       \
            out.a[i] = x.a[i] * c;                                                                 \
            out.b[i] = x.b[i] * c;                                                                 \
        }                                                                                          \
    }                                                                                              \
    void ring##bits##_add_scaled(struct share##bits out, struct share##bits x, word c)             \
    {                                                                                              \
        for (size_t i = 0; i < out.n; i++) {                                                       \
            out.a[i] += x.a[i] * c;                                                                \
            out.b[i] += x.b[i] * c;                                                                \
        }                                                                                          \
    }                                                                                              \
    void ring##bits##_add_public(const struct party *p, struct share##bits x, word c)              \
    {                                                                                              \
        word *component_0 = p->index == 0 ? x.a : p->index == 2 ? x.b : NULL;                      \
        for (size_t i = 0; component_0 != NULL && i < x.n; i++)                                    \
            component_0[i] += c;                                                                   \
    }                                                                                              \
    /* Sends masked sums z_i to the previous server; they become component a, what arrives b. */   \
    static enum err reshare##bits(struct party *p, struct share##bits out, word *z)                \
    {                                                                                              \
        size_t bytes = out.n * sizeof(word);                                                       \
        TRY(party_exchange(p, NET_PREV, z, bytes, NET_NEXT, out.b, bytes));                        \
        for (size_t i = 0; i < out.n; i++)                                                         \
            out.a[i] = z[i];                                                                       \
        return ERR_OK;                                                                             \
    }                                                                                              \
    static word product##bits(struct share##bits x, struct share##bits y, size_t k)                \
    {                                                                                              \
        return (word)(x.a[k] * (y.a[k] + y.b[k]) + x.b[k] * y.a[k]);                               \
    }                                                                                              \
    enum err ring##bits##_multiply(struct party *p, struct share##bits out, struct share##bits x,  \
                                   struct share##bits y)                                           \
    {                                                                                              \
        word *z = memory_words(out.n, sizeof *z);                                                  \
        enum err e = z == NULL ? ERR_NOMEM : party_zero##bits(p, z, out.n);                        \
        if (e == ERR_OK) {                                                                         \
            for (size_t k = 0; k < out.n; k++)                                                     \
                z[k] += product##bits(x, y, k);                                                    \
            e = reshare##bits(p, out, z);                                                          \
        }                                                                                          \
        memory_wipe_free(&z, out.n * sizeof(word));                                                \
        return e;                                                                                  \
    }                                                                                              \
    enum err ring##bits##_inner(struct party *p, struct share##bits out, struct share##bits x,     \
                                struct share##bits y, const size_t *start)                         \
    {                                                                                              \
        word *z = memory_words(out.n, sizeof *z);                                                  \
        enum err e = z == NULL ? ERR_NOMEM : party_zero##bits(p, z, out.n);                        \
        if (e == ERR_OK) {                                                                         \
            for (size_t s = 0; s < out.n; s++)                                                     \
                for (size_t k = start[s]; k < start[s + 1]; k++)                                   \
                    z[s] += product##bits(x, y, k);                                                \
            e = reshare##bits(p, out, z);                                                          \
        }                                                                                          \
        memory_wipe_free(&z, out.n * sizeof(word));                                                \
        return e;                                                                                  \
    }

DEFINE(64, uint64_t)
DEFINE(128, word128)

void ring64_from128(struct share64 out, struct share128 x)
{
    for (size_t i = 0; i < out.n; i++) {
        out.a[i] = (uint64_t)x.a[i];
        out.b[i] = (uint64_t)x.b[i];
    }
}

void ring64_sum(struct share64 out, struct share64 x, const size_t *start)
{
    for (size_t s = 0; s < out.n; s++) {
        uint64_t a = 0, b = 0;
        for (size_t k = start[s]; k < start[s + 1]; k++) {
            a += x.a[k];
            b += x.b[k];
        }
        out.a[s] = a;
        out.b[s] = b;
    }
}

void ring64_sum_public(struct share64 out, struct share64 x, const uint64_t *c, const size_t *start)
{
    for (size_t s = 0; s < out.n; s++) {
        uint64_t a = 0, b = 0;
        for (size_t k = start[s]; k < start[s + 1]; k++) {
            a += x.a[k] * c[k];
            b += x.b[k] * c[k];
        }
        out.a[s] = a;
        out.b[s] = b;
    }
}

enum err ring64_input(struct party *p, struct share64 out, unsigned owner, const uint64_t *v)
{
    size_t bytes = out.n * sizeof *out.a;
    for (size_t i = 0; i < out.n; i++)
        out.a[i] = out.b[i] = 0;
    if (p->index == owner) { /* components owner, owner+1 */
        TRY(prg_fill(p->prg[0][PRG_INPUT], out.a, bytes));
        for (size_t i = 0; i < out.n; i++)
            out.b[i] = v[i] - out.a[i];
        return party_exchange(p, NET_NEXT, out.b, bytes, NET_PREV, NULL, 0);
    }
    if (p->index == (owner + 1) % 3) /* components owner+1, owner+2 */
        return party_exchange(p, NET_NEXT, NULL, 0, NET_PREV, out.a, bytes);
    TRY(prg_fill(p->prg[1][PRG_INPUT], out.b, bytes)); /* components owner+2, owner */
    return party_exchange(p, NET_NEXT, NULL, 0, NET_PREV, NULL, 0);
}
