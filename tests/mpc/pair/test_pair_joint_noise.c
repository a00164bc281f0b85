/*
 * mpc/pair/joint_noise.c: the law of its thresholds against the exact one at 256 bits, the law of
 * what comes out, what either server can make of its own part, and the cost.
 */
#include "harness/cmocka.h"

#include "mpc/pair/joint_noise.h"
#include "mpc/pair/own_noise.h"
#include "mpc/pair/program.h"
#include "tests/support/pair_ends.h"
#include "tests/support/statistics.h"

#include <gmp.h>

#define PRECISION 320
#define H ((int64_t)1 << 17)

/* --- thresholds ------------------------------------------------------------------------------- */

/* exp(-k^2 / 122.88) for |k| <= 128: the powers of e^(-1 / 122.88), from its series. */
static void weights(mpf_t weight[129])
{
    mpf_t e, term, x;
    mpf_inits(e, term, x, NULL);
    mpf_set_ui(x, 100);
    mpf_div_ui(x, x, 12288);
    mpf_neg(x, x);
    mpf_set_ui(e, 1);
    mpf_set_ui(term, 1);
    for (unsigned long k = 1; k < 80; k++) {
        mpf_mul(term, term, x);
        mpf_div_ui(term, term, k);
        mpf_add(e, e, term);
    }
    for (unsigned long k = 0; k <= 128; k++) {
        mpf_init(weight[k]);
        mpf_pow_ui(weight[k], e, k * k);
    }
    mpf_clears(e, term, x, NULL);
}

static void add_weights(mpf_t sum, mpf_t weight[129], int from, int to)
{
    mpf_set_ui(sum, 0);
    for (int z = from; z < to; z++)
        mpf_add(sum, sum, weight[abs(z - 128)]);
}

TEST(thresholds_are_rounded_to_nearest)
{
    mpf_t weight[129], part, all;
    mpf_set_default_prec(PRECISION);
    weights(weight);
    mpf_inits(part, all, NULL);
    for (int node = 1; node < 256; node++) {
        const int level = 31 - __builtin_clz((unsigned)node), span = 256 >> level,
                  from = (node - (1 << level)) * span;
        add_weights(part, weight, from + span / 2, from + span);
        add_weights(all, weight, from, from + span);
        mpf_mul_2exp(part, part, 64);
        mpf_div(part, part, all);
        mpf_set_d(all, 0.5);
        mpf_add(part, part, all);
        mpf_floor(part, part);
        assert_int_equal(mpf_cmp_ui(part, joint_threshold[node]), 0);
    }
    for (int k = 0; k <= 128; k++)
        mpf_clear(weight[k]);
    mpf_clears(part, all, NULL);
}

/* P(z + 128 = v) as the circuit makes it */
static void law(mpf_t p, unsigned v)
{
    mpf_t factor;
    mpf_init(factor);
    mpf_set_ui(p, 1);
    for (unsigned node = 1, k = 8; k-- > 0; node = 2 * node + (v >> k & 1)) {
        mpf_set_ui(factor, joint_threshold[node]);
        mpf_div_2exp(factor, factor, 64);
        if ((v >> k & 1) == 0)
            mpf_ui_sub(factor, 1, factor);
        mpf_mul(p, p, factor);
    }
    mpf_clear(factor);
}

/* Half the sum of |p - exact|, and what is cut off; the ratio within 6 and within 8 deviations. */
TEST(z_is_off_by_no_more_than_is_charged)
{
    mpf_t weight[129], all, p, w, off;
    double ratio[2] = {0};
    mpf_set_default_prec(PRECISION);
    weights(weight);
    mpf_inits(all, p, w, off, NULL);
    add_weights(all, weight, 0, 256);
    for (unsigned v = 0; v < 256; v++) {
        const double z = fabs((double)v - 128) / sqrt(61.44);
        law(p, v);
        mpf_div(w, weight[v < 128 ? 128 - v : v - 128], all);
        mpf_sub(p, p, w);
        mpf_abs(p, p);
        mpf_add(off, off, p);
        mpf_div(p, p, w);
        for (unsigned k = 0; k < 2; k++)
            if (z <= 6 + 2 * k)
                ratio[k] = fmax(ratio[k], mpf_get_d(p));
    }
    assert_true(mpf_get_d(off) / 2 + 0x1p-190 < JOINT_TAU);
    assert_true(mpf_get_d(off) / 2 > JOINT_TAU / 4);
    assert_true(ratio[0] < 0x1p-50 && ratio[1] < 0x1p-50);
    for (int k = 0; k <= 128; k++)
        mpf_clear(weight[k]);
    mpf_clears(all, p, w, off, NULL);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void make(struct pair *end[2], uint64_t *out[2], size_t n)
{
    struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
    for (int i = 0; i < 2; i++) {
        struct random own CLEAN(random_wipe);
        random_fresh(&own);
        own_gauss(&own, &own_sigma_fifth, out[i], n);
        OK(pair_joint_new(&run[i], end[i], &(struct pair_joint){n, out[i]}));
    }
    OK(pair_ends_matrix(run, 1 << 18));
    OK(pair_ends_tables(run, 1 << 18));
}

#define SAMPLES ((size_t)1 << 13)

TEST(samples_have_the_deviation_of_all_three_parts)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    uint64_t *out[2] = {memory_array(SAMPLES, 8), memory_array(SAMPLES, 8)};
    double *x = memory_array(SAMPLES, sizeof *x);
    struct statistics_verdict v = {.p = 1};
    uint64_t seen[2] = {0};
    OK(pair_ends_new(end));
    assert_true(out[0] != NULL && out[1] != NULL && x != NULL);
    make(end, out, SAMPLES);
    for (size_t i = 0; i < SAMPLES; i++) {
        x[i] = (double)(int64_t)(out[0][i] + out[1][i]) * 0x1p-20 / sqrt(1.04);
        seen[0] |= out[0][i];
        seen[1] |= out[1][i];
    }
    statistics_shape(&v, &statistics_gaussian, x, SAMPLES);
    statistics_pairs(&v, &statistics_gaussian, x, SAMPLES);
    assert_true(v.p >= 1e-9); /* seeds are fresh */
    assert_true(seen[0] == UINT64_MAX && seen[1] == UINT64_MAX);
    memory_free_all(&x, &out[0], &out[1]);
}

/* --- what each end enters --------------------------------------------------------------------- */

#define SHARED ((size_t)200) /* a portion and a part of one */
#define LANES ((size_t)128)
#define COINS ((size_t)8 * 64)

static const struct pair_program *joint;
static uint64_t entered[2][2][(COINS + 47) * LANES / 64]; /* by an end, in the first portions */

static enum err spy(void *self, size_t portion, enum pair_end end, uint64_t *bits)
{
    TRY(joint->enter(self, portion, end, bits));
    if (portion < 2)
        memcpy(entered[end][portion], bits, (joint->size(self, portion).bits[end] + 63) / 64 * 8);
    return ERR_OK;
}

__typeof__(program_run) __real_program_run, __wrap_program_run;
enum err __wrap_program_run(struct pair_run **run, struct pair *pair,
                            const struct pair_program *program, void *self, size_t portions)
{
    static struct pair_program spied;
    joint = program;
    spied = *program;
    spied.enter = spy;
    return __real_program_run(run, pair, &spied, self, portions);
}

static unsigned bit_of(enum pair_end end, size_t bit, size_t i)
{
    const size_t portion = i / LANES, lanes = portion == 0 ? LANES : SHARED - LANES,
                 at = bit * lanes + i % LANES;
    return entered[end][portion][at / 64] >> (at % 64) & 1;
}

/* z + 128 of the coins of both: neither end's alone say anything of it. */
static unsigned sample_of(size_t i)
{
    unsigned node = 1;
    for (unsigned k = 0; k < 8; k++) {
        uint64_t coin = 0;
        for (unsigned b = 0; b < 64; b++)
            coin |= (uint64_t)(bit_of(0, 64 * k + b, i) ^ bit_of(1, 64 * k + b, i)) << b;
        node = 2 * node + (coin < joint_threshold[node]);
    }
    return node - 256;
}

static void are_fresh(enum pair_end end, size_t bits)
{
    for (size_t b = 0; b < bits; b++) {
        size_t ones = 0;
        for (size_t i = 0; i < SHARED; i++)
            ones += bit_of(end, b, i);
        assert_in_range(ones, SHARED / 4, 3 * SHARED / 4); /* 7 deviations */
    }
}

/*
 * The own part is what the server gave, so the rest is a multiple of h: of z + 128 + r at the
 * keeper, which says nothing of z, as r covers all 47 bits; and z is of the coins of both.
 */
TEST(what_is_shared_is_a_multiple_of_h)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    const size_t n = SHARED;
    uint64_t out[2][SHARED], own[2][SHARED];
    struct pair_run *run[2] CLEAN(pair_runs_free) = {NULL};
    double count[256] = {0}, square = 0;
    OK(pair_ends_new(end));
    for (int i = 0; i < 2; i++) {
        struct random r = random_of(7 + (uint64_t)i);
        own_gauss(&r, &own_sigma_fifth, own[i], n);
        memcpy(out[i], own[i], sizeof own[i]);
        OK(pair_joint_new(&run[i], end[i], &(struct pair_joint){n, out[i]}));
    }
    assert_int_equal(pair_run_matrix(run[0]), 16 * 512 * n);
    assert_int_equal(pair_run_tables(run[0]), 2 * 32 + 32 * 684 * n + 47 * n / 8);
    OK(pair_ends_matrix(run, 1 << 18));
    OK(pair_ends_tables(run, 1 << 18));
    for (size_t i = 0; i < n; i++) {
        const int64_t z = (int64_t)(out[0][i] - own[0][i] + out[1][i] - own[1][i]);
        assert_int_equal((out[0][i] - own[0][i]) % (uint64_t)H, 0);
        assert_int_equal((out[1][i] - own[1][i]) % (uint64_t)H, 0);
        assert_int_equal(z / H + 128, sample_of(i));
        count[z / H + 128]++;
        square += (double)(z / H) * (double)(z / H);
    }
    assert_true(fabs(square / (double)n / 61.44 - 1) < 7 * sqrt(2 / (double)n));
    assert_true(count[128] < 40); /* of some ten */
    are_fresh(PAIR_KEEPER, COINS);
    are_fresh(PAIR_PROVIDER, COINS + 47);
}

TEST(no_samples_are_refused)
{
    struct pair *end[2] CLEAN(pair_ends_free);
    struct pair_run *run = NULL;
    OK(pair_ends_new(end));
    assert_int_equal(pair_joint_new(&run, end[0], &(struct pair_joint){0}), ERR_RANGE);
}
