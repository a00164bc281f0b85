#include "mpc/kernel/kernel.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#ifdef __clang__
#define TARGET __attribute__((target("aes")))
#else
#define TARGET __attribute__((target("+crypto")))
#endif
#define EVEN(x, y) (vector64) vmull_p64((poly64_t)(x)[0], (poly64_t)(y)[0])
#define ODD(x, y) (vector64) vmull_high_p64((poly64x2_t)(x), (poly64x2_t)(y))
#define MULTIPLY_ADD(z, x, y)                                                                      \
    ((real)vfmaq_f64((float64x2_t)(z), (float64x2_t)(x), (float64x2_t)(y)))

#include "mpc/kernel/kernel_sixteen.inc"

const struct kernel kernel_neon = KERNEL_TABLE("neon");

#endif
