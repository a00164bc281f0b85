#include "tests/support/call.h"

enum err job(struct party *p, void *shared)
{
    struct call *c = shared;
    return c->run(p, c);
}

void execute(struct call *c, enum err (*run)(struct party *, struct call *))
{
    c->run = run;
    three_result_free(&c->out);
    memset(&c->out, 0, sizeof c->out);
    OK(three_result_new(&c->out, c->n));
    OK(three_run(c->n + 1, job, c, &c->costs));
}

struct call *fresh(size_t n, uint64_t seed)
{
    struct call *c = memory_array(1, sizeof *c);
    uint64_t state = seed;
    assert_true(n <= CALL_MOST);
    c->n = n;
    for (size_t i = 0; i < CALL_MOST; i++) {
        c->x[i] = i < 9 ? edges[i] : three_random(&state);
        c->y[i] = i < 81 ? edges[i / 9] : three_random(&state);
        c->wide[i] = (word128)c->x[i] << 64 | c->y[i];
    }
    return c;
}

void finish(struct call **c)
{
    three_result_free(&(*c)->out);
    memory_free(c);
}

uint64_t mask_of(unsigned width)
{
    return width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
}
