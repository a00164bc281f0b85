/*
 * tests/support/all.h - every protocol of mpc/ once, and some of protocols/, on the same secrets:
 * for tests of what the servers receive and of what their control flow depends on.
 */
#pragma once

#include "harness/three.h"

#define ALL_BITS 12 /* of the secrets' planes */

struct all_secrets {
    size_t n;
    struct share64 x, y, out;
    struct share128 wide;
    struct share32 x32, out32;
    struct share16 x16, y16, out16;
    struct planes bits, more; /* x and y modulo 2^ALL_BITS */
    uint64_t *values;
};

void secrets_free(struct all_secrets *s);

/* Shares of values[] and their complements; a protocol with a bound takes the low ALL_BITS bits. */
enum err secrets_new(const struct party *p, struct all_secrets *s, const uint64_t *values, size_t n,
                     uint64_t seed);

/* Some by name. */
enum err all_and(struct party *p, struct all_secrets *s);
enum err all_compare(struct party *p, struct all_secrets *s);
enum err all_argmax(struct party *p, struct all_secrets *s);
enum err all_gradient(struct party *p, struct all_secrets *s);

/* Adds the weighted sum of x to number k of sums: a form. */
void support_weigh(struct share64 sums, size_t k, struct share64 x, const int64_t *weight);

struct all_protocol {
    const char *name;
    enum err (*run)(struct party *p, struct all_secrets *s);
};
extern const struct all_protocol all_protocols[];
extern const size_t all_protocols_count;
#define ALL_PROTOCOLS all_protocols_count
