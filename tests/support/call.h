/* tests/support/call.h - what tests of single protocols of mpc/ share: a case and its results. */
#pragma once

#include "harness/cmocka.h"
#include "harness/three.h"

/* A protocol call: inputs in the clear, which all parties share, and shares that come back. */
#define CALL_MOST 1100 /* n */
struct call {
    enum err (*run)(struct party *p, struct call *c);
    size_t n;
    unsigned width;
    uint64_t x[CALL_MOST], y[CALL_MOST];
    word128 wide[CALL_MOST];
    size_t start[8];
    uint64_t opened[3][CALL_MOST];
    size_t index[3];
    struct three_result out;
    struct three_costs costs;
};

enum err job(struct party *p, void *shared); /* for three_run(): a call's run */
void execute(struct call *c, enum err (*run)(struct party *, struct call *));

static const size_t lengths[] = {0, 1, 2, 63, 64, 65, 129, 1000};

#define LENGTHS (sizeof lengths / sizeof *lengths)

static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 UINT64_MAX,
                                 UINT64_MAX - 1,
                                 (uint64_t)1 << 63,
                                 ((uint64_t)1 << 63) - 1,
                                 ((uint64_t)1 << 32) - 1,
                                 (uint64_t)1 << 32};

struct call *fresh(size_t n, uint64_t seed);
void finish(struct call **c);
uint64_t mask_of(unsigned width);
