#include "mpc/truncate.h"

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
    static enum err truncate##bits(struct party *p, struct share##bits out, struct share##bits v,  \
                                   unsigned shift)                                                 \
    {                                                                                              \
        struct share##bits product, top;                                                           \
        word *one = scratch_take(p->scratch, v.n, sizeof *one);                                    \
        word *two = scratch_take(p->scratch, v.n, sizeof *two);                                    \
        word *rest = scratch_take(p->scratch, v.n, sizeof *rest);                                  \
        TRY(party_share##bits(p, &product, v.n));                                                  \
        TRY(party_share##bits(p, &top, v.n));                                                      \
        if (one == NULL || two == NULL || rest == NULL)                                            \
            return ERR_NOMEM;                                                                      \
        return rounds##bits(p, out, v, shift, product, top, one, two, rest);                       \
    }                                                                                              \
    enum err truncate_ring##bits(struct party *p, struct share##bits out, struct share##bits v,    \
                                 unsigned shift)                                                   \
    {                                                                                              \
        struct scratch_mark mark = scratch_mark(p->scratch);                                       \
        enum err e = truncate##bits(p, out, v, shift);                                             \
        scratch_release(p->scratch, mark);                                                         \
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

/*
 * The same with the narrow ring's u and t as numbers of the wide one: v = u + t - 2^k w. `rest` is
 * u - 2^k u_top or t - 2^k t_top.
 */
#define DEFINE_WIDEN(narrow, narrow_word, wide, word)                                              \
    static word whole##narrow(narrow_word v, word *top)                                            \
    {                                                                                              \
        *top = v >> (narrow - 1);                                                                  \
        return (word)v - (*top << narrow);                                                         \
    }                                                                                              \
    static enum err widen##narrow(struct party *p, struct share##wide out, struct share##narrow v) \
    {                                                                                              \
        const struct part j = party_part(v.n, p->index), j2 = party_part(v.n, (p->index + 1) % 3), \
                          j1 = party_part(v.n, (p->index + 2) % 3);                                \
        struct share##wide product, top;                                                           \
        word *one = scratch_take(p->scratch, v.n, sizeof *one);                                    \
        word *two = scratch_take(p->scratch, v.n, sizeof *two);                                    \
        word *rest = scratch_take(p->scratch, v.n, sizeof *rest);                                  \
        TRY(party_share##wide(p, &product, v.n));                                                  \
        TRY(party_share##wide(p, &top, v.n));                                                      \
        if (one == NULL || two == NULL || rest == NULL)                                            \
            return ERR_NOMEM;                                                                      \
        for (size_t i = j.begin; i < j.end; i++)                                                   \
            rest[i] = whole##narrow((narrow_word)(v.a[i] + v.b[i]), &one[i]);                      \
        for (size_t i = j2.begin; i < j2.end; i++)                                                 \
            rest[i] = whole##narrow(v.a[i], &two[i]);                                              \
        for (size_t i = j1.begin; i < j1.end; i++)                                                 \
            rest[i] = whole##narrow(v.b[i], &two[i]);                                              \
        TRY(known_product##wide(p, product, top, one, two, rest, out));                            \
        for (size_t i = j2.begin; i < j2.end; i++)                                                 \
            out.a[i] += rest[i];                                                                   \
        for (size_t i = j1.begin; i < j1.end; i++)                                                 \
            out.b[i] += rest[i];                                                                   \
        ring##wide##_add_scaled(out, product, (word)1 << narrow);                                  \
        return ERR_OK;                                                                             \
    }                                                                                              \
    enum err truncate_widen##narrow(struct party *p, struct share##wide out,                       \
                                    struct share##narrow v)                                        \
    {                                                                                              \
        struct scratch_mark mark = scratch_mark(p->scratch);                                       \
        enum err e = widen##narrow(p, out, v);                                                     \
        scratch_release(p->scratch, mark);                                                         \
        return e;                                                                                  \
    }

DEFINE_WIDEN(16, uint16_t, 32, uint32_t)
DEFINE_WIDEN(32, uint32_t, 64, uint64_t)
