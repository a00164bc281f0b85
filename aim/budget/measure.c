#include "aim/budget/score.h"

#include <gmp.h>
#include <math.h>

/* floor(2^20 / sigma), from `least` on */
static enum err multiplier_for(double sigma, uint64_t least, uint64_t *multiplier, struct log *log)
{
    const unsigned most = (1u << AIM_GAUSS_BITS) / (unsigned)least;
    mpq_t q, s;
    mpz_t whole;
    *multiplier = 0;
    if (!isfinite(sigma) || sigma < 0x1p-10 || sigma > 2. * most)
        return log_fail(log, ERR_RANGE, "a noise of sigma %g is outside 1/1024 .. %u; %s", sigma,
                        most,
                        sigma < 1 ? "the budget is far larger than any study needs, lower epsilon"
                                  : "raise epsilon, or measure less");
    mpz_init(whole);
    mpq_inits(q, s, (mpq_ptr)NULL);
    mpq_set_ui(q, 1u << AIM_GAUSS_BITS, 1);
    mpq_set_d(s, sigma);
    mpq_div(q, q, s);
    mpz_fdiv_q(whole, mpq_numref(q), mpq_denref(q));
    *multiplier = mpz_get_ui(whole); /* 2^30 at most */
    mpq_clears(q, s, (mpq_ptr)NULL);
    mpz_clear(whole);
    if (*multiplier < least)
        return log_fail(log, ERR_RANGE,
                        "a noise of sigma %g is above %u; raise epsilon, or measure less", sigma,
                        most);
    return ERR_OK;
}

enum err measure_multiplier(double sigma, uint64_t *multiplier, struct log *log)
{
    return multiplier_for(sigma, SCORE_MULTIPLIER_MIN, multiplier, log);
}

enum err scores_multiplier(double sigma, uint64_t *multiplier)
{
    return multiplier_for(sigma, SCORES_MULTIPLIER_MIN, multiplier, NULL);
}

double measure_spread(enum noise_by by)
{
    switch (by) {
    case NOISE_BY_ALL:
    case NOISE_BY_OWNER:
        return 1;
    case NOISE_BY_BOTH:
        return M_SQRT2;
    case NOISE_BY_JOINT:
        return 1.0198039027185569; /* sqrt(1.04) */
    }
    return 1;
}

double measure_sigma(uint64_t multiplier, enum noise_by by)
{
    return measure_spread(by) * (1 << AIM_GAUSS_BITS) / (double)multiplier;
}
