/*
 * mpc/kernel/prime.h against division; and the check of numbers in small, where every error meets
 * every coin: no more of them accept than docs/proofs.md says.
 */
#include "harness/cmocka.h"

#include "harness/three.h"
#include "mpc/kernel/prime.h"

TEST(primes_are_told_apart)
{
    /* pseudoprimes to many bases, Carmichael numbers, the ends of the range */
    static const uint64_t composite[] = {0,
                                         1,
                                         561,
                                         1729,
                                         2047,
                                         3215031751,
                                         3825123056546413051,
                                         341550071728321,
                                         (uint64_t)1 << 58,
                                         ((uint64_t)1 << 59) - 1,
                                         1000000007u * (uint64_t)1000000009u};
    static const uint64_t prime[] = {2,
                                     37,
                                     41,
                                     65537,
                                     ((uint64_t)1 << 61) - 1,
                                     ((uint64_t)1 << 58) + 69,
                                     ((uint64_t)1 << 59) - 55};
    for (unsigned k = 0; k < sizeof composite / sizeof *composite; k++)
        assert_false(prime_is(composite[k]));
    for (unsigned k = 0; k < sizeof prime / sizeof *prime; k++)
        assert_true(prime_is(prime[k]));
    for (uint64_t n = 2; n < 3000; n++) {
        bool any = false;
        for (uint64_t d = 2; d * d <= n; d++)
            any = any || n % d == 0;
        assert_int_equal(prime_is(n), !any);
    }
}

TEST(arithmetic_is_right_at_its_ends)
{
    static const uint64_t primes[] = {((uint64_t)1 << 58) + 69, ((uint64_t)1 << 59) - 55,
                                      441829501840385027};
    uint64_t seed = 8;
    for (unsigned k = 0; k < 3; k++) {
        struct prime f;
        const uint64_t p = primes[k];
        prime_prepare(&f, p);
        for (unsigned i = 0; i < 20000; i++) {
            const uint64_t ends[] = {0, 1, p - 1, UINT64_MAX, three_random(&seed)};
            const uint64_t x = ends[i % 5], y = ends[i / 5 % 5], w = y % p;
            const word128 xy = (word128)x << 64 | y;
            assert_int_equal(prime_short(&f, x), x % p);
            assert_int_equal(prime_wide(&f, xy), (uint64_t)(xy % p));
            assert_true(prime_scaled(&f, x, w, prime_over(&f, w)) < 4 * p);
            assert_int_equal(prime_below(&f, prime_scaled(&f, x, w, prime_over(&f, w))),
                             (uint64_t)((word128)(x % p) * w % p));
            assert_int_equal(prime_less(&f, x % p, w), (x % p + p - w) % p);
            assert_int_equal(prime_add(&f, x % p, w), (x % p + w) % p);
        }
    }
}

/* --- in small: every error, every coin -------------------------------------------------------- */

/* Errors of three relations modulo 8, weighed by two coefficients of one bit each. */
TEST(one_in_four_weights_of_two_bits_accepts_at_most)
{
    for (unsigned v = 1; v < 512; v++) {
        unsigned accepted = 0;
        for (unsigned theta = 0; theta < 64; theta++) {
            unsigned sum[2] = {0, 0};
            for (unsigned q = 0; q < 3; q++)
                for (unsigned t = 0; t < 2; t++)
                    sum[t] += (theta >> (2 * q + t) & 1) * (v >> 3 * q & 7);
            accepted += sum[0] % 8 == 0 && sum[1] % 8 == 0;
        }
        assert_in_range(accepted, 1, 64 / 4);
    }
}

/*
 * Modulo 5, one digit: whatever is added to the sums at 0, 1 and infinity, and to those of the
 * masks, a claim that is off by 1 is accepted for at most 2 of 5 points, and for 2 of 4 zeta of the
 * others; some errors reach that.
 */
TEST(best_errors_of_a_small_fold_are_within_the_bound)
{
    unsigned best = 0;
    for (unsigned k = 0; k < 3125; k++) {
        const unsigned e1 = k % 5, inf = k / 5 % 5, cross = k / 25 % 5, other = k / 125 % 5;
        const unsigned square = k / 625, e0 = (1 + 4 * e1) % 5; /* rows have to add up to 1 */
        unsigned accepted = 0;
        for (unsigned r = 0; r < 5; r++)
            for (unsigned zeta = 1; zeta < 5; zeta++) {
                const unsigned folded = e0 * (6 - r) + e1 * r + inf * r * (r + 4);
                const unsigned masks = cross * (6 - r) + other * r;
                accepted += (folded + zeta * masks + zeta * zeta * square) % 5 == 0;
            }
        best = accepted > best ? accepted : best;
    }
    assert_in_range(best, 1, 2 * 4 + 3 * 2);
}
