/* tests/test_mpc.h - what the tests of mpc/ on one protocol share: a case and its results. */
#ifndef TREFOIL_TESTS_TEST_MPC_H
#define TREFOIL_TESTS_TEST_MPC_H

#include "tests/support_cmocka.h"
#include "tests/support_three.h"

#include "base/memory.h"

#include <string.h>

/* One protocol call: inputs in the clear, which every party shares out, and the shares that come
 * back. */
struct call {
    enum err (*run)(struct party *p, struct call *c);
    size_t n;
    unsigned width;
    uint64_t x[1100], y[1100];
    word128 wide[1100];
    size_t start[8];
    uint64_t opened[3][1100];
    size_t index[3];
    struct three_result out;
    struct three_costs costs;
};

static inline enum err job(struct party *p, void *shared)
{
    struct call *c = shared;
    return c->run(p, c);
}

static inline void execute(struct call *c, enum err (*run)(struct party *, struct call *))
{
    c->run = run;
    three_result_free(&c->out);
    memset(&c->out, 0, sizeof c->out);
    assert_int_equal(three_result_new(&c->out, c->n), ERR_OK);
    assert_int_equal(three_run(c->n + 1, job, c, &c->costs), ERR_OK);
}

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

static inline struct call *fresh(size_t n, uint64_t seed)
{
    struct call *c = memory_array(1, sizeof *c);
    uint64_t state = seed;
    assert_non_null(c);
    c->n = n;
    for (size_t i = 0; i < 1100; i++) {
        c->x[i] = i < 9 ? edges[i] : three_random(&state);
        c->y[i] = i < 81 ? edges[i / 9] : three_random(&state);
        c->wide[i] = (word128)c->x[i] << 64 | c->y[i];
    }
    return c;
}

static inline void finish(struct call *c)
{
    three_result_free(&c->out);
    memory_free(&c);
}

static inline uint64_t mask_of(unsigned width)
{
    return width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
}

#endif
