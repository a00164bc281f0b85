#include "mpc/kernel.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
static bool runs_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("pclmul");
}

static bool runs_wide_products(void)
{
    return __builtin_cpu_supports("vpclmulqdq");
}

static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni") &&
           runs_wide_products();
}
#endif

const struct kernel *kernel_by_name(const char *name)
{
#if defined(__x86_64__)
    if (strcmp(name, "avx512") == 0)
        return runs_avx512() ? &kernel_avx512 : NULL;
    if (strcmp(name, "avx2") == 0)
        return !runs_avx2() ? NULL : runs_wide_products() ? &kernel_avx2_wide : &kernel_avx2;
#endif
    return strcmp(name, "portable") == 0 ? &kernel_portable : NULL;
}

const struct kernel *kernel_best(const char **problem)
{
    static const char *const names[] = {"avx512", "avx2", "portable"};
    const char *forced = getenv("TREFOIL_KERNEL");
    if (problem != NULL)
        *problem = NULL;
    if (forced != NULL && *forced != '\0') {
        const struct kernel *k = kernel_by_name(forced);
        if (k != NULL)
            return k;
        if (problem != NULL)
            *problem =
                "TREFOIL_KERNEL names no instruction set that this processor runs (portable, "
                "avx2 or avx512); the fastest that it does run is used";
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct kernel *k = kernel_by_name(names[i]);
        if (k != NULL)
            return k;
    }
    return &kernel_portable;
}

const char *kernel_name(void)
{
    return kernel_best(NULL)->name;
}

/* 1 / X, both, 1 / (X + 1) */
const uint64_t kernel_side[3] = {0x800000000000000d, 0x7ffffffffffffffb, 0xfffffffffffffff6};

/* --- slices: 8 matrices at a time, so that each plane is written by whole cache lines --------- */

#define GROUP 8

/* Planes `from` to `to` of a group of matrices: rows of the transposed, `stride` words apart. */
static void store_group(const uint64_t *m, size_t matrices, unsigned planes, uint64_t *out,
                        size_t stride)
{
    for (unsigned k = 0; k < planes; k++)
        for (size_t g = 0; g < matrices; g++)
            out[k * stride + g] = m[64 * g + k];
}

static void load_group(uint64_t *m, size_t matrices, unsigned planes, const uint64_t *in,
                       size_t stride)
{
    memset(m, 0, GROUP * 64 * sizeof *m);
    for (unsigned k = 0; k < planes; k++)
        for (size_t g = 0; g < matrices; g++)
            m[64 * g + k] = in[k * stride + g];
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The bits of a group's words, which it uses up, to `width` planes. */
static void slice_group(const struct kernel *k, uint64_t *m, size_t lanes, size_t width,
                        uint64_t *planes, size_t stride)
{
    k->transpose(m, bits_words(lanes));
    store_group(m, bits_words(lanes), (unsigned)least(width, 64), planes, stride);
}

void kernel_slice64(const struct kernel *k, const uint64_t *values, size_t n, unsigned width,
                    uint64_t *planes, size_t stride)
{
    for (size_t from = 0; from < n; from += 64 * GROUP) {
        uint64_t m[GROUP * 64];
        const size_t lanes = least(n - from, 64 * GROUP);
        if (lanes < 64 * GROUP)
            memset(m, 0, sizeof m);
        memcpy(m, values + from, lanes * sizeof *m);
        slice_group(k, m, lanes, width, planes + from / 64, stride);
    }
}

void kernel_slice128(const struct kernel *k, const word128 *values, size_t n, unsigned width,
                     uint64_t *planes, size_t stride)
{
    for (size_t from = 0; from < n; from += 64 * GROUP)
        for (unsigned half = 0; half < width; half += 64) {
            uint64_t m[GROUP * 64];
            const size_t lanes = least(n - from, 64 * GROUP);
            if (lanes < 64 * GROUP)
                memset(m, 0, sizeof m);
            for (size_t i = 0; i < lanes; i++)
                m[i] = (uint64_t)(values[from + i] >> half);
            slice_group(k, m, lanes, width - half, planes + half * stride + from / 64, stride);
        }
}

void kernel_unslice64(const struct kernel *k, const uint64_t *planes, size_t stride, size_t n,
                      unsigned width, uint64_t *values)
{
    uint64_t m[GROUP * 64];
    for (size_t from = 0; from < n; from += 64 * GROUP) {
        size_t lanes = least(n - from, 64 * GROUP), matrices = bits_words(lanes);
        load_group(m, matrices, width, planes + from / 64, stride);
        k->transpose(m, matrices);
        memcpy(values + from, m, lanes * sizeof *values);
    }
}

void kernel_unslice128(const struct kernel *k, const uint64_t *planes, size_t stride, size_t n,
                       unsigned width, word128 *values)
{
    uint64_t low[GROUP * 64], high[GROUP * 64];
    for (size_t from = 0; from < n; from += 64 * GROUP) {
        size_t lanes = least(n - from, 64 * GROUP), matrices = bits_words(lanes);
        load_group(low, matrices, width < 64 ? width : 64, planes + from / 64, stride);
        load_group(high, matrices, width > 64 ? width - 64 : 0, planes + 64 * stride + from / 64,
                   stride);
        k->transpose(low, matrices);
        if (width > 64)
            k->transpose(high, matrices);
        for (size_t i = 0; i < lanes; i++)
            values[from + i] = (word128)high[i] << 64 | low[i];
    }
}
