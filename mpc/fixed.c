#include "mpc/fixed.h"

#include "mpc/ring.h"
#include "mpc/truncate.h"

#define DEFINE(width, word)                                                                        \
    enum err fixed_multiply##width(struct party *p, struct share##width out,                       \
                                   struct share##width x, struct share##width y, unsigned f)       \
    {                                                                                              \
        TRY(ring##width##_multiply(p, out, x, y));                                                 \
        return truncate_signed_ring##width(p, out, out, f);                                        \
    }                                                                                              \
    /* power k of lane i stands at (k-1) n + i; the first n lanes hold x */                        \
    static enum err powers##width(struct party *p, struct share##width power, size_t n,            \
                                  unsigned f, unsigned degree, struct share##width top)            \
    {                                                                                              \
        for (unsigned m = 1; m < degree; m *= 2) {                                                 \
            unsigned count = degree - m < m ? degree - m : m;                                      \
            for (unsigned j = 0; j < count; j++)                                                   \
                ring##width##_copy(share##width##_view(top, j *n, n),                              \
                                   share##width##_view(power, (m - 1) * n, n));                    \
            TRY(fixed_multiply##width(p, share##width##_view(power, m *n, count *n),               \
                                      share##width##_view(power, 0, count *n),                     \
                                      share##width##_view(top, 0, count *n), f));                  \
        }                                                                                          \
        return ERR_OK;                                                                             \
    }                                                                                              \
    static void combine##width(const struct party *p, struct share##width out,                     \
                               struct share##width power, unsigned f, const int64_t *c,            \
                               unsigned degree)                                                    \
    {                                                                                              \
        for (size_t i = 0; i < out.n; i++)                                                         \
            out.a[i] = out.b[i] = 0;                                                               \
        for (unsigned k = 1; k <= degree; k++)                                                     \
            ring##width##_add_scaled(out, share##width##_view(power, (k - 1) * out.n, out.n),      \
                                     (word)c[k]);                                                  \
        ring##width##_add_public(p, out, (word)c[0] << f);                                         \
    }                                                                                              \
    static enum err polynomials##width(                                                            \
        struct party *p, struct share##width out, struct share##width *out2,                       \
        struct share##width x, unsigned f, const int64_t *c, const int64_t *c2, unsigned degree)   \
    {                                                                                              \
        struct share##width power = {0}, top = {0};                                                \
        enum err e = degree == 0 || degree > FIXED_DEGREE_MAX                                      \
                         ? ERR_RANGE                                                               \
                         : share##width##_new(&power, degree * x.n);                               \
        if (e == ERR_OK)                                                                           \
            e = share##width##_new(&top, degree * x.n);                                            \
        if (e == ERR_OK) {                                                                         \
            ring##width##_copy(share##width##_view(power, 0, x.n), x);                             \
            e = powers##width(p, power, x.n, f, degree, top);                                      \
        }                                                                                          \
        if (e == ERR_OK)                                                                           \
            combine##width(p, out, power, f, c, degree);                                           \
        if (e == ERR_OK && out2 != NULL)                                                           \
            combine##width(p, *out2, power, f, c2, degree);                                        \
        share##width##_free(&power);                                                               \
        share##width##_free(&top);                                                                 \
        return e;                                                                                  \
    }                                                                                              \
    enum err fixed_polynomial##width(struct party *p, struct share##width out,                     \
                                     struct share##width x, unsigned f, const int64_t *c,          \
                                     unsigned degree)                                              \
    {                                                                                              \
        return polynomials##width(p, out, NULL, x, f, c, NULL, degree);                            \
    }

DEFINE(64, uint64_t)
DEFINE(128, word128)

enum err fixed_two_polynomials128(struct party *p, struct share128 out, struct share128 out2,
                                  struct share128 x, unsigned f, const int64_t *c,
                                  const int64_t *c2, unsigned degree)
{
    return polynomials128(p, out, &out2, x, f, c, c2, degree);
}
