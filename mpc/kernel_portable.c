/*
 * The baseline: vectors of 16 bytes, which every x86-64 has and any other compiler target lowers.
 */
#define TARGET
#define VECTOR 16
#define MATRIX_ROWS 3
#define MATRIX_COLUMNS 4

#include "mpc/kernel_body.inc"

/* Halves change places: j = 32 swaps the off-diagonal 32 x 32 blocks, then 16 within each, .. */
static void transpose(uint64_t *m, size_t count)
{
    for (; count > 0; count--, m += 64) {
        uint64_t mask = 0x00000000ffffffff;
        for (unsigned j = 32; j != 0; j >>= 1, mask ^= mask << j)
            for (unsigned k = 0; k < 64; k = ((k | j) + 1) & ~j) {
                uint64_t t = ((m[k] >> j) ^ m[k | j]) & mask;
                m[k] ^= t << j;
                m[k | j] ^= t;
            }
    }
}

uint64_t kernel_field_product(uint64_t x, uint64_t y)
{
    uint64_t z = 0;
    for (unsigned i = 0; i < 64; i++) {
        z ^= x & (0 - (y & 1));
        y >>= 1;
        x = (x << 1) ^ (0x1b & (0 - (x >> 63)));
    }
    return z;
}

static void field(uint64_t *z, const uint64_t *x, const uint64_t *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        WORD_PUT(z, i) ^= kernel_field_product(WORD_AT(x, i), WORD_AT(y, i));
}

/* --- the check: products are reduced at once -------------------------------------------------- */

static inline vector64 even(vector64 x, vector64 y)
{
    return (vector64){kernel_field_product(x[0], y[0]), 0};
}

static inline vector64 odd(vector64 x, vector64 y)
{
    return (vector64){kernel_field_product(x[1], y[1]), 0};
}

/* x y of both columns at a time, in two steps of a loop of 64. */
static inline vector64 field_times(vector64 x, vector64 y)
{
    vector64 z = {0};
    for (unsigned i = 0; i < 64; i++) {
        z ^= x & (0 - (y & 1));
        y >>= 1;
        x = (x << 1) ^ (0x1b & (0 - (x >> 63)));
    }
    return z;
}

static inline vector64 add_products(vector64 sum, vector64 x, vector64 y)
{
    const vector64 z = field_times(x, y);
    return sum ^ (vector64) { z[0] ^ z[1], 0 };
}

static void bits_rows(uint64_t *out, const uint64_t *x, size_t vectors, const uint64_t *weight)
{
    for (; vectors > 0; vectors--, x += KERNEL_GROUP, out += KERNEL_GROUP) {
        uint64_t row[KERNEL_GROUP];
        memcpy(row, x, sizeof row);
        for (size_t at = 0; at < KERNEL_GROUP; at += LANES) {
            const unsigned b = (unsigned)(at / KERNEL_COLUMNS);
            const size_t column = at % KERNEL_COLUMNS;
            vector64 sum = {0};
            for (unsigned a = 0; a < KERNEL_ROWS; a++)
                sum ^= (0 - (AT(row, a * (size_t)KERNEL_COLUMNS + column) >> b & 1)) & weight[a];
            PUT(out, at) = sum;
        }
    }
}

#include "mpc/kernel_check.inc"

const struct kernel kernel_portable = KERNEL_TABLE("portable");
