#include "aim/model/sweep.h"

#include <string.h>

#define LANES SWEEP_LANES
#define ROUNDER 0x1.8p52

typedef double vector __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
typedef int64_t whole __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

typedef float narrow __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* vectors never cross a call, since helpers are inlined */
#pragma GCC diagnostic ignored "-Wpsabi"
#define SWEEP_INLINE static inline __attribute__((always_inline))

/* How two numbers are joined. */
enum sweep_join { SWEEP_SET, SWEEP_ADD, SWEEP_MULTIPLY, SWEEP_LARGER };

SWEEP_INLINE double sweep_join_one(enum sweep_join how, double a, double b)
{
    switch (how) {
    case SWEEP_SET:
        return b;
    case SWEEP_ADD:
        return a + b;
    case SWEEP_MULTIPLY:
        return a * b;
    case SWEEP_LARGER:
        break;
    }
    return a > b ? a : b;
}

/* Two innermost runs, of cells and of parts. */
typedef void (*sweep_row)(enum sweep_join how, double *restrict cell, double *restrict part,
                          size_t run, size_t other);

#define SWEEP(name) name##_plain
#define SWEEP_NAME "portable"
#define SWEEP_TARGET
#include "aim/model/sweep_body.inc"

#if defined(__x86_64__)
#define SWEEP(name) name##_avx2
#define SWEEP_NAME "AVX2"
#define SWEEP_TARGET __attribute__((target("avx2")))
#include "aim/model/sweep_body.inc"

#define SWEEP(name) name##_avx512
#define SWEEP_NAME "AVX-512"
#define SWEEP_TARGET __attribute__((target("avx512f,avx512dq")))
#include "aim/model/sweep_body.inc"
#endif

const struct sweep *sweep_plain(void)
{
    return &table_plain;
}

const struct sweep *sweep_avx2(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return &table_avx2;
#endif
    return NULL;
}

const struct sweep *sweep_avx512(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return &table_avx512;
#endif
    return NULL;
}

const struct sweep *sweep_best(void)
{
    const struct sweep *k = sweep_avx512();
    if (k == NULL)
        k = sweep_avx2();
    return k != NULL ? k : sweep_plain();
}
