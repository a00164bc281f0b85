#include "base/processor.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PROCESSOR_SETS] = {"portable", "neon", "avx2", "avx512"};

const char *processor_name(enum processor set)
{
    return names[set];
}

#if defined(__x86_64__)
#include <cpuid.h>

bool processor_has_wide_products(void)
{
    return __builtin_cpu_supports("vpclmulqdq");
}

/*
 * Not every clang knows VAES by name. gcc does, and so asks CPUID once, which takes microseconds in
 * a virtual machine. The system saves what AVX2 needs.
 */
bool processor_has_wide_ciphers(void)
{
#ifndef __clang__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vaes");
#else
    const unsigned vaes = 1u << 9;
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (c & vaes) != 0;
#endif
}

static bool runs_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
           __builtin_cpu_supports("pclmul");
}

static bool runs_avx512(void)
{
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni") &&
           processor_has_wide_products();
}

bool processor_runs(enum processor set)
{
    return set == PROCESSOR_PORTABLE || (set == PROCESSOR_AVX2 && runs_avx2()) ||
           (set == PROCESSOR_AVX512 && runs_avx512());
}
#else
#if defined(__aarch64__)
#include <sys/auxv.h>

static bool runs_neon(void)
{
    const unsigned long needed = HWCAP_ASIMD | HWCAP_AES | HWCAP_PMULL;
    return (getauxval(AT_HWCAP) & needed) == needed;
}
#else
static bool runs_neon(void)
{
    return false;
}
#endif

bool processor_has_wide_products(void)
{
    return false;
}

bool processor_has_wide_ciphers(void)
{
    return false;
}

bool processor_runs(enum processor set)
{
    return set == PROCESSOR_PORTABLE || (set == PROCESSOR_NEON && runs_neon());
}
#endif

enum processor processor_best(const char **problem)
{
    const char *forced = getenv("TREFOIL_KERNEL");
    enum processor best = PROCESSOR_PORTABLE;
    const char *sentence = NULL;
    for (enum processor set = PROCESSOR_PORTABLE; set < PROCESSOR_SETS; set++)
        if (processor_runs(set))
            best = set;
    if (forced != NULL && *forced != '\0') {
        enum processor set = PROCESSOR_PORTABLE;
        while (set < PROCESSOR_SETS && strcmp(forced, names[set]) != 0)
            set++;
        if (set < PROCESSOR_SETS && processor_runs(set))
            best = set;
        else
            sentence =
                "TREFOIL_KERNEL names no instruction set that this processor runs (portable, "
                "neon, avx2 or avx512); the fastest that it does run is used";
    }
    if (problem != NULL)
        *problem = sentence;
    return best;
}
