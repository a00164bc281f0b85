#include "mpc/ring.h"

#include "base/memory.h"
#include "base/secret.h"

#include <string.h>

/* Narrow words are multiplied as 64-bit ones: as ints they could overflow. */
#define WIDE(word) (__typeof__(_Generic((word)0, word128 : (word128)0, default : (uint64_t)0)))

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
            out.a[i] = (word)(x.a[i] + y.a[i]);                                                    \
            out.b[i] = (word)(x.b[i] + y.b[i]);                                                    \
        }                                                                                          \
    }                                                                                              \
    void ring##bits##_sub(struct share##bits out, struct share##bits x, struct share##bits y)      \
    {                                                                                              \
        for (size_t i = 0; i < out.n; i++) {                                                       \
            out.a[i] = (word)(x.a[i] - y.a[i]);                                                    \
            out.b[i] = (word)(x.b[i] - y.b[i]);                                                    \
        }                                                                                          \
    }                                                                                              \
    void ring##bits##_scale(struct share##bits out, struct share##bits x, word c)                  \
    {                                                                                              \
        for (size_t i = 0; i < out.n; i++) {                                                       \
            out.a[i] = (word)(WIDE(word) x.a[i] * c);                                              \
            out.b[i] = (word)(WIDE(word) x.b[i] * c);                                              \
        }                                                                                          \
    }                                                                                              \
    void ring##bits##_add_scaled(struct share##bits out, struct share##bits x, word c)             \
    {                                                                                              \
        for (size_t i = 0; i < out.n; i++) {                                                       \
            out.a[i] = (word)(out.a[i] + WIDE(word) x.a[i] * c);                                   \
            out.b[i] = (word)(out.b[i] + WIDE(word) x.b[i] * c);                                   \
        }                                                                                          \
    }                                                                                              \
    void ring##bits##_add_public(const struct party *p, struct share##bits x, word c)              \
    {                                                                                              \
        word *component_0 = p->index == 0 ? x.a : p->index == 2 ? x.b : NULL;                      \
        for (size_t i = 0; component_0 != NULL && i < x.n; i++)                                    \
            component_0[i] = (word)(component_0[i] + c);                                           \
    }                                                                                              \
    /* A multiplication's stream: words of out, x and y at the same position. */                   \
    struct product##bits {                                                                         \
        struct party *p;                                                                           \
        struct share##bits out, x, y;                                                              \
    };                                                                                             \
    static enum err make##bits(void *self, size_t offset, uint8_t *out, size_t n)                  \
    {                                                                                              \
        struct product##bits *s = self;                                                            \
        word f[STEP / sizeof(word)];                                                               \
        TRY(prg_fill(s->p->prg[0][PRG_ZERO], out, n));                                             \
        for (size_t at = 0; at < n; at += STEP) {                                                  \
            size_t bytes = n - at < STEP ? n - at : STEP, i = (offset + at) / sizeof(word);        \
            TRY(prg_fill(s->p->prg[1][PRG_ZERO], f, bytes));                                       \
            multiply(bits, s->p)((word *)(void *)(out + at), f, s->x.a + i, s->x.b + i,            \
                                 s->y.a + i, s->y.b + i, bytes / sizeof(word));                    \
        }                                                                                          \
        return ERR_OK;                                                                             \
    }                                                                                              \
    static void keep##bits(void *self, size_t offset, const uint8_t *z, size_t n)                  \
    {                                                                                              \
        struct product##bits *s = self;                                                            \
        memcpy((uint8_t *)s->out.a + offset, z, n);                                                \
    }                                                                                              \
    static void take##bits(void *self, size_t offset, const uint8_t *in, size_t n)                 \
    {                                                                                              \
        struct product##bits *s = self;                                                            \
        memcpy((uint8_t *)s->out.b + offset, in, n);                                               \
    }                                                                                              \
    static bool meet##bits(const word *x, const word *y, size_t n)                                 \
    {                                                                                              \
        uintptr_t a = (uintptr_t)x, b = (uintptr_t)y;                                              \
        return a < b + n * sizeof(word) && b < a + n * sizeof(word);                               \
    }                                                                                              \
    static bool apart##bits(struct share##bits out, struct share##bits x)                          \
    {                                                                                              \
        return !meet##bits(out.a, x.a, out.n) && !meet##bits(out.a, x.b, out.n) &&                 \
               !meet##bits(out.b, x.a, out.n) && !meet##bits(out.b, x.b, out.n);                   \
    }                                                                                              \
    enum err ring##bits##_multiply(struct party *p, struct share##bits out, struct share##bits x,  \
                                   struct share##bits y)                                           \
    {                                                                                              \
        struct product##bits s = {p, out, x, y};                                                   \
        const struct party_reshare r = {                                                           \
            .p = p,                                                                                \
            .bytes = out.n * sizeof(word),                                                         \
            .apart = apart##bits(out, x) && apart##bits(out, y),                                   \
            .make = make##bits,                                                                    \
            .keep = keep##bits,                                                                    \
            .take = take##bits,                                                                    \
            .self = &s,                                                                            \
        };                                                                                         \
        return party_reshare(&r);                                                                  \
    }                                                                                              \
    /* Sends masked sums z_i to the previous server; they become component a, what arrives b. */   \
    static enum err reshare##bits(struct party *p, struct share##bits out, word *z)                \
    {                                                                                              \
        size_t bytes = out.n * sizeof(word);                                                       \
        TRY(party_exchange(p, NET_PREV, z, bytes, NET_NEXT, out.b, bytes));                        \
        memcpy(out.a, z, bytes);                                                                   \
        return ERR_OK;                                                                             \
    }                                                                                              \
    enum err ring##bits##_inner(struct party *p, struct share##bits out, struct share##bits x,     \
                                struct share##bits y, const size_t *start)                         \
    {                                                                                              \
        struct scratch_mark mark = scratch_mark(p->scratch);                                       \
        word *z = scratch_take(p->scratch, out.n, sizeof *z);                                      \
        enum err e = z == NULL ? ERR_NOMEM : party_zero##bits(p, z, out.n);                        \
        for (size_t s = 0; e == ERR_OK && s < out.n; s++) {                                        \
            size_t k = start[s];                                                                   \
            z[s] = (word)(z[s] +                                                                   \
                          inner(bits, p)(x.a + k, x.b + k, y.a + k, y.b + k, start[s + 1] - k));   \
        }                                                                                          \
        if (e == ERR_OK)                                                                           \
            e = reshare##bits(p, out, z);                                                          \
        scratch_release(p->scratch, mark);                                                         \
        return e;                                                                                  \
    }

#define STEP ((size_t)8 << 10) /* bytes of masks drawn at a time */

/* In Z_2^128 there is nothing to gain from vectors. */
static void multiply128(word128 *z, const word128 *f, const word128 *xa, const word128 *xb,
                        const word128 *ya, const word128 *yb, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        word128 mask; /* z may stand at any address */
        memcpy(&mask, (const char *)z + i * sizeof mask, sizeof mask);
        mask += xa[i] * (ya[i] + yb[i]) + xb[i] * ya[i] - f[i];
        memcpy((char *)z + i * sizeof mask, &mask, sizeof mask);
    }
}

static word128 inner128(const word128 *xa, const word128 *xb, const word128 *ya, const word128 *yb,
                        size_t n)
{
    word128 sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += xa[i] * (ya[i] + yb[i]) + xb[i] * ya[i];
    return sum;
}

#define multiply(bits, p) MULTIPLY_##bits(p)
#define MULTIPLY_16(p) (p)->kernel->multiply16
#define MULTIPLY_32(p) (p)->kernel->multiply32
#define MULTIPLY_64(p) (p)->kernel->multiply64
#define MULTIPLY_128(p) multiply128
#define inner(bits, p) INNER_##bits(p)
#define INNER_16(p) (p)->kernel->inner16
#define INNER_32(p) (p)->kernel->inner32
#define INNER_64(p) (p)->kernel->inner64
#define INNER_128(p) inner128

DEFINE(16, uint16_t)
DEFINE(32, uint32_t)
DEFINE(64, uint64_t)
DEFINE(128, word128)

#define DEFINE_MATRIX(bits)                                                                        \
    /* z += x_i (y_i + y_(i+1)) + x_(i+1) y_i */                                                   \
    static enum err matrix_part##bits(struct party *p, uint##bits##_t *z, struct share##bits x,    \
                                      struct share##bits y, size_t m, size_t k, size_t n)          \
    {                                                                                              \
        struct scratch_mark mark = scratch_mark(p->scratch);                                       \
        uint##bits##_t *sum = scratch_take(p->scratch, k * n, sizeof *sum);                        \
        if (sum != NULL) {                                                                         \
            for (size_t i = 0; i < k * n; i++)                                                     \
                sum[i] = (uint##bits##_t)(y.a[i] + y.b[i]);                                        \
            p->kernel->matrix##bits(z, x.a, sum, m, k, n);                                         \
            p->kernel->matrix##bits(z, x.b, y.a, m, k, n);                                         \
        }                                                                                          \
        scratch_release(p->scratch, mark);                                                         \
        return sum != NULL ? ERR_OK : ERR_NOMEM;                                                   \
    }                                                                                              \
    enum err ring##bits##_matrix(struct party *p, struct share##bits out, struct share##bits x,    \
                                 struct share##bits y, size_t m, size_t k, size_t n)               \
    {                                                                                              \
        struct scratch_mark mark = scratch_mark(p->scratch);                                       \
        uint##bits##_t *z = scratch_take(p->scratch, m * n, sizeof *z);                            \
        enum err e = z == NULL ? ERR_NOMEM : party_zero##bits(p, z, m * n);                        \
        if (e == ERR_OK)                                                                           \
            e = matrix_part##bits(p, z, x, y, m, k, n);                                            \
        if (e == ERR_OK)                                                                           \
            e = reshare##bits(p, (struct share##bits){out.a, out.b, m * n}, z);                    \
        scratch_release(p->scratch, mark);                                                         \
        return e;                                                                                  \
    }

DEFINE_MATRIX(16)
DEFINE_MATRIX(32)

enum err ring16_matrix_part(struct party *p, uint16_t *z, struct share16 x, struct share16 y,
                            size_t m, size_t k, size_t n)
{
    return matrix_part16(p, z, x, y, m, k, n);
}

enum err ring16_settle(struct party *p, struct share16 x)
{
    struct scratch_mark mark = scratch_mark(p->scratch);
    uint16_t *z = scratch_take(p->scratch, x.n, sizeof *z);
    enum err e = z == NULL ? ERR_NOMEM : party_zero16(p, z, x.n);
    for (size_t i = 0; e == ERR_OK && i < x.n; i++)
        z[i] = (uint16_t)(z[i] + x.a[i]);
    if (e == ERR_OK)
        e = reshare16(p, x, z);
    scratch_release(p->scratch, mark);
    return e;
}

#define DEFINE_FROM(to, from)                                                                      \
    void ring##to##_from##from(struct share##to out, struct share##from x)                         \
    {                                                                                              \
        for (size_t i = 0; i < out.n; i++) {                                                       \
            out.a[i] = (uint##to##_t)x.a[i];                                                       \
            out.b[i] = (uint##to##_t)x.b[i];                                                       \
        }                                                                                          \
    }

DEFINE_FROM(64, 128)
DEFINE_FROM(32, 64)
DEFINE_FROM(16, 32)

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
