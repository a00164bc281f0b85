#include "mpc/kernel/kernel.h"

#if defined(__x86_64__)

#define TARGET __attribute__((target("avx2,fma,bmi2,popcnt,pclmul,vpclmulqdq")))
#define WIDE

#include "mpc/kernel/kernel_avx2.inc"

const struct kernel kernel_avx2_wide = KERNEL_TABLE("avx2");

#endif
