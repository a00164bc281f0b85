/*
 * mpc/pair/joint_noise.h - Gaussians that neither of two servers knows: h z + z_P + z_K, h = 2^17.
 *
 * z_P and z_K are own_gauss() of sigma^2 = 2^40 / 25, of one server each, which draws them before.
 * z, on -128 .. 127 with
 * weights exp(-z^2 / 122.88), is made in a circuit. The bits of z + 128, from the top: each is 1 if
 * 64 random bits, the XOR of both servers', are below 2^64 times its probability given the bits
 * before it. Which prefix came is known to the circuit as one wire for each, 1 for that one, so the
 * bits of its threshold are XORs of those wires.
 *   K -> P   matrix   the keeper's 512 random bits a sample
 *   P -> K   tables   638 ANDs a sample for z, 46 for z + 128 + r modulo 2^47, r of the provider
 * WHO HOLDS WHAT: the provider z_P - h (128 + r), the keeper z_K + h (z + 128 + r).
 * COST: 30,086 bytes a sample, and 32 for every 128. Between the messages either end holds 8 KiB a
 * sample, so many are made in batches.
 * LEAKS: nothing. What the keeper gets is uniform, because r is; z's random bits are uniform to
 * either server, because the other's are.
 *
 * Less its own part, each server sees noise h z + z' of parameter 2^20 (docs/proofs.md, "Proof:
 * circuits of two servers"). In total variation a z is off by less than JOINT_TAU, for rounded
 * thresholds and what is cut off.
 */
#pragma once

#include "mpc/pair/garbled.h"

#define JOINT_TAU 0x1p-63
#define JOINT_BATCH ((size_t)8192) /* 64 MiB between the messages */

struct pair_joint {
    size_t n;
    uint64_t *out; /* this end's n own parts; its words once the tables have passed */
};

/* `out` is borrowed until the run is freed. ERR_RANGE: n is 0. */
enum err pair_joint_new(struct pair_run **run, struct pair *pair,
                        const struct pair_joint *joint) MUST_CHECK;

/*
 * round(2^64 P(the next bit is 1 | the bits before)) at [2^k + prefix] for a prefix of k bits.
 */
extern const uint64_t joint_threshold[256];
