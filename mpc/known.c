#include "mpc/known.h"

/*
 * From server i's place: in part i it is j, in part i+1 it is j+2, in part i+2 it is j+1. All of
 * round 1 goes to the next server, all of round 2 to the previous one.
 */
#define DEFINE(bits, word)                                                                         \
    struct lanes##bits {                                                                           \
        struct part j, j2, j1; /* the parts in which this server is j, j+2, j+1 */                 \
        size_t nj, nj2, nj1;                                                                       \
    };                                                                                             \
    static struct lanes##bits lanes_of##bits(const struct party *p, size_t n)                      \
    {                                                                                              \
        struct lanes##bits l = {.j = party_part(n, p->index),                                      \
                                .j2 = party_part(n, (p->index + 1) % 3),                           \
                                .j1 = party_part(n, (p->index + 2) % 3)};                          \
        l.nj = l.j.end - l.j.begin;                                                                \
        l.nj2 = l.j2.end - l.j2.begin;                                                             \
        l.nj1 = l.j1.end - l.j1.begin;                                                             \
        return l;                                                                                  \
    }                                                                                              \
    /* Shares v, known to j, as (F, v - F, 0); `out` to send, F also where we are j+2. */          \
    static enum err input_part##bits(struct party *p, struct share##bits x, const word *v,         \
                                     const struct lanes##bits *l, word *out)                       \
    {                                                                                              \
        TRY(prg_fill(p->prg[0][PRG_INPUT], x.a + l->j.begin, l->nj * sizeof(word)));               \
        TRY(prg_fill(p->prg[1][PRG_INPUT], x.b + l->j2.begin, l->nj2 * sizeof(word)));             \
        for (size_t k = 0; k < l->nj; k++)                                                         \
            out[k] = x.b[l->j.begin + k] = v[l->j.begin + k] - x.a[l->j.begin + k];                \
        for (size_t k = 0; k < l->nj2; k++)                                                        \
            x.a[l->j2.begin + k] = 0;                                                              \
        for (size_t k = 0; k < l->nj1; k++)                                                        \
            x.b[l->j1.begin + k] = 0;                                                              \
        return ERR_OK;                                                                             \
    }                                                                                              \
    static void receive_part##bits(struct share##bits x, const struct lanes##bits *l,              \
                                   const word *in)                                                 \
    {                                                                                              \
        for (size_t k = 0; k < l->nj1; k++)                                                        \
            x.a[l->j1.begin + k] = in[k];                                                          \
    }                                                                                              \
    static enum err product_rounds##bits(                                                          \
        struct party *p, struct share##bits z, struct share##bits a, const word *one,              \
        const word *two, const word *extra, struct share##bits x, word *out, word *in)             \
    {                                                                                              \
        const struct lanes##bits l = lanes_of##bits(p, z.n);                                       \
        size_t inputs = extra != NULL ? 2 : 1;                                                     \
        word *alpha = out + inputs * l.nj, *g = z.b + l.j2.begin;                                  \
        /* round 1 */                                                                              \
        TRY(input_part##bits(p, a, one, &l, out));                                                 \
        if (extra != NULL)                                                                         \
            TRY(input_part##bits(p, x, extra, &l, out + l.nj));                                    \
        TRY(prg_fill(p->prg[0][PRG_RANDOM], z.a + l.j2.begin, l.nj2 * sizeof(word)));              \
        for (size_t k = 0; k < l.nj2; k++)                                                         \
            alpha[k] = a.b[l.j2.begin + k] * two[l.j2.begin + k] - z.a[l.j2.begin + k];            \
        for (size_t k = 0; k < l.nj2; k++)                                                         \
            g[k] = alpha[k]; /* component j of the product, which j+2 holds too */                 \
        TRY(party_exchange(p, NET_NEXT, out, (inputs * l.nj + l.nj2) * sizeof(word), NET_PREV, in, \
                           (inputs * l.nj1 + l.nj) * sizeof(word)));                               \
        receive_part##bits(a, &l, in);                                                             \
        if (extra != NULL)                                                                         \
            receive_part##bits(x, &l, in + l.nj1);                                                 \
        for (size_t k = 0; k < l.nj; k++)                                                          \
            z.a[l.j.begin + k] = in[inputs * l.nj1 + k];                                           \
        /* round 2: G was drawn by j+2 as its own key's stream; j+1 draws it as the next key's */  \
        TRY(prg_fill(p->prg[1][PRG_RANDOM], z.b + l.j1.begin, l.nj1 * sizeof(word)));              \
        TRY(prg_fill(p->prg[1][PRG_RANDOM], in, l.nj1 * sizeof(word)));                            \
        for (size_t k = 0; k < l.nj1; k++) {                                                       \
            size_t at = l.j1.begin + k;                                                            \
            out[k] = a.a[at] * two[at] - in[k];                                                    \
            z.a[at] = out[k];                                                                      \
            z.b[at] += in[k];                                                                      \
        }                                                                                          \
        TRY(prg_fill(p->prg[0][PRG_RANDOM], in, l.nj2 * sizeof(word)));                            \
        for (size_t k = 0; k < l.nj2; k++)                                                         \
            z.a[l.j2.begin + k] += in[k];                                                          \
        return party_exchange(p, NET_PREV, out, l.nj1 * sizeof(word), NET_NEXT, z.b + l.j.begin,   \
                              l.nj * sizeof(word));                                                \
    }                                                                                              \
    enum err known_product##bits(struct party *p, struct share##bits product,                      \
                                 struct share##bits shared_a, const word *one, const word *two,    \
                                 const word *extra, struct share##bits shared_extra)               \
    {                                                                                              \
        size_t room = product.n + 3; /* up to three parts of a third, rounded up, each way */      \
        struct scratch_mark mark = scratch_mark(p->scratch);                                       \
        word *out = scratch_take(p->scratch, room, sizeof *out);                                   \
        word *in = scratch_take(p->scratch, room, sizeof *in);                                     \
        enum err e = out == NULL || in == NULL                                                     \
                         ? ERR_NOMEM                                                               \
                         : product_rounds##bits(p, product, shared_a, one, two, extra,             \
                                                shared_extra, out, in);                            \
        scratch_release(p->scratch, mark);                                                         \
        return e;                                                                                  \
    }

DEFINE(32, uint32_t)
DEFINE(64, uint64_t)
DEFINE(128, word128)
