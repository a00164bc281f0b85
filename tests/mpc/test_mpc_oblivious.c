/*
 * No branch and no index of mpc/ depends on a secret: every protocol runs with marked secrets
 * (tests/support/marks.h). The cases also check that the marks reach the results, which shows that
 * they are not lost on the way. Whole runs with marked secrets are in test_engine.c.
 * tests/long.sh runs both under valgrind.
 */
#include "harness/cmocka.h"

#include "mpc/check/check.h"
#include "mpc/circuits/convert.h"
#include "mpc/circuits/ring.h"
#include "mpc/move/open.h"
#include "tests/support/all.h"
#include "tests/support/marks.h"

#define N 130

struct oblivious_run {
    size_t protocol;
    bool tainted[3]; /* server i's result is undefined */
};

static void make_secrets(struct all_secrets *s)
{
    const size_t planes = bits_words(s->n) * ALL_BITS * 8;
    marks_secret(s->x.a, 8 * s->n);
    marks_secret(s->x.b, 8 * s->n);
    marks_secret(s->y.a, 8 * s->n);
    marks_secret(s->y.b, 8 * s->n);
    marks_secret(s->x32.a, 4 * s->n);
    marks_secret(s->x32.b, 4 * s->n);
    marks_secret(s->x16.a, 2 * s->n);
    marks_secret(s->x16.b, 2 * s->n);
    marks_secret(s->y16.a, 2 * s->n);
    marks_secret(s->y16.b, 2 * s->n);
    marks_secret(s->wide.a, 16 * s->n);
    marks_secret(s->wide.b, 16 * s->n);
    marks_secret(s->bits.a, planes);
    marks_secret(s->bits.b, planes);
    marks_secret(s->more.a, planes);
    marks_secret(s->more.b, planes);
}

static enum err job(struct party *p, void *shared)
{
    static const uint64_t values[N] = {1, 2, 3, 5, 8, 13};
    struct oblivious_run *r = shared;
    struct all_secrets s CLEAN(secrets_free) = {0};
    uint64_t opened[N];
    TRY(secrets_new(p, &s, values, N, 5));
    TRY(marks_begin(p));
    make_secrets(&s);
    TRY(all_protocols[r->protocol].run(p, &s));
    TRY(ring64_multiply(p, s.out, s.y, s.y));
    r->tainted[p->index] = marks_reach(s.out.a, 64) && marks_reach(s.out.b, 64);
    TRY(open_ring64(p, OPEN_NOISY_MARGINAL, s.out, opened));
    if (marks_reach(opened, sizeof opened))
        return ERR_MISUSE; /* what is opened is public, here at least */
    if (opened[7] != (uint64_t)((1 << ALL_BITS) - 1) * ((1 << ALL_BITS) - 1))
        return ERR_MISUSE;
    return ERR_OK;
}

static void one(size_t protocol)
{
    struct oblivious_run r = {.protocol = protocol};
    assert_true(protocol < ALL_PROTOCOLS);
    OK(three_run_wrapped(9, job, &r, NULL, marks_wrap));
    for (int s = 0; s < 3; s++)
        assert_true(r.tainted[s] == marks_on());
}

TEST(every_protocol)
{
    for (size_t k = 0; k < ALL_PROTOCOLS; k++)
        one(k);
}

/* --- under a check ---------------------------------------------------------------------------- */

static enum err checked(struct party *p, void *shared)
{
    static const uint64_t values[N] = {1, 2, 3, 5, 8, 13};
    static const struct check_limits limits;
    struct oblivious_run *r = shared;
    struct all_secrets s CLEAN(secrets_free) = {0};
    uint64_t opened[N];
    TRY(secrets_new(p, &s, values, N, 5));
    TRY(marks_begin(p));
    TRY(check_new(p, &limits));
    make_secrets(&s);
    TRY(all_and(p, &s));
    TRY(all_compare(p, &s));
    TRY(all_gradient(p, &s));
    TRY(convert_to_ring64(p, s.out, &s.more));
    r->tainted[p->index] = marks_reach(s.out.a, 64) && marks_reach(s.out.b, 64);
    TRY(open_ring64(p, OPEN_NOISY_MARGINAL, s.out, opened));
    if (marks_reach(opened, sizeof opened))
        return ERR_MISUSE;
    return all_argmax(p, &s);
}

TEST(with_a_check)
{
    struct oblivious_run r = {0};
    OK(three_run_wrapped(9, checked, &r, NULL, marks_wrap));
    for (int s = 0; s < 3; s++)
        assert_true(r.tainted[s] == marks_on());
}

TEST(marks_can_be_made)
{
    support_needs(marks_possible(), "valgrind/memcheck.h is absent: install valgrind");
}
