#include "mpc/circuits/truncate.h"

#include "mpc/circuits/bits.h"
#include "mpc/circuits/carry.h"
#include "mpc/kernel/width.h"
#include "mpc/move/note.h"

#define FROM 16
#define TO 32
#define HALF 16
#define NARROW uint16_t
#define WIDE uint32_t
#include "mpc/circuits/truncate_body.inc"

#define FROM 32
#define TO 64
#define HALF 32
#define NARROW uint32_t
#define WIDE uint64_t
#include "mpc/circuits/truncate_body.inc"

#define FROM 64
#define TO 128
#define HALF 64
#define NARROW uint64_t
#define WIDE word128
#include "mpc/circuits/truncate_body.inc"

#define FROM 64
#define TO 64
#define HALF 32
#define NARROW uint64_t
#define WIDE uint64_t
#include "mpc/circuits/truncate_body.inc"

#define FROM 128
#define TO 128
#define HALF 64
#define NARROW word128
#define WIDE word128
#include "mpc/circuits/truncate_body.inc"

enum err truncate_signed_ring64(struct party *p, struct share64 out, struct share64 v,
                                unsigned shift)
{
    return truncate64_64(p, out, v, shift, (uint64_t)1 << 62, 0);
}

enum err truncate_signed_ring128(struct party *p, struct share128 out, struct share128 v,
                                 unsigned shift)
{
    return truncate128_128(p, out, v, shift, (word128)1 << 126, 0);
}

enum err truncate_widen16(struct party *p, struct share32 out, struct share16 v)
{
    return truncate16_32(p, out, v, 0, 0, 0);
}

enum err truncate_half32(struct party *p, struct share64 out, struct share32 v)
{
    return truncate32_64(p, out, v, 1, 0, 1);
}

enum err truncate_widen64(struct party *p, struct share128 out, struct share64 v)
{
    return truncate64_128(p, out, v, 0, 0, 0);
}
