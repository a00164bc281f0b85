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

static enum err polynomial64(struct party *p, struct share64 out, struct share64 x, unsigned f,
                             const int64_t *c, unsigned degree)
{
    struct share64 power;
    TRY(powers64(p, &power, x, f, degree));
    combine64(p, out, power, f, c, degree);
    return ERR_OK;
}

enum err fixed_polynomial64(struct party *p, struct share64 out, struct share64 x, unsigned f,
                            const int64_t *c, unsigned degree)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_done(p->scratch, mark, polynomial64(p, out, x, f, c, degree));
}

static enum err two_polynomials128(struct party *p, struct share128 out, struct share128 out2,
                                   struct share128 x, unsigned f, const int64_t *c,
                                   const int64_t *c2, unsigned degree)
{
    struct share128 power;
    TRY(powers128(p, &power, x, f, degree));
    combine128(p, out, power, f, c, degree);
    combine128(p, out2, power, f, c2, degree);
    return ERR_OK;
}

enum err fixed_two_polynomials128(struct party *p, struct share128 out, struct share128 out2,
                                  struct share128 x, unsigned f, const int64_t *c,
                                  const int64_t *c2, unsigned degree)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_done(p->scratch, mark, two_polynomials128(p, out, out2, x, f, c, c2, degree));
}
