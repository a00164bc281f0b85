#include "bench/flaim/shamir.h"

#include "base/secret.h"

#include <string.h>

/* In GF(2^8) = GF(2)[x] / (x^8 + x^4 + x^3 + x + 1), without tables or branches on data. */
static uint8_t times(uint8_t a, uint8_t b)
{
    unsigned sum = 0, shifted = a;
    for (unsigned i = 0; i < 8; i++) {
        sum ^= shifted & (0u - ((unsigned)b >> i & 1));
        shifted = (shifted << 1) ^ (0x11bu & (0u - (shifted >> 7 & 1)));
    }
    return (uint8_t)sum;
}

static uint8_t inverse(uint8_t a)
{
    uint8_t result = 1; /* a^254 */
    for (unsigned i = 0; i < 7; i++) {
        a = times(a, a);
        result = times(result, a);
    }
    return result;
}

void shamir_split(const uint8_t secret[SHAMIR_BYTES], unsigned threshold, size_t shares,
                  uint8_t (*share)[SHAMIR_BYTES])
{
    uint8_t coefficient[256][SHAMIR_BYTES]; /* of x^0, the secret, to x^(threshold-1) */
    memcpy(coefficient[0], secret, SHAMIR_BYTES);
    secret_random(coefficient[1], (threshold - 1) * sizeof coefficient[1]);
    for (size_t i = 0; i < shares; i++)
        for (unsigned byte = 0; byte < SHAMIR_BYTES; byte++) {
            uint8_t value = 0;
            for (unsigned k = threshold; k-- > 0;)
                value = times(value, (uint8_t)(i + 1)) ^ coefficient[k][byte];
            share[i][byte] = value;
        }
    secret_wipe(coefficient, sizeof coefficient);
}

void shamir_join(const uint8_t *x, const uint8_t (*share)[SHAMIR_BYTES], unsigned threshold,
                 uint8_t secret[SHAMIR_BYTES])
{
    memset(secret, 0, SHAMIR_BYTES);
    for (unsigned i = 0; i < threshold; i++) {
        uint8_t factor = 1; /* product of x_j / (x_j - x_i): Lagrange at 0 */
        for (unsigned j = 0; j < threshold; j++)
            if (j != i)
                factor = times(factor, times(x[j], inverse(x[j] ^ x[i])));
        for (unsigned byte = 0; byte < SHAMIR_BYTES; byte++)
            secret[byte] ^= times(factor, share[i][byte]);
    }
}
