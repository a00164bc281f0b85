/*
 * The baseline: vectors of 16 bytes, which every x86-64 and every arm64 has and any other compiler
 * target lowers.
 */
#define TARGET
#include "mpc/kernel/kernel_sixteen.inc"

uint64_t kernel_field_product(uint64_t x, uint64_t y)
{
    return field_times((vector64){x, 0}, (vector64){y, 0})[0];
}

const struct kernel kernel_portable = KERNEL_TABLE("portable");
