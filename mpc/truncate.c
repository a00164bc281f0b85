#include "mpc/truncate.h"

#include "base/memory.h"
#include "mpc/known.h"
#include "mpc/ring.h"

#define DEFINE(bits, word)                                                                         \
    /* the part of the result that follows from u or t alone, and its top bit */                   \
    static word shifted##bits(word v, unsigned shift, word *top)                                   \
    {                                                                                              \
        *top = v >> (bits - 1);                                                                    \
        return (v >> shift) - (*top << (bits - shift));                                            \
    }                                                                                              \
    static enum err rounds##bits(struct party *p, struct share##bits out, struct share##bits v,    \
                                 unsigned shift, struct share##bits product,                       \
                                 struct share##bits top, word *one, word *two, word *rest)         \
    {                                                                                              \
        const struct part j = party_part(v.n, p->index), j2 = party_part(v.n, (p->index + 1) % 3), \
                          j1 = party_part(v.n, (p->index + 2) % 3);                                \
        for (size_t i = j.begin; i < j.end; i++)                                                   \
            rest[i] = shifted##bits((word)(v.a[i] + v.b[i]), shift, &one[i]);                      \
        for (size_t i = j2.begin; i < j2.end; i++)                                                 \
            rest[i] = shifted##bits(v.a[i], shift, &two[i]);                                       \
        for (size_t i = j1.begin; i < j1.end; i++)                                                 \
            rest[i] = shifted##bits(v.b[i], shift, &two[i]);                                       \
        TRY(known_product##bits(p, product, top, one, two, rest, out));                            \
        for (size_t i = j2.begin; i < j2.end; i++)                                                 \
            out.a[i] += rest[i];                                                                   \
        for (size_t i = j1.begin; i < j1.end; i++)                                                 \
            out.b[i] += rest[i];                                                                   \
        ring##bits##_add_scaled(out, product, (word)1 << (bits - shift));                          \
        ring##bits##_add_public(p, out, 1);                                                        \
        return ERR_OK;                                                                             \
    }                                                                                              \
    enum err truncate_ring##bits(struct party *p, struct share##bits out, struct share##bits v,    \
                                 unsigned shift)                                                   \
    {                                                                                              \
        struct share##bits product = {0}, top = {0};                                               \
        size_t bytes = v.n * sizeof(word);                                                         \
        word *one = memory_words(v.n, sizeof *one), *two = memory_words(v.n, sizeof *two);         \
        word *rest = memory_words(v.n, sizeof *rest);                                              \
        enum err e = one == NULL || two == NULL || rest == NULL                                    \
                         ? ERR_NOMEM                                                               \
                         : share##bits##_new(&product, v.n);                                       \
        if (e == ERR_OK)                                                                           \
            e = share##bits##_new(&top, v.n);                                                      \
        if (e == ERR_OK)                                                                           \
            e = rounds##bits(p, out, v, shift, product, top, one, two, rest);                      \
        share##bits##_free(&product);                                                              \
        share##bits##_free(&top);                                                                  \
        memory_wipe_free(&one, bytes);                                                             \
        memory_wipe_free(&two, bytes);                                                             \
        memory_wipe_free(&rest, bytes);                                                            \
        return e;                                                                                  \
    }                                                                                              \
    enum err truncate_signed_ring##bits(struct party *p, struct share##bits out,                   \
                                        struct share##bits v, unsigned shift)                      \
    {                                                                                              \
        const word offset = (word)1 << (bits - 2);                                                 \
        if (out.a != v.a)                                                                          \
            ring##bits##_copy(out, v);                                                             \
        ring##bits##_add_public(p, out, offset);                                                   \
        TRY(truncate_ring##bits(p, out, out, shift));                                              \
        ring##bits##_add_public(p, out, (word)0 - (offset >> shift));                              \
        return ERR_OK;                                                                             \
    }

DEFINE(64, uint64_t)
DEFINE(128, word128)
