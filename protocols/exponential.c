#include "protocols/exponential.h"

#include "protocols/coin.h"

#include <math.h>

const uint64_t exponential_coin[EXPONENTIAL_COINS] = {
    0x7fffffffffffffff, 0x7ffffffffffffffe, 0x7ffffffffffffffc, 0x7ffffffffffffff8,
    0x7ffffffffffffff0, 0x7fffffffffffffe0, 0x7fffffffffffffc0, 0x7fffffffffffff80,
    0x7fffffffffffff00, 0x7ffffffffffffe00, 0x7ffffffffffffc00, 0x7ffffffffffff800,
    0x7ffffffffffff000, 0x7fffffffffffe000, 0x7fffffffffffc000, 0x7fffffffffff8000,
    0x7fffffffffff0000, 0x7ffffffffffe0000, 0x7ffffffffffc0000, 0x7ffffffffff80000,
    0x7ffffffffff00000, 0x7fffffffffe00000, 0x7fffffffffc00000, 0x7fffffffff800000,
    0x7fffffffff000000, 0x7ffffffffe000000, 0x7ffffffffc000000, 0x7ffffffff8000000,
    0x7ffffffff0000000, 0x7fffffffe0000000, 0x7fffffffc0000000, 0x7fffffff80000000,
    0x7fffffff00000000, 0x7ffffffe00000000, 0x7ffffffc00000000, 0x7ffffff800000000,
    0x7ffffff000000000, 0x7fffffe000000000, 0x7fffffc000000000, 0x7fffff8000000000,
    0x7fffff0000000000, 0x7ffffe0000000000, 0x7ffffc0000000000, 0x7ffff80000000003,
    0x7ffff00000000015, 0x7fffe000000000ab, 0x7fffc00000000555, 0x7fff800000002aab,
    0x7fff000000015555, 0x7ffe0000000aaaab, 0x7ffc000000555555, 0x7ff8000002aaaaaa,
    0x7ff0000015555533, 0x7fe00000aaaaa666, 0x7fc000055554cccd, 0x7f80002aaa9999a1,
    0x7f000155533336a7, 0x7e000aaa66682077, 0x7c00554ccda9c43b, 0x7802a99a07f3ca3f,
    0x7015336a1da3e582, 0x60a6815965e37a0f, 0x44d9585152ea1936, 0x1e84152bac31aeaa,
    0x049abe8790f0b0b3, 0x0015fa3dd7d2f7a6, 0x000001e355b81e5c, 0x000000000003908d,
};

enum err exponential_sample(struct party *p, struct planes *out)
{
    const unsigned fair_digits = EXPONENTIAL_DIGITS - EXPONENTIAL_COINS;
    struct planes fair = planes_view(out, 0, fair_digits);
    struct planes biased = planes_view(out, fair_digits, EXPONENTIAL_COINS);
    struct bits all_fair = planes_flat(&fair);
    if (out->width != EXPONENTIAL_DIGITS)
        return ERR_RANGE;
    TRY(coin_flip(p, &biased, exponential_coin));
    return party_random_bits(p, &all_fair);
}

double exponential_tau(void)
{
    const double lowest_coin = ldexp(1, EXPONENTIAL_TOP + 1 - EXPONENTIAL_COINS);
    return EXPONENTIAL_COINS * COIN_TAU + lowest_coin / 4 + exponential_tail();
}

double exponential_tail(void)
{
    return exp(-ldexp(1, EXPONENTIAL_TOP + 1));
}

double exponential_ratio(int top)
{
    const int lowest = EXPONENTIAL_TOP + 1 - EXPONENTIAL_COINS;
    /*
     * a fair digit of weight w is off by less than 0.51 w, and ideal variables may be above the
     * digits
     */
    double sum = ldexp(1, lowest) + 2 * exponential_tail();
    for (int i = lowest; i <= EXPONENTIAL_TOP; i++) {
        const double p = 1 / (1 + exp(ldexp(1, i)));
        sum -= log1p(-COIN_TAU / (i <= top ? p : 1 - p));
    }
    return sum * (1 + 0x1p-20);
}
