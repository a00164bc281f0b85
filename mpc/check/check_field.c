#include "mpc/check/check_field.h"

void check_row_weights(uint64_t weight[KERNEL_ROWS], const uint64_t r[CHECK_DIGITS])
{
    weight[0] = 1;
    for (unsigned v = 0; v < CHECK_DIGITS; v++)
        for (unsigned a = 0; a < 1u << v; a++) {
            weight[a | 1u << v] = kernel_field_product(weight[a], r[v]);
            weight[a] ^= weight[a | 1u << v];
        }
}

/* f(r) = f(0) (1 + r) + f(1) r + f(inf) r (r + 1), a digit at a time from the highest down. */
uint64_t check_value_at(const uint64_t values[KERNEL_POINTS], const uint64_t r[CHECK_DIGITS])
{
    uint64_t f[KERNEL_POINTS / 3];
    unsigned points = KERNEL_POINTS;
    for (unsigned v = CHECK_DIGITS; v-- > 0;) {
        const uint64_t *at = v == CHECK_DIGITS - 1 ? values : f;
        points /= 3;
        for (unsigned k = 0; k < points; k++) {
            const uint64_t f0 = at[k], f1 = at[points + k], inf = at[2 * points + k];
            f[k] = f0 ^ kernel_field_product(r[v], f0 ^ f1 ^ kernel_field_product(inf, r[v] ^ 1));
        }
    }
    return f[0];
}

uint64_t check_sum_of_rows(const uint64_t values[KERNEL_POINTS], const uint64_t weight[KERNEL_ROWS])
{
    uint64_t sum = 0;
    for (unsigned a = 0; a < KERNEL_ROWS; a++)
        sum ^= kernel_field_product(values[kernel_point_of_row(a, CHECK_DIGITS)], weight[a]);
    return sum;
}
