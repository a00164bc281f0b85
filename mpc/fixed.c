#include "mpc/fixed.h"

#include "mpc/ring.h"
#include "mpc/truncate.h"
#include "mpc/width.h"

#define WIDTH 64
#define WORD uint64_t
#include "mpc/fixed_body.inc"

#define WIDTH 128
#define WORD word128
#include "mpc/fixed_body.inc"

static bool is_degree(unsigned degree)
{
    return degree > 0 && degree <= FIXED_DEGREE_MAX;
}

enum err fixed_polynomial64(struct party *p, struct share64 out, struct share64 x, unsigned f,
                            const int64_t *c, unsigned degree)
{
    struct scratch_mark mark = scratch_mark(p->scratch);
    struct share64 power, top;
    enum err e = is_degree(degree) ? party_share64(p, &power, degree * x.n) : ERR_RANGE;
    if (e == ERR_OK)
        e = party_share64(p, &top, degree * x.n);
    if (e == ERR_OK)
        e = powers64(p, power, top, x, f, degree);
    if (e == ERR_OK)
        combine64(p, out, power, f, c, degree);
    scratch_release(p->scratch, mark);
    return e;
}

enum err fixed_two_polynomials128(struct party *p, struct share128 out, struct share128 out2,
                                  struct share128 x, unsigned f, const int64_t *c,
                                  const int64_t *c2, unsigned degree)
{
    struct scratch_mark mark = scratch_mark(p->scratch);
    struct share128 power, top;
    enum err e = is_degree(degree) ? party_share128(p, &power, degree * x.n) : ERR_RANGE;
    if (e == ERR_OK)
        e = party_share128(p, &top, degree * x.n);
    if (e == ERR_OK)
        e = powers128(p, power, top, x, f, degree);
    if (e == ERR_OK) {
        combine128(p, out, power, f, c, degree);
        combine128(p, out2, power, f, c2, degree);
    }
    scratch_release(p->scratch, mark);
    return e;
}
