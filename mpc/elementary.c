#include "mpc/elementary.h"

#include "mpc/fixed.h"
#include "mpc/truncate.h"

#define CIRCLE_DEGREE 8
#define LOGARITHM_DEGREE 12
#define LOGARITHM_COEFFICIENT_BITS 32

/* At 52 fraction bits, on w in [0, 1]: cos(pi sqrt(w) / 2) ... */
static const int64_t cosine_of[CIRCLE_DEGREE + 1] = {
    4503599627370496, -5556093337880027, 1142425901258341, -93960764190704, 4139980227188,
    -113499896972,    2121569558,        -28743035,        285156};
/* ... and sin(pi sqrt(w) / 2) / sqrt(w) */
static const int64_t sine_of[CIRCLE_DEGREE + 1] = {
    7074237752028440, -2909163668823849, 358903681866408,
    -21084746179197,  722562859689,      -16207748086,
    256351035,        -3010394,          26450};

/* At 32 fraction bits, on t in [0, 1]. */
static const int64_t logarithm_of[LOGARITHM_DEGREE + 1] = {
    0,         4294967262, -2147481691, 1431611617, -1073217530, 855225047, -698040161,
    555418896, -400037967, 237429866,   -104081716, 29059607,    -3808758};

static enum err circle(struct party *p, struct share128 cosine, struct share128 sine,
                       struct share128 u)
{
    struct share128 w;
    TRY(party_share128(p, &w, u.n));
    TRY(fixed_multiply128(p, w, u, u, ELEMENTARY_ANGLE_BITS));
    TRY(fixed_two_polynomials128(p, cosine, sine, w, ELEMENTARY_ANGLE_BITS, cosine_of, sine_of,
                                 CIRCLE_DEGREE));
    TRY(truncate_signed_ring128(p, cosine, cosine, ELEMENTARY_ANGLE_BITS));
    TRY(truncate_signed_ring128(p, sine, sine, ELEMENTARY_ANGLE_BITS));
    return fixed_multiply128(p, sine, sine, u, ELEMENTARY_ANGLE_BITS);
}

enum err elementary_circle(struct party *p, struct share128 cosine, struct share128 sine,
                           struct share128 u)
{
    const struct scratch_mark mark = scratch_mark(p->scratch);
    return scratch_done(p->scratch, mark, circle(p, cosine, sine, u));
}

enum err elementary_logarithm(struct party *p, struct share64 out, struct share64 t)
{
    TRY(fixed_polynomial64(p, out, t, ELEMENTARY_ARGUMENT_BITS, logarithm_of, LOGARITHM_DEGREE));
    return truncate_signed_ring64(p, out, out,
                                  ELEMENTARY_ARGUMENT_BITS + LOGARITHM_COEFFICIENT_BITS -
                                      ELEMENTARY_LOGARITHM_BITS);
}
