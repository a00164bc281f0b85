#include "mpc/kernel/kernel.h"

#include "base/processor.h"

#include <string.h>

static const struct kernel *table(enum processor set)
{
#if defined(__x86_64__)
    if (set == PROCESSOR_AVX512)
        return &kernel_avx512;
    if (set == PROCESSOR_AVX2)
        return processor_has_wide_products() ? &kernel_avx2_wide : &kernel_avx2;
#elif defined(__aarch64__)
    if (set == PROCESSOR_NEON)
        return &kernel_neon;
#endif
    (void)set;
    return &kernel_portable;
}

const struct kernel *kernel_by_name(const char *name)
{
    for (enum processor set = PROCESSOR_PORTABLE; set < PROCESSOR_SETS; set++)
        if (processor_runs(set) && strcmp(name, processor_name(set)) == 0)
            return table(set);
    return NULL;
}

const struct kernel *kernel_best(const char **problem)
{
    return table(processor_best(problem));
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

/* Writes the bits of a group's words to `width` planes, and uses up the words. */
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
