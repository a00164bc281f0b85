#include "mpc/kernel/kernel.h"

#if defined(__x86_64__)

#define TARGET __attribute__((target("avx2,fma,bmi2,popcnt,pclmul")))

#include "mpc/kernel/kernel_avx2.inc"

const struct kernel kernel_avx2 = KERNEL_TABLE("avx2");

#endif
